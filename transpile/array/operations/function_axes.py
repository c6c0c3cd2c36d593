"""Axis maps of functions that are called by name, by the words that their rows use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..operation import AxesRule, AxisMap
from . import axes
from .windows import convolved_axes, window_axes


def _padded(node: Any) -> list[AxisMap]:
    """Axes without padding and without gaps between their elements stay."""
    padding, interior = node.parameters["arguments"][2], node.parameters["keywords"].get("interior")
    gaps = interior or (0,) * node.ndim
    whole = [tuple(ends) != (0, 0) or gap != 0 for ends, gap in zip(padding, gaps, strict=True)]
    return [tuple(None if needed else axis for axis, needed in enumerate(whole)), ()]


def _of_second(node: Any) -> list[AxisMap]:
    """Map the axes so that each element of the second operand needs the whole first one: a count a random state, a
    value a table.
    """
    first, second = node.operands
    return [(None,) * first.ndim, tuple(range(second.ndim))]


def _bitcast(node: Any) -> list[AxisMap]:
    """Elements of another width come and go in a last axis."""
    shared = min(node.ndim, node.operands[0].ndim)
    return [tuple(axis if axis < shared else None for axis in range(node.operands[0].ndim))]


def _right_sides(node: Any) -> list[AxisMap]:
    """Triangular systems share a matrix, and are independent of each other."""
    matrix, sides = axes.matrices(node)
    free = node.ndim - 1
    return [matrix, tuple(free if axis == free else place for axis, place in enumerate(sides))]


def _features(node: Any) -> list[AxisMap]:
    """Batch normalisation with known statistics takes vectors of features along one axis."""
    axis = node.parameters["keywords"].get("axis", -1) % node.ndim
    return [tuple(range(node.ndim)), *((axis,) for _ in node.operands[1:])]


def _updated(node: Any) -> list[AxisMap]:
    """Axes that the update has as a whole stay."""
    x, update, *starts = node.operands
    own = tuple(axis if size == update.shape[axis] else None for axis, size in enumerate(x.shape))
    return [own, own, *((None,) * start.ndim for start in starts)]


def _folded(node: Any) -> list[AxisMap]:
    """Several arrays are reduced by one function."""
    gone = node.parameters["arguments"][-1]
    return [axes.without(operand.ndim, gone) if operand.ndim else () for operand in node.operands]


def _along_keyword(node: Any) -> list[AxisMap]:
    """Work goes along the axis that a keyword of the call names, or along the first."""
    return axes.all_but(node, node.parameters["keywords"].get("axis", 0))


def _along_argument(place: int) -> AxesRule:
    """Work goes along the axis that an argument of the call names."""
    return lambda node: axes.all_but(node, node.parameters["arguments"][place])


# What ``axes`` in a row may be.
WORDS: dict[str, Callable[[Any], list[AxisMap]]] = {
    "padded": _padded,
    "of second": _of_second,
    "bitcast": _bitcast,
    "right sides": _right_sides,
    "last axis": axes.rows,
    "features": _features,
    "updated": _updated,
    "folded": _folded,
    "along keyword": _along_keyword,
    "along argument 1": _along_argument(1),
    "along last argument": _along_argument(-1),
    "convolution": convolved_axes,
    "windows": window_axes,
}
