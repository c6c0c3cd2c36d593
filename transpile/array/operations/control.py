"""Calls, loops, branches and their results, and communication with other replicas and the host.

The types of the results of a call, a loop or a conditional are those in the code that it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...hlo.element_types import U32, ElementType
from ..operation import AxisMap, Operand, Parameters, Row, Shape, Table
from . import axes
from .inference import like_first, scalar, type_of_first
from .parameters import ANY, INT, WORD

OPERATIONS = Table(moves=True)

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


def _called_shape(operands: Sequence[Operand], parameters: Parameters) -> Shape | None:
    only = _only_result(parameters)
    return only.shape if only is not None else None


def _called_type(operands: Sequence[Operand], parameters: Parameters) -> ElementType | None:
    only = _only_result(parameters)
    return only.element_type if only is not None else None


def _called_results(operands: Sequence[Operand], parameters: Parameters) -> tuple[ArrayType, ...] | None:
    function = parameters["function"]
    if function.repeated or not isinstance(function.results, tuple):
        return None
    return _types(_nodes(function.results))


OPERATIONS.define(
    "call",
    "*arguments",
    parameters={"function": ANY},
    shape=_called_shape,
    element_type=_called_type,
    results=_called_results,
    axes=axes.nothing,
)


# -- bodies


def _carried(operands: Sequence[Operand], parameters: Parameters) -> tuple[ArrayType, ...]:
    return _types([carry.parameter for carry in parameters["loop"].carries])


OPERATIONS.define(
    "loop", "*initials", traits="has_body stands_alone", parameters={"loop": ANY}, results=_carried, axes=axes.nothing
)
OPERATIONS.define(
    "conditional",
    "which",
    traits="has_body stands_alone",
    parameters={"branches": ANY},
    results=lambda operands, parameters: _types(parameters["branches"][0].results),
    axes=axes.nothing,
)


# -- kernels, and the reads in kernels or of chunks

OPERATIONS.define("kernel", "*arrays", traits="allocates", axes=axes.nothing)
OPERATIONS.define("read", "x", traits="light", axes=axes.nothing)
OPERATIONS.define("gather", "x *indices", names="taken", axes=axes.nothing)
OPERATIONS.define("guarded_gather", "x which fill *indices", names="taken", axes=axes.nothing)


# -- one of several results


def _item_shape(operands: Sequence[Operand], parameters: Parameters) -> Shape | None:
    results = operands[0].results
    return results[parameters["index"]][0] if results else None


def _item_type(operands: Sequence[Operand], parameters: Parameters) -> ElementType | None:
    results = operands[0].results
    return results[parameters["index"]][1] if results else None


def _item_axes(node: Any) -> list[AxisMap]:
    results = node.operands[0].results
    return [tuple(range(len(results[0][0])))] if results else [()]


OPERATIONS.define(
    "item",
    "whole",
    names="value",
    traits="light",
    parameters={"index": INT, "count": INT.optional},
    shape=_item_shape,
    element_type=_item_type,
    axes=_item_axes,
)


def _rows(operands: Sequence[Operand], parameters: Parameters) -> tuple[ArrayType, ...]:
    (x,) = operands
    return ((x.shape[1:], x.element_type),) * x.shape[0]


OPERATIONS.define("unpack", "x", traits="allocates", parameters={"names": ANY}, results=_rows, axes=axes.nothing)


# -- other replicas and the host


def _numbers(operands: Sequence[Operand], parameters: Parameters) -> ElementType:
    return U32


_host: Row = {"axes": axes.nothing, "has_effect": True, "stands_alone": True, "asks_host": True}
_exchange: Row = {"axes": axes.nothing, "has_effect": True, "stands_alone": True}
OPERATIONS.define(
    "collective",
    "*operands",
    parameters={"method": WORD, "arguments": ANY, "keywords": ANY, "channel": ANY},
    **_exchange,
)
OPERATIONS.define("send", "x", parameters={"channel": ANY, "pairs": ANY}, **_exchange)
OPERATIONS.define(
    "recv",
    "otherwise",
    names="received",
    parameters={"channel": ANY, "pairs": ANY},
    shape=like_first,
    element_type=type_of_first,
    **_exchange,
)
OPERATIONS.define("infeed", names="fed", parameters={"config": ANY.optional}, **_host)
OPERATIONS.define("outfeed", "*operands", parameters={"config": ANY.optional}, **_host)
OPERATIONS.define("to_host", "*operands", parameters={"channel": ANY}, **_host)
OPERATIONS.define("from_host", names="received", parameters={"channel": ANY}, **_host)
for _name in ("replica-id", "partition-id"):
    OPERATIONS.define(_name, shape=scalar, element_type=_numbers, default_names=(_name.replace("-", "_"),))
