"""Operations along axes: reductions, running reductions, sorts and transforms."""

from __future__ import annotations

from collections.abc import Sequence

from ...hlo.element_types import C64, C128, F32, F64, ElementType
from .. import intervals, magnitudes
from ..operation import Interval, Operand, Parameters, Row, Shape, Table
from . import axes
from .inference import interval_of_first, like_first, pred, real_type, reduced, type_of_first
from .parameters import AXES, AXIS, FLAG, INT, INTS, WORD

OPERATIONS = Table()


# -- reductions

_reduction: Row = {"shape": reduced, "axes": axes.reduction, "is_reduction": True, "allocates": True}
_along_axes: Row = {"parameters": {"axes": AXES, "keepdims": FLAG.optional}, **_reduction}


def _position(operands: Sequence[Operand], parameters: Parameters, result: ElementType) -> Interval:
    return 0, max(operands[0].shape[parameters["axis"]] - 1, 0)


_sums: Row = {"element_type": type_of_first, "traits": "widens", **_along_axes}
_choice: Row = {"element_type": type_of_first, "interval": interval_of_first, "magnitude": magnitudes.largest}
_chosen: Row = {"traits": "quiet", **_choice, **_along_axes}
OPERATIONS.define("sum", "x", names="total", after="{}_sum", folds="add", magnitude=magnitudes.folded, **_sums)
OPERATIONS.define("prod", "x", names="product", after="{}_prod", folds="multiply", **_sums)
OPERATIONS.define("max", "x", names="peak", after="{}_max", folds="maximum", **_chosen)
OPERATIONS.define("min", "x", names="lowest", after="{}_min", folds="minimum", **_chosen)
OPERATIONS.define(
    "mean", "x", names="mean", after="{}_mean", magnitude=magnitudes.folded, element_type=type_of_first, **_along_axes
)
OPERATIONS.define("any", "x", names="found", traits="quiet", element_type=pred, folds="or", **_along_axes)
OPERATIONS.define("all", "x", names="holds", traits="quiet", element_type=pred, folds="and", **_along_axes)
_spread: Row = {**_along_axes, "parameters": {**_along_axes["parameters"], "ddof": INT.optional}}
OPERATIONS.define("var", "x", names="variance", after="{}_var", element_type=real_type, **_spread)
OPERATIONS.define("std", "x", names="deviation", after="{}_std", element_type=real_type, **_spread)
OPERATIONS.define(
    "bitwise_reduce",
    "x",
    names="bits",
    element_type=type_of_first,
    **{**_reduction, "parameters": {"axes": AXES, "ufunc": WORD}},
)
OPERATIONS.define("median", "x", names="median", element_type=type_of_first, parameters={"axis": AXIS}, **_reduction)
OPERATIONS.define(
    "argmax argmin",
    "x",
    names="best",
    traits="quiet counts",
    parameters={"axis": AXIS, "plain": FLAG.optional},
    interval=_position,
    **_reduction,
)


# -- along one axis

_along: Row = {"shape": like_first, "axes": axes.all_but_one, "parameters": {"axis": AXIS}, "allocates": True}

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
OPERATIONS.define("cumlogaddexp", "x", names="running_log_sum", traits="widens", element_type=type_of_first, **_along)
OPERATIONS.define(
    "sort",
    "x",
    names="ordered",
    after="sorted_{}",
    traits="quiet",
    magnitude=magnitudes.largest,
    element_type=type_of_first,
    interval=interval_of_first,
    **_along,
)
OPERATIONS.define("argsort", "x", names="order", after="{}_order", traits="quiet counts", interval=_position, **_along)


# -- transforms


def transformed_shape(shape: Shape, kind: str, lengths: Sequence[int]) -> Shape:
    """Return the shape of Fourier transforms of these lengths along the last axes."""
    last = lengths[-1]
    terms = last // 2 + 1 if last and kind.lower() == "rfft" else last
    return (*shape[: len(shape) - len(lengths)], *lengths[:-1], terms)


def transformed_type(own: ElementType | None, kind: str) -> ElementType | None:
    """Return the element type of a Fourier transform."""
    if kind.lower() == "rfft":
        return C128 if own is F64 else C64
    return (F64 if own is C128 else F32) if kind.lower() == "irfft" else own


OPERATIONS.define(
    "fft",
    "x",
    names="spectrum",
    after="{}_spectrum",
    traits="allocates",
    parameters={"kind": WORD, "lengths": INTS, "own_length": FLAG},
    shape=lambda operands, parameters: transformed_shape(operands[0].shape, parameters["kind"], parameters["lengths"]),
    element_type=lambda operands, parameters: transformed_type(operands[0].element_type, parameters["kind"]),
    axes=lambda node: [axes.leading(node.operands[0].ndim, len(node.parameters["lengths"]))],
)
