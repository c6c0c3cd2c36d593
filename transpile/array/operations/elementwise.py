"""Element-wise operations: those of HLO, and the few that only array libraries have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...hlo.element_types import C64, C128, F64, ElementType
from ..intervals import elementwise_interval
from ..operation import Interval, Operand, Parameters, Table
from . import axes
from .inference import broadcast, common_type, pred
from .parameters import WORD

OPERATIONS = Table()


def _real(operands: Sequence[Operand], parameters: Parameters) -> ElementType | None:
    own = operands[0].element_type
    return own.real if own is not None else None


def _complex(operands: Sequence[Operand], parameters: Parameters) -> ElementType:
    return C128 if operands[0].element_type is F64 else C64


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

        def interval(
            operands: Sequence[Operand], parameters: Parameters, result: ElementType, opcode: str = name
        ) -> Interval | None:
            return elementwise_interval(opcode, operands, result)  # type: ignore[arg-type]

        given = {"shape": broadcast, "element_type": common_type, "interval": interval, "allocates": True, **row}
        OPERATIONS.define(
            name,
            operands,
            axes=axes.elementwise,
            is_elementwise=True,
            default_names=(default_name or name.replace("-", "_"),),
            **given,
        )


_counting: dict[str, Any] = {"python_int": _is_count, "is_known_on_host": True}
_on_host: dict[str, Any] = {"is_known_on_host": True}
_commutes: dict[str, Any] = {"is_commutative": True}

_define("add", "x y", "total", **_counting, **_commutes)
_define("multiply", "x y", "product", **_counting, **_commutes)
_define("subtract", "x y", "difference", **_counting)
_define("divide", "x y", "ratio")
_define("remainder", "x y", "rest")
_define("power", "x y", "power")
_define("maximum", "x y", "larger", **_commutes)
_define("minimum", "x y", "smaller", **_commutes)
_define("atan2", "y x", "angle")
_define("logaddexp", "x y", **_commutes)
_define("and or", "x y", "mask", **_on_host, **_commutes)
_define("xor", "x y", "mask", **_on_host, **_commutes)
_define("shift-left", "x count", "shifted")
_define("shift-right-logical", "x count", "shifted")
_define("shift-right-arithmetic", "x count", "shifted")

_define("negate", "x", "negative", **_on_host)
_define("not", "x", "mask", **_on_host)
_define("abs", "x", "magnitude", element_type=_real)
_define("sign", "x")
_define("floor ceil", "x")
_define("round-nearest-even", "x", "rounded")
_define("sqrt", "x", "root")
_define("cbrt", "x", "root")
_define("rsqrt", "x", "scale")
_define("square", "x", "square")
_define("exponential", "x", "exp")
_define("exponential-minus-one", "x", "expm1")
_define("log", "x")
_define("log-plus-one", "x", "log1p")
_define("logistic", "x", "gate")
_define("sine", "x", "sin")
_define("cosine", "x", "cos")
_define("tan tanh sinh cosh acos acosh asin asinh atanh", "x")
_define("erf", "x")

_define("compare", "x y", "mask", element_type=pred, parameters={"direction": WORD}, **_on_host)
_define("is-finite", "x", "finite", element_type=pred)
_define("isnan", "x", "missing", element_type=pred)
_define("select", "mask x y", "chosen", element_type=_chosen)
_define("clamp", "low x high", "clipped")

_define("complex", "real imag", element_type=_complex)
_define("real imag", "x", element_type=_real, is_view=True, allocates=False)
_define("convert", "x", "converted", element_type=None, **_on_host)
