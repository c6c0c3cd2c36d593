"""Floats of 8 and of 4 bits for loops of Numba: their bits, and the float32 that they
stand for.
"""

from typing import Any

import ml_dtypes
import numpy as np

from .elements import element

BYTES = np.arange(256, dtype=np.uint8)
# The digits behind the point, the exponent of the smallest normal number, and the bits
# of the largest finite number, of larger numbers, and of NaN.
F8E3M4 = (4, -2, 0x6F, 0x70, 0x78)
F8E4M3 = (3, -6, 0x77, 0x78, 0x7C)
F8E4M3FN = (3, -6, 0x7E, 0x7F, 0x7F)
F8E4M3FNUZ = (3, -7, 0x7F, 0x80, 0x80)
F8E4M3B11FNUZ = (3, -10, 0x7F, 0x80, 0x80)
F8E5M2 = (2, -14, 0x7B, 0x7C, 0x7E)
F8E5M2FNUZ = (2, -15, 0x7F, 0x80, 0x80)
FLOATS_OF_F4E2M1FN = BYTES.view(ml_dtypes.float4_e2m1fn).astype(np.float32)
FLOATS_OF_F8E8M0FNU = BYTES.view(ml_dtypes.float8_e8m0fnu).astype(np.float32)
FLOATS_OF_F8E3M4 = BYTES.view(ml_dtypes.float8_e3m4).astype(np.float32)
FLOATS_OF_F8E4M3 = BYTES.view(ml_dtypes.float8_e4m3).astype(np.float32)
FLOATS_OF_F8E4M3FN = BYTES.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
FLOATS_OF_F8E4M3FNUZ = BYTES.view(ml_dtypes.float8_e4m3fnuz).astype(np.float32)
FLOATS_OF_F8E4M3B11FNUZ = BYTES.view(ml_dtypes.float8_e4m3b11fnuz).astype(np.float32)
FLOATS_OF_F8E5M2 = BYTES.view(ml_dtypes.float8_e5m2).astype(np.float32)
FLOATS_OF_F8E5M2FNUZ = BYTES.view(ml_dtypes.float8_e5m2fnuz).astype(np.float32)


@element
def bits_of_f8(x: Any, kind: tuple[int, int, int, int, int]) -> Any:
    """Return the bits of the number of a kind that is nearest to a float32, ties to
    even.
    """
    digits, least, most, above, nan = kind
    bits = np.float32(x).view(np.uint32)
    size, cut = np.int64(bits & 0x7FFFFFFF), 23 - digits
    rounded = (size + (1 << (cut - 1)) - 1 + (size >> cut & 1)) >> cut
    normal = rounded - ((126 + least) << digits)
    steps = min(abs(x), np.float32(1)) * np.float32(2.0 ** (digits - least))
    small = np.int64(np.rint(steps))
    finite = normal if size >= (127 + least) << 23 else small
    number = finite if finite <= most else above
    code = number if size <= 0x7F800000 else nan
    has_sign = above != 0x80 or 0 < code < 0x80
    return np.uint8(code | (bits >> 24 & 0x80 if has_sign else 0))


@element
def bits_of_f4e2m1fn(x: Any) -> Any:
    """Return the bits of the number nearest to a float32 with two bits of an exponent
    and one of a mantissa, ties to even: 6 for all larger numbers, -0 for NaN.
    """
    size = min(abs(x), np.float32(6))
    whole = np.rint(size + size) if size < np.float32(2) else np.rint(size) + 2
    code = np.int64(whole if size < np.float32(4) else np.rint(0.5 * size) + 4)
    sign = np.float32(x).view(np.uint32) >> 28 & 8
    return np.uint8(8 if np.isnan(x) else code | sign)


@element
def bits_of_f8e8m0fnu(x: Any) -> Any:
    """Return the bits of the power of two nearest to a float32, ties to the larger; NaN
    for numbers that are not positive or too large.
    """
    bits = np.int64(np.float32(x).view(np.uint32))
    subnormal = bits > 0x400000  # above 2**-127 comes 2**-126, as in XLA
    code = bits + 0x400000 >> 23 if bits >= 0x800000 else subnormal
    is_power = 0 < bits < 0x7F800000 - 0x400000
    return np.uint8(code if is_power else 0xFF)
