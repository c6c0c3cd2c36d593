"""Special functions that JAX and XLA write out in dozens of instructions and loops become calls of that name again.

They are recognised by what is computed, term by term (:mod:`.terms`), before anything is folded: a text in
``patterns/`` is what is written for the function that it is named after. A new function is a text, a function of the
prelude with its row, and a row of ``SPECIAL_FUNCTIONS``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ...array.graph import Graph
from ...array.rewriting import called
from ...array.support import Support
from ...hlo.custom_calls.special_functions import own_target
from ...hlo.ir import Computation, HloModule, Instruction, callees_first, with_called, with_instructions
from ...hlo.shapes import ArrayShape
from .library import Library, numbers_of
from .terms import NAMED, Reading, Term

Originals = dict[Instruction, tuple[Instruction, ...]]
_RUNNING = frozenset(("call", "fusion", "while", "conditional"))


def special_functions(module: HloModule, supports: Support) -> tuple[HloModule, Originals]:
    """The module with a custom call of ``xla2py.NAME`` in place of each special function that a target supports, and
    what its instructions stand for."""
    library = Library(numbers_of(module))
    naming = _Naming(library, supports)
    named = naming.module(module) if library.patterns else module
    return (named, naming.originals) if naming.calls else (module, {})


class _Naming:
    def __init__(self, library: Library, supports: Support) -> None:
        self.supports = supports
        self.reading = Reading(library.terms, library.named)
        self.originals: Originals = {}
        self.made: dict[Computation, Computation] = {}
        self.calls = 0

    def module(self, module: HloModule) -> HloModule:
        self.reading.measure(module.computations)
        code = _run_as_code(module)
        for computation in module.computations:
            calls = self.calls_in(computation) if computation in code else {}
            self.made[computation] = self.rewritten(computation, calls)
            self.calls += len(calls)
        entry = self.made[module.entry]
        needed = set(callees_first(entry))
        computations = tuple(each for each in self.made.values() if each in needed)
        return replace(module, computations=computations, entry=entry)

    def calls_in(self, computation: Computation) -> dict[Instruction, Instruction]:
        """The custom calls that take the place of instructions of a computation."""
        values = self.reading.values(computation, map(self.reading.leaf, computation.parameters))
        places: dict[tuple[Term, tuple[int, ...]], Instruction] = {}
        calls: dict[Instruction, Instruction] = {}
        for instruction in filter(is_array, computation.instructions):
            term, sizes = values[instruction], instruction.array_shape.dimensions
            if places.setdefault((term, sizes), instruction) is not instruction or term.opcode != NAMED:
                continue
            operands = tuple(places[each, sizes] for each in term.operands if (each, sizes) in places)
            if len(operands) == len(term.operands) and self.is_supported(term.key, operands):
                attributes = {"custom_call_target": own_target(term.key)}
                calls[instruction] = instruction.replace(opcode="custom-call", operands=operands, attributes=attributes)
        return calls

    def is_supported(self, function: str, operands: tuple[Instruction, ...]) -> bool:
        """Tell whether the target has a function for such operands."""
        graph = Graph()
        shapes = (operand.array_shape for operand in operands)
        given = [graph.parameter(each.dimensions, each.element_type, graph.root) for each in shapes]
        return self.supports(called(graph, function, tuple(given), given[-1]))

    def rewritten(self, computation: Computation, calls: dict[Instruction, Instruction]) -> Computation:
        """A computation with calls in place of instructions, and without what only these needed."""
        gone = _gone(computation, calls)
        made: dict[Instruction, Instruction] = {}
        places: dict[Instruction, Instruction] = {}  # what stands for those that are gone, too
        for old in computation.instructions:
            if old in gone:
                continue
            new = calls.get(old, old)
            if new.called or "control-predecessors" in new.attributes:
                attributes = {
                    name: with_called(with_instructions(value, places), self.made.__getitem__)
                    for name, value in new.attributes.items()
                }
                new = new.replace(attributes=attributes)
            made[old] = new.on(tuple(made[operand] for operand in new.operands))
            whole = (old, *(each for each, root in gone.items() if root is old))
            places.update(dict.fromkeys(whole, made[old]))
            self.originals[made[old]] = whole
        return replace(computation, instructions=tuple(made.values()), root=made[computation.root])


def is_array(instruction: Instruction) -> bool:
    """Tell whether an instruction gives one array."""
    return isinstance(instruction.shape, ArrayShape)


def _run_as_code(module: HloModule) -> set[Computation]:
    """The entry, and what loops, branches and calls run: not the reducers of single elements."""
    called = (each for i in module.instructions() if i.opcode in _RUNNING for each in i.called)
    return {module.entry, *called}


def _gone(computation: Computation, calls: dict[Instruction, Instruction]) -> dict[Instruction, Instruction]:
    """The instructions that nobody needs once there are these calls, and in whose place each came."""
    operands = {i: calls.get(i, i).operands for i in computation.instructions}
    users = Counter(operand for given in operands.values() for operand in given)
    users[computation.root] += 1
    gone: dict[Instruction, Instruction] = {}
    for root in calls:
        waiting = list(root.operands)
        while waiting:
            instruction = waiting.pop()
            if users[instruction] or instruction in gone or instruction.opcode == "parameter":
                continue
            gone[instruction] = root
            users.subtract(operands[instruction])
            waiting += operands[instruction]
    return gone
