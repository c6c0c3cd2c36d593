"""Writes ``generated/``: what xla2py emits for the examples, before and after XLA's optimisation, and for any size.

``generated/README.md`` lists the modules and their lines. ``python examples/gallery.py`` writes all of it again, and
the modules that ``examples/vendoring`` vendors; ``--check`` only says what differs and exits with 1.
"""

import ast
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import any_size

import xla2py
from xla2py.transpile.vendoring import Outcome, find_project, inspect_module, update_module
from xla2py.transpile.vendoring.freshness import State

ROOT = Path(__file__).resolve().parent.parent
FORMS = ("before", "after")
FROM = ("examples", "replicas")  # folders that have programs
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
        generated = xla2py.emit(
            hlo.read_text("utf-8"), name=f"examples/replicas/{hlo.name}", sources=ROOT, helpers="shared"
        )
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


TITLES = {  # by folder of generated/: the head of its column in the index
    "before": "as traced",
    "after": "after XLA's passes",
    "any_size": "any size",
    "numpy_fast": "NumPy, fast",
    "cupy_fast": "CuPy, fast",
    "dask": "Dask",
    "dask_fast": "Dask, fast",
    "replicas": "four devices",
}
INTRODUCTION = """# What xla2py writes

The emitted module of every example. Each cell has two numbers of lines: of `main`, and of the whole file with its
checks and copied functions. Comments in a module name the lines of the example that a statement was traced from.
`python examples/gallery.py` rewrites the modules; tests compare them with what is emitted now.

For NumPy, in the readable style: from the HLO that JAX passes to XLA, from XLA's optimised HLO, and for arguments of
any size:
"""
OTHERS = """
For other libraries, in the style `fast`, and for several devices (where the first number counts `replica`):
"""


def index():
    """The text of ``generated/README.md``, from the modules as they lie there."""
    folders = list(TITLES)
    return f"{INTRODUCTION}\n{table(folders[:3])}{OTHERS}\n{table(folders[3:])}"


def table(folders):
    """Return a row for each program that has a module in one of the folders."""
    names = sorted({path.stem for folder in folders for path in (ROOT / "generated" / folder).glob("[!_]*.py")})
    rows = [("program", "computes", *(TITLES[folder] for folder in folders)), ("---",) * (len(folders) + 2)]
    for name in names:
        (example,) = (path for path in (ROOT / "examples").glob(f"**/{name}.py") if path.parent.name in FROM)
        line = ast.get_docstring(ast.parse(example.read_text("utf-8"))).splitlines()[0]
        link = f"[`{name}`](../{example.relative_to(ROOT).as_posix()})"
        rows.append((link, line.removesuffix("."), *(cell(f"{folder}/{name}.py") for folder in folders)))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def cell(path):
    """Return the lines of ``main`` and of the file, linked; nothing where there is no such module."""
    if not (ROOT / "generated" / path).is_file():
        return ""
    text = (ROOT / "generated" / path).read_text("utf-8")
    functions = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    body = functions.get("main") or functions["replica"]
    return f"[{body.end_lineno - body.lineno + 1} / {len(text.splitlines())}]({path})"


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
    readme = ROOT / "generated" / "README.md"
    if not readme.is_file() or readme.read_text("utf-8") != index():
        stale.append(Path("README.md"))
        if "--check" not in arguments:
            readme.write_text(index(), "utf-8")
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
