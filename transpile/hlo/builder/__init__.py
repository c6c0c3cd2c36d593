"""XlaBuilder: HLO built by hand, with XLA's own names and rules.

Every operation of the operation-semantics seed is a method in Python spelling; wrong arguments raise
``HloVerificationError`` at once, with the rule they break. :meth:`XlaBuilder.build` returns an ``HloModule``.

>>> from xla2py.transpile.hlo.builder import F32, XlaBuilder, make_shape
>>> b = XlaBuilder("axpy")
>>> x = b.parameter(0, make_shape(F32, [4]), "x")
>>> y = b.parameter(1, make_shape(F32, [4]), "y")
>>> _ = 2.0 * x + y
>>> b.build()
<HloModule axpy: 1 computations>
"""

from __future__ import annotations

from ..attributes import ConvolutionDimensionNumbers
from ..element_types import (
    BF16,
    C64,
    C128,
    F4E2M1FN,
    F8E3M4,
    F8E4M3,
    F8E4M3B11FNUZ,
    F8E4M3FN,
    F8E4M3FNUZ,
    F8E5M2,
    F8E5M2FNUZ,
    F8E8M0FNU,
    F16,
    F32,
    F64,
    PRED,
    S1,
    S2,
    S4,
    S8,
    S16,
    S32,
    S64,
    U1,
    U2,
    U4,
    U8,
    U16,
    U32,
    U64,
)
from ..indexing import is_padding, linear_index, multi_index
from ..layouts import (
    byte_size,
    dimension_number,
    dimension_size,
    is_major_to_minor,
    is_minor_to_major,
    major_to_minor,
    make_shape,
    true_rank,
)
from ..shape_parser import layout_of_text as parse_layout
from ..shape_parser import shape_of_text as parse_shape
from ..shapes import TOKEN, ArrayShape, Layout, Shape, TupleShape, compatible
from .arguments import (
    ChannelHandle,
    ChannelType,
    DotDimensionNumbers,
    FftType,
    GatherDimensionNumbers,
    Padding,
    PaddingConfig,
    PaddingConfigDimension,
    RaggedDotDimensionNumbers,
    RandomAlgorithm,
    ReplicaGroup,
    ScatterDimensionNumbers,
    Transpose,
    make_edge_padding_config,
    make_padding,
)
from .arrays import ArrayOperations
from .communication import CommunicationOperations
from .contractions import ContractionOperations, convolution_numbers, default_convolution_numbers
from .control import ControlOperations
from .elementwise import ElementwiseOperations
from .op import XlaOp
from .reductions import ReductionOperations


class XlaBuilder(
    ElementwiseOperations,
    ArrayOperations,
    ReductionOperations,
    ContractionOperations,
    ControlOperations,
    CommunicationOperations,
):
    """A builder of one computation. ``name`` is the name of its module.

    Operands are :class:`XlaOp` objects of the same builder, or numbers and arrays, which become constants. Called
    computations are Python functions, other builders, or computations.
    """


__all__ = [
    "BF16",
    "C64",
    "C128",
    "F4E2M1FN",
    "F8E3M4",
    "F8E4M3",
    "F8E4M3B11FNUZ",
    "F8E4M3FN",
    "F8E4M3FNUZ",
    "F8E5M2",
    "F8E5M2FNUZ",
    "F8E8M0FNU",
    "F16",
    "F32",
    "F64",
    "PRED",
    "S1",
    "S2",
    "S4",
    "S8",
    "S16",
    "S32",
    "S64",
    "TOKEN",
    "U1",
    "U2",
    "U4",
    "U8",
    "U16",
    "U32",
    "U64",
    "ArrayShape",
    "ChannelHandle",
    "ChannelType",
    "ConvolutionDimensionNumbers",
    "DotDimensionNumbers",
    "FftType",
    "GatherDimensionNumbers",
    "Layout",
    "Padding",
    "PaddingConfig",
    "PaddingConfigDimension",
    "RaggedDotDimensionNumbers",
    "RandomAlgorithm",
    "ReplicaGroup",
    "ScatterDimensionNumbers",
    "Shape",
    "Transpose",
    "TupleShape",
    "XlaBuilder",
    "XlaOp",
    "byte_size",
    "compatible",
    "convolution_numbers",
    "default_convolution_numbers",
    "dimension_number",
    "dimension_size",
    "is_major_to_minor",
    "is_minor_to_major",
    "is_padding",
    "linear_index",
    "major_to_minor",
    "make_edge_padding_config",
    "make_padding",
    "make_shape",
    "multi_index",
    "parse_layout",
    "parse_shape",
    "true_rank",
]
