"""Types that CuPy has no dtype for: floats of eight and four bits as uint8 bits,
integers narrower than a byte as numbers in int8 and uint8.

``to_`` rounds any float to the nearest, halves to even. Source: the Open Compute
Project's formats of 8 bits and of microscaling, their ``fnuz`` variants, and ml_dtypes,
which has the same.
"""

import cupy as cp

# A sign, an exponent and a mantissa; `most` is the largest finite number, `inf`, `above`
# and `none` what lies beyond.
NARROW_FLOATS = """
__device__ float from_bits(int bits, int exponent_bits, int mantissa_bits, int bias, int most, int inf) {
  int width = exponent_bits + mantissa_bits, size = bits & ((1 << width) - 1);
  int exponent = size >> mantissa_bits, mantissa = size & ((1 << mantissa_bits) - 1);
  if (exponent) mantissa += 1 << mantissa_bits;
  else exponent = 1;  // subnormal
  float x = ldexpf((float)mantissa, exponent - bias - mantissa_bits);
  if (size > most) x = __int_as_float(size == inf ? 0x7f800000 : 0x7fc00000);
  return copysignf(x, bits >> width & 1 ? -1.0f : 1.0f);  // a minus would lose the sign of NaN
}
__device__ int to_bits(double x, int exponent_bits, int mantissa_bits, int bias, int most, int above, int none) {
  int sign = (signbit(x) ? 1 : 0) << (exponent_bits + mantissa_bits);
  if (x != x) return sign | none;
  if (fabs(x) >= 131072) return sign | above;
  int exponent = x == 0 ? 1 - bias : max(ilogb(x), 1 - bias);  // that of subnormals is the least
  int steps = (int)rint(ldexp(fabs(x), mantissa_bits - exponent));
  int size = ((exponent + bias - 1) << mantissa_bits) + steps;  // carries from mantissa to exponent
  if (size > most) return sign | above;
  return size || above != 0x80 ? sign | size : 0;  // not every format has a negative zero
}
"""

from_float8_e3m4 = cp.ElementwiseKernel(
    "uint8 bits",
    "float32 x",
    "x = from_bits(bits, 3, 4, 3, 0x6f, 0x70)",
    "from_float8_e3m4",
    preamble=NARROW_FLOATS,
)

to_float8_e3m4 = cp.ElementwiseKernel(
    "T x",
    "uint8 bits",
    "bits = to_bits((double)x, 3, 4, 3, 0x6f, 0x70, 0x78)",
    "to_float8_e3m4",
    preamble=NARROW_FLOATS,
)

from_float8_e4m3 = cp.ElementwiseKernel(
    "uint8 bits",
    "float32 x",
    "x = from_bits(bits, 4, 3, 7, 0x77, 0x78)",
    "from_float8_e4m3",
    preamble=NARROW_FLOATS,
)

to_float8_e4m3 = cp.ElementwiseKernel(
    "T x",
    "uint8 bits",
    "bits = to_bits((double)x, 4, 3, 7, 0x77, 0x78, 0x7c)",
    "to_float8_e4m3",
    preamble=NARROW_FLOATS,
)

from_float8_e5m2 = cp.ElementwiseKernel(
    "uint8 bits",
    "float32 x",
    "x = from_bits(bits, 5, 2, 15, 0x7b, 0x7c)",
    "from_float8_e5m2",
    preamble=NARROW_FLOATS,
)

to_float8_e5m2 = cp.ElementwiseKernel(
    "T x",
    "uint8 bits",
    "bits = to_bits((double)x, 5, 2, 15, 0x7b, 0x7c, 0x7e)",
    "to_float8_e5m2",
    preamble=NARROW_FLOATS,
)

# Without infinities: numbers that are too large become NaN.
from_float8_e4m3fn = cp.ElementwiseKernel(
    "uint8 bits",
    "float32 x",
    "x = from_bits(bits, 4, 3, 7, 0x7e, 0)",
    "from_float8_e4m3fn",
    preamble=NARROW_FLOATS,
)

to_float8_e4m3fn = cp.ElementwiseKernel(
    "T x",
    "uint8 bits",
    "bits = to_bits((double)x, 4, 3, 7, 0x7e, 0x7f, 0x7f)",
    "to_float8_e4m3fn",
    preamble=NARROW_FLOATS,
)

# Without infinities and without a negative zero, whose bits are NaN.
from_float8_e4m3b11fnuz = cp.ElementwiseKernel(
    "uint8 bits",
    "float32 x",
    "x = bits == 0x80 ? __int_as_float(0xffc00000) : from_bits(bits, 4, 3, 11, 0x7f, 0)",
    "from_float8_e4m3b11fnuz",
    preamble=NARROW_FLOATS,
)

to_float8_e4m3b11fnuz = cp.ElementwiseKernel(
    "T x",
    "uint8 bits",
    "bits = to_bits((double)x, 4, 3, 11, 0x7f, 0x80, 0x80)",
    "to_float8_e4m3b11fnuz",
    preamble=NARROW_FLOATS,
)

from_float8_e4m3fnuz = cp.ElementwiseKernel(
    "uint8 bits",
    "float32 x",
    "x = bits == 0x80 ? __int_as_float(0xffc00000) : from_bits(bits, 4, 3, 8, 0x7f, 0)",
    "from_float8_e4m3fnuz",
    preamble=NARROW_FLOATS,
)

to_float8_e4m3fnuz = cp.ElementwiseKernel(
    "T x",
    "uint8 bits",
    "bits = to_bits((double)x, 4, 3, 8, 0x7f, 0x80, 0x80)",
    "to_float8_e4m3fnuz",
    preamble=NARROW_FLOATS,
)

from_float8_e5m2fnuz = cp.ElementwiseKernel(
    "uint8 bits",
    "float32 x",
    "x = bits == 0x80 ? __int_as_float(0xffc00000) : from_bits(bits, 5, 2, 16, 0x7f, 0)",
    "from_float8_e5m2fnuz",
    preamble=NARROW_FLOATS,
)

to_float8_e5m2fnuz = cp.ElementwiseKernel(
    "T x",
    "uint8 bits",
    "bits = to_bits((double)x, 5, 2, 16, 0x7f, 0x80, 0x80)",
    "to_float8_e5m2fnuz",
    preamble=NARROW_FLOATS,
)

# Without infinities and NaN: too large numbers become the largest one, NaN a zero.
from_float4_e2m1fn = cp.ElementwiseKernel(
    "uint8 bits",
    "float32 x",
    "x = from_bits(bits, 2, 1, 1, 7, 0)",
    "from_float4_e2m1fn",
    preamble=NARROW_FLOATS,
)

to_float4_e2m1fn = cp.ElementwiseKernel(
    "T x",
    "uint8 bits",
    "bits = x == x ? to_bits((double)x, 2, 1, 1, 7, 7, 0) : signbit((double)x) ? 0 : 8",
    "to_float4_e2m1fn",
    preamble=NARROW_FLOATS,
)

# Powers of two from 2**-127, a subnormal of float32; halves are rounded up. What is not positive in float32 becomes
# NaN.
from_float8_e8m0fnu = cp.ElementwiseKernel(
    "uint8 bits",
    "float64 x",
    "x = bits == 0xff ? __longlong_as_double(0x7ff8000000000000ll) : ldexp(1.0, bits - 127)",
    "from_float8_e8m0fnu",
)

EXACT = """
__device__ double exact(double x) { return x; }
// A cast would flush the subnormals of float32 to zero.
__device__ double exact(float x) {
  int bits = __float_as_int(x), subnormal = bits & 0x7fffff;
  if (bits & 0x7f800000) return (double)x;
  return ldexp((double)(bits < 0 ? -subnormal : subnormal), -149);
}
"""

to_float8_e8m0fnu = cp.ElementwiseKernel(
    "T x",
    "uint8 bits",
    """
    double size = exact(x);
    int exponent = size > ldexp(1.0, -150) && !isinf(size) ? ilogb(size) : 128;
    if (exponent < 128 && ldexp(size, -exponent) >= 1.5) exponent++;
    bits = min(max(exponent + 127, 0), 0xff)
    """,
    "to_float8_e8m0fnu",
    preamble=EXACT,
)


def wrap_int4(x: cp.ndarray) -> cp.ndarray:
    """Return the low 4 bits of int8, as a number from -8 to 7."""
    return cp.left_shift(x, 4) >> 4


def wrap_uint4(x: cp.ndarray) -> cp.ndarray:
    """Return the low 4 bits of uint8."""
    return cp.bitwise_and(x, 15)


def wrap_int2(x: cp.ndarray) -> cp.ndarray:
    """Return the low 2 bits of int8, as a number from -2 to 1."""
    return cp.left_shift(x, 6) >> 6


def wrap_uint2(x: cp.ndarray) -> cp.ndarray:
    """Return the low 2 bits of uint8."""
    return cp.bitwise_and(x, 3)


def wrap_int1(x: cp.ndarray) -> cp.ndarray:
    """Return the lowest bit of int8, as 0 or -1."""
    return cp.left_shift(x, 7) >> 7


def wrap_uint1(x: cp.ndarray) -> cp.ndarray:
    """Return the lowest bit of uint8."""
    return cp.bitwise_and(x, 1)
