"""Calls of LAPACK on matrices that are said to lie by rows: what computes them reads the same memory by columns."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.custom_calls.examples import EXAMPLES
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child

BY_COLUMNS, BY_ROWS = "{1,2,0}", "{2,1,0}"
CALLS = [f"lapack_s{routine}_ffi" for routine in ("getrf", "geqrf", "gesdd", "potrf", "trsm", "orgqr", "gehrd")]


def matrices(text):
    """Random matrices for the parameters; some that LAPACK can factorise."""
    rng = np.random.default_rng(4)
    module = xla2py.load(text)
    for parameter in module.entry.parameters:
        a = rng.standard_normal(parameter.array_shape.dimensions).astype(np.float32)
        square = a.ndim == 3 and a.shape[1] == a.shape[2]
        yield a @ a.transpose(0, 2, 1) + np.eye(a.shape[1], dtype=np.float32) if square else a


@pytest.mark.parametrize("name", CALLS)
def test_values_are_those_of_xla(name):
    by_columns = EXAMPLES[name].text()
    text = by_columns.replace(BY_COLUMNS, BY_ROWS)
    assert text != by_columns
    arrays = list(matrices(text))
    found = xla2py.emit(text).load().main(*arrays)
    found = found if isinstance(found, tuple) else (found,)
    left = int("gesdd" in name)  # nothing of use is left in its operand
    for ours, expected in list(zip(found, run_hlo_in_child(text, *arrays), strict=True))[left:]:
        np.testing.assert_allclose(ours, expected, rtol=1e-3, atol=1e-4)


def test_the_results_alone():
    """Each array has a layout of its own."""
    text = EXAMPLES["lapack_sgetrf_ffi"].text().replace(f"(f32[2,5,3]{BY_COLUMNS}", f"(f32[2,5,3]{BY_ROWS}")
    (a,) = matrices(text)
    for ours, expected in zip(xla2py.emit(text).load().main(a), run_hlo_in_child(text, a), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)


def test_matrices_by_columns_are_read_as_they_are():
    source = xla2py.emit(EXAMPLES["lapack_sgetrf_ffi"].text()).source
    assert ".reshape(" not in source.partition("def main(")[2].partition("\n\n\n")[0]
