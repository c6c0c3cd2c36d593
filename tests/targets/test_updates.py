"""Parts of arrays that are read and written along axes that are cut: the results are NumPy's."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jax
from xla2py.tests.targets.chunked import Case, check, check_plan, inputs
from xla2py.tests.whole import crossed

dask = pytest.importorskip("dask", reason="Dask is not installed")


def written(update: str, rows: int, start: str, *, into: str = "x", columns: int = 3) -> str:
    """An update of some rows, at a place that is a number or that an argument says."""
    return f"""
ENTRY main {{
  x = f32[24,3] parameter(0)
  u = f32[{rows},{columns}] parameter(1)
  sum = f32[24,3] add(x, x)
  product = f32[{rows},{columns}] multiply(u, u)
  row = s32[] {start}
  column = s32[] constant(1)
  ROOT r = f32[24,3] dynamic-update-slice({into}, {update}, row, column)
}}"""


def read(rows: int, *, columns: int = 3, source: str = "x", then: str = "") -> str:
    """Some rows, from one that an argument says."""
    shape = f"f32[{rows},{columns}]"
    return f"""
ENTRY main {{
  x = f32[24,3] parameter(0)
  sum = f32[24,3] add(x, x)
  row = s32[] parameter(1)
  column = s32[] parameter(2)
  {"" if then else "ROOT "}part = {shape} dynamic-slice({source}, row, column), dynamic_slice_sizes={{{rows},{columns}}}
  {f"ROOT r = f32[{columns}] reshape(part)" if then else ""}
}}"""


FIVE, GIVEN = "constant(5)", "parameter(2)"
CASES = {
    "many rows": Case(written("u", 14, FIVE), "update_slice_in_chunks(x, u, (5, "),
    "few rows": Case(written("u", 2, FIVE), "update_slice_in_chunks(x, u, (5, "),
    "part of a row": Case(written("u", 1, FIVE, columns=2), "updated[5"),
    "rows that are computed": Case(written("product", 14, FIVE), "update_slice_in_chunks(x, "),
    "rows into what is computed": Case(written("u", 14, FIVE, into="sum"), "update_slice_in_chunks("),
}
WRITTEN, READ = "dynamic_update_slice_in_chunks(", "dynamic_slice_in_chunks("
AT_A_PLACE = {
    "many rows": Case(written("u", 14, GIVEN), WRITTEN),
    "few rows": Case(written("u", 2, GIVEN), WRITTEN),
    "rows that are computed": Case(written("product", 14, GIVEN), WRITTEN),
    "rows into what is computed": Case(written("u", 14, GIVEN, into="sum"), WRITTEN),
    "part of a row": Case(written("u", 1, GIVEN, columns=2), WRITTEN),
    "reading rows": Case(read(14), READ),
    "reading parts of rows": Case(read(14, columns=2), READ),
    "reading what is computed": Case(read(14, source="sum"), READ),
    "reading a row": Case(read(1, then="reshape"), "take_in_chunks(x, clipped_row)"),
    "reading a row of what is computed": Case(read(1, source="sum", then="reshape"), "take_in_chunks("),
}


@pytest.mark.parametrize(("name", "chunks"), crossed(CASES, ["1", "6", "13"]))
def test_the_results_are_those_of_numpy(name, chunks):
    check(CASES[name], chunks)


@pytest.mark.parametrize(("name", "chunks", "place"), crossed(AT_A_PLACE, ["1", "6", "13"], [-5, 3, 99]))
def test_places_that_are_not_known(name, chunks, place):
    given = [np.full_like(x, place) if x.dtype == np.int32 else x for x in inputs(AT_A_PLACE[name])]
    check(AT_A_PLACE[name], chunks, given)


LARGE = {
    "rows are written": written("u", 400_000, GIVEN),
    "rows that are computed are written": written("product", 400_000, GIVEN, into="sum"),
    "rows are read": read(400_000),
    "rows of what is computed are read": read(400_000, source="sum"),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_run_takes_no_more_than_is_planned(name):
    text = LARGE[name].replace("[24,3]", "[3200000,3]")
    check_plan(text, inputs(Case(text, "")), chunks="1MiB")


@pytest.mark.parametrize("chunks", ["", "4KiB", "1KiB"])
def test_columns_are_counted_one_by_one(chunks):
    """Rows of the counts are numbered by an array that nothing is read for, beside places that are cut."""
    x = np.random.default_rng(3).integers(0, 9, (200, 16)).astype(np.int32)

    def counts(x):
        return jax.vmap(lambda column: jax.numpy.bincount(column, length=9), 1, 1)(x)

    emitted = xla2py.emit(xla2py.from_jax(counts, x), "dask", nested=False, chunks=chunks)
    np.testing.assert_array_equal(np.asarray(emitted.load().main(x)), counts(x))
