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

from ..attributes import ConvolutionDimensionNumbers as ConvolutionDimensionNumbers
from ..element_types import (
    BF16 as BF16,
    C64 as C64,
    C128 as C128,
    F4E2M1FN as F4E2M1FN,
    F8E3M4 as F8E3M4,
    F8E4M3 as F8E4M3,
    F8E4M3B11FNUZ as F8E4M3B11FNUZ,
    F8E4M3FN as F8E4M3FN,
    F8E4M3FNUZ as F8E4M3FNUZ,
    F8E5M2 as F8E5M2,
    F8E5M2FNUZ as F8E5M2FNUZ,
    F8E8M0FNU as F8E8M0FNU,
    F16 as F16,
    F32 as F32,
    F64 as F64,
    PRED as PRED,
    S1 as S1,
    S2 as S2,
    S4 as S4,
    S8 as S8,
    S16 as S16,
    S32 as S32,
    S64 as S64,
    U1 as U1,
    U2 as U2,
    U4 as U4,
    U8 as U8,
    U16 as U16,
    U32 as U32,
    U64 as U64,
)
from ..indexing import is_padding as is_padding, linear_index as linear_index, multi_index as multi_index
from ..layouts import (
    byte_size as byte_size,
    dimension_number as dimension_number,
    dimension_size as dimension_size,
    is_major_to_minor as is_major_to_minor,
    is_minor_to_major as is_minor_to_major,
    major_to_minor as major_to_minor,
    make_shape as make_shape,
    true_rank as true_rank,
)
from ..shape_parser import layout_of_text, shape_of_text
from ..shapes import (
    TOKEN as TOKEN,
    ArrayShape as ArrayShape,
    Layout as Layout,
    Shape as Shape,
    TupleShape as TupleShape,
    compatible as compatible,
)
from .arguments import (
    ChannelHandle as ChannelHandle,
    ChannelType as ChannelType,
    DotDimensionNumbers as DotDimensionNumbers,
    FftType as FftType,
    GatherDimensionNumbers as GatherDimensionNumbers,
    Padding as Padding,
    PaddingConfig as PaddingConfig,
    PaddingConfigDimension as PaddingConfigDimension,
    RaggedDotDimensionNumbers as RaggedDotDimensionNumbers,
    RandomAlgorithm as RandomAlgorithm,
    ReplicaGroup as ReplicaGroup,
    ScatterDimensionNumbers as ScatterDimensionNumbers,
    Transpose as Transpose,
    make_edge_padding_config as make_edge_padding_config,
    make_padding as make_padding,
)
from .arrays import ArrayOperations
from .communication import CommunicationOperations
from .contractions import (
    ContractionOperations,
    convolution_numbers as convolution_numbers,
    default_convolution_numbers as default_convolution_numbers,
)
from .control import ControlOperations
from .elementwise import ElementwiseOperations
from .op import XlaOp as XlaOp
from .reductions import ReductionOperations

parse_layout, parse_shape = layout_of_text, shape_of_text


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
