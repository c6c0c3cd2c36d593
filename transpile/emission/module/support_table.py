"""The operations that can be emitted, for ``xla2py ops`` and the documentation.

Support may depend on more than the opcode: a shift by a constant differs from a shift by a computed amount. So a target
is asked about small programs, at least one for nearly every opcode.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

from ...compilation import Refusal, compile
from ...hlo.builder.examples import example, operations
from ...hlo.ir import HloModule
from ...hlo.opcodes import OPCODES
from ...hlo.parser import parse_module
from ...passes.to_array import RULES
from ...target import Target, load_target

SUPPORTED = "yes"
IN_PART = "in part"
UNSUPPORTED = "no"

# The forms that are easy for every array library; the examples of the builder have the general ones.
_EASY = """
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
negated {
  a = f32[4] parameter(0)
  ROOT b = f32[4] negate(a)
}
doubled {
  a = f32[4] parameter(0)
  ROOT b = f32[4] add(a, a)
}
next {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  first = pred[] compare(i, one), direction=LT
  y = f32[4] conditional(first, x, x), true_computation=negated, false_computation=doubled
  ROOT t = (s32[], f32[4]) tuple(j, y)
}
more {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT p = pred[] compare(i, n), direction=LT
}
ENTRY main {
  i = s32[] constant(0)
  x = f32[4] parameter(0)
  s = (s32[], f32[4]) tuple(i, x)
  w = (s32[], f32[4]) while(s), condition=more, body=next
  y = f32[4] get-tuple-element(w), index=1
  part = f32[2] dynamic-slice(y, i), dynamic_slice_sizes={2}
  whole = f32[4] dynamic-update-slice(y, part, i)
  u = u32[4] parameter(1)
  three = u32[4] constant({3, 3, 3, 3})
  left = u32[4] shift-left(u, three)
  right = u32[4] shift-right-logical(u, three)
  signed = s32[4] parameter(2)
  amount = s32[4] constant({3, 3, 3, 3})
  bits = f32[4] bitcast-convert(signed)
  direction = s32[4] sign(signed)
  arithmetic = s32[4] shift-right-arithmetic(signed, amount)
  as_float = f32[4] convert(signed)
  zero = f32[] constant(0)
  padded = f32[6] pad(x, zero), padding=1_1
  running = f32[4] reduce-window(y, zero), window={size=4 pad=3_0}, to_apply=sum
  ROOT all = (f32[4], u32[4], u32[4], s32[4], f32[4], s32[4], f32[4], f32[6], f32[4]) tuple(
    whole, left, right, arithmetic, bits, direction, as_float, padded, running)
}
"""

# Asynchronous collectives, which the builder does not make.
_STARTED = """HloModule started, replica_count=2
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY main {
  x = f32[4] parameter(0)
  a = f32[4] all-reduce-start(x), to_apply=sum
  b = f32[4] all-reduce-done(a)
  c = (f32[4], f32[8]) all-gather-start(b), dimensions={0}
  d = f32[8] all-gather-done(c)
  e = (f32[8], f32[8]) collective-permute-start(d), source_target_pairs={{0,1}}
  f = f32[8] collective-permute-done(e)
  t = token[] after-all()
  g = (f32[8], u32[], token[]) recv(t), channel_id=1
  h = (f32[8], u32[], token[]) send(f, t), channel_id=1
  i = (f32[8], token[]) recv-done(g), channel_id=1
  j = token[] send-done(h), channel_id=1
  ROOT k = f32[8] get-tuple-element(i), index=0
}
"""


def coverage(target: str) -> dict[str, str]:
    """Return the status of each opcode on a target. Raises ``UsageError`` (XP406) for an unknown target."""
    chosen = load_target(target)
    seen: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for opcodes, refusals in _programs(chosen):
        seen.update(opcodes)
        refused.update({refusal.opcode for refusal in refusals})
    return {opcode: _status(opcode, seen[opcode], refused[opcode]) for opcode in OPCODES}


def _status(opcode: str, seen: int, refused: int) -> str:
    if not _is_lowered(opcode) or (refused and refused >= seen):
        return UNSUPPORTED
    return IN_PART if refused else SUPPORTED


def _is_lowered(opcode: str) -> bool:
    return opcode in RULES or opcode == "parameter"


@cache
def _programs(target: Target) -> tuple[tuple[frozenset[str], tuple[Refusal, ...]], ...]:
    """Return, for each program, its opcodes and the operations in it that the target does not support."""
    return tuple(
        (frozenset(i.opcode for i in module.instructions()), compile(module, target).refusals) for module in _modules()
    )


def _modules() -> Iterator[HloModule]:
    yield parse_module(_EASY)
    yield parse_module(_STARTED)
    for module in (example(name).build() for name in operations()):
        if all(_is_lowered(i.opcode) for i in module.instructions()):
            yield module
