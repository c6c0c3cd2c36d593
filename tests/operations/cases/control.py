"""while, conditional, call, fusion, asynchronous pairs, tokens and what passes values through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from xla2py.tests.operations.case import Case, case
from xla2py.tests.operations.values import Array, numbers

COUNT = """below {
  t = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  n = s32[] constant(10)
  ROOT r = pred[] compare(i, n), direction=LT
}"""
STEP = """advance {
  t = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = f32[3] get-tuple-element(t), index=1
  one = s32[] constant(1)
  two = f32[] constant(2)
  twos = f32[3] broadcast(two), dimensions={}
  j = s32[] add(i, one)
  y = f32[3] multiply(x, twos)
  ROOT r = (s32[], f32[3]) tuple(j, y)
}"""


def loops() -> Iterator[Case]:
    x = numbers("f32", 3)
    body = "t = (s32[], f32[3]) tuple(p0, p1)\nr = (s32[], f32[3]) while(t), condition=below, body=advance"
    for start in (0, 7, 9, 10, 50):
        yield case("while", body, np.int32(start), x, callees=[COUNT, STEP])
    halving = """above_one {
      x = f32[] parameter(0)
      one = f32[] constant(1)
      ROOT r = pred[] compare(x, one), direction=GT
    }"""
    half = "half { x = f32[] parameter(0)  two = f32[] constant(2)  ROOT r = f32[] divide(x, two) }"
    yield case("while", "r = f32[] while(p0), condition=above_one, body=half", np.float32(100), callees=[halving, half])
    swap = """swap {
      t = (s32[], f32[3], f32[3]) parameter(0)
      i = s32[] get-tuple-element(t), index=0
      a = f32[3] get-tuple-element(t), index=1
      b = f32[3] get-tuple-element(t), index=2
      one = s32[] constant(1)
      j = s32[] add(i, one)
      ROOT r = (s32[], f32[3], f32[3]) tuple(j, b, a)
    }"""
    under = """under_five {
      t = (s32[], f32[3], f32[3]) parameter(0)
      i = s32[] get-tuple-element(t), index=0
      n = s32[] constant(5)
      ROOT r = pred[] compare(i, n), direction=LT
    }"""
    body = """zero = s32[] constant(0)
    t = (s32[], f32[3], f32[3]) tuple(zero, p0, p1)
    r = (s32[], f32[3], f32[3]) while(t), condition=under_five, body=swap"""
    yield case("while", body, x, numbers("f32", 3, seed=1), callees=[under, swap])
    store = """store {
      t = (s32[], f32[4,3], f32[3]) parameter(0)
      i = s32[] get-tuple-element(t), index=0
      out = f32[4,3] get-tuple-element(t), index=1
      x = f32[3] get-tuple-element(t), index=2
      one = s32[] constant(1)
      zero = s32[] constant(0)
      j = s32[] add(i, one)
      y = f32[3] add(x, x)
      row = f32[1,3] reshape(y)
      stored = f32[4,3] dynamic-update-slice(out, row, i, zero)
      ROOT r = (s32[], f32[4,3], f32[3]) tuple(j, stored, y)
    }"""
    four = """under_four {
      t = (s32[], f32[4,3], f32[3]) parameter(0)
      i = s32[] get-tuple-element(t), index=0
      n = s32[] constant(4)
      ROOT r = pred[] compare(i, n), direction=LT
    }"""
    body = """zero = s32[] constant(0)
    none = f32[] constant(0)
    out = f32[4,3] broadcast(none), dimensions={}
    t = (s32[], f32[4,3], f32[3]) tuple(zero, out, p0)
    r = (s32[], f32[4,3], f32[3]) while(t), condition=under_four, body=store"""
    yield case("while", body, x, callees=[four, store])
    outer_step = """outer_step {
      t = (s32[], f32[3]) parameter(0)
      i = s32[] get-tuple-element(t), index=0
      x = f32[3] get-tuple-element(t), index=1
      eight = s32[] constant(8)
      inner = (s32[], f32[3]) tuple(eight, x)
      done = (s32[], f32[3]) while(inner), condition=below, body=advance
      y = f32[3] get-tuple-element(done), index=1
      three = s32[] constant(3)
      j = s32[] add(i, three)
      ROOT r = (s32[], f32[3]) tuple(j, y)
    }"""
    body = "t = (s32[], f32[3]) tuple(p0, p1)\nr = (s32[], f32[3]) while(t), condition=below, body=outer_step"
    yield case("while", body, np.int32(0), x, callees=[COUNT, STEP, outer_step])


def branch(name: str, operation: str) -> str:
    return f"{name} {{ x = f32[3] parameter(0)  ROOT r = f32[3] {operation}(x) }}"


def conditionals() -> Iterator[Case]:
    x, y = numbers("f32", 3), numbers("f32", 3, seed=1)
    callees = [branch("negated", "negate"), branch("risen", "exponential"), branch("rooted", "abs")]
    for taken in (True, False):
        body = "r = f32[3] conditional(p0, p1, p2), true_computation=negated, false_computation=risen"
        yield case("conditional", body, np.bool_(taken), x, y, callees=callees[:2], element_type="f32")
    for index in (-1, 0, 1, 2, 3, 2**31 - 1, -(2**31)):
        body = "r = f32[3] conditional(p0, p1, p2, p1), branch_computations={negated, risen, rooted}"
        yield case("conditional", body, np.int32(index), x, y, callees=callees, element_type="f32")
    body = "r = f32[3] conditional(p0, p1), branch_computations={negated}"
    yield case("conditional", body, np.int32(4), x, callees=callees[:1], element_type="f32")
    pair = """pair {
      t = (f32[3], f32[3]) parameter(0)
      a = f32[3] get-tuple-element(t), index=0
      b = f32[3] get-tuple-element(t), index=1
      s = f32[3] add(a, b)
      ROOT r = (f32[3], f32[3]) tuple(s, a)
    }"""
    same = "same { ROOT t = (f32[3], f32[3]) parameter(0) }"
    body = """t = (f32[3], f32[3]) tuple(p1, p2)
    r = (f32[3], f32[3]) conditional(p0, t, t), true_computation=pair, false_computation=same"""
    for taken in (True, False):
        yield case("conditional", body, np.bool_(taken), x, y, callees=[pair, same], element_type="f32")


def calls() -> Iterator[Case]:
    x, y = numbers("f32", 3), numbers("f32", 3, seed=1)
    fused = "fused { a = f32[3] parameter(0)  b = f32[3] parameter(1)  s = f32[3] add(a, b)  ROOT r = f32[3] tanh(s) }"
    constant = "five { ROOT r = f32[] constant(5) }"
    yield case("call", "r = f32[3] call(p0, p1), to_apply=fused", x, y, callees=[fused])
    yield case("call", "r = f32[] call(), to_apply=five", element_type="f32", callees=[constant])
    twice = "a = f32[3] call(p0, p1), to_apply=fused\nr = f32[3] call(a, p0), to_apply=fused"
    yield case("call", twice, x, y, callees=[fused])
    for kind in ("kLoop", "kInput", "kOutput", "kCustom"):
        body = f"r = f32[3] fusion(p0, p1), kind={kind}, calls=fused"
        yield case("fusion", body, x, y, callees=[fused], reference="r = f32[3] call(p0, p1), to_apply=fused")
    many = """two_results {
      a = f32[3] parameter(0)
      b = f32[3] negate(a)
      ROOT r = (f32[3], f32[3]) tuple(a, b)
    }"""
    body = "r = (f32[3], f32[3]) {}"
    yield case(
        "fusion",
        body.format("fusion(p0), kind=kLoop, calls=two_results"),
        x,
        callees=[many],
        reference=body.format("call(p0), to_apply=two_results"),
    )


def passing(opcode: str, body: str, expected: Any, *inputs: Array) -> Case:
    return case(opcode, body, *inputs, oracle=lambda *_: expected)


def asynchronous() -> Iterator[Case]:
    x = numbers("f32", 4)
    inner = "inner { q = f32[4] parameter(0)  ROOT n = f32[4] negate(q) }"
    body = """a = ((f32[4]), f32[4], u32[]) async-start(p0), calls=inner, async_execution_thread="worker"
    {}r = f32[4] async-done({})"""
    thread = inner + ', execution_thread="worker"'
    for opcode, update, last in [
        ("async-start", "", "a"),
        ("async-done", "", "a"),
        ("async-update", "b = ((f32[4]), f32[4], u32[]) async-update(a)\n", "b"),
    ]:
        yield case(opcode, body.format(update, last), x, callees=[thread], oracle=lambda x: -x)
    sugared = """t = ((f32[4]), f32[4], s32[]) negate-start(p0)
    u = ((f32[4]), f32[4], s32[]) negate-update(t)
    r = f32[4] negate-done(u)"""
    yield case("async-start", sugared, x, oracle=lambda x: -x)
    called = """t = ((f32[4], f32[4]), f32[4], s32[]) call-start(p0, p0), to_apply=sum
    u = ((f32[4], f32[4]), f32[4], s32[]) call-update(t)
    r = f32[4] call-done(u)"""
    sum_of_two = "sum { p = f32[4] parameter(0)  q = f32[4] parameter(1)  ROOT s = f32[4] add(p, q) }"
    yield case("async-start", called, x, callees=[sum_of_two], oracle=lambda x: x + x)
    copy = "c = (f32[4], f32[4], u32[]) copy-start(p0)\nr = f32[4] copy-done(c)"
    for opcode in ("copy-start", "copy-done"):
        yield passing(opcode, copy, x, x)


def tokens() -> Iterator[Case]:
    x, y = numbers("f32", 4), numbers("s32", 2)
    yield passing(
        "after-all", "t = token[] after-all()\nu = token[] after-all(t, t)\nr = f32[4] add-dependency(p0, u)", x, x
    )
    yield passing("add-dependency", "t = token[] after-all()\nr = f32[4] add-dependency(p0, t)", x, x)
    domain = 'r = f32[4] domain(p0), domain={kind="sharding", entry={replicated}, exit={maximal device=0}}'
    yield passing("domain", domain, x, x)
    body = "t = (f32[4], s32[2]) tuple(p0, p1)\nr = (f32[4], s32[2]) opt-barrier(t)"
    yield case("opt-barrier", body, x, y)


def cases() -> Iterator[Case]:
    yield from loops()
    yield from conditionals()
    yield from calls()
    yield from asynchronous()
    yield from tokens()
