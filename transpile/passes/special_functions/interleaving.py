"""The form of one level of a written-out associative scan: halves that are interleaved, and slices."""

from __future__ import annotations

from typing import NamedTuple

from ...hlo.attributes import PaddingDimension, SliceDimension
from ...hlo.ir import Instruction


class Halves(NamedTuple):
    """Holds the parts of an interleaved array: its first element, the even places behind that, and the odd places."""

    first: Instruction
    even: Instruction | None
    odd: Instruction
    axis: int


def interleaved(instruction: Instruction) -> Halves | None:
    """The halves that ``add`` interleaves, ``or`` those of truth values: each has gaps where the other has elements."""
    if instruction.opcode not in ("add", "or") or any(each.opcode != "pad" for each in instruction.operands):
        return None
    even, odd = instruction.operands
    if any(not _is_zero(each.operands[1]) for each in (even, odd)):
        return None
    gaps = [axis for axis, padding in enumerate(even["padding"]) if padding.interior]
    if len(gaps) != 1:
        return None
    (axis,) = gaps
    difference = even.operands[0].array_shape.dimensions[axis] - odd.operands[0].array_shape.dimensions[axis]
    if difference not in (0, 1):
        return None
    for half, own in ((even, (0, 1 - difference, 1)), (odd, (1, difference, 1))):
        wanted = [PaddingDimension(*own) if k == axis else PaddingDimension(0, 0) for k in range(len(half["padding"]))]
        if list(half["padding"]) != wanted:
            return None
    joined, rest = even.operands[0], None
    if joined.opcode == "concatenate" and len(joined.operands) == 2 and joined["dimensions"] == (axis,):
        joined, rest = joined.operands
    first = sliced(joined, axis, SliceDimension(0, 1))
    return None if first is None or first.shape != instruction.shape else Halves(first, rest, odd.operands[0], axis)


def _is_zero(instruction: Instruction) -> bool:
    while instruction.opcode == "convert":
        (instruction,) = instruction.operands
    return is_number(instruction) and not instruction["literal"].any()


def sliced(instruction: Instruction, axis: int, part: SliceDimension) -> Instruction | None:
    """Return the array that an instruction slices along one axis only, or None where it is no such slice."""
    if instruction.opcode != "slice" or instruction["slice"][axis] != part:
        return None
    (source,) = instruction.operands
    wanted = [SliceDimension(0, size) for size in source.array_shape.dimensions]
    wanted[axis] = part
    return source if list(instruction["slice"]) == wanted else None


def is_number(instruction: Instruction) -> bool:
    """Tell whether an instruction is a constant of one element: JAX does not repeat it where one is wanted."""
    return instruction.opcode == "constant" and instruction.array_shape.size == 1
