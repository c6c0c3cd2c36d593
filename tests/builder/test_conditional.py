"""The Conditional section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.worked import check, f32, s32


@pytest.mark.parametrize(("pred", "expected"), [(True, f32(-1, -2)), (False, f32(6, 8))])
def test_conditional_by_pred(pred: bool, expected: np.ndarray) -> None:
    check(
        lambda b, p, x, y: b.conditional(p, x, lambda a: -a, y, lambda a: a * 2.0),
        *(np.array(pred), f32(1, 2), f32(3, 4)),
        expected=expected,
    )


@pytest.mark.parametrize(("index", "expected"), [(0, 1.0), (1, 20.0), (2, 300.0), (-1, 300.0), (7, 300.0)])
def test_conditional_by_index_runs_the_last_branch_when_out_of_range(index: int, expected: float) -> None:
    branches = [lambda a: a, lambda a: a * 10.0, lambda a: a * 100.0]
    check(
        lambda b, i, x, y, z: b.conditional(i, branches, [x, y, z]),
        *(s32(index), f32(1), f32(2), f32(3)),
        expected=f32(expected),
    )


def test_branches_may_take_and_give_tuples() -> None:
    check(
        lambda b, p, x, y: b.conditional(p, b.tuple([x, y]), lambda t: (t[1], t[0]), x, lambda a: (a, a)),
        *(np.array(True), f32(1), f32(2)),
        expected=[f32(2), f32(1)],
    )
