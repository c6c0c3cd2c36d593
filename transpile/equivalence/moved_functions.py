"""A program whose elementary functions are wrong by a unit or two in the last place, as those of two libraries are.

The angle ``position * 10000 ** (-k / d)`` of a position embedding makes such an error as many times larger as the
position is, wherever the inputs are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from ..hlo.ir import HloModule, Instruction
from ..hlo.shapes import ArrayShape
from .budgets import ULPS
from .reference_rewrites import NOTES, Rewriter, rewritten, without_layouts


def with_moved_functions(module: HloModule, seed: int) -> HloModule | None:
    """The program in which each elementary function of floats gives its results times a number next to 1, the same for
    all of them; None where it has no such function.
    """
    rewriter = _MovedFunctions(seed)
    moved = rewritten(module, rewriter, {})
    return moved if rewriter.count else None


class _MovedFunctions(Rewriter):
    def __init__(self, seed: int) -> None:
        super().__init__(NOTES)
        self.count = 0
        self._generator = np.random.default_rng(seed)

    def _moved(self, old: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        """A function's result times a number next to 1."""
        shape = without_layouts(old.shape)
        if not isinstance(shape, ArrayShape) or not shape.element_type.is_floating:
            return self._plain(old, operands)
        self.count += 1
        dtype = shape.element_type.dtype
        units = self._generator.choice([-2.0, -1.0, 1.0, 2.0])
        literal = np.asarray(1 + units * float(ml_dtypes.finfo(dtype).eps), dtype)
        value = self._plain(dataclasses.replace(old, name=f"{old.name}.whole"), operands)
        scalar = ArrayShape(shape.element_type, ())
        number = self._add(f"{old.name}.number", "constant", scalar, (), literal=literal)
        factor = self._add(f"{old.name}.factor", "broadcast", shape, (number,), dimensions=())
        return self._add(old.name, "multiply", shape, (value, factor))

    RULES: ClassVar[Mapping[str, Callable[..., Any]]] = {
        **Rewriter.RULES,
        **dict.fromkeys((*ULPS, "power"), _moved),
    }
