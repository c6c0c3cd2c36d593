"""Matrix products: XLA CPU is the judge, exact integers and JAX where it refuses."""

import ml_dtypes
import numpy as np
import pytest

from xla2py.templates.prelude.contraction import matmul, ragged_dot, scaled_dot
from xla2py.tests.recording.lazy_jax import jax

pytestmark = pytest.mark.filterwarnings("error")
rng = np.random.default_rng(5)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32])
def test_long_integer_products_are_exact(dtype):
    extremes = np.iinfo(dtype)
    for value in (extremes.min, extremes.max):
        a = np.full((1, 3000), value, dtype)
        expected = 3000 * value**2
        assert (int(matmul(a, a.T, np.int64)[0, 0]) - expected) % 2**64 == 0
        assert (int(matmul(a, a.T, np.int32)[0, 0]) - expected) % 2**32 == 0


@pytest.mark.parametrize(
    "dtype, result, rtol",
    [
        (bool, bool, 0),
        (np.float16, np.float16, 2**-10),
        (np.float16, np.float32, 1e-6),
        (ml_dtypes.bfloat16, ml_dtypes.bfloat16, 2**-7),
        (ml_dtypes.bfloat16, np.float32, 1e-6),
        (ml_dtypes.float8_e4m3fn, np.float32, 1e-6),
        (ml_dtypes.float8_e5m2, ml_dtypes.bfloat16, 2**-7),
        (np.float32, np.float32, 1e-6),
        (np.float64, np.float64, 1e-13),
        (np.complex64, np.complex64, 1e-6),
        (np.complex128, np.complex128, 1e-13),
    ],
)
def test_other_products(agrees, dtype, result, rtol):
    a, b = rng.integers(0, 4, (2, 3, 40)).astype(dtype), rng.integers(0, 4, (2, 40, 4)).astype(dtype)
    a, b = (a & (rng.random(a.shape) < 0.2), b) if dtype is bool else (a * dtype(0.7), b)
    agrees(
        matmul(a, b, result),
        "dot",
        [a, b],
        rtol=rtol,
        lhs_batch_dims=(0,),
        rhs_batch_dims=(0,),
        lhs_contracting_dims=(2,),
        rhs_contracting_dims=(1,),
    )


def ragged_by_jax(a, b, sizes, ragged_axis, group_axis, contracting, batch):
    is_grouped = ragged_axis not in (*contracting[0], *batch[0])
    groups = [group_axis] if is_grouped else []

    def product(a, b, sizes):
        numbers = jax.lax.RaggedDotDimensionNumbers((contracting, batch), [ragged_axis], groups)
        return jax.lax.ragged_dot_general(a, b, sizes, numbers)

    return jax.jit(product)(a, b, sizes)


@pytest.mark.parametrize("sizes", [[2, 0, 3], [0, 0, 0], [1, 5, 3], [7, 9, 1]])
@pytest.mark.parametrize(
    "shape_a, shape_b, ragged_axis, group_axis, contracting, batch",
    [
        ((9, 4), (3, 4, 5), 0, 0, ((1,), (1,)), ((), ())),
        ((4, 9), (4, 5, 3), 1, 2, ((0,), (0,)), ((), ())),
        ((2, 9, 4), (3, 2, 4, 5), 1, 0, ((2,), (2,)), ((0,), (1,))),
        ((2, 9, 4), (3, 4, 5), 1, 0, ((2,), (1,)), ((), ())),
        ((4, 9), (9, 5), 1, 0, ((1,), (0,)), ((), ())),
        ((2, 4, 9), (9, 5, 2), 2, 0, ((2,), (0,)), ((0,), (2,))),
        ((2, 4, 9), (2, 9, 5), 2, 0, ((0, 2), (0, 1)), ((), ())),
        ((9, 2, 4), (9, 4, 5), 0, 0, ((2,), (1,)), ((0,), (0,))),
    ],
)
def test_ragged_dot(shape_a, shape_b, ragged_axis, group_axis, contracting, batch, sizes):
    a, b = (rng.integers(-9, 9, shape).astype(np.float32) for shape in (shape_a, shape_b))
    sizes = np.array(sizes, np.int32)
    arguments = {"ragged_axis": ragged_axis, "group_axis": group_axis, "contracting": contracting, "batch": batch}
    expected = ragged_by_jax(a, b, sizes, **arguments)
    np.testing.assert_array_equal(ragged_dot(a, b, sizes, **arguments), expected)


def test_ragged_dot_with_sizes_for_each_batch():
    a, b = rng.integers(-9, 9, (2, 9, 4)).astype(np.float32), rng.integers(-9, 9, (3, 2, 4, 5)).astype(np.float32)
    sizes = np.array([[2, 3, 1], [0, 5, 4]], np.int32)
    arguments = {"ragged_axis": 1, "group_axis": 0, "contracting": ((2,), (2,)), "batch": ((0,), (1,))}
    expected = ragged_by_jax(a, b, sizes, **arguments)
    np.testing.assert_array_equal(ragged_dot(a, b, sizes, **arguments), expected)
    b = rng.integers(-9, 9, (2, 9, 5)).astype(np.float32)
    arguments = {"ragged_axis": 1, "group_axis": 0, "contracting": ((1,), (1,)), "batch": ((0,), (0,))}
    expected = ragged_by_jax(a, b, sizes, **arguments)
    np.testing.assert_array_equal(ragged_dot(a, b, sizes, **arguments), expected)


def test_scaled_dot_repeats_each_scale_over_its_block():
    a, b = (rng.integers(-3, 4, shape).astype(ml_dtypes.float8_e4m3fn) for shape in ((3, 64), (64, 5)))
    a_scale = np.exp2(rng.integers(-2, 3, (3, 2))).astype(ml_dtypes.float8_e8m0fnu)
    b_scale = np.exp2(rng.integers(-2, 3, (4, 5))).astype(ml_dtypes.float8_e8m0fnu)
    expected = np.zeros((3, 5))
    for i, j, k in np.ndindex(3, 5, 64):
        expected[i, j] += float(a[i, k]) * float(a_scale[i, k // 32]) * float(b[k, j]) * float(b_scale[k // 16, j])
    ours = scaled_dot(a, b, a_scale, b_scale)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, expected, rtol=1e-6)
    np.testing.assert_allclose(
        scaled_dot(a, b, a_scale, dtype=ml_dtypes.bfloat16).astype(float),
        scaled_dot(a, b, a_scale, np.ones((1, 1), np.float32)),
        rtol=2**-8,
    )


@pytest.mark.parametrize(("left", "right"), [("i1", "i1"), ("i1", "u1"), ("u1", "i1"), ("u1", "u1")])
@pytest.mark.parametrize("extreme", [np.min, np.max])
def test_the_largest_products_of_bytes_are_exact(left, right, extreme):
    """Sums of any number of them, the last odd so that a lost bit shows."""
    a, b = (
        np.full(shape, extreme([np.iinfo(kind).min, np.iinfo(kind).max]), kind)
        for shape, kind in (((2, 3001), left), ((3001, 2), right))
    )
    a[:, ::7], b[-1] = 1, 1
    np.testing.assert_array_equal(matmul(a, b, np.int32), a.astype(np.int64) @ b.astype(np.int64))
