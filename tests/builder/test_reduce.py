"""The Reduce section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.worked import add, check, f32, s32
from xla2py.transpile.hlo.builder import F32, S32, XlaBuilder, make_shape


def test_reduce_a_vector() -> None:
    check(lambda b, x: b.reduce(x, 0.0, add, [0]), f32(10, 11, 12, 13), expected=f32(46))


@pytest.mark.parametrize("dimension", [0, 1])
def test_reduce_a_matrix(dimension: int) -> None:
    x = f32([1, 2, 3], [4, 5, 6])
    check(lambda b, p: b.reduce(p, 0.0, add, [dimension]), x, expected=x.sum(dimension))


CUBOID = np.broadcast_to(f32([1, 2, 3], [4, 5, 6]), (4, 2, 3)).copy()


@pytest.mark.parametrize(
    ("dimensions", "expected"),
    [
        ([0], f32([4, 8, 12], [16, 20, 24])),
        ([2], f32([6, 15], [6, 15], [6, 15], [6, 15])),
        ([0, 1], f32(20, 28, 36)),
        ([1, 0], f32(20, 28, 36)),
        ([0, 1, 2], f32(84)),
        ([], CUBOID),
    ],
)
def test_reduce_a_cuboid(dimensions: list[int], expected: np.ndarray) -> None:
    check(lambda b, x: b.reduce(x, 0.0, add, dimensions), CUBOID, expected=expected)


def test_reduce_all() -> None:
    check(lambda b, x: b.reduce_all(x, 0.0, add), CUBOID, expected=f32(84))


def test_variadic_reduce_finds_the_maximum_and_its_place() -> None:
    def larger(best, best_index, value, index):
        b = best.builder
        is_larger = value >= best
        return b.select(is_larger, value, best), b.select(is_larger, index, best_index)

    def argmax(b: XlaBuilder, x):
        return b.reduce([x, b.iota(S32, 5)], [b.min_value(F32), 0], larger, [0])

    check(argmax, f32(3, 9, 2, 9, 1), expected=[f32(9), s32(3)])


def test_a_reducer_sees_scalars_of_the_operand_s_type() -> None:
    seen = []
    b = XlaBuilder("seen")

    def note(a, c):
        seen.append((str(a.shape), str(c.shape)))
        return a + c

    b.reduce(b.parameter(0, make_shape(S32, [4])), 0, note, [0])
    assert seen == [("s32[]", "s32[]")]
