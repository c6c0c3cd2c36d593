"""What XLA's partitioner spells out for each device is written as what it means."""

from __future__ import annotations

import numpy as np
import pytest

import xla2py

LOOKUP = """HloModule lookup, num_partitions=8, replica_count=1
ENTRY e { x = s32[2] parameter(0)  table = s32[8] constant({TABLE})  id = u32[] partition-id()
  one = s32[1] dynamic-slice(table, id), dynamic_slice_sizes={1}  s = s32[] reshape(one)
  all = s32[2] broadcast(s), dimensions={}  ROOT r = s32[2] add(x, all) }
"""


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ([0, 1, 2, 3, 0, 1, 2, 3], "g.partition_id % 4"),
        ([0, 0, 0, 0, 16, 16, 16, 16], "g.partition_id // 4"),
        ([5, 5, 2, 2, 5, 5, 2, 2], "g.partition_id // 2 % 2"),
        ([0, 3, 6, 9, 12, 15, 18, 21], "g.partition_id.astype(np.int32) * 3"),
        ([7] * 8, "x + 7"),
        ([0, 1, 3, 2, 0, 1, 3, 2], "np.array([0, 1, 3, 2, 0, 1, 3, 2], dtype=np.int32)[g.partition_id]"),
        ([0, 0, 1, 1, 0, 0, 0, 1], "np.array([0, 0, 1, 1, 0, 0, 0, 1], dtype=np.int32)[g.partition_id]"),
    ],
)
def test_a_table_of_places_along_an_axis_is_worked_out(table, text):
    generated = xla2py.emit(LOOKUP.replace("TABLE", ", ".join(map(str, table))))
    assert text in generated.source
    results = generated.load().run_local([[np.int32([1, 2])]] * 8)
    for number, result in zip(table, results, strict=True):
        np.testing.assert_array_equal(result, np.int32([1, 2]) + number, strict=True)


BLOCKS = """HloModule blocks, replica_count=4
ENTRY e { x = f32[8,3] parameter(0)  y = f32[4,2,3] reshape(x)
  a = f32[2,3] slice(x), slice={[0:2], [0:3]}  b = f32[1,2,3] slice(y), slice={[1:2], [0:2], [0:3]}
  c = f32[1,2,3] slice(y), slice={[THIRD], [0:2], [0:3]}  d = f32[1,2,3] slice(y), slice={[3:4], [0:2], [0:3]}
  first = f32[1,2,3] reshape(a)
  sent = (f32[1,2,3], f32[1,2,3], f32[1,2,3], f32[1,2,3]) all-to-all(first, b, c, d)
  p = f32[1,2,3] get-tuple-element(sent), index=0  q = f32[1,2,3] get-tuple-element(sent), index=1
  r = f32[1,2,3] get-tuple-element(sent), index=2  s = f32[1,2,3] get-tuple-element(sent), index=3
  ROOT got = f32[4,2,3] concatenate(p, q, r, s), dimensions={0} }
"""


@pytest.mark.parametrize("third", ["2:3", "1:2"])
def test_blocks_of_an_array_that_was_reshaped_for_some_of_them(third):
    generated = xla2py.emit(BLOCKS.replace("THIRD", third))
    assert "g.all_to_all(" in generated.source
    assert generated.source.count("np.concatenate([exchanged") == (third != "2:3")
    given = np.arange(4 * 8 * 3, dtype=np.float32).reshape(4, 4, 2, 3)
    results = generated.load().run_local([[each.reshape(8, 3)] for each in given])
    taken = [0, 1, int(third[0]), 3]
    for device, result in enumerate(results):
        np.testing.assert_array_equal(result, given[:, taken[device]], strict=True)
