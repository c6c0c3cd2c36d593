"""The Select section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.worked import check, f32, s32


def test_select_by_an_array() -> None:
    pred = np.array([True, False, False, True])
    check(
        lambda b, p, x, y: b.select(p, x, y),
        *(pred, s32(1, 2, 3, 4), s32(100, 200, 300, 400)),
        expected=s32(1, 200, 300, 4),
    )


@pytest.mark.parametrize(("pred", "expected"), [(True, s32(1, 2, 3, 4)), (False, s32(100, 200, 300, 400))])
def test_select_by_a_scalar(pred: bool, expected: np.ndarray) -> None:
    arrays = (np.array(pred), s32(1, 2, 3, 4), s32(100, 200, 300, 400))
    check(lambda b, p, x, y: b.select(p, x, y), *arrays, expected=expected)


def test_select_between_tuples() -> None:
    check(
        lambda b, p, x, y: b.select(p, b.tuple([x, b.tuple([y])]), b.tuple([x + 1.0, b.tuple([y * 2])])),
        *(np.array(False), f32(1, 2), s32(3)),
        expected=[f32(2, 3), s32(6)],
    )
