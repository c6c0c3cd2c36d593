"""The While section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import check, s32
from xla2py.transpile.hlo.builder import (
    S32,
    XlaBuilder,
)


def test_the_while_example_counts_to_1000() -> None:
    def program(b: XlaBuilder):
        init = b.tuple([b.constant(0, S32), b.broadcast(b.constant(0.0), [10])])

        def body(state):
            constant_vector = state.builder.broadcast(state.builder.constant(0.5), [10])
            return state[0] + 1, state[1] + constant_vector

        return b.while_(lambda state: state[0] < 1000, body, init)

    check(program, expected=[s32(1000), np.full(10, 500, np.float32)])
