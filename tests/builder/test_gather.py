"""The Gather section of the operation-semantics seed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from xla2py.tests.builder.worked import check, s32
from xla2py.transpile.hlo.builder import GatherDimensionNumbers

OPERAND = np.arange(16 * 11, dtype=np.float32).reshape(16, 11)


def test_five_slices_of_8_by_6() -> None:
    starts = s32([0, 0], [8, 5], [3, 2], [7, 1], [20, -4])  # the last one is moved inside
    numbers = GatherDimensionNumbers([1, 2], [], [0, 1], index_vector_dim=1)
    clamped = [(min(max(x, 0), 8), min(max(y, 0), 5)) for x, y in starts.tolist()]
    expected = np.stack([OPERAND[x : x + 8, y : y + 6] for x, y in clamped])
    check(lambda b, p, i: b.gather(p, i, numbers, [8, 6]), OPERAND, starts, expected=expected)


def test_gather_indices_of_more_dimensions() -> None:
    starts = np.random.default_rng(0).integers(0, 6, (4, 5, 2), dtype=np.int32)
    numbers = GatherDimensionNumbers([2, 3], [], [0, 1], index_vector_dim=2)
    expected = np.array([[OPERAND[x : x + 8, y : y + 6] for x, y in row] for row in starts])
    check(lambda b, p, i: b.gather(p, i, numbers, [8, 6]), OPERAND, starts, expected=expected)


def test_gather_nd_of_whole_rows() -> None:
    rows = np.random.default_rng(1).integers(0, 16, (4, 5, 1), dtype=np.int32)
    numbers = GatherDimensionNumbers([2], [0], [0], index_vector_dim=2)
    check(lambda b, p, i: b.gather(p, i, numbers, [1, 11]), OPERAND, rows, expected=OPERAND[rows[..., 0]])


def test_an_index_vector_dimension_behind_the_last_is_a_1() -> None:
    rows = np.array([[3, 0], [15, 7]], np.int32)
    numbers = GatherDimensionNumbers([2], [0], [0], index_vector_dim=2)
    check(lambda b, p, i: b.gather(p, i, numbers, [1, 11]), OPERAND, rows, expected=OPERAND[rows])


def test_batching_dimensions() -> None:
    operand = np.arange(24, dtype=np.float32).reshape(3, 8)
    indices = s32([1, 5], [0, 7], [2, 2])
    numbers = GatherDimensionNumbers([], [1], [1], 2, [0], [0])
    check(
        lambda b, p, i: b.gather(p, b.reshape(i, [3, 2, 1]), numbers, [1, 1]),
        *(operand, indices),
        expected=np.take_along_axis(operand, indices, 1),
    )


def _gathered(operand, indices, numbers: GatherDimensionNumbers, sizes):
    """The formal definition: every output index maps to one operand index."""
    batch_sizes = [n for d, n in enumerate(indices.shape) if d != numbers.index_vector_dim]
    offset_operand_dims = [d for d in range(operand.ndim) if d not in numbers.collapsed_slice_dims]
    rank = len(batch_sizes) + len(numbers.offset_dims)
    batch_dims = [d for d in range(rank) if d not in numbers.offset_dims]
    shape = [0] * rank
    for k, d in enumerate(batch_dims):
        shape[d] = batch_sizes[k]
    for k, d in enumerate(numbers.offset_dims):
        shape[d] = sizes[offset_operand_dims[k]]
    result = np.empty(shape, operand.dtype)
    for out in itertools.product(*map(range, shape)):
        batch = [out[d] for d in batch_dims]
        index = (*batch[: numbers.index_vector_dim], slice(None), *batch[numbers.index_vector_dim :])
        start = [0] * operand.ndim
        for k, d in enumerate(numbers.start_index_map):
            start[d] = min(max(int(indices[index][k]), 0), operand.shape[d] - sizes[d])
        for k, d in enumerate(numbers.offset_dims):
            start[offset_operand_dims[k]] += out[d]
        result[out] = operand[tuple(start)]
    return result


@pytest.mark.parametrize(
    "numbers",
    [
        GatherDimensionNumbers([0, 2], [1], [2, 0], index_vector_dim=0),
        GatherDimensionNumbers([1, 2], [1], [1, 2], index_vector_dim=0),
        GatherDimensionNumbers([0, 1], [1], [0, 1], index_vector_dim=1),
    ],
    ids=str,
)
def test_the_formal_definition(numbers: GatherDimensionNumbers) -> None:
    operand = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    shape = (2, 6) if numbers.index_vector_dim == 0 else (6, 2)
    indices = np.random.default_rng(2).integers(-1, 5, shape, dtype=np.int32)
    sizes = [2, 1, 3]
    expected = _gathered(operand, indices, numbers, sizes)
    check(lambda b, p, i: b.gather(p, i, numbers, sizes), operand, indices, expected=expected)
