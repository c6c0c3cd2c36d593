"""Functions, loops and branches."""

from __future__ import annotations

from xla2py.tests.targets.programs.program import program

PROGRAMS = [
    program(
        "a loop that adds up and stores",
        """x = f32[5,3] parameter(0)
        zero = s32[] constant(0)
        nothing = f32[] constant(0)
        sums = f32[3] broadcast(nothing), dimensions={}
        rows = f32[5,3] broadcast(nothing), dimensions={}
        start = (s32[], f32[], f32[3], f32[5,3], f32[5,3]) tuple(zero, nothing, sums, rows, x)
        end = (s32[], f32[], f32[3], f32[5,3], f32[5,3]) while(start), condition=more, body=step""",
        computations="""
more { s = (s32[], f32[], f32[3], f32[5,3], f32[5,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  five = s32[] constant(5)
  ROOT r = pred[] compare(i, five), direction=LT }
step { s = (s32[], f32[], f32[3], f32[5,3], f32[5,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  total = f32[] get-tuple-element(s), index=1
  sums = f32[3] get-tuple-element(s), index=2
  rows = f32[5,3] get-tuple-element(s), index=3
  x = f32[5,3] get-tuple-element(s), index=4
  zero = s32[] constant(0)
  one = s32[] constant(1)
  nothing = f32[] constant(0)
  next = s32[] add(i, one)
  slice = f32[1,3] dynamic-slice(x, i, zero), dynamic_slice_sizes={1,3}
  row = f32[3] reshape(slice)
  more = f32[3] add(sums, row)
  f = f32[] convert(i)
  spread = f32[3] broadcast(f), dimensions={}
  scaled = f32[3] multiply(more, spread)
  part = f32[] reduce(scaled, nothing), dimensions={0}, to_apply=sum_f32
  whole = f32[] add(total, part)
  flat = f32[1,3] reshape(scaled)
  stored = f32[5,3] dynamic-update-slice(rows, flat, i, zero)
  ROOT t = (s32[], f32[], f32[3], f32[5,3], f32[5,3]) tuple(next, whole, more, stored, x) }
""",
    ),
    program(
        "a loop that carries its last counter",
        """last = s32[] parameter(0)
        zero = s32[] constant(0)
        start = (s32[], s32[]) tuple(zero, last)
        end = (s32[], s32[]) while(start), condition=more, body=step
        found = s32[] get-tuple-element(end), index=1""",
        computations="""
more { s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  four = s32[] constant(4)
  ROOT r = pred[] compare(i, four), direction=LT }
step { s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT t = (s32[], s32[]) tuple(next, i) }
""",
    ),
    program(
        "a loop that swaps, pads and joins",
        """x = f32[6] parameter(0)
        y = f32[6] parameter(1)
        zero = s32[] constant(0)
        start = (s32[], f32[6], f32[6]) tuple(zero, x, y)
        end = (s32[], f32[6], f32[6]) while(start), condition=more, body=step""",
        computations="""
more { s = (s32[], f32[6], f32[6]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  five = s32[] constant(5)
  ROOT r = pred[] compare(i, five), direction=LT }
step { s = (s32[], f32[6], f32[6]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[6] get-tuple-element(s), index=1
  y = f32[6] get-tuple-element(s), index=2
  one = s32[] constant(1)
  half = f32[] constant(0.5)
  next = s32[] add(i, one)
  head = f32[1] slice(x), slice={[0:1]}
  tail = f32[5] slice(x), slice={[1:6]}
  turned = f32[6] concatenate(tail, head), dimensions={0}
  inner = f32[4] slice(y), slice={[1:5]}
  framed = f32[6] pad(inner, half), padding=1_1
  ROOT t = (s32[], f32[6], f32[6]) tuple(next, framed, turned) }
""",
    ),
    program(
        "a branch on the counter",
        """x = f32[4] parameter(0)
        zero = s32[] constant(0)
        start = (s32[], f32[4]) tuple(zero, x)
        end = (s32[], f32[4]) while(start), condition=more, body=step""",
        computations="""
more { s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  four = s32[] constant(4)
  ROOT r = pred[] compare(i, four), direction=LT }
early { x = f32[4] parameter(0)
  ROOT r = f32[4] negate(x) }
late { x = f32[4] parameter(0)
  ROOT r = f32[4] add(x, x) }
step { s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4] get-tuple-element(s), index=1
  one = s32[] constant(1)
  two = s32[] constant(2)
  next = s32[] add(i, one)
  first = pred[] compare(i, two), direction=LT
  y = f32[4] conditional(first, x, x), true_computation=early, false_computation=late
  ROOT t = (s32[], f32[4]) tuple(next, y) }
""",
    ),
    program(
        "a function called twice, once with a constant",
        """x = f32[4] parameter(0)
        y = f32[] parameter(1)
        half = f32[] constant(0.5)
        a = f32[4] call(x, y), to_apply=bent
        b = f32[4] call(a, half), to_apply=bent
        all = (f32[4], f32[4]) tuple(a, b)""",
        computations="""
bent { x = f32[4] parameter(0)
  y = f32[] parameter(1)
  one = f32[1] reshape(y)
  wide = f32[4] broadcast(y), dimensions={}
  a = f32[4] multiply(x, wide)
  b = f32[4] sine(a)
  c = f32[4] exponential(b)
  d = f32[5] concatenate(c, one), dimensions={0}
  e = f32[4] slice(d), slice={[1:5]}
  f = f32[4] add(e, x)
  ROOT g = f32[4] tanh(f) }
""",
    ),
]
