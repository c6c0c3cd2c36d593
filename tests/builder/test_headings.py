"""Every heading of the three documents on XLA's operations: which methods of the builder it names."""

from __future__ import annotations

import re

import pytest

from xla2py.transpile.hlo.builder.examples import operations

COMPARISONS = "eq ne ge gt le lt".split()
NAMED_LIKE_THEIR_METHODS = """
AfterAll AllGather AllReduce AllToAll BatchNormGrad BatchNormInference BatchNormTraining BitcastConvertType Broadcast
BroadcastInDim Call Cholesky Clamp Collapse CollectivePermute Conditional Conv ConvWithGeneralPadding ConvertElementType
CrossReplicaSum CustomCall Dot DotGeneral DynamicSlice DynamicUpdateSlice Fft Gather GetDimensionSize SetDimensionSize
GetTupleElement Infeed Iota Map OptimizationBarrier Pad Recv Reduce ReducePrecision ReduceScatter ReduceWindow ReplicaId
Reshape Rev RngNormal RngUniform RngBitGenerator Scatter Select SelectAndScatter Send Slice Sort Transpose
TriangularSolve Tuple
""".split()
OTHERS = {
    "Concatenate": "concat_in_dim",
    "Element-wise binary arithmetic operations": (
        "add sub mul div pow rem max min and_ or_ xor shift_left shift_right_arithmetic shift_right_logical atan2 "
        "complex"
    ),
    "Element-wise comparison operations": " ".join([*COMPARISONS, *(f"{name}_total_order" for name in COMPARISONS)]),
    "Element-wise unary functions": (
        "abs cbrt ceil clz cos erf exp expm1 floor imag is_finite log log1p logistic neg not_ population_count real "
        "round round_nearest_even rsqrt sign sin sqrt tan tanh"
    ),
    "Scheduling of channel instructions": "send_with_token recv_with_token",
    "While": "while_",
    "Structure of an XLA op": "parameter",
}


@pytest.mark.parametrize("heading", [*NAMED_LIKE_THEIR_METHODS, *OTHERS])
def test_a_heading_has_its_methods(heading: str) -> None:
    methods = OTHERS.get(heading, re.sub(r"(?<=[a-z])(?=[A-Z])", "_", heading).lower())
    assert set(methods.split()) <= set(operations())
