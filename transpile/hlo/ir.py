"""The typed, immutable form of an HLO module.

An :class:`Instruction` refers to its operands and called computations as objects, so a module is a graph without
names to resolve. Attribute values have the types of :mod:`.attributes`, under HLO's own attribute names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any

from ..dataclass import dataclass
from .shapes import ArrayShape, Shape, TupleShape
from .source import Diagnostic, SourceText, Span

# Dicts, lists, tuples and objects (:class:`Built`), and in them None and the numbers of results.
ResultTree = Any

_EMPTY: Mapping[str, Any] = MappingProxyType({})


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
        """The file, line and column where the call begins."""
        return self.file_name, self.line, self.column


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

    def __getitem__(self, attribute: str) -> Any:
        """The value of an attribute; its OpSpec's default where it was not written. Raises ``KeyError``."""
        value = self.attributes.get(attribute)
        if value is not None:
            return value
        from .opcodes import OPCODES

        return OPCODES[self.opcode].attributes[attribute].default_value(attribute, self.opcode)

    @property
    def array_shape(self) -> ArrayShape:
        """The shape of an instruction known to give an array."""
        assert isinstance(self.shape, ArrayShape), f"{self.name} is not an array: {self.shape}"
        return self.shape

    @property
    def element_shapes(self) -> tuple[Shape, ...]:
        """The shapes of the results: the elements of a tuple, or the one array."""
        return self.shape.elements if isinstance(self.shape, TupleShape) else (self.shape,)

    @property
    def called(self) -> tuple[Computation, ...]:
        """The computations this instruction calls, in attribute order."""
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
        """The same instruction on other operands."""
        return Instruction(self.name, self.opcode, self.shape, operands, self.attributes, self.metadata, self.span)

    def __repr__(self) -> str:
        operands = ", ".join(operand.name for operand in self.operands)
        return f"<{self.name} = {self.shape} {self.opcode}({operands})>"


def with_called(value: Any, exchange: Callable[[Computation], Computation]) -> Any:
    """Return the value of an attribute with what ``exchange`` gives in place of each computation that it names; the
    value itself where these stay.
    """
    if isinstance(value, Computation):
        return exchange(value)
    if isinstance(value, tuple) and value and isinstance(value[0], Computation):
        parts = tuple(map(exchange, value))
        return parts if any(new is not old for new, old in zip(parts, value, strict=True)) else value
    return value


def with_instructions(value: Any, made: Mapping[Instruction, Instruction]) -> Any:
    """Return the value of an attribute with what was made of each instruction that it names, such as those that another
    must come after; one of which nothing was made is left out.
    """
    if isinstance(value, tuple) and value and isinstance(value[0], Instruction):
        return tuple(made[each] for each in value if each in made)
    return value


def naming(
    instruction: Instruction,
    values: Mapping[Instruction, Instruction],
    computations: Mapping[Computation, Computation],
) -> Instruction:
    """Return an instruction whose attributes name what was made of others and of computations; itself if they stay."""
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
    """Instructions in an order in which operands come first; the root need not be the last."""

    name: str
    instructions: tuple[Instruction, ...]
    root: Instruction
    execution_thread: str = "main"
    span: Span | None = field(default=None, repr=False)
    _parameters: list[Instruction] = field(default_factory=list, init=False, repr=False)  # once they are asked for

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

    ``fields`` are the attributes that the parts are, empty where that is not known. ``maker`` says how another module
    makes such an object, empty where none can: by calling the class (``call``), by setting its attributes (``set``), or
    by its ``tree_unflatten`` (``unflatten``). ``constants`` is the Python literal of what else the object has: a dict
    of its other attributes, or what its ``tree_unflatten`` wants; empty for neither.
    """

    module: str
    name: str
    parts: tuple[ResultTree, ...]
    fields: tuple[str, ...] = ()
    maker: str = ""
    constants: str = ""


@dataclass(frozen=True, slots=True)
class Trees:
    """The trees of arrays that a traced function takes and returns.

    ``leaves`` has for each parameter the number of the leaf of the arguments that it is, ``ways`` the keys to those of
    them that have no name of their own, but are attributes all the same: ``.state[0]``; ``nameless`` are the parameters
    that are parts of objects whose parts cannot be reached by a name or a number, ``depths`` how many keys lead to each
    parameter from the argument of the call. ``results`` is None where the results can only be given one after the
    other; ``notes`` says what of them is given in another form than the function's.
    """

    leaves: tuple[int, ...]
    nameless: frozenset[int]
    depths: tuple[int, ...]
    results: ResultTree
    notes: tuple[str, ...] = ()
    ways: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class HloModule:
    """A whole program. In ``computations``, callees come before callers; ``entry`` is last or anywhere.

    ``header`` has every attribute of the ``HloModule`` line, parsed (``replica_count``, ``num_partitions``,
    ``entry_computation_layout``, ``input_output_alias``, ..).
    """

    name: str
    computations: tuple[Computation, ...]
    entry: Computation
    header: Mapping[str, Any] = field(default_factory=_empty)
    stack_frames: tuple[StackFrame, ...] = ()  # stack_frames[id - 1]
    sources: Mapping[str, str] = field(default_factory=_empty)  # user's Python source by file name, when given
    source: SourceText | None = field(default=None, repr=False)  # the HLO text that the spans point into
    layout: Any = (
        None  # how whole arrays are divided among devices (:class:`.shardings.ShardLayout`), where it is known
    )
    trees: Trees | None = None  # what the traced function takes and returns, where that is known
    constant_names: Mapping[str, str] = field(default_factory=_empty)  # by the hash of their bytes, where known
    host_functions: tuple[Any, ...] = ()  # those of the tracing process, by the numbers that callbacks have in the text
    stored: tuple[tuple[str, Any], ...] = ()  # the last parameters, which emitted code has in a file: names and arrays
    arguments: tuple[Any, ...] = ()  # arrays for the parameters, where the program came with those of one run
    notes: tuple[Diagnostic, ...] = ()  # what reading it left out
    free_sizes: Mapping[str, int] = field(default_factory=_empty)  # here, where the program is read at several
    free_numbers: frozenset[float] = frozenset()  # that follow from these: nothing is worked out with them
    chance_numbers: frozenset[float] = frozenset()  # that are one of these, or one by it, here and not at others
    fixed_sizes: frozenset[int] = frozenset()  # that axes have at all of these
    sizes_reach: int = 0  # so many elements axes may have whose sizes are free: positions along them have this bound

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


def called_in(computation: Computation) -> list[Computation]:
    """What the instructions of a computation call, as they are listed."""
    return [callee for instruction in computation.instructions for callee in instruction.called]


def callees_first(
    *computations: Computation, called: Callable[[Computation], list[Computation]] = called_in
) -> list[Computation]:
    """Computations and all that they reach, each once, as listed but callees before callers, without recursion."""
    ordered: dict[Computation, None] = {}
    stack = [(computation, False) for computation in reversed(computations)]
    while stack:
        computation, is_expanded = stack.pop()
        if computation in ordered:
            continue
        if is_expanded:
            ordered[computation] = None
            continue
        stack.append((computation, True))
        stack.extend((callee, False) for callee in reversed(called(computation)))
    return list(ordered)
