"""Typed values of HLO attributes, and the kinds of attributes that opcodes have.

Attributes that are plain numbers, flags, strings, tuples of ints, computations or shapes are Python's own ints, bools,
strs, tuples, :class:`~.ir.Computation` and :class:`~.shapes.Shape`; the rest are the classes below.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from ..dataclass import dataclass


@dataclass(frozen=True, slots=True)
class WindowDimension:
    """One dimension of a window: HLO's ``size stride pad lhs_dilate rhs_dilate rhs_reversal``."""

    size: int
    stride: int = 1
    padding_low: int = 0
    padding_high: int = 0
    base_dilation: int = 1  # lhs_dilate
    window_dilation: int = 1  # rhs_dilate
    window_reversal: bool = False  # rhs_reversal

    @property
    def dilated_size(self) -> int:
        return 0 if self.size == 0 else (self.size - 1) * self.window_dilation + 1

    def output_size(self, input_size: int) -> int:
        """Return the number of positions of this window over ``input_size`` elements (XLA's ``StridedBound``)."""
        dilated = 0 if input_size == 0 else (input_size - 1) * self.base_dilation + 1
        padded = dilated + self.padding_low + self.padding_high
        if padded <= 0 or self.dilated_size > padded:
            return 0
        return (padded - self.dilated_size) // self.stride + 1


Window = tuple[WindowDimension, ...]


@dataclass(frozen=True, slots=True)
class ConvolutionDimensionNumbers:
    """``dim_labels=b01f_01io->b01f``: the role of each dimension of each array."""

    input_batch: int
    input_feature: int
    input_spatial: tuple[int, ...]
    kernel_input_feature: int
    kernel_output_feature: int
    kernel_spatial: tuple[int, ...]
    output_batch: int
    output_feature: int
    output_spatial: tuple[int, ...]
    text: str = ""  # as read, with ``?`` labels


@dataclass(frozen=True, slots=True)
class PaddingDimension:
    """``low_high_interior`` of one dimension; low and high may be negative (a crop)."""

    low: int
    high: int
    interior: int = 0


@dataclass(frozen=True, slots=True)
class SliceDimension:
    """``[start:limit:stride]`` of one dimension."""

    start: int
    limit: int
    stride: int = 1


@dataclass(frozen=True, slots=True)
class ReplicaGroups:
    """``replica_groups`` in any notation. ``groups`` is the expanded list, ``text`` the notation as read."""

    groups: tuple[tuple[int, ...], ...]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Raw:
    """An attribute kept word for word: backend_config, sharding, origin, sparsity_config, .. (balanced text)."""

    text: str


class AttributeKind(Enum):
    """The form of an attribute in HLO text, and its Python value."""

    INTEGER = "integer"  # int
    INTEGERS = "integers"  # tuple[int, ...]  {0,1}
    BOOL = "bool"  # bool
    BOOLS = "bools"  # tuple[bool, ...]  {true,false}
    FLOAT = "float"  # float
    WORD = "word"  # str, one of `choices` if given: LT, kLoop, rng_uniform
    STRING = "string"  # str, quoted, unescaped
    COMPUTATION = "computation"  # Computation
    COMPUTATIONS = "computations"  # tuple[Computation, ...]
    WINDOW = "window"  # Window
    DIM_LABELS = "dim_labels"  # ConvolutionDimensionNumbers
    PADDING = "padding"  # tuple[PaddingDimension, ...]
    SLICE = "slice"  # tuple[SliceDimension, ...]
    REPLICA_GROUPS = "replica_groups"  # ReplicaGroups
    PAIRS = "pairs"  # tuple[tuple[int, int], ...]
    PRECISIONS = "precisions"  # tuple[str, ...]  {highest,default}
    SHAPE = "shape"  # Shape
    SHAPES = "shapes"  # tuple[Shape, ...]
    LITERAL = "literal"  # numpy array or tuple of them
    INSTRUCTIONS = "instructions"  # tuple[Instruction, ...]  control-predecessors
    RAW = "raw"  # Raw: balanced braces or a quoted string, kept as written


_NO_DEFAULT = object()


@dataclass(frozen=True, slots=True)
class AttributeSpec:
    """One attribute of an opcode: its kind, its default if absent, the words it accepts.

    ``is_note`` marks an attribute that tells a compiler how to compute, not what.
    """

    kind: AttributeKind
    default: Any = _NO_DEFAULT
    choices: tuple[str, ...] = ()
    is_note: bool = False

    @property
    def is_required(self) -> bool:
        return self.default is _NO_DEFAULT

    def default_value(self, attribute: str, opcode: str) -> Any:
        if self.is_required:
            raise KeyError(f"{opcode} has no {attribute}")
        return self.default
