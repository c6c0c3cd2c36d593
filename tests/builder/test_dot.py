"""The Dot section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.worked import build, check, random
from xla2py.transpile.hlo.builder import (
    S32,
)


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
