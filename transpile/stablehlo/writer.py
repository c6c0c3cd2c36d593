"""One computation of HLO while its operations are translated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from types import MappingProxyType
from typing import Any

import numpy as np

from ..hlo.element_types import ElementType
from ..hlo.ir import Computation, Instruction, OpMetadata, callees_first
from ..hlo.opcodes import OPCODES
from ..hlo.shapes import ArrayShape, Layout, Shape, TupleShape
from ..hlo.source import Span
from .program import Value

_NONE: Mapping[str, Any] = MappingProxyType({})
_MOST_COMPARED = 4096  # elements of constants that are compared
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.\-]")


class Names:
    """Names of instructions of a whole module: a stem and a number."""

    def __init__(self) -> None:
        self._numbered: dict[str, Iterator[str]] = {}  # by what comes before the number
        self._known: dict[str, Iterator[str]] = {}  # by stems
        self.callees: dict[Computation, list[Computation]] = {}  # in the order of the program

    def fresh(self, stem: str) -> str:
        """A name that nothing has yet; what HLO does not allow in it is an underscore."""
        known = self._known.get(stem)
        if known is None:
            cleaned = _NOT_IN_NAMES.sub("_", stem)
            cleaned = cleaned if cleaned[:1].isalpha() or cleaned[:1] == "_" else f"_{cleaned}"
            known = self._known[stem] = self._numbered.setdefault(cleaned, numbered(cleaned))
        return next(known)


def numbered(stem: str) -> Iterator[str]:
    """The names of a stem."""
    for number in count(1):
        yield f"{stem}.{number}"


class Writer:
    """Adds instructions. ``metadata`` and ``span`` are those of the operation that is translated."""

    def __init__(self, names: Names, values: dict[Value, Instruction]) -> None:
        self.names = names
        self.values = values
        self.instructions: list[Instruction] = []
        self.constants: dict[Any, Instruction] = {}
        self.needed: set[Instruction] = set()  # constants that stay, though nothing here takes them
        self.metadata: OpMetadata | None = None
        self.span: Span | None = None

    def add(
        self,
        opcode: str,
        shape: Shape,
        operands: Sequence[Instruction] = (),
        attributes: Mapping[str, Any] = _NONE,
        *,
        stem: str = "",
        metadata: OpMetadata | None = None,
    ) -> Instruction:
        """A new instruction, which comes from the operation at hand unless other metadata are given."""
        own = metadata or self.metadata
        stem = stem or (own.op_name.rpartition("/")[2] if own is not None and own.op_name else opcode)
        name = self.names.fresh(stem)
        made = Instruction(name, opcode, shape, tuple(operands), attributes, own, self.span)
        self.instructions.append(made)
        return made

    def parameter(self, number: int, shape: Shape, stem: str, metadata: OpMetadata | None, span: Span) -> Instruction:
        """A parameter."""
        name = self.names.fresh(stem)
        made = Instruction(name, "parameter", shape, (), {"parameter_number": number}, metadata, span)
        self.instructions.append(made)
        return made

    def marked(self, last: Instruction, attributes: Mapping[str, Any]) -> Instruction:
        """The last instruction with more attributes."""
        self.instructions[-1] = made = last.replace(attributes={**last.attributes, **attributes})
        return made

    def constant(self, value: Any, shape: ArrayShape) -> Instruction:
        """An array of numbers, once a computation; one number is repeated."""
        array = np.asarray(value)
        if array.size > 1 and not any(array.strides):
            return self.repeated(array[(0,) * array.ndim], shape)
        key = (shape.element_type.name, array.shape, array.tobytes() if array.size <= _MOST_COMPARED else id(value))
        made = self.constants.get(key)
        if made is None:
            made = self.constants[key] = self._literal(array, shape)
        return made

    def repeated(self, number: Any, shape: ArrayShape) -> Instruction:
        """A number everywhere, once a computation."""
        key = (shape.element_type.name, shape.dimensions, number.tobytes(), "everywhere")
        made = self.constants.get(key)
        if made is None:
            made = self._literal(number, ArrayShape(shape.element_type, ()))
            made = self.unmarked("broadcast", shape, (made,), {"dimensions": ()}) if shape.rank else made
            self.constants[key] = made
        return made

    def _literal(self, value: Any, shape: ArrayShape) -> Instruction:
        array = np.asarray(value, order="C")
        array.setflags(write=False)
        return self.unmarked("constant", shape, (), {"literal": array})

    def unmarked(
        self, opcode: str, shape: Shape, operands: tuple[Instruction, ...], attributes: dict[str, Any]
    ) -> Instruction:
        """An instruction that says nothing of where it comes from."""
        made = Instruction(self.names.fresh(opcode), opcode, shape, operands, attributes, None, self.span)
        self.instructions.append(made)
        return made

    def number(self, value: Any, element_type: ElementType) -> Instruction:
        """One number."""
        return self.constant(np.array(value, element_type.dtype), ArrayShape(element_type, ()))

    def broadcast(self, operand: Instruction, shape: ArrayShape, dimensions: Sequence[int]) -> Instruction:
        """XLA's ``BroadcastInDim``: the operand's dimensions become those of the result, sizes of 1 are repeated."""
        sizes = list(shape.dimensions)
        for size, dimension in zip(operand.array_shape.dimensions, dimensions, strict=True):
            sizes[dimension] = size
        placed = array_of(shape.element_type, sizes)
        made = operand
        is_same = placed.dimensions == shape.dimensions == operand.array_shape.dimensions
        if not is_same or tuple(dimensions) != tuple(range(len(sizes))):
            made = self.add("broadcast", placed, (operand,), {"dimensions": tuple(dimensions)})
        if placed.dimensions == shape.dimensions:
            return made
        kept = [d for d, size in enumerate(sizes) if size == shape.dimensions[d]]
        narrow = self.add("reshape", array_of(shape.element_type, [sizes[d] for d in kept]), (made,))
        return self.add("broadcast", shape, (narrow,), {"dimensions": tuple(kept)})

    def tuple(self, parts: Sequence[Instruction], *, is_marked: bool = False) -> Instruction:
        """A tuple of values."""
        shape = TupleShape(tuple([part.shape for part in parts]))
        if is_marked:
            return self.add("tuple", shape, parts)
        return self.unmarked("tuple", shape, tuple(parts), {})

    def elements(
        self, whole: Instruction, count: int, *, is_marked: bool = True, attributes: Mapping[str, Any] = _NONE
    ) -> list[Instruction]:
        """The elements of a tuple."""
        make, operands = self.add if is_marked else self.unmarked, (whole,)
        return [
            make("get-tuple-element", shape, operands, {"index": k, **attributes} if attributes else {"index": k})
            for k, shape in enumerate(whole.element_shapes[:count])
        ]

    def computation(self, name: str, root: Instruction, span: Span | None) -> Computation:
        """The finished computation, its instructions in XLA's order of printing."""
        ends = self._ends(root)
        unused = _constants(ends)
        if unused:  # MLIR has constants before all else, the last one first
            first = sum(each.opcode == "parameter" for each in ends)
            ends[first:first] = unused[::-1]
        made = Computation(self.names.fresh(name), tuple(post_order(ends)), root, span=span)
        called = [_called(each) for each in self.instructions if each.opcode in _CALLERS]
        self.names.callees[made] = list(chain.from_iterable(called)) if called else []
        return made

    def _ends(self, root: Instruction) -> list[Instruction]:
        """The instructions that are no operands. Constants that only computations inside this one need are taken away:
        these have their own.
        """
        used = set(chain.from_iterable([each.operands for each in self.instructions]))
        ends = [each for each in self.instructions if each not in used]
        stays = self.needed | {root}
        if stays.issuperset(_constants(ends)):
            return ends
        unneeded = set(_constants(self.instructions)) - stays
        used, ends = set(), []
        for each in reversed(self.instructions):
            if each in used:
                used.update(each.operands)
            elif each not in unneeded:
                ends.append(each)
                used.update(each.operands)
        return ends[::-1]


def _constants(instructions: Sequence[Instruction]) -> list[Instruction]:
    return [each for each in instructions if each.opcode in _CONSTANTS and each.metadata is None]


_CONSTANTS = frozenset(("constant", "broadcast"))
_CALLERS = frozenset(name for name, row in OPCODES.items() if row.calls)


def array_of(element_type: ElementType, sizes: Iterable[int]) -> ArrayShape:
    """An array in the plain layout."""
    dimensions = tuple(sizes)
    return ArrayShape(element_type, dimensions, (), Layout.default(len(dimensions)) if dimensions else None)


def post_order(ends: Iterable[Instruction]) -> list[Instruction]:
    """Operands before what they are for, from each end in turn, as XLA prints a computation."""
    done: dict[Instruction, None] = {}
    for end in ends:
        waiting = [(end, iter(end.operands))]
        while waiting:
            each, operands = waiting[-1]
            for operand in operands:
                if operand not in done:
                    if operand.operands:
                        waiting.append((operand, iter(operand.operands)))
                        break
                    done[operand] = None
            else:
                done[each] = None
                waiting.pop()
    return list(done)


def in_order(entry: Computation, callees: Mapping[Computation, list[Computation]]) -> tuple[Computation, ...]:
    """The entry and all that it reaches, callees first, in the order in which the program calls them."""
    return tuple(callees_first(entry, called=callees.__getitem__))


def _called(instruction: Instruction) -> tuple[Computation, ...]:
    """What an instruction calls; of a loop the body comes first."""
    called = instruction.called
    return called[::-1] if instruction.opcode == "while" else called
