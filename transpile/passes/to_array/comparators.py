"""Recognising sort comparators: by which keys they order, and which way.

A comparator compares one key, or says ``k0 before or (k0 equal and (k1 before ..))``. A key is a value itself, the
form in which JAX compares floats (all NaNs last, zeros equal), or the integer trick for the total order of floats.
"""

from __future__ import annotations

from ...dataclass import dataclass
from ...hlo.ir import Computation
from .reducers import canonical

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class SortKey:
    """Operand ``operand`` (or a part of it), compared as ``order`` says: ``value``, ``numbers`` or ``total``."""

    operand: int
    part: str  # "", "real" or "imag"
    order: str
    descending: bool


def sort_keys(computation: Computation, operand_count: int) -> list[SortKey] | None:
    """The keys of a comparator, most significant first, or None where it is something else."""
    less: dict[str, SortKey] = {}
    equal: dict[str, tuple[int, str]] = {}
    for k in range(min(operand_count, len(_LETTERS) // 2)):
        for part in ("", "real", "imag"):
            left, right = (f"{part}({c})" if part else c for c in _LETTERS[2 * k : 2 * k + 2])
            for order, one, other, suffix in _spellings(left, right):
                less[f"({one} < {other}{suffix})"] = SortKey(k, part, order, False)
                less[f"({other} < {one}{suffix})"] = SortKey(k, part, order, True)
                for pair in ((one, other), (other, one)):
                    equal[f"({pair[0]} == {pair[1]}{suffix})"] = (k, part)
    return _lexicographic(canonical(computation), less, equal)


def _spellings(left: str, right: str) -> list[tuple[str, str, str, str]]:
    """(order, left key, right key, suffix of the comparison) in every way the key is known to be written."""
    spelled = [("value", left, right, ""), ("total", left, right, " in total order")]
    numbers = [_jax_number(left), _jax_number(right)]
    spelled.append(("numbers", numbers[0], numbers[1], " in total order"))
    for bound in (127, 32767, 2147483647, 9223372036854775807):
        spelled.append(("total", _flipped(left, bound), _flipped(right, bound), ""))
        spelled.append(("numbers", _flipped(numbers[0], bound), _flipped(numbers[1], bound), ""))
    narrow = [_narrow_number(left), _narrow_number(right)]
    spelled.append(("numbers", _flipped(narrow[0], 32767), _flipped(narrow[1], 32767), ""))
    return spelled


def _jax_number(x: str) -> str:
    return f"select(({x} != {x}), nan, select((0.0 == {x}), 0.0, {x}))"


def _narrow_number(x: str) -> str:
    """The same on bf16 after XLA has moved parts of it to f32."""
    return f"bf16[](select(({x} != {x}), nan, f32[](bf16[](select((0.0 == {x}), 0.0, {x})))))"


def _flipped(x: str, bound: int) -> str:
    """The bits of a float as an integer of the same order."""
    return f"select(({x} < 0), xor({bound}, {x}), {x})"


def _lexicographic(text: str, less: dict[str, SortKey], equal: dict[str, tuple[int, str]]) -> list[SortKey] | None:
    keys: list[SortKey] = []
    while text not in less:
        parts = _arguments(text, "or")
        key = next((less[part] for part in parts if part in less), None)
        rest = next((part for part in parts if part not in less), None)
        if key is None or rest is None or len(parts) != 2:
            return None
        keys.append(key)
        inner = _arguments(rest, "and")
        ties = [part for part in inner if equal.get(part) == (key.operand, key.part)]
        others = [part for part in inner if part not in ties]
        if len(ties) != 1 or len(others) != 1:
            return None
        text = others[0]
    return [*keys, less[text]]


def _arguments(text: str, function: str) -> list[str]:
    """The arguments of ``function(..)``; none where the text is another call."""
    if not text.startswith(f"{function}("):
        return []
    parts, depth, start = [], 0, len(function) + 1
    for position in range(start, len(text) - 1):
        character = text[position]
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 2
    return [*parts, text[start:-1]]
