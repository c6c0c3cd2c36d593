from collections import Counter

import numpy as np
import pytest

import xla2py
from xla2py.templates.prelude.replica import KEPT_BYTES
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.verifier import verify
from xla2py.transpile.inspection import Inspection, collectives, inspect, trip_count

SUM = """
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y)
}
"""


def inspected(text: str) -> Inspection:
    module = parse_module(text)
    verify(module)
    return inspect(module)


def entry(*lines: str) -> Inspection:
    return inspected(f"{SUM}ENTRY main {{\n" + "\n".join(lines) + "\n}")


A = "a = f32[4,8] parameter(0)"


def test_signature_and_opcodes():
    facts = entry(A, "b = f32[4,8] add(a, a)", "ROOT c = (f32[4,8], f32[4,8]) tuple(b, a)")
    assert [(name, str(shape)) for name, shape in facts.parameters] == [("a", "f32[4,8]")]
    assert str(facts.result) == "(f32[4,8], f32[4,8])"
    assert next(iter(facts.opcodes.items())) == ("parameter", 3)
    assert facts.opcodes == {"parameter": 3, "add": 2, "tuple": 1}
    assert (facts.parameter_bytes, facts.result_bytes, facts.constant_bytes) == (128, 256, 0)


@pytest.mark.parametrize(
    ("lines", "flops"),
    [
        (["ROOT b = f32[4,8] add(a, a)"], 32),
        (["ROOT b = f32[8,4] transpose(a), dimensions={1,0}"], 0),
        (["ROOT c = f32[4,4] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={1}"], 2 * 16 * 8),
        (["b = f32[] constant(0)", "ROOT c = f32[4] reduce(a, b), dimensions={1}, to_apply=sum"], 28),
        (["b = f32[] constant(0)", "ROOT c = f32[4,6] reduce-window(a, b), window={size=1x3}, to_apply=sum"], 48),
        (["ROOT b = f32[4,8] map(a, a), dimensions={0,1}, to_apply=sum"], 32),
        (["ROOT b = c64[4,5] fft(a), fft_type=RFFT, fft_length={8}"], 5 * 32 * 3),
    ],
    ids=["elementwise", "transpose", "dot", "reduce", "reduce-window", "map", "fft"],
)  # fmt: skip
def test_arithmetic(lines, flops):
    assert entry(A, *lines).flops == flops


def test_convolution_counts_multiply_adds():
    facts = entry(
        "x = f32[1,8,8,4] parameter(0)",
        "k = f32[3,3,2,6] parameter(1)",
        "ROOT y = f32[1,6,6,6] convolution(x, k), window={size=3x3}, dim_labels=b01f_01io->b01f, feature_group_count=2",
    )
    assert facts.flops == 2 * 216 * 9 * 2


LOOP = """
body {{
  p = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  v = f32[8] get-tuple-element(p), index=1
  step = s32[] constant(2)
  j = s32[] add(i, step)
  w = f32[8] multiply(v, v)
  ROOT t = (s32[], f32[8]) tuple(j, w)
}}
condition {{
  p = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] {limit}
  ROOT c = pred[] compare(i, n), direction=LT
}}
ENTRY main {{
  zero = s32[] constant(1)
  v = f32[8] parameter(0)
  t = (s32[], f32[8]) tuple(zero, v)
  w = (s32[], f32[8]) while(t), condition=condition, body=body{config}
  ROOT r = f32[8] get-tuple-element(w), index=1
}}
"""


def test_a_loop_counts_as_often_as_it_runs():
    facts = inspected(LOOP.format(limit="constant(10)", config=""))  # 1, 3, 5, 7, 9
    assert facts.uncounted_loops == 0
    assert facts.flops == 5 * (1 + 8 + 1)


def test_xla_may_say_how_often_a_loop_runs():
    config = ', backend_config={"known_trip_count":{"n":"7"}}'
    facts = inspected(LOOP.format(limit="get-tuple-element(p), index=0", config=config))
    assert facts.uncounted_loops == 0
    assert facts.flops == 7 * (1 + 8 + 1)


def test_a_loop_of_unknown_length_counts_once():
    module = parse_module(LOOP.format(limit="get-tuple-element(p), index=0", config=""))
    (loop,) = [i for i in module.entry.instructions if i.opcode == "while"]
    assert trip_count(loop) is None
    facts = inspect(module)
    assert (facts.uncounted_loops, facts.flops) == (1, 1 + 8 + 1)


def test_peak_memory_counts_what_lives_at_once():
    chain = [f"b{n} = f32[4,8] add({f'b{n - 1}' if n else 'a'}, a)" for n in range(10)]
    facts = entry(A, *chain, "ROOT r = f32[4,8] negate(b9)")
    assert facts.peak_memory == 128 + 2 * 128  # the parameter, an operand and a result


def test_values_that_are_used_later_stay_in_memory():
    facts = entry(
        A, "b = f32[4,8] negate(a)", "c = f32[4,8] negate(a)", "d = f32[4,8] add(b, c)", "ROOT e = f32[4,8] add(d, b)"
    )
    assert facts.peak_memory == 128 + 3 * 128


def test_views_take_no_memory_but_keep_what_they_show():
    facts = entry(
        A,
        "big = f32[100,4,8] broadcast(a), dimensions={1,2}",
        "b = f32[4,8] negate(a)",
        "t = f32[8,4] transpose(b), dimensions={1,0}",
        "c = f32[4,8] exponential(a)",
        "ROOT r = (f32[8,4], f32[4,8]) tuple(t, c)",
    )
    assert facts.peak_memory == 128 + 2 * 128


def test_a_called_computation_needs_memory_while_it_runs():
    text = """
inner {
  x = f32[4,8] parameter(0)
  y = f32[4,8] negate(x)
  z = f32[4,8] exponential(y)
  ROOT w = f32[4,8] add(y, z)
}
ENTRY main {
  a = f32[4,8] parameter(0)
  ROOT r = f32[4,8] call(a), to_apply=inner
}
"""
    assert inspected(text).peak_memory == 128 + 3 * 128


def test_narrow_types_take_a_byte():
    facts = entry("a = s4[8] parameter(0)", "ROOT b = bf16[8] convert(a)")
    assert (facts.parameter_bytes, facts.result_bytes) == (8, 16)


SENDING = """HloModule sending, replica_count=4
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[%d] parameter(0)
  ROOT r = f32[%s] %s
}
"""


@pytest.mark.parametrize("size", [8, 8192, 8200])
@pytest.mark.parametrize(
    ("call", "result", "devices", "rounds"),
    [
        ("all-reduce(x), to_apply=add", 1, 4, 1),
        ("all-reduce(x), to_apply=add, replica_groups={{0,1},{2,3}}", 1, 2, 1),
        ("all-reduce(x), to_apply=add, replica_groups={{0},{1},{2},{3}}", 1, 1, 0),
        ("reduce-scatter(x), dimensions={0}, to_apply=add", 0.25, 4, 1),
        ("all-gather(x), dimensions={0}, replica_groups={{0,2},{1,3}}", 2, 2, 1),
        ("all-to-all(x), dimensions={0}", 1, 4, 1),
        ("collective-permute(x), source_target_pairs={{0,1},{1,2}}", 1, 3, 1),
        ("collective-broadcast(x), replica_groups={{2,0,1},{3}}", 1, 3, 1),
        ("collective-reduce(x), to_apply=add, replica_groups={{2,0,1},{3}}", 1, 3, 1),
    ],
)
def test_collectives_send_what_is_told(monkeypatch, size, call, result, devices, rounds):
    """Counted where replicas post their messages to others; a device in the middle sends most."""
    text = SENDING % (size, int(size * result), call)
    (told,) = collectives(xla2py.load(text))
    is_sliced = "all-reduce" in call and 4 * size > KEPT_BYTES and devices > 1
    assert (told.devices, told.rounds) == (devices, 2 if is_sliced else rounds)
    module = xla2py.emit(text).load()
    sent = Counter()
    post = module.Thread.post

    def counting(self, peer, array, tag, channel=None):
        sent[self.device] += array.nbytes if peer != self.device else 0
        post(self, peer, array, tag, channel)

    monkeypatch.setattr(module.Thread, "post", counting)
    module.run_local([[np.ones(size, np.float32)]] * 4)
    assert max(sent.values(), default=0) == told.sent


def test_a_program_of_one_device_sends_nothing():
    text = SENDING % (8, "8", "all-reduce(x), to_apply=add")
    assert collectives(xla2py.load(text.replace("replica_count=4", "replica_count=1"))) == []
