"""Rules of calls, loops, branches and their results.

The types of the results of a call, a loop or a conditional are those in the code that it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...hlo.element_types import ElementType
from ..operation import AxisMap, Operand, Parameters, Shape

ArrayType = tuple[Shape, ElementType | None]


def _types(nodes: Sequence[Any]) -> tuple[ArrayType, ...]:
    return tuple([(node.shape, node.element_type) for node in nodes])


def _nodes(tree: Any) -> list[Any]:
    if isinstance(tree, tuple):
        return [node for part in tree for node in _nodes(part)]
    return [] if tree is None else [tree]


# -- calls of emitted functions: an array if the function returns one array, else a tuple


def _only_result(parameters: Parameters) -> Any:
    """Return the only result of the called function; None if it returns several, or takes arrays of any shape."""
    function = parameters["function"]
    return None if function.repeated or isinstance(function.results, tuple) else function.results


def called_shape(operands: Sequence[Operand], parameters: Parameters) -> Shape | None:
    only = _only_result(parameters)
    return only.shape if only is not None else None


def called_type(operands: Sequence[Operand], parameters: Parameters) -> ElementType | None:
    only = _only_result(parameters)
    return only.element_type if only is not None else None


def called_results(operands: Sequence[Operand], parameters: Parameters) -> tuple[ArrayType, ...] | None:
    function = parameters["function"]
    if function.repeated or not isinstance(function.results, tuple):
        return None
    return _types(_nodes(function.results))


# -- bodies


def carried(operands: Sequence[Operand], parameters: Parameters) -> tuple[ArrayType, ...]:
    return _types([carry.parameter for carry in parameters["loop"].carries])


def branched(operands: Sequence[Operand], parameters: Parameters) -> tuple[ArrayType, ...]:
    return _types(parameters["branches"][0].results)


# -- one of several results


def item_shape(operands: Sequence[Operand], parameters: Parameters) -> Shape | None:
    results = operands[0].results
    return results[parameters["index"]][0] if results else None


def item_type(operands: Sequence[Operand], parameters: Parameters) -> ElementType | None:
    results = operands[0].results
    return results[parameters["index"]][1] if results else None


def item_axes(node: Any) -> list[AxisMap]:
    results = node.operands[0].results
    return [tuple(range(len(results[0][0])))] if results else [()]


def rows(operands: Sequence[Operand], parameters: Parameters) -> tuple[ArrayType, ...]:
    (x,) = operands
    return ((x.shape[1:], x.element_type),) * x.shape[0]
