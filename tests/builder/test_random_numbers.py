"""The sections of the operation-semantics seed on random numbers."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.worked import build, f32, opcodes
from xla2py.transpile.equivalence.reference.xla import run_hlo
from xla2py.transpile.hlo.builder import F32, PRED, U32, RandomAlgorithm, make_shape
from xla2py.transpile.hlo.printer import print_module


def test_normal_numbers_have_the_mean_and_deviation() -> None:
    (numbers,) = run_hlo(print_module(build(lambda b: b.rng_normal(4.0, 0.5, make_shape(F32, [2000])))))
    assert abs(numbers.mean() - 4) < 0.1
    assert abs(numbers.std() - 0.5) < 0.1


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


@pytest.mark.parametrize("algorithm", list(RandomAlgorithm))
def test_bit_generators_give_the_same_bits_for_the_same_state(algorithm: RandomAlgorithm) -> None:
    size = 3 if algorithm is RandomAlgorithm.RNG_PHILOX else 2
    state = np.arange(1, size + 1, dtype=np.uint64)
    module = build(lambda b, s: b.rng_bit_generator(algorithm, s, make_shape(U32, [3])), state)
    first, second = (run_hlo(print_module(module), state) for _ in range(2))
    for a, c in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, c)
    assert [(r.dtype.name, r.shape) for r in first] == [("uint64", (size,)), ("uint32", (3,))]
