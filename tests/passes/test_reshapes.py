"""reshapes: optimised gathers and scatters by indices in their own shape."""

import numpy as np
import pytest

from xla2py.tests.passes.raising import EXACT, assert_agrees, cases, entry, hlo, lacks, optimised
from xla2py.tests.recording.lazy_jax import jnp

X = np.random.default_rng(0).normal(size=(5, 7, 2)).astype(np.float32)
ROWS = np.array([[0, 4, 1], [3, 9, -2]], np.int32)
COLUMNS = np.array([[6, 0, 3], [6, 8, -1]], np.int32)
VALUES = np.arange(12, dtype=np.float32).reshape(2, 3, 2)

test_indices_keep_their_shape = cases("reshapes", claims=[lacks("reshape")], budget=EXACT, forms=(optimised,))(
    (lambda x, i: jnp.take(x, i, axis=0, mode="clip"), (X, ROWS), 'return np.take(x, i, axis=0, mode="clip")'),
    (lambda x, i, j: x[i % 5, j % 7], (X, ROWS, COLUMNS), "return x[i % 5, j % 7]"),
    (
        lambda x, i, j, values: x.at[i % 5, j % 7].add(values),
        (X, ROWS, COLUMNS, VALUES),
        "return scatter_at(x, (i % 5, j % 7), values, np.add)",
    ),
)


TAKEN = (
    "taken = f32[4,6] gather(x, flat), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
    "index_vector_dim=1, slice_sizes={1,6}"
)
MIXED = entry(
    *("x = f32[5,6] parameter(0)", "i = s32[4,1] parameter(1)", "flat = s32[4] reshape(i)", TAKEN),
    "result = f32[4,2,3] reshape(taken)",
)
TURNED = entry(
    *("x = f32[5,6] parameter(0)", "i = s32[2,2] parameter(1)", "turned = s32[2,2] transpose(i), dimensions={1,0}"),
    *("flat = s32[4] reshape(turned)", TAKEN, "result = f32[2,2,6] reshape(taken)"),
)
NUMBERS, PLACES = np.arange(30, dtype=np.float32).reshape(5, 6), np.array([0, 7, -1, 3], np.int32)
test_other_shapes = cases("reshapes", budget=EXACT)(
    (MIXED, (NUMBERS, PLACES.reshape(4, 1))),  # the axes of the index and those of the array are mixed anew
    (TURNED, (NUMBERS, PLACES.reshape(2, 2))),  # the index was turned, not reshaped
)


COLUMN = entry(
    *("x = f32[2,3] parameter(0)", "flat = f32[3,2] reshape(x)", "column = f32[3,1] slice(flat), slice={[0:3], [1:2]}"),
    "result = f32[3] reshape(column)",
)
test_a_column_of_a_table_stays = cases("reshapes", NUMBERS[:2, :3])((COLUMN, "return x.reshape(3, 2)[:, 1]"))


@pytest.mark.parametrize("method", ["set", "add"])
def test_indices_that_broadcast_together_are_not_of_one_shape(method):
    x, values = np.zeros((5, 7), np.float32), np.arange(9, dtype=np.float32).reshape(3, 3)
    rows, columns = np.array([0, 4, 1], np.int32), np.array([6, 0, 3], np.int32)

    def function(x, i, j, values):
        return getattr(x.at[i[:, None] % 5, j[None, :] % 7], method)(values)

    for form in (hlo, optimised):
        text = form(function, x, rows, columns, values)
        assert_agrees(text, x, rows, columns, values, without="reshapes", budget=EXACT)
