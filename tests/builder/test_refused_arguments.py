"""Arguments of the wrong kind are refused with what was wanted, not by whatever they break first."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.refusals import Refused, add, assert_refused, identifiers, less
from xla2py.tests.builder.test_refused_array_calls import REFUSED as ARRAY_CALLS
from xla2py.tests.builder.test_refused_computations import REFUSED as COMPUTATIONS
from xla2py.transpile.hlo.builder import (
    S8,
    DotDimensionNumbers,
    GatherDimensionNumbers,
    PaddingConfig,
    PaddingConfigDimension,
    ScatterDimensionNumbers,
)

REFUSED: Refused = [
    # sizes and numbers known only at run time, or no integers
    ("XP232", "reshape: a sequence of constant integers is wanted, not [<XlaOp i", lambda b, v: b.reshape(v.x, [v.i])),
    ("XP232", "broadcast: a sequence of constant integers", lambda b, v: b.broadcast(v.x, [v.i])),
    ("XP232", "broadcast_in_dim: a sequence of constant integers", lambda b, v: b.broadcast_in_dim(v.x, v.n, [0])),
    ("XP232", "reduce: a sequence of constant integers is wanted, not 0", lambda b, v: b.reduce(v.x, 0.0, add, 0)),
    ("XP232", "slice: a sequence of constant integers is wanted, not [0.5]", lambda b, v: b.slice(v.x, [0.5], [1])),
    ("XP232", "slice: True is not a constant index", lambda b, v: v.x[True]),
    ("XP232", "transpose: a sequence of constant integers", lambda b, v: b.transpose(v.m, [1.0, 0.0])),
    ("XP232", "add: a sequence of constant integers is wanted, not 1", lambda b, v: b.add(v.x, v.m, 1)),
    ("XP232", "sort: a constant integer is wanted, not 0.0", lambda b, v: b.sort(v.x, less, 0.0)),
    ("XP232", "topk: a constant integer is wanted, not 1.5", lambda b, v: b.top_k(v.x, 1.5)),
    ("XP232", "scan: a constant integer is wanted", lambda b, v: b.scan(v.x, v.s, lambda a, c: (a, c), "0")),
    ("XP232", "slice_in_dim: a sequence of constant integers", lambda b, v: b.slice_in_dim(v.x, 0, 1, 1, None)),
    ("XP232", "pad_in_dim: a constant integer is wanted", lambda b, v: b.pad_in_dim(v.x, 0.0, 0.5, 1, 1)),
    (
        "XP232",
        "pad: a sequence of constant integers",
        lambda b, v: b.pad(v.x, 0.0, PaddingConfig([PaddingConfigDimension(1.5)])),
    ),
    (
        "XP232",
        "reduce-precision: a constant integer is wanted, not 1.5",
        lambda b, v: b.reduce_precision(v.x, exponent_bits=1.5, mantissa_bits=2),
    ),
    ("XP232", "all-reduce: a sequence of constant integers", lambda b, v: b.all_reduce(v.x, add, [0, 1])),
    ("XP232", "all-reduce: a constant integer is wanted", lambda b, v: b.all_reduce(v.x, add, channel_id="c")),
    ("XP232", "all-gather: a constant integer is wanted", lambda b, v: b.all_gather(v.x, 0, "2")),
    (
        "XP232",
        "collective-permute: a (source, target) pair is wanted",
        lambda b, v: b.collective_permute(v.x, [(0, 1, 2)]),
    ),
    (
        "XP232",
        "reduce-window: a (low, high) pair is wanted",
        lambda b, v: b.reduce_window(v.x, 0.0, add, [2], [1], [(1,)]),
    ),
    ("XP232", "parameter: a constant integer is wanted", lambda b, v: b.parameter("0", "f32[]")),
    # types of their own
    ("XP232", "parameter: a shape is wanted, not 3", lambda b, v: b.parameter(99, 3)),
    ("XP232", "custom-call: a shape is wanted", lambda b, v: b.custom_call("f", [v.x], None)),
    ("XP232", "pad: a PaddingConfig is wanted, not [(1, 1)]", lambda b, v: b.pad(v.x, 0.0, [(1, 1)])),
    ("XP232", "dot: a DotDimensionNumbers is wanted, not None", lambda b, v: b.dot_general(v.m, v.m, None)),
    ("XP232", "gather: a GatherDimensionNumbers is wanted", lambda b, v: b.gather(v.m, v.n, None, [1, 3])),
    (
        "XP232",
        "scatter: a ScatterDimensionNumbers is wanted",
        lambda b, v: b.scatter(v.m, v.n, v.m, add, GatherDimensionNumbers()),
    ),
    ("XP232", "send and recv: a ChannelHandle is wanted, not 1", lambda b, v: b.send(v.x, 1)),
    ("XP203", "fft: 'DCT' is not a FftType", lambda b, v: b.fft(v.x, "DCT", [4])),
    (
        "XP203",
        "reduce-window: 'FULL' is not a Padding",
        lambda b, v: b.reduce_window(v.x, 0.0, add, [2], [1], "FULL"),
    ),
    ("XP203", "rng-bit-generator: 'mersenne'", lambda b, v: b.rng_bit_generator("mersenne", v.u, "u32[4]")),
    (
        "XP203",
        "triangular-solve: 'T' is not a Transpose",
        lambda b, v: b.triangular_solve(v.m[:3], v.m[:3], True, True, False, "T"),
    ),
    ("XP203", "dot: 'exact' is not a precision", lambda b, v: b.dot(v.x, v.x, precision=["exact", "exact"])),
    # forms
    ("XP201", "reshape takes (new_sizes) or (dimensions, new_sizes)", lambda b, v: b.reshape(v.x)),
    ("XP201", "but is given 1 by position, sizes", lambda b, v: b.reshape(v.x, [4], sizes=[4])),
    ("XP201", "iota takes (shape, iota_dimension), but is given", lambda b, v: b.iota(shape=v.x.shape)),
    ("XP201", "conditional takes (pred, true_operand", lambda b, v: b.conditional(v.p, v.x, add, v.x)),
    ("XP232", "a list of branch computations is wanted", lambda b, v: b.conditional(v.p, v.x, add)),
    # nothing to work on
    ("XP201", "at least one array is needed", lambda b, v: b.reduce([], [], add, [0])),
    ("XP201", "at least one array is needed", lambda b, v: b.sort([], less)),
    ("XP201", "at least one array is needed", lambda b, v: b.map([], add)),
    (
        "XP201",
        "at least one array is needed",
        lambda b, v: b.scatter([], v.n, [], add, ScatterDimensionNumbers()),
    ),
    # constants
    ("XP232", "the parts of a constant differ in length: [[1], [1, 2]]", lambda b, v: b.constant([[1], [1, 2]])),
    ("XP232", "a constant does not fit into s8", lambda b, v: b.constant(np.array([300]), S8)),
    ("XP232", "a constant does not fit into s32", lambda b, v: b.constant(2**40)),
    ("XP212", "[1.5] cannot be a constant of type s32", lambda b, v: b.add(v.n, [1.5])),
    # rules
    (
        "XP212",
        "neither of the element types f32 and s32 holds the other",
        lambda b, v: b.conv(v.img, b.convert_element_type(v.k, "s32"), [1, 1], "SAME", feature_group_count=2),
    ),
    ("XP201", "f32[4] are not the starts of f32[4,3]", lambda b, v: b.dynamic_slice(v.m, v.x, [1, 1])),
    ("XP218", "replica_count has to be positive, not 0", lambda b, v: b.build(replica_count=0)),
    (
        "XP215",
        "lhs_contracting_dims {0} and rhs_contracting_dims {} differ in length",
        lambda b, v: b.dot_general(v.x, v.x, DotDimensionNumbers([0])),
    ),
]


@pytest.mark.parametrize(("code", "message", "call"), REFUSED, ids=identifiers(REFUSED))
def test_refused(code, message, call) -> None:
    assert_refused(code, message, call)


def test_there_are_enough_refused_calls() -> None:
    calls = {(code, message) for code, message, _ in (*ARRAY_CALLS, *COMPUTATIONS, *REFUSED)}
    assert len(calls) >= 220
