"""The Collapse section of the operation-semantics seed."""

from __future__ import annotations

import pytest

from xla2py.tests.builder.worked import build, check, f32, opcodes

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
