"""The Reshape section of the operation-semantics seed."""

from __future__ import annotations

import pytest

from xla2py.tests.builder.worked import check, f32

V = f32(
    [[10, 11, 12], [15, 16, 17]],
    [[20, 21, 22], [25, 26, 27]],
    [[30, 31, 32], [35, 36, 37]],
    [[40, 41, 42], [45, 46, 47]],
)


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
