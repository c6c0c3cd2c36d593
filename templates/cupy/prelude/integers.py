"""Integers as HLO defines them, where the operators of C++ differ: division, powers,
shifts, bits.

T is the type of the operands and of the result; ``T(-1) < T(0)`` says that it is
signed.
"""

import cupy as cp

int_divide = cp.ElementwiseKernel(
    "T a, T b",
    "T quotient",
    """
    bool negates = T(-1) < T(0) && b == T(-1);  // MIN / -1 overflows
    quotient = b == T(0) ? T(-1) : negates ? T(0 - (unsigned long long)a) : T(a / b)
    """,
    "int_divide",
)

int_remainder = cp.ElementwiseKernel(
    "T a, T b",
    "T remainder",
    """
    bool negates = T(-1) < T(0) && b == T(-1);
    remainder = b == T(0) ? a : negates ? T(0) : T(a % b)
    """,
    "int_remainder",
)

int_power = cp.ElementwiseKernel(
    "T base, T exponent",
    "T power",
    """
    unsigned long long result = 1, factor = base;
    for (unsigned long long rest = exponent; rest; rest >>= 1, factor *= factor)
      if (rest & 1) result *= factor;
    bool is_negative = exponent < T(0), is_unit = base == T(1) || (T(-1) < T(0) && base == T(-1));
    power = !is_negative ? T(result) : !is_unit ? T(0) : exponent & 1 ? base : T(1)
    """,
    "int_power",
)

shift_left = cp.ElementwiseKernel(
    "T x, T amount",
    "T shifted",
    "shifted = (unsigned long long)amount < 8 * sizeof(T) ? T((unsigned long long)x << amount) : T(0)",
    "shift_left",
)

shift_right_logical = cp.ElementwiseKernel(
    "T x, T amount",
    "T shifted",
    """
    unsigned long long bits = (unsigned long long)x & (~0ull >> (64 - 8 * sizeof(T)));
    shifted = (unsigned long long)amount < 8 * sizeof(T) ? T(bits >> amount) : T(0)
    """,
    "shift_right_logical",
)

shift_right_arithmetic = cp.ElementwiseKernel(
    "T x, T amount",
    "T shifted",
    """
    int unused = 64 - 8 * sizeof(T);
    long long number = (long long)((unsigned long long)x << unused) >> unused;
    bool all_out = (unsigned long long)amount >= 8 * sizeof(T);
    shifted = T(number >> (all_out ? 63 : (int)amount))
    """,
    "shift_right_arithmetic",
)

popcount = cp.ElementwiseKernel(
    "T x",
    "T count",
    "count = T(__popcll((unsigned long long)x & (~0ull >> (64 - 8 * sizeof(T)))))",
    "popcount",
)

count_leading_zeros = cp.ElementwiseKernel(
    "T x",
    "T count",
    """
    int unused = 64 - 8 * sizeof(T);
    count = T(__clzll((long long)((unsigned long long)x & (~0ull >> unused))) - unused)
    """,
    "count_leading_zeros",
)

mulhi = cp.ElementwiseKernel(
    "T a, T b",
    "T high",
    """
    bool is_signed = T(-1) < T(0);
    if (sizeof(T) == 8) high = is_signed ? T(__mul64hi((long long)a, (long long)b)) : T(__umul64hi(a, b));
    else high = T(((long long)a * (long long)b) >> (8 * sizeof(T) % 64))
    """,
    "mulhi",
)
