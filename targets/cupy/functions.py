"""Operations that CuPy computes otherwise than HLO: the functions of its prelude that are called instead.

Source: CuPy 14.2, its ufunc tables and the bodies of their loops.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

from ...transpile.array.node import Node, Slot, Ufunc, literal_value
from ...transpile.hlo.element_types import PRED
from ..base import OwnCall

Rule = Callable[[Node], OwnCall | None]


def own_function(node: Node) -> OwnCall | None:
    """The call that stands for a node, or None where the shared text is right."""
    rule = _FUNCTIONS.get(node.opcode)
    return rule(node) if rule is not None and not node.is_python_int else None


def _shift(function: str) -> Rule:
    """C++ leaves shifts by the width or more undefined; HLO gives 0, or the sign."""

    def rule(node: Node) -> OwnCall | None:
        bounds = node.operands[1].interval
        in_range = bounds is not None and bounds[0] >= 0 and bounds[1] < node.type.bits
        return None if in_range else OwnCall(function)

    return rule


def _place(function: str) -> Rule:
    """Return the rule of an arg-reduction, which calls ``function`` for floats: which of several NaN CuPy finds depends
    on the order of its threads, and it has no bfloat16 there.
    """

    def rule(node: Node) -> OwnCall | None:
        if not node.operands[0].type.is_floating:
            return None
        return OwnCall(function, keywords=(("axis", node.parameters["axis"]), ("dtype", node.type)))

    return rule


def _running(opcode: str, narrow_only: bool = False) -> Rule:
    """CuPy's ``maximum`` and ``minimum`` do not accumulate, its sums do not in bfloat16."""

    def rule(node: Node) -> OwnCall | None:
        if narrow_only and node.type.name not in _NARROW:
            return None
        return OwnCall("running", (Slot(0), Ufunc(opcode), node.parameters["axis"]))

    return rule


def _bitwise(node: Node) -> OwnCall | None:
    """CuPy's bitwise functions have no reduce."""
    combine, axes = node.parameters["ufunc"], tuple(node.parameters["axes"])
    ones = 2**node.type.bits - 1 if node.type.is_unsigned else -1
    return OwnCall("bitwise_reduce", (Slot(0), Ufunc(combine), axes, ones if combine == "and" else 0))


def _sort(node: Node) -> OwnCall | None:
    """CuPy sorts vectors of floats by their bits: NaN with a sign come first."""
    return OwnCall("sort_vector") if _is_vector(node.operands[0]) else None


def _argsort(node: Node) -> OwnCall | None:
    return OwnCall("argsort_vector", (Slot(0), node.type)) if _is_vector(node.operands[0]) else None


def _is_vector(node: Node) -> bool:
    return node.ndim == 1 and node.type.is_floating


def _product(node: Node) -> OwnCall | None:
    """CuPy has no fast product of booleans; that of float32 tells where one of the terms is true."""
    return OwnCall("matmul") if node.element_type is PRED else None


def _pad(node: Node) -> OwnCall | None:
    """``cp.pad`` takes a number of the host to fill with."""
    filling = node.operands[1]
    if filling.is_literal and not filling.type.is_extension:
        return None
    return OwnCall("pad", (Slot(0), Slot(1), tuple(node.parameters["widths"])))


def _log_add_exp(node: Node) -> OwnCall | None:
    """CuPy gives NaN for two infinities of the same sign."""
    finite = any(operand.is_literal and isfinite(literal_value(operand)) for operand in node.operands)
    return None if finite else OwnCall("log_add_exp")


def _update(node: Node) -> OwnCall:
    """CuPy's ``add.at`` goes by atomic functions, which it has for few dtypes."""
    index: tuple[Any, ...] = tuple(node.parameters["index"])
    return OwnCall("scatter_at", (Slot(0), index if len(index) > 1 else index[0], Slot(1), node.parameters["ufunc"]))


_NARROW = frozenset(("bf16", "f16"))
_FUNCTIONS: dict[str, Rule] = {
    "shift-left": _shift("shift_left"),
    "shift-right-logical": _shift("shift_right_logical"),
    "shift-right-arithmetic": _shift("shift_right_arithmetic"),
    "argmax": _place("first_largest"),
    "argmin": _place("first_smallest"),
    "cummax": _running("maximum"),
    "cummin": _running("minimum"),
    "cumsum": _running("add", narrow_only=True),
    "cumprod": _running("multiply", narrow_only=True),
    "bitwise_reduce": _bitwise,
    "matmul": _product,
    "pad": _pad,
    "sort": _sort,
    "argsort": _argsort,
    "update_at": _update,
    "logaddexp": _log_add_exp,
}
