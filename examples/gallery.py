"""Writes ``generated/``: what xla2py emits for the examples, before and after XLA's optimisation, and for any size.

``python examples/gallery.py`` writes the files again, and the modules that ``examples/vendoring`` vendors; ``--check``
only says which differ and exits with 1.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import any_size

import xla2py
from xla2py.transpile.vendoring import Outcome, find_project, inspect_module, update_module
from xla2py.transpile.vendoring.freshness import State

ROOT = Path(__file__).resolve().parent.parent
FORMS = ("before", "after")
FUSED = (
    "attention",
    "black_scholes",
    "cross_entropy",
    "lstm",
    "mandelbrot",
    "transformer_block",
)  # shown in CuPy's style fast, too
# Shown in NumPy's style fast, too.
LOOPS = ("adaptive_ode", "attention", "cross_entropy", "lstm", "transformer_block", "viterbi")
IN_CHUNKS = {  # for Dask: how large chunks are, for something of each kind to be seen
    "attention": "8KiB",  # rows at a time, products that are summed up
    "cholesky_regression": "512B",  # tiles of matrices
    "kalman_filter": "128B",  # steps of a loop
    "image_rotation": "8KiB",  # windows, elements by their places
    "sort_topk_segment_sum": "1KiB",  # sorts
}
LOOPS_IN_CHUNKS = ("attention", "sort_topk_segment_sum")  # for Dask in the style fast, too


def modules():
    """(path below ``generated/``, emitted module) of every example in both forms."""
    for hlo in sorted((ROOT / "examples" / "hlo").glob("*.hlo")):
        name, form, _ = hlo.name.split(".")
        generated = xla2py.emit(hlo.read_text("utf-8"), name=f"examples/hlo/{hlo.name}", sources=ROOT)
        yield Path(form) / f"{name}.py", generated
    for name, target in [*((name, "cupy") for name in FUSED), *((name, "numpy") for name in LOOPS)]:
        hlo = ROOT / "examples" / "hlo" / f"{name}.before.hlo"
        generated = xla2py.emit(
            hlo.read_text("utf-8"), target, style="fast", name=f"examples/hlo/{hlo.name}", sources=ROOT
        )
        yield Path(f"{target}_fast") / f"{name}.py", generated
    styles = [*((name, "readable") for name in IN_CHUNKS), *((name, "fast") for name in LOOPS_IN_CHUNKS)]
    for name, style in styles:
        hlo = ROOT / "examples" / "hlo" / f"{name}.before.hlo"
        generated = xla2py.emit(
            hlo.read_text("utf-8"),
            "dask",
            style=style,
            chunks=IN_CHUNKS[name],
            name=f"examples/hlo/{hlo.name}",
            sources=ROOT,
        )
        yield Path("dask" if style == "readable" else "dask_fast") / f"{name}.py", generated
    for hlo in sorted((ROOT / "examples" / "replicas").glob("*.hlo")):
        generated = xla2py.emit(hlo.read_text("utf-8"), name=f"examples/replicas/{hlo.name}", sources=ROOT)
        yield Path("replicas") / f"{hlo.stem}.py", generated


def modules_for_any_size():
    """(path below ``generated/``, emitted module) of every example whose sizes can be free: what JAX traces now."""
    for name in any_size.FREE:
        yield Path("any_size") / f"{name}.py", any_size.emitted(name)


def contents(modules):
    """Every file of some modules: path below ``generated/`` and bytes."""
    with TemporaryDirectory() as folder:
        for path, generated in modules:
            for file in generated.save(Path(folder) / path):
                yield file.relative_to(folder), file.read_bytes()


def main(arguments):
    stale = []
    for path, data in contents([*modules(), *modules_for_any_size()]):
        place = ROOT / "generated" / path
        if place.is_file() and place.read_bytes() == data:
            continue
        stale.append(path)
        if "--check" not in arguments:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
    project = find_project(ROOT / "examples" / "vendoring")
    for module in project.modules:
        if "--check" in arguments:
            is_fresh = inspect_module(project, module).state is State.FRESH
        else:
            is_fresh = update_module(project, module) is Outcome.UNCHANGED
        stale += [] if is_fresh else [project.place(module.output).relative_to(ROOT)]
    for path in stale:
        print(path)
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
