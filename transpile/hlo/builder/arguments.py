"""The argument types of the builder's operations, under the names of the operation-semantics seed."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import fields
from enum import Enum
from typing import Any, TypeGuard, TypeVar

from ...dataclass import dataclass
from ..attributes import PaddingDimension, WindowDimension
from ..shape_parser import shape_of_text
from ..shape_rules.common import refuse
from ..shapes import Shape

Choice = TypeVar("Choice", bound=Enum)


def integers(name: str, values: Iterable[int]) -> tuple[int, ...]:
    """Return constant integers; refuse (XP232) anything else, such as an op."""
    if isinstance(values, Iterable) and all(hasattr(value, "__index__") for value in values):
        return tuple(operator.index(value) for value in values)
    refuse("XP232", f"{name}: a sequence of constant integers is wanted, not {values!r}")


def integer(name: str, value: int) -> int:
    """Return a constant integer; refuse (XP232) anything else."""
    if is_integer(value):
        return operator.index(value)
    refuse("XP232", f"{name}: a constant integer is wanted, not {value!r}")


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer of Python or NumPy; a bool is not."""
    return hasattr(value, "__index__") and not isinstance(value, bool)


def bind_form(
    name: str, forms: Sequence[tuple[str, ...]], arguments: Sequence[Any], keywords: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of an operation with several forms, in the order of the form that they fit; refuse (XP201)
    if none fits.
    """
    for form in forms:
        named = dict(zip(form, arguments, strict=False)) | keywords
        if len(arguments) + len(keywords) == len(named) == len(form) and set(named) == set(form):
            return {parameter: named[parameter] for parameter in form}
    wanted = " or ".join(f"({', '.join(form)})" for form in forms)
    given = ", ".join([f"{len(arguments)} by position", *keywords])
    refuse("XP201", f"{name} takes {wanted}, but is given {given}")


def choice(name: str, choices: type[Choice], value: Choice | str) -> Choice:
    """Return a member of an enumeration, given as such or by its HLO text; refuse (XP203) anything else."""
    try:
        return choices(value)
    except ValueError:
        known = ", ".join(str(member) for member in choices)
        refuse("XP203", f"{name}: {value!r} is not a {choices.__name__}", hint=f"known: {known}")


Argument = TypeVar("Argument")


def expected(name: str, wanted: type[Argument], value: Argument) -> Argument:
    """Return an argument of a certain type, such as ``PaddingConfig``; refuse (XP232) anything else."""
    if isinstance(value, wanted):
        return value
    refuse("XP232", f"{name}: a {wanted.__name__} is wanted, not {value!r}")


def dimension_attributes(name: str, wanted: type[Any], numbers: Any) -> dict[str, Any]:
    """Return dimension numbers as the attributes of their names; those of batching only if there are any."""
    order = sorted((each.name for each in fields(wanted)), key="index_vector_dim".__eq__)  # which HLO writes last
    given = {key: getattr(expected(name, wanted, numbers), key) for key in order}
    return {
        key: integer(name, value)
        if key == "index_vector_dim"
        else integers(name, value) or (None if "batching" in key else ())
        for key, value in given.items()
    }


def as_shape(name: str, shape: Shape | str) -> Shape:
    """Return a shape, which may be given in HLO's notation: ``f32[2,3]``."""
    if isinstance(shape, str):
        return shape_of_text(shape)
    if isinstance(shape, Shape):
        return shape
    refuse("XP232", f"{name}: a shape is wanted, not {shape!r}", hint="make_shape(F32, [2, 3]) makes one")


class Padding(Enum):
    """The padding of a window: ``SAME`` keeps the size at stride 1, ``VALID`` adds nothing."""

    SAME = "SAME"
    VALID = "VALID"


class FftType(Enum):
    FFT = "FFT"
    IFFT = "IFFT"
    RFFT = "RFFT"
    IRFFT = "IRFFT"


class RandomAlgorithm(Enum):
    RNG_DEFAULT = "rng_default"
    RNG_THREE_FRY = "rng_three_fry"
    RNG_PHILOX = "rng_philox"


class Transpose(Enum):
    """The form of ``a`` in ``triangular_solve``: as it is, transposed, or its complex conjugate transposed."""

    NO_TRANSPOSE = "NO_TRANSPOSE"
    TRANSPOSE = "TRANSPOSE"
    ADJOINT = "ADJOINT"


class ChannelType(Enum):
    DEVICE_TO_DEVICE = "device to device"
    DEVICE_TO_HOST = "device to host"
    HOST_TO_DEVICE = "host to device"


@dataclass(frozen=True, slots=True)
class ChannelHandle:
    """The number that a ``send`` and its ``recv`` share."""

    handle: int
    type: ChannelType = ChannelType.DEVICE_TO_DEVICE

    @property
    def is_host_transfer(self) -> bool:
        return self.type is not ChannelType.DEVICE_TO_DEVICE


@dataclass(frozen=True, slots=True)
class ReplicaGroup:
    """Replicas that exchange data; their order is the order of the result."""

    replica_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DotDimensionNumbers:
    lhs_contracting_dimensions: Sequence[int] = ()
    rhs_contracting_dimensions: Sequence[int] = ()
    lhs_batch_dimensions: Sequence[int] = ()
    rhs_batch_dimensions: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class RaggedDotDimensionNumbers:
    """A dot's numbers, the one lhs dimension that is cut into groups, and the rhs dimension of the groups."""

    dot_dimension_numbers: DotDimensionNumbers
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class GatherDimensionNumbers:
    offset_dims: Sequence[int] = ()
    collapsed_slice_dims: Sequence[int] = ()
    start_index_map: Sequence[int] = ()
    index_vector_dim: int = 0
    operand_batching_dims: Sequence[int] = ()
    start_indices_batching_dims: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class ScatterDimensionNumbers:
    update_window_dims: Sequence[int] = ()
    inserted_window_dims: Sequence[int] = ()
    scatter_dims_to_operand_dims: Sequence[int] = ()
    index_vector_dim: int = 0
    input_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class PaddingConfigDimension:
    """The padding of one dimension; edges may be negative (a crop), interior padding comes first."""

    edge_padding_low: int = 0
    edge_padding_high: int = 0
    interior_padding: int = 0


@dataclass(frozen=True, slots=True)
class PaddingConfig:
    dimensions: Sequence[PaddingConfigDimension]

    def attribute(self) -> tuple[PaddingDimension, ...]:
        return tuple(
            PaddingDimension(*integers("pad", (d.edge_padding_low, d.edge_padding_high, d.interior_padding)))
            for d in self.dimensions
        )


def make_edge_padding_config(padding: Sequence[tuple[int, int]]) -> PaddingConfig:
    """Return a configuration with ``(low, high)`` edges and no interior padding."""
    return PaddingConfig(tuple(PaddingConfigDimension(low, high) for low, high in padding))


WindowPadding = Padding | str | Sequence[tuple[int, int]]


def make_padding(
    input_dimensions: Sequence[int], window_dimensions: Sequence[int], strides: Sequence[int], padding: Padding
) -> list[tuple[int, int]]:
    """Return the ``(low, high)`` padding of each dimension.

    ``SAME`` adds ``max((ceil(size / stride) - 1) * stride + window - size, 0)`` elements, the odd one at the high end.
    Source: operation-semantics seed, ReduceWindow and Conv.
    """
    if padding is Padding.VALID:
        return [(0, 0)] * len(input_dimensions)
    result = []
    for size, window, stride in zip(input_dimensions, window_dimensions, strides, strict=True):
        total = max((-(-size // stride) - 1) * stride + window - size, 0)
        result.append((total // 2, total - total // 2))
    return result


def pairs_of(name: str, what: str, values: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return pairs of integers; refuse (XP232) anything else. ``what`` is the name of a pair in the error."""
    pairs = [integers(name, pair) for pair in values]
    if any(len(pair) != 2 for pair in pairs):
        refuse("XP232", f"{name}: {what} pair is wanted in each place of {values!r}")
    return [(first, second) for first, second in pairs]


def make_window(
    name: str,
    base: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int] | None,
    padding: WindowPadding,
    base_dilations: Sequence[int] | None = None,
    window_dilations: Sequence[int] | None = None,
    reversal: Sequence[bool] | None = None,
) -> tuple[WindowDimension, ...]:
    """Return the window of an operation over an area of ``base`` elements; missing lists are all 1 (or false)."""
    sizes = integers(name, sizes)
    ones = (1,) * len(sizes)
    strides, base_dilations = integers(name, strides or ones), integers(name, base_dilations or ones)
    window_dilations, reversal = integers(name, window_dilations or ones), reversal or (False,) * len(sizes)
    for what, values in (
        ("elements of the operand's shape", base),
        ("strides", strides),
        ("base dilations", base_dilations),
        ("window dilations", window_dilations),
        ("reversal flags", reversal),
    ):
        if len(values) != len(sizes):
            refuse("XP216", f"{name}: a window of {len(sizes)} dimensions, but {len(values)} {what}")
    if any(stride < 1 for stride in strides):
        refuse("XP216", f"{name}: strides have to be positive: {list(strides)}")
    if isinstance(padding, Padding | str):
        pairs = make_padding(base, sizes, strides, choice(name, Padding, padding))
    else:
        pairs = pairs_of(name, "a (low, high)", padding)
    if len(pairs) != len(sizes):
        refuse("XP216", f"{name}: a window of {len(sizes)} dimensions, but padding for {len(pairs)}")
    return tuple(
        WindowDimension(size, strides[i], *pairs[i], base_dilations[i], window_dilations[i], bool(reversal[i]))
        for i, size in enumerate(sizes)
    )
