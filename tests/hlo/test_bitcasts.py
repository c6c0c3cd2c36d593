import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from xla2py.tests.whole import much
from xla2py.transpile.hlo.bitcasts import bitcast_as_reshape_transpose
from xla2py.transpile.hlo.element_types import BF16, F32
from xla2py.transpile.hlo.indexing import from_buffer, to_buffer
from xla2py.transpile.hlo.layouts import physical_size
from xla2py.transpile.hlo.shapes import ArrayShape, Layout


def tiled(sizes, order, *tiles, **fields):
    return ArrayShape(F32, sizes, layout=Layout(order, tiles, **fields))


def apply(array, steps):
    return array.transpose(steps.permutation_in).reshape(steps.dimensions).transpose(steps.permutation_out)


def agrees(source, result):
    """The steps, checked against the buffer."""
    steps = bitcast_as_reshape_transpose(source, result)
    if steps is not None:
        array = np.arange(source.size, dtype=np.float32).reshape(source.dimensions)
        expected = from_buffer(to_buffer(array, source), result)
        np.testing.assert_array_equal(apply(array, steps), expected)
    return steps


@pytest.mark.parametrize(
    ("source", "result", "expected"),
    [
        # nothing, a transpose, a reshape, both
        (tiled((2, 3), (1, 0)), tiled((2, 3), (1, 0)), ((0, 1), (2, 3), (0, 1))),
        (tiled((2, 3), (0, 1)), tiled((2, 3), (0, 1)), ((0, 1), (2, 3), (0, 1))),
        (tiled((2, 3), (1, 0)), tiled((3, 2), (0, 1)), ((0, 1), (2, 3), (1, 0))),
        (tiled((2, 3, 4), (2, 1, 0)), tiled((4, 2, 3), (0, 2, 1)), ((0, 1, 2), (2, 3, 4), (2, 0, 1))),
        (tiled((6,), (0,)), tiled((2, 3), (1, 0)), ((0,), (2, 3), (0, 1))),
        (tiled((2, 12), (0, 1)), tiled((2, 3, 4), (0, 2, 1)), ((0, 1), (2, 3, 4), (0, 1, 2))),
        (tiled((6, 4), (1, 0)), tiled((4, 6), (1, 0)), ((0, 1), (4, 6), (0, 1))),
        (tiled((6, 4), (0, 1)), tiled((4, 6), (1, 0)), ((0, 1), (6, 4), (1, 0))),
        (tiled((6, 4), (0, 1)), tiled((4, 6), (0, 1)), ((1, 0), (6, 4), (1, 0))),
        (tiled((2, 3, 4), (0, 1, 2)), tiled((12, 2), (1, 0)), ((2, 1, 0), (12, 2), (0, 1))),
        # unit dimensions lie anywhere
        (tiled((1, 5), (1, 0)), tiled((1, 5), (0, 1)), ((0, 1), (1, 5), (0, 1))),
        (tiled((5,), (0,)), tiled((1, 5, 1), (0, 1, 2)), ((0,), (1, 5, 1), (0, 1, 2))),
        (tiled((), ()), tiled((1, 1), (0, 1)), ((), (1, 1), (0, 1))),
        # empty arrays hold nothing to move
        (tiled((0, 3), (0, 1)), tiled((5, 0), (1, 0)), ((0, 1), (5, 0), (0, 1))),
        # the same tiles on both sides drop out
        (
            tiled((1280, 300), (1, 0), (8, 128), (2, 1)),
            tiled((1, 1280, 300), (2, 1, 0), (8, 128), (2, 1)),
            ((0, 1), (1, 1280, 300), (0, 1, 2)),
        ),
        # tiles that cut evenly are dimensions of their own
        (tiled((16, 256), (1, 0), (8, 128)), tiled((2, 2, 8, 128), (3, 2, 1, 0)), None),
    ],
    ids=str,
)
def test_steps(source, result, expected):
    steps = agrees(source, result)
    if expected is not None:
        assert steps == expected


def test_even_tiles_are_a_reshape_and_a_transpose_either_way():
    tile, plain = tiled((16, 256), (1, 0), (8, 128)), tiled((2, 2, 8, 128), (3, 2, 1, 0))
    assert agrees(tile, plain) == ((0, 1), (2, 8, 2, 128), (0, 2, 1, 3))
    assert agrees(plain, tile) == ((0, 2, 1, 3), (16, 256), (0, 1))


def test_a_tile_that_moves_nothing_leaves_no_trace():
    assert agrees(tiled((6,), (0,), (2,)), tiled((3, 2), (0, 1))) == ((0,), (2, 3), (1, 0))
    assert agrees(tiled((2, 6), (0, 1), (3, 2)), tiled((4, 3), (1, 0))) == ((1, 0), (4, 3), (0, 1))


def test_merged_dimensions_of_a_tile():
    merged = tiled((2, 4, 8), (2, 1, 0), (2, None, 8))
    assert agrees(merged, tiled((64,), (0,))) == ((1, 0, 2), (64,), (0,))
    assert agrees(tiled((2, 4, 8), (2, 1, 0), (2, None, 16)), tiled((64,), (0,))) is None  # half of 4


@pytest.mark.parametrize(
    ("source", "result"),
    [
        (tiled((3, 5), (1, 0), (2, 2)), tiled((24,), (0,))),  # padding
        (tiled((4, 4), (1, 0), (2, 2)), tiled((4, 4), (1, 0), (4, 2))),  # dimensions torn apart
        (tiled((6, 6), (1, 0), (2, 2)), tiled((9, 4), (1, 0), (3, 2))),
        (tiled((2, 3), (1, 0)), ArrayShape(BF16, (2, 3), layout=Layout((1, 0)))),  # another width
        (tiled((2, 3), (1, 0), padded_dimensions=(2, 4)), tiled((2, 3), (1, 0), padded_dimensions=(2, 4))),
    ],
    ids=str,
)
def test_only_the_buffer_knows(source, result):
    assert bitcast_as_reshape_transpose(source, result) is None


@st.composite
def pairs(draw):
    """Two untiled shapes of the same number of elements."""
    factors = draw(st.lists(st.sampled_from([1, 2, 3, 4]), max_size=5))

    def sizes():
        groups = [1] * draw(st.integers(1, 4))
        for factor in draw(st.permutations(factors)):
            groups[draw(st.integers(0, len(groups) - 1))] *= factor
        return tuple(groups)

    left, right = sizes(), sizes()
    orders = [tuple(draw(st.permutations(range(len(side))))) for side in (left, right)]
    tiles = draw(st.sampled_from([(), ((2,),), ((2, 2),), ((2, 2), (2, 1))]))
    sides = [draw(st.sampled_from([(), tiles])) for _ in range(2)]
    return tiled(left, orders[0], *sides[0]), tiled(right, orders[1], *sides[1])


@settings(max_examples=much(60, 400))
@given(pairs())
def test_any_pair_agrees_with_the_buffer(pair):
    source, result = pair
    if physical_size(source) == physical_size(result):
        steps = agrees(source, result)
        untiled = not source.layout.tiles and not result.layout.tiles
        assert steps is not None or not untiled
