"""Names for values that have a common term, a row each: the ``residual`` of a fit, the ``squared_norm`` of a vector.

Each idiom is a pattern of a value's operands; that of the ``residual`` also looks at the users.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...array.node import Node, literal_value
from ...array.traversal import unviewed
from ...dataclass import dataclass
from ...hlo.element_types import PRED
from ...passes.rewriting.patterns import Bindings, is_number, pattern
from ..value_gradients import square_of
from .operands import LONGEST

_SMALL = 0.01  # the largest tolerance
_LEAST_DECAY = 0.5

_Word = Callable[[Node], str]  # from a value to its word, which may be empty


@dataclass(frozen=True, slots=True)
class Idiom:
    """A name for values that match a pattern, if ``where`` holds for the value, the bindings and the users.

    ``{}`` in the name is the word of the pattern's ``x``, ``{last}`` the last part of that. ``alone`` is the name if
    the word is missing or too long.
    """

    match: str
    name: str
    alone: str = ""
    where: Callable[[Node, Bindings, Sequence[Node]], bool] = lambda *_: True


def domain_name(node: Node, users: Sequence[Node], word: _Word) -> str:
    """Return the common term for a value, or an empty string."""
    idioms = (idiom for idiom in IDIOMS if pattern(idiom.match).opcode == node.opcode)
    return next((name for idiom in idioms if (name := _named(idiom, node, users, word))), "")


def _named(idiom: Idiom, node: Node, users: Sequence[Node], word: _Word) -> str:
    bindings = pattern(idiom.match).match(node)
    if bindings is None or not idiom.where(node, bindings, users):
        return ""
    if idiom.name.isidentifier():
        return idiom.name
    own = word(bindings["x"])
    name = idiom.name.format(own, last=own.rpartition("_")[2])
    return name if own and len(name) <= LONGEST else idiom.alone


def _corrects_bias(node: Node, bindings: Bindings, users: Sequence[Node]) -> bool:
    """Return whether a value is ``1 - 0.9**count``, which corrects the means that Adam takes of its gradients."""
    is_count: bool = bindings["n"].type.is_integral and not node.ndim
    return is_count and bool(_LEAST_DECAY <= literal_value(bindings["DECAY"]) < 1)


def _is_residual(node: Node, bindings: Bindings, users: Sequence[Node]) -> bool:
    """Return whether a value is a fit's ``X @ w - y`` that is squared."""
    is_fit = not is_number(bindings["a"], 1) and any(map(_is_fitted, node.operands))
    return is_fit and any(node in (square_of(user), _norm_of(user)) for user in users)


def _is_fitted(node: Node) -> bool:
    """Return whether a value is a product of matrices, with or without a bias."""
    node = unviewed(node)
    return node.operation.is_product or (
        node.opcode == "add" and any(unviewed(x).operation.is_product for x in node.operands)
    )


def _norm_of(node: Node) -> Node | None:
    """Return the vector of which a value is the product with itself, or None."""
    return node.operands[0] if node.ndim == 0 and pattern("matmul(x, x)").match(node) is not None else None


def _is_tolerance(node: Node, bindings: Bindings, users: Sequence[Node]) -> bool:
    values = [literal_value(bindings[name]) for name in ("RELATIVE", "ABSOLUTE")]
    return all(value.dtype.kind == "f" and bool(0 < value <= _SMALL) for value in values)


def _are_less_largest(node: Node, bindings: Bindings, users: Sequence[Node]) -> bool:
    """Return whether a value is the logits less their maximum, as in a softmax."""
    largest = unviewed(bindings["largest"])
    while largest.opcode == "select":  # replaces infinities
        largest = unviewed(largest.operands[1])
    return largest.opcode == "max" and largest.operands[0] is bindings["x"]


def _is_first_of_equals(node: Node, bindings: Bindings, users: Sequence[Node]) -> bool:
    """Return whether a value marks the elements of a sorted array that differ from the one before."""
    start, a, b = bindings["start"], bindings["a"], bindings["b"]
    is_start = start.opcode in ("ones", "full", "array") and start.shape == (1,) and node.element_type is PRED
    return is_start and a.opcode == b.opcode == "getitem" and a.operands[0] is b.operands[0]


def _is_axis_index(node: Node, bindings: Bindings, users: Sequence[Node]) -> bool:
    """Return whether a value is a device's index along an axis of the mesh, computed from its number."""
    number = node.operands[0] if node.opcode == "convert" else node
    is_part = False
    while number.opcode in ("divide", "remainder", "and", "shift-right-logical") and number.operands[1].is_literal:
        number, is_part = number.operands[0], True
    return is_part and number.opcode in ("partition-id", "replica-id")


_OF_DEVICES = "and_(n, M)", "convert(n)", "divide(n, M)", "remainder(n, M)", "shift_right_logical(n, M)"
_SQUARES = "multiply(x, x)", "square(x)"

# ``~`` sees through views.
IDIOMS = (
    *(Idiom(match, "axis_index", where=_is_axis_index) for match in _OF_DEVICES),
    Idiom("add(multiply(abs(x), RELATIVE), ABSOLUTE)", "tolerance", where=_is_tolerance),
    Idiom('compare(x, inf, direction="EQ")', "{}_is_inf", "is_inf"),
    Idiom('compare(x, -inf, direction="EQ")', "{}_is_minus_inf", "is_minus_inf"),
    Idiom('concatenate(start, compare(a, b, direction="NE"))', "is_first", where=_is_first_of_equals),
    Idiom('convert(compare(x, ~max(x), direction="EQ"))', "is_largest", where=lambda node, *_: node.type.is_floating),
    Idiom('convert(compare(x, ~min(x), direction="EQ"))', "is_smallest", where=lambda node, *_: node.type.is_floating),
    Idiom("convert(x)", "", "partition_id", where=lambda _, bindings, __: bindings["x"].opcode == "partition-id"),
    Idiom("convert(x)", "", "replica_id", where=lambda _, bindings, __: bindings["x"].opcode == "replica-id"),
    Idiom("divide(subtract(x, ~mean(x)), ~sqrt(s))", "normalized"),
    Idiom("divide(subtract(x, ~mean(x)), ~std(s))", "normalized"),
    Idiom("divide(1, add(exponential(x), 1))", "sigmoid"),
    Idiom("exponential(subtract(x, largest))", "exp_{}", where=_are_less_largest),
    Idiom("is_finite(x)", "{}_is_finite", "is_finite"),
    Idiom("isnan(x)", "{}_is_nan", "is_nan"),
    Idiom("matmul(x, x)", "{}_squared_norm", "squared_norm", where=lambda node, *_: not node.ndim),
    *(Idiom(f"mean({square})", "{}_mean_square", "mean_square") for square in _SQUARES),
    Idiom("logistic(x)", "sigmoid"),
    Idiom('select(compare(a, b, direction="EQ"), 0.5, 0)', "tie_share"),
    Idiom(
        "setitem(whole, value, ~argsort(x))",
        "inverse_order",
        where=lambda _, bindings, __: bindings["value"].opcode == "arange",
    ),
    Idiom("subtract(1, eye())", "off_diagonal"),
    Idiom("subtract(1, power(DECAY, convert(n)))", "bias_correction", where=_corrects_bias),
    Idiom("subtract(a, b)", "residual", where=_is_residual),
    *(Idiom(f"sum({square})", "{}_squared_norm", "squared_norm") for square in _SQUARES),
    Idiom("take(x, ~argsort(x))", "sorted_{last}", "ordered"),
    Idiom("take_along_axis(x, ~argsort(x))", "sorted_{last}", "ordered"),
)
