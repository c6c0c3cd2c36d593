"""Arrays of one number in associative scans: JAX writes the number of each level, which is that of the last level
combined with itself, in place of the array. ``0.9, 0.81, 0.6561`` are factors, ``1, 2, 4`` are counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...hlo.ir import Instruction
from ...hlo.shapes import ArrayShape
from ..constants.folding import fold

Key = tuple[str, bytes]  # a number: its type and its bits
Numbers = Mapping[Key, Instruction]  # by a number of one level: what stands in its place in the next

_OPCODES = ("multiply", "add")


class GrowingNumber(NamedTuple):
    """A number that is another one at each level, the opcode that combines two of it, and the shape of its array."""

    number: Instruction
    opcode: str
    dimensions: tuple[int, ...]

    def array(self) -> Instruction:
        """The array that the number stands for in the outermost level."""
        element_type = self.number.array_shape.element_type
        literal = {"literal": self.number["literal"].reshape(())}
        number = Instruction("number", "constant", ArrayShape(element_type, ()), attributes=literal)
        shape = ArrayShape(element_type, self.dimensions)
        return Instruction("filled", "broadcast", shape, (number,), {"dimensions": ()})


def key_of(number: Instruction) -> Key:
    """The type and the bits of a number."""
    return str(number.array_shape.element_type), number["literal"].tobytes()


def growing_numbers(levels: Sequence[Numbers], dimensions: tuple[int, ...]) -> dict[Key, GrowingNumber] | None:
    """The numbers of the outermost level that others stand for in later levels; None where one follows no rule."""
    found: dict[Key, GrowingNumber] = {}
    for key in levels[0]:
        chain = list(_chain(levels, key))
        if all(key_of(number) == key for number in chain):
            continue
        opcode = next((opcode for opcode in _OPCODES if _follows(chain, key, opcode)), None)
        if opcode is None:
            return None
        first = chain[0]
        number = first.replace(attributes={"literal": _array(first, key)})
        found[key] = GrowingNumber(number, opcode, dimensions)
    return found


def _array(number: Instruction, key: Key) -> np.ndarray:
    return np.frombuffer(key[1], number.array_shape.element_type.dtype).reshape(())


def _chain(levels: Sequence[Numbers], key: Key) -> list[Instruction]:
    """What stands for a number of the outermost level in each of the next ones."""
    chain: list[Instruction] = []
    for numbers in levels:
        if key not in numbers:
            break
        chain.append(numbers[key])
        key = key_of(chain[-1])
    return chain


def _follows(chain: Sequence[Instruction], key: Key, opcode: str) -> bool:
    """Tell whether each number is the last one combined with itself."""
    for number in chain:
        last, element_type = _array(number, key), number.array_shape.element_type
        wanted = fold(opcode, [last, last], element_type, {})
        if wanted is None or wanted.tobytes() != key_of(number)[1]:
            return False
        key = key_of(number)
    return True
