"""Element-wise operations: those of HLO, and the few that only array libraries have."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor
from typing import Any

from ...hlo.element_types import ElementType
from .. import intervals, magnitudes
from ..intervals import of_either, of_operands
from ..operation import Operand, Parameters, Table
from . import axes
from .inference import broadcast, common_type, pred
from .parameters import WORD

OPERATIONS = Table()


def _real(operands: Sequence[Operand], parameters: Parameters) -> ElementType | None:
    own = operands[0].element_type
    return own.real if own is not None else None


def _chosen(operands: Sequence[Operand], parameters: Parameters) -> ElementType | None:
    return common_type(operands[1:], parameters)


def _is_count(operands: Sequence[Operand]) -> bool:
    """Arithmetic of Python ints, alone or with constants."""
    counts = False
    for operand in operands:
        if operand.is_python_int:
            counts = True
        elif operand.opcode != "literal":
            return False
    return counts


def _define(names: str, operands: str, default_name: str = "", **row: Any) -> None:
    for name in names.split():
        OPERATIONS.define(
            name,
            operands,
            axes=axes.elementwise,
            is_elementwise=True,
            default_names=(default_name or name.replace("-", "_"),),
            **{"shape": broadcast, "element_type": common_type, "allocates": True, **row},
        )


_logic: dict[str, Any] = {"is_idempotent": True, "is_known_on_host": True, "is_commutative": True}
_MASK = ("{}_mask",)
# What is an int again of Python ints.
_counting: dict[str, Any] = {"python_int": _is_count, "is_known_on_host": True}

_define(
    "add",
    "x y",
    "total",
    magnitude=magnitudes.total,
    wraps=True,
    promotes=True,
    **_counting,
    is_commutative=True,
    interval=of_operands(intervals.total),
    names_after=("shifted_{}", "{}_plus_{}"),
)
_define(
    "multiply",
    "x y",
    "product",
    magnitude=magnitudes.product,
    wraps=True,
    promotes=True,
    **_counting,
    is_commutative=True,
    interval=of_operands(intervals.product),
    names_after=("scaled_{}", "{}_times_{}"),
)
_define(
    "subtract",
    "x y",
    "difference",
    magnitude=magnitudes.total,
    wraps=True,
    promotes=True,
    **_counting,
    interval=of_operands(intervals.difference),
    names_after=("shifted_{}", "{}_minus_{}"),
)
_define(
    "divide",
    "x y",
    "ratio",
    magnitude=magnitudes.quotient,
    promotes=True,
    is_costly=True,
    python_int=_is_count,
    interval=of_operands(intervals.quotient),
    names_after=("scaled_{}", "{}_over_{}"),
)
_define("remainder", "x y", "rest", is_costly=True, python_int=_is_count, interval=of_operands(intervals.rest))
_define("power", "x y", "power", is_costly=True)
_define(
    "maximum",
    "x y",
    "larger",
    magnitude=magnitudes.largest,
    is_quiet=True,
    is_idempotent=True,
    is_commutative=True,
    interval=of_either(intervals.larger),
)
_define(
    "minimum",
    "x y",
    "smaller",
    magnitude=magnitudes.largest,
    is_quiet=True,
    is_idempotent=True,
    is_commutative=True,
    interval=of_either(intervals.smaller),
)
_define("atan2", "y x", "angle", is_costly=True)
_define("logaddexp", "x y", is_commutative=True)
_define(
    "and",
    "x y",
    "mask",
    is_idempotent=True,
    is_known_on_host=True,
    is_commutative=True,
    interval=of_either(intervals.both),
    names_after=_MASK,
)
_define("or", "x y", "mask", **_logic, names_after=_MASK)
_define("xor", "x y", "mask", is_known_on_host=True, is_commutative=True, names_after=_MASK)
_define("shift-left", "x count", "shifted")
_define("shift-right-logical", "x count", "shifted", interval=of_operands(intervals.shifted))
_define("shift-right-arithmetic", "x count", "shifted")

_define(
    "negate",
    "x",
    "negative",
    magnitude=magnitudes.largest,
    wraps=True,
    is_quiet=True,
    is_known_on_host=True,
    names_after=("minus_{}",),
)
_define("not", "x", "mask", is_known_on_host=True, names_after=_MASK)
_define(
    "abs",
    "x",
    "magnitude",
    magnitude=magnitudes.largest,
    is_quiet=True,
    element_type=_real,
    is_blind_to_minus=True,
    names_after=("abs_{}",),
)
_define("sign", "x", magnitude=magnitudes.one, is_quiet=True, is_discontinuous=True, names_after=("{}_sign",))
_define("floor", "x", magnitude=magnitudes.largest, is_quiet=True, is_discontinuous=True, rounds=floor)
_define("ceil", "x", magnitude=magnitudes.largest, is_quiet=True, is_discontinuous=True, rounds=ceil)
_define("round-nearest-even", "x", "rounded", is_quiet=True, is_discontinuous=True, rounds=round)
_define("sqrt", "x", "root", is_costly=True, names_after=("sqrt_{}",))
_define("cbrt", "x", "root", is_costly=True, names_after=("cbrt_{}",))
_define("rsqrt", "x", "scale", is_costly=True)
_define("square", "x", "square", magnitude=magnitudes.square, is_blind_to_minus=True, names_after=("{}_squared",))
_define("exponential", "x", "exp", is_costly=True, is_blind_to_minus=True, names_after=("exp_{}",))
_define("exponential-minus-one", "x", "expm1", is_costly=True)
_define("exp2", "x", is_costly=True, is_blind_to_minus=True, names_after=("exp2_{}",))
_define("log2", "x", is_costly=True, names_after=("log2_{}",))
_define("log", "x", is_costly=True, names_after=("log_{}",))
_define("log-plus-one", "x", "log1p", is_costly=True)
_define("logistic", "x", "gate", is_costly=True, is_blind_to_minus=True, names_after=("{}_gate",))
_define("sine", "x", "sin", magnitude=magnitudes.one, is_costly=True, names_after=("sin_{}",))
_define("cosine", "x", "cos", magnitude=magnitudes.one, is_costly=True, is_blind_to_minus=True, names_after=("cos_{}",))
_define("tan", "x", is_costly=True, names_after=("tan_{}",))
_define("tanh", "x", magnitude=magnitudes.one, is_costly=True, names_after=("tanh_{}",))
_define("sinh cosh acos acosh asin asinh atanh", "x", is_costly=True)

_define(
    "compare",
    "x y",
    "mask",
    is_quiet=True,
    element_type=pred,
    parameters={"direction": WORD, "type": WORD.optional},
    is_known_on_host=True,
    is_blind_to_minus=True,
    promotes=True,
    is_discontinuous=True,
    names_after=_MASK,
)
_define("is-finite", "x", "finite", is_quiet=True, element_type=pred, is_blind_to_minus=True, names_after=_MASK)
_define("isnan", "x", "missing", is_quiet=True, element_type=pred, names_after=_MASK)
_define(
    "select",
    "mask x y",
    "chosen",
    magnitude=magnitudes.largest,
    is_quiet=True,
    element_type=_chosen,
    promotes=True,
    interval=intervals.chosen,
)
_define(
    "clamp",
    "low x high",
    "clipped",
    magnitude=magnitudes.largest,
    is_quiet=True,
    interval=of_operands(intervals.clamped),
    names_after=("clipped_{}",),
)

_define("real imag", "x", moves=True, element_type=_real, is_view=True, allocates=False)
_define(
    "convert",
    "x",
    "converted",
    magnitude=magnitudes.largest,
    element_type=None,
    is_known_on_host=True,
    is_discontinuous=True,
    interval=of_operands(intervals.itself),
)
