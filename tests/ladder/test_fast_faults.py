"""Faults sown into kernels of the style ``fast``, each of which the ladder must find without a GPU."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py
from xla2py.tests.ladder.fast_programs import (
    CHAIN,
    PLANE,
    TABLE,
    TURNS,
    framed,
    interleaved,
    laplacian,
    rotated,
    rows_of,
    softmax,
)
from xla2py.tests.ladder.running import needs_compiler, verdict
from xla2py.tests.recording.lazy_jax import jax

CHAIN_INPUTS = (np.where(TABLE == 2, np.float32(np.nan), TABLE), np.float32([1, 2, 3, -1, 0, 9]))
ROWS, SHORT = softmax(3, 40), softmax(3, 20)
# A softmax or a sum of exponentials is NaN also where its maximum has lost it; these are the extremes alone.
HOLES = np.random.default_rng(4).normal(size=(5, 40)).astype(np.float32)
HOLES[[0, 1, 2, 3], [0, 7, 20, 39]] = np.nan
EXTREMES = {name: (lambda x, name=name: getattr(jax.numpy.tanh(x), name)(axis=-1)) for name in ("max", "min", "argmax")}
BARRIER = "parts[threadIdx.x / 32] = x;\n        __syncthreads();"
FAULTS = {
    "wrong index": (CHAIN, CHAIN_INPUTS, "y[at % 6]", "y[at / 6]"),
    "no rule for NaN": (CHAIN, CHAIN_INPUTS, "a != a || a > b ? a : b", "a > b ? a : b"),
    "literal of double": (CHAIN, CHAIN_INPUTS, "x + 1.0f", "x + 1.0"),
    "a result that nobody writes": (CHAIN, CHAIN_INPUTS, "square = ", "float lost = "),
    "threads outside of the row take part": (SHORT, (rows_of((3, 20)),), "inside ? x : T(0)", "x"),
    "half of a row": (ROWS, (rows_of((3, 40)),), "row_max<32>", "row_max<16>"),
    "all threads write the row": (ROWS, (rows_of((3, 40)),), "if (threadIdx.x == 0) total_out[row]", "ratio_out[row]"),
}


FAULTS |= {
    f"no rule for NaN in the {name} of rows": (partial(xla2py.from_jax, EXTREMES[name], HOLES), (HOLES,), good, bad)
    for name, good, bad in [
        ("max", "a != a || a > b ? a : b", "a > b ? a : b"),
        ("min", "a != a || a < b ? a : b", "a < b ? a : b"),
        ("argmax", "isnan(tanh[k]) | (tanh[k] == peak)", "tanh[k] == peak"),
    ]
}
# Rows of which a thread keeps some elements, rows that it reads again, columns.
LONG, VERY_LONG = (np.random.default_rng(6).normal(size=(2, columns)).astype(np.float32) for columns in (1100, 17000))
HIGH = np.random.default_rng(7).normal(size=(170, 40)).astype(np.float32)
NORMALISERS = [partial(xla2py.from_jax, lambda x: jax.nn.logsumexp(x, 1), x) for x in (LONG, VERY_LONG)]
ODD_NORMALISER = partial(xla2py.from_jax, lambda x: jax.nn.logsumexp(x, 1), LONG[:, :1099])
COLUMNS = partial(xla2py.from_jax, lambda x: jax.nn.logsumexp(x, 0), HIGH)
WIDE = np.random.default_rng(9).normal(size=(600, 700)).astype(np.float32)
PARTS = partial(xla2py.from_jax, lambda x: abs(x).sum(), WIDE)
TOGETHER = "parts[threadIdx.x] = x;\n    __syncthreads();"
FAULTS |= {
    f"long lines: {name}": (module, (x,), good, bad)
    for name, module, x, good, bad in [
        ("no barrier in rows", NORMALISERS[0], LONG, BARRIER, BARRIER.split("\n")[0]),
        ("wrong stride in rows", NORMALISERS[0], LONG, "k / 4 * 640 + threadIdx.x", "k / 4 * 639 + threadIdx.x"),
        ("wrong neighbours", NORMALISERS[0], LONG, "threadIdx.x * 4 + k % 4", "threadIdx.x * 4 + k % 3"),
        ("wrong stride in odd rows", ODD_NORMALISER, LONG[:, :1099], "k * 160 + threadIdx.x", "k * 159 + threadIdx.x"),
        ("tail of rows", NORMALISERS[0], LONG, "if (column >= 1100) continue;", ""),
        ("element that another keeps", NORMALISERS[0], LONG, "x_here[k] - ", "x_here[0] - "),
        ("wrong start", NORMALISERS[0], LONG, "total_2 = 0.0f;", "total_2 = 1.0f;"),
        ("own elements alone", NORMALISERS[0], LONG, "total_2 = row_sum<160>(total_2);", ""),
        ("wrong stride where read again", NORMALISERS[1], VERY_LONG, "column += 1024", "column += 1023"),
        ("tail where read again", NORMALISERS[1], VERY_LONG, "column < 17000", "column < 16000"),
        ("no barrier in columns", COLUMNS, HIGH, TOGETHER, TOGETHER.split("\n")[0]),
        ("wrong stride in columns", COLUMNS, HIGH, "row * 40 + column", "row * 39 + column"),
        ("wrong column", COLUMNS, HIGH, "threadIdx.x % 32", "threadIdx.x / 32"),
        ("tail of columns", COLUMNS, HIGH, "if (row >= 170) continue;", ""),
        ("column behind the last", COLUMNS, HIGH, ", 39)", ", 40)"),
        ("the same part in all blocks", PARTS, WIDE, "blockIdx.y * 1024 + threadIdx.x", "threadIdx.x"),
        ("parts that overlap", PARTS, WIDE, "column += 53248", "column += 12288"),
        ("parts in one place", PARTS, WIDE, "parts_out[blockIdx.y]", "parts_out[0]"),
        ("parts that nobody takes together", PARTS, WIDE, "parts_kernel(x).sum()", "parts_kernel(x).max()"),
        (
            "no rule for NaN in columns",
            partial(xla2py.from_jax, lambda x: abs(x).max(0), HOLES),
            HOLES,
            "a != a || ",
            "",
        ),
    ]
}
FAULTS |= {
    f"pieces: {name}": (partial(xla2py.from_jax, function, *arguments), arguments, good, bad)
    for name, function, arguments, good, bad in [
        ("wrong place", rotated, (PLANE, *TURNS), "x[at - 4]", "x[at - 3]"),
        ("not turned round", laplacian, (PLANE,), "x[at + 144]", "x[at + 96]"),
        ("wrong piece", interleaved, (PLANE, *TURNS), "at % 2 == 0", "at % 2 == 1"),
        ("no lower bound of a pad", framed, (PLANE,), " && at % 11 >= 3", ""),
        ("no upper bound of a pad", framed, (PLANE,), " && at / 11 % 9 < 7", ""),
    ]
}


RIGHT = {}  # modules and results, by program: several faults are sown into one


def without_a_fault(program, arguments):
    """The module of a program, and its results, which are right."""
    if program not in RIGHT:
        text = program if isinstance(program, str) else program()
        emitted = xla2py.emit(text, "cupy", style="fast", format=False)
        expected = xla2py.emit(text, format=False).load().main(*arguments)
        assert verdict(emitted, arguments, expected) == "", "the module is wrong without the fault"
        RIGHT[program] = emitted, expected
    return RIGHT[program]


@needs_compiler
@pytest.mark.parametrize("name", FAULTS)
def test_the_ladder_finds(name):
    program, arguments, good, bad = FAULTS[name]
    emitted, expected = without_a_fault(program, arguments)
    assert good in emitted.source
    assert verdict(replace(emitted, source=emitted.source.replace(good, bad)), arguments, expected) != ""
