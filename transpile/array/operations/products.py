"""Rules of products of matrices and tensors, and factorisations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...hlo.element_types import ElementType
from ..operation import AxisMap, Operand, Parameters, Shape
from . import axes
from .inference import broadcast_shapes


def matmul_shape(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    """Return the shape of ``a @ b``. Raises ValueError if the contracted sizes differ."""
    a, b = operands[0].shape, operands[1].shape
    if a[-1] != b[max(len(b) - 2, 0)]:
        raise ValueError(f"{a} @ {b}")
    batch = broadcast_shapes(a[:-2], b[:-2]) if len(a) > 2 or len(b) > 2 else ()
    return (*batch, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))


def matmul_axes(node: Any) -> list[AxisMap]:
    """Return axis maps of ``a @ b``: batches are broadcast, contracted axes are needed whole."""
    a, b = node.operands[:2]
    first = 0 if a.ndim == 1 else 1
    batch = node.shape[: node.ndim - first - (b.ndim > 1)]
    left: AxisMap = (None,) if a.ndim == 1 else (*axes.aligned(a.shape[:-2], batch), len(batch), None)
    right: AxisMap = (None,) if b.ndim == 1 else (*axes.aligned(b.shape[:-2], batch), None, node.ndim - 1)
    return [left, right]


def tensordot_shape(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    (a, b), (left, right) = (operand.shape for operand in operands), parameters["axes"]
    if [a[axis] for axis in left] != [b[axis] for axis in right]:
        raise ValueError(f"{a} and {b} do not contract along {parameters['axes']}")
    free = [size for axis, size in enumerate(a) if axis not in left]
    return (*free, *(size for axis, size in enumerate(b) if axis not in right))


def tensordot_axes(node: Any) -> list[AxisMap]:
    a, b = node.operands
    left, right = node.parameters["axes"]
    offset = a.ndim - len(left)
    second = axes.without(b.ndim, right)
    return [axes.without(a.ndim, left), tuple(None if axis is None else axis + offset for axis in second)]


def einsum_shape(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    """Return the shape of an ``einsum`` by its ``subscripts``. Raises ValueError if an axis has several sizes."""
    given, result = parameters["subscripts"].split("->")
    sizes: dict[str, int] = {}
    for letters, operand in zip(given.split(","), operands, strict=True):
        for letter, size in zip(letters, operand.shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise ValueError(f"axis {letter} of {parameters['subscripts']} has sizes {sizes[letter]} and {size}")
    return tuple(sizes[letter] for letter in result)


def einsum_axes(node: Any) -> list[AxisMap]:
    given, result = node.parameters["subscripts"].split("->")
    return [tuple(result.index(c) if c in result else None for c in part) for part in given.split(",")]


def qr(operands: Sequence[Operand], parameters: Parameters) -> tuple[tuple[Shape, ElementType | None], ...]:
    (*batch, m, n), own = operands[0].shape, operands[0].element_type
    k = min(m, n)
    return ((*batch, m, k), own), ((*batch, k, n), own)
