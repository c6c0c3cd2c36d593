"""The analysis of which operations may raise NumPy warnings: XLA gives infinities and NaN, and wraps integers,
silently.

Operations on floats may overflow, divide by 0 or be invalid, unless the magnitudes of their operands are known, as for
values computed from integers and constants. Integer arithmetic on arrays is silent; on NumPy scalars it is not.
"""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes

from ..hlo.element_types import PRED
from .node import Node, literal_value
from .traversal import is_inside

_DIVIDING = frozenset(("divide", "remainder"))


def may_warn(nodes: Sequence[Node], *, sizes_are_free: bool = False) -> bool:
    """Return whether NumPy may warn of any of the nodes, which are in topological order. Compiled loops are silent.
    With ``sizes_are_free`` no magnitude is known, since it may differ at other sizes.
    """
    loops = [node.parameters["loop"] for node in nodes if node.opcode == "loop"]
    compiled = [loop.region for loop in loops if loop.is_compiled]
    magnitudes: dict[Node, float | None] = {}
    for node in nodes:
        if any(is_inside(node.region, region) for region in compiled):
            continue
        if node.element_type is not None and node.type.is_floating and not sizes_are_free:
            magnitudes[node] = _magnitude(node, magnitudes)
        if _warns_of_integers(node) or (_computes_inexact(node) and magnitudes.get(node) is None):
            return True
    return False


def _warns_of_integers(node: Node) -> bool:
    """Return whether an integer division by 0 is possible, or a scalar may wrap around."""
    if node.is_python_int or node.element_type is None or not node.type.is_integral:
        return False
    if node.opcode in _DIVIDING:
        divisor = node.operands[1].interval
        return divisor is None or divisor[0] <= 0 <= divisor[1]
    if node.opcode == "scatter":  # x[i] += y
        return node.parameters["ufunc"] is not None
    return node.operation.wraps and node.ndim == 0 and node.interval is None


def _computes_inexact(node: Node) -> bool:
    """Return whether an operation may overflow or be invalid on some floats. Complex operations consist of several real
    ones, and extension types may warn of any NaN.
    """
    types = [node.element_type, *(each for _, each in node.results), *(each.element_type for each in node.operands)]
    inexact = [each for each in types if each is not None and (each.is_floating or each.is_complex)]
    is_quiet = node.operation.is_quiet and not any(each.is_complex or each.is_extension for each in inexact)
    only_moves = node.operation.moves and node.parameters.get("ufunc") is None
    return bool(inexact) and not is_quiet and not only_moves


# -- the largest magnitude of a node's elements; None if unknown or possibly infinite


def _magnitude(node: Node, known: dict[Node, float | None]) -> float | None:
    rule = node.operation.magnitude
    found: float | None = None
    if node.is_literal or node.opcode == "array":
        values = literal_value(node)
        found = max(abs(float(values.min(initial=0))), abs(float(values.max(initial=0))))
    elif rule is not None:
        given = [_of_operand(operand, known) for operand in node.operands]
        numbers = [each for each in given if each is not None]
        found = rule(node, numbers) if len(numbers) == len(given) else None
    return found if found is not None and found <= float(ml_dtypes.finfo(node.type.dtype).max) else None


def _of_operand(node: Node, known: dict[Node, float | None]) -> float | None:
    if node.interval is not None:
        return float(max(map(abs, node.interval)))
    if node.element_type is None or not node.type.is_integral:
        return 1.0 if node.element_type is PRED else known.get(node)
    return 2.0**node.type.bits
