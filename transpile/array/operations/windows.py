"""Functions of windows (convolutions and pools): their shapes, by HLO's own arithmetic, and their axis maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ...hlo.attributes import ConvolutionDimensionNumbers, Window, WindowDimension
from ...hlo.shape_inference import infer_shape
from ...hlo.shapes import ArrayShape
from ...hlo.source import HloVerificationError
from ..operation import AxisMap, Operand, Parameters, Shape


def sizes_of(opcode: str, shapes: Sequence[ArrayShape], attributes: Mapping[str, Any]) -> Shape:
    """Return the dimensions of the result of an HLO operation on operands of these shapes.

    Raises ValueError if the operands do not fit the operation.
    """
    try:
        result = infer_shape(opcode, shapes, attributes)
    except HloVerificationError as error:
        raise ValueError(error.diagnostics[0].message) from None
    assert isinstance(result, ArrayShape)
    return result.dimensions


def array_shape(operand: Operand) -> ArrayShape:
    """Return the HLO shape of an operand."""
    assert operand.element_type is not None
    return ArrayShape(operand.element_type, operand.shape)


# The keywords of the prelude's functions, by the field of `WindowDimension` that they hold for each dimension.
_OF_POOLS = {"stride": "strides", "base_dilation": "base_dilation", "window_dilation": "window_dilation"}
_OF_CONVOLUTIONS = {"stride": "strides", "base_dilation": "input_dilation", "window_dilation": "kernel_dilation"}
_KEYWORDS = frozenset(("padding", *_OF_POOLS.values()))


Keywords = tuple[tuple[str, Any], ...]


def _of_call(parameters: Parameters) -> Keywords:
    """Return the keywords of a call as a cache key: the layers of a network often have the same."""
    return tuple(parameters["keywords"].items())


def _window(sizes: Sequence[int], keywords: Parameters, names: dict[str, str]) -> Window:
    """Return the window of these sizes that the keywords of a call describe."""
    columns = {field: keywords[name] for field, name in names.items() if keywords.get(name)}
    padding = keywords.get("padding") or ((0, 0),) * len(sizes)
    return tuple(
        WindowDimension(
            size, padding_low=low, padding_high=high, **{field: column[k] for field, column in columns.items()}
        )
        for k, (size, (low, high)) in enumerate(zip(sizes, padding, strict=True))
    )


# -- pools


def window_places(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    """Return the number of positions along each axis of a window whose sizes are the last argument."""
    return _places(operands[0].shape, parameters["arguments"][-1], _of_call(parameters))


@lru_cache(maxsize=1024)
def _places(shape: Shape, sizes: tuple[int, ...], keywords: Keywords) -> Shape:
    window = _window(sizes, dict(keywords), _OF_POOLS)
    return tuple([dimension.output_size(size) for size, dimension in zip(shape, window, strict=True)])


def window_axes(node: Any) -> list[AxisMap]:
    """Return axis maps of pools: axes along which the window has one element and does not move are mapped."""
    arguments, keywords = node.parameters["arguments"], node.parameters["keywords"]
    still = []
    for axis, size in enumerate(arguments[-1]):
        own = {key: keywords[key][axis] for key in _KEYWORDS & keywords.keys()}
        still.append(size == 1 and tuple(own.pop("padding", (0, 0))) == (0, 0) and set(own.values()) <= {1})
    shape = node.shape or (node.results[0][0] if node.results else ())
    return [
        tuple(axis if still[axis] else None for axis in range(operand.ndim)) if operand.ndim == len(shape) else ()
        for operand in node.operands
    ]


# -- convolutions


def convolution_axes(parameters: Parameters, ndim: int) -> tuple[str, str, str]:
    """Return a letter for each axis of the images, of the kernel and of the result, as in the layout of a
    ``convolution``.
    """
    count, keywords = ndim - 2, parameters["keywords"]
    spatial = "DHW"[-count:] if 0 < count <= 3 else "".join(chr(ord("a") + k) for k in range(count))
    layout = keywords.get("layout", f"N{spatial}C,{spatial}IO->N{spatial}C")
    if "channels_first" in keywords:
        layout = f"NC{spatial},OI{spatial}->NC{spatial}"
    x, kernel, result = layout.replace("->", ",").split(",")
    return x, kernel, result


def convolved(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    """Return the shape of a convolution by HLO's rule."""
    images, kernel = map(array_shape, operands)
    return _convolved(images, kernel, _of_call(parameters))


@lru_cache(maxsize=1024)
def _convolved(images: ArrayShape, weights: ArrayShape, given: Keywords) -> Shape:
    keywords = dict(given)
    x, kernel, result = convolution_axes({"keywords": keywords}, images.rank)
    spatial = [letter for letter in x if letter not in "NC"]

    def places(layout: str) -> tuple[int, ...]:
        return tuple(map(layout.index, spatial))

    numbers = ConvolutionDimensionNumbers(
        *(x.index("N"), x.index("C"), places(x)),
        *(kernel.index("I"), kernel.index("O"), places(kernel)),
        *(result.index("N"), result.index("C"), places(result)),
    )
    attributes = {
        "dim_labels": numbers,
        "window": _window([weights.dimensions[d] for d in numbers.kernel_spatial], keywords, _OF_CONVOLUTIONS),
        "feature_group_count": keywords.get("feature_groups", 1),
        "batch_group_count": keywords.get("batch_groups", 1),
    }
    return sizes_of("convolution", (images, weights), attributes)


def convolved_axes(node: Any) -> list[AxisMap]:
    """Return axis maps of a convolution: batches and output channels are independent, except with groups."""
    keywords = node.parameters["keywords"]
    x, kernel, result = convolution_axes(node.parameters, node.ndim)
    grouped = "feature_groups" in keywords or "batch_groups" in keywords
    batch = None if "batch_groups" in keywords else result.index("N")
    return [
        tuple(batch if letter == "N" else None for letter in x),
        tuple(result.index("C") if letter == "O" and not grouped else None for letter in kernel),
    ]
