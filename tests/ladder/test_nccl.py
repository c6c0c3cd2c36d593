"""``run_nccl`` without GPUs: CuPy's own ``cupyx.distributed`` over NCCL's rules, among threads and among processes."""

import inspect
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py
from xla2py.benchmarks.gpu_kit.programs import free_port
from xla2py.targets.cupy.twin.modules import to_device, to_host, twin
from xla2py.templates.prelude import replica_collectives
from xla2py.tests.ladder.nccl import Nccl, Stuck, backend, distributed
from xla2py.tests.ladder.replicas import replicated
from xla2py.tests.ladder.running import needs_compiler
from xla2py.tests.ladder.static import problems
from xla2py.tests.replicas.programs import REDUCERS, SeveralDevices, entry
from xla2py.tests.whole import much
from xla2py.transpile.emission import texts
from xla2py.transpile.equivalence.verdicts.comparison import Budget, compare, flatten


def over_nccl(emitted, arguments):
    """The results of all replicas, each a process on its own in the eyes of the module."""
    nccl, count = Nccl(), len(arguments)
    with distributed(nccl), twin(), ThreadPoolExecutor(count) as threads:
        module = emitted.load()
        runs = [
            threads.submit(module.run_nccl, backend(nccl, count, rank), to_device(own))
            for rank, own in enumerate(arguments)
        ]
        results = to_host([run.result() for run in runs])
    assert nccl.under_way == [], "something was sent and never received"
    return results


@needs_compiler
@pytest.mark.parametrize("several", much(replicated()[::2], replicated()), ids=str)
def test_replicas_do_over_nccl_what_they_do_in_one_process(several):
    emitted = xla2py.emit(several.module(), "cupy", format=False)
    assert problems(emitted.source) == []
    with twin():
        expected = to_host(emitted.load().run_local(to_device(several.inputs())))
    found = over_nccl(emitted, several.inputs())
    exact = Budget(relative=0.0, absolute=0.0)
    leaves = compare([x for _, x in flatten(expected)], [x for _, x in flatten(found)], exact)
    assert [str(leaf) for leaf in leaves if not leaf.status.is_good] == []


def test_collectives_use_only_what_numpy_hands_over_to_cupy():
    """CuPy refuses to make an array of the host's of its own; the twin's arrays are such ones."""
    used = {getattr(np, name) for name in re.findall(r"\bnp\.([a-z_]+)\(", inspect.getsource(replica_collectives))}
    assert {type(function) for function in used} == {type(np.concatenate)}


def test_groups_and_pairs_may_be_loops(monkeypatch):
    """As those of thousands of devices are."""
    monkeypatch.setattr(texts, "LONGEST_LISTED", 0)
    sum_ = "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }"
    text = (
        f"HloModule m, replica_count=4\n{sum_}\nENTRY e {{\n x = f32[3] parameter(0)\n"
        " s = f32[3] all-reduce(x), replica_groups=[2,2]<=[2,2]T(1,0), to_apply=sum\n"
        " ROOT r = f32[3] collective-permute(s), source_target_pairs={{0,1},{1,2},{2,3},{3,0}}\n}\n"
    )
    emitted = xla2py.emit(text, "cupy")
    assert "[range(i, i + 4, 2) for i in range(2)]" in emitted.source
    results = over_nccl(emitted, [[np.float32([k, 10 * k, 100 * k])] for k in range(4)])
    np.testing.assert_array_equal(np.stack(results), [[4, 40, 400], [2, 20, 200]] * 2)


@pytest.mark.parametrize("size", [3, 9001, 9002])
def test_arrays_of_any_size_are_reduced(size):
    sum_ = "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }"
    text = (
        f"HloModule m, replica_count=4\n{sum_}\nENTRY e {{\n x = f32[{size}] parameter(0)\n"
        f" ROOT r = f32[{size}] all-reduce(x), to_apply=sum\n}}\n"
    )
    arguments = [[np.float32(np.arange(size) % 7 + k)] for k in range(4)]
    emitted = xla2py.emit(text, "cupy")
    for result in over_nccl(emitted, arguments):
        np.testing.assert_array_equal(result, sum(x for (x,) in arguments))


ALONE = {
    "all-reduce": "replica_groups={}, to_apply=add",
    "all-gather": "replica_groups={}, dimensions={0}",
    "all-to-all": "replica_groups={}, dimensions={0}",
    "collective-permute": "source_target_pairs={{0,0}}",
    "collective-broadcast": "replica_groups={{0}}",
}


@pytest.mark.parametrize("opcode", ALONE)
def test_one_process_is_a_world(opcode):
    """What is written for any number of replicas, run by one: NCCL sends nothing to the process itself."""
    shape = "f32[16,8]" if opcode == "all-gather" else "f32[4,8]"
    one = SeveralDevices(opcode, entry(f"ROOT r = {shape} {opcode}(x), {ALONE[opcode]}"))
    arguments = [one.inputs()[0]]
    numpy = xla2py.emit(one.module()).load()
    (expected,) = numpy.Replicas(numpy.replica, numpy.Group, 1, 1).run_local(arguments)
    emitted, nccl = xla2py.emit(one.module(), "cupy"), Nccl()
    with distributed(nccl), twin():
        module = emitted.load()
        own = to_device(arguments[0])
        found = module.Replicas(module.replica, module.Group, 1, 1).run_nccl(backend(nccl, 1, 0), own)
    np.testing.assert_array_equal(to_host(found), expected)
    assert found is not own[0]
    assert nccl.under_way == []


def test_replicas_that_take_different_ways_are_stuck():
    one = SeveralDevices("permute", entry("ROOT r = f32[4,8] collective-permute(x), source_target_pairs={{0,1}}"))
    emitted = xla2py.emit(one.module(), "cupy")
    source = emitted.source.replace("((0, 1),)", "((0, 1), (1, 0)) if g.device else ((0, 1),)")
    assert source != emitted.source
    with mock.patch("xla2py.tests.ladder.nccl.PATIENCE", 0.2), pytest.raises(Stuck):
        over_nccl(type(emitted)(source, "m", "cupy"), one.inputs())


# In this order in one program: what each gives goes into the next.
ALL = """ENTRY main {
  x = f32[6,4] parameter(0)
  sum = f32[6,4] all-reduce(x), replica_groups={{0,1,2}}, to_apply=add
  rows = f32[2,4] reduce-scatter(sum), replica_groups={{0,1,2}}, dimensions={0}, to_apply=add
  next = f32[2,4] collective-permute(rows), source_target_pairs={{0,1},{1,2},{2,0}}
  again = f32[6,4] all-gather(next), replica_groups={{2,0,1}}, dimensions={0}
  turned = f32[6,4] all-to-all(again), replica_groups={{0,1,2}}, dimensions={0}
  ROOT of_one = f32[6,4] collective-broadcast(turned), replica_groups={{1,0,2}}
}
"""
PROCESS = """
import sys
import numpy as np
from xla2py.tests.ladder.nccl import Nccl, distributed
from xla2py.targets.cupy.twin.modules import to_device, to_host, twin
folder, rank, port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sys.path.insert(0, folder)
with distributed(Nccl(f"{folder}/nccl")) as cupyx_distributed, twin():
    comm = cupyx_distributed.init_process_group(3, rank, port=port)
    import training
    result = to_host(training.run_nccl(comm, to_device([np.load(f"{folder}/x.npy") * (rank + 1)])))
    np.save(f"{folder}/result{rank}.npy", result)
    comm.stop()
"""


def test_processes_meet_by_cupys_own_server_and_do_all_collectives(tmp_path):
    """Three processes, each from `init_process_group` on; above this NCCL all is CuPy's and the module's."""
    x = np.arange(24, dtype=np.float32).reshape(6, 4)
    one = SeveralDevices("all", REDUCERS.format("f32") + ALL, 3, given=tuple([x * np.float32(k)] for k in (1, 2, 3)))
    numpy = xla2py.emit(one.module()).load()
    expected = numpy.run_local(one.inputs())
    assert not np.array_equal(expected[0], x)
    xla2py.emit(one.module(), "cupy").save(tmp_path / "training.py")
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "nccl").mkdir()
    port = str(free_port())
    command = [sys.executable, "-W", "ignore", "-c", PROCESS, str(tmp_path)]
    processes = [subprocess.Popen([*command, str(rank), port]) for rank in range(3)]
    try:
        assert [process.wait(60) for process in processes] == [0, 0, 0]
    finally:
        for process in processes:
            process.kill()
    for rank in range(3):
        np.testing.assert_array_equal(np.load(tmp_path / f"result{rank}.npy"), expected[rank])
    assert list((tmp_path / "nccl").iterdir()) == []
