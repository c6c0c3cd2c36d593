"""The Conv section of the operation-semantics seed."""

from __future__ import annotations

import pytest

from xla2py.tests.builder.worked import check, convolved, random
from xla2py.transpile.hlo.builder import (
    Padding,
)


@pytest.mark.parametrize(("padding", "low", "high"), [(Padding.SAME, (1, 0), (1, 1)), (Padding.VALID, (0, 0), (0, 0))])
def test_same_and_valid_padding(padding: Padding, low: tuple[int, int], high: tuple[int, int]) -> None:
    x, k = random(1, 2, 5, 5), random(3, 2, 3, 2)
    check(lambda b, p, q: b.conv(p, q, [1, 1], padding), x, k, expected=convolved(x, k, (1, 1), low, high))
