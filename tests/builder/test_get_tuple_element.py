"""The GetTupleElement section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import build, check, s32


def test_element_1_of_the_seed() -> None:
    v = np.arange(10, dtype=np.float32)
    check(lambda b, v, s: b.get_tuple_element(b.tuple([v, s]), 1), v, s32(5), expected=s32(5))
    module = build(lambda b, v, s: b.get_tuple_element(b.tuple([v, s]), 1), v, s32(5))
    assert str(module.entry.root.shape) == "s32[]"  # inferred
