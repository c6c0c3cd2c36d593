"""The operations that kernels of the style ``fast`` support: those which C++ computes exactly as ``cp`` does."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ...transpile.array.node import Node, Slot
from ...transpile.hlo.element_types import PRED, ElementType
from ...transpile.kernels.lines import Lines, reduced_axes
from ..base import Kernels

_FLOATS = frozenset("f32 f64 f16 bf16".split())
_INTEGERS = frozenset("s8 s16 s32 s64 u8 u16 u32 u64".split())
_COMPLEX = frozenset(("c64", "c128"))
_NUMBERS = _FLOATS | _INTEGERS | _COMPLEX
_ANY = _NUMBERS | {"pred"}
_WIDE = frozenset(("f32", "f64"))

# The element types of the first operand of an operation.
_FIRST: dict[str, frozenset[str]] = {
    **dict.fromkeys("add subtract multiply divide negate".split(), _NUMBERS),
    **dict.fromkeys("maximum minimum clamp remainder".split(), _FLOATS | _INTEGERS),
    **dict.fromkeys("shift-left shift-right-logical shift-right-arithmetic".split(), _INTEGERS),
    **dict.fromkeys("and or xor not".split(), _INTEGERS | {"pred"}),
    **dict.fromkeys("exponential exponential-minus-one log log-plus-one sqrt rsqrt cbrt".split(), _FLOATS),
    **dict.fromkeys("sine cosine tan tanh sinh cosh asin acos asinh acosh atanh".split(), _FLOATS),
    **dict.fromkeys("floor ceil round-nearest-even is-finite isnan logistic square".split(), _FLOATS),
    **dict.fromkeys(("power", "atan2"), _WIDE),
    **dict.fromkeys(("concatenate", "stack", "roll", "pad"), _ANY),
    "select": frozenset(("pred",)),
    "compare": _ANY,
    "convert": _ANY,
    "abs": _FLOATS | _COMPLEX | frozenset("s8 s16 s32 s64".split()),
    "real": _COMPLEX,
    "imag": _COMPLEX,
}
# The same for functions of the prelude.
_FUNCTIONS: dict[str, frozenset[str]] = {
    **dict.fromkeys("int_divide int_remainder int_power popcount count_leading_zeros mulhi".split(), _INTEGERS),
    **dict.fromkeys("shift_left shift_right_logical shift_right_arithmetic".split(), _INTEGERS),
    **dict.fromkeys("logistic rsqrt sign round_half_away to_int".split(), _FLOATS),
    **dict.fromkeys(("erfc", "normal_cdf", "sigmoid"), frozenset(("f32",))),
    "erf": _FLOATS - {"f64"},
    "erf_float64": frozenset(("f64",)),
    "complex_from_parts": _WIDE,
}


def fuses(node: Node) -> bool:
    """There is C++ for a node."""
    if not all(_has_name(operand.element_type) for operand in (node, *node.operands)) or not node.operands:
        return False
    accepted = _FUNCTIONS.get(_function(node)) if node.opcode == "prelude" else _FIRST.get(node.opcode)
    return accepted is not None and node.operands[0].type.name in accepted and _RULES.get(node.opcode, _always)(node)


def _has_name(element_type: ElementType | None) -> bool:
    return element_type is not None and element_type.name in _ANY


def _function(node: Node) -> str:
    """The prelude function that a node calls on its operands alone; the type that it converts to does not count."""
    function = node.parameters["function"]
    slots = tuple(argument for argument in node.parameters["arguments"] if argument != node.element_type)
    plain = slots == tuple(Slot(k) for k in range(len(node.operands))) and not node.parameters["keywords"]
    return function if plain and isinstance(function, str) else ""


def _always(node: Node) -> bool:
    return True


def _compare(node: Node) -> bool:
    """Complex numbers have no order; the total order of floats is not C++'s."""
    is_order = node.parameters["direction"] not in ("EQ", "NE")
    return node.parameters.get("type") != "TOTALORDER" and not (is_order and node.operands[0].type.is_complex)


def _convert(node: Node) -> bool:
    source, result = node.operands[0].type, node.type
    if source.is_complex:
        return result.is_complex
    return not (source.is_floating and result.is_integral)  # `to_int` saturates


def _same(node: Node) -> bool:
    """All operands have the type of the result."""
    return all(operand.element_type is node.element_type for operand in node.operands)


def _joins(node: Node) -> bool:
    """Each piece is an arm of an `if`."""
    return _same(node) and 1 < len(node.operands) <= _MOST_PIECES and all(0 not in each.shape for each in node.operands)


def _rolls(node: Node) -> bool:
    """Along one axis, and by something."""
    axis, shift = node.parameters["axis"], node.parameters["shift"]
    return isinstance(axis, int) and isinstance(shift, int) and shift % node.shape[axis] != 0


def _pads(node: Node) -> bool:
    """With a number, and something of it."""
    return _same(node) and 0 not in node.operands[0].shape and not node.operands[1].ndim


def _select(node: Node) -> bool:
    return node.operands[0].type is PRED and _same_values(node)


def _same_values(node: Node) -> bool:
    return all(operand.element_type is node.element_type for operand in node.operands[1:])


def _cut(node: Node) -> bool:
    """C++ cuts quotients of integers towards 0, where ``//`` and ``%`` round down."""
    interval = node.operands[0].interval
    no_sign = not node.type.is_signed or (interval is not None and interval[0] >= 0)
    return _same(node) and (not node.type.is_integral or no_sign)


_MOST_PIECES = 4
_RULES: dict[str, Callable[[Node], bool]] = {
    **dict.fromkeys("add subtract multiply negate maximum minimum clamp and or xor not power atan2".split(), _same),
    **dict.fromkeys(("divide", "remainder"), _cut),
    **dict.fromkeys(("concatenate", "stack"), _joins),
    "roll": _rolls,
    "pad": _pads,
    "select": _select,
    "compare": _compare,
    "convert": _convert,
}

_COLUMNS = 32  # that a block has beside each other
_MOST_OF_A_BLOCK = 2**18  # elements
_PART = 2**15  # elements, of a line that several blocks share
_MOST_PARTS = 1024
_LONGEST_LINE = 2**30  # elements: steps beyond still have 32 bits
_EXACT = frozenset(("max", "min"))
_SUMS = frozenset(("sum", "prod"))
_OF_SUMS = frozenset(("mean", "var", "std"))
_PLACES = frozenset(("argmax", "argmin", "first_largest", "first_smallest"))


def parts(lines: Lines) -> int:
    """How many blocks share a line, or as many columns as lie beside each other: more than one if that is long."""
    elements = lines.length * (1 if lines.are_rows else min(lines.count, _COLUMNS))
    return 1 if elements <= _MOST_OF_A_BLOCK else min(-(-elements // _PART), _MOST_PARTS)


def reduces(node: Node) -> bool:
    """The threads of a block reduce its rows or columns, or parts of them."""
    if len(node.operands) != 1 or node.element_type is None or not _is_reduction(node):
        return False
    lines = Lines.along(node.operands[0].shape, reduced_axes(node))
    return lines is not None and lines.length <= _LONGEST_LINE


def _is_reduction(node: Node) -> bool:
    (operand,) = node.operands
    if operand.element_type is None or operand.type.name not in _FLOATS | _INTEGERS:
        return False
    if node.parameters.get("function", node.opcode) in _PLACES:
        return node.type.is_integral
    is_widened = operand.type.is_integral and node.type.is_integral and node.type.bits > operand.type.bits
    same = node.element_type is operand.element_type
    return (
        (node.opcode in _EXACT and same)
        or (node.opcode in _SUMS and (same or is_widened))
        or (node.opcode in _OF_SUMS and same and operand.type.name in _WIDE)
    )


# What would hide work on elements that kernels do together with what is around it.
_HIDING = {
    "library": frozenset("angle conj copysign diff hypot log10 log2 signbit trunc".split()),
    "prelude": frozenset("complex_exp exact_gelu gelu linspace log_softmax logsumexp softmax".split()),
}


def refuses(node: Node) -> str | None:
    """The reason why kernels could not join a node with what is around it, or None."""
    if node.opcode == "logaddexp" or node.parameters.get("function") in _HIDING.get(node.opcode, ()):
        return "it hides what kernels compute element by element"
    given = node.operands[1:] if node.opcode == "select" else node.operands
    is_mixed = node.operation.promotes and len({operand.element_type for operand in given}) > 1
    return "operands of kernels have one type" if is_mixed else None


def _declarations(*arguments: Any) -> Any:
    """What writes kernels in CUDA C++; it stands above the targets, and is imported where a module has kernels."""
    return import_module(f"{__package__}.cuda.declarations").CudaDeclarations(*arguments)


KERNELS = Kernels(
    fuses,
    reduces,
    _declarations,
    parts,
    most_elements=2**31,  # they are numbered by 32 bits
    most_arguments=32,  # they take up to 4 KB
    refuses=refuses,
)
