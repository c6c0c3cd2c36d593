"""Misuse of reductions, products, control and communication is refused at once, with the broken rule."""

from __future__ import annotations

import pytest

from xla2py.tests.builder.refusals import Refused, add, assert_refused, computation, identifiers, less
from xla2py.transpile.hlo.builder import (
    C64,
    F32,
    F64,
    S8,
    S32,
    U32,
    ChannelHandle,
    DotDimensionNumbers,
    FftType,
    GatherDimensionNumbers,
    Padding,
    RaggedDotDimensionNumbers,
    RandomAlgorithm,
    ScatterDimensionNumbers,
    XlaBuilder,
    convolution_numbers,
    make_shape,
)
from xla2py.transpile.hlo.shapes import TupleShape
from xla2py.transpile.hlo.source import HloVerificationError

DOT = DotDimensionNumbers
ROWS = GatherDimensionNumbers([1], [0], [0], index_vector_dim=1)
PUT = ScatterDimensionNumbers([1], [0], [0], index_vector_dim=1)

REFUSED: Refused = [
    # reductions
    (
        "XP217",
        "the reducer negated has to take 2 parameters",
        lambda b, v: b.reduce(v.x, 0.0, computation(lambda a: -a), [0]),
    ),
    ("XP217", "does not fit the reducer less", lambda b, v: b.reduce(v.x, 0.0, less, [0])),
    ("XP217", "init value 0 (s32[]) does not fit the reducer", lambda b, v: b.reduce(v.x, v.i, add, [0])),
    ("XP217", "init value 0 (f32[4]) does not fit the reducer", lambda b, v: b.reduce(v.x, v.x, add, [0])),
    ("XP215", "reduce: dimension 1 is not in [0, 1)", lambda b, v: b.reduce(v.x, 0.0, add, [1])),
    ("XP215", "{0,0} names a dimension twice", lambda b, v: b.reduce(v.x, 0.0, add, [0, 0])),
    ("XP201", "2 arrays to reduce, but 1 init values", lambda b, v: b.reduce([v.x, v.n], [0.0], add, [0])),
    (
        "XP213",
        "the shapes of the operands differ",
        lambda b, v: b.reduce([v.x, v.m[0]], [0.0, 0.0], lambda *a: a[:2], [0]),
    ),
    ("XP232", "a computation, a builder or a function is wanted, not 3", lambda b, v: b.reduce(v.x, 0.0, 3, [0])),
    (
        "XP216",
        "a window of 1 dimensions, but 2 elements of the operand's shape",
        lambda b, v: b.reduce_window(v.m, 0.0, add, [2], [1], Padding.VALID),
    ),
    ("XP216", "the window's size in dimension 0 is 0", lambda b, v: b.reduce_window(v.x, 0.0, add, [0], [1], [(0, 0)])),
    ("XP216", "strides have to be positive: [0]", lambda b, v: b.reduce_window(v.x, 0.0, add, [2], [0], Padding.SAME)),
    ("XP216", "but 2 strides", lambda b, v: b.reduce_window(v.x, 0.0, add, [2], [1, 1], Padding.VALID)),
    ("XP216", "but padding for 2", lambda b, v: b.reduce_window(v.x, 0.0, add, [2], [1], [(0, 0), (0, 0)])),
    (
        "XP213",
        "the window takes {2} places, but the source is f32[3]",
        lambda b, v: b.select_and_scatter(v.x, less, [2], [2], Padding.VALID, v.m[0], 0.0, add),
    ),
    (
        "XP217",
        "select reducer has to give pred[]",
        lambda b, v: b.select_and_scatter(v.x, computation(add, 2), [2], [2], Padding.VALID, v.x[:2], 0.0, add),
    ),
    ("XP217", "comparator add has to give pred[], not f32[]", lambda b, v: b.sort(v.x, add)),
    (
        "XP217",
        "comparator reducer has to take 4 parameters, but takes 2",
        lambda b, v: b.sort([v.x, v.n], computation(less, 2)),
    ),
    ("XP213", "the shapes of the operands differ", lambda b, v: b.sort([v.x, v.m[0]], lambda a, c, *_: a < c)),
    ("XP215", "sort: dimension 1 is not in [0, 1)", lambda b, v: b.sort(v.x, less, 1)),
    ("XP218", "k=5 of 4 elements", lambda b, v: b.top_k(v.x, 5)),
    ("XP217", "has to give a scalar, not (f32[], f32[])", lambda b, v: b.map([v.x], lambda a: (a, a))),
    ("XP215", "goes over all dimensions of f32[4,3], not {0}", lambda b, v: b.map([v.m], lambda a: a, [0])),
    ("XP215", "scan: dimension 1 is not in [0, 1)", lambda b, v: b.scan(v.x, v.s, lambda a, c: (a, c), 1)),
    ("XP217", "has to give back carries as it takes them", lambda b, v: b.scan(v.x, v.i, lambda a, c: (a, a))),
    ("XP217", "reducer: the function is called with 2 arguments", lambda b, v: b.reduce(v.x, 0.0, lambda a: a, [0])),
    ("XP217", "body: the function is called with 1 arguments", lambda b, v: b.while_(lambda i: i < 3, add, v.i)),
    # gather and scatter
    ("XP211", "indices have to be integers, not f32", lambda b, v: b.gather(v.m, v.x, ROWS, [1, 3])),
    (
        "XP215",
        "index_vector_dim 2 is not in [0, 1]",
        lambda b, v: b.gather(v.m, v.n, GatherDimensionNumbers([1], [0], [0], index_vector_dim=2), [1, 3]),
    ),
    ("XP214", "slice_sizes {1} has to give a size for each", lambda b, v: b.gather(v.m, v.n, ROWS, [1])),
    ("XP218", "slice size 4 in dimension 1 of 3 elements", lambda b, v: b.gather(v.m, v.n, ROWS, [1, 4])),
    ("XP218", "dimension 0 is removed, so its slice size is 1, not 2", lambda b, v: b.gather(v.m, v.n, ROWS, [2, 3])),
    (
        "XP215",
        "start_index_map {0,1} has to name 1 dimensions",
        lambda b, v: b.gather(v.m, v.n, GatherDimensionNumbers([1], [0], [0, 1], index_vector_dim=1), [1, 3]),
    ),
    (
        "XP215",
        "offset_dims 5 is not in [0, 2)",
        lambda b, v: b.gather(v.m, v.n, GatherDimensionNumbers([5], [0], [0], index_vector_dim=1), [1, 3]),
    ),
    (
        "XP215",
        "the operand has 2 dimensions, but 1 offset_dims, 0 collapsed",
        lambda b, v: b.gather(v.m, v.n, GatherDimensionNumbers([1], [], [0], index_vector_dim=1), [1, 3]),
    ),
    (
        "XP215",
        "dimension 0 is both in operand_batching_dims and in start_index_map",
        lambda b, v: b.gather(v.m, v.n, GatherDimensionNumbers([1], [], [0], 1, [0], [0]), [1, 3]),
    ),
    (
        "XP214",
        "updates need 1 scatter and 1 window dimensions, but are f32[4]",
        lambda b, v: b.scatter(v.m, v.n, v.x, add, PUT),
    ),
    (
        "XP213",
        "the updates' scatter dimensions {2} and the indices' {4} differ",
        lambda b, v: b.scatter(v.m, v.n, v.m[:2], add, PUT),
    ),
    (
        "XP215",
        "update_window_dims 3 is not in [0, 2)",
        lambda b, v: b.scatter(v.m, v.n, v.m, add, ScatterDimensionNumbers([3], [0], [0], index_vector_dim=1)),
    ),
    ("XP217", "does not fit the reducer", lambda b, v: b.scatter(v.m, v.n, v.m, less, PUT)),
    # normalisation
    ("XP215", "feature_index 2 is not in [0, 2)", lambda b, v: b.batch_norm_training(v.m, v.m[0], v.m[0], 0.1, 2)),
    (
        "XP213",
        "operand 1 has to be f32[4], one value a feature",
        lambda b, v: b.batch_norm_training(v.m, v.m[0], v.m[0], 0.1, 0),
    ),
    ("XP211", "takes floating-point elements, not s32", lambda b, v: b.batch_norm_training(v.n, v.n, v.n, 0.1, 0)),
    # products
    (
        "XP213",
        "contracting dimension 0 of f32[4] has 4 elements, dimension 0 of f32[3] has 3",
        lambda b, v: v.x @ v.m[0],
    ),
    ("XP214", "the lhs has to be a vector or a matrix, not f32[2,3,4]", lambda b, v: v.e @ v.x),
    ("XP214", "the rhs has to be a vector or a matrix, not f32[]", lambda b, v: v.x @ v.s),
    (
        "XP215",
        "lhs_contracting_dims {1} and rhs_contracting_dims {} differ in length",
        lambda b, v: b.dot_general(v.m, v.m, DOT([1], [])),
    ),
    (
        "XP215",
        "lhs batch and contracting dimension 2 is not in [0, 2)",
        lambda b, v: b.dot_general(v.m, v.m, DOT([2], [0])),
    ),
    ("XP215", "{0,0} names a dimension twice", lambda b, v: b.dot_general(v.m, v.m, DOT([0], [0], [0], [1]))),
    (
        "XP213",
        "batch dimension 0 of f32[4,3] has 4 elements",
        lambda b, v: b.dot_general(v.m, v.m, DOT([], [], [0], [1])),
    ),
    ("XP211", "the result type s8 is narrower", lambda b, v: b.dot(v.n, v.n, preferred_element_type=S8)),
    (
        "XP215",
        "lhs_ragged_dims has to name one dimension",
        lambda b, v: b.ragged_dot(v.m, v.e, v.n, RaggedDotDimensionNumbers(DOT([1], [1]), [])),
    ),
    (
        "XP213",
        "4 input features, but the kernel takes 2 in each of 1 groups",
        lambda b, v: b.conv(v.img, v.k, [1, 1], Padding.SAME),
    ),
    (
        "XP213",
        "the output features, 6, do not divide into 4 groups",
        lambda b, v: b.conv(v.img, b.slice_in_dim(v.k, 0, 1, 1, 1), [1, 1], Padding.SAME, feature_group_count=4),
    ),
    (
        "XP218",
        "feature and batch groups exclude each other",
        lambda b, v: b.conv(v.img, v.k, [1, 1], Padding.SAME, feature_group_count=2, batch_group_count=2),
    ),
    (
        "XP216",
        "a window of 2 dimensions, but 1 strides",
        lambda b, v: b.conv(v.img, v.k, [1], Padding.SAME, feature_group_count=2),
    ),
    (
        "XP214",
        "the rhs needs 4 dimensions, but is f32[2,3,4]",
        lambda b, v: b.conv(v.img, v.e, [1, 1], [(0, 0), (0, 0)]),
    ),
    ("XP214", "the lhs needs at least 2 dimensions", lambda b, v: b.conv(v.x, v.k, [], [])),
    (
        "XP215",
        "do not name each of 4 dimensions once",
        lambda b, v: b.conv_general(
            v.img, v.k, [1, 1], [(0, 0), (0, 0)], convolution_numbers((0, 0, [2, 3]), (1, 0, [2, 3]), (0, 1, [2, 3]))
        ),
    ),
    ("XP211", "fft takes f32 or f64 elements, not f16", lambda b, v: b.fft(v.h, FftType.RFFT, [4])),
    ("XP211", "fft takes complex elements, not f32", lambda b, v: b.fft(v.x, FftType.IFFT, [4])),
    ("XP213", "RFFT of length {5} wants the last sizes {5}", lambda b, v: b.fft(v.x, FftType.RFFT, [5])),
    ("XP218", "transforms 1 to 3 dimensions, not 0", lambda b, v: b.fft(v.c, FftType.FFT, [])),
    ("XP213", "the last two dimensions have to be equal: f32[4,3]", lambda b, v: b.cholesky(v.m, lower=True)),
    (
        "XP213",
        "a has 3 columns, but b has 4 rows",
        lambda b, v: b.triangular_solve(v.m[:3], v.m, left_side=True, lower=True),
    ),
    ("XP214", "a and b differ in rank", lambda b, v: b.triangular_solve(v.m[:3], v.m[0], left_side=True, lower=True)),
    # control
    ("XP217", "has to take 3 parameters, but takes 2", lambda b, v: b.call(computation(add, 2), [v.s] * 3)),
    (
        "XP217",
        "parameter 0 of the computation reducer is f32[], but the operand is s32[]",
        lambda b, v: b.call(computation(add, 2), [v.i, v.i]),
    ),
    (
        "XP217",
        "the condition condition has to give pred[], not s32[]",
        lambda b, v: b.while_(lambda i: i, lambda i: i + 1, v.i),
    ),
    ("XP217", "has to give back what it takes, s32[]", lambda b, v: b.while_(lambda i: i < 3, lambda i: i < 3, v.i)),
    ("XP213", "two branches are chosen by pred[]", lambda b, v: b.conditional(v.i, v.x, add, v.x, add)),
    ("XP213", "chooses by pred[] or s32[], not by f32[]", lambda b, v: b.conditional(v.s, [lambda a: a], [v.x])),
    ("XP201", "2 branches, but 1 operands", lambda b, v: b.conditional(v.i, [lambda a: a, lambda a: a], [v.x])),
    ("XP202", "needs at least one branch", lambda b, v: b.conditional(v.i, [], [])),
    ("XP201", "conditional takes (pred, true_operand", lambda b, v: b.conditional(v.p, v.x)),
    (
        "XP217",
        "branch 1, branch, gives pred[4], but branch 0 gives f32[4]",
        lambda b, v: b.conditional(v.p, v.x, lambda a: a, v.x, lambda a: a < 0.0),
    ),
    ("XP210", "operand 0 has to be token[], not f32[4]", lambda b, v: b.after_all([v.x])),
    # random numbers
    (
        "XP213",
        "the parameters have to be scalars, not f32[4]",
        lambda b, v: b.rng_uniform(v.x, v.x, make_shape(F32, [4])),
    ),
    ("XP211", "rng takes floating-point elements, not s32", lambda b, v: b.rng_normal(v.i, v.i, make_shape(S32, [4]))),
    (
        "XP204",
        "rng gives f32[4], but is declared as f64[4]",
        lambda b, v: b.rng_uniform(v.s, v.s, make_shape(F64, [4])),
    ),
    (
        "XP213",
        "the state of rng_three_fry is u64[2], not u64[3]",
        lambda b, v: b.rng_bit_generator(RandomAlgorithm.RNG_THREE_FRY, v.u, make_shape(U32, [4])),
    ),
    (
        "XP211",
        "gives integer or float bits, not c64[4]",
        lambda b, v: b.rng_bit_generator(RandomAlgorithm.RNG_PHILOX, v.u, make_shape(C64, [4])),
    ),
    # communication
    ("XP220", "replica 1 is in none of the replica groups", lambda b, v: b.all_reduce(v.x, add, [[0, 2]])),
    ("XP220", "replica 1 is in the replica groups 2 times", lambda b, v: b.all_reduce(v.x, add, [[0, 1], [1, 2]])),
    ("XP220", "a replica group is empty", lambda b, v: b.all_reduce(v.x, add, [[0], []])),
    ("XP201", "an empty tuple has nothing to exchange", lambda b, v: b.all_reduce(b.tuple([]), add)),
    ("XP212", "the arrays have different element types: f32, s32", lambda b, v: b.all_reduce(v.pair, add)),
    ("XP217", "does not fit the reducer", lambda b, v: b.all_reduce(v.x, less)),
    ("XP218", "channel_id has to be positive, not 0", lambda b, v: b.all_reduce(v.x, add, channel_id=0)),
    (
        "XP220",
        "use_global_device_ids needs a channel_id",
        lambda b, v: b.all_reduce(v.x, add, use_global_device_ids=True),
    ),
    ("XP220", "shard_count is 3, but a replica group has 2 replicas", lambda b, v: b.all_gather(v.x, 0, 3, [[0, 1]])),
    (
        "XP220",
        "shard_count is 2, but a replica group has 1 replicas",
        lambda b, v: b.all_gather(v.x, 0, 2, [[0, 1], [2]]),
    ),
    ("XP215", "all-gather: dimension 1 is not in [0, 1)", lambda b, v: b.all_gather(v.x, 1, 2)),
    ("XP218", "shard_count has to be positive, not 0", lambda b, v: b.all_gather(v.x, 0, 0)),
    (
        "XP213",
        "the 4 elements of dimension 0 do not divide into 3 shards",
        lambda b, v: b.reduce_scatter(v.x, add, 0, 3),
    ),
    ("XP213", "4 elements do not divide into 3 blocks", lambda b, v: b.all_to_all(v.m, 0, 1, 3)),
    ("XP215", "all-to-all: dimension 2 is not in [0, 2)", lambda b, v: b.all_to_all(v.m, 2, 0, 2)),
    ("XP220", "have to be of equal size: [2, 1]", lambda b, v: b.all_to_all_tuple([v.x, v.x], [[0, 1], [2]])),
    ("XP201", "groups of 2 need as many operands, not 3", lambda b, v: b.all_to_all_tuple([v.x] * 3, [[0, 1]])),
    ("XP221", "1 is a target 2 times", lambda b, v: b.collective_permute(v.x, [(0, 1), (2, 1)])),
    ("XP221", "0 is a source 2 times", lambda b, v: b.collective_permute(v.x, [(0, 1), (0, 2)])),
    ("XP221", "target -1 is not in", lambda b, v: b.collective_permute(v.x, [(0, -1)])),
    (
        "XP213",
        "offsets and sizes have to be integer vectors",
        lambda b, v: b.ragged_all_to_all(v.x, v.i, v.i, v.x, v.i, v.i),
    ),
    ("XP210", "operand 1 has to be token[], not f32[4]", lambda b, v: b.send_with_token(v.x, v.x, ChannelHandle(1))),
    (
        "XP213",
        "nested tuples cannot be fed",
        lambda b, v: b.infeed(TupleShape((make_shape(F32, [2]), TupleShape((make_shape(F32, [2]),))))),
    ),
    ("XP213", "outfeed_shape f32[5], but the data is f32[4]", lambda b, v: b.outfeed(v.x, make_shape(F32, [5]))),
]


@pytest.mark.parametrize(("code", "message", "call"), REFUSED, ids=identifiers(REFUSED))
def test_refused(code, message, call) -> None:
    assert_refused(code, message, call)


def test_groups_are_checked_against_the_replica_count_at_build() -> None:
    b = XlaBuilder("groups")
    b.all_reduce(b.parameter(0, make_shape(F32, [4])), add, [[0, 1]])
    b.build(replica_count=2)
    with pytest.raises(HloVerificationError, match="XP220: all-reduce: the replica groups name 2 replicas of 4"):
        b.build(replica_count=4)
