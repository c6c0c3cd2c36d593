"""Carries that are written in place only where nobody reads their old value later."""

import numpy as np

import xla2py

SWAPS = """HloModule swaps
condition {
  c = (s32[], s32[4], s32[3]) parameter(0)
  i = s32[] get-tuple-element(c), index=0
  n = s32[] constant(3)
  ROOT more = pred[] compare(i, n), direction=LT
}
body {
  c = (s32[], s32[4], s32[3]) parameter(0)
  i = s32[] get-tuple-element(c), index=0
  order = s32[4] get-tuple-element(c), index=1
  pivots = s32[3] get-tuple-element(c), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  row = s32[1] dynamic-slice(pivots, i), dynamic_slice_sizes={1}
  j = s32[] reshape(row)
  first = s32[1] dynamic-slice(order, i), dynamic_slice_sizes={1}
  second = s32[1] dynamic-slice(order, j), dynamic_slice_sizes={1}
  half = s32[4] dynamic-update-slice(order, second, i)
  clash = s32[1] dynamic-slice(half, j), dynamic_slice_sizes={1}
  kept = pred[1] compare(clash, clash), direction=EQ
  moved = s32[1] select(kept, first, clash)
  swapped = s32[4] dynamic-update-slice(half, moved, j)
  ROOT r = (s32[], s32[4], s32[3]) tuple(next, swapped, pivots)
}
ENTRY e {
  pivots = s32[3] parameter(0)
  zero = s32[] constant(0)
  order = s32[4] iota(), iota_dimension=0
  start = (s32[], s32[4], s32[3]) tuple(zero, order, pivots)
  w = (s32[], s32[4], s32[3]) while(start), condition=condition, body=body
  ROOT result = s32[4] get-tuple-element(w), index=1
}
"""


def test_a_changed_copy_reads_the_old_value_of_its_carry_after_the_copy():
    order = xla2py.emit(SWAPS).load().main(np.int32([2, 3, 2]))
    assert order.tolist() == [2, 3, 0, 1]
