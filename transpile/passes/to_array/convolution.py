"""Lowers convolution to the prelude's function, without default arguments."""

from __future__ import annotations

from ...array.value import Value
from ...hlo.attributes import ConvolutionDimensionNumbers, Window
from ...hlo.ir import Instruction
from .contraction import is_in_tf32
from .lowering import FunctionLowering, lowers
from .windows import window_keywords

_SPATIAL = "HWDEFGJKLMPQRSTUVXYZ"


@lowers("convolution")
def convolution(lowering: FunctionLowering, instruction: Instruction, x: Value, kernel: Value) -> Value:
    shape = instruction.array_shape
    numbers: ConvolutionDimensionNumbers = instruction["dim_labels"]
    # The prelude takes arguments for each spatial dimension in the order of x's spatial dimensions.
    order = sorted(range(len(numbers.input_spatial)), key=numbers.input_spatial.__getitem__)
    window: Window = tuple(instruction["window"][k] for k in order)
    keywords = window_keywords(window, "input_dilation", "kernel_dilation")
    if any(dimension.window_reversal for dimension in window):
        keywords["reverse_kernel"] = tuple(dimension.window_reversal for dimension in window)
    if instruction["feature_group_count"] != 1:
        keywords["feature_groups"] = instruction["feature_group_count"]
    if instruction["batch_group_count"] != 1:
        keywords["batch_groups"] = instruction["batch_group_count"]
    layout = layout_text(numbers)
    spatial = _SPATIAL[: len(window)]
    if layout != f"N{spatial}C,{spatial}IO->N{spatial}C":
        keywords["layout"] = layout
    nodes = (lowering.plain(x), lowering.plain(kernel))
    if shape.element_type is not nodes[0].element_type:
        keywords["dtype"] = shape.element_type
    if is_in_tf32(lowering, instruction):
        keywords["tf32"] = True
    function = "integer_convolution" if shape.element_type.is_integral else "convolution"
    return lowering.call(function, nodes, **keywords)


def layout_text(numbers: ConvolutionDimensionNumbers) -> str:
    """Return ``NHWC,HWIO->NHWC``: N batch, C channels, I and O of the kernel, other letters spatial."""

    def spelled(first: int, second: int, spatial: tuple[int, ...], names: str) -> str:
        letters = {first: names[0], second: names[1]} | dict(zip(spatial, _SPATIAL, strict=False))
        return "".join(letters[d] for d in range(len(letters)))

    n = numbers
    return (
        spelled(n.input_batch, n.input_feature, n.input_spatial, "NC")
        + ","
        + spelled(n.kernel_input_feature, n.kernel_output_feature, n.kernel_spatial, "IO")
        + "->"
        + spelled(n.output_batch, n.output_feature, n.output_spatial, "NC")
    )
