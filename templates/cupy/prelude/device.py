"""C++ functions that fused kernels share, as texts: each kernel is compiled with those that it calls."""

LARGER = """
template <class T> __device__ T larger(T a, T b) { return a != a || a > b ? a : b; }  // NaN if one is
"""

SMALLER = """
template <class T> __device__ T smaller(T a, T b) { return a != a || a < b ? a : b; }  // NaN if one is
"""

SQUARED = """
template <class T> __device__ T squared(T x) { return T(x * x); }
"""

SIGMOID = """
__device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
"""

INFINITE = """
__device__ float infinite() { return __int_as_float(0x7f800000); }
"""

INFINITE_DOUBLE = """
__device__ double infinite_double() { return __longlong_as_double(0x7ff0000000000000ll); }
"""

NOT_A_NUMBER = """
__device__ float not_a_number() { return __int_as_float(0x7fc00000); }
"""

NOT_A_NUMBER_DOUBLE = """
__device__ double not_a_number_double() { return __longlong_as_double(0x7ff8000000000000ll); }
"""
