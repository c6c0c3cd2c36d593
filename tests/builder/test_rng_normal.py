"""The RngNormal section of the operation-semantics seed."""

from __future__ import annotations

from xla2py.tests.builder.worked import build
from xla2py.transpile.equivalence.reference.xla import run_hlo
from xla2py.transpile.hlo.builder import (
    F32,
    make_shape,
)
from xla2py.transpile.hlo.printer import print_module


def test_normal_numbers_have_the_mean_and_deviation() -> None:
    (numbers,) = run_hlo(print_module(build(lambda b: b.rng_normal(4.0, 0.5, make_shape(F32, [2000])))))
    assert abs(numbers.mean() - 4) < 0.1
    assert abs(numbers.std() - 0.5) < 0.1
