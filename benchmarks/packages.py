"""Packages of ten models beside JAX: ``python benchmarks/packages.py DIR [NAME ..] [--write]``.

Each model is packaged in both styles, built as a wheel, and installed into a fresh environment with what it needs.
There its tests run, and its results are compared with those of JAX for inputs that were not recorded. ``DIR`` keeps
packages, environments and figures; ``--write`` puts the figures into docs/packages.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "packages.md"
STYLES = ("readable", "fast")
HEAD = """| model | packages | MB | import and first call, s of CPU | again, ms of CPU |
|---|---|---|---|---|
"""
# Everything is measured on one thread, in seconds of the processor, which other work on the machine does not change.
# OpenBLAS chooses its kernels by itself, whatever this process was told.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}
# The script for the fresh environment tells the seconds of the import and first call, and of a later call on average:
# what other threads have done for one call may be counted in the next.
MEASURE = """
import json, sys, time
start = time.process_time()
import numpy as np
import {name}
with np.load(sys.argv[1]) as stored:
    arrays = dict(stored)
from {name}._files import call
found = call("{function}", arrays)
first = time.process_time() - start
count, start = 0, time.process_time()
while time.process_time() < start + 2 or count < 3:
    call("{function}", arrays)
    count += 1
again = (time.process_time() - start) / count
np.savez(sys.argv[2], **found)
print(json.dumps([first, again]))
"""
IMPORT = "import time; start = time.process_time(); import jax.numpy, {}; print(time.process_time() - start)"
LIBRARIES = {
    "cnn": "flax.linen",
    "decoder": "equinox",
    "graph_network": "haiku, jraph",
    "flow": "haiku, distrax",
    "gaussian_process": "gpjax",
    "neural_ode": "equinox, diffrax",
    "kalman_filter": "dynamax.linear_gaussian_ssm",
    "policy": "flax.nnx, distrax",
    "recurrent": "haiku",
    "large": "flax.linen",
}


def packaged(name: str, folder: Path) -> dict[str, Any]:
    """Package a model in both styles, with inputs that are not recorded, and time JAX: run in a process of its own."""
    import jax
    import numpy as np

    import xla2py
    from xla2py.benchmarks import packaged_models

    make = getattr(packaged_models, name)
    with jax.enable_x64(make in packaged_models.WIDE):
        function, arguments = make()
        for style in STYLES:
            if not (folder / style).exists():
                xla2py.package(function, *arguments, to=folder / style, name=f"{name}_model", options={"style": style})
        new = jax.tree.map(lambda x: x * 1.25 if x.dtype.kind == "f" else x, arguments)
        jitted, start = jax.jit(function), time.process_time()
        found = jax.block_until_ready(jitted(*new))
        first = time.process_time() - start
        jax.block_until_ready(jitted(*new))
        count, start = 0, time.process_time()
        while time.process_time() < start + 2 or count < 3:
            jax.block_until_ready(jitted(*new))
            count += 1
        again = (time.process_time() - start) / count
    names = next(iter(arrays_of(folder / "readable", name).values()))
    np.savez(folder / "in.npz", **dict(zip(names, jax.tree.leaves(new), strict=True)))
    np.savez(folder / "expected.npz", *jax.tree.leaves(found))
    return {"first": first, "again": again, "function": function.__name__}


def arrays_of(project: Path, name: str) -> dict[str, list[str]]:
    """The names of the arrays that functions of a package take, in the order of their leaves."""
    text = (project / "src" / f"{name}_model" / "_files.py").read_text("utf-8")
    found: dict[str, Any] = eval(re.search(r"^ARGUMENTS: .*? = (\{.*?^\}|\{.*?\}$)", text, re.M | re.S)[1])  # type: ignore[index]

    def leaves(tree: Any) -> list[str]:
        return [tree] if isinstance(tree, str) else [leaf for part in tree.values() for leaf in leaves(part)]

    return {function: leaves(tree) for function, tree in found.items()}


def run(*command: Any, **options: Any) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=900, check=False, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def installed(project: Path, environment: Path) -> Path:
    """Build a wheel, and install it with what it needs into a new environment; its Python."""
    python = environment / "bin" / "python"
    if not python.exists():
        run(sys.executable, "-m", "venv", "--without-pip", environment)
        run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", project.parent / "wheels", project)
        (wheel,) = (project.parent / "wheels").glob("*.whl")
        run(sys.executable, "-m", "pip", "--python", python, "install", "-q", wheel)
        wheel.unlink()
    return python


def needed(libraries: str) -> tuple[int, float]:
    """The packages that JAX and libraries need, and their MB."""
    from importlib import metadata

    of_modules = metadata.packages_distributions()
    waiting = {"jax", "jaxlib"} | {of_modules[word.split(".")[0]][0] for word in libraries.split(", ")}
    found: dict[str, float] = {}
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop().lower())
        try:
            files, words = metadata.files(name) or [], metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        found[name] = sum(path.stat().st_size for each in files if (path := Path(str(each.locate()))).is_file())
        needs = {match[0] for word in words if ";" not in word and (match := re.match(r"[\w.\-]+", word))}
        waiting |= {each for each in needs if re.sub(r"[-_.]+", "-", each.lower()) not in found}
    return len(found), sum(found.values()) / 1e6


def size(environment: Path) -> tuple[int, float]:
    """The number of packages that are installed, and their MB."""
    (place,) = environment.glob("lib/python*/site-packages")
    files = [path for path in place.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return len(list(place.glob("*.dist-info"))), sum(path.stat().st_size for path in files) / 1e6


def figures(name: str, folder: Path) -> dict[str, Any]:
    """Package, install, test, compare and time a model."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("OPENBLAS_")}
    environment = {**own, "PYTHONDONTWRITEBYTECODE": "1", **ONE_THREAD}
    found: dict[str, Any] = json.loads(
        run(sys.executable, __file__, folder, "--package", name, env=environment).splitlines()[-1]
    )
    imports = [float(run(sys.executable, "-c", IMPORT.format(LIBRARIES[name]), env=environment)) for _ in range(3)]
    found["jax"] = [min(imports) + found["first"]]
    found["jax_size"] = needed(LIBRARIES[name])
    clean = {key: value for key, value in environment.items() if key != "PYTHONPATH"}
    for style in STYLES:
        project = folder / name / style
        python = installed(project, folder / name / f"env_{style}")
        found[f"{style}_size"] = size(folder / name / f"env_{style}")
        if style == "readable":
            run(sys.executable, "-m", "mypy", "--strict", "src", cwd=project)
            run(sys.executable, "-m", "ruff", "check", "--isolated", ".", cwd=project)
        code = MEASURE.format(name=f"{name}_model", function=found["function"])
        out = folder / name / f"{style}.npz"
        run(python, "-c", code, folder / name / "in.npz", out, cwd=folder, env=clean)  # the file system, Numba's cache
        found[style] = json.loads(run(python, "-c", code, folder / name / "in.npz", out, cwd=folder, env=clean))
        found[f"{style}_error"] = difference(folder / name / "expected.npz", out)
        beside = folder / "pytest"  # not in the environment, whose size is told
        if not beside.exists():
            run(sys.executable, "-m", "pip", "install", "-q", "--target", beside, "pytest")
        run(python, "-m", "pytest", "-p", "no:cacheprovider", cwd=project, env={**clean, "PYTHONPATH": str(beside)})
    return found


def difference(expected: Path, found: Path) -> float:
    """The largest difference of two files of arrays, beside the largest element of each array."""
    import numpy as np

    with np.load(expected) as left, np.load(found) as right:
        pairs = [(left[a].astype(float), right[b].astype(float)) for a, b in zip(left, right, strict=True)]
    return max(float(np.max(np.abs(a - b), initial=0) / max(np.max(np.abs(a), initial=0), 1e-30)) for a, b in pairs)


def row(name: str, found: dict[str, Any]) -> str:
    """The row of a model in the table: the package beside JAX."""
    (count, mb), (jax_count, jax_mb) = found["readable_size"], found["jax_size"]
    fast_count, fast_mb = found["fast_size"]
    (first, again), (fast_first, fast_again) = found["readable"], found["fast"]
    return (
        f"| {name.replace('_', ' ')} | {count}, {fast_count} / {jax_count} | {mb:.0f}, {fast_mb:.0f} / {jax_mb:.0f} "
        f"| {first:.2f}, {fast_first:.2f} / {found['jax'][0]:.2f} "
        f"| {again * 1e3:.3g}, {fast_again * 1e3:.3g} / {found['again'] * 1e3:.3g} |\n"
    )


def write_page(folder: Path) -> None:
    """Put the figures that a folder has into the page."""
    rows = [
        row(name, json.loads(path.read_text("utf-8")))
        for name in LIBRARIES
        if (path := folder / name / "figures.json").exists()
    ]
    text = PAGE.read_text("utf-8")
    before, begin, rest = text.partition("<!-- packages:begin -->\n")
    _, end, after = rest.partition("<!-- packages:end -->")
    PAGE.write_text(f"{before}{begin}\n{HEAD}{''.join(rows)}\n{end}{after}", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--package", metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    folder = given.folder.resolve()
    if given.package:
        print(json.dumps(packaged(given.package, folder / given.package)))
        return
    for name in given.names:
        found = figures(name, folder)
        (folder / name / "figures.json").write_text(json.dumps(found), "utf-8")
        print(name, found, flush=True)
    if given.write:
        write_page(folder)


if __name__ == "__main__":
    main()
