"""The broadcasting seed, "Broadcasting similar-rank arrays with degenerate dimensions"."""

from __future__ import annotations

import pytest

from xla2py.tests.builder.worked import build, check, filled
from xla2py.transpile.hlo.source import HloVerificationError


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ((2, 1), (2, 3), (2, 3)),
        ((1, 2, 5), (7, 2, 5), (7, 2, 5)),
        ((7, 2, 5), (7, 1, 5), (7, 2, 5)),
        ((2, 1), (1, 3), (2, 3)),  # an outer operation
        ((1, 0), (4, 1), (4, 0)),
    ],
)
def test_degenerate_dimensions(left: tuple[int, ...], right: tuple[int, ...], result: tuple[int, ...]) -> None:
    x, y = filled(*left), filled(*right)
    assert (x + y).shape == result
    check(lambda b, p, q: b.add(p, q), x, y, expected=x + y)


def test_incompatible_sizes_are_refused() -> None:
    with pytest.raises(HloVerificationError, match=r"XP213: add: dimension 2 of .* is neither equal nor 1"):
        build(lambda b, p, q: p + q, filled(7, 2, 5), filled(7, 2, 6))
