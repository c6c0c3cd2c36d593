"""The typed, immutable form of an HLO module.

An :class:`Instruction` refers to its operands and called computations as objects, so a module is a graph without names
to resolve. Attribute values have the types of :mod:`.attributes`, under HLO's own attribute names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain, count
from types import MappingProxyType
from typing import Any

from ..dataclass import dataclass
from ..walks import operands_first
from .shapes import ArrayShape, Shape, TupleShape
from .source import Diagnostic, SourceText, Span

# A pytree of dicts, lists, tuples and objects (:class:`Built`); its leaves are the numbers of results, or None.
ResultTree = Any

_NOT_IN_NAMES = re.compile(r"[^\w.\-]", re.ASCII)
_EMPTY: Mapping[str, Any] = MappingProxyType({})
_OF_OTHER_SHAPES = ("entry_computation_layout", "input_output_alias", "buffer_donor")


def _empty() -> Mapping[str, Any]:
    return _EMPTY


@dataclass(frozen=True, slots=True)
class OpMetadata:
    """The origin of an instruction: JAX's primitive, name stack and Python source line."""

    op_type: str = ""
    op_name: str = ""
    source_file: str = ""
    source_line: int = 0
    source_end_line: int = 0
    source_column: int = 0
    source_end_column: int = 0
    stack_frame_id: int = 0
    extra: tuple[tuple[str, str], ...] = ()  # deduplicated_name, scheduling_name, profile_type.. as read
    __setattr__ = object.__setattr__


@dataclass(frozen=True, slots=True)
class StackFrame:
    """One Python frame of the header's stack tables, resolved to names. ``parent`` is a frame id, 0 for none."""

    file_name: str
    function_name: str
    line: int
    end_line: int
    column: int
    end_column: int
    parent: int

    @property
    def place(self) -> tuple[str, int, int]:
        """The file, line and column of the begin of the call."""
        return self.file_name, self.line, self.column

    def located(self, metadata: OpMetadata) -> OpMetadata:
        """Return the metadata with the place of the call."""
        return replace(
            metadata,
            source_file=self.file_name,
            source_line=self.line,
            source_end_line=self.end_line,
            source_column=self.column,
            source_end_column=self.end_column,
        )


@dataclass(frozen=True, eq=False, slots=True)
class Instruction:
    """One HLO instruction. Compared by identity."""

    name: str
    opcode: str
    shape: Shape
    operands: tuple[Instruction, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=_empty)
    metadata: OpMetadata | None = None
    span: Span | None = field(default=None, repr=False)
    __setattr__ = object.__setattr__

    def __getitem__(self, attribute: str) -> Any:
        """Return the value of an attribute, by default its OpSpec's default. Raises ``KeyError`` if there is none."""
        value = self.attributes.get(attribute)
        if value is not None:
            return value
        from .opcodes import OPCODES

        return OPCODES[self.opcode].attributes[attribute].default_value(attribute, self.opcode)

    @property
    def array_shape(self) -> ArrayShape:
        """The shape of an instruction whose result is an array."""
        assert isinstance(self.shape, ArrayShape), f"{self.name} is not an array: {self.shape}"
        return self.shape

    @property
    def element_shapes(self) -> tuple[Shape, ...]:
        """The shapes of the results: the elements of a tuple, or the one array."""
        return self.shape.elements if isinstance(self.shape, TupleShape) else (self.shape,)

    @property
    def called(self) -> tuple[Computation, ...]:
        """The computations that this instruction calls, in attribute order."""
        found: list[Computation] = []
        for value in self.attributes.values():
            if isinstance(value, Computation):
                found.append(value)
            elif isinstance(value, tuple) and value and isinstance(value[0], Computation):
                found.extend(value)
        return tuple(found)

    def replace(self, **changes: Any) -> Instruction:
        return replace(self, **changes)

    def on(self, operands: tuple[Instruction, ...]) -> Instruction:
        """Return the same instruction on other operands."""
        return Instruction(self.name, self.opcode, self.shape, operands, self.attributes, self.metadata, self.span)

    def __repr__(self) -> str:
        operands = ", ".join(operand.name for operand in self.operands)
        return f"<{self.name} = {self.shape} {self.opcode}({operands})>"


def with_called(value: Any, exchange: Callable[[Computation], Computation]) -> Any:
    """Return the value of an attribute with ``exchange`` applied to each computation in it; the value itself if none
    changes.
    """
    if isinstance(value, Computation):
        return exchange(value)
    if isinstance(value, tuple) and value and isinstance(value[0], Computation):
        parts = tuple(map(exchange, value))
        return parts if any(new is not old for new, old in zip(parts, value, strict=True)) else value
    return value


def with_instructions(value: Any, made: Mapping[Instruction, Instruction]) -> Any:
    """Return the value of an attribute, such as control predecessors, with each instruction in it replaced by that in
    ``made``; instructions that are not in ``made`` are dropped.
    """
    if isinstance(value, tuple) and value and isinstance(value[0], Instruction):
        return tuple(made[each] for each in value if each in made)
    return value


def naming(
    instruction: Instruction, values: Mapping[Instruction, Instruction], computations: Mapping[Computation, Computation]
) -> Instruction:
    """Return an instruction with the instructions and computations in its attributes replaced; itself if none
    changes.
    """
    if not instruction.called and "control-predecessors" not in instruction.attributes:
        return instruction
    attributes = {
        name: with_called(with_instructions(value, values), lambda each: computations.get(each, each))
        for name, value in instruction.attributes.items()
    }
    is_same = all(attributes[name] is value for name, value in instruction.attributes.items())
    return instruction if is_same else instruction.replace(attributes=attributes)


@dataclass(frozen=True, eq=False, slots=True)
class Computation:
    """Instructions in topological order; the root need not be the last."""

    name: str
    instructions: tuple[Instruction, ...]
    root: Instruction
    execution_thread: str = "main"
    span: Span | None = field(default=None, repr=False)
    _parameters: list[Instruction] = field(default_factory=list, init=False, repr=False)  # a cache

    @property
    def parameters(self) -> tuple[Instruction, ...]:
        if not self._parameters:
            found = [i for i in self.instructions if i.opcode == "parameter"]
            self._parameters[:] = sorted(found, key=lambda i: i.attributes["parameter_number"])
        return tuple(self._parameters)

    def __repr__(self) -> str:
        return f"<computation {self.name}: {len(self.instructions)} instructions>"


@dataclass(frozen=True, slots=True)
class Built:
    """An object among the results: the class ``name`` of a Python ``module`` with trees as its ``parts``.

    ``fields`` are the attributes that hold the parts, empty if unknown. ``maker`` is the way another module can make
    such an object, empty if it cannot: by calling the class (``call``), by setting its attributes (``set``), or by its
    ``tree_unflatten`` (``unflatten``). ``constants`` is the Python literal of the rest of the object's state: a dict of
    its other attributes, or the auxiliary data of ``tree_unflatten``; empty for neither.
    """

    module: str
    name: str
    parts: tuple[ResultTree, ...]
    fields: tuple[str, ...] = ()
    maker: str = ""
    constants: str = ""


def is_plain_key(key: Any) -> bool:
    """Return whether a key of a dict is a word, a number, a truth value or a tuple of these."""
    return all(map(is_plain_key, key)) if type(key) is tuple else type(key) in (str, int, bool)


@dataclass(frozen=True, slots=True)
class Trees:
    """The pytrees of arrays that a traced function takes and returns.

    ``leaves`` has for each parameter its leaf number among the arguments. ``attribute_paths`` has, by parameter, the
    path of leaves that have no name of their own but are attributes: ``.state[0]``. ``nameless`` are the parameters
    inside objects whose parts have no name or number. ``depths`` has for each parameter the length of its path from the
    argument of the call. ``results`` is None if the results can only be returned as a flat sequence; ``notes`` says
    which results are returned in another form than the function's.
    """

    leaves: tuple[int, ...]
    nameless: frozenset[int]
    depths: tuple[int, ...]
    results: ResultTree
    notes: tuple[str, ...] = ()
    attribute_paths: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class HloModule:
    """A whole program. In ``computations``, callees come before callers; ``entry`` is at any position.

    ``header`` has every attribute of the ``HloModule`` line, parsed (``replica_count``, ``num_partitions``,
    ``entry_computation_layout``, ``input_output_alias``, ..).
    """

    name: str
    computations: tuple[Computation, ...]
    entry: Computation
    header: Mapping[str, Any] = field(default_factory=_empty)
    stack_frames: tuple[StackFrame, ...] = ()  # stack_frames[id - 1]
    sources: Mapping[str, str] = field(default_factory=_empty)  # the user's Python source by file name, if given
    source: SourceText | None = field(default=None, repr=False)  # the HLO text that the spans point into
    layout: Any = None  # how whole arrays are sharded among devices (:class:`.shardings.ShardLayout`), if known
    trees: Trees | None = None  # the pytrees of the traced function, if known
    constant_names: Mapping[str, str] = field(default_factory=_empty)  # by the hash of their bytes, if known
    loop_paths: Mapping[str, tuple[str, ...]] = field(default_factory=_empty)  # by the name of a loop: what it carries
    host_functions: tuple[Any, ...] = ()  # Python callbacks of the tracing process, by their numbers in the text
    stored: tuple[tuple[str, Any], ...] = ()  # names and arrays of the last parameters, loaded from a file
    arguments: tuple[Any, ...] = ()  # arrays for the parameters, if the program came with those of one run
    examples: tuple[Any, ...] = ()  # for each parameter, the array that its function was traced with, or None
    notes: tuple[Diagnostic, ...] = ()  # the parts that the reader skipped
    free_sizes: Mapping[str, int] = field(default_factory=_empty)  # by name: the values of this reading
    free_numbers: frozenset[float] = frozenset()  # numbers that follow from the free sizes: not folded
    coincidental_numbers: frozenset[float] = frozenset()  # numbers that are a free size, or its reciprocal, by chance
    fixed_sizes: frozenset[int] = frozenset()  # sizes that axes have at all sizes of the program
    sizes_reach: int = 0  # the upper bound of free sizes, and so of positions along their axes

    @property
    def replica_count(self) -> int:
        return int(self.header.get("replica_count", 1))

    @property
    def num_partitions(self) -> int:
        return int(self.header.get("num_partitions", 1))

    def instructions(self) -> Iterator[Instruction]:
        for computation in self.computations:
            yield from computation.instructions

    def __repr__(self) -> str:
        return f"<HloModule {self.name}: {len(self.computations)} computations>"


def legal_name(name: str) -> str:
    """Return a legal HLO name: other characters become underscores, as in XLA."""
    legal = _NOT_IN_NAMES.sub("_", name)
    return legal if legal[:1].isalpha() or legal.startswith("_") else f"_{legal}"


def fresh_name(base: str, taken: set[str]) -> str:
    """Take the first of the names ``base``, ``base.1``, ``base.2``, .. that is free, and return it."""
    names = chain((base,), (f"{base}.{number}" for number in count(1)))
    name = next(each for each in names if each not in taken)
    taken.add(name)
    return name


def called_in(computation: Computation) -> list[Computation]:
    """Return the computations that the instructions of a computation call, in order."""
    return [callee for instruction in computation.instructions for callee in instruction.called]


def callees_first(
    *computations: Computation, called: Callable[[Computation], list[Computation]] = called_in
) -> list[Computation]:
    """Return computations and all that they reach, each once, as listed but callees before callers."""
    return operands_first(computations, called)


def with_entry(module: HloModule, entry: Computation) -> HloModule:
    """Return the module with another entry, whose parameters and results may differ."""
    computations = tuple(entry if each is module.entry else each for each in module.computations)
    header = {name: value for name, value in module.header.items() if name not in _OF_OTHER_SHAPES}
    return replace(module, computations=computations, entry=entry, header=header)


def with_replaced(module: HloModule, made: Mapping[Instruction, Sequence[Instruction]]) -> HloModule:
    """Return the module with several instructions in place of one, of which the last has its value. Its parameters may
    differ.
    """
    computations: dict[Computation, Computation] = {}
    for old in callees_first(*module.computations):
        is_same = made.keys().isdisjoint(old.instructions) and all(
            computations[each] is each for each in called_in(old)
        )
        computations[old] = old if is_same else _with_replaced(old, made, computations)
    found = replace(module, computations=tuple(computations.values()), entry=computations[module.entry])
    return with_entry(found, found.entry)


def _with_replaced(
    computation: Computation,
    made: Mapping[Instruction, Sequence[Instruction]],
    computations: Mapping[Computation, Computation],
) -> Computation:
    new: dict[Instruction, Instruction] = {}
    instructions: list[Instruction] = []
    for old in computation.instructions:
        if old in made:
            written = [*made[old]]
        else:
            written = [naming(replace(old, operands=tuple(new[each] for each in old.operands)), new, computations)]
        instructions += written
        new[old] = written[-1]
    return replace(computation, instructions=tuple(instructions), root=new[computation.root])


def numbered(parameter: Instruction, number: int) -> Instruction:
    """Return a parameter with another number."""
    return replace(parameter, attributes={**parameter.attributes, "parameter_number": number})


def _has_place(instruction: Instruction) -> bool:
    return instruction.metadata is not None and instruction.metadata.stack_frame_id > 0


class InstructionUsers:
    """A cache of the users of instructions in the computations of one module."""

    def __init__(self) -> None:
        self._found: dict[Computation, dict[Instruction, list[Instruction]]] = {}

    def of(
        self, computation: Computation, value: Instruction, is_seen_through: Callable[[Instruction], bool]
    ) -> Iterator[tuple[Instruction, Instruction]]:
        """Yield the users of a value, through those that are seen through, each with the operand that is the value
        there; in place of calls and fusions, those of parameters if the instructions inside have places.
        """
        waiting, seen = [(computation, value)], {value}
        while waiting:
            around, current = waiting.pop()
            for user in self._inside(around).get(current, ()):
                if user in seen:
                    continue
                seen.add(user)
                called = user.called[0] if user.opcode in ("call", "fusion") else None
                if called is not None and (any(map(_has_place, called.instructions)) or not _has_place(user)):
                    given = enumerate(user.operands)
                    waiting += [(called, called.parameters[k]) for k, operand in given if operand is current]
                    continue
                yield current, user
                if is_seen_through(user):
                    waiting.append((around, user))

    def _inside(self, computation: Computation) -> dict[Instruction, list[Instruction]]:
        if computation not in self._found:
            found: dict[Instruction, list[Instruction]] = {}
            for user in computation.instructions:
                for operand in dict.fromkeys(user.operands):
                    found.setdefault(operand, []).append(user)
            self._found[computation] = found
        return self._found[computation]
