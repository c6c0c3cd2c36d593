"""The renderer of expressions in the CUDA C++ of kernels."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from ....transpile.array.node import Node
from ....transpile.emission.expression import Renderer
from ....transpile.emission.kernels.kernel_writer import KernelRenderer
from ....transpile.emission.literals import number
from ....transpile.hlo.element_types import S32, S64, U32, U64, ElementType
from ....transpile.hlo.literal_values import nan_sign
from ....transpile.kernels.index_maps import Term
from ....transpile.python.grammar import ATOM, PRIMARY, SIGN, SUM
from ....transpile.python.templates import Expression
from .launches import Launch

WITHOUT_SIGN = {S32: U32, S64: U64}
_OVERFLOWS = frozenset("add subtract multiply negate sum prod".split())
# The low bits of these results depend only on the low bits of the operands, so an operand may overflow.
_OF_LOW_BITS = _OVERFLOWS | frozenset("and or xor not shift-left".split())


def to_wrap(nodes: Sequence[Node]) -> frozenset[Node]:
    """Return the nodes to compute in unsigned arithmetic, of the nodes of a kernel (operands first): those that may
    overflow, with a user that needs more than the low bits.
    """
    asked: set[Node] = set()
    for node in reversed(nodes):
        if node.opcode == "select" and node not in asked:
            asked.add(node.operands[0])
        elif node.opcode not in _OF_LOW_BITS:
            asked.update(node.operands)
    return frozenset(
        node
        for node in asked
        if node.opcode in _OVERFLOWS and node.element_type in WITHOUT_SIGN and node.interval is None
    )


CTYPES = {
    "pred": "bool",
    "s8": "signed char",
    "u8": "unsigned char",
    "s16": "short",
    "u16": "unsigned short",
    "s32": "int",
    "u32": "unsigned",
    "s64": "long long",
    "u64": "unsigned long long",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float",
    "f64": "double",
    "c64": "complex<float>",
    "c128": "complex<double>",
}
# C++ computes these in a wider type; array libraries round or truncate after each operation, so a cast follows.
_NARROW = frozenset("s8 u8 s16 u16 f16 bf16".split())
_NATIVE = frozenset("add subtract multiply divide negate".split())  # operators of the class bfloat16
_EXACT = frozenset(
    "select maximum minimum clamp square read draw gather guarded_gather prelude convert arange and or xor".split()
)


def _parenthesised(text: str, level: int) -> str:
    """Return an operand in C++, in parentheses if its precedence is below ``level``."""
    return f"({text})" if isinstance(text, Expression) and text.level < level else text


class CudaRenderer(KernelRenderer):
    """Renders the macros of CUDA C++."""

    def __init__(self, folder: Path, beside: Renderer) -> None:
        self.to_wrap: frozenset[Node] = frozenset()  # nodes of the current kernel to compute in unsigned arithmetic
        self.launch: Launch | None = None  # of the current kernel, if its threads compute lines together
        self.at_once = 1  # elements that a thread of the current kernel computes
        self.preamble: dict[str, None] = {}  # constants with the C++ of the functions that the current kernel calls
        self.shared_functions: dict[str, str] = {}  # prelude kernels that are called, with the constants of their C++
        super().__init__(folder, beside)

    def own_globals(self) -> dict[str, Any]:
        return super().own_globals() | {
            "ctypes": CTYPES,
            "launch": lambda: self.launch,
            "at_once": lambda: self.at_once,
            "index_type": CTYPES["s64" if self.sizes_are_free else "s32"],
            "device": self.device,
            "shared_function": self.shared_function,
        }

    def own_filters(self) -> dict[str, Any]:
        return {"ctype": self.type_name, "p": _parenthesised}

    @cached_property
    def _levels(self) -> dict[str, int]:
        """The precedences in C++ of macros that write operators; other macros write calls, subscripts or atoms."""
        levels: dict[str, int] = self.macros.constant("levels", "add")
        return levels

    def is_operator(self, node: Node) -> bool:
        return self.macro_of(node) in self._levels

    def expression(self, name: str, *arguments: Any) -> Expression:
        return Expression(self.statement(name, *arguments), self._levels.get(name, PRIMARY))

    def statement(self, name: str, *arguments: Any) -> str:
        """Return the text of a macro. Operands are inserted as they are, or in parentheses by the filter ``p``."""
        return self.macros[name](*arguments)

    def spelled(self, term: Term) -> tuple[str, int, int | None]:
        if self.launch is None:
            return super().spelled(term)
        return self.launch.lines.spelled(term.divisor, term.modulus)

    def type_name(self, element_type: ElementType) -> str:
        """Return the C++ type of an element type, such as ``float``."""
        return CTYPES[element_type.name]

    def columns_of_definition(self, node: Node) -> int:
        return len(self.type_name(node.type)) + len(" ;")

    def device(self, constant: str, function: str) -> str:
        """Return ``function``, after its C++, which is in a constant of the prelude, is added to the preamble."""
        self.used_prelude[constant] = self.preamble[constant] = None
        return function

    def shared_function(self, function: str) -> str:
        """Return the name of a C++ function that computes the same as a prelude kernel of that name."""
        self.shared_functions[function] = function.upper()
        self.preamble[function.upper()] = None
        return function

    def render(self, node: Node, operands: Sequence[Expression]) -> Expression:
        if node in self.to_wrap:
            return self._wrapped(node, operands, partial(super().render, node))
        text = super().render(node, operands)
        if node.type.name not in _NARROW or node.opcode in _EXACT:
            return text
        if node.type.name == "bf16" and node.opcode in _NATIVE:
            self.device("BFLOAT16", "")
            return text
        return self._cast(text, node.type)

    def accumulated(self, node: Node, total: Expression, x: Expression) -> Expression:
        """Return the update of a running sum, product or extreme by one more number."""

        def text(operands: Sequence[Expression]) -> Expression:
            return Expression(self.statement("accumulated", node, *operands), SUM)

        return self._wrapped(node, (total, x), text) if node in self.to_wrap else text((total, x))

    def _wrapped(
        self, node: Node, operands: Sequence[Expression], text: Callable[[Sequence[Expression]], Expression]
    ) -> Expression:
        """Return the text of a node with its operands cast to unsigned, cast back to the node's type."""
        unsigned = WITHOUT_SIGN[node.type]
        return self._cast(text([self._cast(operand, unsigned) for operand in operands]), node.type)

    def _cast(self, text: Expression, element_type: ElementType) -> Expression:
        return Expression(self.statement("cast", self.type_name(element_type), text), SIGN)

    def typed_literal(self, value: np.ndarray, element_type: ElementType) -> Expression:
        """Return a literal of exactly its type."""
        text = self._literal(value, element_type)
        level = SIGN if text.startswith("-") else PRIMARY if text.endswith(")") else ATOM
        return Expression(text, level)

    def _literal(self, value: np.ndarray, element_type: ElementType) -> str:
        kind = element_type.name
        if kind == "pred":
            return self.statement("truth", bool(value))
        if element_type.is_integral:
            return self.statement("whole_number", kind, int(value), self.sizes_are_free and element_type.bits <= 32)
        if element_type.is_complex:
            part = {"c64": "f32", "c128": "f64"}[kind]
            return self.statement("complex_number", kind, *(self._real(x, part) for x in (value.real, value.imag)))
        return self._real(value, kind)

    def _real(self, value: np.ndarray, kind: str) -> str:
        if np.isnan(float(value)):
            return self.statement("not_a_number", kind, nan_sign(value))
        if np.isinf(float(value)):
            return self.statement("infinite", kind, "-" if value < 0 else "")
        digits = number(value, "")
        return self.statement("real_number", kind, digits if re.search("[.e]", digits) else f"{digits}.0")

    def weak_literal(self, value: np.ndarray) -> Expression:
        """Never called: kernels have no literals of unknown type, and C++ has no weak types."""
        raise AssertionError("a kernel has typed constants only")
