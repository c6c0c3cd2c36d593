"""Subnormal numbers are zeros on XLA's CPU backend: what comes of that alone is no difference."""

import sys

import numpy as np
import pytest

import xla2py
from xla2py.transpile.equivalence.verdicts.comparison import Status
from xla2py.transpile.equivalence.verdicts.judging import SUBNORMAL
from xla2py.transpile.equivalence.verdicts.subnormals import flushed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the register is found on Linux only")

TINY = np.float32([1e-40, -1e-40, 1e-20, 2])
RATIO = """
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  square = f32[4] multiply(x, x)
  ratio = f32[4] divide(y, square)
  one = f32[] constant(1)
  ones = f32[4] broadcast(one), dimensions={}
  ROOT least = f32[4] minimum(ratio, ones)
}
"""


def test_subnormal_numbers_are_zeros_inside_of_the_block_only():
    with flushed():
        assert (TINY == 0).tolist() == [True, True, False, False]
        assert (TINY[2] * TINY[2]) == 0
    assert (TINY == 0).tolist() == [False] * 4
    assert TINY[2] * TINY[2] > 0


def test_the_block_ends_where_it_raises():
    with pytest.raises(ZeroDivisionError), flushed():
        _ = 1 // 0
    assert TINY[0] != 0


def test_what_zeros_explain_is_close():
    report = xla2py.check(RATIO, inputs=[TINY, np.float32([0, 0, 0, 1])])
    (leaf,) = report.programs[0].cases[0].comparisons[0].leaves
    assert leaf.status is Status.CLOSE and leaf.note == SUBNORMAL
    assert report.is_good
