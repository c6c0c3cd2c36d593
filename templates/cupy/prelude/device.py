"""C++ functions as texts that fused kernels share and are compiled with, and classes of
kernels.
"""

from collections.abc import Callable, Sequence
from typing import Any

import cupy as cp

# Threads: a GPU starts CuPy's blocks of 128 more slowly than it could read.
LARGE_BLOCK = 512

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

FLOAT16 = """
#include <cupy/float16.cuh>
"""

BFLOAT16 = """
#include <cupy/bfloat16.cuh>
// Arithmetic of bfloat16 by its own units, which take two numbers at once, and round as float32 rounded does.
__device__ __nv_bfloat16 native(bfloat16 x) { return __ushort_as_bfloat16(x.to_bits()); }
template <class T> struct Bfloat16 {};  // which float16 is not, though it could be converted
template <> struct Bfloat16<bfloat16> { typedef bfloat16 type; };
template <class T> __device__ typename Bfloat16<T>::type operator-(T x) { return __hneg(native(x)); }
template <class T> __device__ typename Bfloat16<T>::type operator+(T a, T b) { return __hadd_rn(native(a), native(b)); }
template <class T> __device__ typename Bfloat16<T>::type operator-(T a, T b) { return __hsub_rn(native(a), native(b)); }
template <class T> __device__ typename Bfloat16<T>::type operator*(T a, T b) { return __hmul_rn(native(a), native(b)); }
// A conversion of two is several times faster than one of one whose result is computed with.
__device__ bfloat16 to_bfloat16(float x) { return __low2bfloat16(__floats2bfloat162_rn(x, 0.0f)); }
template <class T> __device__ typename Bfloat16<T>::type operator/(T a, T b) {
    float scale = fabsf(b) > 0x1p126f ? 0.25f : 1.0f;  // of what __fdividef has no quotient
    return to_bfloat16(__fdividef(float(a) * scale, float(b) * scale));
}
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

THREEFRY = """
// The words (a, b) in the Threefry cipher of 20 rounds under the key (first, second).
__device__ void encipher(unsigned int first, unsigned int second, unsigned int &a, unsigned int &b) {
    const unsigned int rotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    const unsigned int keys[3] = {first, second, first ^ second ^ 0x1BD11BDA};
    a += keys[0];
    b += keys[1];
    for (int round = 0; round < 20; round++) {
        int rotation = rotations[round % 8];
        a += b;
        b = (b << rotation) | (b >> (32 - rotation));
        b ^= a;
        if (round % 4 == 3) {
            int group = round / 4 + 1;
            a += keys[group % 3];
            b += keys[(group + 1) % 3] + group;
        }
    }
}
"""

RANDOM = """
// Random bits of element i under a key of JAX, and a float in [low, high) of their upper 23.
__device__ unsigned int random_bits(unsigned int first, unsigned int second, unsigned long long i) {
    unsigned int a = i >> 32, b = i;
    encipher(first, second, a, b);
    return a ^ b;
}
__device__ float uniform_number(unsigned int bits, float low, float high) {
    float fraction = __int_as_float(bits >> 9 | 0x3F800000) - 1.0f;
    float number = fraction * (high - low) + low;
    return number > low ? number : low;
}
"""

INVERSE_ERF = """
// Infinite at -1 and 1, NaN beyond. Source: Giles, Approximating the erfinv function, 2011.
__device__ float inverse_erf(float x) {
    const float middle[9] = {2.8102264e-08f, 3.4327394e-07f, -3.5233877e-06f, -4.3915065e-06f, 0.00021858087f,
                             -0.001253725f, -0.0041776816f, 0.24664073f, 1.5014094f};
    const float tail[9] = {-0.00020021426f, 0.00010095056f, 0.0013493432f, -0.0036734284f, 0.0057395077f,
                           -0.0076224613f, 0.0094388705f, 1.001674f, 2.8329768f};
    float w = -log1pf(-x * x);
    bool near = w < 5.0f;
    w = near ? w - 2.5f : sqrtf(w) - 3.0f;
    float series = 0.0f;
    for (int k = 0; k < 9; k++) series = (near ? middle[k] : tail[k]) + series * w;
    return fabsf(x) == 1.0f ? x * __int_as_float(0x7f800000) : series * x;
}
"""

WINDOWS = """
// Where an element of a window is, and which window has an element at a turn, as which of its own; -1 for none.
__device__ int element_of(unsigned int window, unsigned int tap) {
    const int shape[] = SHAPE, counts[] = COUNTS, steps[] = STEPS, sizes[] = SIZES, strides[] = STRIDES, gaps[] = GAPS,
              starts[] = STARTS;
    int place = 0;
    bool inside = true;
    for (int axis = AXES - 1; axis >= 0; axis--) {
        int index = window % counts[axis] * strides[axis] + tap % sizes[axis] * gaps[axis] - starts[axis];
        bool fits = sizes[axis] == 1 && starts[axis] == 0 && (counts[axis] - 1) * strides[axis] < shape[axis];
        inside &= fits || (index >= 0 && index < shape[axis]);
        place += index * steps[axis];
        window /= counts[axis];
        tap /= sizes[axis];
    }
    return inside ? place : -1;
}
__device__ int window_of(unsigned int element, int turn, int &tap) {
    const int shape[] = SHAPE, counts[] = COUNTS, sizes[] = SIZES, strides[] = STRIDES, starts[] = STARTS;
    int place = 0, step = 1, size = 1;
    bool inside = true;
    tap = 0;
    for (int axis = AXES - 1; axis >= 0; axis--) {
        int turns = (sizes[axis] + strides[axis] - 1) / strides[axis];
        int index = element % shape[axis] + starts[axis], window = index / strides[axis] - turn % turns;
        int own = index - window * strides[axis];
        inside &= index >= 0 && window >= 0 && window < counts[axis] && own < sizes[axis];
        tap += own * size;
        place += window * step;
        size *= sizes[axis];
        step *= counts[axis];
        element /= shape[axis];
        turn /= turns;
    }
    return inside ? place : -1;
}
"""

COMBINE = """
template <class T> struct Sum { __device__ T operator()(T a, T b) const { return a + b; } };
template <class T> struct Product { __device__ T operator()(T a, T b) const { return a * b; } };
template <class T> struct Largest { __device__ T operator()(T a, T b) const { return a != a || a > b ? a : b; } };
template <class T> struct Smallest { __device__ T operator()(T a, T b) const { return a != a || a < b ? a : b; } };
"""

ALIGNED = """
// Arrays that begin at a multiple of 16 bytes: several neighbours are read and written at once.
template <class... T> __device__ void aligned(T *__restrict__ &...arrays) {
    ((arrays = (T *)__builtin_assume_aligned(arrays, 16)), ...);
}
"""

NEIGHBOURS = """
// The numbers of a group of an array, which lie beside each other and are read and written at once.
template <class T, int COUNT> struct alignas(COUNT * sizeof(T)) Neighbours {
    T each[COUNT];
    __device__ T &operator[](int k) { return each[k]; }
};
template <int COUNT, class T> __device__ Neighbours<T, COUNT> neighbours(const T *array, int group) {
    return ((const Neighbours<T, COUNT> *)array)[group];
}
template <class T, int COUNT> __device__ void write_neighbours(T *array, int group, const Neighbours<T, COUNT> &numbers) {
    ((Neighbours<T, COUNT> *)array)[group] = numbers;
}
"""

ADD_NEIGHBOURS = """
// Adds numbers to a row of a table, if that has the row: four of float at once where the device can.
template <class T, int COUNT> __device__ void add_neighbours(
    T *table, long long row, int rows, int column, int columns, const Neighbours<T, COUNT> &numbers) {
    if (row < 0 || row >= rows) return;
    T *place = table + row * columns + column;
    for (int k = 0; k < COUNT; k++) atomicAdd(&place[k], numbers.each[k]);
}
#if __CUDA_ARCH__ >= 900
template <> __device__ void add_neighbours<float, 4>(
    float *table, long long row, int rows, int column, int columns, const Neighbours<float, 4> &numbers) {
    float4 *place = (float4 *)(table + row * columns + column);
    if (row >= 0 && row < rows) atomicAdd(place, *(const float4 *)&numbers);
}
#endif
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
    """A kernel whose threads compute rows or columns; `results` are (shape, dtype). It
    may require arrays that begin at a multiple of 16 bytes.
    """

    def __init__(
        self,
        source: str,
        name: str,
        *,
        grid: tuple[int, ...],
        threads: int,
        aligned: bool = False,
        results: Sequence[tuple[tuple[int, ...], Any]],
    ) -> None:
        self.kernel = cp.RawKernel(source, name)
        self.aligned = aligned
        self.grid = grid
        self.threads = threads
        self.results = results

    def __call__(self, *arrays: cp.ndarray) -> Any:
        """Return the results as new arrays, a tuple if several."""
        made = [cp.empty(shape, dtype=dtype) for shape, dtype in self.results]
        given = [cp.ascontiguousarray(array) for array in arrays]
        if self.aligned:
            given = [x.copy() if x.data.ptr % 16 else x for x in given]
        self.kernel(self.grid, (self.threads,), (*given, *made))
        return made[0] if len(made) == 1 else tuple(made)


class WideKernel(RowKernel):
    """A kernel whose threads each compute several neighbouring elements."""


class AddingKernel(WideKernel):
    """A kernel that adds rows of what it computes to the rows of `table`, (shape,
    dtype), that have their numbers.
    """

    def __init__(
        self, *arguments: Any, table: tuple[tuple[int, ...], Any], **options: Any
    ) -> None:
        super().__init__(*arguments, results=[], **options)
        self.table = table

    def __call__(self, *arrays: cp.ndarray) -> cp.ndarray:
        """Return a new array with the sums, and zeros where there are none."""
        shape, dtype = self.table
        sums = cp.zeros(shape, dtype=dtype)
        super().__call__(*arrays, sums)
        return sums


class SizedRowKernel:
    """A kernel whose threads compute rows or columns, as many `lines` as the sizes say;
    `results` are (shape, dtype).
    """

    def __init__(
        self,
        source: str,
        name: str,
        *,
        lines: Callable[..., int],
        lines_of_a_block: int,
        threads: int,
        results: Callable[..., Sequence[tuple[tuple[int, ...], Any]]],
    ) -> None:
        self.kernel = cp.RawKernel(source, name)
        self.lines = lines
        self.lines_of_a_block = lines_of_a_block
        self.threads = threads
        self.results = results

    def __call__(self, *arguments: Any) -> Any:
        """Return the results of sizes and arrays as new arrays, a tuple if several."""
        sizes = [each for each in arguments if isinstance(each, int)]
        arrays = arguments[len(sizes) :]
        made = [cp.empty(shape, dtype=dtype) for shape, dtype in self.results(*sizes)]
        given = [cp.ascontiguousarray(array) for array in arrays]
        grid = (-(-self.lines(*sizes) // self.lines_of_a_block),)
        self.kernel(grid, (self.threads,), (*sizes, *given, *made))
        return made[0] if len(made) == 1 else tuple(made)
