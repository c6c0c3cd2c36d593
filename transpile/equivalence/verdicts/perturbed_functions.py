"""Perturbs the functions of a program as another library might: elementary functions by a unit or two in the last
place, singular vectors and eigenvectors by their sign.

The angle ``position * 10000 ** (-k / d)`` of a position embedding multiplies such an error by the position, for any
inputs.
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

_MOST_VECTORS = 1009  # the period of the signs
_WITH_VECTORS = re.compile(r"lapack_[sdcz](gesdd|gesvd|syevd|heevd)(?:_ffi)?")
# The results of a routine that are vectors, each with the axis, counted from the end, that numbers the vectors.
_OF_SINGULAR, _OF_EIGENVALUES = {2: 1, 3: 2}, {0: 1}
_AXES_OF_VECTORS = {
    **dict.fromkeys(("gesdd", "gesvd"), _OF_SINGULAR),
    **dict.fromkeys(("syevd", "heevd"), _OF_EIGENVALUES),
}


def with_moved_functions(module: HloModule, seed: int) -> HloModule | None:
    """Return the program with perturbed functions; None if it has none.

    The result of each elementary function of floats is multiplied by a number near 1, the same for all its elements.
    Each vector gets a random sign; with seed 0, all signs are negative.
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
        """Return a function's result times a number near 1."""
        shape = without_layouts(old.shape)
        if not isinstance(shape, ArrayShape) or not shape.element_type.is_floating:
            return self._plain(old, operands)
        units = self._generator.choice([-2.0, -1.0, 1.0, 2.0])
        factor = 1 + units * float(ml_dtypes.finfo(shape.element_type.dtype).eps)
        return self._times(old, operands, shape, np.asarray(factor), ())

    def _with_signs(self, old: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        """Return an item of several results; if it has vectors, each times its sign, which is the same for left and
        right vectors.
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
        """Return an instruction's result times a number, or times numbers along an axis."""
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
