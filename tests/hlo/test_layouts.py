import pytest

from xla2py.transpile.hlo import layouts
from xla2py.transpile.hlo.element_types import BF16, F32, PRED, S4, S8
from xla2py.transpile.hlo.shapes import UNBOUNDED, ArrayShape, Layout
from xla2py.transpile.hlo.source import HloVerificationError, UnsupportedError


def tiled(element_type, sizes, order, *tiles, **fields):
    return ArrayShape(element_type, sizes, layout=Layout(order, tiles, **fields))


def test_a_new_shape_is_major_to_minor():
    shape = layouts.make_shape(F32, [2, 3, 4])
    assert str(shape) == "f32[2,3,4]{2,1,0}"
    assert layouts.is_major_to_minor(shape.layout)
    assert not layouts.is_minor_to_major(shape.layout)


def test_a_shape_by_name_with_an_order():
    assert layouts.make_shape("f32", [5, 6, 7, 8]).dimensions == (5, 6, 7, 8)
    shape = layouts.make_shape("f32", [2, 3], [0, 1])
    assert str(shape) == "f32[2,3]{0,1}"
    assert layouts.is_minor_to_major(shape.layout)
    assert layouts.major_to_minor(shape.layout) == (1, 0)


def test_rank_0_and_1_are_both_major_and_minor_first():
    for sizes in ([], [5]):
        layout = layouts.make_shape(F32, sizes).layout
        assert layouts.is_major_to_minor(layout) and layouts.is_minor_to_major(layout)


def test_true_rank_counts_dimensions_larger_than_one():
    assert layouts.true_rank(layouts.make_shape(F32, [1, 7, 1, 0, 2])) == 2


def test_negative_dimension_numbers_count_from_the_end():
    shape = layouts.make_shape(F32, [10, 20, 30])
    assert [layouts.dimension_size(shape, d) for d in (0, 1, 2, -1, -2, -3)] == [10, 20, 30, 30, 20, 10]
    assert layouts.dimension_number(shape, -1) == 2


@pytest.mark.parametrize("dimension", [3, -4])
def test_dimension_numbers_out_of_range(dimension):
    with pytest.raises(HloVerificationError, match="XP282"):
        layouts.dimension_size(layouts.make_shape(F32, [10, 20, 30]), dimension)


def test_physical_dimensions_of_tiles():
    # Figures 1 and 2, "Combining dimensions" and example 5 of XLA's tiled-layout document.
    assert layouts.physical_dimensions(tiled(F32, (3, 5), (1, 0), (2, 2))) == (2, 3, 2, 2)
    assert layouts.physical_dimensions(tiled(F32, (4, 8), (1, 0), (2, 4), (2, 1))) == (2, 2, 1, 4, 2, 1)
    merged = tiled(F32, (2, 7, 8, 11, 10), (4, 3, 2, 1, 0), (None, None, 2, None, 3))
    assert layouts.physical_dimensions(merged) == (56, 37, 2, 3)
    pairs = tiled(BF16, (32, 256), (1, 0), (8, 128), (2, 1, 1, 1))
    assert layouts.physical_dimensions(pairs) == (2, 2, 8, 128, 2, 1, 1, 1)


def test_tiles_cover_the_minor_dimensions_in_memory_order():
    # The `add.936` of the newer seed: dimension 1 is the most major, 3 the most minor.
    shape = tiled(BF16, (8, 1, 1280, 16384), (3, 2, 0, 1), (8, 128), (2, 1))
    assert str(shape) == "bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)}"
    assert layouts.physical_dimensions(shape) == (1, 8, 160, 128, 4, 128, 2, 1)
    assert layouts.byte_size(shape) == 8 * 1280 * 16384 * 2


def test_a_tile_of_higher_rank_than_the_array():
    assert layouts.physical_dimensions(tiled(F32, (), (), (128,))) == (1, 128)
    assert layouts.physical_dimensions(tiled(F32, (5,), (0,), (2, 4))) == (1, 2, 2, 4)


def test_a_star_with_nothing_to_merge_into_cuts_nothing():
    assert layouts.physical_dimensions(tiled(F32, (5,), (0,), (None,))) == (5, 1)


def test_tail_padding_comes_after_tiling():
    shape = tiled(F32, (3, 5), (1, 0), (2, 2), tail_padding_alignment_in_elements=16)
    assert layouts.physical_size(shape) == 32
    assert layouts.byte_size(shape) == 128


def test_legacy_padding_widens_the_dimensions():
    shape = tiled(F32, (2, 3), (0, 1), padded_dimensions=(3, 5))
    assert layouts.physical_dimensions(shape) == (5, 3)
    assert layouts.padded_dimensions(shape) == (3, 5)


@pytest.mark.parametrize(
    ("element_type", "bits", "size"),
    [(S4, 0, 5), (S4, 4, 3), (PRED, 0, 5), (PRED, 1, 1), (PRED, 32, 20), (S8, 8, 5), (F32, 32, 20)],
)
def test_bytes_of_five_elements(element_type, bits, size):
    shape = tiled(element_type, (5,), (0,), element_size_in_bits=bits)
    assert layouts.byte_size(shape) == size


def test_empty_arrays_have_no_bytes():
    assert layouts.byte_size(tiled(F32, (0, 5), (1, 0), (8, 128))) == 0
    assert layouts.byte_size(tiled(F32, (0,), (0,), tail_padding_alignment_in_elements=8)) == 0


@pytest.mark.parametrize(
    "shape",
    [
        tiled(F32, (2, 3), (0,)),
        tiled(F32, (2, 3), (0, 0)),
        tiled(F32, (2, 3), (0, 2)),
        tiled(F32, (2, 3), (1, 0), (0, 8)),
        tiled(F32, (2, 3), (1, 0), ()),
        tiled(F32, (2, 3), (1, 0), tail_padding_alignment_in_elements=0),
        tiled(F32, (2, 3), (1, 0), padded_dimensions=(3,)),
        tiled(F32, (2, 3), (1, 0), padded_dimensions=(3, 2)),
        tiled(F32, (2, 3), (1, 0), element_size_in_bits=16),
        tiled(S4, (2, 3), (1, 0), element_size_in_bits=2),
        tiled(S4, (2, 3), (1, 0), element_size_in_bits=12),
    ],
    ids=str,
)
def test_layouts_that_do_not_fit(shape):
    with pytest.raises(HloVerificationError, match="XP280"):
        layouts.check_layout(shape)


@pytest.mark.parametrize(
    "shape",
    [
        tiled(F32, (2**31, 2**31), (1, 0)),
        tiled(F32, (1,), (0,), (2**62,)),
        tiled(F32, (1,), (0,), tail_padding_alignment_in_elements=2**61),
    ],
    ids=str,
)
def test_linear_indices_must_fit_64_bits(shape):
    with pytest.raises(HloVerificationError, match="XP281"):
        layouts.check_layout(shape)


@pytest.mark.parametrize(
    "shape",
    [tiled(F32, (8, 8), (1, 0), dim_level_types=("D", "C~+")), ArrayShape(F32, (UNBOUNDED, 4), (True, False))],
    ids=str,
)
def test_shapes_without_a_linear_index(shape):
    with pytest.raises(UnsupportedError, match="XP380"):
        layouts.check_layout(shape)


def test_dense_dimension_levels_are_fine():
    layouts.check_layout(tiled(F32, (8, 8), (1, 0), dim_level_types=("D", "D")))


@pytest.mark.parametrize("arguments", [("f33", [2]), (F32, [-1])])
def test_shapes_that_cannot_be_made(arguments):
    with pytest.raises(HloVerificationError, match="XP283"):
        layouts.make_shape(*arguments)


def test_a_made_shape_checks_its_order():
    with pytest.raises(HloVerificationError, match="XP280"):
        layouts.make_shape(F32, [2, 3], [1, 1])


def test_memory_spaces_have_names():
    assert [layouts.memory_space_name(n) for n in (0, 1, 2, 3, 5)] == [
        *("high-bandwidth memory (HBM)", "vector memory (VMEM)", "device-specific memory space 2"),
        *("device-specific memory space 3", "host memory"),
    ]
