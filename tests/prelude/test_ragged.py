import numpy as np

import xla2py
from xla2py.templates.prelude.ragged import copy_ragged_rows

MODULE = """
ENTRY main {
  x = f32[6,2] parameter(0)
  y = f32[5,2] parameter(1)
  from = s64[2] parameter(2)
  size = s64[2] parameter(3)
  to = s64[2] parameter(4)
  ROOT r = f32[5,2] ragged-all-to-all(x, y, from, size, to, size), replica_groups={{0}}
}
"""


def test_rows_are_copied_to_their_places():
    x, y = np.arange(12, dtype=np.float32).reshape(6, 2), np.full((5, 2), -1, np.float32)
    starts, sizes, places = np.array([4, 0]), np.array([2, 1]), np.array([0, 3])
    expected = np.float32([[8, 9], [10, 11], [-1, -1], [0, 1], [-1, -1]])
    np.testing.assert_array_equal(copy_ragged_rows(x, y, starts, sizes, places), expected)
    assert (y == -1).all()
    emitted = xla2py.emit(MODULE).load()
    np.testing.assert_array_equal(emitted.main(x, y, starts, sizes, places), expected)


def test_nothing_to_copy():
    none = np.zeros(0, np.int64)
    y = np.ones((3,), np.float32)
    np.testing.assert_array_equal(copy_ragged_rows(y, y, none, none, none), y)
