"""Convolutions of cuDNN, as XLA's GPU compiler calls them.

Source of the fields: the message ``CudnnConvBackendConfig`` of XLA.
"""

from __future__ import annotations

from ..attributes import ConvolutionDimensionNumbers, Window
from ..builder import XlaBuilder, XlaOp
from .call import Call, CustomCall
from .fields import ConfigError, number, word


def _convolution(b: XlaBuilder, call: Call, x: XlaOp, kernel: XlaOp) -> XlaOp:
    instruction = call.instruction
    window: Window = instruction["window"]
    numbers: ConvolutionDimensionNumbers = instruction["dim_labels"]
    if "?" in numbers.text:
        raise ConfigError(f"has the dimensions {numbers.text}: vectors of channels are not known")
    kernel_sizes = kernel.array_shape.dimensions
    if [d.size for d in window] != [kernel_sizes[d] for d in numbers.kernel_spatial if d < len(kernel_sizes)]:
        raise ConfigError("has a window that is not of the kernel's size")
    wide = call.result().element_type
    result = b.conv_general_dilated(
        x,
        kernel,
        [d.stride for d in window],
        [(d.padding_low, d.padding_high) for d in window],
        [d.base_dilation for d in window],
        [d.window_dilation for d in window],
        numbers,
        feature_group_count=instruction["feature_group_count"],
        batch_group_count=instruction["batch_group_count"],
        preferred_element_type=wide,
        window_reversal=[d.window_reversal for d in window],
    )
    if call["conv_result_scale"] != 1:
        if not wide.is_floating:
            raise ConfigError(f"cannot scale {wide} by {call['conv_result_scale']:g}")
        result = b.mul(result, b.constant(call["conv_result_scale"], wide))
    return call.with_scratch(b, result)


CONVOLUTIONS: dict[str, CustomCall] = {
    "__cudnn$convForward": CustomCall(
        ("A[?] A[?] -> B[?] ...",),
        _convolution,
        config={
            "conv_result_scale": number(1),
            "activation_mode": word("kNone", "kNone"),
            "side_input_scale": number(0),
        },
        envelopes=("cudnn_conv_backend_config",),
        attributes=("window", "dim_labels"),
    ),
}
