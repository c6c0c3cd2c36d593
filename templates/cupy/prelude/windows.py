"""Unfolded windows, pools and their gradients, in kernels that know the geometry of the
windows.

Source: the operation-semantics seed, ReduceWindow and SelectAndScatter.
"""

from functools import cache
from math import gcd, prod
from typing import Any, NamedTuple

import cupy as cp

from ...prelude.precision import working_dtype
from ...prelude.windows import Pairs
from .device import LARGE_BLOCK, LARGER, NEIGHBOURS, SMALLER, WINDOWS


def blend(mask: cp.ndarray, x: Any, y: cp.ndarray) -> cp.ndarray:
    """Return ``x`` where the mask is true, else ``y``."""
    return cp.where(mask, x, y).astype(y.dtype, copy=False)


class WindowKernel:
    """An elementwise kernel that is compiled for each geometry of windows and may use
    ``TAPS``, ``TOGETHER``, ``element_of`` and ``window_of``. ``work`` is the type of a
    number whose letter no array determines.
    """

    def __init__(self, inputs: str, *others: str) -> None:
        self.inputs, self.others = inputs, others
        self.kernels: dict[tuple[str, str], Any] = {}

    def __call__(self, geometry: str, *arrays: Any, work: str = "", **size: int) -> Any:
        kernel = self.kernels.get((geometry, work))
        if kernel is None:
            inputs = self.inputs.replace("WORK", work)
            kernel = cp.ElementwiseKernel(inputs, *self.others, preamble=geometry)
            self.kernels[geometry, work] = kernel
        return kernel(*arrays, **size, block_size=LARGE_BLOCK)


class Geometry(NamedTuple):
    """How many windows there are along each axis of an array; its memory; how many
    neighbours a thread takes ``together``; and the C++ that tells it where they are.
    """

    counts: tuple[int, ...]
    memory: cp.ndarray
    together: int
    text: str


def window_geometry(
    x: cp.ndarray,
    window: tuple[int, ...],
    strides: tuple[int, ...] | None,
    padding: Pairs | None,
    dilation: tuple[int, ...] | None = None,
) -> Geometry:
    """Return the geometry of the windows of ``x``. Threads take 16 bytes of the last
    axis together if windows do not run along it.
    """
    if min(x.strides) < 0:
        x = cp.ascontiguousarray(x)
    place = x.data.ptr % 16, x.itemsize, x.shape, x.strides
    counts, together, text = geometry_at(*place, window, strides, padding, dilation)
    memory = x
    if not x.flags.c_contiguous:
        steps = zip(x.shape, x.strides, strict=True)
        extent = sum((n - 1) * step for n, step in steps) // x.itemsize + 1
        size = (extent if x.size else 0,)
        memory = cp.lib.stride_tricks.as_strided(x, size, (x.itemsize,))
    return Geometry(counts, memory, together, text)


@cache
def geometry_at(
    first: int,
    item: int,
    shape: tuple[int, ...],
    steps: tuple[int, ...],
    window: tuple[int, ...],
    strides: tuple[int, ...] | None,
    padding: Pairs | None,
    dilation: tuple[int, ...] | None,
) -> tuple[tuple[int, ...], int, str]:
    """Return the counts, neighbours and text of ``window_geometry``, of an array that
    begins ``first`` bytes behind a multiple of 16 and has elements of ``item`` bytes.
    """
    ones = (1,) * len(shape)
    strides, gaps = strides or ones, dilation or ones
    edges = padding or ((0, 0),) * len(shape)
    axes = zip(shape, edges, window, strides, gaps, strict=True)
    counts = tuple(
        max(0, (low + n + high - (size - 1) * gap - 1) // stride + 1)
        for n, (low, high), size, stride, gap in axes
    )
    *before, last = [step // item for step in steps]  # from an element to the next
    is_plain = (window[-1], strides[-1], last, *edges[-1]) == (1, 1, 1, 0, 0)
    together = gcd(16 // item, first // item, shape[-1], *before) if is_plain else 1
    lists = {
        "SHAPE": [*shape[:-1], shape[-1] // together],
        "COUNTS": [*counts[:-1], counts[-1] // together],
        "STEPS": [*(step // together for step in before), last],
        "SIZES": window,
        "STRIDES": strides,
        "GAPS": gaps,
        "STARTS": [low for low, _ in edges],
    }
    overlaps = prod(-(-n // step) for n, step in zip(window, strides, strict=True))
    text = f"#define TOGETHER {together}\n#define AXES {len(shape)}\n"
    text += f"#define TAPS {prod(window)}\n#define OVERLAPS {overlaps}\n"
    for name, numbers in lists.items():
        text += f"#define {name} {{{', '.join(map(str, numbers))}}}\n"
    return counts, together, text + NEIGHBOURS + WINDOWS


unfold_kernel = WindowKernel(
    "raw T x, raw T kernel",
    "raw T columns, raw T weights",
    """
    unsigned int at = i;
    if (at < WEIGHTS) weights[at] = kernel[at];
    if (at < COLUMNS) {
        unsigned int group = at % CHANNELS, tap = at / CHANNELS % TAPS;
        int place = element_of(at / CHANNELS / TAPS * CHANNELS + group, tap);
        Neighbours<T, TOGETHER> numbers{};
        if (place >= 0) numbers = neighbours<TOGETHER>(&x[place * TOGETHER], 0);
        write_neighbours(&columns[i * TOGETHER], 0, numbers);
    }
    """,
    "unfold_kernel",
)


channel_kernel = WindowKernel(
    "raw T x, raw T weights, WORK zero",
    "raw T sums",
    """
    unsigned int first = i * TOGETHER % FEATURES;
    auto nothing = zero;
    decltype(nothing) totals[TOGETHER];
    for (int k = 0; k < TOGETHER; k++) totals[k] = nothing;
    for (int tap = 0; tap < TAPS; tap++) {
        int place = element_of(i, tap);
        if (place < 0) continue;
        auto numbers = neighbours<TOGETHER>(&x[place * TOGETHER], 0);
        for (int k = 0; k < TOGETHER; k++) {
            auto weight = decltype(nothing)(weights[tap * FEATURES + first + k]);
            totals[k] += decltype(nothing)(numbers[k]) * weight;
        }
    }
    Neighbours<T, TOGETHER> results;
    for (int k = 0; k < TOGETHER; k++) results[k] = T(totals[k]);
    write_neighbours(&sums[i * TOGETHER], 0, results)
    """,
    "channel_kernel",
)


pool_kernel = WindowKernel(
    "raw T x, WORK start",
    "raw T pooled",
    """
    auto first = start;
    decltype(first) totals[TOGETHER];
    for (int k = 0; k < TOGETHER; k++) totals[k] = first;
    for (int tap = 0; tap < TAPS; tap++) {
        int place = element_of(i, tap);
        if (place < 0) continue;
        auto numbers = neighbours<TOGETHER>(&x[place * TOGETHER], 0);
        for (int k = 0; k < TOGETHER; k++) {
            totals[k] = COMBINED(totals[k], decltype(first)(numbers[k]));
        }
    }
    Neighbours<T, TOGETHER> results;
    for (int k = 0; k < TOGETHER; k++) results[k] = T(totals[k]);
    write_neighbours(&pooled[i * TOGETHER], 0, results)
    """,
    "pool_kernel",
)

POOLS = {  # what combines two numbers
    cp.add: "#define COMBINED(a, b) (a + b)\n",
    cp.multiply: "#define COMBINED(a, b) (a * b)\n",
    cp.maximum: LARGER + "#define COMBINED(a, b) larger(a, b)\n",
    cp.minimum: SMALLER + "#define COMBINED(a, b) smaller(a, b)\n",
}


def pool(
    x: cp.ndarray,
    init: Any,
    combine: Any,
    window: tuple[int, ...],
    *,
    strides: tuple[int, ...] | None = None,
    padding: Pairs | None = None,
    window_dilation: tuple[int, ...] | None = None,
) -> cp.ndarray:
    """Return ``combine``, one of ``POOLS``, of ``init`` and the elements of each window
    of ``x``; narrow floats are combined in float32.
    """
    counts, memory, together, geometry = window_geometry(
        x, window, strides, padding, window_dilation
    )
    work = working_dtype(x.dtype)
    pooled, size = cp.empty(counts, dtype=x.dtype), prod(counts) // together
    text = POOLS[combine] + geometry
    if isinstance(init, cp.ndarray):
        starts = cp.broadcast_to(init.astype(work), (size,))
        pool_kernel(text, memory, starts, pooled, work=work.name)
    else:
        pool_kernel(text, memory, work.type(init), pooled, work=work.name, size=size)
    return pooled


choice_kernel = WindowKernel(
    "raw T x",
    "raw int32 choices",
    """
    Neighbours<T, TOGETHER> chosen{};
    Neighbours<int, TOGETHER> choice;
    for (int k = 0; k < TOGETHER; k++) choice[k] = -1;
    for (int tap = 0; tap < TAPS; tap++) {
        int place = element_of(i, tap);
        if (place < 0) continue;
        auto numbers = neighbours<TOGETHER>(&x[place * TOGETHER], 0);
        for (int k = 0; k < TOGETHER; k++) {
            bool stays = choice[k] >= 0 && chosen[k] STAYS numbers[k];
            choice[k] = stays ? choice[k] : tap;
            chosen[k] = stays ? chosen[k] : numbers[k];
        }
    }
    write_neighbours(&choices[i * TOGETHER], 0, choice)
    """,
    "choice_kernel",
)

choosers_kernel = WindowKernel(
    "raw int32 choices, raw T source",
    "raw T totals",
    """
    Neighbours<T, TOGETHER> sums;
    for (int k = 0; k < TOGETHER; k++) sums[k] = T(0);
    for (int turn = OVERLAPS - 1; turn >= 0; turn--) {  // windows in their order
        int tap, window = window_of(i, turn, tap);
        if (window < 0) continue;
        auto found = neighbours<TOGETHER>(&choices[window * TOGETHER], 0);
        auto numbers = neighbours<TOGETHER>(&source[window * TOGETHER], 0);
        for (int k = 0; k < TOGETHER; k++) {
            sums[k] = found[k] == tap ? T(sums[k] + numbers[k]) : sums[k];
        }
    }
    write_neighbours(&totals[i * TOGETHER], 0, sums)
    """,
    "choosers_kernel",
)


def pool_gradient(
    x: cp.ndarray,
    source: cp.ndarray,
    window: tuple[int, ...],
    *,
    stays: str = ">=",
    strides: tuple[int, ...] | None = None,
    padding: Pairs | None = None,
) -> cp.ndarray:
    """Return the gradient of max pooling: for each element of ``x``, the sum of the
    ``source`` of the windows that choose it.

    A window, scanned in row-major order, keeps its chosen element while that ``stays``
    before the next element: ">=", ">", "<=" or "<".
    """
    if not source.flags.c_contiguous or source.data.ptr % 16:
        source = source.copy()
    counts, memory, together, geometry = window_geometry(x, window, strides, padding)
    choices = cp.empty(counts, dtype=cp.int32)
    comparison = "#define STAYS " + stays + "\n"
    choice_kernel(comparison + geometry, memory, choices, size=choices.size // together)
    total = cp.empty(x.shape, dtype=source.dtype)
    choosers_kernel(geometry, choices, source, total, size=total.size // together)
    return total
