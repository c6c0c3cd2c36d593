"""The verifier on single instructions: what it accepts, what it refuses, with which code, message and place."""

from __future__ import annotations

import pytest

from xla2py.tests.hlo.verifying import complaints, module_text
from xla2py.transpile.hlo.element_types import F32
from xla2py.transpile.hlo.opcodes import OPCODES
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.shape_inference import SHAPE_RULES, infer_shape
from xla2py.transpile.hlo.shapes import ArrayShape
from xla2py.transpile.hlo.verifier import verify

# What every program of ``tests/operations`` has is accepted there.
ACCEPTED = [
    "f32[4] add(a, d)",  # dynamic sizes are not compared
    "f32[<=2,2] reshape(a)",
    "u64[2] bitcast-convert(f32[2,2] reshape(a))",
    "f32[2,3] dynamic-slice(b, s32[2] constant({1, 0})), dynamic_slice_sizes={2,3}",
    "f32[] dynamic-slice(s), dynamic_slice_sizes={}",
    "f32[4,3] dynamic-update-slice(b, f32[1,3] broadcast(s), i, i)",
    "bf16[4] stochastic-convert(a, u32[4] bitcast-convert(c))",
    "f32[4] clamp(s, a, s)",
    "token[] after-all(a, t)",
    "f32[] reduce-window(s, s), to_apply=add",
    "f32[] select-and-scatter(s, s, s), select=less, scatter=add",
    "pred[4] compare(q, q), direction=LT, type=UNSIGNED",
    "pred[4] compare(a, a), direction=LT, type=TOTALORDER",
    "f32[4] map(a, a), dimensions={0}, to_apply=add",
    "f32[4] map(a, a), to_apply=add",
    "s8[4,4] dot(s8[4,3] convert(b), s8[3,4] convert(f32[3,4] reshape(b))), "
    "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "f64[4,4] dot(b, f32[3,4] reshape(b)), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "f32[4,7] rng(s, s, i), distribution=rng_uniform",
    "u64[2] rng-get-and-update-state(), delta=3",
    "f32[4] fusion(a), kind=kLoop, calls=negated",
    'f32[9] custom-call(a, t), custom_call_target="anything"',
    "((f32[4]), f32[4], u32[]) async-start(a), calls=negated",
    "(f32[4], f32[4], u32[]) copy-start(a)",
    "f32[4] all-reduce(a), to_apply=add, replica_groups={{0,2},{1}}",
    "f32[8,3] all-gather(b), dimensions={0}, replica_groups={}",
    "f32[4,3] all-to-all(b), dimensions={0}, replica_groups={{0,1},{2,3}}",
    "(f32[4], f32[4]) all-to-all(a, a), replica_groups={{0,1},{2,3}}",
    "(f32[4], f32[4], u32[], u32[]) collective-permute-start(a), source_target_pairs={{0,1}}",
    "f32[4] collective-broadcast(a), replica_groups={{1,0}}",
    "f32[4,3] shuffle(b), dimensions={1,0}, mode=rotate, shifts={-7,2}",
    "((f32[2], s32[]), token[]) infeed(t)",
    "((), token[]) infeed(t)",
    "token[] outfeed(pair, t), outfeed_shape=(f32[4], s32[])",
    "f32[4] add-dependency(a, t)",
]

REFUSED = [
    ("XP201", "2 start indices", "f32[4] dynamic-slice(a, i, i), dynamic_slice_sizes={4}"),
    ("XP201", "4 result dimensions need as many sizes, not 1", "f32[2,2,1,1] dynamic-reshape(a, i)"),
    ("XP202", "does not choose among", "f32[4] conditional(p, a), branch_computations={negated}"),
    ("XP202", "does not choose among", "f32[4] conditional(p, a, a), branch_computations={negated, negated}"),
    (
        *("XP202", "does not choose among"),
        "f32[4] conditional(i, a, a), true_computation=negated, false_computation=negated",
    ),
    ("XP202", "needs branch_computations, or true_", "f32[4] conditional(p, a, a), true_computation=negated"),
    ("XP204", "add gives f32[4], but is declared as f32[5]", "f32[5] add(a, a)"),
    ("XP204", "add gives f32[4], but is declared as f64[4]", "f64[4] add(a, a)"),
    ("XP204", "gives (f32[4], s32[]), but is declared as (f32[4], u32[])", "(f32[4], u32[]) tuple(a, i)"),
    ("XP204", "reshape gives f32[2,2], but is declared as s32[2,2]", "s32[2,2] reshape(a)"),
    ("XP204", "gives (data, u32[], token[])", "f32[4] recv(t), channel_id=1"),
    ("XP204", "gives (new state, bits)", "(u64[3], u32[5]) rng-bit-generator(u), algorithm=rng_three_fry"),
    ("XP208", "has an unbounded size", "f32[?] negate(a)"),
    ("XP210", "operand 0 has to be an array, but is (f32[4], s32[])", "f32[4] negate(pair)"),
    ("XP210", "gives an array, but is declared as (f32[4])", "(f32[4]) convert(a)"),
    ("XP210", "operand 0 has to be a tuple", "f32[] get-tuple-element(a), index=0"),
    ("XP210", "operand 1 has to be token[]", "f32[4] add-dependency(a, a)"),
    ("XP210", "its shape has to be ((operands..), result, ..)", "f32[4] async-start(a), calls=negated"),
    ("XP211", "floor takes floating-point elements, not s32", "s32[4] floor(c)"),
    ("XP211", "cbrt takes floating-point elements, not c64", "c64[4] cbrt(z)"),
    ("XP211", "abs takes signed integer, float or complex elements, not pred", "pred[4] abs(q)"),
    ("XP211", "between complex and real", "f64[4] bitcast-convert(z)"),
    ("XP211", "type=SIGNED does not fit f32, which has FLOAT", "pred[4] compare(a, a), direction=LT, type=SIGNED"),
    ("XP211", "complex numbers have no order", "pred[4] compare(z, z), direction=GE"),
    ("XP211", "iota gives numbers, not pred", "pred[4] iota(), iota_dimension=0"),
    ("XP211", "start indices have to be integers", "f32[2] dynamic-slice(a, s), dynamic_slice_sizes={2}"),
    (
        "XP211",
        "is narrower than the operands' s32",
        "s8[] dot(c, c), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
    ),
    ("XP211", "rng takes floating-point elements", "s32[4] rng(i, i), distribution=rng_normal"),
    ("XP212", "differ: f32 and s32", "f32[4] add(a, c)"),
    ("XP212", "differ: f32 and bf16", "f32[4] add(a, h)"),
    ("XP212", "widths differ", "bf16[4] stochastic-convert(a, u64[4] convert(a))"),
    ("XP212", "branches differ: f32 and s32", "f32[4] select(q, a, c)"),
    ("XP213", "shapes of the operands differ: f32[4] and f32[4,3]", "f32[4,3] add(a, b)"),
    ("XP213", "shapes of the operands differ: f32[4] and f32[]", "f32[4] add(a, s)"),
    ("XP213", "f32[4,3] has 12 elements, f32[11] has 11", "f32[11] reshape(b)"),
    ("XP213", "dimension 0 has 4 elements, but result dimension 1 has 3", "f32[4,3] broadcast(a), dimensions={1}"),
    ("XP213", "do not have the same size in memory", "f32[5] bitcast(a)"),
    ("XP213", "the last dimension has to be 2", "f64[4] bitcast-convert(a)"),
    ("XP213", "differ outside dimension 0", "f32[5,3] concatenate(b, m), dimensions={0}"),
    ("XP210", "operand 1 has to be an array", "(f32[4], s32[]) select(p, pair, pair)"),
    (
        "XP213",
        "the state of rng_three_fry is u64[2], not u64[3]",
        "(u64[3], u32[5]) rng-bit-generator(u64[3] constant({1,2,3})), algorithm=rng_three_fry",
    ),
    ("XP213", "nested tuples cannot be fed", "((f32[2], (s32[], s32[])), token[]) infeed(t)"),
    ("XP213", "outfeed_shape f32[5]", "token[] outfeed(a, t), outfeed_shape=f32[5]"),
    ("XP213", "do not divide into 3 blocks", "f32[4,3] all-to-all(b), dimensions={0}, replica_groups={{0,1,2}}"),
    (
        "XP213",
        "do not divide into 3 shards",
        "f32[1,3] reduce-scatter(b), dimensions={0}, replica_groups={{0,1,2}}, to_apply=add",
    ),
    (
        "XP213",
        "does not divide into blocks",
        "f32[4,4] scaled-dot(m, m, f32[4,3] copy(b), m), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    ),
    (
        *("XP215", "is not in [0, 2)"),
        "f32[4,4] scaled-dot(m, m, m, m), lhs_contracting_dims={1}, rhs_contracting_dims={-9223372036854775808}",
    ),
    (
        *("XP214", "group_sizes needs at least 1 dimensions"),
        "f32[4,4] ragged-dot(m, f32[1,4,4] reshape(m), i), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
        "lhs_ragged_dims={0}, rhs_group_dims={0}",
    ),
    ("XP214", "1 ranges for f32[4,3]", "f32[2] slice(b), slice={[0:2]}"),
    ("XP214", "the matrix needs at least 2 dimensions", "f32[4] cholesky(a)"),
    ("XP214", "the result needs at least 1 dimensions", "s32[] iota(), iota_dimension=0"),
    ("XP215", "is not a permutation of the dimensions", "f32[3,4] transpose(b), dimensions={1,2}"),
    ("XP215", "names a dimension twice", "f32[4,3] reverse(b), dimensions={1,1}"),
    ("XP215", "names a dimension twice", "f32[4,3] shuffle(b), dimensions={1,1}, mode=rotate, shifts={1,2}"),
    ("XP215", "a shift is needed", "f32[4,3] shuffle(b), dimensions={1,0}, mode=rotate, shifts={1}"),
    ("XP215", "a shift is needed", "f32[4,3] shuffle(b), dimensions={}, mode=rotate, shifts={}"),
    ("XP211", "exp2 takes floating-point elements, not c64", "c64[4] exp2(z)"),
    ("XP215", "has to name a result dimension for each", "f32[4,3] broadcast(a), dimensions={}"),
    ("XP215", "iota_dimension 1 is not in [0, 1)", "s32[4] iota(), iota_dimension=1"),
    ("XP215", "sorts along one dimension", "f32[4,3] sort(b), dimensions={0,1}, to_apply=less"),
    (
        "XP215",
        "lhs_contracting_dims {1} and rhs_contracting_dims {} differ",
        "f32[4] dot(b, m), lhs_contracting_dims={1}, rhs_contracting_dims={}",
    ),
    ("XP216", "a window of 2 dimensions over f32[4]", "f32[4] reduce-window(a, s), window={size=1x1}, to_apply=add"),
    ("XP216", "the window's size in dimension 0 is 0", "f32[5] reduce-window(a, s), window={size=0}, to_apply=add"),
    (
        "XP216",
        "padding crops dimension 0 of 4 elements to -1",
        "f32[0] reduce-window(a, s), window={size=1 pad=-5_0}, to_apply=add",
    ),
    ("XP217", "has to take 2 parameters, but takes 1", "f32[] reduce(a, s), dimensions={0}, to_apply=negated"),
    (
        "XP217",
        "does not fit the reducer less: (f32[], f32[]) -> pred[]",
        "f32[] reduce(a, s), dimensions={0}, to_apply=less",
    ),
    ("XP217", "comparator add has to give pred[]", "f32[4] sort(a), dimensions={0}, to_apply=add"),
    ("XP217", "has to give pred[], not f32[4]", "f32[4] while(a), condition=negated, body=negated"),
    ("XP217", "has to give back what it takes", "f32[4] while(a), condition=not_yet, body=shorter"),
    ("XP217", "branch 1, shorter, gives f32[2]", "f32[4] conditional(i, a, a), branch_computations={negated, shorter}"),
    ("XP217", "parameter 0 of the computation negated is f32[4]", "f32[4] call(c), to_apply=negated"),
    ("XP217", "does not carry negated", "((f32[4]), f32[5], u32[]) async-start(a), calls=negated"),
    ("XP218", "[1:5] is not within the 4 elements", "f32[4] slice(a), slice={[1:5]}"),
    ("XP218", "[3:2] is not within", "f32[0] slice(a), slice={[3:2]}"),
    ("XP218", "exponent_bits has to be at least 1", "f32[4] reduce-precision(a), exponent_bits=0, mantissa_bits=2"),
    ("XP218", "gives dimension 0 the negative size -1", "f32[] pad(a, s), padding=-5_0"),
    ("XP218", "a slice of 5 from the 4 elements", "f32[5] dynamic-slice(a, i), dynamic_slice_sizes={5}"),
    ("XP218", "k=5 of 4 elements", "(f32[5], s32[5]) topk(a), k=5, largest=true"),
    ("XP218", "transforms 1 to 3 dimensions", "c64[4] fft(z), fft_type=FFT, fft_length={}"),
    ("XP219", "index 2 of a tuple of 2 elements", "f32[] get-tuple-element(pair), index=2"),
    ("XP220", "replica 1 is in none", "f32[4] all-reduce(a), to_apply=add, replica_groups={{0,2}}"),
    ("XP220", "have to be of equal size: [2, 1]", "f32[8,3] all-gather(b), dimensions={0}, replica_groups={{0,1},{2}}"),
    ("XP220", "needs a channel_id", "f32[4] all-reduce(a), to_apply=add, use_global_device_ids=true"),
    ("XP221", "1 is a target 2 times", "f32[4] collective-permute(a), source_target_pairs={{0,1},{2,1}}"),
    ("XP221", "0 is a source 2 times", "f32[4] collective-permute(a), source_target_pairs={{0,1},{0,2}}"),
    ("XP222", "copy-done has to follow copy-start, not parameter", "f32[4] copy-done(w)"),
    ("XP222", "send-done has to follow send, not parameter", "token[] send-done(w), channel_id=1"),
]


def test_every_opcode_has_a_rule_and_no_other() -> None:
    assert set(SHAPE_RULES) == set(OPCODES)
    assert len(OPCODES) == 137


@pytest.mark.parametrize("line", ACCEPTED)
def test_accepted(line: str) -> None:
    verify(parse_module(module_text(line)))


@pytest.mark.parametrize(("code", "message", "line"), REFUSED, ids=[row[2] for row in REFUSED])
def test_refused(code: str, message: str, line: str) -> None:
    text = module_text(line)
    (diagnostic,) = complaints(text).diagnostics
    assert (diagnostic.code, message in diagnostic.message) == (code, True), diagnostic
    assert diagnostic.span is not None
    assert "r = " in text[diagnostic.span.start : diagnostic.span.end]
    assert diagnostic.location.startswith("m.hlo:")


@pytest.mark.parametrize(
    ("header", "line", "message"),
    [
        ("replica_count=2", "f32[4] all-reduce(a), to_apply=add, replica_groups={{0,1,2}}", "name 3 replicas of 2"),
        ("replica_count=4", "f32[8,3] all-gather(b), dimensions={0}, replica_groups={}", "gives f32[16,3]"),
        ("replica_count=2", "f32[4] collective-permute(a), source_target_pairs={{0,2}}", "target 2 is not in [0, 2)"),
        (
            "num_partitions=3",
            "f32[4] all-reduce(a), to_apply=add, channel_id=1, use_global_device_ids=true, replica_groups={{0,1}}",
            "name 2 devices of 3",
        ),
        ("num_partitions=2", "(f32[4], f32[4], f32[4]) all-to-all(a, a, a), channel_id=1", "groups of 2"),
        (
            "replica_count=2, num_partitions=2",
            "f32[8,3] all-gather(b), dimensions={0}, channel_id=1",
            "gives f32[16,3]",
        ),
    ],
)
def test_groups_agree_with_the_module(header: str, line: str, message: str) -> None:
    assert message in str(complaints(module_text(line).replace("HloModule m", f"HloModule m, {header}")))


def test_infer_shape_knows_when_only_the_declaration_tells() -> None:
    operand = ArrayShape(F32, (4,))
    for opcode, attributes in (("reshape", {}), ("convert", {}), ("broadcast", {"dimensions": (0,)})):
        assert infer_shape(opcode, [operand], attributes) is None
    assert infer_shape("reshape", [operand], {}, declared=ArrayShape(F32, (2, 2))) == ArrayShape(F32, (2, 2))
    assert infer_shape("parameter", [], {"parameter_number": 0}) is None
    assert infer_shape("all-gather", [operand], {"dimensions": (0,)}, replica_count=3) == ArrayShape(F32, (12,))
