"""Special functions that JAX and XLA write out in dozens of instructions and loops become calls of that name again.

They are recognised by what is computed, term by term (:mod:`.reading`), before anything is folded: a text in
``patterns/`` is what is written for the function that it is named after. A new function is a text, a function of the
prelude with its row, and a row of ``SPECIAL_FUNCTIONS``. Associative scans have a form (:mod:`.scans`).
"""

from __future__ import annotations

from dataclasses import replace

from ...array.graph import Graph
from ...array.rewriting import called
from ...array.support import Support
from ...hlo.custom_calls.special_functions import IN_WIDER, own_target
from ...hlo.element_types import ELEMENT_TYPES
from ...hlo.ir import Computation, HloModule, Instruction
from ...hlo.shapes import ArrayShape
from .library import Library, numbers_of
from .reading import Reading
from .rewriting import Calls, Originals, with_calls
from .scans import scan_calls
from .terms import NAMED, Term

_RUNNING = frozenset(("call", "fusion", "while", "conditional"))


def special_functions(module: HloModule, supports: Support, *, of_elements: bool = True) -> tuple[HloModule, Originals]:
    """The module with a custom call of ``xla2py.NAME`` in place of each special function that a target supports, and
    what its instructions stand for. Functions ``of_elements`` can be left written out."""
    calls = {each: scan_calls(each, supports, of_elements=of_elements) for each in _run_as_code(module)}
    library = Library.of_numbers(numbers_of(module)) if of_elements else None
    if library is not None and library.patterns:
        naming = _Naming(library, supports, module)
        for each in calls:
            calls[each] = naming.calls_in(each) | calls[each]
    return with_calls(module, calls) if any(calls.values()) else (module, {})


class _Naming:
    def __init__(self, library: Library, supports: Support, module: HloModule) -> None:
        self.supports = supports
        self.reading = Reading(library.terms, library.named)
        self.reading.measure(module.computations)

    def calls_in(self, computation: Computation) -> Calls:
        """The custom calls that take the place of instructions of a computation."""
        values = self.reading.values(computation, map(self.reading.leaf, computation.parameters))
        places: dict[tuple[Term, tuple[int, ...]], Instruction] = {}
        calls: Calls = {}
        for instruction in filter(is_array, computation.instructions):
            term, sizes = values[instruction], instruction.array_shape.dimensions
            places.setdefault((term, sizes), instruction)
            if term.opcode != NAMED:
                continue
            for k, number in enumerate(term.operands):
                if number.opcode == "constant":
                    places.setdefault((number, sizes), _repeated(number, instruction, f"{instruction.name}.{k}"))
            operands = tuple(places[each, sizes] for each in term.operands if (each, sizes) in places)
            if len(operands) == len(term.operands) and self.is_supported(term.key, operands):
                attributes = {"custom_call_target": own_target(term.key)}
                calls[instruction] = instruction.replace(opcode="custom-call", operands=operands, attributes=attributes)
        return calls

    def is_supported(self, function: str, operands: tuple[Instruction, ...]) -> bool:
        """Tell whether the target has a function for such operands."""
        graph = Graph()
        own, wider = IN_WIDER.get(function, (function, None))
        shapes = [operand.array_shape for operand in operands]
        given = [graph.parameter(each.dimensions, wider or each.element_type, graph.root) for each in shapes]
        return self.supports(called(graph, own, tuple(given), given[-1]))


def _repeated(number: Term, like: Instruction, name: str) -> Instruction:
    """A number for each element of a function's result."""
    shape = replace(like.array_shape, element_type=ELEMENT_TYPES[number.element_type])
    constant = Instruction(name, "constant", ArrayShape(shape.element_type, ()), attributes={"literal": number.value})
    if not shape.rank:
        return constant
    return Instruction(f"{name}.repeated", "broadcast", shape, (constant,), attributes={"dimensions": ()})


def is_array(instruction: Instruction) -> bool:
    """Tell whether an instruction gives one array."""
    return isinstance(instruction.shape, ArrayShape)


def _run_as_code(module: HloModule) -> list[Computation]:
    """The entry, and what loops, branches and calls run: not the reducers of single elements."""
    called = {each for i in module.instructions() if i.opcode in _RUNNING for each in i.called}
    return [each for each in module.computations if each is module.entry or each in called]
