"""Cholesky factors and triangular systems: XLA CPU is the judge."""

import ml_dtypes
import numpy as np
import pytest
import scipy.linalg

import xla2py
from xla2py.templates.numpy.prelude.cholesky import cholesky_by_blocks
from xla2py.templates.prelude.linalg import cholesky, triangular_solve
from xla2py.tests.prelude.conftest import assert_same
from xla2py.tests.whole import crossed

pytestmark = pytest.mark.filterwarnings("error")
rng = np.random.default_rng(13)
TOLERANCE = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-5, "complex64": 1e-5}
TOLERANCE |= {"float64": 1e-12, "complex128": 1e-12}
DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64, np.complex128]


def random(shape, dtype):
    parts = rng.standard_normal((2, *shape))
    return (parts[0] + (1j * parts[1] if np.dtype(dtype).kind == "c" else 0)).astype(dtype)


def positive_definite(shape, dtype):
    wide = np.complex128 if np.dtype(dtype).kind == "c" else np.float64
    root = random(shape, wide)
    return (root @ root.conj().mT + shape[-1] * np.eye(shape[-1])).astype(dtype)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky(agrees, dtype, lower):
    a = positive_definite((2, 5, 5), dtype)
    ours = cholesky(a, lower)
    tolerance = TOLERANCE[np.dtype(dtype).name]
    agrees(ours, "cholesky", [a], lower=lower, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_reads_one_triangle_and_fills_failures_with_nan(agrees, lower):
    a = positive_definite((2, 2, 4, 4), np.float32)
    other = np.triu_indices(4, 1) if lower else np.tril_indices(4, -1)
    a[(..., *other)] = np.nan
    a[0, 1, 2, 2] = -1
    a[1, 0, 1, 1] = np.nan
    before = a.copy()
    ours = cholesky(a, lower)
    failed = np.array([[False, True], [True, False]])
    triangle = np.tri(4, dtype=bool) if lower else np.tri(4, dtype=bool).T
    assert (np.isnan(ours) == failed[..., None, None] & triangle).all()
    ours[failed] = np.nan  # XLA fills both triangles; the other one is nobody's
    agrees(ours, "cholesky", [a], lower=lower, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(a, before)


@pytest.mark.parametrize(
    ("dtype", "shape", "lower"),
    crossed([np.float32, np.complex64, np.float64] * 2, [(129, 129), (160, 160), (2, 200, 200), (5, 5)], [True, False]),
)
def test_cholesky_by_blocks(dtype, shape, lower):
    """By LAPACK: what XLA gives for so many numbers is long, and the function without blocks is compared with it."""
    a = positive_definite(shape, dtype)
    factor = np.linalg.cholesky(a)
    other = np.triu_indices(shape[-1], 1) if lower else np.tril_indices(shape[-1], -1)
    a[(..., *other)] = np.nan
    before = a.tobytes()
    ours = cholesky_by_blocks(a, lower)
    tolerance = TOLERANCE[np.dtype(dtype).name] * 10
    assert_same(ours, [factor if lower else factor.conj().mT], rtol=tolerance, atol=tolerance)
    assert a.tobytes() == before


@pytest.mark.parametrize("place", [0, 40, 149])
@pytest.mark.parametrize("value", [-1e6, np.nan])
def test_failures_of_blocks_are_nan(place, value):
    a = positive_definite((3, 150, 150), np.float32)
    a[1, place, place] = value
    for lower in (True, False):
        assert_same(cholesky_by_blocks(a, lower), [cholesky(a, lower)], rtol=1e-4, atol=1e-4)
        assert np.isnan(cholesky(a, lower)).any((-2, -1)).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("n", "options", "name"),
    [(200, {}, "cholesky_by_blocks("), (50, {}, "cholesky("), (200, {"allow": ["scipy"]}, "cholesky_by_lapack(")],
)
def test_many_equations_are_factored_by_blocks(n, options, name):
    shape = f"f32[{n},{n}]"
    text = f"HloModule m\n\nENTRY e {{\n  a = {shape} parameter(0)\n  ROOT c = {shape} cholesky(a), lower=true\n}}"
    module = xla2py.emit(text, **options)
    assert f" {name}" in module.source.partition("def main(")[2].partition("\n\n\n")[0]
    a = positive_definite((n, n), np.float32)
    assert_same(np.tril(module.load().main(a)), [np.linalg.cholesky(a)], rtol=1e-4, atol=1e-4)


FROM_THE_LEFT = {"left_side": True, "transpose_a": "NO_TRANSPOSE"}


@pytest.mark.parametrize("unit_diagonal", [True, False])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_triangular_solve(agrees, dtype, lower, unit_diagonal):
    a = random((2, 5, 5), dtype)
    a += np.eye(5, dtype=dtype) * dtype(4)
    other = np.triu_indices(5, 1) if lower else np.tril_indices(5, -1)
    a[(..., *other)] = np.nan
    if unit_diagonal:
        a[..., range(5), range(5)] = np.nan
    b = random((2, 5, 3), dtype)
    before = a.tobytes(), b.tobytes()
    options = {"lower": lower, "unit_diagonal": unit_diagonal}
    tolerance = TOLERANCE[np.dtype(dtype).name] * (30 if unit_diagonal else 1)
    ours = triangular_solve(a, b, **options)
    agrees(ours, "triangular-solve", [a, b], rtol=tolerance, atol=tolerance, **options, **FROM_THE_LEFT)
    assert (a.tobytes(), b.tobytes()) == before


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("n", [31, 32, 33, 150])
def test_triangular_solve_in_blocks(n, lower):
    a, b = random((n, n), np.float64) / n + np.eye(n), random((n, 2), np.float64)
    expected = scipy.linalg.solve_triangular(a, b, lower=lower)
    np.testing.assert_allclose(triangular_solve(a, b, lower=lower), expected, rtol=1e-11, atol=1e-12)


def test_a_singular_system_divides_by_zero():
    a, b = np.float32([[2, 0, 0], [1, 0, 0], [1, 1, 1]]), np.float32([[2], [3], [4]])
    np.testing.assert_array_equal(triangular_solve(a, b, lower=True), np.float32([[1], [np.inf], [-np.inf]]))
    a = np.float32([[2, 0, 0], [1, np.nan, 0], [1, 1, 1]])
    np.testing.assert_array_equal(triangular_solve(a, b, lower=True), np.float32([[1], [np.nan], [np.nan]]))
    a, b = np.float32([[1, np.nan], [0, 2]]), np.float32([[1], [4]])
    np.testing.assert_array_equal(triangular_solve(a, b), np.float32([[np.nan], [2]]))
