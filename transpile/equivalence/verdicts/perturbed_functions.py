"""A program whose functions are what those of another library may be: elementary ones wrong by a unit or two in the
last place, singular vectors and eigenvectors of either sign.

The angle ``position * 10000 ** (-k / d)`` of a position embedding makes such an error as many times larger as the
position is, wherever the inputs are.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from ...hlo.ir import HloModule, Instruction
from ...hlo.shapes import ArrayShape, without_layouts
from ..reference.reference_rewrites import NOTES, Rewriter, rewritten
from .tolerances import ULPS

_MOST_VECTORS = 1009  # after which signs repeat
_WITH_VECTORS = re.compile(r"lapack_[sdcz](gesdd|gesvd|syevd|heevd)(?:_ffi)?")
# Which of a routine's results are vectors, and along which axis from the end these are counted.
_OF_SINGULAR, _OF_EIGENVALUES = {2: 1, 3: 2}, {0: 1}
_AXES_OF_VECTORS = {
    **dict.fromkeys(("gesdd", "gesvd"), _OF_SINGULAR),
    **dict.fromkeys(("syevd", "heevd"), _OF_EIGENVALUES),
}


def with_moved_functions(module: HloModule, seed: int) -> HloModule | None:
    """The program in which each elementary function of floats gives its results times a number next to 1, the same for
    all of them, and each vector may have the other sign: all have for the seed 0. None where it has no such function.
    """
    rewriter = _MovedFunctions(seed)
    moved = rewritten(module, rewriter, {})
    return moved if rewriter.count else None


class _MovedFunctions(Rewriter):
    def __init__(self, seed: int) -> None:
        super().__init__(NOTES)
        self.count = 0
        self._seed = seed
        self._generator = np.random.default_rng(seed)

    def _moved(self, old: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        """A function's result times a number next to 1."""
        shape = without_layouts(old.shape)
        if not isinstance(shape, ArrayShape) or not shape.element_type.is_floating:
            return self._plain(old, operands)
        units = self._generator.choice([-2.0, -1.0, 1.0, 2.0])
        factor = 1 + units * float(ml_dtypes.finfo(shape.element_type.dtype).eps)
        return self._times(old, operands, shape, np.asarray(factor), ())

    def _with_signs(self, old: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        """One of several results: where it has vectors, each times its sign, which is the same on the left and on the
        right.
        """
        routine = _WITH_VECTORS.fullmatch(old.operands[0].attributes.get("custom_call_target", ""))
        from_the_last = _AXES_OF_VECTORS[routine[1]].get(old["index"]) if routine is not None else None
        if from_the_last is None:
            return self._plain(old, operands)
        shape = ArrayShape(old.array_shape.element_type, old.array_shape.dimensions)
        axis = len(shape.dimensions) - from_the_last
        signs = np.random.default_rng(self._seed).choice([-1.0, 1.0] if self._seed else [-1.0], _MOST_VECTORS)
        return self._times(old, operands, shape, np.resize(signs, shape.dimensions[axis]), (axis,))

    def _times(
        self,
        old: Instruction,
        operands: tuple[Instruction, ...],
        shape: ArrayShape,
        factor: np.ndarray[Any, Any],
        dimensions: tuple[int, ...],
    ) -> Instruction:
        """Multiply what an instruction gives with a number, or with numbers along an axis."""
        self.count += 1
        value = self._plain(dataclasses.replace(old, name=f"{old.name}.whole"), operands)
        own = ArrayShape(shape.element_type, factor.shape)
        literal = factor.astype(shape.element_type.dtype)
        numbers = self._add(f"{old.name}.numbers", "constant", own, (), literal=literal)
        repeated = self._add(f"{old.name}.factor", "broadcast", shape, (numbers,), dimensions=dimensions)
        return self._add(old.name, "multiply", shape, (value, repeated))

    RULES: ClassVar[Mapping[str, Callable[..., Any]]] = {
        **Rewriter.RULES,
        **dict.fromkeys((*ULPS, "power"), _moved),
        "get-tuple-element": _with_signs,
    }
