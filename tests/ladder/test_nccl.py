"""``run_nccl`` without GPUs: NCCL's rules among threads on the twin, its names and signatures by CuPy's own text."""

import ast
import inspect
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

import cupyx

import xla2py
from xla2py.tests.ladder.nccl import Backend, Nccl, Stuck
from xla2py.tests.ladder.replicas import replicated
from xla2py.tests.ladder.running import needs_compiler
from xla2py.tests.ladder.static import problems
from xla2py.tests.ladder.twin import to_device, to_host, twin
from xla2py.tests.replicas.programs import SeveralDevices, entry
from xla2py.transpile.equivalence.comparison import Budget, compare, flatten


def over_nccl(emitted, arguments):
    """The results of all replicas, each a process on its own in the eyes of the module."""
    nccl, count = Nccl(), len(arguments)
    with twin(), mock.patch.dict(sys.modules, nccl.modules()), ThreadPoolExecutor(count) as threads:
        module = emitted.load()
        runs = [
            threads.submit(module.run_nccl, Backend(nccl, count, rank), to_device(own))
            for rank, own in enumerate(arguments)
        ]
        results = to_host([run.result() for run in runs])
    assert not any(nccl.sending.values()), "something was sent and never received"
    return results


@needs_compiler
@pytest.mark.parametrize("several", replicated(), ids=str)
def test_replicas_do_over_nccl_what_they_do_in_one_process(several):
    emitted = xla2py.emit(several.module(), "cupy", format=False)
    assert problems(emitted.source) == []
    with twin():
        expected = to_host(emitted.load().run_local(to_device(several.inputs())))
    found = over_nccl(emitted, several.inputs())
    exact = Budget(relative=0.0, absolute=0.0)
    leaves = compare([x for _, x in flatten(expected)], [x for _, x in flatten(found)], exact)
    assert [str(leaf) for leaf in leaves if not leaf.status.is_good] == []


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
    (expected,) = numpy.in_threads(numpy.replica, numpy.Group, 1, 1, arguments, {})
    emitted, nccl = xla2py.emit(one.module(), "cupy"), Nccl()
    with twin(), mock.patch.dict(sys.modules, nccl.modules()):
        module = emitted.load()
        own = to_device(arguments[0])
        found = module.over_nccl(module.replica, module.Group, 1, 1, Backend(nccl, 1, 0), own, {})
    np.testing.assert_array_equal(to_host(found), expected)
    assert found is not own[0]
    assert not nccl.sending
    assert not nccl.receiving


def test_replicas_that_take_different_ways_are_stuck():
    one = SeveralDevices("permute", entry("ROOT r = f32[4,8] collective-permute(x), source_target_pairs={{0,1}}"))
    emitted = xla2py.emit(one.module(), "cupy")
    source = emitted.source.replace("((0, 1),)", "((0, 1), (1, 0)) if g.device else ((0, 1),)")
    assert source != emitted.source
    with mock.patch("xla2py.tests.ladder.nccl.PATIENCE", 0.2), pytest.raises(Stuck):
        over_nccl(type(emitted)(source, "m", "cupy"), one.inputs())


def test_the_backend_has_these_methods():
    text = (Path(cupyx.__file__).parent / "distributed" / "_nccl_comm.py").read_text("utf-8")
    (backend,) = [node for node in ast.parse(text).body if getattr(node, "name", "") == "NCCLBackend"]
    methods = {node.name: [a.arg for a in node.args.args] for node in backend.body if isinstance(node, ast.FunctionDef)}
    for name in ("send", "recv"):
        assert methods[name] == list(inspect.signature(getattr(Backend, name)).parameters)
    assert {"nccl.groupStart()", "nccl.groupEnd()"} <= {line.strip() for line in text.splitlines()}
