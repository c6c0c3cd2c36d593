"""Random HLO programs under construction: values with known shape and magnitude, and the text at the end.

Floats hold small integers, and every generator keeps them below :data:`EXACT`. So sums and products are exact in any
order, and results can be compared bit by bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from random import Random

import numpy as np

from ..dataclass import dataclass
from ..hlo.element_types import ELEMENT_TYPES

# Integers up to here are exact in the float types.
EXACT = {"f64": 2.0**50, "f32": 2.0**22, "f16": 2.0**10, "bf16": 2.0**7, "c64": 2.0**20}
MOST_ELEMENTS = 400


@dataclass(frozen=True)
class Value:
    """An array in a computation under construction. ``bound`` is the largest magnitude that its elements may have."""

    name: str
    type: str
    dimensions: tuple[int, ...]
    bound: float

    @property
    def shape(self) -> str:
        return shape_text(self.type, self.dimensions)

    @property
    def size(self) -> int:
        return math.prod(self.dimensions)

    @property
    def rank(self) -> int:
        return len(self.dimensions)


def shape_text(element_type: str, dimensions: Sequence[int]) -> str:
    return f"{element_type}[{','.join(map(str, dimensions))}]"


def braces(numbers: Sequence[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def is_float(element_type: str) -> bool:
    return ELEMENT_TYPES[element_type].is_floating


def is_integer(element_type: str) -> bool:
    return ELEMENT_TYPES[element_type].is_integral


def limits(element_type: str) -> tuple[str, str]:
    """Return the smallest and the largest number of an integer type, as literals."""
    bits = ELEMENT_TYPES[element_type].bits
    low = -(2 ** (bits - 1)) if ELEMENT_TYPES[element_type].is_signed else 0
    return str(low), str(low + 2**bits - 1)


def largest(element_type: str) -> float:
    """Return the largest magnitude that generators allow for values of a type."""
    if element_type in EXACT:
        return EXACT[element_type]
    if element_type == "pred":
        return 1
    bits = ELEMENT_TYPES[element_type].bits
    return float(2 ** (bits - 1) if ELEMENT_TYPES[element_type].is_signed else 2**bits - 1)


class Body:
    """One computation under construction. ``values`` are its arrays so far; ``used`` are the names of those with a
    user.
    """

    def __init__(self, program: ProgramBuilder, name: str) -> None:
        self.program = program
        self.name = name
        self.values: list[Value] = []
        self.used: set[str] = set()
        self._lines: list[str] = []
        self._parameters: list[str] = []
        self._count = 0

    @property
    def random(self) -> Random:
        return self.program.random

    def parameter(self, shape: str) -> str:
        """Declare the next parameter, of any shape, and return its name."""
        name = f"p{len(self._parameters)}"
        self._lines.append(f"{name} = {shape} parameter({len(self._parameters)})")
        self._parameters.append(shape)
        return name

    def array_parameter(self, element_type: str, dimensions: Sequence[int], bound: float) -> Value:
        value = Value(self.parameter(shape_text(element_type, dimensions)), element_type, tuple(dimensions), bound)
        self.values.append(value)
        return value

    def instruction(self, shape: str, opcode: str, operands: Sequence[Value | str], attributes: str = "") -> str:
        """Add an instruction of any shape and return its name."""
        name = f"v{self._count}"
        self._count += 1
        names = [operand if isinstance(operand, str) else operand.name for operand in operands]
        self.used.update(names)
        suffix = f", {attributes}" if attributes else ""
        self._lines.append(f"{name} = {shape} {opcode}({', '.join(names)}){suffix}")
        return name

    def add(
        self,
        opcode: str,
        operands: Sequence[Value | str],
        element_type: str,
        dimensions: Sequence[int],
        bound: float,
        attributes: str = "",
    ) -> Value:
        """Add an instruction that gives an array."""
        dimensions = tuple(dimensions)
        name = self.instruction(shape_text(element_type, dimensions), opcode, operands, attributes)
        value = Value(name, element_type, dimensions, min(bound, largest(element_type)))
        self.values.append(value)
        return value

    def constant(self, element_type: str, literal: str, bound: float, dimensions: Sequence[int] = ()) -> Value:
        name = self.instruction(shape_text(element_type, dimensions), "constant", [literal])
        return Value(name, element_type, tuple(dimensions), bound)

    def small_constant(self, element_type: str, low: int = -3, high: int = 3) -> Value:
        """Add a scalar constant of small magnitude."""
        if element_type == "pred":
            return self.constant("pred", self.random.choice(["true", "false"]), 1)
        if ELEMENT_TYPES[element_type].is_unsigned:
            low = max(low, 0)
        number = self.random.randint(low, high)
        literal = f"({number}, {self.random.randint(low, high)})" if element_type == "c64" else str(number)
        return self.constant(element_type, literal, 2.0 * max(abs(low), abs(high), 1))

    def splat(self, element_type: str, dimensions: Sequence[int]) -> Value:
        """Add a small constant, broadcast."""
        scalar = self.small_constant(element_type)
        if not dimensions:
            return scalar
        return self.add("broadcast", [scalar], element_type, dimensions, scalar.bound, "dimensions={}")

    def pick(self, accepts: Callable[[Value], bool] = lambda value: True) -> Value | None:
        """Return a random accepted value, or None; recent and unused ones are more likely."""
        found = [value for value in self.values if accepts(value)]
        if not found:
            return None
        weights = [(index + 1) * (1 if value.name in self.used else 4) for index, value in enumerate(found)]
        return self.random.choices(found, weights)[0]

    def any_value(self) -> Value:
        """Return a random value of a body that has one."""
        found = self.pick()
        assert found is not None
        return found

    def partner(self, value: Value) -> Value:
        """Return a second operand for an element-wise operation: another value of the same shape, or a constant."""
        same = [v for v in self.values if (v.type, v.dimensions) == (value.type, value.dimensions)]
        return self.random.choice(same) if self.random.random() < 0.7 else self.splat(value.type, value.dimensions)

    def result_shape_and_root(self, results: Sequence[Value | str], shapes: Sequence[str], as_tuple: bool) -> str:
        """Add the root, which is the only result or a tuple of the results, and return its shape."""
        if as_tuple:
            shape = f"({', '.join(shapes)})"
            self.instruction(shape, "tuple", results)
            self._lines[-1] = "ROOT " + self._lines[-1]
            return shape
        name = results[0] if isinstance(results[0], str) else results[0].name
        for index, line in enumerate(self._lines):
            if line.startswith(f"{name} = "):
                self._lines[index] = "ROOT " + line
        return shapes[0]

    def text(self) -> str:
        lines = "\n".join(f"  {line}" for line in self._lines)
        return f"{self.name} {{\n{lines}\n}}\n"


class ProgramBuilder:
    """A program under construction: its helper computations, in order, and its entry."""

    def __init__(self, name: str, random: Random) -> None:
        self.name = name
        self.random = random
        self.numbers = np.random.default_rng(random.getrandbits(32))
        self.inputs: list[np.ndarray] = []
        self._helpers: dict[str, str] = {}
        self.entry = self.body("entry")

    def body(self, name: str) -> Body:
        """Return a new computation; :meth:`finish` must be called before the caller is finished."""
        return Body(self, f"{self.name}_{name}")

    def unique(self, stem: str) -> str:
        return f"{stem}_{len(self._helpers)}"

    def finish(self, body: Body) -> str:
        """Keep a finished computation and return its name."""
        self._helpers[body.name] = body.text()
        return body.name

    def combiner(self, opcode: str, element_type: str) -> str:
        """Return the name of a computation that combines two scalars."""
        return self.helper(
            f"{opcode}_{element_type}",
            f"\n  a = {element_type}[] parameter(0)\n  b = {element_type}[] parameter(1)\n"
            f"  ROOT c = {element_type}[] {opcode}(a, b)\n",
        )

    def helper(self, stem: str, lines: str) -> str:
        """Return the full name of the computation with these lines, which is written once."""
        name = f"{self.name}_{stem}"
        self._helpers.setdefault(name, f"{name} {{{lines}}}\n")
        return name

    def array_input(self, element_type: str, dimensions: Sequence[int], bound: int = 4) -> Value:
        """Add a parameter of the program with small integers as its input."""
        low = 0 if not ELEMENT_TYPES[element_type].is_signed and not is_float(element_type) else -bound
        high = 1 if element_type == "pred" else bound
        numbers = self.numbers.integers(low, high + 1, size=tuple(dimensions))
        self.inputs.append(numbers.astype(ELEMENT_TYPES[element_type].dtype))
        return self.entry.array_parameter(element_type, dimensions, high)

    def build(
        self,
        results: Sequence[Value],
        as_tuple: bool = True,
        rounded: frozenset[int] = frozenset(),
        is_fixed: bool = False,
    ) -> RandomProgram:
        shapes = [value.shape for value in results]
        result_shape = self.entry.result_shape_and_root(results, shapes, as_tuple)
        return RandomProgram(
            self.name,
            "".join(self._helpers.values()),
            self.entry.text(),
            tuple(self.entry._parameters),
            result_shape,
            self.inputs,
            rounded,
            frozenset(range(len(self.inputs))) if is_fixed else frozenset(),
        )


@dataclass(frozen=True)
class RandomProgram:
    """A finished program and its inputs.

    ``rounded`` are the results that may differ in their last digits; all others must be equal to the last bit.
    ``fixed`` are the parameters that must have these inputs, ``campaign`` is the kind of the others. ``runs_on_xla`` is
    false if XLA on the CPU lacks an operation.
    """

    name: str
    helpers: str
    entry: str
    parameter_shapes: tuple[str, ...]
    result_shape: str
    inputs: list[np.ndarray] = field(repr=False)
    rounded: frozenset[int] = frozenset()
    fixed: frozenset[int] = frozenset()
    runs_on_xla: bool = True
    campaign: str = "ordinary"

    @property
    def result_count(self) -> int:
        """The number of arrays in the result, which is not nested."""
        return self.result_shape.count("[")

    @property
    def text(self) -> str:
        """The program as a module."""
        return f"HloModule {self.name}\n\n{self.helpers}ENTRY {self.entry}"


def batch_text(programs: Sequence[RandomProgram]) -> str:
    """Return one module that runs all programs, whose names must differ, with their parameters one after the other.

    It returns their results in order as one tuple.
    """
    bodies = "".join(program.helpers + program.entry for program in programs)
    lines, results, number = [], [], 0
    for index, program in enumerate(programs):
        names = [f"p{number + k}" for k in range(len(program.parameter_shapes))]
        lines += [
            f"{name} = {shape} parameter({number + k})"
            for k, (name, shape) in enumerate(zip(names, program.parameter_shapes, strict=True))
        ]
        number += len(names)
        entry = program.entry.split(" ", 1)[0]
        lines.append(f"r{index} = {program.result_shape} call({', '.join(names)}), to_apply={entry}")
        results.append(f"r{index}")
    shapes = ", ".join(program.result_shape for program in programs)
    lines.append(f"ROOT all = ({shapes}) tuple({', '.join(results)})")
    text = "\n".join(f"  {line}" for line in lines)
    return f"HloModule batch\n\n{bodies}ENTRY main {{\n{text}\n}}\n"
