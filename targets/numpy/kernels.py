"""The operations that loops of the style ``fast`` compute, exactly as NumPy does, and when such a loop pays."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from math import prod
from typing import Any

from ...transpile.array.node import Node, literal_value
from ...transpile.array.scalars import is_row
from ...transpile.kernels.lines import Lines, reduced_axes
from ...transpile.target import Kernels
from ..element_rules import (
    REDUCED,
    RULES,
    ElementTable,
    Kinds,
    ReductionTable,
    called_function,
    has_one_type,
    hides_elements,
)
from .functions import compiled_function, takes_few
from .loop_forms import loop_form
from .loop_functions import loop_function

_FLOATS = frozenset(("f32", "f64"))
_INTEGERS = frozenset("s8 s16 s32 s64 u8 u16 u32 u64".split())
_NUMBERS = _FLOATS | _INTEGERS
_COMPLEX = frozenset(("c64", "c128"))
_ANY = _NUMBERS | _COMPLEX | {"pred"}
_BYTES = frozenset("f4e2m1fn f8e3m4 f8e4m3 f8e4m3fn f8e4m3fnuz f8e4m3b11fnuz f8e5m2 f8e5m2fnuz f8e8m0fnu".split())
NARROW = frozenset(("bf16", "f16")) | _BYTES  # as float32, rounded after every step
NIBBLES = frozenset("s2 u2 s4 u4".split())  # in a byte each; NumPy computes them in 8 bits
AS_BITS = NARROW | NIBBLES  # what arrays that are handed over have the bits of
_ALL = _ANY | AS_BITS
_WORDS = frozenset("s32 u32 f32 s64 u64 f64".split())  # of which Numba's numbers have views
_SIGNED = _FLOATS | frozenset("s8 s16 s32 s64".split())

# The element types of the first operand of an operation.
_FIRST: dict[str, Kinds] = {
    **dict.fromkeys("concatenate stack roll pad compare convert".split(), _ALL),
    **dict.fromkeys(("add", "multiply"), _ANY | NARROW),
    **dict.fromkeys(("maximum", "minimum"), _NUMBERS | NARROW | {"pred"}),
    **dict.fromkeys("subtract divide negate square".split(), _NUMBERS | NARROW | _COMPLEX),
    **dict.fromkeys(("clamp", "remainder"), _NUMBERS | NARROW),
    **dict.fromkeys("shift-left shift-right-logical shift-right-arithmetic".split(), _INTEGERS),
    **dict.fromkeys("and or xor not".split(), _INTEGERS | {"pred"}),
    **dict.fromkeys("exponential-minus-one log-plus-one cbrt".split(), _FLOATS | NARROW),
    **dict.fromkeys("asin acos atan asinh acosh atanh atan2".split(), _FLOATS | NARROW),
    **dict.fromkeys("floor ceil round-nearest-even is-finite".split(), _FLOATS | NARROW),
    **dict.fromkeys("exponential log sqrt power isnan".split(), _FLOATS | NARROW | _COMPLEX),
    **dict.fromkeys("sine cosine tan sinh cosh tanh".split(), _FLOATS | NARROW | _COMPLEX),
    **dict.fromkeys(("rsqrt", "logistic"), _FLOATS),
    **dict.fromkeys(("real", "imag"), _COMPLEX),
    "view": _WORDS,
    "sign": _INTEGERS | NIBBLES,
    "select": frozenset(("pred",)),
    "abs": _SIGNED | NARROW | _COMPLEX,
}
# The same for functions of the prelude.
_FUNCTIONS: dict[str, Kinds] = {
    **dict.fromkeys("int_divide int_remainder int_power popcount".split(), _INTEGERS | NIBBLES),
    **dict.fromkeys("count_leading_zeros mulhi".split(), _INTEGERS | NIBBLES),
    **dict.fromkeys(("shift_right_logical", "shift_right_arithmetic"), _INTEGERS | NIBBLES),
    **dict.fromkeys("sign round_half_away to_int logistic rsqrt".split(), _FLOATS | NARROW),
    **dict.fromkeys("erf erfc erf_inv normal_cdf".split(), NARROW | {"f32"}),
    "sigmoid": _FLOATS | NARROW,
    **dict.fromkeys(
        "erf_float64 erfc_float64 erf_inv_float64 normal_cdf_float64 round_to".split(), frozenset(("f64",))
    ),
    "reduce_precision": frozenset(("f32",)),
    "complex_from_parts": _FLOATS,
    **dict.fromkeys("complex_log1p complex_expm1 complex_logistic complex_rsqrt".split(), _COMPLEX),
    **dict.fromkeys("complex_sign complex_maximum complex_minimum".split(), _COMPLEX),
}


def _views(node: Node) -> bool:
    """Return whether a bitcast is between types of the same width."""
    kinds = node.type.name, node.operands[0].type.name
    return node.type.bits == node.operands[0].type.bits and _WORDS.issuperset(kinds)


# Numba's quotients and remainders of integers are Python's, as those of the array dialect.
_OWN_RULES = {"view": _views, "divide": has_one_type, "remainder": has_one_type}
_TABLE = ElementTable(_ALL, _FIRST, _FUNCTIONS, RULES | _OWN_RULES)

# Functions that NumPy computes several at a time, and Numba one by one: of float64, and of float32 in short lines.
_ONE_BY_ONE = frozenset(("tan", "atan2", "power"))
_ONE_BY_ONE_IN_LINES = frozenset(("exponential", "log", "tanh"))
_SHORT_LINE = 32  # elements, below which the compiler leaves a line's loop as it is


def fuses(node: Node) -> bool:
    """Return whether loops compute a node, and not much slower than NumPy."""
    return fuses_at_any_size(node) and not _is_slow_in_lines(node)


def fuses_at_any_size(node: Node) -> bool:
    """Return whether loops compute a node with free sizes, and not much slower than NumPy."""
    is_one_by_one = node.opcode in _ONE_BY_ONE and not _is_three_halves_power(node)
    is_slow = is_one_by_one and node.type.name == "f64" and node.region.is_once
    return not is_slow and not _are_numbers(node) and _TABLE.has(node)


def _is_three_halves_power(node: Node) -> bool:
    """Return whether a node is ``x**1.5``, which kernels compute as ``x * sqrt(x)``."""
    (*_, exponent) = node.operands
    return node.opcode == "power" and exponent.is_literal and bool(literal_value(exponent) == 1.5)


def _is_slow_in_lines(node: Node) -> bool:
    """Return whether a node is a function of so many elements in such short lines that NumPy is faster."""
    if node.opcode not in _ONE_BY_ONE_IN_LINES or node.type.name != "f32" or node.region.is_in_loop:
        return False
    return prod(node.shape) > _MOST_OF_CALLS and node.shape[-1] < _SHORT_LINE


def _are_numbers(node: Node) -> bool:
    """Return whether a node is a row of scalars of an iteration: each is written by its own line."""
    return is_row(node) and node.region.is_in_loop and node.type.name in _FLOATS | _COMPLEX


def shifts_within(node: Node) -> bool:
    """Return whether a shift is by less than the width; machines differ in larger shifts."""
    bounds = node.operands[1].interval
    return bounds is not None and bounds[0] >= 0 and bounds[1] < node.type.bits


_PLACES = frozenset(("argmax", "argmin"))
_REDUCTIONS = ReductionTable(_NUMBERS | _COMPLEX, _PLACES, _FLOATS)
_OF_NARROW = ReductionTable(NARROW, _PLACES, frozenset())  # their sums are those of float32


def reduces(node: Node) -> bool:
    """Return whether loops over lines compute a reduction."""
    if len(node.operands) != 1 or node.element_type is None:
        return False
    is_of_narrow = _OF_NARROW.has(node) and node.opcode not in ("sum", "prod")
    if not _REDUCTIONS.has(node) and not is_of_narrow:
        return False
    return Lines.of(node) is not None


def runs(node: Node) -> bool:
    """Return whether loops over lines compute a running total, in the type of the elements."""
    is_running = node.opcode in ("cumsum", "cumprod", "cummax", "cummin")
    kinds = _NUMBERS | (_COMPLEX if node.opcode in ("cumsum", "cumprod") else frozenset())
    return is_running and node.element_type is node.operands[0].element_type and node.type.name in kinds


_HUGE = 2**22  # bytes, from which on NumPy has the system hand out huge pages
_FOR_THREADS = 2**17  # elements: below, to start threads takes longer than they save
_LEAST_ELEMENTS = 2**11  # of the arrays of a region that is computed once, or where NumPy's calls take all the time:
_MOST_OF_CALLS, _LEAST_CALLS = 2**9, 3  # elements, and arrays that are saved
_LEAST_OF_BOUNDS = 2**13  # of an array that meets a number or short rows, for which NumPy takes three times as long
_LEAST_OF_A_ROUND = 2  # the same in every round of a loop
# What NumPy has no loop of its own for.
_LONG_IN_NUMPY = frozenset(
    "erf erfc erf_float64 erfc_float64 erf_inv erf_inv_float64 normal_cdf normal_cdf_float64 sigmoid sign "
    "round_half_away to_int reduce_precision".split()
)


def pays(nodes: Sequence[Node], saved: int, is_repeated: bool) -> bool:
    """Return whether a kernel is faster than NumPy's calls: its arrays are large, repeated in a loop, or small and
    several of them are ``saved``; and it saves more arrays than its functions cost.
    """
    elements = max(prod(each.shape) for node in nodes for each in (node, *node.operands))
    is_call = elements <= _MOST_OF_CALLS and saved >= _LEAST_CALLS
    if elements < (_LEAST_OF_A_ROUND if is_repeated or is_call else _LEAST_ELEMENTS):
        return False
    if any(map(_is_slow_in_numpy, nodes)):
        return True
    costs = sum(_COSTS.get(node.opcode, 0) for node in nodes if node.type.name == "f32")
    costs += sum(map(_cost_of_pieces, nodes))
    return saved > (0 if is_repeated else any(map(_is_transposed, nodes)) + costs)


def _is_transposed(node: Node) -> bool:
    """Return whether an operand is read against memory order: a loop of few operations waits for memory, where NumPy
    chooses the best order.
    """
    for operand in node.operands:
        axes = operand.parameters["axes"] if operand.opcode == "transpose" else ()
        moved = [axis for axis in axes if operand.operands[0].shape[axis] > 1]
        if moved != sorted(moved):
            return True
    return False


# Functions of float32 that NumPy computes faster: how many arrays it stores in the time that it saves.
_COSTS = {"sine": 4, "cosine": 4, "tan": 6, "cbrt": 3, "atan2": 2}


def _cost_of_pieces(node: Node) -> int:
    """Return how many arrays NumPy stores in the time that it saves by copying the pieces of a concatenation along the
    last axis, where a loop chooses the piece of each element.
    """
    is_along_last = node.opcode == "concatenate" and node.parameters["axis"] == node.ndim - 1
    return len(node.operands) - 1 if is_along_last else 0


_MOVES = frozenset("select convert concatenate stack roll pad".split())


def _is_slow_in_numpy(node: Node) -> bool:
    """Return whether NumPy has no loop, or a slow one, for a node: for running totals, positions of extremes along
    columns, axes that are not adjacent, and narrow floats.
    """
    if runs(node):
        return True
    if _repeats_short_rows(node) and (node.opcode == "select" or prod(node.shape) >= _LEAST_OF_BOUNDS):
        return True
    if node.opcode in ("maximum", "minimum") and prod(node.shape) >= _LEAST_OF_BOUNDS:
        return any(not operand.ndim for operand in node.operands) and node.type.name in _FLOATS
    if node.opcode in _PLACES:
        return reduced_axes(node) != (node.operands[0].ndim - 1,) or node.operands[0].type.name in NARROW
    if node.opcode in ("max", "min") and node.type.name in NARROW:
        return True
    if node.opcode in REDUCED:
        lines = Lines.of(node)
        return lines is not None and sum(part.is_reduced for part in lines.stretches) > 1
    if node.type.name in NARROW and node.operation.is_elementwise and node.opcode not in _MOVES:
        return True
    if node.opcode == "convert" and not {node.type.name, node.operands[0].type.name}.isdisjoint(_BYTES | NIBBLES):
        return True
    return node.opcode == "prelude" and called_function(node) in _LONG_IN_NUMPY


def _repeats_short_rows(node: Node) -> bool:
    """Return whether an operand is repeated along all axes but a short last one: NumPy loops over each row."""
    length = node.shape[-1] if node.ndim > 1 and node.operation.is_elementwise else 1
    size = prod(node.shape)
    return 1 < length < _SHORT_LINE and any(
        operand.shape[-1:] == (length,) and prod(operand.shape) < size for operand in node.operands
    )


# What may stand beside kernels in a loop that is one function: numbers, places in arrays, products by BLAS.
_IN_LOOPS = frozenset(
    "parameter item literal integer scalar retype getitem setitem transpose expand reshape copy empty full zeros "
    "ones arange eye".split()
)
_OF_COUNTERS = frozenset("as_int add subtract multiply divide remainder maximum minimum select".split())


def compiles(node: Node) -> bool:
    """Return whether Numba computes the same as NumPy for a node, with the same types."""
    if node.is_python_int:
        return node.opcode in _IN_LOOPS or node.opcode in _OF_COUNTERS
    if node.results:
        return node.opcode in ("loop", "conditional", "kernel")
    if node.element_type is None or node.type.name not in _ANY | AS_BITS or _crosses_bits(node):
        return False
    if node.opcode in ("getitem", "setitem"):
        return all(not operand.ndim for operand in node.operands[1 + (node.opcode == "setitem") :])
    if node.opcode in ("tril", "triu"):
        return node.ndim == 2
    if node.opcode in ("any", "all"):
        return not node.ndim and node.operands[0].ndim > 0
    if node.opcode == "stack":
        return is_row(node) and node.type.name in _FLOATS | _COMPLEX
    if node.opcode == "matmul":
        same = all(operand.element_type is node.element_type and 0 < operand.ndim <= 2 for operand in node.operands)
        return same and node.type.name in _FLOATS | _COMPLEX
    return node.opcode in _IN_LOOPS or (not node.ndim and not _has_arrays(node) and fuses(node))


def _crosses_bits(node: Node) -> bool:
    """Return whether a node converts between scalars and an array of a narrow type, which holds bits in loops."""
    kinds = {each.type.name for each in (node, *node.operands[:2]) if each.element_type is not None}
    if node.opcode == "setitem":
        return len(kinds) > 1 and not kinds.isdisjoint(AS_BITS)
    is_of_number = node.opcode in ("expand", "reshape") and not (node.ndim and node.operands[0].ndim)
    return is_of_number and not kinds.isdisjoint(AS_BITS)


def _has_arrays(node: Node) -> bool:
    return any(operand.ndim for operand in node.operands)


# What would hide work on elements in loops that are compiled as a whole: functions, and operations.
_HIDING_IN_LOOPS = frozenset(
    "diag linalg.norm trace cross polyval convolve image_filter bincount pad "
    "nansum nanmean nanmax nanmin nanvar nanstd".split()
)
_OPERATIONS_HIDING_IN_LOOPS = frozenset(("diagonal", "median"))


def refuses(node: Node) -> str | None:
    """Return the reason why kernels cannot join a node with its neighbours, or None."""
    if node.opcode == "roll" and not isinstance(node.parameters["axis"], int):
        return "kernels roll along one axis at a time"
    is_hiding = node.parameters.get("function") in _HIDING_IN_LOOPS or node.opcode in _OPERATIONS_HIDING_IN_LOOPS
    if is_hiding and node.region.is_in_loop:
        return "it hides what the kernels of a loop compute"
    if node.parameters.get("function") == "top_values" and (takes_few(node) or node.region.is_in_loop):
        return "a loop keeps the first of each row together with their places"
    return hides_elements(node)


def stays_small(node: Node) -> bool:
    """Return whether a node that is computed once has too few elements for a kernel."""
    shapes = (each.shape for each in (node, *node.operands))
    return node.region.is_once and max(map(prod, shapes)) < _LEAST_ELEMENTS


def _declarations(*arguments: Any) -> Any:
    """Return the writer of Numba kernels, which is imported only where a module has kernels: it is above the targets in
    the import contract.
    """
    return import_module(f"{__package__}.numba.declarations").NumbaDeclarations(*arguments)


KERNELS = Kernels(
    fuses,
    reduces,
    _declarations,
    runs=runs,
    pays=pays,
    leaves=stays_small,
    compiles=compiles,
    own_function=compiled_function,
    loop_function=loop_function,
    loop_form=loop_form,
    cut_lines=True,
    most_elements=2**62,
    most_arguments=32,
    most_in_whole=_LEAST_ELEMENTS,
    bytes_by_caller=_HUGE,
    parallel_from=_FOR_THREADS,
    refuses=refuses,
    requires=("numba", "scipy"),
    extra="fast",
    any_size={"most_in_whole": 0, "bytes_by_caller": None, "parallel_from": None, "fuses": fuses_at_any_size},
)
