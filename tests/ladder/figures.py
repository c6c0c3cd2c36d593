"""The figures of docs/cupy.md that tests can check: what joins in one kernel, what programs ask of a GPU, and the
registers that kernels take.

``python -m xla2py.tests.ladder.figures`` writes the tables anew, or those that are named behind it; for the registers,
NVRTC must be installed (``device_compiler``).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import cupy
import numpy as np
from cupy_backends.cuda.libs import nvrtc

import xla2py
from xla2py.targets.cupy.twin.costs import costs_of
from xla2py.tests.ladder.costed_programs import PROGRAMS, XLA_KERNELS
from xla2py.tests.ladder.device_compiler import ARCHITECTURES, compiled, elementwise_source
from xla2py.tests.ladder.fast_programs import softmax
from xla2py.tests.ladder.rungs import PAGE
from xla2py.tests.recording.lazy_jax import jax
from xla2py.tests.test_examples import LOWER


def normalised(axes: tuple[int, ...]) -> Callable[[Any], Any]:
    """A layer norm, or the batch norm of images."""

    def function(x: Any) -> Any:
        scale = jax.lax.rsqrt(x.var(axes, keepdims=True) + 1e-5)
        return (x - x.mean(axes, keepdims=True)) * scale

    return function


JOINED: list[tuple[str, Callable[[Any], Any], tuple[int, ...]]] = [
    ("softmax", jax.nn.softmax, (1024, 64)),
    ("softmax", jax.nn.softmax, (64, 50257)),
    ("layer norm", normalised((1,)), (4096, 1024)),
    ("batch norm, channels first", normalised((0, 2, 3)), (32, 64, 56, 56)),
    ("batch norm, channels first", normalised((0, 2, 3)), (128, 64, 56, 56)),
    ("batch norm, channels last", normalised((0, 1, 2)), (32, 16, 16, 64)),
    ("batch norm, channels last", normalised((0, 1, 2)), (32, 56, 56, 64)),
]
_KERNEL = re.compile(r"^\w+_kernel(?:_\d+)? = ", re.MULTILINE)
_REDUCTION = re.compile(r"\.(?:sum|mean|var|max)\(")


def joined() -> str:
    """A row for each program: its kernels, and the reductions that the library does beside them."""
    rows = "| program, float32 | shape | kernels | reductions by the library |\n|---|---|---|---|\n"
    for name, function, shape in JOINED:
        source = xla2py.emit(xla2py.from_jax(function, np.zeros(shape, np.float32)), "cupy", style="fast").source
        main = source[source.index("def main") : source.index("def check_arguments")]
        sizes = " x ".join(map(str, shape))
        rows += f"| {name} | {sizes} | {len(_KERNEL.findall(source))} | {len(_REDUCTION.findall(main))} |\n"
    return rows


LINES = [(3, 40), (4, 512), (3, 1000), (2, 2100), (3, 16384), (2, 17000), (170, 40, 0), (9000, 3, 0)]
# When they are imported.
NEEDS_DEVICE = {"beam_search", "cholesky_regression", "image_rotation", "kalman_filter", "qr_svd_least_squares"}
NO_FLOAT64 = {"fft_convolution", "mandelbrot", "threefry_sampling"}  # another type is written in the text


def programs(float64: bool) -> dict[str, list[str]]:
    """The texts of the programs whose kernels are compiled, in two groups."""
    without = NEEDS_DEVICE | (NO_FLOAT64 if float64 else set())
    examples = [LOWER.hlo_file(name, "before").read_text() for name in LOWER.NAMES if name not in without]
    groups = {"examples": examples, "softmax of rows and columns of 40 to 17,000": [softmax(*sizes) for sizes in LINES]}
    if not float64:
        return groups
    return {name: [re.sub(r"\bf32\b", "f64", text) for text in texts] for name, texts in groups.items()}


def kernel_sources(text: str, tag: str) -> Iterator[str]:
    """The C++ of a program's kernels in the style ``fast``, as CuPy compiles it; a tag makes their names differ."""
    made = xla2py.emit(text, "cupy", format=False, style="fast").load()
    for key, kernel in vars(made).items():
        own = f" {key}_{tag}("
        if isinstance(kernel, cupy.ElementwiseKernel) and "_kernel" in key:
            dtypes = tuple(np.dtype(parameter.dtype) for parameter in kernel.in_params)
            yield elementwise_source(kernel, dtypes).replace(f" {key}(", own)
        elif type(kernel).__name__ in ("RowKernel", "WideKernel"):
            yield kernel.kernel.code.replace(f" {key}(", own)


def compiler() -> str:
    """The compiler whose figures these are."""
    return "NVRTC {}.{}".format(*nvrtc.getVersion())


def registers() -> str:
    """A row for each group of kernels. Raises RuntimeError where NVRTC is not there."""
    rows = f"| {compiler()}: kernels of | numbers | kernels | most registers of a thread | bytes spilled |\n"
    rows += "|---|---|---|---|---|\n"
    for float64 in (False, True):
        for name, texts in programs(float64).items():
            sources = [source for k, text in enumerate(texts) for source in kernel_sources(text, str(k))]
            usage = compiled(sources, "nvrtc", ARCHITECTURES)
            most, spilled = (max(getattr(one, kind) for one in usage) for kind in ("registers", "spilled_bytes"))
            kind = "float64" if float64 else "float32 and others"
            rows += f"| {name} | {kind} | {len(sources)} | {most} | {spilled} |\n"
    return rows


def costs() -> str:
    """A row for each common program: what a call of its module asks of a GPU, and what the kernels of XLA do."""
    columns = "program", "launches", "XLA's", "bytes, of the least", "of XLA's", "calls", "allocations", "products"
    rows = f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|\n"
    for name, (function, arguments) in PROGRAMS.items():
        program = xla2py.from_jax(function, *arguments)
        module = xla2py.emit(program, "cupy", format=False, nested=False, style="fast")
        found = costs_of(module.load, arguments)
        theirs = XLA_KERNELS[name]
        ratios = (f"{found.bytes_moved / other:.1f}" for other in (found.least_bytes, theirs["bytes"]))
        products = ", ".join(f"{count} {dtype}" for dtype, count in found.products)
        launches = f"{found.launches} | {theirs['launches']}"
        counts = " | ".join((launches, *ratios, str(found.host_calls), str(found.allocations)))
        rows += f"| {name} | {counts} | {products} |\n"
    return rows


TABLES = {"joined": joined, "costs": costs, "registers": registers}


def page(name: str) -> str:
    """The page with one of the tables as it is now."""
    head, rest = PAGE.read_text("utf-8").split(_begin(name))
    return f"{head}{_begin(name)}{TABLES[name]()}{_end(name)}{rest.partition(_end(name))[2]}"


def table(name: str) -> str:
    """One of the tables as it is on the page."""
    return PAGE.read_text("utf-8").partition(_begin(name))[2].partition(_end(name))[0]


def _begin(name: str) -> str:
    return f"<!-- {name}:begin -->\n"


def _end(name: str) -> str:
    return f"<!-- {name}:end -->"


if __name__ == "__main__":
    for table in sys.argv[1:] or TABLES:
        PAGE.write_text(page(table), encoding="utf-8")
