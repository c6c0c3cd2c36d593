"""Scatters in chunks: the results are NumPy's however the array and its updates are cut, within the plan."""

import numpy as np
import pytest

from xla2py.tests.targets.chunked import Case, check, check_plan, inputs
from xla2py.tests.whole import crossed

dask = pytest.importorskip("dask", reason="Dask is not installed")

REDUCERS = "add multiply maximum minimum and or xor".split()


def rows(combine: str, *, n: int = 16, count: int = 20, dtype: str = "f32", source: str = "u", into: str = "x") -> str:
    """Rows of three into an array of ``n``; the last one stays where nothing combines them."""
    last = f"ROOT c = {dtype}[] {combine}(a, b)" if combine else ""
    return f"""
r {{ a = {dtype}[] parameter(0)  {"" if combine else "ROOT "}b = {dtype}[] parameter(1)  {last} }}
ENTRY main {{
  x = {dtype}[{n},3] parameter(0)
  places = s32[{count},1] parameter(1)
  u = {dtype}[{count},3] parameter(2)
  sum = {dtype}[{count},3] add(u, u)
  zero = {dtype}[] constant(0)
  zeros = {dtype}[{n},3] broadcast(zero), dimensions={{}}
  ROOT result = {dtype}[{n},3] scatter({into}, places, {source}), update_window_dims={{1}}, inserted_window_dims={{0}},
    scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=r
}}"""


POINTS = """
r { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT c = s32[] add(a, b) }
ENTRY main {
  x = s32[20,8,3] parameter(0)
  places = s8[14,2,2] parameter(1)
  u = s32[14,3,2] parameter(2)
  ROOT result = s32[20,8,3] scatter(x, places, u), update_window_dims={1}, inserted_window_dims={0,1},
    scatter_dims_to_operand_dims={0,1}, index_vector_dim=2, to_apply=r
}"""
COUNTS = """
r { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT c = s32[] add(a, b) }
ENTRY main {
  zero = s32[] constant(0)
  one = s32[] constant(1)
  zeros = s32[6] broadcast(zero), dimensions={}
  ones = s32[90] broadcast(one), dimensions={}
  numbers = u8[90,1] parameter(0)
  ROOT result = s32[6] scatter(zeros, numbers, ones), update_window_dims={}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=r
}"""
ONE_PLACE = """
r { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[16,3] parameter(0)
  place = s32[1] parameter(1)
  u = f32[3] parameter(2)
  ROOT result = f32[16,3] scatter(x, place, u), update_window_dims={0}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=r
}"""
COLUMN_BESIDE_ROWS = """
r { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY main {
  zero = f32[] constant(0)
  zeros = f32[2,3] broadcast(zero), dimensions={}
  rows = s32[2] parameter(0)
  columns = s32[20] parameter(1)
  lines = s32[2,20,1] broadcast(rows), dimensions={0}
  first = s32[1,20] reshape(columns)
  both = s32[2,20] concatenate(first, first), dimensions={0}
  last = s32[2,20,1] reshape(both)
  places = s32[2,20,2] concatenate(lines, last), dimensions={2}
  one = f32[] constant(1)
  ones = f32[2,20] broadcast(one), dimensions={}
  ROOT result = f32[2,3] scatter(zeros, places, ones), update_window_dims={}, inserted_window_dims={0,1},
    scatter_dims_to_operand_dims={0,1}, index_vector_dim=2, to_apply=r
}"""
INSIDE = """
r { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[16,3] parameter(0)
  given = s32[20,1] parameter(1)
  zero = s32[] constant(0)
  low = s32[20,1] broadcast(zero), dimensions={}
  last = s32[] constant(15)
  high = s32[20,1] broadcast(last), dimensions={}
  places = s32[20,1] clamp(low, given, high)
  u = f32[20,3] parameter(2)
  ROOT result = f32[16,3] scatter(x, places, u), update_window_dims={1}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=r
}"""

PLACES = (-6, 22)  # in and out of bounds
IN_TURN, IN_PARTS = "scatter_at_in_chunks(", "scatter_at_in_parts("
CASES = {
    "the last of several": Case(rows(""), IN_TURN, PLACES),
    "the last of what is computed": Case(rows("", source="sum"), IN_TURN, PLACES),
    "the last, into one chunk": Case(rows("", n=1), IN_TURN, PLACES),
    "sums": Case(rows("add"), IN_TURN, PLACES),
    "sums of what is computed": Case(rows("add", source="sum"), IN_TURN, PLACES),
    "sums of narrow numbers": Case(rows("add", n=1, dtype="bf16"), IN_TURN, PLACES),
    "elements": Case(POINTS, IN_TURN, (-3, 22)),
    "in one place": Case(ONE_PLACE, IN_TURN, PLACES),
    "proved to fit": Case(INSIDE, IN_TURN, PLACES),
}
SMALL = {
    "counts": Case(COUNTS, IN_PARTS, (0, 9)),
    "sums of rows": Case(rows("add", n=6, into="zeros"), IN_PARTS, (-2, 8)),
    "sums of rows that are computed": Case(rows("add", n=6, source="sum"), IN_PARTS, (-2, 8)),
    **{f"{name} of floats": Case(rows(name, n=6), IN_PARTS, (-2, 8)) for name in REDUCERS[:4]},
    **{f"{name} of integers": Case(rows(name, n=6, dtype="s32"), IN_PARTS, (-2, 8)) for name in REDUCERS},
    "unsigned bits": Case(rows("and", n=6, dtype="u8"), IN_PARTS, (0, 8)),
    "a column beside rows": Case(COLUMN_BESIDE_ROWS, IN_PARTS, (0, 2)),
    "truth": Case(rows("or", n=6, dtype="pred", source="u"), IN_PARTS, (-2, 8)),
}


@pytest.mark.parametrize(("name", "chunks"), crossed(CASES, ["1", "6", "13"]))
def test_updates_go_into_each_chunk_in_order(name, chunks):
    check(CASES[name], chunks)


@pytest.mark.parametrize(("name", "chunks"), crossed(SMALL, ["6", "13"]))
def test_each_chunk_of_updates_goes_into_an_array_of_its_own(name, chunks):
    check(SMALL[name], chunks)


def batched(n: int, count: int) -> str:
    """Elements of each column go where a column of places says; the columns' own numbers are places, too."""
    return f"""
r {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }}
ENTRY main {{
  x = f32[{n},{count}] parameter(0)
  places = s32[{count},5] parameter(1)
  u = f32[1,{count},5] parameter(2)
  ROOT result = f32[{n},{count}] scatter(x, places, u), update_window_dims={{0}}, inserted_window_dims={{}},
    scatter_dims_to_operand_dims={{0}}, input_batching_dims={{1}}, scatter_indices_batching_dims={{0}},
    index_vector_dim=2, to_apply=r
}}"""


@pytest.mark.parametrize(("n", "count"), [(2, 3), (7, 6)])
@pytest.mark.parametrize("chunks", ["2", "3"])
def test_places_that_are_cut_along_several_axes(n, count, chunks):
    check(Case(batched(n, count), "scatter_at_in_", (0, n - 1)), chunks)


MANY = 400_000
LARGE = {
    "into few rows": (rows("add", n=64, count=MANY, into="zeros"), "scatter_at"),
    "into few rows of what is computed": (rows("maximum", n=64, count=MANY, source="sum"), "scatter_at"),
    "into many rows": (rows("add", n=90_000, count=MANY), "scatter_at"),
    "over many rows": (rows("", n=90_000, count=MANY, source="sum"), "scatter_at"),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_run_takes_no_more_than_is_planned(name):
    text, phase = LARGE[name]
    check_plan(text, inputs(Case(text, "", (-9, 90_009))), phase, chunks="256KiB")


@pytest.mark.parametrize("combine", [np.add, np.multiply, np.maximum])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float16])
@pytest.mark.parametrize(
    ("shape", "indexed", "count"),
    [((8, 100), 1, 500), ((4, 3, 70), 2, 700), ((8, 100), 1, 20), ((5, 7), 1, 100), ((9,), 1, 50), ((0, 4), 1, 5)],
)
def test_updates_are_combined_as_by_at(shape, indexed, count, dtype, combine):
    """Long rows with many updates each, and all others; places outside are left out."""
    rng = np.random.default_rng(3)
    x = rng.integers(-3, 3, shape).astype(dtype)
    places = tuple(rng.integers(-1, n + 1, count) for n in shape[:indexed])
    values = rng.integers(-1, 2, (count, *shape[indexed:])).astype(dtype)
    inside = np.logical_and.reduce([(i >= 0) & (i < n) for i, n in zip(places, shape, strict=False)])
    wanted = x.copy()
    combine.at(wanted, tuple(i[inside] for i in places), values[inside])
    chunked_scatter = pytest.importorskip("xla2py.templates.prelude.chunked_scatter")
    chunked_scatter.scatter_by_tiles(x, 0, places, values, combine)
    np.testing.assert_array_equal(x, wanted)


@pytest.mark.parametrize("index_type", [np.int8, np.uint8, np.uint64])
def test_places_of_any_integers_are_counted_in_wide_ones(index_type):
    """The numbers of elements are beyond the type of a place, or of no type that it has in common with others."""
    rng = np.random.default_rng(5)
    x, wanted = np.zeros((2, 100, 30), np.float32)
    places = rng.integers(0, 100, 50).astype(index_type)
    values = rng.integers(-3, 3, (50, 30)).astype(np.float32)
    np.add.at(wanted, places, values)
    chunked_scatter = pytest.importorskip("xla2py.templates.prelude.chunked_scatter")
    chunked_scatter.scatter_by_tiles(x, 0, (places,), values, np.add)
    np.testing.assert_array_equal(x, wanted)
