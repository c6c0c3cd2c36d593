"""Special functions with numbers as arguments, whose HLO is partly folded.

The arguments are guessed first, from places where pattern and term agree. Then the pattern is instantiated with these
arguments, folded as well, and compared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import product

import numpy as np

from ...walks import reached
from .folding import FLIPPED, is_commutative, value_of, written
from .terms import Term, Terms

_PASSED_THROUGH = frozenset(("select", "and", "or", "not"))  # fold to one operand if another is known
_FORWARDED = frozenset((*_PASSED_THROUGH, "multiply"))  # by 1
_MOST_PAIRS, _MOST_GUESSES, _LIKELIEST = 3000, 16, 5
_DOUBT = 1024  # units in the last place of folded numbers, since XLA's approximations differ from ours


def roots(pattern: Term) -> set[str]:
    """Return the opcodes that may be at the root of a pattern whose arguments are numbers."""
    terms = reached([pattern], lambda term: term.operands if term.opcode in _FORWARDED else ())
    return {term.opcode for term in terms} - {"constant", "parameter"}


def arguments_of(terms: Terms, parameters: list[Term], pattern: Term, term: Term) -> tuple[Term, ...] | None:
    """Return the arguments, numbers among them, for which a pattern equals a term; None if there are none."""
    votes = _votes(terms, pattern, term)
    if any(parameter not in votes for parameter in parameters):
        return None
    likely = [[each for each, _ in votes[parameter].most_common(_LIKELIEST)] for parameter in parameters]
    ranks = sorted(product(*(range(len(each)) for each in likely)), key=sum)
    for chosen in ranks[:_MOST_GUESSES]:
        arguments = tuple(each[rank] for each, rank in zip(likely, chosen, strict=True))
        count = sum(argument.opcode == "constant" for argument in arguments)
        if 0 < count < len(arguments):
            if (pattern, arguments) not in terms.instances:  # many terms of a program have the same arguments
                worked_out: set[Term] = set()
                made = written(terms, pattern, dict(zip(parameters, arguments, strict=True)), worked_out)
                terms.instances[pattern, arguments] = made, worked_out
            if _agrees(*terms.instances[pattern, arguments], term):
                return arguments
    return None


def _votes(terms: Terms, pattern: Term, term: Term) -> Mapping[Term, Counter[Term]]:
    """Return the terms that each parameter may stand for, with the number of places that agree."""
    votes: dict[Term, Counter[Term]] = defaultdict(Counter)
    waiting = [(pattern, term)]
    seen = set(waiting)
    while waiting and len(seen) < _MOST_PAIRS:
        wanted, given = waiting.pop()
        for pair in _below(terms, wanted, given):
            operand, argument = pair
            if operand.opcode == "parameter":
                if operand.element_type == argument.element_type:
                    votes[operand][argument] += 1
            elif _may_agree(*pair) and pair not in seen:
                seen.add(pair)
                waiting.append(pair)
        if wanted.opcode in _PASSED_THROUGH or (wanted.opcode == "multiply" and given.opcode != "multiply"):
            left = [(operand, given) for operand in wanted.operands if operand.opcode != "parameter"]
            left = [pair for pair in left if _may_agree(*pair) and pair not in seen]
            waiting += left
            seen.update(left)
    return votes


def _may_agree(wanted: Term, given: Term) -> bool:
    """Return whether something below two terms may correspond."""
    return wanted.opcode == given.opcode or given.opcode == "constant" or wanted.opcode in _FORWARDED


def _below(terms: Terms, wanted: Term, given: Term) -> Iterator[tuple[Term, Term]]:
    """Yield the pairs of operands that may correspond if these two terms do."""
    if not wanted.operands or wanted is given:
        return
    if given.opcode == "constant":
        yield from _solved(terms, wanted, given)
        return
    if wanted.opcode == given.opcode == "while":
        changing = _changing(terms, wanted), _changing(terms, given)
        yield from zip(*changing, strict=True) if len(changing[0]) == len(changing[1]) else ()
        return
    operands = _operands_like(wanted, given)
    if operands is not None:
        pairs = list(zip(wanted.operands, operands, strict=True))
        if all(a is b for a, b in pairs if a.opcode == "constant"):
            yield from pairs


def _changing(terms: Terms, loop: Term) -> list[Term]:
    """Return the initial values of a loop, without those of carries that do not change."""
    _, body = loop.key
    (start,) = loop.operands
    if start.opcode != "tuple" or body.opcode != "tuple":
        return [start]
    carried = (terms.element(terms.carried, each.element_type, k) for k, each in enumerate(body.operands))
    pairs = zip(start.operands, body.operands, carried, strict=True)
    return [first for first, after, before in pairs if after is not before]


def _operands_like(wanted: Term, given: Term) -> tuple[Term, ...] | None:
    """Return the operands of a term in the order of the same operation in the pattern; None for another operation. A
    number, which is last in terms, may have been first.
    """
    operands = given.operands
    if (wanted.opcode, wanted.element_type) != (given.opcode, given.element_type):
        return None
    if len(operands) != len(wanted.operands):
        return None
    if len(operands) == 2 and operands[1].opcode == "constant" and wanted.operands[1].opcode != "constant":
        if wanted.opcode == "compare" and wanted.key != given.key:
            return operands[::-1] if wanted.key == FLIPPED.get(given.key) else None
        if is_commutative(wanted.opcode):
            return operands[::-1]
    return operands if wanted.key == given.key else None


def _solved(terms: Terms, wanted: Term, given: Term) -> Iterator[tuple[Term, Term]]:
    """Yield the operand that must be a number for a simple operation to give a number."""
    if wanted.opcode == "select":
        yield from ((operand, given) for operand in wanted.operands[1:])
    rule, value = _INVERSE.get(wanted.opcode), given.value
    if rule is None or value is None or wanted.element_type != given.element_type:
        return
    for place, operand in enumerate(wanted.operands):
        others = wanted.operands[:place] + wanted.operands[place + 1 :]
        numbers = [other.value for other in others]
        if operand.value is None and all(number is not None for number in numbers):
            opcode, arguments = rule(place, given, *others)
            found = value_of(opcode, operand.element_type, None, arguments)
            if found is not None and not np.isnan(found):
                yield operand, terms.number(operand.element_type, found)


_Undone = tuple[str, tuple[Term, ...]]


_INVERSE: Mapping[str, Callable[..., _Undone]] = {
    "add": lambda place, given, other: ("subtract", (given, other)),
    "subtract": lambda place, given, other: ("subtract", (other, given)) if place else ("add", (given, other)),
    "multiply": lambda place, given, other: ("divide", (given, other)),
    "divide": lambda place, given, other: ("divide", (other, given)) if place else ("multiply", (given, other)),
    "floor": lambda place, given: ("floor", (given,)),  # an integer is its own floor
    "negate": lambda place, given: ("negate", (given,)),
    "bitcast-convert": lambda place, given: ("bitcast-convert", (given,)),
}


def _agrees(made: Term, worked_out: set[Term], term: Term) -> bool:
    """Return whether two terms are equal, except for the last digits of folded numbers."""
    waiting = [(made, term)]
    seen = set(waiting)
    while waiting:
        wanted, given = waiting.pop()
        if wanted is given:
            continue
        same = (wanted.opcode, wanted.element_type) == (given.opcode, given.element_type)
        if wanted in worked_out and same and _is_close(wanted, given):
            continue
        if not (same and wanted.operands and wanted.key == given.key and len(wanted.operands) == len(given.operands)):
            return False
        pairs = set(zip(wanted.operands, given.operands, strict=True)) - seen
        seen |= pairs
        waiting += pairs
    return True


def _is_close(wanted: Term, given: Term) -> bool:
    """Return whether two numbers of a type are equal up to rounding."""
    a, b = wanted.value, given.value
    if a is None or b is None or a.dtype.kind != "f" or not (np.isfinite(a) and np.isfinite(b)):
        return a is not None and b is not None and a.tobytes() == b.tobytes()
    return bool(abs(a - b) <= _DOUBT * np.finfo(a.dtype).eps * max(abs(a), abs(b), 1e-3))
