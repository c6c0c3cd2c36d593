"""Recognises called computations by a canonical text.

Parameters become a, b, c..; operands of commutative operations are sorted; ``x > y`` is written as ``y < x``.
Computations that differ only in names, order or spelling have the same text, so recognition is a lookup of a string.
"""

from __future__ import annotations

from ...array.operations import OPERATIONS
from ...hlo.ir import Computation, Instruction

_COMMUTATIVE = tuple(name for name, row in OPERATIONS.items() if row.is_commutative)
_SYMBOLS = {"LT": "<", "LE": "<=", "EQ": "==", "NE": "!="}
_TURNED = {"GT": "LT", "GE": "LE"}
_TRANSPARENT = frozenset(("copy", "bitcast", "opt-barrier"))
_LONGEST = 4000  # characters; no idiom is longer


def canonical(computation: Computation) -> str:
    """Return the canonical text of a computation's root; "" if it is too long for an idiom."""
    texts: dict[Instruction, str] = {}
    for instruction in computation.instructions:
        text = _text(instruction, [texts[operand] for operand in instruction.operands])
        if len(text) > _LONGEST:
            return ""
        texts[instruction] = text
    return texts[computation.root]


def _text(instruction: Instruction, operands: list[str]) -> str:
    opcode = instruction.opcode
    if opcode == "parameter":
        return "abcdefghijklmnopqrstuvwxyz"[min(instruction["parameter_number"], 25)]
    if opcode == "constant":
        literal = instruction["literal"]
        return str(literal.item()) if not isinstance(literal, tuple) and literal.ndim == 0 else "constant"
    if opcode in _TRANSPARENT or instruction.attributes.get("custom_call_target") == "Sharding":
        return operands[0]
    if opcode == "compare":
        direction = instruction["direction"]
        left, right = operands
        if direction in _TURNED:
            direction, left, right = _TURNED[direction], right, left
        if direction in ("EQ", "NE") and right < left:
            left, right = right, left
        order = " in total order" if instruction["type"] == "TOTALORDER" else ""
        return f"({left} {_SYMBOLS[direction]} {right}{order})"
    if opcode == "convert":
        return f"{instruction.shape}({operands[0]})"
    if opcode == "call" or opcode == "fusion":
        return _substituted(instruction, operands)
    if opcode in _COMMUTATIVE:
        operands = sorted(operands)
    if opcode == "get-tuple-element":
        return f"{operands[0]}.{instruction['index']}"
    if opcode == "tuple" and len(operands) == 1:
        return operands[0]
    return f"{opcode}({', '.join(operands)})"


def _substituted(instruction: Instruction, operands: list[str]) -> str:
    (computation,) = instruction.called
    texts: dict[Instruction, str] = {}
    for inner in computation.instructions:
        if inner.opcode == "parameter":
            texts[inner] = operands[inner["parameter_number"]]
        else:
            texts[inner] = _text(inner, [texts[operand] for operand in inner.operands])
    return texts[computation.root]


_LOW = ("bf16", "f16", "f8e5m2", "f8e4m3fn")
SIMPLE: dict[str, str] = {f"{opcode}(a, b)": opcode for opcode in _COMMUTATIVE}
for _type in _LOW:  # XLA's optimiser lets reducers of narrow floats compute in f32
    SIMPLE |= {f"{_type}[]({opcode}(f32[](a), f32[](b)))": opcode for opcode in _COMMUTATIVE}


def simple_reducer(computation: Computation) -> str | None:
    """Return the opcode of a reducer that is one binary operation of its two parameters, or None."""
    return SIMPLE.get(canonical(computation))


def _arg_reducer(first_wins: str) -> str:
    """Return the text of JAX's argmax or argmin: NaN wins, then the better value, then the lower index."""
    wins = f"or({', '.join(sorted((first_wins, '(a != a)')))})"
    tie = "and((a == c), (b < d))"
    return f"tuple(select({wins}, a, c), select(or({', '.join(sorted((wins, tie)))}), b, d))"


ARG_REDUCERS: dict[str, str] = {_arg_reducer("(c < a)"): "argmax", _arg_reducer("(a < c)"): "argmin"}
# Integers have no NaN.
for _win, _name in (("(c < a)", "argmax"), ("(a < c)", "argmin")):
    _tie = "and((a == c), (b < d))"
    ARG_REDUCERS[f"tuple(select({_win}, a, c), select(or({', '.join(sorted((_win, _tie)))}), b, d))"] = _name


def arg_reducer(computation: Computation) -> str | None:
    """Return ``argmax`` or ``argmin`` for a variadic reducer of these, or None."""
    return ARG_REDUCERS.get(canonical(computation))
