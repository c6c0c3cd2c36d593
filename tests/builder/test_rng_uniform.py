"""The RngUniform section of the operation-semantics seed."""

from __future__ import annotations

from xla2py.tests.builder.worked import build, f32, opcodes
from xla2py.transpile.equivalence.reference.xla import run_hlo
from xla2py.transpile.hlo.builder import (
    F32,
    PRED,
    make_shape,
)
from xla2py.transpile.hlo.printer import print_module


def test_uniform_numbers_lie_in_the_half_open_interval() -> None:
    module = build(lambda b, lo, hi: b.rng_uniform(lo, hi, make_shape(F32, [50, 40])), f32(-2), f32(3))
    (numbers,) = run_hlo(print_module(module), f32(-2), f32(3))
    assert numbers.shape == (50, 40)
    assert ((numbers >= -2) & (numbers < 3)).all()
    assert abs(numbers.mean() - 0.5) < 0.2


def test_uniform_bounds_take_the_shape_s_type() -> None:
    module = build(lambda b: b.rng_uniform(False, True, make_shape(PRED, [4])))
    assert opcodes(module) == ["constant", "constant", "rng"]
    assert str(module.entry.root.operands[0].shape) == "pred[]"
