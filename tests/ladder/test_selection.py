"""The first of rows: selected by a block of threads a row where few are kept, else by a sort."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py
from xla2py.targets.cupy.twin.costs import costs_of
from xla2py.tests.ladder.running import checked, needs_compiler, verdict
from xla2py.tests.operations.case import EXACT, shape_text
from xla2py.tests.whole import crossed

pytestmark = needs_compiler
GENERATOR = np.random.default_rng(12)
ODD = np.float32([[3, np.nan, -0.0, 0.0, -np.inf, 1, -np.nan, 3], [0.0, -0.0, 2, np.inf, 1e-30, -1e-30, 2, -7]])
FEW = GENERATOR.integers(-3, 3, (3, 700))  # so that numbers are equal
ARRAYS = {
    "odd": ODD,
    "odd and narrow": ODD.astype(ml_dtypes.bfloat16),
    "a vector": ODD[0].astype(np.float16),
    "equal floats": FEW.astype(np.float32),
    "equal numbers": FEW.astype(np.int32),
    "small": FEW.astype(np.int8),
    "unsigned": FEW[:, None].astype(np.uint32),
}


def program(x, k, largest=True):
    shape = shape_text(x)
    kept = f"{shape.rpartition(',')[0]},{k}]" if x.ndim > 1 else f"{shape.partition('[')[0]}[{k}]"
    places = f"s32[{kept.partition('[')[2]}"
    return (
        f"HloModule m\nENTRY main {{\n  x = {shape} parameter(0)\n"
        f"  ROOT r = ({kept}, {places}) topk(x), k={k}, largest={str(largest).lower()}\n}}\n"
    )


def expected(x, k, largest=True):
    """By NumPy's stable sort of the bits."""
    order = x.astype(np.int64)
    if not np.issubdtype(x.dtype, np.integer):
        bits = x.view(f"i{x.dtype.itemsize}")
        order = np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits).astype(np.int64)
    places = np.argsort(-order if largest else order, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(x, places, -1), places.astype(np.int32)


def agrees(emitted, x, k, largest=True):
    values, places = checked(emitted, [x])
    wanted = expected(x, k, largest)
    np.testing.assert_array_equal(places, wanted[1])
    assert values.tobytes() == wanted[0].tobytes()


@pytest.mark.parametrize(("name", "largest"), crossed(ARRAYS, [True, False]))
def test_few_of_each_row_are_selected_in_one_launch(name, largest):
    x = ARRAYS[name]
    for k in {1, 5, min(x.shape[-1], 70)}:
        emitted = xla2py.emit(program(x, k, largest), "cupy")
        agrees(emitted, x, k, largest)
        assert costs_of(emitted.load, [x]).launches == 1


@pytest.mark.parametrize(("columns", "k", "launches"), [(700, 256, 1), (700, 257, 1), (5000, 256, 1), (5000, 257, 3)])
def test_many_of_each_row_are_sorted(columns, k, launches):
    """By one kernel, if a block has room for a row."""
    x = GENERATOR.integers(-3, 3, (3, columns)).astype(np.float32)
    emitted = xla2py.emit(program(x, k), "cupy")
    agrees(emitted, x, k)
    assert costs_of(emitted.load, [x]).launches == launches


def test_long_rows_are_selected_in_parts():
    """Rows are sorted if a block cannot take the numbers that their parts give."""
    x = FEW.astype(np.float32)
    for row, k, launches in ((100, 9, 6), (100, 100, 1), (3, 4, 1)):
        emitted = xla2py.emit(program(x, k), "cupy")
        short = replace(emitted, source=emitted.source.replace("LONGEST_ROW = 1 << 14", f"LONGEST_ROW = {row}"))
        assert short.source != emitted.source
        agrees(short, x, k)
        assert costs_of(short.load, [x]).launches == launches


# Twenty of each number; of the last that is kept eighteen, up to a late column.
STEPS = np.float32([[0], [0.5]]) - np.float32(np.arange(700) % 35)
KEPT = 78
FAULTS = [
    ("negative floats turned round", "if (IS_FLOAT && order < 0) order ^= ~lowest;", ""),
    ("signed numbers as unsigned ones", "order - (IS_SIGNED ? lowest : 0)", "order"),
    ("of equal numbers the wrong ones", "end = before + 1;", "end = before;"),
    ("places in the order in which they were found", "rank += kept[other] < kept[k];", "rank = k;"),
    ("a counter that is not there yet", "if (threadIdx.x == 0) filled = 0;\n    __syncthreads();", "filled = 0;"),
    (
        "numbers that are not there yet",
        "    __syncthreads();\n    for (int k = threadIdx.x;",
        "    for (int k = threadIdx.x;",
    ),
    (
        "half of the columns",
        '"HALF": 1 << (columns - 1).bit_length() >> 1',
        '"HALF": 1 << (columns - 1).bit_length() >> 2',
    ),
]


@pytest.fixture(scope="module")
def steps():
    """The module and its results, which are right without a fault."""
    emitted, wanted = xla2py.emit(program(STEPS, KEPT), "cupy", format=False), expected(STEPS, KEPT)
    assert verdict(emitted, [STEPS], wanted, EXACT) == ""
    return emitted, wanted


@pytest.mark.parametrize(("good", "bad"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_the_ladder_finds(good, bad, steps):
    emitted, wanted = steps
    assert good in emitted.source
    assert verdict(replace(emitted, source=emitted.source.replace(good, bad)), [STEPS], wanted, EXACT) != ""
