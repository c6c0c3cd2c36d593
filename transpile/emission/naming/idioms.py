"""Names of values that a field has a word for, a row each: the ``residual`` of a fit, the ``squared_norm`` of a vector.

Each is told by what a value is computed from, and the ``residual`` also by what becomes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...array.node import Node, literal_value
from ...dataclass import dataclass
from ...hlo.element_types import PRED
from ...passes.rewriting.patterns import is_number, pattern
from ..value_gradients import square_of
from .layers import unviewed
from .operands import LONGEST

_SMALL = 0.01  # the largest tolerance
_LEAST_DECAY = 0.5

_SIGMOID = "divide(1, add(exponential({}), 1))"

_Word = Callable[[Node], str]  # gives the word of a value, which may be empty


@dataclass(frozen=True, slots=True)
class Idiom:
    """A name for values of an operation.

    ``find`` takes a value and its users, and tells whether it is one; or it returns the value whose word stands in the
    name, for ``{}``, or the word's ``last`` part. ``alone`` is the name where there is no such word, or a long one.
    """

    opcode: str
    find: Callable[[Node, Sequence[Node]], Node | bool | None]
    name: str
    alone: str = ""


def domain_name(node: Node, users: Sequence[Node], word: _Word) -> str:
    """Return the word that the field has for a value; empty where there is none."""
    idioms = (idiom for idiom in IDIOMS if idiom.opcode == node.opcode)
    return next((name for idiom in idioms if (name := _named(idiom, node, users, word))), "")


def _named(idiom: Idiom, node: Node, users: Sequence[Node], word: _Word) -> str:
    found = idiom.find(node, users)
    if not isinstance(found, Node):
        return idiom.name if found else ""
    own = word(found)
    name = idiom.name.format(own, last=own.rpartition("_")[2])
    return name if own and len(name) <= LONGEST else idiom.alone


def _is_off_diagonal(node: Node, users: Sequence[Node]) -> bool:
    """``1 - np.eye(n)``."""
    first, second = node.operands
    return is_number(first, 1) and second.opcode == "eye"


def _is_bias_correction(node: Node, users: Sequence[Node]) -> bool:
    """``1 - 0.9**count``, which corrects the means that Adam takes of its gradients."""
    first, second = node.operands
    return is_number(first, 1) and _is_decay(second)


def _is_residual(node: Node, users: Sequence[Node]) -> bool:
    """``X @ w - y`` that is squared."""
    first = node.operands[0]
    is_fit = not is_number(first, 1) and any(map(_is_fitted, node.operands))
    return is_fit and any(node in (square_of(user), _norm_of(user)) for user in users)


def _is_normalized(node: Node, users: Sequence[Node]) -> bool:
    """What is centered and divided by its deviation."""
    centered, deviation = node.operands
    if centered.opcode != "subtract" or unviewed(deviation).opcode not in ("sqrt", "std"):
        return False
    mean = unviewed(centered.operands[1])
    return mean.opcode == "mean" and mean.operands[0] is centered.operands[0]


def _infinite(sign: int) -> Callable[[Node, Sequence[Node]], Node | None]:
    def find(node: Node, users: Sequence[Node]) -> Node | None:
        """What is compared with an infinity."""
        x, other = node.operands
        return x if node.parameters["direction"] == "EQ" and is_number(other, sign * np.inf) else None

    return find


def _operand(node: Node, users: Sequence[Node]) -> Node:
    return node.operands[0]


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


def _is_tolerance(node: Node, users: Sequence[Node]) -> bool:
    """``np.abs(y) * rtol + atol``."""
    scaled, absolute = node.operands
    if not absolute.is_literal or not _is_small(absolute) or scaled.opcode != "multiply":
        return False
    size, relative = scaled.operands
    return size.opcode == "abs" and relative.is_literal and _is_small(relative)


def _is_small(node: Node) -> bool:
    value = literal_value(node)
    return value.dtype.kind == "f" and bool(0 < value <= _SMALL)


def _squared(node: Node, users: Sequence[Node]) -> Node | None:
    """What is squared and reduced."""
    return square_of(node.operands[0])


def _with_itself(node: Node, users: Sequence[Node]) -> Node | None:
    return _norm_of(node)


def _shifted_by_largest(node: Node, users: Sequence[Node]) -> Node | None:
    """The logits whose exponentials are the numerators of a softmax."""
    (shifted,) = node.operands
    if shifted.opcode != "subtract":
        return None
    largest = unviewed(shifted.operands[1])
    while largest.opcode == "select":  # what replaces infinities
        largest = unviewed(largest.operands[1])
    is_its_own = largest.opcode == "max" and largest.operands[0] is shifted.operands[0]
    return shifted.operands[0] if is_its_own else None


def _in_own_order(node: Node, users: Sequence[Node]) -> Node | None:
    """What is taken in the order of its own ``argsort``."""
    x, order = node.operands[0], unviewed(node.operands[-1])
    return x if order.opcode == "argsort" and order.operands[0] is x else None


def _is_first_of_equals(node: Node, users: Sequence[Node]) -> bool:
    """Where a value in a sorted array is another than the one before it."""
    if node.element_type is not PRED or len(node.operands) != 2:
        return False
    start, rest = node.operands
    is_start = start.opcode in ("ones", "full", "array") and start.shape == (1,)
    if not is_start or rest.opcode != "compare" or rest.parameters["direction"] != "NE":
        return False
    parts = [each.operands[0] for each in rest.operands if each.opcode == "getitem"]
    return len(parts) == 2 and parts[0] is parts[1]


def _is_inverse_order(node: Node, users: Sequence[Node]) -> bool:
    """``x[order] = np.arange(n)``."""
    _, value, *indices = node.operands
    return value.opcode == "arange" and len(indices) == 1 and unviewed(indices[0]).opcode == "argsort"


def _is_sigmoid(node: Node, users: Sequence[Node]) -> bool:
    """``1 / (np.exp(-x) + 1)``."""
    return any(pattern(_SIGMOID.format(x)).match(node) is not None for x in ("negate(x)", "x"))


def _is_tie_share(node: Node, users: Sequence[Node]) -> bool:
    """What each of two equal numbers has of the slope of the larger one."""
    mask, share, other = node.operands
    is_tie = mask.opcode == "compare" and mask.parameters["direction"] == "EQ"
    return is_tie and is_number(share, 0.5) and is_number(other, 0)


def _of_extreme(opcode: str) -> Callable[[Node, Sequence[Node]], bool]:
    def find(node: Node, users: Sequence[Node]) -> bool:
        """Where elements are the largest, or the smallest, of theirs."""
        mask = node.operands[0]
        if mask.opcode != "compare" or mask.parameters["direction"] != "EQ" or not node.type.is_floating:
            return False
        x, extreme = mask.operands[0], unviewed(mask.operands[1])
        return extreme.opcode == opcode and extreme.operands[0] is x

    return find


def _is_axis_index(node: Node, users: Sequence[Node]) -> bool:
    """Where a device lies along an axis of the mesh, worked out from its number."""
    number = node.operands[0] if node.opcode == "convert" else node
    is_part = False
    while number.opcode in ("divide", "remainder", "and", "shift-right-logical") and number.operands[1].is_literal:
        number, is_part = number.operands[0], True
    return is_part and number.opcode in ("partition-id", "replica-id")


def _retyped(opcode: str) -> Callable[[Node, Sequence[Node]], Node | None]:
    def find(node: Node, users: Sequence[Node]) -> Node | None:
        """The number of a device as another type."""
        return node.operands[0] if node.operands[0].opcode == opcode else None

    return find


IDIOMS = (
    Idiom("add", _is_tolerance, "tolerance"),
    Idiom("and", _is_axis_index, "axis_index"),
    Idiom("compare", _infinite(1), "{}_is_inf", "is_inf"),
    Idiom("compare", _infinite(-1), "{}_is_minus_inf", "is_minus_inf"),
    Idiom("concatenate", _is_first_of_equals, "is_first"),
    Idiom("convert", _is_axis_index, "axis_index"),
    Idiom("convert", _of_extreme("max"), "is_largest"),
    Idiom("convert", _of_extreme("min"), "is_smallest"),
    Idiom("convert", _retyped("partition-id"), "", "partition_id"),
    Idiom("convert", _retyped("replica-id"), "", "replica_id"),
    Idiom("divide", _is_axis_index, "axis_index"),
    Idiom("divide", _is_normalized, "normalized"),
    Idiom("divide", _is_sigmoid, "sigmoid"),
    Idiom("exponential", _shifted_by_largest, "exp_{}"),
    Idiom("is-finite", _operand, "{}_is_finite", "is_finite"),
    Idiom("isnan", _operand, "{}_is_nan", "is_nan"),
    Idiom("matmul", _with_itself, "{}_squared_norm", "squared_norm"),
    Idiom("mean", _squared, "{}_mean_square", "mean_square"),
    Idiom("logistic", lambda node, users: True, "sigmoid"),
    Idiom("remainder", _is_axis_index, "axis_index"),
    Idiom("select", _is_tie_share, "tie_share"),
    Idiom("setitem", _is_inverse_order, "inverse_order"),
    Idiom("shift-right-logical", _is_axis_index, "axis_index"),
    Idiom("subtract", _is_off_diagonal, "off_diagonal"),
    Idiom("subtract", _is_bias_correction, "bias_correction"),
    Idiom("subtract", _is_residual, "residual"),
    Idiom("sum", _squared, "{}_squared_norm", "squared_norm"),
    Idiom("take", _in_own_order, "sorted_{last}", "ordered"),
    Idiom("take_along_axis", _in_own_order, "sorted_{last}", "ordered"),
)
