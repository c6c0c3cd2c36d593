"""Arrays of narrow elements with one scale for each block of the last dimension: XLA's ``__op$`` calls.

A block's scale is its largest magnitude divided by 2**e, where e is the largest exponent of the quantized type; all
arithmetic is in the unquantized type. Source: XLA's block scaling rewriter.
"""

from __future__ import annotations

import numpy as np

from ..builder import DotDimensionNumbers, XlaBuilder, XlaOp
from ..element_types import ElementType
from .call import Call, CustomCall
from .fields import ConfigError, integer

_BLOCK_SIZE = "block_scaled_dot_backend_config.block_size"


def _largest_power(element_type: ElementType) -> float:
    """Return the largest power of two in a float type."""
    import ml_dtypes

    return float(2.0 ** np.floor(np.log2(float(ml_dtypes.finfo(element_type.dtype).max))))


def _block_size(whole: tuple[int, ...], blocks: tuple[int, ...]) -> int:
    if not whole or len(whole) != len(blocks) or whole[:-1] != blocks[:-1] or not blocks[-1] or whole[-1] % blocks[-1]:
        raise ConfigError(f"cannot divide the sizes {list(whole)} into blocks {list(blocks)} along the last dimension")
    return whole[-1] // blocks[-1]


def _spread(b: XlaBuilder, scale: XlaOp, sizes: tuple[int, ...]) -> XlaOp:
    """Broadcast the scales of blocks to all positions."""
    blocks = scale.array_shape.dimensions
    inner = (*blocks, _block_size(sizes, blocks))
    return b.reshape(b.broadcast_in_dim(scale, inner, tuple(range(len(blocks)))), sizes)


def _quantize(b: XlaBuilder, call: Call, x: XlaOp) -> XlaOp:
    quantized, scaling = call.result(0), call.result(1)
    wide, sizes = x.array_shape.element_type, x.array_shape.dimensions
    if not wide.is_floating or not quantized.element_type.is_floating or not scaling.element_type.is_floating:
        raise ConfigError("takes and gives floating-point numbers only")
    blocks = scaling.dimensions
    cut = b.reshape(x, (*blocks, _block_size(sizes, blocks)))
    largest = b.reduce(b.abs(cut), b.zero(wide), b.max, (len(blocks),))
    scale = b.convert_element_type(b.div(largest, _largest_power(quantized.element_type)), scaling.element_type)
    spread = _spread(b, b.convert_element_type(scale, wide), sizes)
    return b.tuple([b.convert_element_type(b.div(x, spread), quantized.element_type), scale])


def _dequantized(b: XlaBuilder, x: XlaOp, scale: XlaOp, wide: ElementType) -> XlaOp:
    if not wide.is_floating:
        raise ConfigError(f"gives floating-point numbers, not {wide}")
    spread = _spread(b, b.convert_element_type(scale, wide), x.array_shape.dimensions)
    return b.mul(b.convert_element_type(x, wide), spread)


def _dequantize(b: XlaBuilder, call: Call, x: XlaOp, scale: XlaOp) -> XlaOp:
    return _dequantized(b, x, scale, call.result().element_type)


def _block_scaled_dot(b: XlaBuilder, call: Call, lhs: XlaOp, rhs: XlaOp, *scales: XlaOp) -> XlaOp:
    """Return a product over the last dimensions, with the first as a batch if there are three. Scales may be padded;
    the right operand may have none; the last operand may be a scalar scale of the result.
    """
    rank, wide = lhs.array_shape.rank, call.result().element_type
    if rank not in (2, 3) or rhs.array_shape.rank != rank or not 1 <= len(scales) <= 3:
        raise ConfigError("takes two operands of 2 or 3 dimensions and 1 to 3 scales")
    left, *others = scales
    lhs = _dequantized(b, lhs, _unpadded(b, call, lhs, left), wide)
    if others:
        rhs = _dequantized(b, rhs, _unpadded(b, call, rhs, others[0]), wide)
    batch = (0,) if rank == 3 else ()
    numbers = DotDimensionNumbers((rank - 1,), (rank - 1,), batch, batch)
    result = b.dot_general(lhs, rhs, numbers, preferred_element_type=wide)
    if len(others) < 2:
        return result
    if others[1].array_shape.rank or others[1].array_shape.element_type is not wide:
        raise ConfigError(f"takes {wide}[] as the scale of its result")
    return b.mul(result, others[1])


def _unpadded(b: XlaBuilder, call: Call, x: XlaOp, scale: XlaOp) -> XlaOp:
    """Return a scale without its padding. Padding of the last dimension is known only from a block size in the
    configuration.
    """
    sizes, given = x.array_shape.dimensions, scale.array_shape.dimensions
    if len(given) != len(sizes):
        raise ConfigError("takes scales of as many dimensions as what they scale")
    limits = [*sizes[:-1], given[-1]]
    if call[_BLOCK_SIZE]:
        limits[-1] = -(-sizes[-1] // call[_BLOCK_SIZE])
    if any(limit > size for limit, size in zip(limits, given, strict=True)):
        raise ConfigError(f"needs scales of at least {limits}, not {list(given)}")
    return b.slice(scale, [0] * len(limits), limits) if tuple(limits) != given else scale


BLOCK_SCALING: dict[str, CustomCall] = {
    "__op$quantize": CustomCall(("A[*,n] -> B[*,n] D[*,k]",), _quantize),
    "__op$dequantize": CustomCall(("A[*,n] B[*,k] -> D[*,n]",), _dequantize),
    "__op$block_scaled_dot": CustomCall(
        ("A[?] B[?] ... -> D[?]",), _block_scaled_dot, config={_BLOCK_SIZE: integer(0)}
    ),
}
