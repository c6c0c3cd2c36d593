"""Replicas as ranks of MPI: the same bits as on threads, and every fault ends all ranks and is named."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from ctypes.util import find_library
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xla2py
from xla2py.tests.replicas import programs
from xla2py.tests.replicas.programs import SeveralDevices, entry
from xla2py.tests.replicas.test_cluster import EVERYTHING, assert_same_bits, imported_from
from xla2py.tests.replicas.test_kept_memory import LINES
from xla2py.tests.whole import crossed, much
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
INSTALLED = [name for name, (launcher, _) in LAUNCHERS.items() if shutil.which(launcher[0])] or [*LAUNCHERS]
LIMIT = 120  # seconds; no rank may outlive it
COMMANDS = Path(__file__).with_name("mpi_commands.py")


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


def of(name: str):
    """Run a test with one MPI, if it is installed, and in ``make prove`` with all."""
    return pytest.mark.parametrize(
        "mpirun", much([name if name in INSTALLED else INSTALLED[0]], LAUNCHERS), indirect=True
    )


def together(mpirun, folder: Path, *commands: Sequence[Any], script: Sequence[Any] = (COMMANDS,)):
    """Run several commands on the same four ranks; return the codes of all ranks for each, and the ended process."""
    path = folder / "commands.json"
    path.write_text(json.dumps([[str(word) for word in words] for words in commands]), encoding="utf-8")
    ended = mpirun(4, *script, path)
    assert ended.returncode == 0, ended.stderr
    return json.loads(path.with_suffix(".codes").read_text(encoding="utf-8")), ended


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


@of("mpich")
def test_ranks_use_memory_and_requests_again(mpirun, tmp_path):
    saved(SeveralDevices("", entry(*LINES)), tmp_path / "program.py")
    (tmp_path / "repeated.py").write_text(REPEATED, encoding="utf-8")
    ended = mpirun(4, tmp_path / "repeated.py")
    assert ended.stdout.count("None") == 4, ended.stdout + ended.stderr


LARGE = SeveralDevices("large", programs.entry("ROOT r = f32[256,1000] all-reduce(x), to_apply=add", sizes="256,1000"))
BF16 = next(one for one in programs.element_types() if one.name == "bf16")


@dataclass(frozen=True)
class Files:
    """A module, and the files of its arguments and results."""

    folder: Path

    def command(self, module: Any, arguments: dict[str, Any], longest: str = "", **options: str) -> list:
        self.folder.mkdir()
        path = self.folder / "program.py"
        xla2py.emit(module, **options).save(path)
        if longest:
            text = path.read_text("utf-8").replace("LONGEST = 1 << 30", f"LONGEST = {longest}")
            assert f"LONGEST = {longest}" in text
            path.write_text(text, "utf-8")
        np.savez(self.folder / "in.npz", **arguments)
        return [path, self.folder / "in.npz", "-o", self.folder / "out.npz"]

    def results(self) -> list:
        with np.load(self.folder / "out.npz", allow_pickle=False) as stored:
            return [stored[name] for name in stored.files]


def stacked(program: SeveralDevices) -> dict[str, Any]:
    """The inputs of all devices, along an axis in front; bfloat16 lies in float32."""
    (column,) = zip(*program.inputs(), strict=True)
    return {"x": np.stack(column).astype(np.float32)}


def assert_results_of(program: SeveralDevices, results: list, found: list) -> None:
    """Assert that a file's arrays are the results of all devices, stacked along a new first axis."""
    expected = [result if isinstance(result, tuple) else (result,) for result in results]
    for x, parts in zip(found, zip(*expected, strict=True), strict=True):
        np.testing.assert_array_equal(x, np.stack(parts).astype(x.dtype), str(program))


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


@of("mpich")
def test_a_module_is_a_command_on_files_of_all_types(mpirun, tmp_path):
    """Results have the numbers, in types that files have a name for. Messages of the narrow ones are short here."""
    module = parse_module(NARROW)
    names, types = "abcdef", [parameter.shape.element_type.dtype for parameter in module.entry.parameters]
    columns = [np.stack(column) for column in zip(*(make_inputs(module, seed) for seed in range(4)), strict=True)]
    commands = []
    for how, kinds in STORED.items():
        plain = [
            x if kind is None else x.view(kind) if how == "bits" else x.astype(kind)
            for x, kind in zip(columns, kinds, strict=True)
        ]
        given = dict(zip(names, plain, strict=True))
        commands.append(Files(tmp_path / how).command(module, given, longest="5", helpers="own"))
    programs = {"large": LARGE, **much({}, {"bf16": BF16})}
    for name, program in programs.items():
        commands.append(Files(tmp_path / name).command(program.module(), stacked(program), helpers="shared"))
    codes, ended = together(mpirun, tmp_path, *commands)
    assert codes == [[0] * 4] * len(commands), ended.stderr
    whole_b, whole_f = np.concatenate(columns[1]), np.concatenate(columns[5], axis=1)
    expected = [np.roll(columns[0], 1, axis=0), np.stack([whole_b] * 4), *columns[2:5], np.stack([whole_f] * 4)]
    for how in STORED:
        found = Files(tmp_path / how).results()
        assert [x.dtype.name for x in found[:4]] == ["int8", "float32", "float32", "int8"]
        for name, x, own, dtype in zip(names, expected, found, types, strict=True):
            assert own.astype(dtype).tobytes() == x.tobytes(), (how, name)
    for name, program in programs.items():
        results = xla2py.emit(program.module()).load().run_local(program.inputs())
        assert_results_of(program, results, Files(tmp_path / name).results())


FAULTS = {  # the argument in its file, the words of the command, what is told
    "another name": ({"y": np.ones(3)}, (), "has no x"),
    "too many devices": ({"x": np.ones((5, 256, 1000), np.float32)}, (), "x: the program has 4 replicas, got 5"),
    "objects": ({"x": np.array([None] * 4)}, (), "Object arrays cannot be loaded"),
    "no folder": (None, ("-o", "nowhere/out.npz"), "there is no folder for nowhere/out.npz"),
    "no number": (None, ("--timeout", "long"), "--timeout: invalid float value: 'long'"),
}
ENDS = {  # the ranks, the argument in its file, what is told, once with a traceback from within the program
    "too few ranks": (
        2,
        np.ones((4, 256, 1000), np.float32),
        "the program has 4 replicas, MPI has 2 ranks: mpirun -n 4",
    ),
    "another shape": (4, np.ones((4, 7), np.float32), "TypeError: x: expected float32[256, 1000], got"),
}


@of("openmpi")
def test_faults_of_the_command_are_told_once(mpirun, tmp_path):
    """By one of the ranks, without a traceback."""
    commands = []
    for name, (stored, words, _) in FAULTS.items():
        arguments = stored or {"x": np.ones((4, 256, 1000), np.float32)}
        commands.append([*Files(tmp_path / name).command(LARGE.module(), arguments, helpers="own"), *words])
    codes, ended = together(mpirun, tmp_path, *commands)
    assert all(all(of_ranks) for of_ranks in codes), codes
    assert {name: ended.stderr.count(told) for name, (*_, told) in FAULTS.items()} == dict.fromkeys(FAULTS, 1)
    assert "Traceback" not in ended.stderr
    assert not list(tmp_path.glob("*/out.npz"))


@pytest.mark.parametrize(("fault", "mpirun"), crossed(ENDS, INSTALLED), indirect=["mpirun"])
def test_a_fault_of_the_command_ends_all_ranks(mpirun, tmp_path, fault):
    ranks, x, told = ENDS[fault]
    ended = mpirun(ranks, *Files(tmp_path / "files").command(LARGE.module(), {"x": x}, helpers="own"))
    assert ended.returncode != 0
    assert ended.stderr.count(told) == 1, ended.stderr
    assert ended.stderr.count("Traceback") == (fault == "another shape")
    assert not (tmp_path / "files/out.npz").exists()


DIVERGES = """
import sys, numpy as np
from pathlib import Path
from mpi4py import MPI
from program import Group, Replicas
def replica(g, x):
    {0}
    return g.all_reduce(x, np.add)
try:
    Replicas(replica, Group, 4, 1).run_mpi([np.ones(9000, np.float32)], timeout={1})
except Exception as error:
    Path(__file__).with_suffix(f".{{MPI.COMM_WORLD.Get_rank()}}.txt").write_text(str(error))
    sys.exit(3)
"""
CALL = r"all_reduce of float32\[9000\] \(line 8\)"
WAYS = {
    "raise ValueError('mine')": rf"stopped in {CALL}: replica 2 failed: ValueError: mine",
    "return x": f"waits in {CALL}, but replica 2 has ended",
    "x = x[:7]": r"replica 2 (does|stopped in) all_reduce of float32\[7\] \(line 8\)",
    "import time; time.sleep(4)": f"has waited 2.5 s for replica 2 in {CALL}",
}


@of("openmpi")
def test_replicas_that_go_other_ways_are_named(mpirun, tmp_path):
    saved(LARGE, tmp_path / "program.py")
    for k, statement in enumerate(WAYS):
        script = DIVERGES.format(f"if g.device == 2: {statement}", 2.5 if "sleep" in statement else 30.0)
        (tmp_path / f"way_{k}.py").write_text(script, encoding="utf-8")
    codes, ended = together(mpirun, tmp_path, *((tmp_path / f"way_{k}.py",) for k in range(len(WAYS))))
    for k, (statement, expected) in enumerate(WAYS.items()):
        told = " ".join(path.read_text(encoding="utf-8") for path in sorted(tmp_path.glob(f"way_{k}.*.txt")))
        assert 3 in codes[k] and re.search(expected, told), f"{statement}: {told}{ended.stderr}"


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


@of("mpich")
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


TAKEN = {"late": str((1 << 26) + 5), "never": r"replica 0 does transfer \(channel 1\), but replica 1 has ended"}


@pytest.mark.parametrize(("taken", "mpirun"), crossed(TAKEN, INSTALLED), indirect=["mpirun"])
def test_what_a_rank_sends_before_it_ends_is_taken_or_missed(mpirun, tmp_path, taken):
    saved(LARGE, tmp_path / "program.py")
    (tmp_path / "sends.py").write_text(SENDS, encoding="utf-8")
    ended = mpirun(2, tmp_path / "sends.py", taken)
    assert re.search(TAKEN[taken], ended.stdout), ended.stdout + ended.stderr


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


@of("openmpi")
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
