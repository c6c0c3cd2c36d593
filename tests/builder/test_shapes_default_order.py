"""The shapes seeds, "Default minor-to-major ordering"."""

from __future__ import annotations

import pytest

from xla2py.transpile.hlo.builder import F32, Layout, is_major_to_minor, make_shape
from xla2py.transpile.hlo.source import HloVerificationError


@pytest.mark.parametrize("rank", range(5))
def test_a_new_shape_is_major_to_minor(rank: int) -> None:
    layout = make_shape(F32, [2] * rank).layout
    assert layout == Layout.default(rank) == Layout(tuple(reversed(range(rank))))
    assert is_major_to_minor(layout)


def test_the_text_names_the_order_from_minor_to_major() -> None:
    assert str(make_shape(F32, [2, 3, 4])) == "f32[2,3,4]{2,1,0}"


def test_an_order_names_each_dimension_once() -> None:
    with pytest.raises(HloVerificationError, match=r"XP280.* minor_to_major \[0, 0\] is not an order of 2 dimensions"):
        make_shape(F32, [2, 3], [0, 0])
