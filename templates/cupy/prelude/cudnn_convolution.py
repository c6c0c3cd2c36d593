"""Convolutions and their gradients by cuDNN, through its Python package.

Source: the operation-semantics seed, ConvWithGeneralPadding; NVIDIA's description of
cuDNN's graphs.
"""

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

import cudnn
import cupy as cp

from .convolution import in_layout, standard_order, windows_along


def convolution_by_cudnn(
    x: cp.ndarray,
    kernel: cp.ndarray,
    *,
    strides: Sequence[int] | None = None,
    padding: Sequence[tuple[int, int]] | None = None,
    input_dilation: Sequence[int] | None = None,
    kernel_dilation: Sequence[int] | None = None,
    reverse_kernel: Sequence[bool] | None = None,
    layout: str | None = None,
    tf32: bool = False,
) -> cp.ndarray:
    """Return the sums of products of ``kernel`` with every window of ``x``, of one
    dtype.

    ``x`` is [batch, *spatial, channels], ``kernel`` [*spatial, channels, output
    channels] and the result is like ``x``. ``layout`` names another order, as in
    "NCHW,OIHW->NCHW". With ``tf32``, float32 is rounded to TF32 before it is
    multiplied. If elements of ``x`` are apart, cuDNN's gradient of images computes it;
    if a window has more elements than there are windows, cuDNN's gradient of kernels.
    """
    if layout:
        x, kernel = standard_order(x, kernel, layout)
    if reverse_kernel:
        flipped = [axis for axis, reverse in enumerate(reverse_kernel) if reverse]
        kernel = cp.flip(kernel, tuple(flipped))
    ones = (1,) * (x.ndim - 2)
    edges, holes = padding or ((0, 0),) * len(ones), input_dilation or ones
    given = zip(holes, edges, strides or ones, kernel_dilation or ones, strict=True)
    lengths = zip(x.shape[1:-1], kernel.shape, given, strict=False)
    axes = [windows_along(n, size, *more) for n, size, more in lengths]
    counts, before = [a.windows for a in axes], [-a.first for a in axes]
    steps, gaps = [a.step for a in axes], [a.gap for a in axes]
    spans = [(a.size - 1) * a.gap for a in axes]
    shape = (len(x), *counts, kernel.shape[-1])
    if input_dilation:
        kernel = cp.moveaxis(cp.flip(kernel, tuple(range(len(axes)))), -2, 0)
        before = [span - low for span, low in zip(spans, before, strict=True)]
        result = run_cudnn("dgrad", x, kernel, shape, before, holes, gaps, tf32)
    elif prod(kernel.shape[:-2]) > prod(counts):
        images, losses = cp.moveaxis(x, (0, -1), (-1, 0)), cp.moveaxis(kernel, -2, 0)
        shape = (shape[-1], *counts, shape[0])
        result = run_cudnn("wgrad", images, losses, shape, before, gaps, steps, tf32)
        result = cp.moveaxis(result, (0, -1), (-1, 0))
    else:
        kernel = cp.moveaxis(kernel, -1, 0)
        result = run_cudnn("fprop", x, kernel, shape, before, steps, gaps, tf32)
    if layout:
        result = in_layout(result, layout)
    return result


CONVOLUTIONS = {  # what cuDNN calls the two arguments of each
    "fprop": ("image", "weight"),
    "dgrad": ("loss", "filter"),
    "wgrad": ("image", "loss"),
}


def run_cudnn(
    kind: str,
    first: cp.ndarray,
    second: cp.ndarray,
    shape: Sequence[int],
    before: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    tf32: bool,
) -> cp.ndarray:
    """Return the convolution of a ``kind`` of arrays whose last axis are channels, with
    so much padding ``before`` each axis of the images.
    """
    first, second = cp.ascontiguousarray(first), cp.ascontiguousarray(second)
    result = cp.empty(shape, first.dtype)
    geometry = first.shape, second.shape, result.shape, tuple(before), tuple(strides)
    device, name = cp.cuda.get_device_id(), first.dtype.name
    handle, graph, tensors, size = cudnn_graph(
        device, kind, name, *geometry, tuple(dilations), tf32
    )
    cudnn.set_stream(handle=handle, stream=cp.cuda.get_current_stream().ptr)
    memory = cp.empty(max(size, 1), dtype=cp.uint8)  # work space
    arrays = (array.data.ptr for array in (first, second, result))
    graph.execute(
        dict(zip(tensors, arrays, strict=True)), memory.data.ptr, handle=handle
    )
    return result


@cache
def cudnn_handle(device: int) -> Any:
    """Return a handle of cuDNN's on the current device."""
    return cudnn.create_handle()


@cache
def cudnn_graph(
    device: int,
    kind: str,
    dtype: str,
    first: tuple[int, ...],
    second: tuple[int, ...],
    result: tuple[int, ...],
    before: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    tf32: bool,
) -> tuple[Any, Any, Any, int]:
    """Return the handle, a convolution as a graph, its tensors, and the bytes of its
    work space.
    """
    handle, types = cudnn_handle(device), cudnn.data_type
    number = {"float32": types.FLOAT, "float16": types.HALF, "bfloat16": types.BFLOAT16}
    graph = cudnn.pygraph(
        io_data_type=number[dtype],
        intermediate_data_type=types.FLOAT,
        compute_data_type=types.FLOAT,
        handle=handle,
    )

    def described(shape: tuple[int, ...]) -> dict[str, list[int]]:
        """Return sizes and strides in cuDNN's order: channels before spatial axes."""
        steps = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        order = [0, len(shape) - 1, *range(1, len(shape) - 1)]
        return {
            "dim": [shape[axis] for axis in order],
            "stride": [steps[axis] for axis in order],
        }

    tensors = {
        name: graph.tensor(name=name, data_type=number[dtype], **described(shape))
        for name, shape in zip(CONVOLUTIONS[kind], (first, second), strict=True)
    }
    images, taps, places = {
        "fprop": (first, second, result),
        "dgrad": (result, second, first),
        "wgrad": (first, result, second),
    }[kind]
    spatial = (part[1:-1] for part in (images, taps, places))
    sizes = zip(*spatial, before, strides, dilations, strict=True)
    after = [
        max(0, (count - 1) * step + (size - 1) * gap + 1 - n - low)
        for n, size, count, low, step, gap in sizes
    ]
    made = getattr(graph, f"conv_{kind}")(
        **tensors,
        pre_padding=list(before),
        post_padding=after,
        stride=list(strides),
        dilation=list(dilations),
    )
    made.set_output(True).set_data_type(number[dtype])
    made.set_dim(described(result)["dim"]).set_stride(described(result)["stride"])
    graph.validate()
    graph.build_operation_graph()
    graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    if dtype == "float32" and not tf32:
        graph.deselect_numeric_notes([cudnn.numerical_note.TENSOR_CORE])
    graph.check_support()
    graph.build_plans()
    return handle, graph, (*tensors.values(), made), graph.get_workspace_size()
