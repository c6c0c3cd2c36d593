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
