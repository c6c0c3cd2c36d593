"""Counters at the ends of their types."""

import numpy as np
import pytest

from xla2py import emit

LOOP = """
cond {{ s = (s64[], f32[]) parameter(0)  i = s64[] get-tuple-element(s), index=0  n = s64[] constant({stop})
  ROOT c = pred[] compare(i, n), direction={direction} }}
body {{ s = (s64[], f32[]) parameter(0)  i = s64[] get-tuple-element(s), index=0
  x = f32[] get-tuple-element(s), index=1  k = s64[] constant({step})  j = s64[] add(i, k)
  y = f32[] add(x, x)  ROOT t = (s64[], f32[]) tuple(j, y) }}
ENTRY e {{ x = f32[] parameter(0)  start = s64[] constant({start})  t = (s64[], f32[]) tuple(start, x)
  ROOT w = (s64[], f32[]) while(t), condition=cond, body=body }}
"""
LEAST, MOST = -(2**63), 2**63 - 1


@pytest.mark.parametrize(
    "direction, step, target",
    [
        *((*each, "numpy") for each in (("LE", 1), ("LT", 1), ("LT", 2), ("NE", 1), ("NE", 2))),
        ("LE", 1, "cupy"),
        ("LE", 1, "dask"),
    ],
)
def test_more_iterations_than_a_range_has_a_length_for(direction, step, target):
    """Nobody waits for them; they are written down."""
    text = LOOP.format(start=LEAST, stop=MOST - 1, direction=direction, step=step)
    assert f"range({LEAST}, " in emit(text, target).source


def test_the_last_iterations_before_the_end_of_the_type():
    text = LOOP.format(start=MOST - 3, stop=MOST - 1, direction="LE", step=1)
    i, x = emit(text).load().main(np.float32(1))
    assert (i, x) == (MOST, 8)


def test_a_counter_that_wraps_is_no_range():
    """From 0 by 90, 180 and 14 come before the first number from 250 on, which is the 17th."""
    text = LOOP.replace("s64", "u8").format(start=0, stop=250, direction="LT", step=90)
    emitted = emit(text)
    i, x = emitted.load().main(np.float32(1))
    assert (i, x) == (250, 2**17)
    assert "range(" not in emitted.source.partition("def main")[2]


@pytest.mark.parametrize("direction, start, step", [("LE", MOST - 5, 2), ("GE", LEAST + 5, -2), ("LE", 0, 2**62)])
def test_a_loop_that_only_ends_after_its_counter_wrapped_is_no_range(direction, start, step):
    text = LOOP.format(start=start, stop=MOST - 1 if step > 0 else LEAST + 1, direction=direction, step=step)
    assert "range(" not in emit(text).source.partition("def main")[2]


NARROW = """
cond { s = (s32[], u8[3], s8[3]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(300)
  ROOT c = pred[] compare(i, n), direction=LT }
body { s = (s32[], u8[3], s8[3]) parameter(0)  i = s32[] get-tuple-element(s), index=0  k = s32[] constant(1)
  x = u8[3] get-tuple-element(s), index=1  a = u8[] convert(i)  b = u8[3] broadcast(a), dimensions={}
  y = s8[3] get-tuple-element(s), index=2  c = s8[] convert(i)  d = s8[3] broadcast(c), dimensions={}
  u = u8[3] maximum(x, b)  v = s8[3] add(y, d)  j = s32[] add(i, k)
  ROOT t = (s32[], u8[3], s8[3]) tuple(j, u, v) }
ENTRY e { x = u8[3] parameter(0)  y = s8[3] parameter(1)  start = s32[] constant(-3)
  t = (s32[], u8[3], s8[3]) tuple(start, x, y)  w = (s32[], u8[3], s8[3]) while(t), condition=cond, body=body
  u = u8[3] get-tuple-element(w), index=1  v = s8[3] get-tuple-element(w), index=2
  ROOT r = (u8[3], s8[3]) tuple(u, v) }
"""


@pytest.mark.parametrize("style", ["readable", "fused"])
def test_a_counter_wraps_where_it_becomes_a_narrow_number(style):
    most, total = emit(NARROW, style=style).load().main(np.zeros(3, np.uint8), np.arange(3, dtype=np.int8))
    whole = np.arange(-3, 300)
    np.testing.assert_array_equal(most, np.full(3, 255, np.uint8))
    np.testing.assert_array_equal(total, (np.arange(3) + whole.sum()).astype(np.int8))


STORED = """
add { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT c = s32[] add(a, b) }
cond { s = (s32[], s32[2,2], s8[2], s32[2]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(2)  ROOT c = pred[] compare(i, n), direction=LT }
body { s = (s32[], s32[2,2], s8[2], s32[2]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  k = s32[] constant(1)  zero = s32[] constant(0)  x = s32[2,2] get-tuple-element(s), index=1
  row = s32[1,2] dynamic-slice(x, i, zero), dynamic_slice_sizes={1,2}  flat = s32[2] reshape(row)
  y = s8[2] get-tuple-element(s), index=2  one = s32[1] slice(flat), slice={[0:1]}  a = s8[1] convert(one)
  u = s8[2] dynamic-update-slice(y, a, i)  z = s32[2] get-tuple-element(s), index=3
  t = s32[] reduce(flat, zero), dimensions={0}, to_apply=add  r = s32[1] reshape(t)
  v = s32[2] dynamic-update-slice(z, r, i)  j = s32[] add(i, k)
  ROOT o = (s32[], s32[2,2], s8[2], s32[2]) tuple(j, x, u, v) }
ENTRY e { x = s32[2,2] parameter(0)  y = s8[2] parameter(1)  z = s32[2] parameter(2)  start = s32[] constant(0)
  t = (s32[], s32[2,2], s8[2], s32[2]) tuple(start, x, y, z)
  w = (s32[], s32[2,2], s8[2], s32[2]) while(t), condition=cond, body=body
  u = s8[2] get-tuple-element(w), index=2  v = s32[2] get-tuple-element(w), index=3
  ROOT r = (s8[2], s32[2]) tuple(u, v) }
"""


@pytest.mark.parametrize("style", ["readable", "fast"])
def test_a_number_wraps_where_it_is_stored_in_narrow_integers(style):
    x = np.array([[300, 2**31 - 1], [-129, 2]], np.int32)
    values, totals = emit(STORED, style=style).load().main(x, np.zeros(2, np.int8), np.zeros(2, np.int32))
    np.testing.assert_array_equal(values, np.array([44, 127], np.int8))
    np.testing.assert_array_equal(totals, x.sum(axis=1, dtype=np.int32))


PLACES = """
cond { s = (u16[], f32[6]) parameter(0)  i = u16[] get-tuple-element(s), index=0  n = u16[] constant(4)
  ROOT c = pred[] compare(i, n), direction=NE }
body { s = (u16[], f32[6]) parameter(0)  i = u16[] get-tuple-element(s), index=0  k = u16[] constant(1)
  j = u16[] add(i, k)  x = f32[6] get-tuple-element(s), index=1  p = s32[] convert(i)  back = s32[] constant(BACK)
  q = s32[] add(p, back)  c = f32[] convert(q)  cs = f32[6] broadcast(c), dimensions={}  y = f32[6] subtract(x, cs)
  ROOT t = (u16[], f32[6]) tuple(j, y) }
ENTRY e { x = f32[6] parameter(0)  start = u16[] constant(1)  t = (u16[], f32[6]) tuple(start, x)
  ROOT w = (u16[], f32[6]) while(t), condition=cond, body=body }
"""


@pytest.mark.parametrize("back, counted", [(-2, "range(1, 4)"), (-1, "range(3)")])
def test_a_counter_without_sign_counts_from_no_negative_number(back, counted):
    emitted = emit(PLACES.replace("BACK", str(back)), debug=True)
    assert f"in {counted}" in emitted.source
    i, x = emitted.load().main(np.zeros(6, np.float32))
    assert i == 4 and (x == -(6 + 3 * back)).all()
