"""Programs of several devices, run in threads, on a cluster and under MPI, beside XLA.

    python benchmarks/devices.py [--devices 2 4 8] [--mpirun "mpirun" ...] [--python path/to/python]

They are the sixteen of ``examples/devices/programs.py`` and five of libraries (``library_*``). JAX traces each and
computes what each device has. The emitted modules, all in one folder, run as threads, as workers of a LocalCluster, and
as ranks of each ``--mpirun``, by a Python with mpi4py. The table says how far results are from XLA's, relative to the
largest, whether they have the bits of the threads, and how many lines a module has beside its body. Needs JAX, optax
and Dask.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

Arrays = list[list[np.ndarray]]  # by device
SIXTEEN = Path(__file__).parents[1] / "examples" / "devices" / "programs.py"


# -- the programs, traced in a process that has so many devices


def write_programs(folder: Path, count: int) -> None:
    """Write the HLO of each program, and what each device is given and computes."""
    import jax
    import jax.numpy as jnp
    import optax  # type: ignore[import-not-found]
    from jax import lax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("x",))
    ring = [(k, (k + 1) % count) for k in range(count)]
    whole, rows, columns = PartitionSpec(), PartitionSpec("x"), PartitionSpec(None, "x")
    adam = optax.adam(1e-2)

    def training(w: Any, x: Any, y: Any) -> Any:
        """Ten steps of Adam, the batch divided."""

        def step(_: Any, carried: Any) -> Any:
            w, state = carried
            gradient = lax.pmean(jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - y) ** 2))(w), "x")
            updates, state = adam.update(gradient, state)
            return optax.apply_updates(w, updates), state

        return lax.fori_loop(0, 10, step, (w, adam.init(w)))[0]

    def transformer(x: Any, qkv: Any, out: Any, up: Any, down: Any) -> Any:
        """A block whose heads and hidden units are divided."""
        q, k, v = (x @ qkv[0, i] for i in range(3))
        x = x + lax.psum(jax.nn.softmax(q @ k.T / 4) @ v @ out[0], "x")
        normal = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-6)
        return x + lax.psum(jax.nn.gelu(normal @ up) @ down, "x")

    def pipeline(w: Any, x: Any) -> Any:
        """Each device has a stage, and hands on what it makes."""
        step = lambda carried, _: (lax.ppermute(jnp.tanh(carried @ w[0]), "x", ring), None)  # noqa: E731
        return lax.scan(step, x, None, length=count)[0]

    def attention(q: Any, k: Any, v: Any) -> Any:
        """Keys and values go around a ring."""

        def step(carried: Any, _: Any) -> Any:
            k, v, largest, total, out = carried
            scores = q @ k.T
            larger = jnp.maximum(largest, scores.max(-1))
            weights, scale = jnp.exp(scores - larger[:, None]), jnp.exp(largest - larger)
            out, total = out * scale[:, None] + weights @ v, total * scale + weights.sum(-1)
            return (lax.ppermute(k, "x", ring), lax.ppermute(v, "x", ring), larger, total, out), None

        nothing = jnp.zeros_like(q)
        begin = (k, v, nothing[:, 0] - jnp.inf, nothing[:, 0], nothing)
        (_, _, _, total, out), _ = lax.scan(step, begin, None, length=count)
        return out / total[:, None]

    def halo(x: Any) -> Any:
        """Diffusion; each device needs a row of its neighbours."""

        def step(_: Any, x: Any) -> Any:
            above = lax.ppermute(x[-1:], "x", ring[:-1])
            below = lax.ppermute(x[:1], "x", [(k + 1, k) for k in range(count - 1)])
            padded = jnp.concatenate([above, x, below])
            return x + 0.1 * (padded[2:] + padded[:-2] - 2 * x)

        return lax.fori_loop(0, 20, step, x)

    programs: dict[str, Any] = {
        "training": (training, [(16, 4), (64, 16), (64, 4)], [whole, rows, rows], whole),
        "transformer": (
            *(transformer, [(24, 32), (count, 3, 32, 8), (count, 8, 32), (32, 16 * count), (16 * count, 32)]),
            *([whole, rows, rows, columns, rows], whole),
        ),
        "pipeline": (pipeline, [(count, 16, 16), (8 * count, 16)], [rows, rows], rows),
        "attention": (attention, [(8 * count, 8)] * 3, [rows] * 3, rows),
        "halo": (halo, [(6 * count, 10)], [rows], rows),
    }
    chance = np.random.default_rng(0)
    for name, (function, shapes, given, made) in programs.items():
        arrays = [chance.normal(size=shape).astype(np.float32) / 2 for shape in shapes]
        on_devices = jax.jit(jax.shard_map(function, mesh=mesh, in_specs=tuple(given), out_specs=made))
        lowered = on_devices.lower(*arrays)
        (folder / f"library_{name}.compiled.hlo").write_text(lowered.as_text("hlo"), "utf-8")
        result, stored = lowered.compile()(*arrays), {}
        keys = [*(f"given.{k}" for k in range(len(arrays))), "made.0"]
        for key, array, spec in zip(keys, [*arrays, result], [*given, made], strict=True):
            indices = NamedSharding(mesh, spec).devices_indices_map(array.shape)
            stored |= {f"{key}.{d.id}": np.asarray(array)[index] for d, index in indices.items()}
        np.savez(folder / f"library_{name}.compiled.npz", **stored)


# -- what runs them


def stored_arrays(path: Path, count: int) -> tuple[Arrays, Arrays]:
    """What each device is given, and what XLA computes on it."""
    with np.load(path) as stored:
        numbers = {
            side: len([name for name in stored if re.match(rf"{side}\.\d+\.0$", name)]) for side in ("given", "made")
        }
        given, made = (
            [[stored[f"{side}.{k}.{device}"] for k in range(number)] for device in range(count)]
            for side, number in numbers.items()
        )
        return given, made


def leaves(results: Any) -> list[np.ndarray]:
    return list(results) if isinstance(results, tuple) else [results]


def imported(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    for name in [name for name in sys.modules if name.startswith("_xla2py")]:
        if Path(str(sys.modules[name].__file__)).parent != path.parent:  # the helpers of another folder
            del sys.modules[name]
    sys.path[:0] = [str(path.parent)]
    spec.loader.exec_module(module)
    del sys.path[0]
    return module


def rank_process(folder: Path, names: list[str]) -> None:
    """Run the replica of this rank of each program."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    for name in names:
        given, _ = stored_arrays(folder / f"{name}.compiled.npz", world.size)
        results = imported(folder / f"{name}_numpy.py").run_mpi(given[world.rank], timeout=60)
        np.savez(folder / f"{name}.{world.rank}.npz", *leaves(results))


def over_mpi(mpirun: str, python: str, folder: Path, names: list[str], count: int) -> dict[str, Any]:
    words = [*shlex.split(mpirun), "-n", str(count), python, __file__, "--ranks", str(folder), *names]
    subprocess.run(words, check=True, timeout=300, stdin=subprocess.DEVNULL)
    stored = {name: [np.load(folder / f"{name}.{rank}.npz") for rank in range(count)] for name in names}
    return {name: [tuple(one[key] for key in one.files) for one in each] for name, each in stored.items()}


def on_cluster(folder: Path, names: list[str], given: dict[str, Arrays], count: int) -> dict[str, Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0") as cluster,  # type: ignore[no-untyped-call]
        Client(cluster, set_as_default=False) as client,  # type: ignore[no-untyped-call]
    ):
        return {n: imported(folder / f"{n}_dask.py").run_replicas(client, given[n], timeout=60) for n in names}


def lines_of(path: Path) -> tuple[int, int]:
    """The lines of a module, and those of its body."""
    text = path.read_text("utf-8")
    body = re.split(r"\n\n\n(?!def |@)", text[re.search(r"^(@.*\n)?def ", text, re.MULTILINE).start() :])[0]  # type: ignore[union-attr]
    return len(text.splitlines()), len(body.splitlines())


def compared(count: int, options: argparse.Namespace) -> None:
    import xla2py

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        flags = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={count}", "JAX_PLATFORMS": "cpu"}
        command = [sys.executable, __file__, "--write", made, str(count)]
        subprocess.run(command, check=True, env={**os.environ, **flags}, timeout=300)
        subprocess.run([sys.executable, str(SIXTEEN), made, str(count)], check=True, timeout=600)
        names = sorted(path.name.removesuffix(".compiled.hlo") for path in folder.glob("*.compiled.hlo"))
        for name in names:
            for target in ("numpy", "dask"):
                text = (folder / f"{name}.compiled.hlo").read_text("utf-8")
                xla2py.emit(text, target, helpers="shared").save(folder / f"{name}_{target}.py")
        stored = {name: stored_arrays(folder / f"{name}.compiled.npz", count) for name in names}
        given = {name: each[0] for name, each in stored.items()}
        results: dict[str, Any] = {
            "threads": {n: imported(folder / f"{n}_numpy.py").run_local(given[n]) for n in names}
        }
        results["cluster"] = on_cluster(folder, names, given, count)
        for mpirun in options.mpirun:
            results[mpirun] = over_mpi(mpirun, options.python, folder, names, count)
        sizes = {path.name: len(path.read_text("utf-8").splitlines()) for path in folder.glob("_xla2py*.py")}
        print(f"\n{count} devices; lines of the runtime of all: {sizes}")
        for program in names:
            lines, body = lines_of(folder / f"{program}_dask.py")
            told = [f"{program:22} {lines:4} lines, {lines - body:3} beside the body"]
            threads = [leaves(one) for one in results["threads"][program]]
            for runner, every in results.items():
                have = [leaves(one) for one in every[program]]
                name = next((word for word in runner.split() if word.startswith("mpi")), runner)
                told.append(f"{name}: {difference(have, stored[program][1]):.0e}")
                same = all(all(map(np.array_equal, *pair)) for pair in zip(have, threads, strict=True))
                told[-1] += "" if same else " (not the bits of threads)"
            print("  ".join(told), flush=True)


def difference(results: Arrays, expected: Arrays) -> float:
    """The largest difference, relative to the largest number of each array."""
    pairs = [pair for each in zip(results, expected, strict=True) for pair in zip(*each, strict=True)]
    assert all(np.shape(a) == np.shape(b) for a, b in pairs)
    return float(max(np.abs(np.subtract(a, b)).max() / (np.abs(b).max() or 1) for a, b in pairs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", nargs="+", type=int, default=[2, 4, 8])
    parser.add_argument("--mpirun", nargs="*", default=[], help="commands that start ranks, with their options")
    parser.add_argument("--python", default=sys.executable, help="that ranks run, with mpi4py and NumPy")
    options = parser.parse_args()
    for count in options.devices:
        compared(count, options)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write_programs(Path(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["--ranks"]:
        rank_process(Path(sys.argv[2]), sys.argv[3:])
    else:
        main()
