"""Matrix products, triangular systems and convolutions of cuBLAS, hipBLAS and cuDNN, as XLA's GPU compiler calls them.

Source of the fields: the messages ``GemmBackendConfig``, ``TriangularSolveOptions`` and ``CudnnConvBackendConfig`` of
XLA.
"""

from __future__ import annotations

import math
from typing import Any

from ..attributes import ConvolutionDimensionNumbers, Window
from ..builder import F32, DotDimensionNumbers, Transpose, XlaBuilder, XlaOp
from .call import Call, CustomCall
from .fields import ConfigError, Field, Kind, flag, integers, number, word

_NUMBERS = "dot_dimension_numbers"
_DIMENSIONS = ("lhs_contracting", "rhs_contracting", "lhs_batch", "rhs_batch")
_PRECISION = "precision_config.operand_precision"
_PRODUCT: dict[str, Field] = {
    _PRECISION: Field(Kind.ANY, ""),
    **{f"{_NUMBERS}.{name}_dimensions": integers() for name in _DIMENSIONS},
    "alpha_real": Field(Kind.NUMBER),
    "alpha_imag": number(0),
    "beta": number(0),
}
_BIASES = ("BIAS", "BIAS_RELU", "BIAS_GELU", "BIAS_GELU_AUX", "BIAS_SILU")
_EPILOGUES = ("DEFAULT", "RELU", "GELU", "GELU_AUX", "SILU", *_BIASES)
_SOLVE = {
    "left_side": flag(False),
    "lower": flag(False),
    "unit_diagonal": flag(False),
    "transpose_a": word("NO_TRANSPOSE", *(choice.value for choice in Transpose)),
}


def _product(b: XlaBuilder, call: Call, lhs: XlaOp, rhs: XlaOp, *more: XlaOp) -> XlaOp:
    """Define ``alpha * (lhs . rhs) + beta * c``; a second result is scratch memory."""
    result = _scaled_product(b, call, lhs, rhs, more)
    return call.with_scratch(b, b.convert_element_type(result, call.result().element_type))


def _scaled_product(b: XlaBuilder, call: Call, lhs: XlaOp, rhs: XlaOp, more: tuple[XlaOp, ...]) -> XlaOp:
    """Return the scaled product in the type of accumulation."""
    numbers = DotDimensionNumbers(*(call[f"{_NUMBERS}.{name}_dimensions"] for name in _DIMENSIONS))
    work = F32 if call.result().element_type.is_low_precision else call.result().element_type
    precision = ("highest", "highest") if "HIGH" in str(call[_PRECISION]) else None
    product = b.dot_general(lhs, rhs, numbers, precision=precision, preferred_element_type=work)
    result = _scaled(b, call, product, complex(call["alpha_real"], call["alpha_imag"]))
    if not call["beta"]:
        return result
    if not more or more[0].array_shape.dimensions != result.array_shape.dimensions:
        raise ConfigError(f"needs a third operand like its result for beta = {call['beta']}")
    return b.add(result, _scaled(b, call, b.convert_element_type(more[0], work), complex(call["beta"])))


def _scaled(b: XlaBuilder, call: Call, value: XlaOp, factor: complex) -> XlaOp:
    if factor == 1:
        return value
    element_type = value.array_shape.element_type
    if not element_type.is_complex and factor.imag:
        raise ConfigError(f"cannot scale {element_type} by {factor}")
    plain: Any = factor if element_type.is_complex else factor.real
    if not (element_type.is_floating or element_type.is_complex):
        if plain != int(plain):
            raise ConfigError(f"cannot scale {element_type} by {plain:g}")
        plain = int(plain)
    return b.mul(value, b.constant(plain, element_type))


def _matmul(b: XlaBuilder, call: Call, lhs: XlaOp, rhs: XlaOp, *more: XlaOp) -> XlaOp:
    """Define a product with an epilogue: a bias for each column, an activation, and optionally the activation's
    argument as a second result.
    """
    epilogue: str = call["epilogue"]
    result = _scaled_product(b, call, lhs, rhs, more)
    rest = more[1 if call["beta"] else 0 :]
    if len(rest) != (epilogue in _BIASES):
        raise ConfigError(f"takes {len(more) - len(rest) + (epilogue in _BIASES)} operands behind the first two here")
    if rest:
        result = b.add(result, _along_columns(b, call, rest[0], result))
    element_type, argument = call.result().element_type, result
    activation = _ACTIVATIONS.get(epilogue.removeprefix("BIAS_").removesuffix("_AUX"))
    if activation is not None:
        result = activation(b, result)
    parts = (result, argument) if epilogue.endswith("_AUX") else (result,)
    return call.with_scratch(b, *(b.convert_element_type(part, element_type) for part in parts))


def _along_columns(b: XlaBuilder, call: Call, bias: XlaOp, result: XlaOp) -> XlaOp:
    """Broadcast a bias to the shape of the result: its dimensions are the minor ones of the result's layout."""
    shape, sizes = call.result(), bias.array_shape.dimensions
    minor_to_major = shape.layout.minor_to_major if shape.layout is not None else tuple(reversed(range(shape.rank)))
    dimensions = sorted(minor_to_major[: len(sizes)])
    if tuple(shape.dimensions[d] for d in dimensions) != sizes:
        raise ConfigError(f"has a bias of {len(sizes)} dimensions that are not the last of its result")
    wide = b.convert_element_type(bias, result.array_shape.element_type)
    return b.broadcast_in_dim(wide, shape.dimensions, dimensions)


def _relu(b: XlaBuilder, x: XlaOp) -> XlaOp:
    return b.max(x, b.zero(x.array_shape.element_type))


def _gelu(b: XlaBuilder, x: XlaOp) -> XlaOp:
    """Return GELU in cuBLAS' approximation by tanh."""
    cube = b.mul(b.mul(x, x), x)
    inner = b.mul(b.add(x, b.mul(cube, 0.044715)), math.sqrt(2 / math.pi))
    return b.mul(x, b.mul(b.add(b.tanh(inner), 1.0), 0.5))


def _silu(b: XlaBuilder, x: XlaOp) -> XlaOp:
    return b.mul(x, b.logistic(x))


_ACTIVATIONS = {"RELU": _relu, "GELU": _gelu, "SILU": _silu}


def _solve(b: XlaBuilder, call: Call, a: XlaOp, right: XlaOp) -> XlaOp:
    transpose = Transpose(call["transpose_a"])
    x = b.triangular_solve(a, right, call["left_side"], call["lower"], call["unit_diagonal"], transpose)
    return call.with_scratch(b, x)


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


_GEMM = ("A[?] B[?] ... -> D[?] ...",)
MATRIX_PRODUCTS: dict[str, CustomCall] = {
    "__cublas$gemm": CustomCall(_GEMM, _product, config=_PRODUCT, envelopes=("gemm_backend_config",)),
    "__cublas$lt$matmul": CustomCall(
        _GEMM,
        _matmul,
        config={**_PRODUCT, "epilogue": word("DEFAULT", *_EPILOGUES)},
        envelopes=("gemm_backend_config",),
    ),
    "__cublas$triangularSolve": CustomCall(("T[*,n,n] T[*,r,c] -> T[*,r,c] ...",), _solve, config=_SOLVE),
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
