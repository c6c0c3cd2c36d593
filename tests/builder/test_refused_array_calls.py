"""Misuse of element-wise operations, tuples and array operations is refused at once, with the broken rule."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.refusals import Refused, assert_refused, identifiers
from xla2py.transpile.hlo.builder import (
    C64,
    F16,
    F32,
    F64,
    PRED,
    S8,
    S32,
    U32,
    PaddingConfig,
    PaddingConfigDimension,
    XlaBuilder,
    make_edge_padding_config,
    make_shape,
)
from xla2py.transpile.hlo.shapes import ArrayShape
from xla2py.transpile.hlo.source import HloVerificationError

REFUSED: Refused = [
    # broadcasting
    ("XP230", "add: f32[4] and f32[4,3] differ in rank, so broadcast_dimensions", lambda b, v: b.add(v.x, v.m)),
    ("XP230", "add: f32[4] and f32[4,3] differ in rank", lambda b, v: v.x + v.m),
    ("XP230", "2 broadcast_dimensions for the 1 dimensions of f32[4]", lambda b, v: b.add(v.x, v.m, [0, 1])),
    ("XP230", "broadcast dimension 2 is not in [0, 2)", lambda b, v: b.add(v.x, v.m, [2])),
    ("XP230", "broadcast dimension -1 is not in [0, 2)", lambda b, v: b.add(v.x, v.m, [-1])),
    ("XP230", "dimension 0 of f32[4] has 4 elements, dimension 1 of f32[4,3] has 3", lambda b, v: b.add(v.x, v.m, [1])),
    ("XP230", "broadcast_dimensions {1,0} must be strictly increasing", lambda b, v: b.mul(v.e, v.m, [1, 0])),
    ("XP230", "broadcast_dimensions {1,1} must be strictly increasing", lambda b, v: b.mul(v.e, v.m, [1, 1])),
    (
        "XP230",
        "operands of equal rank take no broadcast_dimensions but the identity",
        lambda b, v: b.sub(v.m, v.m, [1, 0]),
    ),
    ("XP213", "dimension 0 of f32[4] and f32[3] is neither equal nor 1", lambda b, v: b.add(v.x, v.m[0])),
    ("XP230", "1 broadcast_dimensions for f32[4,3]", lambda b, v: b.broadcast_in_dim(v.m, [4, 3], [0])),
    (
        "XP230",
        "dimension 1 has 3 elements, but result dimension 1 has 5",
        lambda b, v: b.broadcast_in_dim(v.m, [4, 5], [0, 1]),
    ),
    ("XP230", "{1,0} must be strictly increasing", lambda b, v: b.broadcast_in_dim(v.m, [3, 4], [1, 0])),
    ("XP230", "broadcast dimension 2 is not in [0, 2)", lambda b, v: b.broadcast_in_dim(v.m, [4, 3], [0, 2])),
    ("XP218", "broadcast: sizes cannot be negative: {2,-1}", lambda b, v: b.broadcast(v.x, [2, -1])),
    ("XP218", "reshape: sizes cannot be negative: {-2,-6}", lambda b, v: b.reshape(v.m, [-2, -6])),
    ("XP218", "parameter: sizes cannot be negative: {-1}", lambda b, v: b.parameter(99, ArrayShape(F32, (-1,)))),
    # element types
    ("XP212", "add: the element types of the operands differ: f32 and s32", lambda b, v: v.x + v.n),
    ("XP212", "differ: f32 and f16", lambda b, v: b.mul(v.x, v.h)),
    ("XP212", "2.5 cannot be a constant of type s32", lambda b, v: v.n + 2.5),
    ("XP212", "1j cannot be a constant of type f32", lambda b, v: v.x + 1j),
    ("XP212", "True cannot be a constant of type f32", lambda b, v: v.x * True),
    ("XP212", "f64 values cannot be a constant of type s32", lambda b, v: b.constant(np.array([1.5]), S32)),
    ("XP232", "a constant does not fit into s8: 300", lambda b, v: b.constant(300, S8)),
    ("XP232", "'f33' is not an element type", lambda b, v: b.convert_element_type(v.x, "f33")),
    ("XP232", "is not an element type", lambda b, v: b.constant(np.array(["text"]))),
    ("XP211", "abs takes signed integer, float or complex elements, not pred", lambda b, v: b.abs(v.q)),
    ("XP211", "floor takes floating-point elements, not c64", lambda b, v: b.floor(v.c)),
    ("XP211", "cosine takes floating-point or complex elements, not s32", lambda b, v: b.cos(v.n)),
    ("XP211", "not takes pred or integer elements, not f32", lambda b, v: ~v.x),
    ("XP211", "negate takes numeric elements, not pred", lambda b, v: -v.q),
    ("XP211", "popcnt takes integer elements, not f32", lambda b, v: b.population_count(v.x)),
    ("XP211", "count-leading-zeros takes integer elements, not pred", lambda b, v: b.clz(v.q)),
    ("XP211", "is-finite takes floating-point elements, not c64", lambda b, v: b.is_finite(v.c)),
    ("XP211", "and takes pred or integer elements, not f32", lambda b, v: v.x & v.x),
    ("XP211", "subtract takes numeric elements, not pred", lambda b, v: v.q - v.q),
    ("XP211", "shift-left takes integer elements, not f32", lambda b, v: v.x << 1),
    ("XP211", "atan2 takes floating-point or complex elements, not s32", lambda b, v: b.atan2(v.n, v.n)),
    ("XP211", "complex takes f32 or f64 elements, not f16", lambda b, v: b.complex(v.h, v.h)),
    ("XP211", "complex numbers have no order", lambda b, v: v.c < v.c),
    ("XP211", "type=TOTALORDER does not fit c64", lambda b, v: b.eq_total_order(v.c, v.c)),
    ("XP211", "real takes floating-point or complex elements, not s32", lambda b, v: b.real(v.n)),
    ("XP211", "between complex and real types: c64 to f64", lambda b, v: b.bitcast_convert_type(v.c, F64)),
    ("XP211", "c64 has no smallest or largest value", lambda b, v: b.min_value(C64)),
    ("XP213", "from f32 to f64 the last dimension has to be 2", lambda b, v: b.bitcast_convert_type(v.x, F64)),
    (
        "XP211",
        "the random bits have to be unsigned integers, not s32",
        lambda b, v: b.stochastic_convert_type(v.x, v.n, F16),
    ),
    (
        "XP218",
        "exponent_bits has to be at least 1, not 0",
        lambda b, v: b.reduce_precision(v.x, exponent_bits=0, mantissa_bits=3),
    ),
    (
        "XP218",
        "mantissa_bits cannot be negative",
        lambda b, v: b.reduce_precision(v.x, exponent_bits=5, mantissa_bits=-1),
    ),
    # kinds of operands
    ("XP210", "add: an array is wanted, not (f32[4], s32[])", lambda b, v: b.add(v.pair, v.pair)),
    ("XP210", "negate: operand 0 has to be an array, but is token[]", lambda b, v: b.neg(v.t)),
    ("XP231", "belongs to the builder other, not to refused", lambda b, v: v.x + XlaBuilder("other").zero(F32)),
    (
        "XP231",
        "x belongs to the builder refused, not to reducer",
        lambda b, v: b.reduce(v.x, 0.0, lambda a, c: a + v.x, [0]),
    ),
    ("XP232", "None is neither an operation nor a value for a constant", lambda b, v: b.neg(None)),
    ("XP232", "'x' is neither an operation nor a value for a constant", lambda b, v: b.neg("x")),
    ("XP205", "parameter 0 is there already", lambda b, v: b.parameter(0, make_shape(F32, []), "again")),
    ("XP205", "parameter -1 is negative", lambda b, v: b.parameter(-1, make_shape(F32, []))),
    ("XP232", "a computation needs at least one operation", lambda b, v: XlaBuilder("empty").build()),
    # tuples
    ("XP219", "index 2 of a tuple of 2 elements", lambda b, v: v.pair[2]),
    ("XP219", "index -1 of a tuple of 2 elements", lambda b, v: b.get_tuple_element(v.pair, -1)),
    ("XP219", "the index has to be a constant integer, not <XlaOp i", lambda b, v: v.pair[v.i]),
    ("XP210", "operand 0 has to be a tuple", lambda b, v: b.get_tuple_element(v.x, 0)),
    # three operands
    ("XP212", "clamp: the element types of the operands differ", lambda b, v: b.clamp(v.i, v.x, v.i)),
    (
        "XP213",
        "clamp: the shapes of the operand and bound differ: f32[4] and f32[3]",
        lambda b, v: b.clamp(v.m[0], v.x, 1.0),
    ),
    ("XP211", "select takes pred elements, not s32", lambda b, v: b.select(v.n, v.x, v.x)),
    ("XP213", "the shapes of the branches and predicate differ", lambda b, v: b.select(v.q, v.m, v.m)),
    ("XP212", "the element types of the branches differ", lambda b, v: b.select(v.q, v.x, v.n)),
    ("XP213", "tuples need a scalar predicate, not pred[4]", lambda b, v: b.select(v.q, v.pair, v.pair)),
    ("XP213", "the branches have to have one shape", lambda b, v: b.select(v.p, v.pair, b.tuple([v.x]))),
    # shape
    ("XP213", "f32[4,3] has 12 elements, f32[5,2] has 10", lambda b, v: b.reshape(v.m, [5, 2])),
    ("XP215", "{1,1} is not a permutation of the dimensions of f32[4,3]", lambda b, v: b.reshape(v.m, [1, 1], [12])),
    ("XP213", "dynamic dimension 0 of f32[<=4,6] is split or merged", lambda b, v: b.reshape(v.d, [24])),
    ("XP215", "{0,2} are not consecutive dimensions in order", lambda b, v: b.collapse(v.e, [0, 2])),
    ("XP215", "{1,0} are not consecutive dimensions in order", lambda b, v: b.collapse(v.e, [1, 0])),
    ("XP215", "{2,3} are not dimensions of f32[2,3,4]", lambda b, v: b.collapse(v.e, [2, 3])),
    ("XP215", "{0,0} is not a permutation of the dimensions", lambda b, v: b.transpose(v.m, [0, 0])),
    ("XP215", "dimension 2 is not in [0, 2)", lambda b, v: b.rev(v.m, [2])),
    ("XP215", "{1,1} names a dimension twice", lambda b, v: b.rev(v.m, [1, 1])),
    ("XP201", "concatenate takes at least 1 operand, not 0", lambda b, v: b.concat_in_dim([], 0)),
    ("XP215", "concatenate: dimension 0 is not in [0, 0)", lambda b, v: b.concat_in_dim([v.s, v.s], 0)),
    ("XP215", "concatenate: dimension -1 is not in [0, 1)", lambda b, v: b.concat_in_dim([v.x, v.x], -1)),
    ("XP213", "f32[4] and f32[4,3] differ outside dimension 0", lambda b, v: b.concat_in_dim([v.x, v.m], 0)),
    ("XP212", "the element types of the operands differ", lambda b, v: b.concat_in_dim([v.x, v.n], 0)),
    ("XP214", "1 ranges for f32[4,3]", lambda b, v: b.slice(v.m, [0], [2])),
    ("XP214", "2 starts, 1 limits and 2 strides", lambda b, v: b.slice(v.m, [0, 0], [2])),
    ("XP218", "[2:5] is not within the 4 elements of dimension 0", lambda b, v: b.slice(v.x, [2], [5])),
    ("XP218", "[3:2] is not within", lambda b, v: b.slice(v.x, [3], [2])),
    ("XP218", "the stride of dimension 0 is 0, not positive", lambda b, v: b.slice(v.x, [0], [2], [0])),
    ("XP218", "the stride of dimension 0 is -1", lambda b, v: v.x[::-1]),
    ("XP218", "index 4 of the 4 elements of dimension 0", lambda b, v: v.x[4]),
    ("XP214", "3 indices for f32[4,3]", lambda b, v: v.m[0, 0, 0]),
    ("XP232", "is not a constant index", lambda b, v: v.x[v.i]),
    ("XP215", "slice_in_dim: dimension 1 is not in [0, 1)", lambda b, v: b.slice_in_dim(v.x, 0, 1, 1, 1)),
    ("XP201", "1 start indices for f32[4,3]", lambda b, v: b.dynamic_slice(v.m, [v.i], [1, 1])),
    ("XP211", "start indices have to be integers, not f32", lambda b, v: b.dynamic_slice(v.x, [v.s], [1])),
    (
        "XP212",
        "the element types of the start indices differ",
        lambda b, v: b.dynamic_slice(v.m, [v.i, b.zero(U32)], [1, 1]),
    ),
    ("XP218", "a slice of 5 from the 4 elements", lambda b, v: b.dynamic_slice(v.x, [v.i], [5])),
    ("XP214", "2 slice sizes for f32[4]", lambda b, v: b.dynamic_slice(v.x, [v.i], [1, 1])),
    ("XP213", "an update of 4 for the 3 elements", lambda b, v: b.dynamic_update_slice(v.m[0], v.x, [v.i])),
    ("XP214", "differ in rank", lambda b, v: b.dynamic_update_slice(v.m, v.x, [v.i, v.i])),
    (
        "XP212",
        "the element types of the operand and update differ",
        lambda b, v: b.dynamic_update_slice(v.x, v.n, [v.i]),
    ),
    ("XP214", "padding for 1 dimensions of f32[4,3]", lambda b, v: b.pad(v.m, 0.0, make_edge_padding_config([(1, 1)]))),
    (
        "XP213",
        "the padding value has to be a scalar, not f32[4]",
        lambda b, v: b.pad(v.x, v.x, make_edge_padding_config([(1, 1)])),
    ),
    (
        "XP212",
        "the element types of the operand and padding value differ",
        lambda b, v: b.pad_in_dim(v.x, v.i, 0, 1, 1),
    ),
    ("XP218", "gives dimension 0 the negative size -1", lambda b, v: b.pad_in_dim(v.x, 0.0, 0, -3, -2)),
    (
        "XP218",
        "interior padding cannot be negative",
        lambda b, v: b.pad(v.x, 0.0, PaddingConfig([PaddingConfigDimension(0, 0, -1)])),
    ),
    ("XP215", "pad_in_dim: dimension 1 is not in [0, 1)", lambda b, v: b.pad_in_dim(v.x, 0.0, 1, 0, 0)),
    ("XP215", "iota_dimension 1 is not in [0, 1)", lambda b, v: b.iota(make_shape(S32, [4]), 1)),
    ("XP214", "the result needs at least 1 dimensions", lambda b, v: b.iota(make_shape(S32, []), 0)),
    ("XP211", "iota gives numbers, not pred", lambda b, v: b.iota(PRED, 4)),
    ("XP215", "get-dimension-size: dimension 1 is not in [0, 1)", lambda b, v: b.get_dimension_size(v.x, 1)),
    ("XP213", "the size has to be s32[], not f32[]", lambda b, v: b.set_dimension_size(v.x, v.s, 0)),
    (
        "XP215",
        "remove_dynamic_dimension: dimension 5 is not in [0, 2)",
        lambda b, v: b.remove_dynamic_dimension(v.d, 5),
    ),
    ("XP214", "1 bounds, but 2 flags", lambda b, v: b.dynamic_reshape(v.x, [v.i], [4], [True, False])),
    (
        "XP201",
        "2 result dimensions need as many sizes, not 1",
        lambda b, v: b.dynamic_reshape(v.x, [v.i], [2, 2], [True, False]),
    ),
]


@pytest.mark.parametrize(("code", "message", "call"), REFUSED, ids=identifiers(REFUSED))
def test_refused(code, message, call) -> None:
    assert_refused(code, message, call)


def test_a_refused_call_leaves_the_builder_as_it_was() -> None:
    b = XlaBuilder("kept")
    x = b.parameter(0, make_shape(F32, [4]), "x")
    with pytest.raises(HloVerificationError):
        b.cholesky(x, lower=True)
    module = b.build()
    assert module.entry.root is x.instruction


def test_an_op_has_no_truth_value() -> None:
    x = XlaBuilder("truth").zero(F32)
    with pytest.raises(TypeError, match="no truth value"):
        bool(x < 1.0)
