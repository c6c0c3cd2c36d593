"""Element-wise comparison operations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from xla2py.tests.builder.worked import build, check, f32, s32

NAN, INF = math.nan, math.inf
TOTAL_ORDER = f32(-NAN, -INF, -1.0, -0.0, 0.0, 1.0, INF, NAN)


@pytest.mark.parametrize("name", ["eq", "ne", "ge", "gt", "le", "lt"])
def test_the_total_order_of_floats(name: str) -> None:
    x = TOTAL_ORDER.copy()
    x[0] = np.array(0xFFC00000, np.uint32).view(np.float32)
    i, j = np.meshgrid(np.arange(8), np.arange(8), indexing="ij")
    compared = {"eq": i == j, "ne": i != j, "ge": i >= j, "gt": i > j, "le": i <= j, "lt": i < j}[name]
    check(
        lambda b, p: getattr(b, f"{name}_total_order")(b.broadcast_in_dim(p, [8, 8], [0]), p, [1]),
        x,
        expected=compared,
    )


def test_total_order_of_integers_is_their_only_order() -> None:
    module = build(lambda b, x, y: b.lt_total_order(x, y), s32(1, 2), s32(2, 1))
    assert "type" not in module.entry.root.attributes
    check(lambda b, x, y: b.lt_total_order(x, y), s32(1, 2), s32(2, 1), expected=np.array([True, False]))


def test_nan_compares_unordered() -> None:
    x = f32(NAN, 1.0)
    check(lambda b, a: b.tuple([a == a, a != a, a < a]), x, expected=[x == x, x != x, x < x])


def test_every_comparison_of_the_seed_s_list() -> None:
    x, y = f32(1, 2, 3), f32(2, 2, 2)
    names = ("eq", "ne", "ge", "gt", "le", "lt")
    expected = [x == y, x != y, x >= y, x > y, x <= y, x < y]
    check(lambda b, p, q: b.tuple([getattr(b, name)(p, q) for name in names]), x, y, expected=expected)
    check(
        lambda b, p, q: b.tuple(
            [
                *(b.eq_total_order(p, q), b.ne_total_order(p, q), b.ge_total_order(p, q)),
                *(b.gt_total_order(p, q), b.le_total_order(p, q), b.lt_total_order(p, q)),
            ]
        ),
        *(x, y),
        expected=expected,
    )
