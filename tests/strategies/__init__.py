"""A hypothesis strategy over the families of random programs."""

from __future__ import annotations

from hypothesis import strategies as st

from xla2py.transpile.fuzzing.families import FAMILIES, random_program
from xla2py.transpile.fuzzing.program import RandomProgram, batch_text


def programs(family: str) -> st.SearchStrategy[RandomProgram]:
    """Programs of a family, drawn choice by choice, so that hypothesis can shrink them."""
    return st.randoms(use_true_random=False).map(lambda random: FAMILIES[family](family, random))


__all__ = ["FAMILIES", "RandomProgram", "batch_text", "programs", "random_program"]
