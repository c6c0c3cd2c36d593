"""The operations that kernels of the style ``fast`` support: those for which C++ computes exactly the same as
``cp``.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from math import prod
from typing import Any

from ...transpile.array.node import Node
from ...transpile.kernels.kernel import Kernel
from ...transpile.kernels.lines import Lines, is_splittable
from ...transpile.kernels.operations import draw_of
from ...transpile.target import Kernels
from ..element_rules import RULES, ElementTable, ReductionTable, hides_elements
from .functions import copied_product

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
# The element types of the first operand of a prelude function.
_FUNCTIONS: dict[str, frozenset[str]] = {
    **dict.fromkeys("int_divide int_remainder int_power popcount count_leading_zeros mulhi".split(), _INTEGERS),
    **dict.fromkeys("shift_left shift_right_logical shift_right_arithmetic".split(), _INTEGERS),
    **dict.fromkeys("logistic rsqrt sign round_half_away to_int".split(), _FLOATS),
    **dict.fromkeys(("erfc", "normal_cdf", "sigmoid"), frozenset(("f32",))),
    "erf": _FLOATS - {"f64"},
    **dict.fromkeys(("erf_float64", "normal_cdf_float64"), frozenset(("f64",))),
    "complex_from_parts": _WIDE,
}


_TABLE = ElementTable(_ANY, _FIRST, _FUNCTIONS, RULES)


def fuses(node: Node) -> bool:
    """Return whether a node can be written in C++."""
    return _TABLE.has(node) or draw_of(node) is not None


_COLUMNS = 32  # adjacent columns of a block
_MOST_OF_A_BLOCK = 2**18  # elements
_MOST_OF_A_BLOCK_OF_FEW = 2**16  # elements, if there are too few blocks to occupy a device
_MANY_BLOCKS = 264  # two for each multiprocessor of an H200
_PART = 2**13  # elements at least, of a part of a line
_MOST_PARTS = 1024
_LARGE_LOOP = 2**20  # elements
_SHORT_COLUMN = 16  # elements
_BITS_AT_ONCE = 128  # of one read or write of a thread
_LONGEST_LINE = 2**30  # elements: a step past the end still fits 32 bits
_PLACES = frozenset(("argmax", "argmin", "first_largest", "first_smallest"))
_REDUCTIONS = ReductionTable(_FLOATS | _INTEGERS, _PLACES, _WIDE)


def parts(lines: Lines) -> int:
    """Return how many blocks share a line, or a group of adjacent columns: more than one if it is long, or if there are
    few groups of columns.
    """
    together = 1 if lines.are_rows else min(lines.count, _COLUMNS)
    elements, blocks = lines.length * together, -(-lines.count // together)
    is_few = not lines.are_rows and blocks < _MANY_BLOCKS
    if elements <= (_MOST_OF_A_BLOCK_OF_FEW if is_few else _MOST_OF_A_BLOCK):
        return 1
    return min(-(-elements // _PART), max(-(-_MANY_BLOCKS // blocks), -(-elements // _MOST_OF_A_BLOCK)), _MOST_PARTS)


def at_once(kernel: Kernel, least: int = _LARGE_LOOP) -> int:
    """Return how many adjacent elements a thread computes: as many as have 16 bytes in the widest array, or 1.

    It is 1 for loops of fewer than ``least`` elements (for these, CuPy's single elements a thread are enough), for
    kernels by lines, if an array is neither a scalar nor of the shape of the loop, or if there would be a remainder.
    """
    read = [node for node in kernel.function.parameters if node not in kernel.whole]
    bits = max(node.type.bits for node in (*read, *kernel.outputs))
    size, together = prod(kernel.loop), _BITS_AT_ONCE // max(bits, 8)
    fits = all(node.shape == kernel.loop or not node.shape for node in read)
    fits = fits and all(tuple(shape) == kernel.loop for shape in kernel.shapes)
    is_large = kernel.lines is None and size >= least
    return together if is_large and fits and size % together == 0 else 1


def pays(nodes: Sequence[Node], saved: int, is_repeated: bool) -> bool:
    """Return whether kernels are worth it: they save an array, replace the several launches of a pad, or sum few or
    short columns, for which CuPy has too few blocks or one block a column.
    """
    return saved > 0 or any(n.opcode == "pad" or _is_of_few_columns(n) or _is_of_short_columns(n) for n in nodes)


def _is_of_few_columns(node: Node) -> bool:
    if not reduces(node) or not is_splittable(node):
        return False
    lines = Lines.of(node)
    return lines is not None and not lines.are_rows and parts(lines) > 1


def _is_of_short_columns(node: Node) -> bool:
    if not reduces(node):
        return False
    lines = Lines.of(node)
    is_short = lines is not None and not lines.are_rows and lines.length <= _SHORT_COLUMN
    return is_short and prod(node.operands[0].shape) >= _LARGE_LOOP


def reduces(node: Node) -> bool:
    """Return whether the threads of a block can compute a reduction, of rows, of columns or of parts of them."""
    if len(node.operands) != 1 or node.element_type is None or not _REDUCTIONS.has(node):
        return False
    lines = Lines.of(node)
    return lines is not None and lines.length <= _LONGEST_LINE


def _whole(lines: Lines) -> int:
    """Return 1: lines of unknown length are not divided."""
    return 1


def _reduces_several(node: Node) -> bool:
    """Return whether kernels reduce lines of unknown length: only if there are several, since CuPy divides a single
    line.
    """
    if not reduces(node):
        return False
    lines = Lines.of(node)
    return lines is not None and lines.count > 1


def _declarations(*arguments: Any) -> Any:
    """Return the writer of kernels in CUDA C++. It depends on emission, so it is imported only if a module has
    kernels.
    """
    return import_module(f"{__package__}.cuda.declarations").CudaDeclarations(*arguments)


KERNELS = Kernels(
    fuses,
    reduces,
    _declarations,
    parts,
    pays,
    own_function=copied_product,
    most_elements=2**31,  # element numbers have 32 bits
    most_arguments=32,  # the arguments of a launch have at most 4 KB
    refuses=hides_elements,
    take_any_shape=True,
    saves_launches=True,
    recomputes=True,
    sums="scatter_sum",
    at_once=at_once,
    any_size={
        "at_once": lambda kernel, least=0: 1,
        "parts": _whole,
        "reduces": _reduces_several,
        "most_elements": 2**62,
    },
    language=lambda: import_module(f"{__package__}.cuda.sizes").CUDA,
)
