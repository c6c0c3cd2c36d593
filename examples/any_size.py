"""The sizes of the examples that are free, by the number that stands in the shapes of their arguments.

``python examples/any_size.py [NAME ..]`` compares the modules with XLA at some ten sizes each, ``--table`` writes the
table of them in ``docs/any_size.md`` again, and ``--times`` measures how long it takes to trace and emit them.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import jax
import numpy as np
from lower import load_program

import xla2py
from xla2py.transpile.equivalence.inputs.sizes import sizes_to_check
from xla2py.transpile.equivalence.verdicts.comparison import compare
from xla2py.transpile.equivalence.verdicts.tolerances import budgets_for
from xla2py.transpile.frontends.witnesses import shown_sizes

FREE = {
    "attention": {2: "B", 8: "H", 64: "T", 32: "D"},
    "beam_search": {20: "V"},
    "bf16_mixed_precision": {16: "B", 64: "D", 192: "F"},
    "bidirectional_gru": {10: "T", 3: "B", 8: "D", 6: "F"},
    "black_scholes": {1000: "N"},
    "cholesky_regression": {100: "N", 8: "D", 5: "M"},
    "cnn_train_step": {10: "C"},
    "conjugate_gradient": {48: "N"},
    "cross_entropy": {12: "B", 5000: "V"},
    "fft_convolution": {3: "B"},
    "game_of_life": {32: "N"},
    "graph_attention": {10: "N", 30: "E", 5: "F", 4: "D"},
    "image_rotation": {24: "H", 32: "W"},
    "int8_quantized_matmul": {16: "B", 96: "D", 48: "F"},
    "jacobi_stencil": {40: "H", 60: "W"},
    "kalman_filter": {30: "T"},
    "kmeans": {300: "N", 2: "D", 6: "K"},
    "kv_cache_decode": {100: "V", 24: "T"},
    "lstm": {24: "T", 4: "B"},
    "mlp_train_step": {64: "F", 128: "H", 10: "C"},
    "nbody": {24: "N"},
    "qr_svd_least_squares": {30: "M"},
    "rotary_embedding": {2: "B", 24: "T", 4: "H"},
    "sort_topk_segment_sum": {30: "D"},
    "threefry_sampling": {6: "N"},
    "transformer_block": {2: "B", 32: "T"},
    "viterbi": {50: "T", 6: "S", 10: "O"},
}
WHY_NONE = {
    "adaptive_ode": "the equation has two unknowns and four parameters",
    "mandelbrot": "no argument is an array: the size of the picture stands in the function",
}
# Random numbers are no arguments for these: weights of size 1 make a wide recurrence chaotic, so that the last bits of
# products soon decide everything, and matrices that are no covariances make a filter overflow. XLA's own results change
# as much where each argument is moved to the next float.
WELL_POSED: dict[str, Callable[[dict[str, int], np.random.Generator], Any]] = {}
PAGE = Path(__file__).resolve().parents[1] / "docs" / "any_size.md"


def well_posed(draw: Callable[[dict[str, int], np.random.Generator], Any]) -> Any:
    """Have the example of a function's name compared on the arguments that it draws."""
    WELL_POSED[draw.__name__] = draw
    return draw


@well_posed
def bidirectional_gru(sizes: dict[str, int], rng: np.random.Generator) -> Any:
    """Weights with which a step makes no difference larger."""
    d, f = sizes["D"], sizes["F"]

    def params() -> dict[str, np.ndarray]:
        shapes = {"w": (f, d), "u": (d, d)}
        return {k + gate: rng.normal(scale=0.5 / shapes[k][0] ** 0.5, size=shapes[k]) for k in "wu" for gate in "zrn"}

    return params(), params(), rng.normal(size=(sizes["T"], sizes["B"], f))


@well_posed
def conjugate_gradient(sizes: dict[str, int], rng: np.random.Generator) -> Any:
    """A positive-definite system of a small condition."""
    n = sizes["N"]
    basis = rng.normal(size=(n, n))
    return basis @ basis.T / n + np.eye(n), rng.normal(size=n), np.float32(1e-4)


@well_posed
def image_rotation(sizes: dict[str, int], rng: np.random.Generator) -> Any:
    """A smooth picture that is turned by a little: places in a wide one are rounded to some 1e-5 of a pixel."""
    h, w = sizes["H"], sizes["W"]
    waves = np.sin(np.linspace(0, 3, h))[:, None, None] + np.cos(np.linspace(0, 3, w))[:, None]
    return waves + rng.normal(size=3), np.float32(0.01)


@well_posed
def kalman_filter(sizes: dict[str, int], rng: np.random.Generator) -> Any:
    """The example's own model, with so many readings."""
    *model, _ = load_program("kalman_filter")[1]
    return *model, np.cumsum(rng.normal(scale=0.1, size=(sizes["T"], 2)), axis=0)


def differences(name: str, generic: Any, sizes: dict[str, int], seed: int = 0) -> list[str]:
    """Return what of the results of a module differs from XLA's at some sizes, on arguments that are well posed."""
    function, _ = load_program(name)
    module = with_free_sizes(name).at(sizes)
    drawn = WELL_POSED[name](sizes, np.random.default_rng(seed))
    arguments = jax.tree_util.tree_map(lambda leaf: np.asarray(leaf, np.float32), drawn)
    expected = list(map(np.asarray, jax.tree_util.tree_leaves(jax.jit(function)(*arguments))))
    found = generic.load().main(*jax.tree_util.tree_leaves(arguments))
    leaves = compare(expected, list(map(np.asarray, jax.tree_util.tree_leaves(found))), budgets_for(module))
    return [str(leaf) for leaf in leaves if not leaf.status.is_good]


def with_free_sizes(name: str) -> Any:
    """An example at several of its free sizes."""
    return with_free_arrays(name, *load_program(name))


def with_free_arrays(name: str, function: Callable[..., Any], arguments: Any) -> Any:
    """The function of an example at several of the sizes that are free in its arguments."""

    def free(leaf: Any) -> Any:
        sizes = ", ".join(str(FREE[name].get(size, size)) for size in getattr(leaf, "shape", ()))
        return xla2py.array(sizes, str(leaf.dtype)) if hasattr(leaf, "dtype") else leaf

    return xla2py.from_jax(function, *jax.tree_util.tree_map(free, arguments))


def emitted(name: str) -> Any:
    """Return the module of an example for any size, for NumPy; it does not depend on what was traced before."""
    jax.clear_caches()  # what was traced for another program has the source lines of that
    generated = xla2py.emit(with_free_sizes(name), name=f"examples/{name}.py", nested=False)
    command = "# regenerate: python examples/gallery.py"
    return replace(generated, source=re.sub("^# regenerate: .*$", command, generated.source, flags=re.MULTILINE))


def statements(source: str, functions: set[str]) -> int:
    """Count the statements of some functions of a module; that arguments are checked is none."""
    found = [each for each in ast.parse(source).body if getattr(each, "name", "") in functions]
    inside = (each for function in found for each in ast.walk(function) if isinstance(each, ast.stmt))
    return sum(not isinstance(each, ast.FunctionDef) and "check_" not in ast.unparse(each) for each in inside)


def row(name: str) -> tuple[str, int, int]:
    """Return the least sizes of an example, and the statements of its modules for any size and for one."""
    generic = emitted(name)
    jax.clear_caches()
    one = xla2py.emit(with_free_sizes(name).modules[0], nested=False)
    functions = {each.name for each in one.functions}
    sizes = ", ".join(f"{size} ≥ {own.start}" for size, own in generic.sizes.items())
    return sizes, statements(generic.source, functions), statements(one.source, functions)


def table() -> Iterator[str]:
    """The lines of the table of all examples."""
    yield from ("| example | sizes | statements | of the module for one size |", "|---|---|---|---|")
    counts = [row(name) for name in FREE]
    for name, (sizes, generic, one) in zip(FREE, counts, strict=True):
        yield f"| [{name}](../generated/any_size/{name}.py) | {sizes} | {generic} | {one} |"
    yield from (f"| {name} | none: {reason} | | |" for name, reason in WHY_NONE.items())
    both = [sum(column) for column in zip(*((generic, one) for _, generic, one in counts), strict=True)]
    yield f"| all | | {both[0]} | {both[1]} ({both[0] / both[1]:.2f} times) |"


def page() -> str:
    """The page on modules for any size, its table written again."""
    text = PAGE.read_text(encoding="utf-8")
    before, begin, rest = text.partition("<!-- examples:begin -->\n")
    _, end, after = rest.partition("<!-- examples:end -->")
    return before + begin + "\n".join(table()) + "\n" + end + after


def seconds(action: Callable[[], object]) -> float:
    """Return the processor time that something takes, JAX having traced nothing before: the least of three."""
    found = []
    for _ in range(3):
        jax.clear_caches()
        start = process_time()
        action()
        found.append(process_time() - start)
    return min(found)


def time_emission() -> None:
    """Print how many times as long the module for any size takes as that for one."""
    found = []
    for name in FREE:
        function, arguments = load_program(name)
        one = seconds(lambda given=(function, *arguments): xla2py.emit(xla2py.from_jax(*given), nested=False))
        any_size = seconds(
            lambda given=(name, function, arguments): xla2py.emit(with_free_arrays(*given), nested=False)
        )
        found.append(any_size / one)
        print(f"{name}: {found[-1]:.1f} times", flush=True)
    print(f"median {median(found):.1f}, from {min(found):.1f} to {max(found):.1f}")


def main() -> int:
    if sys.argv[1:] == ["--times"]:
        time_emission()
        return 0
    if sys.argv[1:] == ["--table"]:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    wrong = 0
    for name in sys.argv[1:] or FREE:
        programs = with_free_sizes(name)
        if name in WELL_POSED:
            generic = xla2py.emit(programs, nested=False)
            chosen = sizes_to_check(generic.sizes, programs.sizes)
            found = {shown_sizes(sizes): differences(name, generic, sizes) for sizes in chosen}
        else:
            checked = xla2py.check(programs).programs
            found = {program.title: ["see xla2py check"] * program.differs for program in checked}
        print(f"{name}: {len(found)} sizes, {sum(map(bool, found.values()))} differ", flush=True)
        for place, leaves in found.items():
            for leaf in leaves:
                print(f"  {place}: {leaf}", flush=True)
        wrong += any(found.values())
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
