"""Stable sorts of rows of numbers of up to 32 bits: each by a block of threads, or all
of them by one radix sort.
"""

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

import cupy as cp

from .device import LARGE_BLOCK, RowKernel

LONGEST_SORTED = 1 << 12  # elements of a row that fit the shared memory of a block
INFINITIES = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000}  # bits
WHOLE_NUMBERS = {  # of which kernels have arrays
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned",
}

ORDER_OF = """
// A number as an unsigned one, in the same order; `infinity` has the bits of a
// float's, 0 for integers.
template <class T>
__device__ unsigned int order_of(T number, int infinity, bool total, bool down) {
    long long order = number, most = (1ll << (8 * sizeof(T) - 1)) - 1;
    if (infinity) {
        bool is_nan = (order & most) > infinity;
        if (order < 0) order ^= most;
        if (!total && is_nan) order = most;
        if (!total && order == -1) order = 0;  // -0
    }
    unsigned int bits = order - (T(-1) < T(0) ? -2147483648ll : 0);
    return down ? ~bits : bits;
}
"""

ROW_SORT = """
typedef unsigned long long Key;  // a number and its column

// A bitonic sort: a thread takes eight keys at a time, and orders pairs of them in up
// to three steps.
extern "C" __global__ void __launch_bounds__(ROWS * SHARE) row_sort_kernel(
    const NUMBER *__restrict__ x,
    NUMBER *__restrict__ values,
    int *__restrict__ columns
) {
    __shared__ Key keys[ROWS * LENGTH / 16 * 17];  // gaps, so that all banks are used
    int thread = threadIdx.x % SHARE, begin = threadIdx.x / SHARE * LENGTH;
    long long row = (long long)blockIdx.x * ROWS + threadIdx.x / SHARE;
    auto key = [&](int k) -> Key & { return keys[(begin + k) / 16 * 17 + k % 16]; };
    for (int k = thread; k < LENGTH; k += SHARE) {
        key(k) = ~0ull;
        if (row < COUNT && k < COLUMNS) {
            NUMBER number = x[row * COLUMNS + k];
            key(k) = (Key)order_of(number, INFINITE_BITS, TOTAL, DOWN) << 32 | k;
        }
    }
    for (int run = 2; run <= LENGTH; run *= 2) {
        for (int step = run / 2; step; step /= 8) {
            int apart = step < 4 ? 1 : step / 4;
            int first = thread / apart * apart * 8 + thread % apart;
            Key own[8];
            __syncthreads();
            #pragma unroll
            for (int j = 0; j < 8; j++) own[j] = key(first + j * apart);
            #pragma unroll
            for (int pair = 4; pair; pair /= 2) {
                #pragma unroll
                for (int j = 0; j < 8; j++) {
                    if (j & pair || pair * apart > step) continue;
                    Key one = own[j], other = own[j + pair];
                    bool is_down = (first + j * apart) & run;
                    own[j] = (one > other) == is_down ? one : other;
                    own[j + pair] = (one > other) == is_down ? other : one;
                }
            }
            #pragma unroll
            for (int j = 0; j < 8; j++) key(first + j * apart) = own[j];
        }
    }
    __syncthreads();
    for (int k = thread; k < KEPT && row < COUNT; k += SHARE) {
        int column = (int)key(k);
        values[row * KEPT + k] = x[row * COLUMNS + column];
        columns[row * KEPT + k] = column;
    }
}
"""


@cache
def row_sort(
    shape: tuple[int, ...],
    kept: int,
    dtype: cp.dtype,
    infinity: int,
    total: bool,
    down: bool,
) -> RowKernel:
    """Return the kernel that gives the first ``kept`` of each of the rows of arrays of
    a shape, and their columns.
    """
    *batch, columns = shape
    length = max(1 << (columns - 1).bit_length(), 16)
    together = max(2048 // length, 1)
    constants = {
        "COUNT": prod(batch),
        "COLUMNS": columns,
        "KEPT": kept,
        "LENGTH": length,
        "SHARE": length // 8,
        "ROWS": together,
        "INFINITE_BITS": infinity,
        "TOTAL": int(total),
        "DOWN": int(down),
    }
    text = "".join(f"#define {name} {value}\n" for name, value in constants.items())
    made = (*batch, kept)
    return RowKernel(
        text + ORDER_OF + ROW_SORT.replace("NUMBER", WHOLE_NUMBERS[dtype.name]),
        "row_sort_kernel",
        grid=(-(-prod(batch) // together),),
        threads=together * length // 8,
        results=[(made, dtype), (made, cp.int32)],
    )


def firsts(
    x: cp.ndarray, kept: int, *, total: bool = False, down: bool = False
) -> tuple[cp.ndarray, cp.ndarray]:
    """Return the first ``kept`` of each row of ``x``, of numbers of up to 32 bits, in a
    stable order, and their columns: each row by a block of threads.

    Floats are in ``total`` order, or -0 equals 0, and all NaN are equal and last;
    ``down`` reverses the order.
    """
    is_float = "float" in x.dtype.name
    numbers = x.view(f"i{x.dtype.itemsize}") if is_float else x
    infinity = INFINITIES[x.dtype.name] if is_float else 0
    kernel = row_sort(x.shape, kept, numbers.dtype, infinity, total, down)
    values, columns = kernel(numbers)
    return values.view(x.dtype), columns


def sort_rows(x: cp.ndarray, axis: int) -> cp.ndarray:
    """Sort stably along ``axis`` numbers of up to 32 bits, all NaN last."""
    rows = cp.moveaxis(x, axis, -1)
    return cp.moveaxis(firsts(rows, rows.shape[-1])[0], -1, axis)


def argsort_rows(x: cp.ndarray, axis: int, dtype: Any) -> cp.ndarray:
    """Return the stable order along ``axis`` of numbers of up to 32 bits, NaN last."""
    rows = cp.moveaxis(x, axis, -1)
    _, order = firsts(rows, rows.shape[-1])
    return cp.moveaxis(order, -1, axis).astype(dtype, copy=False)


def sort_rows_by_keys(
    keys: Sequence[cp.ndarray], operands: Sequence[cp.ndarray], axis: int
) -> tuple[cp.ndarray, ...]:
    """Return ``sort_by_keys`` by keys of up to 32 bits."""
    order = argsort_rows(keys[-1], axis, cp.int32)
    for key in keys[-2::-1]:
        again = argsort_rows(cp.take_along_axis(key, order, axis), axis, cp.int32)
        order = cp.take_along_axis(order, again, axis)
    return tuple(cp.take_along_axis(x, order, axis) for x in operands)


row_keys = cp.ElementwiseKernel(
    "T number, uint32 columns, uint32 width, int32 infinity, bool total, bool down",
    "uint64 key",
    """
    // A row, a number, a column.
    unsigned int row = i / columns, column = i % columns;
    unsigned long long order = order_of<T>(number, infinity, total, down);
    key = (unsigned long long)row << (32 + width) | order << width | column
    """,
    "row_keys",
    preamble=ORDER_OF,
)

firsts_of_rows = cp.ElementwiseKernel(
    "raw uint64 keys, raw T x, uint32 columns, uint32 kept, uint32 width",
    "T value, int32 column",
    """
    unsigned int row = i / kept * columns;
    column = (int)(keys[row + i % kept] & ((1ull << width) - 1));
    value = x[row + column]
    """,
    "firsts_of_rows",
)


def firsts_of_long_rows(
    x: cp.ndarray, kept: int, *, total: bool = False, down: bool = False
) -> tuple[cp.ndarray, cp.ndarray]:
    """Return ``firsts`` of rows of any length, by one radix sort of all rows."""
    columns = x.shape[-1]
    width = cp.uint32((columns - 1).bit_length())
    numbers, infinity = x, cp.int32(0)
    if "float" in x.dtype.name:
        numbers = x.view(f"i{x.dtype.itemsize}")
        infinity = cp.int32(INFINITIES[x.dtype.name])
    rule = infinity, cp.bool_(total), cp.bool_(down)
    keys = row_keys(numbers, cp.uint32(columns), width, *rule, block_size=LARGE_BLOCK)
    ordered = cp.sort(keys.reshape(-1))
    shape = (*x.shape[:-1], kept)
    made = cp.empty(shape, dtype=x.dtype), cp.empty(shape, dtype=cp.int32)
    sizes = cp.uint32(columns), cp.uint32(kept), width
    values, places = firsts_of_rows(ordered, x, *sizes, *made, block_size=LARGE_BLOCK)
    return values, places


def sort_long_rows(x: cp.ndarray, axis: int) -> cp.ndarray:
    """Sort stably along ``axis`` numbers of up to 32 bits, all NaN last."""
    rows = cp.moveaxis(x, axis, -1)
    return cp.moveaxis(firsts_of_long_rows(rows, rows.shape[-1])[0], -1, axis)


def argsort_long_rows(x: cp.ndarray, axis: int, dtype: Any) -> cp.ndarray:
    """Return the stable order along ``axis`` of numbers of up to 32 bits, NaN last."""
    rows = cp.moveaxis(x, axis, -1)
    _, order = firsts_of_long_rows(rows, rows.shape[-1])
    return cp.moveaxis(order, -1, axis).astype(dtype, copy=False)
