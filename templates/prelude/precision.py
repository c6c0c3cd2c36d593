"""The dtypes that operations are computed in."""

import numpy as np


def working_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype to accumulate in: at least float32, or int8 for integers."""
    if dtype.kind != "b" and np.can_cast(dtype, np.int8):
        return np.dtype(np.int8)
    narrow_float = np.can_cast(dtype, np.float32) and not np.can_cast(dtype, np.int32)
    return np.dtype(np.float32) if narrow_float else dtype
