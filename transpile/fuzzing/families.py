"""Random HLO programs by seed: families of them, and those that have one of certain operations."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from random import Random

from ..errors import Diagnostic, UsageError
from ..hlo.opcodes import OPCODES
from .lines import lines
from .loops import loop
from .parts import parts
from .program import RandomProgram
from .recipes import RECIPES
from .scalars import scalars
from .shape_chains import shape_chain
from .structured import structured, unusual
from .wrappers import wrapped

FAMILIES: dict[str, Callable[[str, Random], RandomProgram]] = {
    "shape_chains": shape_chain,
    "loops": loop,
    "scalars": scalars,
    "structured": structured,
    "wrapped": wrapped,
    "unusual": unusual,
    "lines": lines,
    "parts": parts,
}
MOST_TRIES = 300  # programs thrown away before a family is taken to lack the operations wanted
_OPCODE = re.compile(r" = \S.*? ([a-z][a-z0-9-]*)\(")


def random_program(family: str, seed: int) -> RandomProgram:
    """The program of a family that belongs to a seed; its name is made of both."""
    return FAMILIES[family](f"{family}_{seed}", Random(seed))


def program_with(operations: Collection[str], seed: int) -> RandomProgram:
    """A program of any family with at least one of the operations (any program without operations), by seed.

    Raises ``UsageError`` (XP606) where no family draws one.
    """
    random = Random(seed)
    if operations and set(operations) <= set(RECIPES):
        return structured(f"fuzz_{seed}", random, sorted(operations))
    for _ in range(MOST_TRIES):
        program = FAMILIES[random.choice(list(FAMILIES))](f"fuzz_{seed}", random)
        if not operations or opcodes(program) & set(operations):
            return program
    raise UsageError(Diagnostic("XP606", f"random programs do not have {', '.join(sorted(operations))}"))


def opcodes(program: RandomProgram) -> set[str]:
    """The opcodes in a program's text."""
    found = {match[1] for match in _OPCODE.finditer(program.helpers + program.entry)}
    return found & set(OPCODES)
