"""The Tuple section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import check, s32


def test_the_tuple_of_the_seed() -> None:
    v = np.arange(10, dtype=np.float32)
    check(lambda b, v, s: b.tuple([v, s]), v, s32(5), expected=[v, s32(5)])


def test_tuples_of_tuples_and_of_nothing() -> None:
    check(lambda b, s: b.tuple([s, b.tuple([b.tuple([]), s])])[1][1], s32(5), expected=s32(5))
