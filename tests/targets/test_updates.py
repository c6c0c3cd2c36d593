"""Parts of arrays that are read and written along axes that are cut: the results are NumPy's."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.targets.running import differences, leaves
from xla2py.tests.targets.test_along import KINDS, Case, inputs

dask = pytest.importorskip("dask", reason="Dask is not installed")


def written(update: str, rows: int, start: str, *, into: str = "x", columns: int = 3) -> str:
    """An update of some rows, at a place that is a number or that an argument says."""
    return f"""
ENTRY main {{
  x = f32[40,3] parameter(0)
  u = f32[{rows},{columns}] parameter(1)
  sum = f32[40,3] add(x, x)
  product = f32[{rows},{columns}] multiply(u, u)
  row = s32[] {start}
  column = s32[] constant(1)
  ROOT r = f32[40,3] dynamic-update-slice({into}, {update}, row, column)
}}"""


FIVE, GIVEN = "constant(5)", "parameter(2)"
CASES = {
    "many rows": Case(written("u", 30, FIVE), "updated[5:35] = u.read()\n"),
    "few rows": Case(written("u", 2, FIVE), "updated[5:7] = "),
    "part of a row": Case(written("u", 1, FIVE, columns=2), "updated[5"),
    "rows that are computed": Case(written("product", 30, FIVE), "updated[5:35] = "),
    "rows into what is computed": Case(written("u", 30, FIVE, into="sum"), "updated[5:35] = u.read()\n"),
}


@pytest.mark.parametrize("chunks", ["1", "6", "13"])
@pytest.mark.parametrize("name", CASES)
def test_the_results_are_those_of_numpy(name, chunks):
    case = CASES[name]
    given = inputs(case)
    before = [array.copy() for array in given]
    wanted = leaves(xla2py.emit(case.text).load().main(*given))
    generated = xla2py.emit(case.text, "dask", chunks=chunks)
    assert case.written in generated.source
    assert "# one chunk: " not in generated.source
    for made_of in KINDS.values():
        lazy = leaves(generated.load().main(*map(made_of, given)))
        values = dask.compute(*lazy, scheduler="sync")
        assert [(x.shape, x.dtype) for x in lazy] == [(x.shape, x.dtype) for x in values]
        assert differences(wanted, list(values)) == []
    assert all(np.array_equal(x, y, equal_nan=True) for x, y in zip(before, given, strict=True))
