"""A case: a program as its root instruction, with its arguments, which is easy to cut and to turn into a module again.

Instructions are immutable and know their operands, so the root determines the whole entry computation. An edit gives a
new root that shares all unchanged instructions; instructions that the root does not need disappear.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...dataclass import dataclass
from ...hlo.carriers import Array
from ...hlo.ir import Computation, HloModule, Instruction
from ...hlo.shapes import ArrayShape, Shape, TupleShape, leaves
from ...walks import operands_first

Leaves = tuple[Array, ...]

_KEPT_HEADER = ("replica_count", "num_partitions")


@dataclass(frozen=True, slots=True)
class Case:
    """A program and its arguments: for each parameter instruction the arrays of its leaves, in order."""

    root: Instruction
    arguments: Mapping[Instruction, Leaves]
    like: HloModule  # the source of the name, the header and the stack frames

    @staticmethod
    def of(module: HloModule, inputs: Iterable[Array]) -> Case:
        """Return the case of a module; ``inputs`` are the flattened arguments."""
        rest = iter(inputs)
        arguments = {p: tuple(next(rest) for _ in array_leaves(p.shape)) for p in module.entry.parameters}
        return Case(module.entry.root, arguments, module)

    def with_root(self, root: Instruction, arguments: Mapping[Instruction, Leaves] | None = None) -> Case:
        """Return the case of another root; ``arguments`` of new parameters are added."""
        return replace(self, root=root, arguments={**self.arguments, **(arguments or {})})

    def module(self) -> HloModule:
        """Return a module with only the parameters that the root needs, renumbered."""
        return module_of(self.root, self._parameters(), self.like.name, kept_header(self.like), self.like)

    def inputs(self) -> list[Array]:
        """Return the flattened arguments of :meth:`module`."""
        return [array for parameter in self._parameters() for array in self.arguments[parameter]]

    def _parameters(self) -> list[Instruction]:
        needed = {instruction for instruction in ordered(self.root) if instruction.opcode == "parameter"}
        return [parameter for parameter in self.arguments if parameter in needed]


def array_leaves(shape: Shape) -> list[ArrayShape]:
    """Return the arrays of a shape, in order."""
    return [leaf for _, leaf in leaves(shape) if isinstance(leaf, ArrayShape)]


def ordered(*roots: Instruction) -> list[Instruction]:
    """Return the instructions that the roots need in topological order, operands first."""
    return operands_first(roots, lambda instruction: instruction.operands)


def substituted(root: Instruction, changes: Mapping[Instruction, Instruction]) -> Instruction:
    """Return the root with some instructions replaced, and all their users rebuilt."""
    made: dict[Instruction, Instruction] = {}
    for instruction in ordered(root):
        change = changes.get(instruction)
        operands = tuple(made[operand] for operand in instruction.operands)
        if change is not None:
            made[instruction] = change
        elif operands != instruction.operands:
            made[instruction] = instruction.replace(operands=operands)
        else:
            made[instruction] = instruction
    return made[root]


def tree_of(shape: Shape, parts: Iterator[Instruction], name: str) -> Instruction:
    """Return the value of a shape with these arrays as its leaves, in order."""
    if isinstance(shape, TupleShape):
        return as_tuple([tree_of(element, parts, name) for element in shape.elements], name)
    return next(parts)


def kept_header(module: HloModule) -> dict[str, Any]:
    """Return the entries of a module's header that a part of the module needs."""
    return {key: module.header[key] for key in _KEPT_HEADER if key in module.header}


def inlined(computation: Computation, arguments: Iterable[Instruction]) -> Instruction:
    """Return the root of a computation with its parameters replaced by ``arguments``."""
    return substituted(computation.root, dict(zip(computation.parameters, arguments, strict=True)))


def new_parameter(name: str, shape: Shape) -> Instruction:
    """Return a parameter; it gets its number when a module is made."""
    return Instruction(name, "parameter", shape, (), {"parameter_number": 0})


def as_tuple(parts: Iterable[Instruction], name: str = "results") -> Instruction:
    """Return the tuple of some instructions."""
    operands = tuple(parts)
    return Instruction(name, "tuple", TupleShape(tuple(part.shape for part in operands)), operands)


def flat(instruction: Instruction) -> list[Instruction]:
    """Return the arrays of an instruction's value: the instruction, or the ``get-tuple-element`` instructions of its
    leaves.
    """
    if not isinstance(instruction.shape, TupleShape):
        return [instruction] if isinstance(instruction.shape, ArrayShape) else []
    found = []
    for index, shape in enumerate(instruction.shape.elements):
        part = Instruction(f"{instruction.name}.{index}", "get-tuple-element", shape, (instruction,), {"index": index})
        found += flat(part)
    return found


def module_of(
    root: Instruction,
    parameters: Iterable[Instruction],
    name: str,
    header: Mapping[str, Any] | None = None,
    like: HloModule | None = None,
) -> HloModule:
    """Return a module whose entry has this root and these parameters; instructions of equal names are renamed."""
    given = list(parameters)
    renumbered = {p: p.replace(attributes={"parameter_number": number}) for number, p in enumerate(given)}
    body = ordered(*renumbered.values(), substituted(root, renumbered))
    computations: dict[Computation, None] = {}
    for instruction in body:
        _add_called(instruction, computations)
    entry_name = _free("main", {computation.name for computation in computations})
    new_root = renumbered.get(root, body[-1])
    entry = _uniquely_named(Computation(entry_name, tuple(body), new_root))
    frames = like.stack_frames if like is not None else ()
    sources = like.sources if like is not None else {}
    return HloModule(name, (*computations, entry), entry, header or {}, frames, sources)


def _add_called(instruction: Instruction, found: dict[Computation, None]) -> None:
    """Add the computations that an instruction calls, callees first. Recursion is fine: HLO nests only a few levels
    deep.
    """
    for computation in instruction.called:
        if computation not in found:
            for inner in computation.instructions:
                _add_called(inner, found)
            found[computation] = None


def _free(name: str, taken: set[str]) -> str:
    """Return the name, or the first of ``name.2``, ``name.3``, .. that is not taken."""
    candidates = (name, *(f"{name}.{number}" for number in range(2, len(taken) + 3)))
    return next(candidate for candidate in candidates if candidate not in taken)


def _uniquely_named(computation: Computation) -> Computation:
    names = {instruction.name for instruction in computation.instructions}
    if len(names) == len(computation.instructions):
        return computation
    used: set[str] = set()
    renamed: dict[Instruction, Instruction] = {}
    for instruction in computation.instructions:
        name = _free(instruction.name, names) if instruction.name in used else instruction.name
        used.add(name)
        names.add(name)
        operands = tuple(renamed[operand] for operand in instruction.operands)
        renamed[instruction] = instruction.replace(name=name, operands=operands)
    return replace(computation, instructions=tuple(renamed.values()), root=renamed[computation.root])
