"""Windows laid side by side, pools and their gradients, in kernels that know the
geometry of the windows.

Source: the operation-semantics seed, ReduceWindow and SelectAndScatter.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import cupy as cp

from ...prelude.precision import working_dtype
from ...prelude.windows import Pairs
from .device import LARGE_BLOCK, LARGER, SMALLER, WINDOWS


def blend(mask: cp.ndarray, x: Any, y: cp.ndarray) -> cp.ndarray:
    """``x`` where the mask is true, else ``y``."""
    return cp.where(mask, x, y).astype(y.dtype, copy=False)


class WindowKernel:
    """An elementwise kernel that is compiled for each geometry of windows: it can ask
    for ``TAPS``, ``element_of`` and ``window_of``. ``work`` is the type of a number
    whose letter no array tells.
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


def window_geometry(
    shape: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int] | None,
    padding: Pairs | None,
    dilation: Sequence[int] | None = None,
) -> tuple[tuple[int, ...], str]:
    """Return how many windows there are along each axis of an array of ``shape``, and
    the C++ that tells which elements are in which.
    """
    ones = (1,) * len(shape)
    strides, gaps = strides or ones, dilation or ones
    edges = padding or ((0, 0),) * len(shape)
    axes = zip(shape, edges, window, strides, gaps, strict=True)
    counts = tuple(
        max(0, (low + n + high - (size - 1) * gap - 1) // stride + 1)
        for n, (low, high), size, stride, gap in axes
    )
    starts = [low for low, _ in edges]
    names = ("SHAPE", "COUNTS", "SIZES", "STRIDES", "GAPS", "STARTS")
    lists = (shape, counts, window, strides, gaps, starts)
    text = f"constexpr int AXES = {len(shape)}, TAPS = {prod(window)};\n"
    for name, numbers in zip(names, lists, strict=True):
        text += f"#define {name} {{{', '.join(map(str, numbers))}}}\n"
    return counts, text + WINDOWS


unfold_kernel = WindowKernel(
    "raw T x, raw T kernel",
    "raw T columns, raw T weights",
    """
    if (i < WEIGHTS) weights[i] = kernel[i];
    if (i < COLUMNS) {
        int channel = i % CHANNELS, tap = i / CHANNELS % TAPS;
        int place = element_of(i / CHANNELS / TAPS * CHANNELS + channel, tap);
        columns[i] = place >= 0 ? x[place] : T(0);
    }
    """,
    "unfold_kernel",
)


channel_kernel = WindowKernel(
    "raw T x, raw T weights, WORK zero",
    "T sum",
    """
    auto total = zero;
    for (int tap = 0; tap < TAPS; tap++) {
        int place = element_of(i / OF_CHANNEL, tap);
        auto weight = decltype(total)(weights[tap * FEATURES + i % FEATURES]);
        if (place >= 0) total += decltype(total)(x[place]) * weight;
    }
    sum = T(total)
    """,
    "channel_kernel",
)


pool_kernel = WindowKernel(
    "raw T x, WORK start",
    "T pooled",
    """
    auto total = start;
    for (int tap = 0; tap < TAPS; tap++) {
        int place = element_of(i, tap);
        if (place >= 0) total = COMBINED(total, decltype(total)(x[place]));
    }
    pooled = T(total)
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
    window: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    padding: Pairs | None = None,
    window_dilation: Sequence[int] | None = None,
) -> cp.ndarray:
    """``combine``, one of ``POOLS``, of ``init`` and the elements of each window of
    ``x``; narrow floats are combined in float32.
    """
    counts, geometry = window_geometry(
        x.shape, window, strides, padding, window_dilation
    )
    work = working_dtype(x.dtype)
    start = init.astype(work) if isinstance(init, cp.ndarray) else work.type(init)
    pooled = cp.empty(counts, dtype=x.dtype)
    return pool_kernel(POOLS[combine] + geometry, x, start, pooled, work=work.name)


choice_kernel = WindowKernel(
    "raw T x",
    "int32 choice",
    """
    T chosen = T();
    choice = -1;
    for (int tap = 0; tap < TAPS; tap++) {
        int place = element_of(i, tap);
        if (place >= 0 && (choice < 0 || !(chosen STAYS x[place]))) {
            choice = place;
            chosen = x[place];
        }
    }
    """,
    "choice_kernel",
)

choosers_kernel = WindowKernel(
    "raw int32 choices, raw T source",
    "T total",
    """
    total = T(0);
    for (int tap = TAPS - 1; tap >= 0; tap--) {  // windows in their order
        int window = window_of(i, tap);
        if (window >= 0 && choices[window] == i) total = T(total + source[window]);
    }
    """,
    "choosers_kernel",
)


def pool_gradient(
    x: cp.ndarray,
    source: cp.ndarray,
    window: Sequence[int],
    *,
    stays: str = ">=",
    strides: Sequence[int] | None = None,
    padding: Pairs | None = None,
) -> cp.ndarray:
    """The gradient of max pooling: for each element of ``x``, the sum of the ``source``
    of those windows that choose it.

    A window, gone through in row-major order, keeps what it has chosen while that
    ``stays`` before the next element: ">=", ">", "<=" or "<".
    """
    counts, geometry = window_geometry(x.shape, window, strides, padding)
    comparison = "#define STAYS " + stays + "\n"
    choices = choice_kernel(comparison + geometry, x, cp.empty(counts, dtype=cp.int32))
    total = cp.empty(x.shape, dtype=source.dtype)
    return choosers_kernel(geometry, choices, source, total)
