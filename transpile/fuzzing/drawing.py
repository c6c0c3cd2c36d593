"""The material of recipes: randomly drawn shapes, sizes, positions and called computations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from operator import itemgetter
from random import Random
from typing import Any

from ..dataclass import dataclass
from ..hlo.element_types import ELEMENT_TYPES
from ..hlo.ir import Computation, Instruction
from ..hlo.shapes import ArrayShape, Shape


@dataclass(frozen=True)
class Recipe:
    """An instruction without its result's shape. ``declared`` is that shape if shape inference needs it.

    ``is_rounded`` means that correct results may differ in their last digits, ``needs_distinct`` that the elements of
    the first operand must differ, because XLA resolves ties in no fixed order; ``runs_on_xla`` that XLA on the CPU has
    the operation.
    """

    opcode: str
    operands: tuple[ArrayShape, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    declared: Shape | None = None
    is_rounded: bool = False
    needs_distinct: bool = False
    runs_on_xla: bool = True


def array(element_type: str, *dimensions: int) -> ArrayShape:
    return ArrayShape(ELEMENT_TYPES[element_type], dimensions)


def sizes(random: Random, fewest: int, most: int) -> list[int]:
    """Return a random number of dimension sizes."""
    return [random.choice([1, 2, 3, 3, 4, 5]) for _ in range(random.randint(fewest, most))]


def some(random: Random, items: Sequence[int], chance: float) -> list[int]:
    """Return a random subset of the items, each with probability ``chance``, in order."""
    return [item for item in items if random.random() < chance]


def places(random: Random, count: int, total: int) -> list[int]:
    """Return ``count`` of the positions below ``total``, ascending."""
    return sorted(random.sample(range(total), count))


def placed(order: Sequence[int], values: Sequence[Any]) -> list[Any]:
    """Return the values with ``values[i]`` at position ``order[i]``."""
    return [value for _, value in sorted(zip(order, values, strict=True), key=itemgetter(0))]


# -- called computations


def scalar_function(name: str, element_type: str, opcode: str, **attributes: Any) -> Computation:
    """Return the computation of ``opcode`` on two scalars; ``second`` returns its second parameter."""
    shape = array(element_type)
    parameters = tuple(
        Instruction(letter, "parameter", shape, attributes={"parameter_number": number})
        for number, letter in enumerate("ab")
    )
    if opcode == "second":
        return Computation(name, parameters, parameters[1])
    result = array("pred") if opcode == "compare" else shape
    root = Instruction("c", opcode, result, parameters, attributes)
    return Computation(name, (*parameters, root), root)


def comparator(name: str, element_types: Sequence[str], direction: str) -> Computation:
    """Return the computation that compares the first of several keys and values."""
    parameters = [
        Instruction(f"p{2 * k + side}", "parameter", array(t), attributes={"parameter_number": 2 * k + side})
        for k, t in enumerate(element_types)
        for side in (0, 1)
    ]
    root = Instruction("c", "compare", array("pred"), tuple(parameters[:2]), {"direction": direction})
    return Computation(name, (*parameters, root), root)
