"""The RngBitGenerator section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.worked import build
from xla2py.transpile.equivalence.reference.xla import run_hlo
from xla2py.transpile.hlo.builder import (
    U32,
    RandomAlgorithm,
    make_shape,
)
from xla2py.transpile.hlo.printer import print_module


@pytest.mark.parametrize("algorithm", list(RandomAlgorithm))
def test_bit_generators_give_the_same_bits_for_the_same_state(algorithm: RandomAlgorithm) -> None:
    size = 3 if algorithm is RandomAlgorithm.RNG_PHILOX else 2
    state = np.arange(1, size + 1, dtype=np.uint64)
    module = build(lambda b, s: b.rng_bit_generator(algorithm, s, make_shape(U32, [3])), state)
    first, second = (run_hlo(print_module(module), state) for _ in range(2))
    for a, c in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, c)
    assert [(r.dtype.name, r.shape) for r in first] == [("uint64", (size,)), ("uint32", (3,))]
