"""Removes added zeros where -0 and +0 cannot be distinguished: ``x + 0`` is ``x``, and ``0 - x`` is ``-x``.

A sum is -0 where both of its terms are, and a difference where 0 is subtracted from -0.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, literal_value
from ...array.program import Function, Loop
from ...array.rewriting import called
from ...array.support import Support
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, Rule, apply_rules
from .magnitudes import has_no_sign

_DEEPEST = 8  # nested operations that are followed
_LARGE = 1e30  # divisors of integers, of which none gives 0
_LIBRARY = ("linalg.norm", "mod")  # functions whose first operand may have zeros of either sign


def tells_signs(user: Node, node: Node) -> bool:
    """Whether -0 in place of a node's +0 may change what its user computes; complex numbers always count, as their
    parts are combined in products.
    """
    if user.element_type is None or any(operand.element_type is None for operand in user.operands):
        return True
    if any(operand.type.is_complex for operand in user.operands):
        return True
    if user.operation.ignores_sign_of_zero:
        return user.parameters.get("type") == "TOTALORDER"
    if user.opcode == "library" and user.parameters["function"] in _LIBRARY and node not in user.operands[1:]:
        return False
    if user.opcode == "convert" and not user.type.is_floating:
        return False
    others = [operand for operand in user.operands if operand is not node]
    if user.opcode not in ("add", "subtract"):
        return True
    if user.opcode == "subtract" and user.operands[0] is node:
        return not any(map(_is_not_zero, others))
    return not any(map(is_never_minus_zero, others))


def sign_is_told(live: LiveNodes, node: Node, steps: int = 3) -> bool:
    """Whether -0 in place of +0 may change what is computed from a node, following scalings and selections for a few
    steps.
    """
    if live.is_root(node):
        return True
    return any(
        tells_signs(user, node) and (steps == 0 or not _keeps(user, node) or sign_is_told(live, user, steps - 1))
        for user in live.users(node)
    )


def _keeps(user: Node, node: Node) -> bool:
    """Whether a user passes on a node's zeros, with their signs or negated, and does nothing else with them."""
    if user.opcode == "select":
        return user.operands[0] is not node and user.type.is_floating
    return _scales(user)


def _scales(node: Node) -> bool:
    """Whether a node multiplies or divides a real number by a literal that keeps zeros zero."""
    if node.opcode not in ("multiply", "divide") or not node.type.is_floating or node.operands[0].is_literal:
        return False
    number = literal_value(node.operands[1]) if node.operands[1].is_literal else np.float32(0)
    return bool(np.isfinite(number) and number != 0)


def is_never_minus_zero(node: Node, depth: int = _DEEPEST, totals: frozenset[Node] = frozenset()) -> bool:
    """Whether no element is -0, given that no element of ``totals`` is."""
    if node.element_type is None:
        return False
    if node.is_literal:
        number = literal_value(node)
        return bool(number != 0) or not any(map(np.signbit, (number.real, number.imag)))
    if node in totals or has_no_sign(node) or _is_whole(node):
        return True
    if node.opcode == "multiply" and depth and any(map(_enlarges, node.operands)):
        return all(is_never_minus_zero(factor, depth - 1, totals) for factor in node.operands)
    if node.opcode not in _TERMS or not depth or not node.type.is_floating:
        return node.element_type is not None and node.type.is_integral
    if node.opcode == "update_at" and node.parameters["ufunc"].opcode != "add":
        return False
    if node.opcode == "subtract" and node.operands[1].is_literal and literal_value(node.operands[1]) != 0:
        return True
    terms = node.operands[_TERMS[node.opcode]]
    return (any if node.opcode in _SUMS else all)(is_never_minus_zero(term, depth - 1, totals) for term in terms)


def _is_whole(node: Node) -> bool:
    """Return whether a float is made of an integer, perhaps divided by a number: 0 has no sign, and no other one is so
    small that it becomes 0.
    """
    if node.opcode == "divide" and node.operands[1].is_literal and node.type.is_floating:
        divisor = literal_value(node.operands[1])
        return bool(0 < divisor < _LARGE) and _is_whole(node.operands[0])
    source = node.operands[0] if node.opcode == "convert" else node
    return node.type.is_floating and source is not node and source.type.is_integral


def _enlarges(factor: Node) -> bool:
    """Whether a factor makes products no smaller than the other factor, so that they are 0 only where it is."""
    return factor.is_literal and factor.type.is_floating and bool(literal_value(factor) >= 1)


_MOST_FOLLOWED = 256  # values


def zero_is_told(live: LiveNodes, node: Node, *, is_entry: bool) -> bool:
    """Whether -0 in place of a node's +0 may change anything but the sign of a zero. The zeros that a program returns
    may have either sign (docs/edges.md).
    """
    waiting, seen = [node], {node}
    while waiting:
        node = waiting.pop()
        if (live.is_root(node) and not is_entry) or len(seen) > _MOST_FOLLOWED:
            return True
        for user in live.users(node):
            if user.opcode == "loop":
                carried = [each for each in _carried(live, user, node) if each not in seen]
                seen.update(carried)
                waiting += carried
                continue
            is_numerator = user.opcode == "divide" and user.operands[1] is not node
            is_square = user.opcode == "multiply" and user.operands[0] is user.operands[1] and not user.type.is_complex
            is_sum = user.opcode in ("add", "subtract") and not any(map(_is_not_zero, user.operands))
            if is_square or user.opcode == "abs" or (not is_sum and not tells_signs(user, node)):
                continue
            if user.element_type is None or not (is_numerator or _passes_zeros(user)):
                return True
            if user not in seen:
                seen.add(user)
                waiting.append(user)
    return False


def sign_matters(live: LiveNodes, node: Node, *, is_entry: bool) -> bool:
    """Whether -0 in place of a node's +0 may change what is computed from it, other than the signs of zeros."""
    return sign_is_told(live, node) and zero_is_told(live, node, is_entry=is_entry)


def _carried(live: LiveNodes, node: Node, value: Node) -> Iterator[Node]:
    """Yield what a loop gives its iterations, and returns, of a value that it begins with, computes or stores."""
    loop: Loop = node.parameters["loop"]
    stored = [store.carry for store in loop.stores if store.value is value]
    for index, carry in enumerate(loop.carries):
        if value in (carry.initial, carry.following) or carry in stored:
            yield carry.parameter
            yield from (user for user in live.users(node) if user.parameters.get("index") == index)


def _is_not_zero(term: Node) -> bool:
    return term.is_literal and bool(literal_value(term) != 0)


def _is_conjugate(node: Node) -> bool:
    return node.opcode == "library" and node.parameters["function"] == "conj"


def _passes_zeros(user: Node) -> bool:
    """Whether an operation gives, for zeros of either sign, either the same value or a zero of some sign; in the parts
    of complex numbers, too.
    """
    row = user.operation
    is_complex = any(operand.type.is_complex for operand in user.operands if operand.element_type is not None)
    moves = row.is_view and user.opcode != "view"  # of bits
    keeps_zero = row.is_reduction or row.is_product or (row.keeps_zero and not is_complex) or moves
    return (
        keeps_zero
        or _is_conjugate(user)
        or user.opcode in _TERMS
        or user.opcode in ("multiply", "negate", "real", "imag")
    )


_SUMS = ("add",)
# By opcode, the operands of which some, or all, must not be -0 so that no element of the result is.
_TERMS = {
    **dict.fromkeys(_SUMS, slice(2)),
    "subtract": slice(1),
    "select": slice(1, 3),
    "update_at": slice(1),
    "setitem": slice(2),
    **dict.fromkeys("zeros ones full expand getitem transpose reshape broadcast_to copy".split(), slice(1)),
    **dict.fromkeys(("stack", "concatenate", "pad"), slice(None)),
}


def _rules(live: LiveNodes, *, is_entry: bool) -> tuple[Rule, ...]:
    def is_kept(node: Node) -> bool:
        return live.is_root(node) or sign_matters(live, node, is_entry=is_entry)

    def without_zero(graph: Graph, node: Node, found: Bindings) -> Node | None:
        x: Node = found["x"]
        return x if is_never_minus_zero(x) or not is_kept(node) else None

    def with_minus(graph: Graph, node: Node, found: Bindings) -> Node | None:
        return None if is_kept(node) else graph.add("negate", (found["x"],))

    def minus_of_sum(graph: Graph, node: Node, found: Bindings) -> Node | None:
        if zero_is_told(live, node, is_entry=is_entry):
            return None
        if node.opcode == "mean" and not all(user.opcode == "add" for user in live.users(node) or (node,)):
            return None  # the author's minus
        total = graph.add(node.opcode, (found["x"],), element_type=node.element_type, **node.parameters)
        return graph.add("negate", (total,))

    def turned(graph: Graph, node: Node, found: Bindings) -> Node | None:
        returned = (each for each in (node, *live.users(node)) if each is node or _is_conjugate(each))
        is_told = any(map(live.is_root, returned)) or zero_is_told(live, node, is_entry=is_entry)
        return None if literal_value(found["ZERO"]) != 0 or is_told else called(graph, "np.exp", (found["z"],), node)

    return (
        FloatRule("sum((minus := negate(x)))", minus_of_sum, once=("minus",)),
        FloatRule("mean((minus := negate(x)))", minus_of_sum, once=("minus",)),
        Rule("np.exp((sum := add(z, ZERO)))", turned, once=("sum",), when=lambda element_type: element_type.is_complex),
        FloatRule("add(x, 0)", without_zero),
        FloatRule("subtract(0, x)", with_minus),
    )


def signed_zeros(function: Function, supports: Support) -> None:
    """Remove zeros that only change the sign of other zeros, where that cannot be observed."""
    apply_rules(function, _rules(live_nodes(function), is_entry=function.is_entry), supports)
