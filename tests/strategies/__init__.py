"""Random HLO programs, valid by construction, in four families, and a hypothesis strategy over them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from hypothesis import strategies as st

from .loops import loop
from .program import RandomProgram, batch_text
from .scalars import scalars
from .shape_chains import shape_chain
from .structured import structured

FAMILIES: dict[str, Callable[[str, Random], RandomProgram]] = {
    "shape_chains": shape_chain,
    "loops": loop,
    "scalars": scalars,
    "structured": structured,
}


def random_program(family: str, seed: int) -> RandomProgram:
    """The program of a family that belongs to a seed; its name is made of both."""
    return FAMILIES[family](f"{family}_{seed}", Random(seed))


def programs(family: str) -> st.SearchStrategy[RandomProgram]:
    """Programs of a family, drawn choice by choice, so that hypothesis can shrink them."""
    return st.randoms(use_true_random=False).map(lambda random: FAMILIES[family](family, random))


__all__ = ["FAMILIES", "RandomProgram", "batch_text", "programs", "random_program"]
