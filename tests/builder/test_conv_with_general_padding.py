"""The ConvWithGeneralPadding section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import check, convolved, random
from xla2py.transpile.hlo.builder import (
    Padding,
    convolution_numbers,
)


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
