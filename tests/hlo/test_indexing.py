import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from xla2py.tests.whole import much
from xla2py.transpile.hlo import indexing
from xla2py.transpile.hlo.element_types import BF16, ELEMENT_TYPES, F32, PRED, S4, S8, U4
from xla2py.transpile.hlo.layouts import byte_size, physical_size
from xla2py.transpile.hlo.shapes import ArrayShape, Layout
from xla2py.transpile.hlo.source import HloVerificationError, XlaToPythonError


def tiled(element_type, sizes, order, *tiles, **fields):
    return ArrayShape(element_type, sizes, layout=Layout(order, tiles, **fields))


def letters(text):
    """Characters as small integers, so that a buffer reads as in the seed."""
    return np.array([ord(c) for c in text.split()], np.int8)


@pytest.mark.parametrize(
    ("order", "padded", "expected"),
    [((0, 1), (), "a d b e c f"), ((1, 0), (), "a b c d e f"), ((0, 1), (3, 5), "a d 0 b e 0 c f 0 0 0 0 0 0 0")],
)
def test_the_array_of_the_seed(order, padded, expected):
    shape = tiled(S8, (2, 3), order, padded_dimensions=padded)
    array = letters("a b c d e f").reshape(2, 3)
    buffer = indexing.to_buffer(array, shape)
    np.testing.assert_array_equal(buffer, [0 if c == "0" else ord(c) for c in expected.split()])
    np.testing.assert_array_equal(indexing.from_buffer(buffer, shape), array)


def test_padding_is_the_layout_of_the_wider_array():
    wide = np.zeros((3, 5), np.int8)
    wide[:2, :3] = letters("a b c d e f").reshape(2, 3)
    padded = tiled(S8, (2, 3), (0, 1), padded_dimensions=(3, 5))
    np.testing.assert_array_equal(
        indexing.to_buffer(wide[:2, :3].copy(), padded), indexing.to_buffer(wide, tiled(S8, (3, 5), (0, 1)))
    )


def test_linear_indices_of_the_tiled_layout_document():
    figure_1 = tiled(F32, (3, 5), (1, 0), (2, 2))
    assert indexing.linear_index(figure_1, (2, 3)) == 17
    pairs_of_tiles = tiled(BF16, (8, 8), (1, 0), (2, 4), (2, 1, 1, 1))
    assert indexing.linear_index(pairs_of_tiles, (6, 5)) == 51
    figure_2 = tiled(BF16, (4, 8), (1, 0), (2, 4), (2, 1))
    rows, columns = np.indices((4, 8))
    np.testing.assert_array_equal(
        indexing.linear_index(figure_2, (rows, columns)),
        [
            [0, 2, 4, 6, 8, 10, 12, 14],
            [1, 3, 5, 7, 9, 11, 13, 15],
            [16, 18, 20, 22, 24, 26, 28, 30],
            [17, 19, 21, 23, 25, 27, 29, 31],
        ],
    )


def test_merged_dimensions_are_those_of_the_merged_array():
    merged = tiled(F32, (2, 7, 8, 11, 10), (4, 3, 2, 1, 0), (None, None, 2, None, 3))
    flat = tiled(F32, (112, 110), (1, 0), (2, 3))
    indices = (1, 6, 5, 10, 9)
    assert indexing.linear_index(merged, indices) == indexing.linear_index(flat, (1 * 56 + 6 * 8 + 5, 10 * 10 + 9))


def test_a_scalar_lies_at_the_start():
    shape = tiled(F32, (), (), (128,))
    assert indexing.linear_index(shape, ()) == 0
    assert indexing.multi_index(shape, 0) == ()
    assert indexing.is_padding(shape, [0, 1, 127]).tolist() == [False, True, True]


def test_scalars_give_ints_and_arrays_give_arrays():
    shape = tiled(F32, (2, 3), (0, 1))
    assert type(indexing.linear_index(shape, (1, 2))) is int
    assert [type(index) for index in indexing.multi_index(shape, 5)] == [int, int]
    assert type(indexing.is_padding(shape, 0)) is bool
    np.testing.assert_array_equal(indexing.linear_index(shape, (1, [0, 1, 2])), [1, 3, 5])


LAYOUTS = [
    tiled(F32, (), ()),
    tiled(F32, (7,), (0,)),
    tiled(F32, (7,), (0,), (4,), tail_padding_alignment_in_elements=3),
    tiled(F32, (7,), (0,), (None,)),
    tiled(F32, (5,), (0,), (2, 4)),
    tiled(F32, (3, 5), (1, 0), (2, 2)),
    tiled(F32, (3, 5), (0, 1), (2, 2), (2, 1)),
    tiled(F32, (3, 5), (0, 1), (2, 4), (2, 1, 1, 1), tail_padding_alignment_in_elements=32),
    tiled(F32, (3, 5), (1, 0), padded_dimensions=(4, 6), tail_padding_alignment_in_elements=7),
    tiled(F32, (3, 5), (1, 0), (2, 4), padded_dimensions=(4, 6)),
    tiled(F32, (2, 3, 4), (1, 2, 0)),
    tiled(F32, (2, 3, 5), (2, 0, 1), (2, None, 4)),
    tiled(F32, (2, 3, 5), (1, 0, 2), (None, 4, 2), (3, 1)),
    tiled(F32, (1, 2, 1, 3), (0, 3, 2, 1), (2, 2)),
    tiled(F32, (0, 3), (1, 0), (2, 2)),
    tiled(F32, (3, 0), (1, 0), (2, 2), tail_padding_alignment_in_elements=4),
]


@pytest.mark.parametrize("shape", LAYOUTS, ids=str)
def test_buffer_and_index_arithmetic_agree(shape):
    array = np.arange(1, shape.size + 1, dtype=np.float32).reshape(shape.dimensions)
    buffer = indexing.to_buffer(array, shape)
    assert buffer.shape == (physical_size(shape),)
    linear = indexing.linear_index(shape, list(np.indices(shape.dimensions, sparse=True)))
    np.testing.assert_array_equal(np.reshape(buffer[linear], shape.dimensions), array)
    places = np.arange(len(buffer))
    padding = indexing.is_padding(shape, places)
    np.testing.assert_array_equal(buffer[padding], 0)
    indices = indexing.multi_index(shape, places[~padding])
    values = array[indices] if indices else array.reshape(1)
    np.testing.assert_array_equal(values, buffer[~padding])
    assert np.count_nonzero(~padding) == shape.size
    np.testing.assert_array_equal(indexing.from_buffer(buffer, shape), array)


@st.composite
def shapes(draw):
    sizes = tuple(draw(st.lists(st.integers(0, 5), max_size=4)))
    order = tuple(draw(st.permutations(range(len(sizes)))))
    tile = st.lists(st.one_of(st.none(), st.integers(1, 4)), min_size=1, max_size=4).map(tuple)
    tiles = tuple(draw(st.lists(tile, max_size=3)))
    padded = tuple(size + draw(st.integers(0, 2)) for size in sizes) if draw(st.booleans()) else ()
    tail = draw(st.integers(1, 5))
    return tiled(F32, sizes, order, *tiles, padded_dimensions=padded, tail_padding_alignment_in_elements=tail)


@settings(max_examples=much(40, 200))
@given(shapes())
def test_any_layout_is_a_one_to_one_map(shape):
    test_buffer_and_index_arithmetic_agree(shape)


def test_the_formula_of_repeated_tiles_by_hand():
    """One element at a time, as the tiled-layout document writes it."""

    def by_hand(index, sizes, tiles):
        for tile in tiles:
            lead = len(sizes) - len(tile)
            outer = [i // t for i, t in zip(index[lead:], tile, strict=True)]
            inner = [i % t for i, t in zip(index[lead:], tile, strict=True)]
            counts = [-(-d // t) for d, t in zip(sizes[lead:], tile, strict=True)]
            index, sizes = [*index[:lead], *outer, *inner], [*sizes[:lead], *counts, *tile]
        place = 0
        for i, size in zip(index, sizes, strict=True):
            place = place * size + i
        return place

    shape = tiled(BF16, (3, 9, 10), (2, 0, 1), (4, 8), (2, 1))
    for index in itertools.product(range(3), range(9), range(10)):
        physical = [index[1], index[0], index[2]]
        assert indexing.linear_index(shape, index) == by_hand(physical, [9, 3, 10], [(4, 8), (2, 1)])


@pytest.mark.parametrize(
    "call",
    [
        lambda shape: indexing.linear_index(shape, (0, 5)),
        lambda shape: indexing.linear_index(shape, (-1, 0)),
        lambda shape: indexing.linear_index(shape, ([0, 3], 0)),
        lambda shape: indexing.linear_index(shape, (0,)),
        lambda shape: indexing.linear_index(shape, (0.0, 0)),
        lambda shape: indexing.linear_index(shape, (np.uint64(2**63), 0)),
        lambda shape: indexing.multi_index(shape, 24),
        lambda shape: indexing.multi_index(shape, -1),
        lambda shape: indexing.multi_index(shape, 23),
        lambda shape: indexing.is_padding(shape, 24),
    ],
)
def test_indices_out_of_range(call):
    with pytest.raises(XlaToPythonError, match="XP580"):
        call(tiled(F32, (3, 5), (1, 0), (2, 2)))


def test_arrays_and_buffers_must_match_the_shape():
    shape = tiled(F32, (3, 5), (1, 0), (2, 2))
    for call in (
        lambda: indexing.to_buffer(np.zeros((5, 3), np.float32), shape),
        lambda: indexing.to_buffer(np.zeros((3, 5), np.float64), shape),
        lambda: indexing.from_buffer(np.zeros(15, np.float32), shape),
        lambda: indexing.from_buffer(np.zeros(24, np.int32), shape),
        lambda: indexing.from_bytes(np.zeros(95, np.uint8), shape),
        lambda: indexing.to_buffer(np.zeros((2,), np.float32), tiled(F32, (2,), (0,), padding_value="GREEN")),
    ):
        with pytest.raises(XlaToPythonError, match="XP581"):
            call()


def test_huge_buffers_are_refused_before_they_are_made():
    shape = tiled(F32, (1,), (0,), (2**40,))
    with pytest.raises(XlaToPythonError, match="XP582"):
        indexing.to_buffer(np.zeros(1, np.float32), shape)
    with pytest.raises(XlaToPythonError, match="XP582"):
        indexing.from_bytes(np.zeros(1, np.uint8), shape)
    assert indexing.linear_index(shape, (0,)) == 0  # arithmetic alone needs no memory


def test_indices_beyond_64_bits_are_refused():
    with pytest.raises(HloVerificationError, match="XP281"):
        indexing.linear_index(tiled(F32, (2**40, 2**40), (1, 0)), (0, 0))


@pytest.mark.parametrize(
    ("name", "name_of_type", "expected"),
    [
        (None, "f32", 0),
        ("ZERO_PAD", "s32", 0),
        ("ONE_PAD", "f32", 1),
        ("ONE_PAD", "pred", True),
        ("LOWEST_PAD", "pred", False),
        ("LOWEST_PAD", "f32", -np.inf),
        ("HIGHEST_PAD", "bf16", np.inf),
        ("HIGHEST_PAD", "f8e4m3fn", 448),
        ("LOWEST_PAD", "s8", -128),
        ("HIGHEST_PAD", "u4", 15),
    ],
)
def test_legacy_padding_values(name, name_of_type, expected):
    element_type = ELEMENT_TYPES[name_of_type]
    shape = tiled(element_type, (1,), (0,), padded_dimensions=(2,), padding_value=name)
    buffer = indexing.to_buffer(np.zeros(1, element_type.dtype), shape)
    assert float(buffer[1]) == expected


def test_packed_elements_fill_bytes_from_the_low_bits():
    shape = tiled(S4, (5,), (0,), element_size_in_bits=4)
    array = np.array([1, -2, 7, -8, -1], ml_dtypes.int4)
    data = indexing.to_bytes(array, shape)
    assert data.tolist() == [0xE1, 0x87, 0x0F]
    np.testing.assert_array_equal(indexing.from_bytes(data, shape), array)


def test_wide_elements_are_zero_extended():
    shape = tiled(PRED, (3,), (0,), element_size_in_bits=32)
    array = np.array([True, False, True])
    data = indexing.to_bytes(array, shape)
    assert data.tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]
    np.testing.assert_array_equal(indexing.from_bytes(data, shape), array)


@pytest.mark.parametrize("element_type", ELEMENT_TYPES.values(), ids=str)
@pytest.mark.parametrize("packed", [False, True])
def test_every_element_type_survives_its_bytes(element_type, packed):
    bits = (1 if element_type == PRED else element_type.bits) if packed else 0
    shape = tiled(element_type, (3, 5), (0, 1), (2, 2), element_size_in_bits=bits)
    values = [0, -1] if element_type.is_signed else [0, 1]
    array = np.random.default_rng(0).choice(values, (3, 5)).astype(element_type.dtype)
    data = indexing.to_bytes(array, shape)
    assert data.dtype == np.uint8 and data.shape == (byte_size(shape),)
    back = indexing.from_bytes(data, shape)
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back.view(np.uint8), array.view(np.uint8))


def test_a_pair_of_nibbles_is_a_byte():
    nibbles = tiled(U4, (2, 2), (1, 0), element_size_in_bits=4)
    data = indexing.to_bytes(np.array([[1, 2], [3, 4]], ml_dtypes.uint4), nibbles)
    np.testing.assert_array_equal(indexing.from_bytes(data, tiled(S8, (2,), (0,))), [0x21, 0x43])
