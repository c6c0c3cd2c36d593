"""Factors and solves of matrices with one element are arithmetic, singular and not finite ones included."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.targets.running import on_device
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child

VALUES = np.array([4, -2, 0, -0.0, np.nan, np.inf, -np.inf, 1e-3], np.float32).reshape(-1, 1, 1)
RIGHT = np.array([[3, 0, -1]], np.float32)
LU = """(f32[8,1,1]{1,2,0}, s32[8,1]{1,0}, s32[8]{0}) custom-call(a), custom_call_target="lapack_sgetrf_ffi",
  operand_layout_constraints={f32[8,1,1]{1,2,0}}, api_version=API_VERSION_TYPED_FFI"""
FACTOR = """(f32[8,1,1]{1,2,0}, s32[8]{0}) custom-call(a), custom_call_target="lapack_spotrf_ffi",
  operand_layout_constraints={f32[8,1,1]{1,2,0}}, api_version=API_VERSION_TYPED_FFI, backend_config={uplo = 76 : ui8}"""


def program(root, given="f32[8,1,1]{1,2,0} parameter(0)", more=""):
    return f"HloModule m\n\nENTRY main {{\n  a = {given}\n  {more}\n  ROOT r = {root}\n}}\n"


def solve(flags):
    """``left_side`` solves a x = b, otherwise x a = b."""
    right = "f32[8,1,3]" if "left_side=true" in flags else "f32[8,3,1]"
    root = f"{right} triangular-solve(a, b), lower=true, transpose_a=NO_TRANSPOSE, {flags}"
    return program(root, "f32[8,1,1] parameter(0)", f"b = {right} parameter(1)")


def main_of(text):
    return xla2py.emit(text).source.partition("def main(")[2].partition("\n\n\n")[0]


def test_lu():
    text = program(LU)
    lu, pivots, info = xla2py.emit(text).load().main(VALUES)
    np.testing.assert_array_equal(lu, VALUES)
    assert (pivots == 1).all() and [*info] == [0, 0, 1, 1, 0, 0, 0, 0]
    assert "getrf" not in main_of(text)


def test_cholesky():
    """LAPACK reports a pivot that is not positive and leaves it; what stands there then is masked by all who call."""
    text = program(FACTOR)
    factor, info = xla2py.emit(text).load().main(VALUES)
    expected = run_hlo_in_child(text, VALUES)
    np.testing.assert_array_equal(info, expected[1])
    np.testing.assert_array_equal(factor[info == 0], expected[0][info == 0])
    assert "potrf" not in main_of(text)


@pytest.mark.parametrize("target", ["numpy", "cupy", "dask"])
@pytest.mark.parametrize("flags", ["left_side=true, unit_diagonal=false", "left_side=false, unit_diagonal=false"])
def test_triangular_solve(flags, target):
    text = solve(flags)
    b = np.broadcast_to(RIGHT, (8, 1, 3)) if "left_side=true" in flags else np.broadcast_to(RIGHT.T, (8, 3, 1))
    arrays = [VALUES, np.ascontiguousarray(b)]
    found = xla2py.emit(text, target)
    (made,) = on_device(text, arrays, found) if target == "cupy" else [np.asarray(found.load().main(*arrays))]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(made, arrays[1] / VALUES)
    assert "b / a" in main_of(text)


def test_a_unit_diagonal_is_not_read():
    assert "return b" in main_of(solve("left_side=true, unit_diagonal=true"))


def test_two_rows_and_complex_numbers_are_left_to_lapack():
    assert "getrf" in main_of(
        program(LU.replace("8,1,1", "8,2,2").replace("[8,1]", "[8,2]"), "f32[8,2,2] parameter(0)")
    )
    wide = program(LU.replace("f32", "c64").replace("sgetrf", "cgetrf"), "c64[8,1,1]{1,2,0} parameter(0)")
    assert "getrf" in main_of(wide)
