"""The verifier on whole modules: parameters, the entry, what belongs to what, depth."""

from __future__ import annotations

from pathlib import Path

import pytest

from xla2py.tests.hlo.verifying import complaints
from xla2py.transpile.hlo.attributes import ReplicaGroups
from xla2py.transpile.hlo.element_types import F32
from xla2py.transpile.hlo.ir import Computation, HloModule, Instruction
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.shapes import ArrayShape, Shape, TupleShape
from xla2py.transpile.hlo.source import HloVerificationError
from xla2py.transpile.hlo.verifier import verify

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "hlo").glob("*.hlo"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_are_valid(path: Path) -> None:
    verify(parse_module(path.read_text()))


def test_all_complaints_come_at_once_in_the_order_of_the_text() -> None:
    text = """HloModule m
callee { a = f32[2] parameter(0) ROOT r = f32[3] negate(a) }
ENTRY main {
  a = f32[4] parameter(0)
  b = s32[4] floor(a)
  c = f32[4] add(a, b)
  ROOT d = f32[3] call(a), to_apply=callee
}
"""
    error = complaints(text)
    assert [d.code for d in error.diagnostics] == ["XP204", "XP204", "XP212", "XP217"]
    assert [d.location for d in error.diagnostics] == ["m.hlo:2:39", "m.hlo:5:3", "m.hlo:6:3", "m.hlo:7:8"]
    assert str(error).splitlines()[2] == (
        "m.hlo:6:3: XP212: add: the element types of the operands differ: f32 and s32"
    )


@pytest.mark.parametrize(
    ("numbers", "message"),
    [((0, 2), "computation main has no parameter 1"), ((1,), "computation main has no parameter 0")],
)
def test_parameters_are_numbered_without_gaps(numbers: tuple[int, ...], message: str) -> None:
    parameters = [_parameter(number) for number in numbers]
    entry = Computation("main", tuple(parameters), parameters[-1])
    with pytest.raises(HloVerificationError, match=f"XP205: {message}"):
        verify(HloModule("m", (entry,), entry))


def test_a_parameter_number_occurs_once() -> None:
    first, second = _parameter(0), _parameter(0)
    entry = Computation("main", (first, second), first)
    with pytest.raises(HloVerificationError, match="XP205: computation main has parameter 0 twice"):
        verify(HloModule("m", (entry,), entry))


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ("{(f32[4]{0})->f32[4]{0}}", None),
        ("{(f32[5]{0})->f32[4]{0}}", "says f32[5], but a is f32[4]"),
        ("{(f32[4]{0})->s32[4]{0}}", "says s32[4], but r is f32[4]"),
        ("{()->f32[4]{0}}", "has 0 parameters, but main has 1"),
    ],
)
def test_the_entry_layout_is_the_entry_s(layout: str, message: str | None) -> None:
    text = f"""HloModule m, entry_computation_layout={layout}
ENTRY main {{ a = f32[4] parameter(0) ROOT r = f32[4] negate(a) }}"""
    if message is None:
        verify(parse_module(text))
    else:
        (diagnostic,) = complaints(text).diagnostics
        assert diagnostic.code == "XP206"
        assert message in diagnostic.message


def test_operands_and_callees_belong_to_the_module() -> None:
    stray, parameter = _parameter(0), _parameter(0)
    negated = Instruction("n", "negate", stray.shape, (stray,))
    callee = Computation("callee", (stray, negated), negated)
    call = Instruction("c", "call", stray.shape, (stray,), {"to_apply": callee})
    entry = Computation("main", (parameter, call), negated)
    with pytest.raises(HloVerificationError) as caught:
        verify(HloModule("m", (entry,), entry))
    assert [d.message for d in caught.value.diagnostics] == [
        "c: its operand p0 is not defined before it",
        "the root n is not an instruction of computation main",
    ]
    call = call.replace(operands=(parameter,))
    entry = Computation("main", (parameter, call), call)
    with pytest.raises(HloVerificationError, match="XP207: c: the computation callee is not part of the module"):
        verify(HloModule("m", (entry,), entry))


def test_what_the_parser_would_have_refused() -> None:
    parameter = _parameter(0)
    strange = Instruction("s", "levitate", parameter.shape, (parameter,))
    decorated = Instruction("d", "negate", parameter.shape, (parameter,), {"height": 3})
    lonely = Instruction("l", "add", parameter.shape, (parameter,))
    directionless = Instruction("n", "compare", parameter.shape, (parameter, parameter))
    lost = Instruction("o", "compare", parameter.shape, (parameter, parameter), {"direction": "UP"})
    repeated = Instruction(
        "g", "collective-broadcast", parameter.shape, (parameter,), {"replica_groups": ReplicaGroups(((0,), (0,)))}
    )
    entry = Computation("main", (parameter, strange, decorated, lonely, directionless, lost, repeated), parameter)
    with pytest.raises(HloVerificationError) as caught:
        verify(HloModule("m", (entry,), entry))
    assert [(d.code, d.message) for d in caught.value.diagnostics] == [
        ("XP200", "there is no opcode 'levitate'"),
        ("XP202", "negate has no attribute height"),
        ("XP201", "add takes 2 operands, not 1"),
        ("XP202", "compare needs the attribute direction"),
        ("XP203", "compare: direction is one of EQ, NE, GE, GT, LE, LT, not UP"),
        ("XP220", "collective-broadcast: replica 0 is in the replica groups 2 times"),
    ]


def test_the_halves_of_a_transfer_share_their_channel() -> None:
    text = """HloModule m
ENTRY main {
  a = f32[4] parameter(0)
  t = token[] after-all()
  s = (f32[4], u32[], token[]) send(a, t), channel_id=1
  ROOT d = token[] send-done(s), channel_id=2
}"""
    assert "XP222: send-done has channel_id=2, but s has 1" in str(complaints(text))
    verify(parse_module(text.replace("channel_id=2", "channel_id=1")))


def test_deep_tuples_and_long_chains_need_no_stack() -> None:
    shape: Shape = ArrayShape(F32, ())
    leaf = _parameter(0, shape)
    instructions = [leaf]
    for depth in range(1200):
        shape = TupleShape((shape,))
        instructions.append(Instruction(f"t{depth}", "tuple", shape, (instructions[-1],)))
    wrong = Instruction("w", "negate", shape, (instructions[-1],))
    entry = Computation("main", (*instructions, wrong), wrong)
    with pytest.raises(HloVerificationError, match="has to be an array, but is"):
        verify(HloModule("m", (entry,), entry))


def _parameter(number: int, shape: Shape | None = None) -> Instruction:
    shape = shape or ArrayShape(F32, (4,))
    return Instruction(f"p{number}", "parameter", shape, (), {"parameter_number": number})


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ("replica_count=0", "replica_count=0: a module is for at least one device"),
        ("num_partitions=-1", "num_partitions=-1: a module is for at least one device"),
        ("replica_count=4, num_partitions=9223372036854775807", "a module is for at most 1048576 devices"),
    ],
)
def test_a_module_is_for_some_devices(counts, message):
    text = f"HloModule m, {counts}\nENTRY e {{ ROOT p = f32[4] parameter(0) }}"
    assert f"XP218: {message}" in str(complaints(text)).replace(
        "replica_count=4, num_partitions=9223372036854775807: ", ""
    )


TRANSFERS = """
cond { s = (s32[], (f32[4], u32[], token[])) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)  ROOT c = pred[] compare(i, n), direction=LT }
body { s = (s32[], (f32[4], u32[], token[])) parameter(0)  i = s32[] get-tuple-element(s), index=0
  k = s32[] constant(1)  j = s32[] add(i, k)  state = (f32[4], u32[], token[]) get-tuple-element(s), index=1
  ROOT t = (s32[], (f32[4], u32[], token[])) tuple(j, state) }
ENTRY e { x = f32[4] parameter(0)  zero = s32[] constant(0)  t = token[] after-all()
  send.0 = (f32[4], u32[], token[]) send(x, t), channel_id=1
  recv.0 = (f32[4], u32[], token[]) recv(t), channel_id=1
  carried = (s32[], (f32[4], u32[], token[])) tuple(zero, FIRST)
  w = (s32[], (f32[4], u32[], token[])) while(carried), condition=cond, body=body
  last = (f32[4], u32[], token[]) get-tuple-element(w), index=1
  LINE }
"""
RECEIVED = "ROOT d = (f32[4], token[]) recv-done(last), channel_id=1"


def test_a_loop_may_carry_a_transfer():
    verify(parse_module(TRANSFERS.replace("FIRST", "recv.0").replace("LINE", RECEIVED)))
    done = "ROOT d = token[] send-done(last), channel_id=1"
    verify(parse_module(TRANSFERS.replace("FIRST", "send.0").replace("LINE", done)))


@pytest.mark.parametrize(
    ("first", "line", "message"),
    [
        ("send.0", RECEIVED, "recv-done has to follow recv, not send"),
        ("recv.0", "ROOT d = token[] send-done(last), channel_id=1", "send-done has to follow send, not recv"),
        ("recv.0", RECEIVED.replace("=1", "=2"), "recv-done has channel_id=2, but recv.0 has 1"),
        ("recv.0", "ROOT d = (f32[4], token[]) recv-done(send.0), channel_id=1", "has to follow recv, not send"),
        ("recv.0", "ROOT d = f32[4] get-tuple-element(recv.0), index=0", "d reads recv.0, whose recv-done"),
        ("recv.0", "ROOT d = f32[4] get-tuple-element(send.0), index=0", "d reads send.0, whose send-done"),
        ("recv.0", "ROOT d = f32[4] get-tuple-element(last), index=0", "d reads recv.0, whose recv-done"),
    ],
)
def test_the_state_of_a_transfer_ends_in_its_own_done(first, line, message):
    with pytest.raises(HloVerificationError, match="XP222") as caught:
        verify(parse_module(TRANSFERS.replace("FIRST", first).replace("LINE", line)))
    assert message in str(caught.value)
