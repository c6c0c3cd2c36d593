"""Reductions by any function, maps and scans: XLA CPU is the judge."""

import numpy as np
import pytest

from xla2py.templates.prelude.reduction import fold_axes, map_elements, scan

pytestmark = pytest.mark.filterwarnings("error")
rng = np.random.default_rng(17)
AXES = [(0,), (1,), (2,), (0, 1), (2, 0), (0, 1, 2), ()]


def region(opcode, element_type):
    scalar = f"{element_type}[]"
    return f"region {{ a = {scalar} parameter(0)  b = {scalar} parameter(1)  ROOT r = {scalar} {opcode}(a, b) }}"


ARGMAX = """region {
  x = f32[] parameter(0)  i = s32[] parameter(1)  y = f32[] parameter(2)  j = s32[] parameter(3)
  gt = pred[] compare(x, y), direction=GT  un = pred[] compare(x, x), direction=NE  p = pred[] or(gt, un)
  eq = pred[] compare(x, y), direction=EQ  lt = pred[] compare(i, j), direction=LT  tie = pred[] and(eq, lt)
  q = pred[] or(p, tie)  m = f32[] select(p, x, y)  k = s32[] select(q, i, j)
  ROOT r = (f32[], s32[]) tuple(m, k) }"""


def pick_larger(x, i, y, j):
    larger = (x > y) | (x != x)
    return np.where(larger, x, y), np.where(larger | ((x == y) & (i < j)), i, j)


@pytest.mark.parametrize("axes", AXES)
def test_fold_of_several_operands(agrees, axes):
    x, index = rng.integers(-3, 3, (3, 4, 5)).astype(np.float32), np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    x[1, 2, 3] = np.nan
    operands, inits = (x, index), (np.float32(-np.inf), np.int32(0))
    ours = fold_axes(operands, inits, pick_larger, axes)
    expected = {"dimensions": axes, "to_apply": "region", "computations": ARGMAX}
    agrees(ours, "reduce", [*operands, *inits], **expected)


def test_fold_keeps_the_order_of_a_function_that_does_not_commute():
    matrices = rng.integers(-2, 3, (7, 2, 2)).astype(np.int64)

    def multiply(a, b, c, d, e, f, g, h):
        return a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h

    entries = tuple(matrices[:, i, j] for i in range(2) for j in range(2))
    product = fold_axes(entries, (1, 2, 3, 4), multiply, (0,))
    np.testing.assert_array_equal(
        np.reshape(product, (2, 2)), np.linalg.multi_dot([np.array([[1, 2], [3, 4]]), *matrices])
    )


def test_map_fills_the_shape_with_a_constant():
    x = np.ones((2, 3), np.float32)
    assert map_elements(lambda a: np.float32(4), x).shape == (2, 3)
    np.testing.assert_array_equal(map_elements(lambda a, b: a + b, x, x), x + x)


# ---------------------------------------------------------------- scan
SCAN = """f { a = f32[3] parameter(0)  n = s32[] parameter(1)  c = f32[3] parameter(2)  k = s32[] parameter(3)
  d = f32[3] multiply(c, c)  s = f32[3] subtract(a, d)  m = s32[] add(n, k)
  ROOT t = (s32[], f32[3], f32[3], s32[]) tuple(k, s, s, m) }"""


def step(a, n, c, k):
    return k, a - c * c, a - c * c, n + k


@pytest.mark.parametrize("n", [1, 5])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan_along_the_first_axis(agrees, reverse, n):
    x, steps = rng.standard_normal((n, 3)).astype(np.float32), np.arange(n, dtype=np.int32)
    carries = rng.standard_normal(3).astype(np.float32), np.array(7, np.int32)
    ours = scan(step, (x, steps), carries, reverse=reverse)
    options = {"dimensions": (0,), "num_carries": 2, "is_reverse": reverse}
    agrees(ours, "scan", [x, steps, *carries], rtol=1e-5, to_apply="f", computations=SCAN, **options)


def test_scan_along_the_second_axis(agrees):
    text = """f { a = f32[3] parameter(0)  c = f32[3] parameter(1)  s = f32[3] add(a, c)
      ROOT t = (f32[3], f32[3]) tuple(c, s) }"""
    x, carry = rng.integers(-9, 9, (3, 4)).astype(np.float32), np.zeros(3, np.float32)
    ours = scan(lambda a, c: (c, a + c), (x,), (carry,), axis=1)
    agrees(ours, "scan", [x, carry], to_apply="f", computations=text, dimensions=(1,), num_carries=1)


def test_scan_of_nothing():
    x, carry = np.zeros((3, 0), np.float32), np.arange(3, dtype=np.float32)
    outputs, last = scan(lambda a, c: (a.astype(np.int8), a + c), (x,), (carry,), axis=1)
    assert (outputs.shape, outputs.dtype) == ((3, 0), np.int8)
    np.testing.assert_array_equal(last, carry)
