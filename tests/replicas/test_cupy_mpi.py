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
from xla2py.tests.replicas.test_mpi import BF16, KILLED, LARGE, LAUNCHERS, LONG, mpirun, results_of_ranks
from xla2py.tests.whole import crossed

__all__ = ["mpirun"]
pytestmark = pytest.mark.long
RANKS = Path(__file__).with_name("cupy_ranks.py")


def saved(program, path: Path, helpers: str = "own") -> Path:
    xla2py.emit(program.module(), "cupy", helpers=helpers).save(path)
    return path


@needs_compiler
@pytest.mark.parametrize(("mpirun", "how"), crossed(LAUNCHERS, ["aware", "unaware"]), indirect=["mpirun"])
def test_ranks_compute_what_threads_compute(mpirun, tmp_path, how):
    chosen = [one for one in replicated() if one.replicas * one.partitions == 4]
    assert len(chosen) > 20
    for k, program in enumerate(chosen):
        saved(program, tmp_path / f"program_{k}.py").with_suffix(".inputs").write_bytes(pickle.dumps(program.inputs()))
    ended = mpirun(4, RANKS, how, tmp_path)
    assert ended.returncode == 0, ended.stderr
    for k, program in enumerate(chosen):
        results = [pickle.loads((tmp_path / f"program_{k}.{rank}").read_bytes()) for rank in range(4)]
        wrong = [result for result in results if isinstance(result, Exception)]
        assert not wrong, f"{program}: {wrong}"
        with twin():
            expected = to_host(xla2py.emit(program.module(), "cupy").load().run_local(to_device(program.inputs())))
        assert_same_bits(results, expected)


@pytest.mark.parametrize(("how", "mpirun"), crossed(["asked", "aware", "bf16"], LAUNCHERS), indirect=["mpirun"])
def test_a_module_is_a_command_on_files(mpirun, tmp_path, how):
    program, how = (BF16, "unaware") if how == "bf16" else (LARGE, how)
    path = saved(program, tmp_path / "program.py", "shared")
    assert path.read_text().index("take_device()") < path.read_text().index("def replica")
    columns = [np.stack(column) for column in zip(*program.inputs(), strict=True)]
    np.savez(tmp_path / "in.npz", x=columns[0].astype(np.float32))
    ended = mpirun(4, RANKS, how, path, tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    assert ended.returncode == 0, ended.stderr
    with twin():
        module = xla2py.emit(program.module(), "cupy").load()
        results = to_host(module.run_local(to_device(program.inputs())))
    expected = [result if isinstance(result, tuple) else (result,) for result in results]
    with np.load(tmp_path / "out.npz") as stored:
        for k, parts in enumerate(zip(*expected, strict=True)):
            np.testing.assert_array_equal(stored[f"arr_{k}"], np.stack(parts).astype(stored[f"arr_{k}"].dtype))


ASKS = """
from mpi4py import MPI
from xla2py.targets.cupy.twin.modules import twin
with twin():
    import cupy, program
    program.take_device()
    told = [cupy.cuda.get_device_id(), program.knows_devices()]
    for library in ("./aware.so", "./unaware.so", "./silent.so"):
        MPI.__file__ = library
        told.append(program.knows_devices())
print(*MPI.COMM_WORLD.gather(told) or (), sep=";", flush=True)
"""
LIBRARIES = {"aware": "MPIX_Query_cuda_support() { return 1; }", "unaware": "MPIX_Query_cuda_support() { return 0; }"}


@needs_compiler
def test_each_rank_takes_a_device_and_asks_mpi_what_it_knows(mpirun, tmp_path, monkeypatch):
    """The twin has two devices; no MPI here was built for CUDA."""
    monkeypatch.chdir(tmp_path)
    for name, text in {**LIBRARIES, "silent": "other() { return 1; }"}.items():
        Path(f"{name}.cc").write_text(f'extern "C" int {text}', encoding="utf-8")
        subprocess.run(["g++", "-shared", "-fPIC", "-o", f"{name}.so", f"{name}.cc"], check=True)
    saved(LARGE, tmp_path / "program.py")
    Path("asks.py").write_text(ASKS, encoding="utf-8")
    ended = mpirun(4, "asks.py")
    expected = [str([rank % 2, False, True, False, False]) for rank in range(4)]
    assert ";".join(expected) in ended.stdout, ended.stdout + ended.stderr


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
    with twin():
        expected = to_host(xla2py.emit(LONG.module(), "cupy").load().run_local(to_device(inputs)))
    assert_same_bits(results_of_ranks(), expected)
    assert not list(Path("snapshots").iterdir())
