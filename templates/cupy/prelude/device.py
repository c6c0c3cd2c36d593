"""C++ functions as texts that fused kernels share and are compiled with, and kernels of
whole rows.
"""

from collections.abc import Sequence
from typing import Any

import cupy as cp

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

COMBINE = """
template <class T> struct Sum { __device__ T operator()(T a, T b) const { return a + b; } };
template <class T> struct Product { __device__ T operator()(T a, T b) const { return a * b; } };
template <class T> struct Largest { __device__ T operator()(T a, T b) const { return a != a || a > b ? a : b; } };
template <class T> struct Smallest { __device__ T operator()(T a, T b) const { return a != a || a < b ? a : b; } };
"""

ROWS = """
// One number of the WIDTH threads of a row: of those of each warp, then of the warps in their order.
template <int WIDTH, class T, class Combine> __device__ T across_row(T x, Combine combine) {
    for (int step = (WIDTH < 32 ? WIDTH : 32) / 2; step; step /= 2) x = combine(x, __shfl_xor_sync(~0u, x, step));
    if (WIDTH > 32) {
        __shared__ T parts[32];
        __syncthreads();  // what was there before has been read
        if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
        __syncthreads();
        x = parts[0];
        for (int warp = 1; warp < WIDTH / 32; warp++) x = combine(x, parts[warp]);
    }
    return x;
}

// Threads outside of the row have its last element: that changes no extreme, and sums leave it out.
template <int WIDTH, class T> __device__ T row_sum(T x, bool inside = true) {
    return across_row<WIDTH>(inside ? x : T(0), Sum<T>());
}
template <int WIDTH, class T> __device__ T row_product(T x, bool inside = true) {
    return across_row<WIDTH>(inside ? x : T(1), Product<T>());
}
template <int WIDTH, class T> __device__ T row_max(T x) { return across_row<WIDTH>(x, Largest<T>()); }
template <int WIDTH, class T> __device__ T row_min(T x) { return across_row<WIDTH>(x, Smallest<T>()); }
"""

COLUMNS = """
// One number of the WIDTH threads of a column, in their order; those of a block's COLUMNS columns take turns.
template <int WIDTH, int COLUMNS, class T, class Combine> __device__ T across_column(T x, Combine combine) {
    __shared__ T parts[WIDTH * COLUMNS];
    __syncthreads();  // what was there before has been read
    parts[threadIdx.x] = x;
    __syncthreads();
    x = parts[threadIdx.x % COLUMNS];
    for (int k = 1; k < WIDTH; k++) x = combine(x, parts[k * COLUMNS + threadIdx.x % COLUMNS]);
    return x;
}

template <int WIDTH, int COLUMNS, class T> __device__ T column_sum(T x) {
    return across_column<WIDTH, COLUMNS>(x, Sum<T>());
}
template <int WIDTH, int COLUMNS, class T> __device__ T column_product(T x) {
    return across_column<WIDTH, COLUMNS>(x, Product<T>());
}
template <int WIDTH, int COLUMNS, class T> __device__ T column_max(T x) {
    return across_column<WIDTH, COLUMNS>(x, Largest<T>());
}
template <int WIDTH, int COLUMNS, class T> __device__ T column_min(T x) {
    return across_column<WIDTH, COLUMNS>(x, Smallest<T>());
}
"""


class RowKernel:
    """A kernel whose threads compute rows or columns; `results` are (shape, dtype)."""

    def __init__(
        self,
        source: str,
        name: str,
        *,
        grid: tuple[int, ...],
        threads: int,
        results: Sequence[tuple[tuple[int, ...], Any]],
    ) -> None:
        self.kernel = cp.RawKernel(source, name)
        self.grid = grid
        self.threads = threads
        self.results = results

    def __call__(self, *arrays: cp.ndarray) -> Any:
        """New arrays with the results; a tuple of several."""
        made = [cp.empty(shape, dtype=dtype) for shape, dtype in self.results]
        given = [cp.ascontiguousarray(array) for array in arrays]
        self.kernel(self.grid, (self.threads,), (*given, *made))
        return made[0] if len(made) == 1 else tuple(made)
