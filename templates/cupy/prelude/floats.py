"""Floating-point functions of HLO that CuPy lacks or defines differently; each returns
the type of its argument.
"""

import cupy as cp

erf = cp.ElementwiseKernel("T x", "T y", "y = T(erff((float)x))", "erf_kernel")

erf_float64 = cp.ElementwiseKernel(
    "float64 x", "float64 y", "y = erf(x)", "erf_float64"
)

erfc = cp.ElementwiseKernel("T x", "T y", "y = T(erfcf((float)x))", "erfc_kernel")

normal_cdf = cp.ElementwiseKernel(
    "T x", "T y", "y = T(normcdff((float)x))", "normal_cdf"
)

normal_cdf_float64 = cp.ElementwiseKernel(
    "float64 x", "float64 y", "y = normcdf(x)", "normal_cdf_float64"
)

erfc_float64 = cp.ElementwiseKernel(
    "float64 x", "float64 y", "y = erfc(x)", "erfc_float64"
)

logistic = cp.ElementwiseKernel(
    "T x", "T y", "y = T(1.0f / (1.0f + expf(-(float)x)))", "logistic"
)

rsqrt = cp.ElementwiseKernel(
    "T x", "T y", "y = T(1.0f / sqrtf((float)x))", "rsqrt_kernel"
)

sign = cp.ElementwiseKernel(
    "T x",
    "T y",
    "y = x == T(0) || x != x ? x : x < T(0) ? T(-1) : T(1)",  # keeps -0 and NaN
    "sign",
)

round_half_away = cp.ElementwiseKernel(
    "T x", "T y", "y = T(round((double)x))", "round_half_away"
)


def log_add_exp(a: cp.ndarray, b: cp.ndarray) -> cp.ndarray:
    """Return `cp.logaddexp`, but no NaN for two infinities of the same sign."""
    double = a + cp.log(cp.full((), 2, dtype=a.dtype))
    return cp.where(a == b, double, cp.logaddexp(a, b))
