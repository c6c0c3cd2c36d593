"""Which dtype sums are kept in, and what becomes of types beside numbers of Python."""

import ml_dtypes
import numpy as np
import pytest

from xla2py.templates.prelude.precision import working_dtype


@pytest.mark.parametrize(
    "dtype, expected",
    [
        (np.float16, np.float32),
        (ml_dtypes.bfloat16, np.float32),
        (ml_dtypes.float8_e4m3fn, np.float32),
        (ml_dtypes.float8_e8m0fnu, np.float32),
        (ml_dtypes.float4_e2m1fn, np.float32),
        (ml_dtypes.int4, np.int8),
        (ml_dtypes.uint2, np.int8),
        *((dtype, dtype) for dtype in (bool, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint64)),
        *((dtype, dtype) for dtype in (np.float32, np.float64, np.complex64, np.complex128)),
    ],
)
def test_working_dtype(dtype, expected):
    assert working_dtype(np.dtype(dtype)) == expected


def test_a_python_int_keeps_the_types_of_ml_dtypes_but_a_python_float_does_not():
    x = np.ones(3, ml_dtypes.bfloat16)
    assert ((x + 1).dtype, np.where(x > 0, x, 0).dtype, np.maximum(x, 0).dtype) == (x.dtype, x.dtype, x.dtype)
    assert ((x + 0.5).dtype, np.clip(x, x, x).dtype) == (np.float32, np.float32)
    assert (np.ones(3, ml_dtypes.int4) + 1).dtype == np.int8


def test_integer_scalars_warn_where_arrays_wrap():
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert np.int32(2**31 - 1) + np.int32(1) == -(2**31)
    assert (np.int32([2**31 - 1]) + np.int32(1)).tolist() == [-(2**31)]
