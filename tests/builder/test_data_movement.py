"""The sections of the operation-semantics seed on what moves elements."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from xla2py.tests.builder.worked import add, build, check, f32, opcodes, s32
from xla2py.transpile.hlo.builder import (
    F32,
    S32,
    GatherDimensionNumbers,
    PaddingConfig,
    PaddingConfigDimension,
    ScatterDimensionNumbers,
    XlaBuilder,
    make_edge_padding_config,
    make_shape,
)

B = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_broadcast_adds_dimensions_on_the_left() -> None:
    check(lambda b, x: b.broadcast(x, [2, 3]), f32(2.0), expected=np.full((2, 3), 2, np.float32))
    check(lambda b, x: b.broadcast(x, [2]), B, expected=np.stack([B, B]))


def test_broadcast_in_dim_adds_anywhere_and_grows_ones() -> None:
    x = f32([1], [2], [3])
    check(lambda b, p: b.broadcast_in_dim(p, [3, 2, 4], [0, 2]), x, expected=np.broadcast_to(x[:, :, None], (3, 2, 4)))
    check(lambda b, p: b.broadcast_in_dim(p, [2, 3], [1]), f32(1, 2, 3), expected=f32([1, 2, 3], [1, 2, 3]))


V = f32(
    [[10, 11, 12], [15, 16, 17]],
    [[20, 21, 22], [25, 26, 27]],
    [[30, 31, 32], [35, 36, 37]],
    [[40, 41, 42], [45, 46, 47]],
)


@pytest.mark.parametrize(("dimensions", "sizes"), [((0, 1, 2), (24,)), ((0, 1), (8, 3)), ((1, 2), (4, 6))])
def test_collapse(dimensions: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    check(lambda b, v: b.collapse(v, dimensions), V, expected=V.reshape(sizes))


def test_collapse_of_one_dimension_is_nothing() -> None:
    assert opcodes(build(lambda b, v: b.collapse(v, [1]), V)) == []


def test_concatenate_vectors() -> None:
    arrays = (s32(2, 3), s32(4, 5), s32(6, 7))
    check(lambda b, *parts: b.concat_in_dim(parts, 0), *arrays, expected=s32(2, 3, 4, 5, 6, 7))


def test_concatenate_matrices() -> None:
    a, c = s32([1, 2], [3, 4], [5, 6]), s32([[7, 8]])
    check(lambda b, x, y: b.concat_in_dim([x, y], 0), a, c, expected=s32([1, 2], [3, 4], [5, 6], [7, 8]))


@pytest.mark.parametrize("dimension", [0, 1])
def test_iota(dimension: int) -> None:
    expected = np.indices((4, 8), np.int32)[dimension]
    check(lambda b: b.iota(make_shape(S32, [4, 8]), dimension), expected=expected)


def test_iota_of_a_type_and_a_size_and_of_floats() -> None:
    check(lambda b: b.iota(S32, 5), expected=s32(0, 1, 2, 3, 4))
    check(lambda b: b.iota(make_shape(F32, [3]), 0), expected=f32(0, 1, 2))


def test_pad_edges_and_interior() -> None:
    config = PaddingConfig([PaddingConfigDimension(0, 1, 1), PaddingConfigDimension(2, 0, 0)])
    expected = np.zeros((4, 5), np.float32)
    expected[0:3:2, 2:] = f32([1, 2, 3], [4, 5, 6])
    check(lambda b, x: b.pad(x, 0.0, config), f32([1, 2, 3], [4, 5, 6]), expected=expected)


def test_negative_edges_crop_after_the_interior() -> None:
    config = PaddingConfig([PaddingConfigDimension(-1, -2, 2)])
    check(lambda b, x: b.pad(x, 9.0, config), f32(1, 2, 3), expected=f32(9, 9, 2, 9))
    check(lambda b, x: b.pad(x, 9.0, make_edge_padding_config([(0, 0)])), f32(1, 2, 3), expected=f32(1, 2, 3))


@pytest.mark.parametrize("sizes", [(24,), (8, 3)])
def test_reshape_in_order(sizes: tuple[int, ...]) -> None:
    check(lambda b, v: b.reshape(v, [0, 1, 2], sizes), V, expected=V.reshape(sizes))
    check(lambda b, v: b.reshape(v, sizes), V, expected=V.reshape(sizes))


OUT_OF_ORDER = f32(
    *(10, 20, 30, 40, 11, 21, 31, 41, 12, 22, 32, 42),
    *(15, 25, 35, 45, 16, 26, 36, 46, 17, 27, 37, 47),
)


@pytest.mark.parametrize("sizes", [(24,), (8, 3), (2, 6, 2)])
def test_reshape_out_of_order(sizes: tuple[int, ...]) -> None:
    check(lambda b, v: b.reshape(v, [1, 2, 0], sizes), V, expected=OUT_OF_ORDER.reshape(sizes))


def test_reshape_of_a_single_element() -> None:
    check(lambda b, x: b.reshape(x, [0, 1], []), f32([[5]]), expected=f32(5))
    check(lambda b, x: b.reshape(x, [], [1, 1]), f32(5), expected=f32([[5]]))


def test_rev_reverses_dimensions() -> None:
    check(lambda b, v: b.rev(v, [0, 2]), V, expected=V[::-1, :, ::-1])


def test_slice_a_vector() -> None:
    check(lambda b, x: b.slice(x, [2], [4]), f32(0, 1, 2, 3, 4), expected=f32(2.0, 3.0))


def test_slice_a_matrix() -> None:
    check(lambda b, x: b.slice(x, [2, 1], [4, 3]), B, expected=f32([7, 8], [10, 11]))
    check(lambda b, x: b.slice(x, [0, 0], [4, 3], [2, 2]), B, expected=B[::2, ::2])
    check(lambda b, x: b.slice_in_dim(x, 1, 4, 2, 0), B, expected=B[1:4:2])


def test_transpose_permutes_dimensions() -> None:
    check(lambda b, v: b.transpose(v, [2, 0, 1]), V, expected=V.transpose(2, 0, 1))


def test_dynamic_slice_of_a_vector() -> None:
    check(lambda b, x, s: b.dynamic_slice(x, [s], [2]), f32(0, 1, 2, 3, 4), s32(2), expected=f32(2, 3))


def test_dynamic_slice_of_a_matrix_with_scalars_or_a_vector_of_starts() -> None:
    expected = f32([7, 8], [10, 11])
    check(lambda b, x, i, j: b.dynamic_slice(x, [i, j], [2, 2]), B, s32(2), s32(1), expected=expected)
    check(lambda b, x, i: b.dynamic_slice(x, [i, 1], [2, 2]), B, s32(2), expected=expected)
    check(lambda b, x, s: b.dynamic_slice(x, s, [2, 2]), B, s32(2, 1), expected=expected)


@pytest.mark.parametrize(("start", "first"), [(-3, 0), (9, 3)])
def test_dynamic_slice_stays_inside(start: int, first: int) -> None:
    x = f32(0, 1, 2, 3, 4)
    check(lambda b, x, s: b.dynamic_slice(x, [s], [2]), x, s32(start), expected=x[first : first + 2])


def test_dynamic_update_slice_of_a_vector() -> None:
    check(
        lambda b, x, u, s: b.dynamic_update_slice(x, u, [s]),
        *(f32(0, 1, 2, 3, 4), f32(5, 6), s32(2)),
        expected=f32(0, 1, 5, 6, 4),
    )


def test_dynamic_update_slice_of_a_matrix() -> None:
    update = f32([12, 13], [14, 15], [16, 17])
    check(
        lambda b, x, u, i, j: b.dynamic_update_slice(x, u, [i, j]),
        *(B, update, s32(1), s32(1)),
        expected=f32([0, 1, 2], [3, 12, 13], [6, 14, 15], [9, 16, 17]),
    )


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


def test_scatter_rows_with_addition() -> None:
    updates = np.ones((3, 11), np.float32)
    numbers = ScatterDimensionNumbers([1], [0], [0], index_vector_dim=1)
    expected = OPERAND.copy()
    np.add.at(expected, [2, 5, 2], 1)
    check(lambda b, p, i, u: b.scatter(p, i, u, add, numbers), OPERAND, s32(2, 5, 2), updates, expected=expected)


def test_scatter_passes_the_current_value_first() -> None:
    numbers = ScatterDimensionNumbers([], [0], [0], index_vector_dim=1)
    check(
        lambda b, p, i, u: b.scatter(p, i, u, lambda current, update: current - update, numbers),
        *(f32(10, 20, 30), s32(1, 2), f32(1, 2)),
        expected=f32(10, 19, 28),
    )


def test_scatter_skips_windows_that_do_not_fit() -> None:
    numbers = ScatterDimensionNumbers([1], [], [0], index_vector_dim=1)
    check(
        lambda b, p, i, u: b.scatter(p, i, u, lambda current, update: update, numbers),
        *(f32(0, 0, 0, 0), s32([0], [3], [-1]), f32([1, 2], [3, 4], [5, 6])),
        expected=f32(1, 2, 0, 0),
    )


def test_scatter_of_several_operands() -> None:
    numbers = ScatterDimensionNumbers([], [0], [0], index_vector_dim=1)
    check(
        lambda b, p, q, i, u, v: b.scatter([p, q], i, [u, v], lambda a, c, d, e: (a + d, c + e), numbers),
        *(f32(0, 0, 0), s32(1, 1, 1), s32(0, 2), f32(5, 6), s32(7, 8)),
        expected=[f32(5, 0, 6), s32(8, 1, 9)],
    )


def test_scatter_with_batching_dimensions() -> None:
    numbers = ScatterDimensionNumbers([], [1], [1], 2, [0], [0])
    operand, indices = np.zeros((2, 4), np.float32), s32([0, 3], [1, 1])
    expected = f32([1, 0, 0, 2], [0, 7, 0, 0])
    check(
        lambda b, p, i, u: b.scatter(p, b.reshape(i, [2, 2, 1]), u, add, numbers),
        *(operand, indices, f32([1, 2], [3, 4])),
        expected=expected,
    )


def test_get_dimension_size() -> None:
    check(lambda b, x: b.get_dimension_size(x, 1), B, expected=s32(3))


@pytest.mark.parametrize(("size", "total", "product"), [(5, 15, 120), (6, 21, 720)])
def test_set_dimension_size_keeps_padding_out_of_reductions(size: int, total: int, product: int) -> None:
    v = np.arange(1, 11, dtype=np.float32)

    def program(b: XlaBuilder, v, n):
        padded = b.set_dimension_size(v, n, 0)
        assert str(padded.shape) == "f32[<=10]"
        return b.tuple([b.reduce(padded, 0.0, lambda a, c: a + c, [0]), b.reduce(padded, 1.0, lambda a, c: a * c, [0])])

    check(program, v, s32(size), expected=[f32(total), f32(product)])


def test_a_dynamic_dimension_can_be_removed() -> None:
    b = XlaBuilder("dynamic")
    x = b.parameter(0, make_shape(F32, [4]))
    dynamic = b.set_dimension_size(x, b.constant(2), 0)
    assert str(b.remove_dynamic_dimension(dynamic, 0).shape) == "f32[4]"
    assert str(b.reshape(dynamic, [1, 4]).shape) == "f32[1,<=4]"
    assert str(b.dynamic_reshape(dynamic, [b.constant(1), b.constant(2)], [2, 2], [False, True]).shape) == "f32[2,<=2]"
    b.build()
