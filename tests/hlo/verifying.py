"""Modules around one instruction, and what the verifier says of a module."""

from __future__ import annotations

import pytest

from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.source import HloVerificationError, SourceText
from xla2py.transpile.hlo.verifier import verify

COMPUTATIONS = """
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }
less { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = pred[] compare(x, y), direction=LT }
negated { a = f32[4] parameter(0) ROOT r = f32[4] negate(a) }
shorter { a = f32[4] parameter(0) ROOT r = f32[2] slice(a), slice={[0:2]} }
not_yet { a = f32[4] parameter(0) ROOT r = pred[] constant(false) }
"""
PARAMETERS = """
a = f32[4] parameter(0)  b = f32[4,3] parameter(1)  c = s32[4] parameter(2)  s = f32[] parameter(3)
i = s32[] parameter(4)  t = token[] parameter(5)  p = pred[] parameter(6)  pair = (f32[4], s32[]) parameter(7)
u = u64[2] parameter(8)  h = bf16[4] parameter(9)  z = c64[4] parameter(10)  q = pred[4] parameter(11)
d = f32[<=4] parameter(12)  w = (f32[4], f32[4], u32[]) parameter(13)  m = f32[4,4] parameter(14)
"""


def module_text(line: str) -> str:
    return f"HloModule m\n{COMPUTATIONS}\nENTRY main {{ {PARAMETERS}\nROOT r = {line}\n}}\n"


def complaints(text: str) -> HloVerificationError:
    source = SourceText(text, "m.hlo")
    with pytest.raises(HloVerificationError) as caught:
        verify(parse_module(source), source)
    return caught.value
