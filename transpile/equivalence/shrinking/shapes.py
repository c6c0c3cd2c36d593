"""Smaller sizes: replaces one size of a program wherever it occurs, by the shape rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import XlaToPythonError
from ...hlo.attributes import PaddingDimension, SliceDimension, WindowDimension
from ...hlo.carriers import Array
from ...hlo.ir import Computation, Instruction, with_called
from ...hlo.shape_inference import infer_shape
from ...hlo.shapes import ArrayShape, Shape, TupleShape
from .cases import Case, ordered


def smaller_shapes(case: Case) -> Iterator[Case]:
    """Yield the program with each of its sizes replaced by 1, 2, or half of it, wherever it occurs; large sizes
    first.
    """
    for size in sorted(_sizes(case.root), reverse=True):
        for smaller in dict.fromkeys((1, 2, size // 2)):
            if smaller < size:
                try:
                    yield _resized(case, size, smaller)
                except (XlaToPythonError, _UnclearError):
                    continue


def _sizes(root: Instruction) -> set[int]:
    arrays = (instruction.shape for instruction in ordered(root) if isinstance(instruction.shape, ArrayShape))
    return {size for shape in arrays for size in shape.dimensions if size > 1}


class _UnclearError(Exception):
    """The new sizes do not follow from the old ones."""


def _resized(case: Case, old: int, new: int) -> Case:
    resizing = _Resizing(old, new)
    made = resizing.instructions(case.root)
    arguments = {
        made[parameter]: tuple(_first(leaf, old, new) for leaf in leaves)
        for parameter, leaves in case.arguments.items()
        if parameter in made
    }
    return replace(case, root=made[case.root], arguments=arguments)


def _first(array: Array, old: int, new: int) -> Array:
    """Return the first elements along each axis of the old size."""
    return np.ascontiguousarray(array[tuple(slice(new if size == old else None) for size in array.shape)]).reshape(
        [new if size == old else size for size in array.shape]
    )


class _Resizing:
    """Replaces size ``old`` by size ``new`` along all axes of all arrays."""

    def __init__(self, old: int, new: int) -> None:
        self.old = old
        self.new = new
        self._computations: dict[Computation, Computation] = {}

    def size(self, size: int) -> int:
        return self.new if size == self.old else size

    def shape(self, shape: Shape) -> Shape:
        if isinstance(shape, TupleShape):
            return TupleShape(tuple(map(self.shape, shape.elements)))
        if isinstance(shape, ArrayShape):
            return replace(shape, dimensions=tuple(map(self.size, shape.dimensions)))
        return shape

    def instructions(self, *roots: Instruction) -> dict[Instruction, Instruction]:
        """Return the replacement of each instruction that the roots need."""
        made: dict[Instruction, Instruction] = {}
        for instruction in ordered(*roots):
            made[instruction] = self._instruction(instruction, tuple(made[o] for o in instruction.operands))
        return made

    def _instruction(self, instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        attributes = {key: with_called(value, self._computation) for key, value in instruction.attributes.items()}
        adapt = _ATTRIBUTES.get(instruction.opcode)
        if adapt is not None:
            attributes.update(adapt(self, instruction, operands))
        shape = self._result(instruction, operands, attributes)
        return instruction.replace(shape=shape, operands=operands, attributes=attributes)

    def _result(
        self, instruction: Instruction, operands: tuple[Instruction, ...], attributes: Mapping[str, Any]
    ) -> Shape:
        if instruction.opcode == "reshape":
            return _reshaped(instruction, operands[0], self)
        shape = self.shape(instruction.shape)
        if instruction.opcode in ("parameter", "constant", "iota", "custom-call"):
            return shape
        inferred = infer_shape(instruction.opcode, [o.shape for o in operands], attributes, declared=shape)
        if not isinstance(inferred, ArrayShape) or not isinstance(shape, ArrayShape):
            return inferred or shape
        return replace(inferred, layout=shape.layout)

    def _computation(self, computation: Computation) -> Computation:
        if computation not in self._computations:
            made = self.instructions(*computation.instructions)
            changed = tuple(made[instruction] for instruction in computation.instructions)
            resized = replace(computation, instructions=changed, root=made[computation.root])
            self._computations[computation] = resized
        return self._computations[computation]


def _reshaped(instruction: Instruction, operand: Instruction, resizing: _Resizing) -> Shape:
    """Return the shape of a reshape's result: each axis has the product of the new sizes of the axes that it merges."""
    before, after = instruction.operands[0].array_shape.dimensions, instruction.array_shape.dimensions
    now = operand.array_shape.dimensions
    made: list[int] = []
    n = 0
    while n < len(before) or len(made) < len(after):
        given, wanted = [n], [len(made)]
        while math.prod(before[k] for k in given if k < len(before)) != math.prod(
            after[k] for k in wanted if k < len(after)
        ):
            side = given if _product(before, given) < _product(after, wanted) else wanted
            side.append(side[-1] + 1)
            if side[-1] >= len(before if side is given else after):
                raise _UnclearError
        product = _product(now, given)
        sizes = [resizing.size(after[k]) for k in wanted if k < len(after)]
        if len(sizes) == 1:
            sizes = [product]
        elif math.prod(sizes) != product:
            raise _UnclearError
        made += sizes
        n = given[-1] + 1
    return replace(instruction.array_shape, dimensions=tuple(made))


def _product(sizes: tuple[int, ...], axes: list[int]) -> int:
    return math.prod(sizes[axis] for axis in axes if axis < len(sizes))


# -- attributes with sizes


def _constant(resizing: _Resizing, instruction: Instruction, operands: tuple[Instruction, ...]) -> dict[str, Any]:
    literal = instruction["literal"]
    if not isinstance(literal, np.ndarray):
        raise _UnclearError
    return {"literal": _first(literal, resizing.old, resizing.new)}


def _slice(resizing: _Resizing, instruction: Instruction, operands: tuple[Instruction, ...]) -> dict[str, Any]:
    """Return slices whose limit stays at the end, or moves with the size of the result."""
    changed = []
    for part, size, now in zip(
        instruction["slice"],
        instruction.operands[0].array_shape.dimensions,
        operands[0].array_shape.dimensions,
        strict=True,
    ):
        length = -(-(part.limit - part.start) // part.stride)
        start = part.start if part.start < now else max(0, now - 1)
        wanted = resizing.size(length) if size == now or length != size else now
        limit = min(now, start + (wanted - 1) * part.stride + 1) if wanted else start
        changed.append(SliceDimension(start, limit, part.stride))
    return {"slice": tuple(changed)}


def _within(key: str) -> Callable[[_Resizing, Instruction, tuple[Instruction, ...]], dict[str, Any]]:
    """Return the rule for an attribute with sizes of a part of the first operand."""

    def adapt(resizing: _Resizing, instruction: Instruction, operands: tuple[Instruction, ...]) -> dict[str, Any]:
        sizes = zip(instruction[key], operands[0].array_shape.dimensions, strict=True)
        return {key: tuple(min(resizing.size(size), now) for size, now in sizes)}

    return adapt


def _window(resizing: _Resizing, instruction: Instruction, operands: tuple[Instruction, ...]) -> dict[str, Any]:
    window: tuple[WindowDimension, ...] = instruction["window"]
    return {"window": tuple(replace(part, size=resizing.size(part.size)) for part in window)}


def _padding(resizing: _Resizing, instruction: Instruction, operands: tuple[Instruction, ...]) -> dict[str, Any]:
    """Return padding that removes no more elements than there are."""
    parts = zip(instruction["padding"], operands[0].array_shape.dimensions, strict=True)
    return {"padding": tuple(PaddingDimension(max(p.low, -size), max(p.high, -size), p.interior) for p, size in parts)}


def _topk(resizing: _Resizing, instruction: Instruction, operands: tuple[Instruction, ...]) -> dict[str, Any]:
    return {"k": min(instruction["k"], operands[0].array_shape.dimensions[-1])}


_ATTRIBUTES: dict[str, Callable[[_Resizing, Instruction, tuple[Instruction, ...]], dict[str, Any]]] = {
    "constant": _constant,
    "convolution": _window,
    "dynamic-slice": _within("dynamic_slice_sizes"),
    "fft": lambda resizing, instruction, operands: {"fft_length": tuple(map(resizing.size, instruction["fft_length"]))},
    "gather": _within("slice_sizes"),
    "pad": _padding,
    "reduce-window": _window,
    "select-and-scatter": _window,
    "slice": _slice,
    "topk": _topk,
}
