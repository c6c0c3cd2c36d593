"""Folds the numbers among terms, as far as a frontend or XLA may have folded them already."""

from __future__ import annotations

from collections.abc import Callable
from math import floor, inf, lgamma
from typing import Any

import numpy as np

from ...array.operations import OPERATIONS
from ...hlo.custom_calls.special_functions import IN_WIDER
from ...hlo.element_types import ELEMENT_TYPES
from ...hlo.opcodes import ELEMENTWISE
from ...kernels.scalars import SCALARS
from ...walks import operands_first
from ..constants.folding import fold
from .terms import NAMED, PARTS, Term, Terms

_Rule = Callable[..., Term | None]
FLIPPED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "EQ": "EQ", "NE": "NE"}


def folded(terms: Terms, opcode: str, kind: str, key: Any, operands: tuple[Term, ...]) -> Term:
    """Return the simplest term of an element-wise operation: a folded number, an operand that it forwards, or the
    operation.
    """
    if not any(operand.opcode == "constant" for operand in operands):
        if opcode == "select" and operands[1] is operands[2]:
            return operands[1]
        if opcode in PARTS and operands[0].opcode == "complex":
            return operands[0].operands[PARTS.index(opcode)]
        if opcode == "complex" and (whole := _whole(*operands)):
            return whole
        return terms.make(opcode, kind, key, operands)
    if all(operand.opcode == "constant" for operand in operands):
        found = value_of(opcode, kind, key, operands)
        return terms.make(opcode, kind, key, operands) if found is None else terms.number(kind, found)
    rule = _RULES.get(opcode)
    simpler = rule(terms, *operands) if rule else None
    if simpler is not None:
        return simpler
    if operands[0].opcode == "constant" and len(operands) == 2:
        if opcode == "compare" and key in FLIPPED:
            return terms.make(opcode, kind, FLIPPED[key], operands[::-1])
        if is_commutative(opcode):
            return terms.make(opcode, kind, key, operands[::-1])
    return terms.make(opcode, kind, key, operands)


def _whole(real: Term, imag: Term) -> Term | None:
    """Return the complex term of which both are the parts, or None."""
    are_parts = (real.opcode, imag.opcode) == PARTS and real.operands == imag.operands
    return real.operands[0] if are_parts else None


def is_commutative(opcode: str) -> bool:
    """Return whether the operands of an operation may be exchanged."""
    return opcode in OPERATIONS and OPERATIONS[opcode].is_commutative


def loop(terms: Terms, condition: Term, body: Term, start: Term) -> Term:
    """Return the results of a loop.

    A carry that does not change and starts with a number is that number in the body. A value that the body selects by
    the loop's condition is the changed one, since the body only runs if the condition holds.
    """
    if body.opcode == "tuple":
        body = terms.make("tuple", "", None, tuple(_where(each, condition) for each in body.operands))
    whole = terms.make("while", "", (condition, body), (start,))
    if start.opcode != "tuple" or body.opcode != "tuple":
        return whole
    carried = [terms.element(terms.carried, each.element_type, k) for k, each in enumerate(body.operands)]
    fixed = [k for k, each in enumerate(start.operands) if each.opcode == "constant" and body.operands[k] is carried[k]]
    if not fixed:
        return whole
    left = [k for k in range(len(carried)) if k not in fixed]
    known = {carried[k]: start.operands[k] for k in fixed}
    places = {k: place for place, k in enumerate(left)}
    known |= {carried[k]: terms.element(terms.carried, carried[k].element_type, places[k]) for k in left}
    rest = terms.make("tuple", "", None, tuple(body.operands[k] for k in left))
    start_of_rest = terms.make("tuple", "", None, tuple(start.operands[k] for k in left))
    key = written(terms, condition, dict(known)), written(terms, rest, dict(known))
    made = terms.make("while", "", key, (start_of_rest,))
    results = (
        start.operands[k] if k in fixed else terms.element(made, each.element_type, places[k])
        for k, each in enumerate(carried)
    )
    return terms.make("tuple", "", None, tuple(results))


def _where(term: Term, condition: Term) -> Term:
    """Return the value of a term where a condition holds."""
    is_chosen = term.opcode == "select" and term.operands[0] is condition
    return term.operands[1] if is_chosen else term


def written(terms: Terms, term: Term, known: dict[Term, Term], worked_out: set[Term] | None = None) -> Term:
    """Return a term with the terms in ``known`` replaced and numbers folded; folded numbers are added to
    ``worked_out``.
    """
    for part in operands_first([term], lambda part: () if part in known else part.operands):
        if part in known:
            continue
        operands = tuple([known[operand] for operand in part.operands])
        known[part] = part
        if operands != part.operands:
            known[part] = _on(terms, part, operands)
            if known[part].opcode == "constant" and known[part] not in operands and worked_out is not None:
                worked_out.add(known[part])
    return known[term]


def _on(terms: Terms, term: Term, operands: tuple[Term, ...]) -> Term:
    """Return the same operation on other operands."""
    if term.opcode == "get-tuple-element":
        return terms.element(operands[0], term.element_type, term.key)
    if term.opcode == "while":
        return loop(terms, *term.key, *operands)
    if term.opcode in ELEMENTWISE or term.opcode == NAMED:
        return folded(terms, term.opcode, term.element_type, term.key, operands)
    return terms.make(term.opcode, term.element_type, term.key, operands)


def _log_gamma(x: float) -> float:
    return inf if x <= 0 and x == floor(x) else lgamma(x)


def value_of(opcode: str, kind: str, key: Any, operands: tuple[Term, ...]) -> np.ndarray[Any, np.dtype[Any]] | None:
    """Return the value of an operation on numbers, or None if it is unknown."""
    element_type = ELEMENT_TYPES[kind]
    values = [value for operand in operands if (value := operand.value) is not None]
    if element_type.is_extension or any(value.dtype.kind not in "bif" for value in values):
        return None
    if opcode == "compare" and not isinstance(key, str):
        return None  # the total order
    with np.errstate(all="ignore"):
        if opcode == NAMED:
            from ....templates.prelude import gamma  # few programs have such calls

            own, wider = IN_WIDER.get(key, (key, None))
            function: Callable[..., Any] | None = _EXACT.get(key) or vars(gamma).get(own)
            values = [value.astype(wider.dtype) for value in values] if wider else values
        else:
            parameters = {"direction": key} if opcode == "compare" else {}
            found = fold(_VIEWED.get(opcode, opcode), values, element_type, parameters)
            if found is not None:
                return found
            function = SCALARS.get(opcode)
        return None if function is None else np.asarray(function(*values)).astype(element_type.dtype)


_EXACT: dict[str, Callable[..., Any]] = {"lgamma_in_float64": np.frompyfunc(_log_gamma, 1, 1)}  # exactly 0 for 1, 2
_VIEWED = {"bitcast-convert": "view"}


def _is(term: Term, number: float) -> bool:
    value = term.value
    return value is not None and value.dtype.kind in "bif" and bool(value == number)  # bfloat16 is bytes here


def _neutral(number: float, *, on_the_left: bool = True) -> _Rule:
    """Return the rule by which an operation with an identity is its other operand."""

    def rule(terms: Terms, left: Term, right: Term) -> Term | None:
        if _is(right, number):
            return left
        return right if on_the_left and _is(left, number) else None

    return rule


def _logic(neutral: bool) -> _Rule:
    """Return the rule for booleans: one value is the identity, the other decides."""

    def rule(terms: Terms, left: Term, right: Term) -> Term | None:
        if left.element_type != "pred":
            return None
        known, other = (left, right) if left.opcode == "constant" else (right, left)
        return other if _is(known, neutral) else known

    return rule


def _select(terms: Terms, which: Term, chosen: Term, other: Term) -> Term | None:
    if which.opcode == "constant":
        return other if _is(which, False) else chosen
    return chosen if chosen is other else None


_RULES: dict[str, _Rule] = {
    "add": _neutral(0),
    "subtract": _neutral(0, on_the_left=False),
    "multiply": _neutral(1),
    "divide": _neutral(1, on_the_left=False),
    "power": _neutral(1, on_the_left=False),
    "and": _logic(True),
    "or": _logic(False),
    "select": _select,
}
