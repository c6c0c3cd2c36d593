"""Python's grammar: precedence of expressions, and where parentheses are required.

Levels, weakest first: 1 tuple without parentheses, 2 conditional, 3 or, 4 and, 5 not, 6 comparison, 7 ``|``, 8 ``^``, 9
``&``, 10 shift, 11 ``+ -``, 12 ``* / // % @``, 13 sign, 14 ``**``, 16 call, index and attribute, 17 atom.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

TUPLE, CHOICE, OR, AND, NOT, COMPARISON = range(1, 7)
BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, SIGN, POWER = range(7, 15)
PRIMARY, ATOM = 16, 17

Place = frozenset[int]  # the precedence levels that need no parentheses at a place

_OPERATORS: dict[type[ast.operator], int] = {
    ast.BitOr: BIT_OR,
    ast.BitXor: BIT_XOR,
    ast.BitAnd: BIT_AND,
    ast.LShift: SHIFT,
    ast.RShift: SHIFT,
    ast.Add: SUM,
    ast.Sub: SUM,
    ast.Mult: PRODUCT,
    ast.Div: PRODUCT,
    ast.FloorDiv: PRODUCT,
    ast.Mod: PRODUCT,
    ast.MatMult: PRODUCT,
    ast.Pow: POWER,
}
_LEVELS: dict[type[ast.expr], int] = {
    ast.IfExp: CHOICE,
    ast.Lambda: CHOICE,
    ast.Compare: COMPARISON,
    ast.Call: PRIMARY,
    ast.Attribute: PRIMARY,
    ast.Subscript: PRIMARY,
    ast.Tuple: TUPLE,
}


def level(node: ast.expr) -> int:
    """Return the precedence level of an expression without parentheses."""
    match node:
        case ast.BinOp(op=op):
            return _OPERATORS[type(op)]
        case ast.BoolOp(op=op):
            return OR if isinstance(op, ast.Or) else AND
        case ast.UnaryOp(op=op):
            return NOT if isinstance(op, ast.Not) else SIGN
    return _LEVELS.get(type(node), ATOM)


def _from(weakest: int) -> Place:
    return frozenset(range(weakest, ATOM + 1))


ANYWHERE = _from(0)
# Few know the precedence of a power and the sign before it, or of ``& | ^`` and other operators.
_BEHIND_SIGN = _from(SIGN) - {POWER}


def _beside_bits(weakest: int) -> Place:
    return frozenset((*range(weakest, SHIFT), *range(SIGN, ATOM + 1)))


def _operands(operator: type[ast.operator]) -> tuple[Place, Place]:
    """Return the places of the left and the right operand of an operator."""
    own = _OPERATORS[operator]
    if own in (BIT_OR, BIT_XOR, BIT_AND):
        return _beside_bits(own), _beside_bits(own + 1)
    if own == SHIFT:
        return _from(PRODUCT), _from(PRODUCT)
    if own == POWER:
        return _from(POWER + 1), _from(POWER)
    return _from(own), _from(own + 1)


_PLACES = {operator: _operands(operator) for operator in _OPERATORS}
_TRUTH, _CHOSEN, _COMPARED, _ALONE, _PRIMARY = map(_from, (NOT, OR, BIT_OR, CHOICE, PRIMARY))


def places(parent: ast.AST) -> Iterator[tuple[ast.AST, Place]]:
    """Yield the children of a node that some expressions need parentheses for, each with its place."""
    match parent:
        case ast.BinOp(left, operator, right):
            yield from zip((left, right), _PLACES[type(operator)], strict=True)
        case ast.UnaryOp(operator, operand):
            yield operand, _TRUTH if isinstance(operator, ast.Not) else _BEHIND_SIGN
        case ast.Compare(left, _, others):
            yield from ((part, _COMPARED) for part in (left, *others))
        case ast.BoolOp(boolean, values):
            place = _from(AND if isinstance(boolean, ast.Or) else NOT)
            yield from ((value, place) for value in values)
        case ast.IfExp(test, body, otherwise):
            yield from ((body, _CHOSEN), (test, _CHOSEN), (otherwise, _ALONE))
        case ast.Attribute(value) | ast.Subscript(value):
            yield value, _PRIMARY
        case ast.Call(function, arguments):
            yield function, _PRIMARY
            yield from ((argument, _ALONE) for argument in arguments)
        case ast.List(parts) | ast.Tuple(parts) | ast.Set(parts):
            yield from ((part, _ALONE) for part in parts)
        case ast.keyword(value=value) | ast.DictComp(value=value) | ast.Slice(lower=value):
            if value is not None:
                yield value, _ALONE
        case ast.ListComp(value) | ast.GeneratorExp(value) | ast.SetComp(value):
            yield value, _ALONE
        case ast.Dict(_, values):
            yield from ((value, _ALONE) for value in values)
        case ast.comprehension(iter=iterator, ifs=tests):
            yield from ((part, _CHOSEN) for part in (iterator, *tests))
        case ast.Starred(value):
            yield value, _COMPARED
