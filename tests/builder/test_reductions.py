"""The sections of the operation-semantics seed on reductions, windows, orders and norms."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.worked import add, build, check, f32, maximum, minimum, s32
from xla2py.transpile.hlo.builder import F32, S32, Padding, XlaBuilder, make_padding, make_shape


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


def test_reduce_window_of_a_4x6_matrix() -> None:
    x = np.random.default_rng(0).permutation(24).reshape(4, 6).astype(np.float32)
    expected = x.reshape(2, 2, 2, 3).max((1, 3))
    check(
        lambda b, p: b.reduce_window(p, b.min_value(F32), maximum, [2, 3], [2, 3], Padding.VALID), x, expected=expected
    )


@pytest.mark.parametrize(
    ("padding", "expected"),
    [(Padding.VALID, f32(100, 1)), (Padding.SAME, f32(1000, 10, 1)), ([(1, 1)], f32(1000, 10, 1))],
)
def test_reduce_window_with_padding(padding: object, expected: np.ndarray) -> None:
    x = f32(10000, 1000, 100, 10, 1)
    check(lambda b, p: b.reduce_window(p, b.max_value(F32), minimum, [3], [2], padding), x, expected=expected)


def test_reduce_window_with_dilations() -> None:
    x = f32(1, 2, 3, 4)
    check(
        lambda b, p: b.reduce_window(p, 0.0, add, [2], [1], [(1, 1)], base_dilations=[2], window_dilations=[3]),
        x,
        expected=f32(2, 1 + 0, 3, 2, 4, 3),
    )


def test_reduce_window_of_two_arrays() -> None:
    check(
        lambda b, p, q: b.reduce_window([p, q], [0.0, 0], lambda a, c, d, e: (a + d, c + e), [2], None, Padding.VALID),
        *(f32(1, 2, 3), s32(4, 5, 6)),
        expected=[f32(3, 5), s32(9, 11)],
    )


@pytest.mark.parametrize(
    ("size", "window", "stride", "expected"),
    [(5, 3, 2, (1, 1)), (5, 2, 1, (0, 1)), (6, 3, 2, (0, 1)), (4, 1, 3, (0, 0)), (7, 4, 3, (1, 2)), (0, 3, 1, (1, 1))],
)
def test_same_padding(size: int, window: int, stride: int, expected: tuple[int, int]) -> None:
    """``max((ceil(n / s) - 1) * s + w - n, 0)`` elements, the odd one at the high end."""
    assert make_padding([size], [window], [stride], Padding.SAME) == [expected]
    assert make_padding([size], [window], [stride], Padding.VALID) == [(0, 0)]


POOLED = f32([7, 2, 5, 3, 10, 2], [3, 8, 9, 3, 4, 2], [1, 5, 7, 5, 6, 1], [0, 6, 2, 7, 2, 8])


def test_select_and_scatter_without_overlap() -> None:
    expected = np.zeros((4, 6), np.float32)
    expected[1, 2], expected[0, 4], expected[2, 2], expected[3, 5] = 2, 6, 3, 1
    check(
        lambda b, x, s: b.select_and_scatter(x, lambda a, c: a >= c, [2, 3], [2, 3], Padding.VALID, s, 0.0, add),
        *(POOLED, f32([2, 6], [3, 1])),
        expected=expected,
    )


def _scattered(x: np.ndarray, source: np.ndarray) -> np.ndarray:
    result = np.zeros_like(x)
    for i, j in np.ndindex(source.shape):
        window = x[2 * i : 2 * i + 2, 2 * j : 2 * j + 3]
        y, z = np.unravel_index(window.argmax(), window.shape)
        result[2 * i + y, 2 * j + z] += source[i, j]
    return result


def test_select_and_scatter_with_overlap() -> None:
    x = POOLED[:, :5].copy()
    x[0, 4] = 1
    assert _scattered(x, f32([2, 6], [3, 1]))[1, 2] == 8  # both upper windows pick the 9: 2 + 6
    check(
        lambda b, p, s: b.select_and_scatter(p, lambda a, c: a >= c, [2, 3], [2, 2], Padding.VALID, s, 0.0, add),
        *(x, f32([2, 6], [3, 1])),
        expected=_scattered(x, f32([2, 6], [3, 1])),
    )


def _by_first(a, c, d, e, f, g):
    return a < c


def test_sort_three_operands_by_the_first() -> None:
    check(
        lambda b, x, y, z: b.sort([x, y, z], _by_first),
        *(s32(3, 1), s32(42, 50), f32(-3.0, 1.1)),
        expected=[s32(1, 3), s32(50, 42), f32(1.1, -3.0)],
    )


@pytest.mark.parametrize(("dimension", "axis"), [(-1, 1), (1, 1), (0, 0), (-2, 0)])
def test_sort_along_a_dimension_the_last_by_default(dimension: int, axis: int) -> None:
    x = np.random.default_rng(0).permutation(12).reshape(3, 4).astype(np.float32)
    check(lambda b, p: b.sort(p, lambda a, c: a < c, dimension), x, expected=np.sort(x, axis))
    assert build(lambda b, p: b.sort(p, lambda a, c: a < c), x).entry.root.attributes["dimensions"] == (1,)


def test_a_stable_sort_keeps_equal_elements_in_order() -> None:
    module = build(lambda b, x: b.sort(x, lambda a, c: a < c), f32(1, 2))
    assert "is_stable" not in module.entry.root.attributes
    check(
        lambda b, x, y: b.sort([x, y], lambda a, c, d, e: a < c, is_stable=True),
        *(s32(1, 0, 1, 0), s32(0, 1, 2, 3)),
        expected=[s32(0, 0, 1, 1), s32(1, 3, 0, 2)],
    )


def test_top_k() -> None:
    check(lambda b, x: b.top_k(x, 2), f32([3, 9, 4], [7, 7, 1]), expected=[f32([9, 4], [7, 7]), s32([1, 2], [0, 1])])


def test_scan_gives_stacked_outputs_and_the_last_carry() -> None:
    x = f32([1, 2], [3, 4], [5, 6])
    check(
        lambda b, p: b.scan(p, b.broadcast(b.zero(F32), [2]), lambda row, total: (row + total, row + total)),
        x,
        expected=[x.cumsum(0), x.sum(0)],
    )


NORMALISED = np.random.default_rng(0).normal(2, 3, (4, 3, 2)).astype(np.float32)
SCALE, OFFSET = f32(1.0, 2.0, -0.5), f32(0.0, 1.0, -2.0)


def _column(vector: np.ndarray) -> np.ndarray:
    return vector.reshape(1, 3, 1)


def test_batch_norm_grad() -> None:
    x, epsilon, mean, variance = NORMALISED, np.float32(0.001), f32(1, 2, 3), f32(0.5, 2, 4)
    grad = np.random.default_rng(1).normal(size=x.shape).astype(np.float32)
    centred, deviation = x - _column(mean), np.sqrt(_column(variance) + epsilon)
    c = (grad * centred / (_column(variance) + epsilon)).mean((0, 2), keepdims=True)
    d = grad.mean((0, 2), keepdims=True)
    grad_operand = _column(SCALE) / deviation * (grad - d - c * centred)
    check(
        lambda b, *ops: b.batch_norm_grad(*ops, float(epsilon), 1),
        *(x, SCALE, mean, variance, grad),
        expected=[grad_operand, (grad * centred / deviation).sum((0, 2)), grad.sum((0, 2))],
    )


SCALE, OFFSET = f32(1.0, 2.0, -0.5), f32(0.0, 1.0, -2.0)


def test_batch_norm_inference() -> None:
    x, epsilon, mean, variance = NORMALISED, 0.001, f32(1, 2, 3), f32(0.5, 2, 4)
    y = _column(SCALE) * (x - _column(mean)) / np.sqrt(_column(variance) + np.float32(epsilon)) + _column(OFFSET)
    arrays = (x, SCALE, OFFSET, mean, variance)
    check(lambda b, *ops: b.batch_norm_inference(*ops, epsilon, 1), *arrays, expected=y)


SCALE, OFFSET = f32(1.0, 2.0, -0.5), f32(0.0, 1.0, -2.0)


def test_batch_norm_training() -> None:
    x, epsilon = NORMALISED, 0.001
    mean, variance = x.mean((0, 2)), x.var((0, 2))
    y = _column(SCALE) * (x - _column(mean)) / np.sqrt(_column(variance) + epsilon) + _column(OFFSET)
    check(lambda b, *ops: b.batch_norm_training(*ops, epsilon, 1), x, SCALE, OFFSET, expected=[y, mean, variance])
