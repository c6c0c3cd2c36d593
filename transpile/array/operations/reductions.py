"""Operations along axes: reductions, running totals, sorts and transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...hlo.element_types import C64, C128, F32, F64, ElementType
from .. import intervals, magnitudes
from ..operation import AxisMap, Interval, Operand, Parameters, Shape, Table
from . import axes
from .inference import interval_of_first, like_first, pred, reduced, type_of_first
from .parameters import AXES, AXIS, FLAG, INT, INTS, WORD

OPERATIONS = Table()


# -- reductions

_reduction = {"shape": reduced, "axes": axes.reduction, "is_reduction": True, "allocates": True}
_along_axes = {"parameters": {"axes": AXES, "keepdims": FLAG.optional}, **_reduction}


def _real(operands: Sequence[Operand], parameters: Parameters) -> ElementType | None:
    own = operands[0].element_type
    return own.real if own is not None else None


def _position(operands: Sequence[Operand], parameters: Parameters, result: ElementType) -> Interval:
    return 0, max(operands[0].shape[parameters["axis"]] - 1, 0)


OPERATIONS.define(
    "sum",
    "x",
    magnitude=magnitudes.folded,
    element_type=type_of_first,
    widens=True,
    folds="add",
    default_names=("total",),
    names_after=("{}_sum",),
    **_along_axes,
)
OPERATIONS.define(
    "prod",
    "x",
    element_type=type_of_first,
    widens=True,
    folds="multiply",
    default_names=("product",),
    names_after=("{}_prod",),
    **_along_axes,
)
OPERATIONS.define(
    "max",
    "x",
    magnitude=magnitudes.largest,
    is_quiet=True,
    element_type=type_of_first,
    interval=interval_of_first,
    folds="maximum",
    default_names=("peak",),
    names_after=("{}_max",),
    **_along_axes,
)
OPERATIONS.define(
    "min",
    "x",
    magnitude=magnitudes.largest,
    is_quiet=True,
    element_type=type_of_first,
    interval=interval_of_first,
    folds="minimum",
    default_names=("lowest",),
    names_after=("{}_min",),
    **_along_axes,
)
OPERATIONS.define(
    "mean",
    "x",
    magnitude=magnitudes.folded,
    element_type=type_of_first,
    default_names=("mean",),
    names_after=("{}_mean",),
    **_along_axes,
)
OPERATIONS.define("any", "x", is_quiet=True, element_type=pred, folds="or", default_names=("found",), **_along_axes)
OPERATIONS.define("all", "x", is_quiet=True, element_type=pred, folds="and", default_names=("holds",), **_along_axes)
_spread = {**_along_axes, "parameters": {**_along_axes["parameters"], "ddof": INT.optional}}  # type: ignore[dict-item]
OPERATIONS.define("var", "x", element_type=_real, default_names=("variance",), names_after=("{}_var",), **_spread)
OPERATIONS.define("std", "x", element_type=_real, default_names=("deviation",), names_after=("{}_std",), **_spread)
OPERATIONS.define(
    "bitwise_reduce",
    "x",
    element_type=type_of_first,
    default_names=("bits",),
    **{**_reduction, "parameters": {"axes": AXES, "ufunc": WORD}},
)
OPERATIONS.define(
    "median", "x", element_type=type_of_first, parameters={"axis": AXIS}, default_names=("median",), **_reduction
)
OPERATIONS.define(
    "argmax argmin",
    "x",
    is_quiet=True,
    parameters={"axis": AXIS, "plain": FLAG.optional},
    interval=_position,
    default_names=("best",),
    counts=True,
    **_reduction,
)


# -- along one axis

_along = {"shape": like_first, "axes": axes.all_but_one, "parameters": {"axis": AXIS}, "allocates": True}

for _name, _folds, _noun in (
    ("cumsum", "add", "total"),
    ("cumprod", "multiply", "product"),
    ("cummax", "maximum", "peak"),
    ("cummin", "minimum", "low"),
):
    OPERATIONS.define(
        _name,
        "x",
        folds=_folds,
        default_names=(f"running_{_noun}",),
        names_after=(f"{{}}_{_name}",),
        element_type=type_of_first,
        widens=True,
        interval=intervals.counted if _name == "cumsum" else None,
        counts=_name == "cumsum",
        **{**_along, "parameters": {"axis": AXIS, "backwards": FLAG.optional}},  # backwards: within kernels only
    )
OPERATIONS.define(
    "cumlogaddexp",
    "x",
    default_names=("running_log_sum",),
    element_type=type_of_first,
    widens=True,
    **_along,
)
OPERATIONS.define(
    "sort",
    "x",
    magnitude=magnitudes.largest,
    is_quiet=True,
    element_type=type_of_first,
    interval=interval_of_first,
    default_names=("ordered",),
    names_after=("sorted_{}",),
    **_along,
)
OPERATIONS.define(
    "argsort",
    "x",
    is_quiet=True,
    interval=_position,
    default_names=("order",),
    names_after=("{}_order",),
    counts=True,
    **_along,
)


# -- transforms


def transformed_shape(shape: Shape, kind: str, lengths: Sequence[int]) -> Shape:
    """Return the shape of the Fourier transform of signals of these lengths along the last axes."""
    last = lengths[-1]
    terms = last // 2 + 1 if last and kind.lower() == "rfft" else last
    return (*shape[: len(shape) - len(lengths)], *lengths[:-1], terms)


def transformed_type(own: ElementType | None, kind: str) -> ElementType | None:
    """Return the element type of a Fourier transform."""
    if kind.lower() == "rfft":
        return C128 if own is F64 else C64
    return (F64 if own is C128 else F32) if kind.lower() == "irfft" else own


def _transformed(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    return transformed_shape(operands[0].shape, parameters["kind"], parameters["lengths"])


def _spectrum(operands: Sequence[Operand], parameters: Parameters) -> ElementType | None:
    return transformed_type(operands[0].element_type, parameters["kind"])


def _transform_axes(node: Any) -> list[AxisMap]:
    return [axes.leading(node.operands[0].ndim, len(node.parameters["lengths"]))]


OPERATIONS.define(
    "fft",
    "x",
    parameters={"kind": WORD, "lengths": INTS, "own_length": FLAG},
    shape=_transformed,
    element_type=_spectrum,
    axes=_transform_axes,
    allocates=True,
    default_names=("spectrum",),
    names_after=("{}_spectrum",),
)
