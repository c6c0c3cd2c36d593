"""What dask.array says as HLO means it, in any chunks, without computing anything."""

from __future__ import annotations

from ...transpile.array.node import Node
from ...transpile.array.program import Loop
from ...transpile.array.scalars import is_known_on_host
from ..refusals import (
    ELEMENTWISE,
    Rule,
    choice_is_known,
    filling_is_constant,
    index_is_known,
    lacks,
    refused_by,
    speaks,
)

MOST_UNROLLED = 100  # iterations: each adds its tasks to the graph


def refuses(node: Node) -> str | None:
    """The reason why Dask cannot say a node, or None."""
    element_type = node.element_type
    # Narrower elements come out of some operations as int8 or float16.
    if element_type is not None and element_type.is_extension and element_type.bits < 8:
        return f"blocks do not keep the type {element_type}"
    return refused_by(RULES, {}, node)


def _same_width(node: Node) -> str | None:
    same = node.operands[0].type.dtype.itemsize == node.type.dtype.itemsize
    return None if same else "the elements change width, and the chunks with them"


def _counted(node: Node) -> str | None:
    loop: Loop = node.parameters["loop"]
    if loop.counter is None:
        return "the number of iterations is not known, and each test would compute"
    count = len(range(loop.start, loop.stop, loop.step))
    if count > MOST_UNROLLED:
        return f"its {count} iterations would be unrolled into the task graph, more than {MOST_UNROLLED}"
    return None


def _not_empty(node: Node) -> str | None:
    return f"dask cannot {node.opcode} an empty array" if 0 in node.operands[0].shape else None


def _one_row_of_indices(node: Node) -> str | None:
    index, *others = node.operands[1:]
    if others:
        return "lazy indices must be along one dimension"
    if index.ndim == 1 or is_known_on_host(index):
        return None
    return f"a lazy index must have 1 dimension, and this has {index.ndim}"


RULES: dict[str, Rule] = {
    # element-wise
    **speaks(ELEMENTWISE),
    **speaks("square logaddexp"),
    "view": _same_width,
    # leaves and structure
    **speaks("parameter literal integer item arange tri eye tril triu diagonal roll array full zeros ones empty copy"),
    **speaks("expand transpose broadcast_to concatenate stack call"),
    "reshape": _not_empty,
    **dict.fromkeys(("getitem", "setitem"), index_is_known("indexing by a lazy number would compute it")),
    **dict.fromkeys(("take", "advanced_index"), _one_row_of_indices),
    "pad": lambda node: _not_empty(node) or filling_is_constant(node),
    # reductions and contractions
    **speaks("sum mean var std prod any all cumsum cumprod matmul tensordot einsum"),
    **dict.fromkeys(("max", "min", "argmax", "argmin"), _not_empty),
    **lacks("cummax cummin", "da.maximum and da.minimum have no accumulate"),
    **lacks("bitwise_reduce", "dask's bitwise functions have no reduce"),
    # control
    "loop": _counted,
    "conditional": choice_is_known("branching on a lazy value would compute it"),
}
