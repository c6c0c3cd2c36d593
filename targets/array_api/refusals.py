"""The operations that the array API standard supports, with the reasons for the others.

Source: Python array API standard, version 2024.12.
"""

from __future__ import annotations

from ...transpile.array.node import ForeignName, Node
from ...transpile.array.program import Function
from ...transpile.hlo.element_types import PRED, ElementType
from ..refusals import Rule, lacks, refused_by, supports

# The element types of the standard.
HELD = frozenset("pred s8 s16 s32 s64 u8 u16 u32 u64 f32 f64 c64 c128".split())
# Functions of the standard with the name and the arguments of NumPy's.
LIBRARY = frozenset(
    "trunc conj copysign hypot nextafter log2 log10 signbit diff linalg.det linalg.slogdet linalg.trace".split()
)
# Functions of the target's own prelude.
PRELUDE = frozenset(
    "softmax log_softmax logsumexp sigmoid gelu dynamic_slice dynamic_update_slice take_or_fill get_or_fill scatter_at "
    "triangular_solve cholesky einsum lgamma gaussian ndtr_slope".split()
)


def refuses(node: Node) -> str | None:
    """Return the reason why the standard does not support a node, or None if it does."""
    types = [node.element_type, *(element_type for _, element_type in node.results)]
    for element_type in types:
        if element_type is not None and element_type.name not in HELD:
            return f"the standard has no {element_type.dtype.name}"
    if node.opcode == "prelude":
        function = node.parameters["function"]
        name = f"{function.module}.{function.name}" if isinstance(function, ForeignName) else function
        return None if name in PRELUDE else f"it needs {name}(), which is written for NumPy arrays"
    return refused_by(RULES, None, node)


def refuses_function(function: Function) -> str | None:
    """Return why a function cannot be written, or None: one of its arguments must be an array, which gives the
    namespace.
    """
    has_array = any(not node.is_python_int for node in function.parameters)
    return None if has_array else "no argument says which library it is computed with"


def _mixes(node: Node) -> str | None:
    """Return a reason if a node promotes between kinds of types: the standard promotes only within a kind."""
    given = node.operands[1:] if node.opcode == "select" else node.operands
    kinds = {_kind(operand.type) for operand in given if not operand.is_literal and not operand.is_python_int}
    complexes = [operand for operand in given if operand.element_type is not None and operand.type.is_complex]
    if kinds and complexes and all(operand.is_literal for operand in complexes):
        return "the standard does not promote an array of real numbers by a complex number"
    return "the standard does not promote between kinds of numbers" if len(kinds) > 1 else None


def _kind(element_type: ElementType) -> str:
    """Return the kind of types within which the standard promotes: boolean, integer, or float with complex numbers."""
    return "integer" if element_type.is_integral else "boolean" if element_type is PRED else "float"


def _shift(node: Node) -> str | None:
    bounds = node.operands[1].interval
    in_range = bounds is not None and bounds[0] >= 0 and bounds[1] < node.type.bits
    return None if in_range else "the standard leaves shifts by the width of the type or more undefined"


def _logical_shift(node: Node) -> str | None:
    if not node.type.is_unsigned:
        return "the standard shifts integers with a sign arithmetically"
    return _shift(node)


def _quotient(node: Node) -> str | None:
    """Return a reason if the divisor of integers may be 0. ``//`` rounds down, but only quotients for which that makes
    no difference get here.
    """
    if not node.type.is_integral or node.is_python_int:
        return _mixes(node)
    bounds = node.operands[1].interval
    if bounds is not None and (bounds[0] > 0 or bounds[1] < 0):
        return None
    return "the standard leaves the division of integers by 0 undefined"


def _called_by_name(node: Node) -> str | None:
    function = node.parameters["function"]
    return None if function in LIBRARY else f"the standard has no {function}"


def _advanced_index(node: Node) -> str | None:
    values, *indices = node.operands
    if len(indices) == values.ndim and ":" not in node.parameters["index"]:
        return None
    return "arrays of the standard are indexed by integer arrays along all axes or none"


def _assignment(node: Node) -> str | None:
    is_plain = all(place.is_python_int or not place.ndim for place in node.operands[2:])
    return None if is_plain else "arrays of the standard are not assigned to at places in integer arrays"


def _clamp(node: Node) -> str | None:
    is_real = node.type.is_integral or node.type.is_floating
    return _mixes(node) if is_real else "the standard clips real numbers only"


def _of_numbers(node: Node) -> str | None:
    return "it reduces booleans" if node.operands[0].type.name == "pred" else None


def _of_reals(node: Node) -> str | None:
    if node.operands[0].type.is_complex:
        return "the standard orders real numbers only"
    return _of_numbers(node)


def _transform(node: Node) -> str | None:
    is_real = not node.operands[0].type.is_complex and node.parameters["kind"] != "rfft"
    return "the standard transforms complex numbers" if is_real else None


def _einsum(node: Node) -> str | None:
    """Return a reason unless the prelude's ``products.einsum`` computes it: two arrays, each letter in two of the three
    parts.
    """
    given, result = node.parameters["subscripts"].split("->")
    parts = (*given.split(","), result)
    is_plain = len(parts) == 3 and all(len(set(part)) == len(part) for part in parts)
    if is_plain and all(sum(letter in part for part in parts) > 1 for letter in set("".join(parts))):
        return _of_numbers(node)
    return "the standard has no einsum"


def _diagonal(node: Node) -> str | None:
    axes = set(node.parameters["axes"].values())
    ndim = node.operands[0].ndim
    return None if not axes or axes in ({-1, -2}, {ndim - 1, ndim - 2}) or ndim == 2 else "only the last two axes"


RULES: dict[str, Rule] = {
    **supports("abs acos acosh and asin asinh atanh ceil compare cosine cosh exponential exponential-minus-one floor"),
    **supports(
        "imag is-finite isnan log log-plus-one log2 logistic negate not or real round-nearest-even rsqrt scalar sign"
    ),
    **supports("sine sinh sqrt square tan tanh xor retype convert"),
    **dict.fromkeys("add atan2 logaddexp maximum minimum multiply power select subtract compare".split(), _mixes),
    "clamp": _clamp,
    "divide": _quotient,
    "remainder": lambda node: _quotient(node) if node.type.is_integral else "the standard has no fmod",
    "shift-left": _shift,
    "shift-right-arithmetic": _shift,
    "shift-right-logical": _logical_shift,
    **lacks("exp2", "the standard has no powers of two"),
    **lacks("cbrt", "the standard has no cube root"),
    **lacks("view", "the standard cannot look at the bits of another type"),
    "library": _called_by_name,
    # leaves and structure
    **supports(
        "parameter literal integer as_int item arange range tri eye tril triu roll array full zeros ones empty copy"
    ),
    **supports("axis_size expand transpose reshape broadcast_to concatenate stack call getitem"),
    "setitem": _assignment,
    "diagonal": _diagonal,
    **supports("take take_along_axis"),
    "advanced_index": _advanced_index,
    **lacks("update_at", "the standard does not add up what goes to one place"),
    **lacks("pad", "the standard has no pad"),
    # reductions and contractions
    **dict.fromkeys("prod cumsum cumprod mean var std matmul tensordot".split(), _of_numbers),
    **dict.fromkeys("max min argmax argmin sort argsort".split(), _of_reals),
    "fft": _transform,
    **supports("sum any all qr"),  # booleans are converted to numbers before a sum
    **lacks("cummax cummin", "the standard accumulates sums and products only"),
    **lacks("bitwise_reduce", "the standard has no reduction of bits"),
    **lacks("median", "the standard has no median"),
    "einsum": _einsum,
    # several replicas, and the host
    **lacks("collective send recv replica-id partition-id", "the standard has no replicas"),
    **lacks("infeed outfeed to_host from_host", "the standard has no host beside it"),
    # control flow: the host waits for conditions
    **supports("loop conditional"),
}
