"""The first of rows in order: selected by a block of threads a row where few are kept,
else by a sort.
"""

from functools import cache
from math import prod

import cupy as cp

from .device import COMBINE, ROWS, RowKernel
from .ordering import total_order_key
from .row_sorts import LONGEST_SORTED, WHOLE_NUMBERS, firsts, firsts_of_long_rows

MOST_SELECTED = 256  # numbers: so many threads compare with all others
LONGEST_ROW = 1 << 14  # elements that the threads of a block keep in registers

SELECTION = """
// Numbers as unsigned ones, of which the largest come first.
__device__ unsigned int order_of(NUMBER number) {
    long long order = number, lowest = -1ll << (BITS - 1);
    if (IS_FLOAT && order < 0) order ^= ~lowest;
    unsigned int place = order - (IS_SIGNED ? lowest : 0);
    return LARGEST ? place : place ^ ~0u >> (32 - BITS);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1024 / THREADS) selection_kernel(
    const NUMBER *__restrict__ x,
    NUMBER *__restrict__ values,
    int *__restrict__ columns
) {
    long long row = blockIdx.x;
    unsigned int orders[EACH];
    #pragma unroll
    for (int k = 0; k < EACH; k++) {
        int column = k * THREADS + threadIdx.x;
        if (column < COLUMNS) orders[k] = order_of(x[row * COLUMNS + column]);
    }
    // The last of KEPT numbers, bit by bit: the largest that so many are not below.
    unsigned int last = 0;
    int count = 0;
    for (int bit = BITS - 1; bit >= 0 && count != KEPT; bit--) {
        unsigned int next = last | 1u << bit;
        int own = 0;
        #pragma unroll
        for (int k = 0; k < EACH; k++) {
            int column = k * THREADS + threadIdx.x;
            own += column < COLUMNS && orders[k] >= next;
        }
        own = row_sum<THREADS>(own);
        if (own >= KEPT) {
            last = next;
            count = own;
        }
    }
    // Of several that equal it the first are kept, up to a column.
    int end = COLUMNS;
    if (count != KEPT) {
        int more = 0, before = 0;
        #pragma unroll
        for (int k = 0; k < EACH; k++) {
            int column = k * THREADS + threadIdx.x;
            more += column < COLUMNS && orders[k] > last;
        }
        more = row_sum<THREADS>(more);
        for (int step = HALF; step; step /= 2) {
            int own = 0;
            #pragma unroll
            for (int k = 0; k < EACH; k++) {
                int column = k * THREADS + threadIdx.x;
                own += column < COLUMNS && column < before + step && orders[k] == last;
            }
            if (more + row_sum<THREADS>(own) < KEPT) before += step;
        }
        end = before + 1;
    }
    __shared__ unsigned long long kept[KEPT];
    __shared__ int filled;
    if (threadIdx.x == 0) filled = 0;
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < EACH; k++) {
        int column = k * THREADS + threadIdx.x;
        bool is_kept = orders[k] > last || (orders[k] == last && column < end);
        if (column < COLUMNS && is_kept) {
            kept[atomicAdd(&filled, 1)] = (unsigned long long)~orders[k] << 32 | column;
        }
    }
    __syncthreads();
    for (int k = threadIdx.x; k < KEPT; k += THREADS) {
        int rank = 0;
        #pragma unroll 4
        for (int other = 0; other < KEPT; other++) rank += kept[other] < kept[k];
        int column = (int)kept[k];
        values[row * KEPT + rank] = x[row * COLUMNS + column];
        columns[row * KEPT + rank] = column;
    }
}
"""


@cache
def selection_kernel(
    shape: tuple[int, ...], k: int, dtype: cp.dtype, is_float: bool, largest: bool
) -> RowKernel:
    """Return the kernel that gives the first ``k`` of each of the rows of arrays of a
    shape, and their columns.
    """
    *batch, columns = shape
    threads = min(max(1 << (-(-columns // 16) - 1).bit_length(), 32), 1024)
    constants = {
        "COLUMNS": columns,
        "KEPT": k,
        "THREADS": threads,
        "EACH": -(-columns // threads),
        "HALF": 1 << (columns - 1).bit_length() >> 1,
        "BITS": 8 * dtype.itemsize,
        "IS_FLOAT": int(is_float),
        "IS_SIGNED": int(dtype.kind == "i"),
        "LARGEST": int(largest),
    }
    text = "".join(f"#define {name} {value}\n" for name, value in constants.items())
    text += COMBINE + ROWS + SELECTION.replace("NUMBER", WHOLE_NUMBERS[dtype.name])
    made = (*batch, k)
    return RowKernel(
        text,
        "selection_kernel",
        grid=(prod(batch),),
        threads=threads,
        results=[(made, dtype), (made, cp.int32)],
    )


def selected(
    x: cp.ndarray, k: int, largest: bool = True
) -> tuple[cp.ndarray, cp.ndarray]:
    """Return ``top_k``, for few numbers, of rows that a block of threads can keep."""
    is_float = "float" in x.dtype.name
    numbers = x.view(f"i{x.dtype.itemsize}") if is_float else x
    kernel = selection_kernel(x.shape, k, numbers.dtype, is_float, largest)
    values, columns = kernel(numbers)
    return values.view(x.dtype), columns


def parts_of_row(columns: int, k: int) -> int:
    """Return into how many equal parts a row is cut so that a block can keep each, and
    ``k`` elements of all; 0 if a block cannot.
    """
    most = min(columns, LONGEST_ROW) // max(k, 1)
    least = -(-columns // LONGEST_ROW)
    return next((n for n in range(least, most + 1) if columns % n == 0), 0)


def top_k(x: cp.ndarray, k: int, largest: bool = True) -> tuple[cp.ndarray, cp.ndarray]:
    """Return the `k` largest or smallest of the last axis, in order, with their
    indices.

    Floats are in total order, and of equal numbers the first comes first.
    """
    if x.dtype.itemsize > 4:
        key = total_order_key(x) if "float" in x.dtype.name else x
        order = cp.argsort(~key if largest else key, axis=-1, kind="stable")[..., :k]
        return cp.take_along_axis(x, order, -1), order.astype(cp.int32)
    columns = x.shape[-1]
    parts = parts_of_row(columns, k) if 0 < k <= MOST_SELECTED and x.size else 0
    if parts == 0:
        is_short = x.size and columns <= LONGEST_SORTED
        of_rows = firsts if is_short else firsts_of_long_rows
        return of_rows(x, k, total=True, down=largest)
    if parts == 1:
        return selected(x, k, largest)
    shape = (*x.shape[:-1], parts, columns // parts)  # first those of each part
    values, places = selected(x.reshape(shape), k, largest)
    places += cp.arange(0, columns, columns // parts, dtype=cp.int32)[:, None]
    best, order = selected(values.reshape(*x.shape[:-1], parts * k), k, largest)
    return best, cp.take_along_axis(places.reshape(*x.shape[:-1], -1), order, -1)
