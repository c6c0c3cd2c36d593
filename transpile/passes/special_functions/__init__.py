"""Raises special functions that JAX and XLA write out in dozens of instructions and loops to calls.

They are recognised by their computation, term by term (:mod:`.reading`), before anything is folded. A text in
``patterns/`` is the HLO of the function in its name, or of an opcode on complex numbers, in one type; the rows of
constants in its head are those of other types. A new function needs a text, a prelude function with its row, and a row
of ``SPECIAL_FUNCTIONS``. Associative scans are recognised by their form (:mod:`.scans`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ...array.graph import Graph
from ...array.node import Node
from ...array.rewriting import called
from ...array.support import Support
from ...hlo.custom_calls.special_functions import IN_WIDER, own_target
from ...hlo.element_types import ELEMENT_TYPES, ElementType
from ...hlo.ir import Computation, HloModule, Instruction
from ...hlo.opcodes import OPCODES
from ...hlo.shapes import ArrayShape
from ..to_array.variants import Site, prelude_function
from .folding import folded
from .library import Library
from .reading import Reading
from .rewriting import Calls, Originals, with_calls
from .scans import scan_calls
from .terms import COMPLEX_OF, NAMED, PARTS, Term, Terms

Places = dict[tuple[Term, tuple[int, ...]], Instruction]  # the instruction of a term for given sizes
_RUNNING = frozenset(("call", "fusion", "while", "conditional"))


def special_functions(
    module: HloModule, supports: Support, fuses: Callable[[Node], bool] | None = None
) -> tuple[HloModule, Originals]:
    """Return the module with a custom call of ``xla2py.NAME`` in place of each special function that a target supports,
    and the originals of its instructions. If there are kernels, only functions that these support (``fuses``) are
    raised.
    """
    calls = {each: scan_calls(each, supports, of_elements=fuses is None) for each in _run_as_code(module)}
    library = Library.of_module(module)
    if library.patterns:
        naming = _Naming(library, supports, fuses or (lambda node: True), module)
        for each in calls:
            calls[each] = naming.calls_in(each) | calls[each]
    return with_calls(module, calls) if any(calls.values()) else (module, {})


class _Naming:
    def __init__(self, library: Library, supports: Support, fuses: Callable[[Node], bool], module: HloModule) -> None:
        self.supports, self.fuses = supports, fuses
        self.reading = Reading(library.terms, library.named)
        self.reading.measure(module.computations)

    def calls_in(self, computation: Computation) -> Calls:
        """Return the custom calls that replace instructions of a computation."""
        values = self.reading.values(computation, map(self.reading.leaf, computation.parameters))
        places: Places = {}
        calls: Calls = {}
        for instruction in filter(is_array, computation.instructions):
            term, sizes = values[instruction], instruction.array_shape.dimensions
            places.setdefault((term, sizes), instruction)
            if (call := self._call(term, instruction, places)) is not None:
                calls[instruction] = call
        return calls

    def _call(self, term: Term, like: Instruction, places: Places) -> Instruction | None:
        """Return the call of a special function, or the part of one, that replaces an instruction; or None."""
        if term.opcode in PARTS and like.opcode not in PARTS and term.operands[0].opcode == NAMED:
            shape = replace(like.array_shape, element_type=ELEMENT_TYPES[term.operands[0].element_type])
            whole = self._operand(term.operands[0], like.replace(name=f"{like.name}.whole", shape=shape), places)
            return None if whole is None else like.replace(opcode=term.opcode, operands=(whole,), attributes={})
        if term.opcode != NAMED:
            return None
        term = _of_whole_number(self.reading.terms, term)
        operands = tuple(self._operand(each, like, places, k) for k, each in enumerate(term.operands))
        known = tuple(each for each in operands if each is not None)
        if len(known) < len(operands):
            return None
        if term.key in OPCODES:
            is_known = self.fuses(_operation(term.key, known))
            return like.replace(opcode=term.key, operands=known, attributes={}) if is_known else None
        attributes = {"custom_call_target": own_target(term.key)}
        made = _function(term.key, known)
        is_known = self.supports(made) and self.fuses(made)
        return like.replace(opcode="custom-call", operands=known, attributes=attributes) if is_known else None

    def _operand(self, term: Term, like: Instruction, places: Places, k: int = 0) -> Instruction | None:
        """Return the instruction of a term, or None. Numbers, and complex values with known parts, are made if
        needed.
        """
        place = term, like.array_shape.dimensions
        if place in places:
            return places[place]
        made: Instruction | None = None
        if term.opcode == "constant":
            literal = {"literal": term.value}
            number = Instruction(f"{like.name}.{k}", "constant", _number_of(term), attributes=literal)
            made = _repeated(number, like)
        elif (term, ()) in places:
            made = _repeated(places[term, ()], like)
        elif term.opcode == NAMED:
            made = self._call(term, like, places)
        elif term.opcode == "complex":
            parts = tuple(self._operand(part, like, places, k) for part in term.operands)
            shape = replace(like.array_shape, element_type=ELEMENT_TYPES[term.element_type])
            known = tuple(part for part in parts if part is not None)
            made = Instruction(f"{like.name}.joined", "complex", shape, known) if len(known) == 2 else None
        if made is not None:
            places[place] = made
        return made


def _function(name: str, operands: Iterable[Instruction]) -> Node:
    """Return the node of a special function on such operands."""
    graph = Graph()
    own, wider = IN_WIDER.get(name, (name, None))
    given = _parameters(graph, operands, wider)
    return called(graph, own, given, given[-1])


def _operation(opcode: str, operands: Iterable[Instruction]) -> Node:
    """Return the node of an element-wise operation on such operands, as it will be lowered."""
    graph = Graph()
    given = _parameters(graph, operands)
    types = tuple(node.type for node in given)
    form = prelude_function(opcode, Site(given, types, types[0], {}))
    return graph.add(opcode, given) if form is None else called(graph, form["function"], given, given[0])


def _parameters(graph: Graph, operands: Iterable[Instruction], wider: ElementType | None = None) -> tuple[Node, ...]:
    shapes = (operand.array_shape for operand in operands)
    return tuple(graph.parameter(each.dimensions, wider or each.element_type, graph.root) for each in shapes)


def _of_whole_number(terms: Terms, term: Term) -> Term:
    """Return ``abs`` of a complex number for ``np.hypot`` of its parts, or the term itself."""
    if term.key != "np.hypot" or (kind := COMPLEX_OF.get(term.element_type)) is None:
        return term
    whole = folded(terms, "complex", kind, (), term.operands)
    return term if whole.opcode == "complex" else terms.make(NAMED, term.element_type, "abs", (whole,))


def _number_of(term: Term) -> ArrayShape:
    return ArrayShape(ELEMENT_TYPES[term.element_type], ())


def _repeated(number: Instruction, like: Instruction) -> Instruction:
    """Return a number, broadcast to the shape of a function's result."""
    shape = replace(like.array_shape, element_type=number.array_shape.element_type)
    if not shape.rank:
        return number
    return Instruction(
        f"{like.name}.{number.name}.repeated", "broadcast", shape, (number,), attributes={"dimensions": ()}
    )


def is_array(instruction: Instruction) -> bool:
    """Return whether the value of an instruction is an array."""
    return isinstance(instruction.shape, ArrayShape)


def _run_as_code(module: HloModule) -> list[Computation]:
    """Return the entry and the computations of loops, branches and calls, without reducers."""
    called = {each for i in module.instructions() if i.opcode in _RUNNING for each in i.called}
    return [each for each in module.computations if each is module.entry or each in called]
