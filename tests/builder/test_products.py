"""The sections of the operation-semantics seed on products, convolutions, factors and transforms."""

from __future__ import annotations

import numpy as np
import pytest

import xla2py
from xla2py.tests.builder.worked import assert_equal, build, check, check_emitted, convolved, f32, random, s32
from xla2py.transpile.hlo.builder import (
    F32,
    S32,
    DotDimensionNumbers,
    FftType,
    Padding,
    RaggedDotDimensionNumbers,
    Transpose,
    convolution_numbers,
)
from xla2py.transpile.hlo.printer import print_module


@pytest.mark.parametrize(("left", "right"), [((3,), (3,)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((3,), (3, 4))])
def test_dot(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = random(*left), random(*right)
    check(lambda b, p, q: b.dot(p, q), x, y, expected=x @ y)


def test_the_preferred_type_holds_the_sums() -> None:
    x = np.full((1, 200), 100, np.int8)
    check(
        lambda b, p: b.dot(p, b.transpose(p, [1, 0]), preferred_element_type=S32),
        x,
        expected=np.array([[2_000_000]], np.int32),
    )
    module = build(lambda b, p: b.dot(p, p[0], precision=["highest", "default"]), x)
    assert module.entry.root.attributes["operand_precision"] == ("highest", "default")


def test_contracting_dimension_numbers() -> None:
    check(
        lambda b, x, y: b.dot_general(x, y, DotDimensionNumbers([1], [1])),
        *(f32([1, 2, 3], [4, 5, 6]), f32([1, 1, 1], [2, 2, 2])),
        expected=f32([6, 12], [15, 30]),
    )


def test_batch_dimension_numbers() -> None:
    lhs, rhs = f32([[1, 2], [3, 4]], [[5, 6], [7, 8]]), f32([[1, 0], [0, 1]], [[1, 0], [0, 1]])
    check(lambda b, x, y: b.dot_general(x, y, DotDimensionNumbers([2], [1], [0], [0])), lhs, rhs, expected=lhs)


@pytest.mark.parametrize(("left", "right"), [((4, 2, 3), (4, 3, 5)), ((2, 3, 4, 5), (2, 3, 5, 6))])
def test_batch_matmul(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = random(*left), random(*right)
    batch = range(len(left) - 2)
    numbers = DotDimensionNumbers([len(left) - 1], [len(right) - 2], batch, batch)
    check(lambda b, p, q: b.dot_general(p, q, numbers), x, y, expected=x @ y)


def test_ragged_dot_takes_one_matrix_for_each_group_of_rows() -> None:
    x, y, sizes = random(5, 2), random(3, 2, 4), s32(1, 3, 1)
    numbers = RaggedDotDimensionNumbers(DotDimensionNumbers([1], [1]), [0], [0])
    expected = np.stack([row @ y[group] for row, group in zip(x, (0, 1, 1, 1, 2), strict=True)])
    check_emitted(build(lambda b, *ops: b.ragged_dot(*ops, numbers), x, y, sizes), [x, y, sizes], expected)


@pytest.mark.parametrize("order", ["x, y, p, q", "x, p, y, q"])
def test_scaled_dot_in_both_orders_of_operands(order: str) -> None:
    x, y, p, q = random(2, 4), random(4, 3), f32([1, 2], [0.5, 4]), f32([2, 1, 0.25], [1, 3, 2])

    def program(b, x, y, p, q):
        return b.scaled_dot(x, y, p, q, DotDimensionNumbers([1], [0]), preferred_element_type=F32)

    text = print_module(build(program, x, y, p, q))
    names = dict(zip("xypq", ("p0", "p1", "p2", "p3"), strict=True))
    text = text.replace("(p0, p1, p2, p3)", f"({', '.join(names[name] for name in order.split(', '))})")
    expected = (x * p.repeat(2, 1)) @ (y * q.repeat(2, 0))
    assert_equal(expected, xla2py.emit(text).load().main(x, y, p, q))


@pytest.mark.parametrize(("padding", "low", "high"), [(Padding.SAME, (1, 0), (1, 1)), (Padding.VALID, (0, 0), (0, 0))])
def test_same_and_valid_padding(padding: Padding, low: tuple[int, int], high: tuple[int, int]) -> None:
    x, k = random(1, 2, 5, 5), random(3, 2, 3, 2)
    check(lambda b, p, q: b.conv(p, q, [1, 1], padding), x, k, expected=convolved(x, k, (1, 1), low, high))


def test_the_pseudo_code_of_a_2d_convolution() -> None:
    x, k = random(2, 3, 5, 6), random(4, 3, 3, 2)
    expected = convolved(x, k, (2, 1), (1, 2), (0, 3))
    check(lambda b, p, q: b.conv_with_general_padding(p, q, [2, 1], [(1, 0), (2, 3)]), *(x, k), expected=expected)


def test_dilations() -> None:
    x, k = random(1, 1, 4, 4), random(1, 1, 2, 2)
    spread = np.zeros((1, 1, 7, 4), np.float32)
    spread[:, :, ::2] = x
    kernel = np.zeros((1, 1, 2, 3), np.float32)
    kernel[..., ::2] = k
    check(
        lambda b, p, q: b.conv_with_general_padding(p, q, [1, 1], [(0, 0), (0, 0)], [2, 1], [1, 2]),
        *(x, k),
        expected=convolved(spread, kernel),
    )


def test_feature_groups() -> None:
    x, k = random(2, 4, 4, 4), random(6, 2, 3, 3)
    expected = np.concatenate([convolved(x[:, :2], k[:3]), convolved(x[:, 2:], k[3:])], axis=1)
    check(lambda b, p, q: b.conv(p, q, [1, 1], Padding.VALID, feature_group_count=2), x, k, expected=expected)


def test_batch_groups() -> None:
    x, k = random(4, 2, 4, 4), random(6, 2, 3, 3)
    expected = np.concatenate([convolved(x[:2], k[:3]), convolved(x[2:], k[3:])], axis=1)
    check(lambda b, p, q: b.conv(p, q, [1, 1], Padding.VALID, batch_group_count=2), x, k, expected=expected)


def test_dimension_numbers_in_another_order() -> None:
    x, k = random(1, 2, 5, 5), random(3, 2, 3, 3)
    numbers = convolution_numbers((0, 3, [1, 2]), (2, 3, [0, 1]), (0, 3, [1, 2]))
    expected = convolved(x, k).transpose(0, 2, 3, 1)
    check(
        lambda b, p, q: b.conv_general(p, q, [1, 1], [(0, 0), (0, 0)], numbers),
        *(x.transpose(0, 2, 3, 1).copy(), k.transpose(2, 3, 1, 0).copy()),
        expected=expected,
    )
    assert numbers.text == "b01f_01io->b01f"


def test_a_convolution_without_spatial_dimensions_is_a_product() -> None:
    x, k = random(2, 3), random(4, 3)
    check(lambda b, p, q: b.conv_general_dilated(p, q, [], []), x, k, expected=x @ k.T)


def _positive_definite() -> np.ndarray:
    x = random(2, 3, 3)
    return x @ x.mT + 3 * np.eye(3, dtype=np.float32)


def test_cholesky_of_a_batch() -> None:
    a = _positive_definite()
    lower = np.linalg.cholesky(a)
    check(lambda b, p: b.cholesky(p, lower=True), a, expected=lower)
    check(lambda b, p: b.cholesky(p, lower=False), a, expected=lower.mT)


@pytest.mark.parametrize("transpose_a", list(Transpose))
@pytest.mark.parametrize("left_side", [True, False])
def test_triangular_solve(left_side: bool, transpose_a: Transpose) -> None:
    a = np.linalg.cholesky(_positive_definite())
    y = random(2, 3, 2) if left_side else random(2, 2, 3)
    matrix = a if transpose_a is Transpose.NO_TRANSPOSE else a.mT
    expected = np.linalg.solve(matrix, y) if left_side else np.linalg.solve(matrix.mT, y.mT).mT
    check(
        lambda b, p, q: b.triangular_solve(p, q, left_side, lower=True, transpose_a=transpose_a),
        *(a, y),
        expected=expected,
    )


def test_a_unit_diagonal_is_not_read() -> None:
    a = f32([np.nan, 7], [2, np.nan])
    check(
        lambda b, p, q: b.triangular_solve(p, q, left_side=True, lower=True, unit_diagonal=True),
        *(a, f32([1], [5])),
        expected=f32([1], [3]),
    )


@pytest.mark.parametrize("length", [7, 8])
def test_real_transforms_of_both_parities(length: int) -> None:
    x = random(3, length)
    check(lambda b, p: b.fft(p, FftType.RFFT, [length]), x, expected=np.fft.rfft(x).astype(np.complex64))
    z = np.fft.rfft(x).astype(np.complex64)
    expected = np.fft.irfft(z, length).astype(np.float32)
    check(lambda b, p: b.fft(p, FftType.IRFFT, [length]), z, expected=expected)


def test_transforms_of_several_dimensions() -> None:
    z = (random(2, 4, 5) + 1j * random(2, 4, 5)).astype(np.complex64)
    check(lambda b, p: b.fft(p, FftType.FFT, [4, 5]), z, expected=np.fft.fft2(z).astype(np.complex64))
    check(lambda b, p: b.fft(p, FftType.IFFT, [2, 4, 5]), z, expected=np.fft.ifftn(z).astype(np.complex64))
