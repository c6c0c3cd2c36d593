"""Sums of one measure of several arrays, such as the norm of all gradients: a sum of sums of squares or magnitudes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...array.node import Node
from ...dataclass import dataclass

_LEAST = 4  # terms
_MEASURES = ("square", "multiply", "abs")  # never negative: no sum of them is -0.0


@dataclass(frozen=True, eq=False, slots=True)
class MeasuredSum:
    """A sum that adds one term after the other: the last addition, the terms in their order, the array that each is
    of, and the nodes that are parts of the sum alone.
    """

    node: Node
    terms: tuple[Node, ...]
    given: tuple[Node, ...]
    inside: frozenset[Node]


def measured_sums(nodes: Sequence[Node], uses: Mapping[Node, int]) -> Iterator[MeasuredSum]:
    """Yield the sums of one measure of each of several arrays; ``uses`` says how often a value is used."""
    seen: set[Node] = set()
    for node in reversed(nodes):
        if node.opcode != "add" or node.ndim or node in seen:
            continue
        terms, sums = _terms(node, uses)
        seen |= sums
        measures = [_measure(term, uses) for term in terms]
        given = tuple(each.operands[0] for each in measures if each is not None)
        if len({*given}) == len(terms) >= _LEAST and len({each.opcode for each in measures if each is not None}) == 1:
            inside = sums.union(terms, (each for each in measures if each is not None)) - {node}
            yield MeasuredSum(node, tuple(terms), given, frozenset(inside))


def _terms(node: Node, uses: Mapping[Node, int]) -> tuple[list[Node], set[Node]]:
    """Return the terms of a sum that adds one after the other, in order, and all of its additions."""
    terms: list[Node] = []
    sums = {node}
    while True:
        before = [each for each in node.operands if each.opcode == "add" and _is_part(each, node, uses)]
        if len(before) != 1 or len(set(node.operands)) != len(node.operands):
            return [*node.operands, *terms], sums
        terms[:0] = [each for each in node.operands if each is not before[0]]
        (node,) = before
        sums.add(node)


def _measure(term: Node, uses: Mapping[Node, int]) -> Node | None:
    """Return the squares or magnitudes of one array of which a term is the sum, or None."""
    if term.opcode != "sum" or term.type.is_complex or term.type.is_extension:
        return None
    (inner,) = term.operands
    is_measure = inner.opcode in _MEASURES and len(set(inner.operands)) == 1
    return inner if is_measure and uses.get(term) == 1 and _is_part(inner, term, uses) else None


def _is_part(node: Node, user: Node, uses: Mapping[Node, int]) -> bool:
    return uses.get(node) == 1 and node.region is user.region
