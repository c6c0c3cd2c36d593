"""Replicas as ranks of MPI: the same bits as on threads, and every fault ends all ranks and is named."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import subprocess
import sys
import time
from ctypes.util import find_library
from pathlib import Path

import numpy as np
import pytest

import xla2py
from xla2py.tests.replicas import programs
from xla2py.tests.replicas.programs import SeveralDevices, entry
from xla2py.tests.replicas.test_cluster import EVERYTHING, assert_same_bits, imported_from
from xla2py.tests.replicas.test_kept_memory import LINES
from xla2py.tests.whole import much
from xla2py.transpile.equivalence.inputs.generate import make_inputs
from xla2py.transpile.hlo.parser import parse_module

pytest.importorskip("mpi4py")
pytestmark = pytest.mark.long
BESIDE = shutil.which("mpirun", path=str(Path(sys.executable).parent))  # MPICH of the package mpich
OPEN_MPI = "mpirun.openmpi"  # of Debian
LAUNCHERS = {
    "mpich": ([BESIDE or "mpirun"], {}),
    "openmpi": ([OPEN_MPI, "--oversubscribe", "--allow-run-as-root"], {"MPI4PY_LIBMPI": find_library("mpi") or ""}),
}
LIMIT = 120  # seconds; no rank may outlive it


@pytest.fixture(params=LAUNCHERS)
def mpirun(request):
    """Run a Python script on ranks; gives the ended process."""
    launcher, environment = LAUNCHERS[request.param]
    if shutil.which(launcher[0]) is None:
        pytest.skip(f"{request.param} is not installed")
    environment = {**os.environ, **environment, "PYTHONWARNINGS": "ignore"}

    def run(count: int, *words: object) -> subprocess.CompletedProcess:
        command = [*launcher, "-n", str(count), sys.executable, *map(str, words)]
        return subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT,
            stdin=subprocess.DEVNULL,
        )

    return run


def saved(program: SeveralDevices, path: Path, helpers: str = "own") -> Path:
    xla2py.emit(program.module(), helpers=helpers).save(path)
    return path


def test_ranks_compute_what_threads_compute(mpirun, tmp_path):
    everything = {str(one): one for one in [*EVERYTHING, *programs.element_types(), *programs.reducers()]}
    chosen = [one for one in everything.values() if one.replicas * one.partitions == 4]
    assert len(chosen) > 20
    for k, program in enumerate(chosen):
        saved(program, tmp_path / f"program_{k}.py").with_suffix(".inputs").write_bytes(pickle.dumps(program.inputs()))
    ended = mpirun(4, Path(__file__).with_name("mpi_ranks.py"), tmp_path)
    assert ended.returncode == 0, ended.stderr
    for k, program in enumerate(chosen):
        path = tmp_path / f"program_{k}.py"
        results = [pickle.loads(path.with_suffix(f".{rank}").read_bytes()) for rank in range(4)]
        wrong = [result for result in results if isinstance(result, Exception)]
        assert not wrong, f"{program}: {wrong}"
        assert_same_bits(results, imported_from(path).run_local(program.inputs()))


REPEATED = """
import program
from xla2py.tests.replicas.test_kept_memory import rounds
print(program.Replicas(rounds, program.Group, 4, 1).run_mpi([7]), flush=True)
"""


def test_ranks_use_memory_and_requests_again(mpirun, tmp_path):
    saved(SeveralDevices("", entry(*LINES)), tmp_path / "program.py")
    (tmp_path / "repeated.py").write_text(REPEATED, encoding="utf-8")
    ended = mpirun(4, tmp_path / "repeated.py")
    assert ended.stdout.count("None") == 4, ended.stdout + ended.stderr


LARGE = SeveralDevices("large", programs.entry("ROOT r = f32[256,1000] all-reduce(x), to_apply=add", sizes="256,1000"))
BF16 = next(one for one in programs.element_types() if one.name == "bf16")


@pytest.mark.parametrize("program", [LARGE, pytest.param(BF16, marks=pytest.mark.whole)], ids=["large", "bf16"])
def test_a_module_is_a_command_on_files(mpirun, tmp_path, program):
    """The inputs of all devices lie along an axis in front; bfloat16 lies in float32."""
    path = saved(program, tmp_path / "program.py", "shared")
    columns = [np.stack(column) for column in zip(*program.inputs(), strict=True)]
    np.savez(tmp_path / "in.npz", x=columns[0].astype(np.float32))
    ended = mpirun(4, path, tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    assert ended.returncode == 0, ended.stderr
    results = xla2py.emit(program.module()).load().run_local(program.inputs())
    expected = [result if isinstance(result, tuple) else (result,) for result in results]
    with np.load(tmp_path / "out.npz") as stored:
        for k, parts in enumerate(zip(*expected, strict=True)):
            np.testing.assert_array_equal(stored[f"arr_{k}"], np.stack(parts).astype(stored[f"arr_{k}"].dtype))


NARROW = """HloModule m, replica_count=4
ENTRY main {
  a = s4[2,3] parameter(0)
  b = bf16[3] parameter(1)
  c = f8e4m3fn[2] parameter(2)
  d = u4[5] parameter(3)
  e = c64[] parameter(4)
  f = f32[0,7] parameter(5)
  next_a = s4[2,3] collective-permute(a), source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
  all_b = bf16[12] all-gather(b), dimensions={0}
  all_f = f32[0,28] all-gather(f), dimensions={1}
  ROOT r = (s4[2,3], bf16[12], f8e4m3fn[2], u4[5], c64[], f32[0,28]) tuple(next_a, all_b, c, d, e, all_f)
}"""
# How files may have them: as numbers, or as bits, which ``xla2py run`` writes.
STORED = {
    "numbers": (np.int8, np.float32, np.float32, np.int8, None, None),
    "bits": (np.uint8, np.uint16, np.uint8, np.uint8, None, None),
}


@pytest.mark.parametrize("how", STORED)
def test_files_have_all_types_and_results_come_back_as_arguments(mpirun, tmp_path, how):
    """Results have the numbers, in types that files have a name for. Messages are short here."""
    module = parse_module(NARROW)
    names, types = "abcdef", [parameter.shape.element_type.dtype for parameter in module.entry.parameters]
    inputs = [make_inputs(module, seed) for seed in range(4)]
    xla2py.emit(module, helpers="own").save(tmp_path / "program.py")
    text = (tmp_path / "program.py").read_text("utf-8").replace("LONGEST = 1 << 30", "LONGEST = 5")
    assert "LONGEST = 5" in text
    (tmp_path / "program.py").write_text(text, "utf-8")
    columns = [np.stack(column) for column in zip(*inputs, strict=True)]
    plain = [
        x if kind is None else x.view(kind) if how == "bits" else x.astype(kind)
        for x, kind in zip(columns, STORED[how], strict=True)
    ]
    np.savez(tmp_path / "in.npz", **dict(zip(names, plain, strict=True)))
    ended = mpirun(4, tmp_path / "program.py", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    assert ended.returncode == 0, ended.stderr
    whole_b, whole_f = np.concatenate(columns[1]), np.concatenate(columns[5], axis=1)
    expected = [np.roll(columns[0], 1, axis=0), np.stack([whole_b] * 4), *columns[2:5], np.stack([whole_f] * 4)]
    with np.load(tmp_path / "out.npz", allow_pickle=False) as stored:
        assert [stored[f"arr_{k}"].dtype.name for k in range(4)] == ["int8", "float32", "float32", "int8"]
        for k, (x, dtype) in enumerate(zip(expected, types, strict=True)):
            found = stored[f"arr_{k}"]
            assert found.astype(dtype).tobytes() == x.tobytes(), names[k]


FAULTS = {  # the ranks, the argument in its file, the words of the command, what is told
    "too few ranks": (2, None, (), "the program has 4 replicas, MPI has 2 ranks: mpirun -n 4"),
    "another name": (4, {"y": np.ones(3)}, (), "has no x"),
    "too many devices": (4, {"x": np.ones((5, 256, 1000), np.float32)}, (), "x: the program has 4 replicas, got 5"),
    "objects": (4, {"x": np.array([None] * 4)}, (), "Object arrays cannot be loaded"),
    "no folder": (4, None, ("-o", "nowhere/out.npz"), "there is no folder for nowhere/out.npz"),
    "no number": (4, None, ("--timeout", "long"), "--timeout: invalid float value: 'long'"),
    "another shape": (4, {"x": np.ones((4, 7), np.float32)}, (), "TypeError: x: expected float32[256, 1000], got"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_the_command_are_told_once(mpirun, tmp_path, fault):
    """By one of the ranks, with a traceback only from within the program."""
    ranks, stored, words, told = FAULTS[fault]
    path = saved(LARGE, tmp_path / "program.py")
    np.savez(tmp_path / "in.npz", **(stored or {"x": np.ones((4, 256, 1000), np.float32)}))
    ended = mpirun(ranks, path, tmp_path / "in.npz", "-o", tmp_path / "out.npz", *words)
    assert ended.returncode != 0
    assert ended.stderr.count(told) == 1, ended.stderr
    assert ended.stderr.count("Traceback") == (fault == "another shape")
    assert not (tmp_path / "out.npz").exists()


DIVERGES = """
import sys, numpy as np
from mpi4py import MPI
from program import Group, Replicas
def replica(g, x):
    {0}
    return g.all_reduce(x, np.add)
try:
    Replicas(replica, Group, 4, 1).run_mpi([np.ones(9000, np.float32)], timeout={1})
except Exception as error:
    print(type(error).__name__, error, flush=True)
    sys.exit(3)
"""
CALL = r"all_reduce of float32\[9000\] \(line 7\)"
WAYS = {
    "raise ValueError('mine')": rf"stopped in {CALL}: replica 2 failed: ValueError: mine",
    "return x": f"waits in {CALL}, but replica 2 has ended",
    "x = x[:7]": r"replica 2 (does|stopped in) all_reduce of float32\[7\] \(line 7\)",
    "import time; time.sleep(4)": f"has waited 2.5 s for replica 2 in {CALL}",
}


@pytest.mark.parametrize(("statement", "told"), WAYS.items(), ids=WAYS)
def test_replicas_that_go_other_ways_are_named(mpirun, tmp_path, statement, told):
    saved(LARGE, tmp_path / "program.py")
    (tmp_path / "ways.py").write_text(
        DIVERGES.format(f"if g.device == 2: {statement}", 2.5 if "sleep" in statement else 30.0), encoding="utf-8"
    )
    ended = mpirun(4, tmp_path / "ways.py")
    assert ended.returncode != 0
    assert re.search(told, ended.stdout), ended.stdout + ended.stderr


GOES_ON = """
import gc, time, numpy as np
from mpi4py import MPI
from program import Group, Replicas, ReplicaError
def replica(g, x):
    if g.device == 1:
        time.sleep(1.5)
    return g.all_reduce(x, np.add)
rank = MPI.COMM_WORLD.Get_rank()
for size in (5000, 15000, 75000):
    try:
        Replicas(replica, Group, 2, 1).run_mpi([np.full(size, 7.0, np.float32)], timeout=9.0 if rank else 0.5)
    except ReplicaError as error:
        assert type(error).__name__ == ("ReplicaStopped" if rank else "ReplicaTimeout")
    else:
        raise AssertionError("no error")
    gc.collect()
    mine = [np.zeros(size, np.float32) for _ in range(50)]
    MPI.COMM_WORLD.Barrier()
    for _ in range(50):
        MPI.COMM_WORLD.Iprobe()  # lets messages arrive
    MPI.COMM_WORLD.Barrier()
    assert not any(array.any() for array in mine)
"""


def test_what_arrives_late_changes_no_memory_of_a_program_that_goes_on(mpirun, tmp_path):
    saved(LARGE, tmp_path / "program.py")
    (tmp_path / "goes_on.py").write_text(GOES_ON, encoding="utf-8")
    ended = mpirun(2, tmp_path / "goes_on.py")
    assert ended.returncode == 0, ended.stderr


SENDS = """
import os, sys, time, numpy as np
os.environ |= {"MPIR_CVAR_NOLOCAL": "1", "OMPI_MCA_btl": "tcp,self"}  # as between machines
from program import Group, Replicas
def replica(g, x):
    if g.device == 0:
        if sys.argv[1] == "late":
            g.network.post(1, x[:5], "other", 1 << 14)
        g.network.post(1, x, "transfer", 1)
    elif sys.argv[1] == "late":
        time.sleep(0.1)
        return g.network.take(0, "transfer", 1, x).sum() + g.network.take(0, "other", 1 << 14, x[:5]).sum()
try:
    print(Replicas(replica, Group, 2, 1).run_mpi([np.ones(1 << 26, np.int8)], timeout=20), flush=True)
except Exception as error:
    print(type(error).__name__, error, flush=True)
    sys.exit(3)
"""


@pytest.mark.parametrize(
    ("taken", "told"),
    [("late", str((1 << 26) + 5)), ("never", r"replica 0 does transfer \(channel 1\), but replica 1 has ended")],
)
def test_what_a_rank_sends_before_it_ends_is_taken_or_missed(mpirun, tmp_path, taken, told):
    saved(LARGE, tmp_path / "program.py")
    (tmp_path / "sends.py").write_text(SENDS, encoding="utf-8")
    ended = mpirun(2, tmp_path / "sends.py", taken)
    assert re.search(told, ended.stdout), ended.stdout + ended.stderr


KILLED = """
import os, sys, signal, time, numpy as np
import program
from pathlib import Path
class Dies(program.Group):
    def snapshot(self, *carried):
        super().snapshot(*carried)
        if self.device == 2 and self.iteration == 35 and sys.argv[1] == "dies":
            # at random moments at once, else after all have a snapshot: the other group may be behind
            while not sys.argv[2:] and len(list(Path("snapshots").glob("*-30-*.snapshot"))) < 4:
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGKILL)
        if sys.argv[1] == "goes on" and self.iteration <= 30:
            raise RuntimeError("it began at the beginning")
PROGRAM = program.Replicas(program.replica, Dies, 4, 1)
inputs = np.load("inputs.npy")
from mpi4py import MPI
rank = MPI.COMM_WORLD.Get_rank()
result = PROGRAM.run_mpi([inputs[rank]], snapshot="snapshots", every=10)
np.savez(f"result_{rank}.npz", *result)
"""
LONG = SeveralDevices("", programs.COUNTED.replace("[5,4]", "[50,4]").replace("constant(5)", "constant(50)"))


def results_of_ranks() -> list:
    stored = [np.load(f"result_{rank}.npz") for rank in range(4)]
    return [tuple(one[name][()] for name in one.files) for one in stored]


def test_a_killed_rank_ends_all_and_the_next_run_goes_on(mpirun, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = saved(LONG, tmp_path / "program.py")
    inputs = LONG.inputs()
    np.save("inputs.npy", np.stack([one[0] for one in inputs]))
    Path("killed.py").write_text(KILLED, encoding="utf-8")
    Path("snapshots").mkdir()
    Path("snapshots/of-somebody-2.npz").touch()
    begun = time.monotonic()
    ended = mpirun(4, "killed.py", "dies")
    assert ended.returncode != 0
    assert time.monotonic() - begun < 60
    assert list(Path("snapshots").glob("*-30-*.snapshot"))
    ended = mpirun(4, "killed.py", "goes on")
    assert ended.returncode == 0, ended.stderr
    assert_same_bits(results_of_ranks(), imported_from(path).run_local(inputs))
    assert [path.name for path in Path("snapshots").iterdir()] == ["of-somebody-2.npz"]


@pytest.mark.parametrize("seed", range(much(1, 10)))
def test_kills_at_random_moments(mpirun, tmp_path, monkeypatch, seed):
    """Never a hang, never a wrong result; 50 kills for each MPI in ``make prove``."""
    monkeypatch.chdir(tmp_path)
    saved(LONG, tmp_path / "program.py")
    np.save("inputs.npy", np.stack([one[0] for one in LONG.inputs()]))
    script = KILLED.replace(
        "self.device == 2 and self.iteration == 35",
        "self.device == int(sys.argv[2]) and self.iteration == int(sys.argv[3])",
    )
    Path("killed.py").write_text(script, encoding="utf-8")
    expected = imported_from(tmp_path / "program.py").run_local(LONG.inputs())
    random = np.random.default_rng(seed)
    for _ in range(much(1, 5)):
        mpirun(4, "killed.py", "dies", random.integers(4), random.integers(1, 50))
        ended = mpirun(4, "killed.py", "again", 0, 0)
        assert ended.returncode == 0, ended.stderr
        assert_same_bits(results_of_ranks(), expected)
