"""Names of values that a field has a word for: the ``residual`` of a fit, the ``squared_norm`` of a vector.

Each is told by what a value is computed from, and the ``residual`` also by what becomes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...array.node import Node, literal_value
from ...hlo.element_types import PRED
from ..value_gradients import square_of
from .layers import unviewed
from .operands import LONGEST

_SMALL = 0.01  # the largest tolerance
_LEAST_DECAY = 0.5

_Word = Callable[[Node], str]  # gives the word of a value, which may be empty


def domain_name(node: Node, users: Sequence[Node], word: _Word) -> str:
    """Return the word that the field has for a value; empty where there is none."""
    form = _FORMS.get(node.opcode)
    return form(node, users, word) if form is not None else ""


def _of_difference(node: Node, users: Sequence[Node], word: _Word) -> str:
    """``residual`` for ``X @ w - y`` that is squared; ``off_diagonal`` for ``1 - np.eye(n)``, and what corrects the
    means that Adam takes of its gradients.
    """
    first, second = node.operands
    if first.is_literal and literal_value(first) == 1:
        if second.opcode == "eye":
            return "off_diagonal"
        return "bias_correction" if _is_decay(second) else ""
    is_fit = any(map(_is_fitted, node.operands)) and any(node in (square_of(user), _norm_of(user)) for user in users)
    return "residual" if is_fit else ""


def _of_quotient(node: Node, users: Sequence[Node], word: _Word) -> str:
    """``normalized`` for what is centered and divided by its deviation."""
    centered, deviation = node.operands
    if place := _of_place(node, users, word):
        return place
    if centered.opcode != "subtract" or unviewed(centered.operands[1]).opcode != "mean":
        return ""
    is_root = unviewed(deviation).opcode in ("sqrt", "std")
    return "normalized" if is_root and unviewed(centered.operands[1]).operands[0] is centered.operands[0] else ""


def _of_comparison(node: Node, users: Sequence[Node], word: _Word) -> str:
    """``x_is_inf`` for what is compared with an infinity."""
    x, other = node.operands
    is_infinite = node.parameters["direction"] == "EQ" and other.is_literal and other.type.is_floating
    if not is_infinite or not np.isinf(literal_value(other)):
        return ""
    return _joined(word(x), "is_inf" if literal_value(other) > 0 else "is_minus_inf")


def _of_nan(node: Node, users: Sequence[Node], word: _Word) -> str:
    return _joined(word(node.operands[0]), "is_nan")


def _of_finite(node: Node, users: Sequence[Node], word: _Word) -> str:
    return _joined(word(node.operands[0]), "is_finite")


def _joined(word: str, name: str) -> str:
    """Return a name behind the word that it is of, unless that is long."""
    return f"{word}_{name}" if word and len(word) + len(name) < LONGEST else name


def _is_fitted(node: Node) -> bool:
    """Tell whether a value is a product of matrices, with a bias or not."""
    node = unviewed(node)
    return node.operation.is_product or (
        node.opcode == "add" and any(unviewed(x).operation.is_product for x in node.operands)
    )


def _norm_of(node: Node) -> Node | None:
    """Return the vector whose product with itself a value is; None for other values."""
    is_norm = node.opcode == "matmul" and node.ndim == 0 and node.operands[0] is node.operands[1]
    return node.operands[0] if is_norm else None


def _is_decay(node: Node) -> bool:
    """Tell whether a value is ``0.9 ** count``."""
    if node.opcode != "power" or not node.operands[0].is_literal or node.ndim:
        return False
    base, exponent = node.operands
    counts = exponent.opcode == "convert" and exponent.operands[0].type.is_integral
    return counts and bool(_LEAST_DECAY <= literal_value(base) < 1)


def _of_sum(node: Node, users: Sequence[Node], word: _Word) -> str:
    """``tolerance`` for ``np.abs(y) * rtol + atol``."""
    scaled, absolute = node.operands
    is_small = absolute.is_literal and _is_small(absolute) and scaled.opcode == "multiply"
    size, relative = scaled.operands if is_small else (node, node)
    return "tolerance" if size.opcode == "abs" and relative.is_literal and _is_small(relative) else ""


def _is_small(node: Node) -> bool:
    value = literal_value(node)
    return value.dtype.kind == "f" and bool(0 < value <= _SMALL)


def _of_total(node: Node, users: Sequence[Node], word: _Word) -> str:
    """``theta_squared_norm`` for the sum of the squares of ``theta``."""
    return _of_square(square_of(node.operands[0]), word, "squared_norm")


def _of_mean(node: Node, users: Sequence[Node], word: _Word) -> str:
    return _of_square(square_of(node.operands[0]), word, "mean_square")


def _of_product(node: Node, users: Sequence[Node], word: _Word) -> str:
    return _of_square(_norm_of(node), word, "squared_norm")


def _of_square(squared: Node | None, word: _Word, name: str) -> str:
    """Return the name of what is made of squares, behind the word of what is squared; empty where that is nothing."""
    return _joined(word(squared), name) if squared is not None else ""


def _of_exponential(node: Node, users: Sequence[Node], word: _Word) -> str:
    """``exp_logits`` for the numerators of a softmax."""
    (shifted,) = node.operands
    own = word(shifted.operands[0]) if shifted.opcode == "subtract" else ""
    if not own or len(f"exp_{own}") > LONGEST:
        return ""
    largest = unviewed(shifted.operands[1])
    while largest.opcode == "select":  # what replaces infinities
        largest = unviewed(largest.operands[1])
    is_its_own = largest.opcode == "max" and largest.operands[0] is shifted.operands[0]
    return f"exp_{own}" if is_its_own else ""


def _of_choice(node: Node, users: Sequence[Node], word: _Word) -> str:
    """``sorted_scores`` for what is taken in the order of its own ``argsort``."""
    x, order = node.operands[0], unviewed(node.operands[-1])
    if order.opcode != "argsort" or order.operands[0] is not x:
        return ""
    return f"sorted_{word(x).rpartition('_')[2]}" if word(x) else "ordered"


def _of_joined(node: Node, users: Sequence[Node], word: _Word) -> str:
    """``is_first`` for where a value in a sorted array is another than the one before it."""
    if node.element_type is not PRED or len(node.operands) != 2:
        return ""
    start, rest = node.operands
    is_start = start.opcode in ("ones", "full", "array") and start.shape == (1,)
    if not is_start or rest.opcode != "compare" or rest.parameters["direction"] != "NE":
        return ""
    parts = [each.operands[0] for each in rest.operands if each.opcode == "getitem"]
    return "is_first" if len(parts) == 2 and parts[0] is parts[1] else ""


def _of_filled(node: Node, users: Sequence[Node], word: _Word) -> str:
    """``inverse_order`` for ``x[order] = np.arange(n)``."""
    _, value, *indices = node.operands
    is_inverse = value.opcode == "arange" and len(indices) == 1 and unviewed(indices[0]).opcode == "argsort"
    return "inverse_order" if is_inverse else ""


def _of_place(node: Node, users: Sequence[Node], word: _Word) -> str:
    """``axis_index`` for where a device lies along an axis of the mesh, worked out from its number; ``partition_id``
    for that as another type, where it has no name yet.
    """
    number = node.operands[0] if node.opcode == "convert" else node
    is_part = False
    while number.opcode in ("divide", "remainder", "and", "shift-right-logical") and number.operands[1].is_literal:
        number, is_part = number.operands[0], True
    if number.opcode not in ("partition-id", "replica-id"):
        return ""
    return "axis_index" if is_part else "" if word(number) else number.opcode.replace("-", "_")


# Each form takes a value, its users, and the function that gives words.
_FORMS: dict[str, Callable[[Node, Sequence[Node], _Word], str]] = {
    "add": _of_sum,
    "and": _of_place,
    "compare": _of_comparison,
    "concatenate": _of_joined,
    "convert": _of_place,
    "divide": _of_quotient,
    "exponential": _of_exponential,
    "is-finite": _of_finite,
    "isnan": _of_nan,
    "matmul": _of_product,
    "mean": _of_mean,
    "remainder": _of_place,
    "setitem": _of_filled,
    "shift-right-logical": _of_place,
    "subtract": _of_difference,
    "sum": _of_total,
    "take": _of_choice,
    "take_along_axis": _of_choice,
}
