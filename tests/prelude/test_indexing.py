"""Gather, scatter, dynamic slices and pad: XLA CPU is the judge."""

import ml_dtypes
import numpy as np
import pytest

from xla2py.templates.prelude.indexing import (
    clamp_start,
    dynamic_slice,
    dynamic_update_slice,
    gather,
    get_or_fill,
    occurrences,
    pad,
    put_at,
    scatter,
    scatter_at,
    scatter_rows,
    take_or_fill,
)

pytestmark = pytest.mark.filterwarnings("error")
rng = np.random.default_rng(7)
DTYPES = [bool, np.int8, np.uint32, np.int64, np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64]


def random(shape, dtype=np.float32):
    return np.asarray(rng.integers(-9, 9, shape)).astype(dtype)


# ---------------------------------------------------------------- starts, slices, pad
@pytest.mark.parametrize(
    "start, expected",
    [
        (np.int8(-3), 0),
        (np.uint8(200), 5),
        (np.uint32(2**32 - 1), 5),
        (np.uint64(2**63 + 1), 5),
        (np.int64(-(2**63)), 0),
        (4, 4),
        (np.array([-1, 3, 9], np.int16), [0, 3, 5]),
    ],
)
def test_clamp_start(start, expected):
    np.testing.assert_array_equal(clamp_start(start, 5), expected)


@pytest.mark.parametrize("sizes", [(0, 3), (4, 0), (0, 0), (4, 6)])
def test_dynamic_slices_of_no_or_all_elements(agrees, sizes):
    x, starts = random((4, 6)), [np.int32(1), np.int32(3)]
    agrees(dynamic_slice(x, starts, sizes), "dynamic-slice", [x, *starts], dynamic_slice_sizes=sizes)
    update = random(sizes)
    agrees(dynamic_update_slice(x, update, starts), "dynamic-update-slice", [x, update, *starts])


def padding_text(padding, interior):
    return "x".join(f"{low}_{high}_{gap}" for (low, high), gap in zip(padding, interior, strict=True))


@pytest.mark.parametrize(
    "shape, padding, interior",
    [
        ((3, 4), ((1, 2), (0, 0)), (0, 0)),
        ((3, 4), ((-1, 2), (2, -3)), (0, 0)),
        ((3, 4), ((1, -1), (-3, 1)), (1, 2)),
        ((3, 4), ((-5, 4), (0, 0)), (0, 0)),
        ((3, 4), ((4, -5), (-2, -2)), (0, 1)),
        ((0, 4), ((1, 2), (0, 0)), (3, 0)),
        ((1, 1), ((0, 0), (1, 0)), (5, 5)),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.bool_, ml_dtypes.int4])
def test_pad(agrees, shape, padding, interior, dtype):
    x, value = np.abs(random(shape)).astype(dtype), np.ones((), dtype)
    agrees(pad(x, value, padding, interior), "pad", [x, value], padding=padding_text(padding, interior))


def test_pad_without_interior_and_of_a_scalar():
    np.testing.assert_array_equal(pad(np.float32([1, 2]), 0, [(1, 0)]), np.float32([0, 1, 2]))
    assert pad(np.array(3.0), 0, []) == 3


# ---------------------------------------------------------------- gather and scatter
def random_windows(ndim, seed):
    """Random legal dimension numbers of a gather: operand shape, indices, slice sizes, result shape, the numbers."""
    state = np.random.default_rng(seed)
    shape = [int(n) for n in state.integers(1, 5, ndim)]
    roles = state.choice(["offset", "collapsed", "batching"], ndim, p=[0.5, 0.3, 0.2])
    offset, collapsed, batching = (
        np.flatnonzero(roles == role).tolist() for role in ("offset", "collapsed", "batching")
    )
    sizes = [int(state.integers(0, n + 1)) if dim in offset else 1 for dim, n in enumerate(shape)]
    mapped = state.permutation(offset + collapsed).tolist()[: state.integers(ndim > 0 and seed % 8 > 0, ndim + 1)]
    batch = state.integers(1, 4, state.integers(0, 3)).tolist()
    batch_axes = state.permutation(len(batch) + len(batching)).tolist()[: len(batching)]
    for position, dim in sorted(zip(batch_axes, batching, strict=True)):
        batch.insert(position, shape[dim])
    vector_dim = int(state.integers(0, len(batch) + 1))
    index_shape = [*batch[:vector_dim], len(mapped), *batch[vector_dim:]]
    if len(mapped) == 1 and state.integers(2):
        vector_dim, index_shape = len(batch), batch
    else:
        batch_axes = [axis + (axis >= vector_dim) for axis in batch_axes]
    offset_dims = sorted(state.permutation(len(batch) + len(offset)).tolist()[: len(offset)])
    result_shape = batch.copy()
    for position, dim in zip(offset_dims, offset, strict=True):
        result_shape.insert(position, sizes[dim])
    indices = state.integers(-2, 6, index_shape).astype(np.int32)
    numbers = (offset_dims, collapsed, mapped, batching, batch_axes)
    return shape, indices, tuple(sizes), result_shape, [*map(tuple, numbers), vector_dim]


GATHER_NAMES = ["offset_dims", "collapsed_slice_dims", "start_index_map"]
GATHER_NAMES += ["operand_batching_dims", "start_indices_batching_dims", "index_vector_dim"]
SCATTER_NAMES = ["update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims"]
SCATTER_NAMES += ["input_batching_dims", "scatter_indices_batching_dims", "index_vector_dim"]


@pytest.mark.parametrize("seed", range(40))
def test_gather_with_random_dimension_numbers(agrees, seed):
    shape, indices, sizes, result_shape, numbers = random_windows(seed % 5, seed)
    x = random(shape, DTYPES[seed % len(DTYPES)])
    names = dict(zip(GATHER_NAMES, numbers, strict=True))
    ours = gather(x, indices, sizes, **names)
    assert list(ours.shape) == result_shape
    agrees(ours, "gather", [x, indices], slice_sizes=sizes, **names)


def combiner(name, element_type):
    body = {
        "add": "ROOT r = S add(a, b)",
        "maximum": "ROOT r = S maximum(a, b)",
        "replace": "ROOT r = S copy(b)",
        "function": "t = S add(a, a)  ROOT r = S subtract(t, b)",
    }[name]
    return f"region {{ a = S parameter(0)  b = S parameter(1)  {body} }}".replace(" S ", f" {element_type}[] ")


FUNCTIONS = {"add": np.add, "maximum": np.maximum, "replace": None, "function": lambda a, b: (a + a) - b}


@pytest.mark.parametrize("seed", range(60))
def test_scatter_with_random_dimension_numbers(agrees, seed):
    shape, indices, _, update_shape, numbers = random_windows(1 + seed % 4, seed)
    dtype, text = [(np.float32, "f32"), (np.int8, "s8"), (np.float64, "f64"), (np.uint64, "u64")][seed % 4]
    x, updates = random(shape, dtype), random(update_shape, dtype)
    names = dict(zip(SCATTER_NAMES, numbers, strict=True))
    name = list(FUNCTIONS)[seed // 4 % 4]
    if not numbers[2]:
        pytest.skip("XLA CPU applies only the last update when the index vectors are empty")
    before = x.copy()
    ours = scatter(x, indices, updates, FUNCTIONS[name], **names)
    np.testing.assert_array_equal(x, before)
    operands = [x, indices, updates]
    agrees(ours, "scatter", operands, to_apply="region", computations=combiner(name, text), **names)


ROWS = {
    "update_window_dims": (1,),
    "inserted_window_dims": (0,),
    "scatter_dims_to_operand_dims": (0,),
    "index_vector_dim": 1,
}
CELLS = {
    "update_window_dims": (),
    "inserted_window_dims": (0,),
    "scatter_dims_to_operand_dims": (0,),
    "index_vector_dim": 1,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "dtype, text", [(np.float16, "f16"), (ml_dtypes.bfloat16, "bf16"), (np.complex64, "c64"), (ml_dtypes.int4, "s4")]
)
def test_scatter_of_rows_and_cells_with_many_duplicates(agrees, name, dtype, text):
    indices = rng.integers(-1, 5, 40).astype(np.int32)
    for shape, update_shape, names in [((4, 3), (40, 3), ROWS), ((4,), (40,), CELLS)]:
        x, updates = (np.asarray(rng.integers(-7, 8, s)).astype(dtype) for s in (shape, update_shape))
        if dtype is np.float16 or dtype is ml_dtypes.bfloat16:  # sums that must round after every update
            updates = (updates * dtype(0.37)).astype(dtype)
        if np.dtype(dtype).kind == "c" and name == "maximum":
            continue
        ours = scatter(x, indices, updates, FUNCTIONS[name], **names)
        agrees(ours, "scatter", [x, indices, updates], to_apply="region", computations=combiner(name, text), **names)


def test_scatter_with_empty_index_vectors_applies_every_update():
    names = {"inserted_window_dims": (0,), "index_vector_dim": 1}
    result = scatter(np.int32([1, 2]), np.zeros((3, 0), np.int32), np.int32([10, 20, 30]), np.add, **names)
    np.testing.assert_array_equal(result, [61, 2])


def test_occurrences_are_rounds_in_order():
    rounds = [part.tolist() for part in occurrences(np.array([5, 2, 5, 5, 2, 0]))]
    assert [sorted(part) for part in rounds] == [[0, 1, 5], [2, 4], [3]]
    assert sum(len(part) for part in occurrences(np.array([], int))) == 0


# ---------------------------------------------------------------- scatter_at
@pytest.mark.parametrize("combine", [None, np.add, np.maximum])
def test_scatter_at_leaves_out_what_is_outside(combine):
    x, values = random((5, 3)), random((6, 3))
    index = np.array([0, 4, -1, 5, 4, 2**31 - 1], np.int32)
    before, result = x.copy(), scatter_at(x, index, values, combine)
    expected = x.copy()
    for place, value in zip(index, values, strict=True):
        if 0 <= place < 5:
            expected[place] = value if combine is None else combine(expected[place], value)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(x, before)


def test_put_at_counts_negative_places():
    x, places = np.zeros(4, np.float32), np.array([-5, -4, -1, 0, 3, 4], np.int8)
    result = put_at(x, places, np.arange(6, dtype=np.float32), np.add)
    np.testing.assert_array_equal(result, [4, 0, 0, 6])
    np.testing.assert_array_equal(put_at(x, places[1:5], np.float32(2)), [2, 0, 0, 2])
    assert not x.any()


def test_scatter_at_by_several_indices_that_broadcast():
    x = np.zeros((3, 4), np.float32)
    result = scatter_at(x, (np.arange(3)[:, None], np.array([1, 9])), np.float32(2), np.add)
    np.testing.assert_array_equal(result, np.eye(1, 4, 1, dtype=np.float32).repeat(3, 0) * 2)
    np.testing.assert_array_equal(scatter_at(x, np.int32(1), np.ones(4, np.float32))[1], 1)
    np.testing.assert_array_equal(scatter_at(x, np.int32(-1), np.ones(4, np.float32)), x)


# ---------------------------------------------------------------- indices that may lie outside
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_what_lies_outside_is_filled(dtype):
    x = random((4, 3), dtype)
    indices = np.array([0, 3, -4, 4, -5], np.int8)
    taken = take_or_fill(x, indices)
    assert taken.dtype == dtype
    np.testing.assert_array_equal(taken[:3], x[[0, 3, 0]])
    assert np.isnan(taken[3:].astype(np.float32)).all()
    picked = get_or_fill(x, (indices[:, None], np.arange(3)))
    np.testing.assert_array_equal(picked.astype(np.float32), taken.astype(np.float32))
    assert picked.dtype == dtype


def test_an_index_of_no_axes_takes_one_element():
    x = np.arange(4, dtype=np.uint8)
    assert take_or_fill(x, np.int32(-1), fill=255) == 3
    assert get_or_fill(x, (np.int32(4),), fill=255) == 255


@pytest.mark.parametrize("combine", [np.add, np.maximum])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.float16])
@pytest.mark.parametrize(
    ("shape", "count", "axes"),
    [
        ((50, 64), (200,), 1),
        ((50, 4, 16), (20, 30), 1),
        ((7, 9, 40), (300,), 2),
        ((3, 40), (2000,), 1),  # more repetitions than rounds
        ((50, 4), (200,), 1),
        ((50, 64), (0,), 1),
    ],
)
def test_scattered_rows_are_combined_in_their_order(combine, dtype, shape, count, axes):
    """Exactly as one after the other, those outside left out."""
    rng = np.random.default_rng(4)
    x = (rng.normal(size=shape) * 9).astype(dtype)
    values = (rng.normal(size=(*count, *shape[axes:])) * 9).astype(dtype)
    for outside in (0, 3):
        index = tuple(rng.integers(-outside, n + outside, count).astype(np.int32) for n in shape[:axes])
        expected = x.copy()
        for place in np.ndindex(*count):
            at = tuple(int(i[place]) for i in index)
            if all(0 <= i < n for i, n in zip(at, shape, strict=False)):
                expected[at] = combine(expected[at], values[place])
        for function in (scatter_rows, scatter_at):
            result = function(x, index if axes > 1 else index[0], values, combine)
            np.testing.assert_array_equal(result, expected)


def test_scattered_rows_broadcast():
    x = np.zeros((4, 3, 40), np.float32)
    index = np.array([[1], [9]]), np.array([0, 2])
    np.testing.assert_array_equal(
        scatter_rows(x, index, np.float32(2), np.add), scatter_at(x, index, np.float32(2), np.add)
    )
