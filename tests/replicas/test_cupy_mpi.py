"""Replicas for CuPy as ranks of MPI, on the twin: its arrays go to MPI by ``__cuda_array_interface__``, or through the
host.
"""

from __future__ import annotations

import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mpi4py")
pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py
from xla2py.targets.cupy.twin.modules import to_device, to_host, twin
from xla2py.tests.ladder.replicas import replicated
from xla2py.tests.ladder.running import needs_compiler
from xla2py.tests.replicas.test_cluster import assert_same_bits
from xla2py.tests.replicas.test_mpi import (
    BF16,
    KILLED,
    LARGE,
    LAUNCHERS,
    LONG,
    Files,
    assert_results_of,
    mpirun,
    of,
    results_of_ranks,
    stacked,
    together,
)
from xla2py.tests.whole import crossed, much

__all__ = ["mpirun"]
pytestmark = pytest.mark.long
RANKS = Path(__file__).with_name("cupy_ranks.py")


def on_threads(program):
    with twin():
        module = xla2py.emit(program.module(), "cupy").load()
        return to_host(module.run_local(to_device(program.inputs())))


def saved(program, path: Path, helpers: str = "own") -> Path:
    xla2py.emit(program.module(), "cupy", helpers=helpers).save(path)
    return path


ASKS = """
from mpi4py import MPI
import cupy, program
program.take_device()
told = [cupy.cuda.get_device_id(), program.knows_devices()]
own = MPI.__file__
for library in ("aware.so", "unaware.so", "silent.so"):
    MPI.__file__ = f"FOLDER/{library}"
    told.append(program.knows_devices())
MPI.__file__ = own
print(*MPI.COMM_WORLD.gather(told) or (), sep=";", flush=True)
"""
LIBRARIES = {"aware": "MPIX_Query_cuda_support() { return 1; }", "unaware": "MPIX_Query_cuda_support() { return 0; }"}
# How each module is a command: the program and its words; MPI itself says whether it takes the memory of GPUs, or we.
CALLED = {
    "mpich": {"asked": (LARGE, []), "bf16": (BF16, ["--no-cuda-aware"])},
    "openmpi": {"aware": (LARGE, ["--cuda-aware"])},
}


@needs_compiler
@pytest.mark.parametrize(("mpirun", "how"), crossed(LAUNCHERS, ["aware", "unaware"]), indirect=["mpirun"])
def test_ranks_compute_what_threads_compute_and_modules_are_commands(mpirun, tmp_path, how, request):
    """Each rank takes a device, of which the twin has two, and asks MPI what it knows; no MPI here knows CUDA."""
    chosen = [one for one in replicated() if one.replicas * one.partitions == 4]
    assert len(chosen) > 20
    chosen = much(chosen[how == "aware" :: 2], chosen)
    expected = [on_threads(program) for program in chosen]  # which compiles kernels once, not in each rank
    for k, program in enumerate(chosen):
        saved(program, tmp_path / f"program_{k}.py").with_suffix(".inputs").write_bytes(pickle.dumps(program.inputs()))
    called = CALLED["mpich" if "mpich" in request.node.name else "openmpi"]
    commands = []
    for name, (program, words) in called.items():
        files = Files(tmp_path / name)
        commands.append([*files.command(program.module(), stacked(program), target="cupy", helpers="shared"), *words])
        text = (files.folder / "program.py").read_text("utf-8")
        assert text.index("take_device()") < text.index("def replica")
    for name, text in {**LIBRARIES, "silent": "other() { return 1; }"}.items():
        (tmp_path / f"{name}.cc").write_text(f'extern "C" int {text}', encoding="utf-8")
        subprocess.run(["g++", "-shared", "-fPIC", "-o", f"{name}.so", f"{name}.cc"], check=True, cwd=tmp_path)
    saved(LARGE, tmp_path / "program.py")
    (tmp_path / "asks.py").write_text(ASKS.replace("FOLDER", str(tmp_path)), encoding="utf-8")
    codes, ended = together(mpirun, tmp_path, *commands, [tmp_path / "asks.py"], script=(RANKS, how, tmp_path))
    assert codes == [[0] * 4] * (len(commands) + 1), ended.stderr
    for k, (program, wanted) in enumerate(zip(chosen, expected, strict=True)):
        results = [pickle.loads((tmp_path / f"program_{k}.{rank}").read_bytes()) for rank in range(4)]
        wrong = [result for result in results if isinstance(result, Exception)]
        assert not wrong, f"{program}: {wrong}"
        assert_same_bits(results, wanted)
    for name, (program, _) in called.items():
        assert_results_of(program, on_threads(program), Files(tmp_path / name).results())
    devices = [str([rank % 2, False, True, False, False]) for rank in range(4)]
    assert ";".join(devices) in ended.stdout, ended.stdout + ended.stderr


@of("openmpi")
def test_a_killed_rank_ends_all_and_the_next_run_goes_on(mpirun, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved(LONG, tmp_path / "program.py")
    inputs = LONG.inputs()
    np.save("inputs.npy", np.stack([one[0] for one in inputs]))
    head, _, rest = KILLED.partition("import program\n")
    body = "\n".join(f"    {line}" for line in rest.splitlines()).replace("*result", "*to_host(result)")
    imports = "from xla2py.targets.cupy.twin.modules import to_host, twin\nwith twin():\n    import program\n"
    Path("killed.py").write_text(head + imports + body, encoding="utf-8")
    ended = mpirun(4, "killed.py", "dies")
    assert ended.returncode != 0
    assert list(Path("snapshots").glob("*-30-*.snapshot")), ended.stderr
    ended = mpirun(4, "killed.py", "goes on")
    assert ended.returncode == 0, ended.stderr
    assert_same_bits(results_of_ranks(), on_threads(LONG))
    assert not list(Path("snapshots").iterdir())
