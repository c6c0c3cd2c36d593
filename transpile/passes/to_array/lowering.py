"""The lowering from the HLO dialect to the array dialect: the driver and the table of rules.

Each rule takes the lowering, an instruction and its operands, each a :class:`Value` (a tuple of them for a tuple, None
for a token), and returns its result in the same form. The rules are in the other modules of this folder, by topic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...array.graph import Graph
from ...array.node import Constant, Node, Slot, Ufunc
from ...array.program import Function, Program, Scope, tree_nodes
from ...array.support import Support
from ...array.traversal import topological
from ...array.value import Value, materialise
from ...hlo.custom_calls import callbacks
from ...hlo.ir import Computation, HloModule, Instruction
from ...hlo.opcodes import OPCODES
from ...hlo.shapes import ArrayShape, Shape, TupleShape
from ...hlo.source import Diagnostic, UnsupportedError
from ...hlo.transfers import transfer_schedule
from .dynamic import cropped, dynamic_rule, extended
from .known_branches import Taken, taken_inside
from .making import ValueMaker
from .reducers import simple_reducer

Lowered = Any  # Value | tuple[Lowered, ...] | None (a token)
Rule = Callable[..., Lowered]

RULES: dict[str, Rule] = {}

MAX_NESTING = 64  # of calls, loops and branches; Python allows 100 levels of indentation
_MOST_IN_PLACE = 1_000_000  # operations of a program with all calls inlined


def lowers(*opcodes: str) -> Callable[[Rule], Rule]:
    """Register the rule of some opcodes: ``rule(lowering, instruction, *operands)``."""

    def register(rule: Rule) -> Rule:
        for opcode in opcodes:
            RULES[opcode] = rule
        return rule

    return register


# Optional parts of the lowering, beyond a plain translation.
LOWERING_CHOICES = ("axis_maps", "flooring", "functions", "gathers", "in_place", "loops", "normalizations", "scatters")


# The formats in which products of float32 may be computed.
FLOAT32, TF32 = "float32", "tf32"


class Options:
    """Options of the lowering. With ``axis_maps=False`` every value is materialised: explicit, longer, still
    correct.
    """

    def __init__(
        self,
        disabled: Iterable[str] = (),
        custom_calls: Mapping[str, str] | None = None,
        support: Support | None = None,
        precision: str = FLOAT32,
    ) -> None:
        self.disabled = frozenset(disabled)
        self.custom_calls = dict(custom_calls or {})  # target: module:function
        self.support = support or Support()
        self.precision = precision

    @property
    def axis_maps(self) -> bool:
        return "axis_maps" not in self.disabled

    @property
    def functions(self) -> bool:
        """Whether computations with several calls become functions."""
        return "functions" not in self.disabled and self.support.features.functions_are_called

    @property
    def in_place(self) -> bool:
        """Whether loops update carried arrays in place."""
        return "in_place" not in self.disabled and self.support.features.arrays_are_mutable


class ModuleLowering:
    """Lowers a module; holds the functions made so far."""

    def __init__(self, module: HloModule, options: Options) -> None:
        self.module = module
        self.options = options
        self.functions: dict[Computation, Function] = {}
        self.inline: set[Computation] = set()
        self.call_counts = _call_counts(module)
        self.lengths = _lengths_in_place(module)
        self.callbacks = {found.instruction: found for found in callbacks(module)}

    def lower(self) -> Program:
        if not self.options.functions and self.lengths[self.module.entry] > _MOST_IN_PLACE:
            message = f"the program has more than {_MOST_IN_PLACE:,} operations with its calls written in place"
            raise UnsupportedError(Diagnostic("XP302", message, self.module.entry.span))
        entry = self.function(self.module.entry)
        return Program(self.module, [*(f for f in self.functions.values() if f is not entry), entry])

    def function(self, computation: Computation) -> Function:
        """Return the function of a computation, lowered on first use."""
        if computation not in self.functions:
            is_entry = computation is self.module.entry
            graph = Graph(self.module.sizes_reach, "entry" if is_entry else "function")
            function = Function(computation, graph, is_entry=is_entry)
            lowering = FunctionLowering(self, graph)
            argument = lowering.argument if is_entry else lowering.flat_argument
            arguments = [
                argument(parameter.shape, function, number) for number, parameter in enumerate(computation.parameters)
            ]
            if is_entry and self.module.stored:
                arrays = [Constant.of(array) for _, array in self.module.stored]
                lowering.stored = dict(zip(arrays, arguments[-len(arrays) :], strict=True))
            results = lowering.materialised_tree(lowering.computation(computation, arguments))
            function.scope = lowering.scope
            function.effect = graph.effects.get(graph.root)
            function.results = results if is_entry or isinstance(results, Node) else tuple(tree_nodes(results))
            function.result_shape = computation.root.shape
            self.functions[computation] = function
        return self.functions[computation]


class FunctionLowering(ValueMaker):
    """Lowers the computations that become one emitted function."""

    def __init__(self, module: ModuleLowering, graph: Graph) -> None:
        super().__init__(graph)
        self.module = module
        self.scope: Scope | None = None  # of the computation being lowered; at the end, of the function's computation
        self.nesting = 0
        self.exploring = False  # in a lowering of a loop that only learns
        self.postponed = False  # a call was inlined only because of that
        self.sent: dict[int, list[Lowered]] = {}  # by channel, the values that the only device has sent to itself
        self.taken: Taken = {}  # the branches around the code being lowered
        self.stored: dict[Constant, Lowered] = {}  # the parameters of stored arrays

    # -- computations

    def argument(self, shape: Shape, function: Function, number: int) -> Lowered:
        """Return a parameter of the function; a tuple becomes its elements, each an item of the tuple."""
        if isinstance(shape, TupleShape):
            count = len(shape.elements)
            whole = self.graph.parameter((), None, self.graph.root, argument=number, count=count)
            function.parameters.append(whole)
            return self._elements(whole, shape)
        if isinstance(shape, ArrayShape):
            node = self.graph.parameter(shape.dimensions, shape.element_type, self.graph.root, argument=number)
            function.parameters.append(node)
            return extended(self, node, shape) if shape.is_dynamic else Value.of(node)
        node = self.graph.parameter((), None, self.graph.root, argument=number)
        function.parameters.append(node)
        return None

    def flat_argument(self, shape: Shape, function: Function, number: int) -> Lowered:
        """Return a parameter of a function that only emitted code calls: a tuple is passed as its arrays."""
        if isinstance(shape, TupleShape):
            return tuple(self.flat_argument(element, function, number) for element in shape.elements)
        return self.argument(shape, function, number) if isinstance(shape, ArrayShape) else None

    def _elements(self, whole: Node, shape: TupleShape) -> Lowered:
        parts: list[Lowered] = []
        for index, element in enumerate(shape.elements):
            if isinstance(element, TupleShape):
                inner = self.graph.add("item", (whole,), index=index, count=len(element.elements))
                parts.append(self._elements(inner, element))
            elif isinstance(element, ArrayShape):
                node = self.graph.add(
                    "item", (whole,), shape=element.dimensions, element_type=element.element_type, index=index
                )
                parts.append(Value.of(node))
            else:
                parts.append(None)
        return tuple(parts)

    @contextmanager
    def inside_branch(self, which: Node, number: int, count: int) -> Iterator[None]:
        """Lower in branch ``number`` of the ``count`` branches that a node selects from."""
        before, self.taken = self.taken, self.taken | taken_inside(which, number, count)
        try:
            yield
        finally:
            self.taken = before

    def computation(self, computation: Computation, arguments: list[Lowered]) -> Lowered:
        """Lower a computation inline, with these arguments for its parameters."""
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise UnsupportedError(
                Diagnostic("XP302", f"computations are nested more than {MAX_NESTING} levels deep", computation.span)
            )
        outer = self.graph.origin
        outer_scope, self.scope = self.scope, Scope(computation, self.graph.region)
        if outer_scope is not None and outer is not None:
            outer_scope.called[outer, computation] = self.scope
        environment = self.scope.values
        for instruction in transfer_schedule(computation):
            if instruction.opcode == "parameter":
                environment[instruction] = arguments[instruction.attributes["parameter_number"]]
                continue
            operands = [environment[operand] for operand in instruction.operands]
            with self.graph.coming_from(instruction):
                environment[instruction] = self.instruction(instruction, operands)
        self.scope = outer_scope or self.scope
        self.nesting -= 1
        return environment[computation.root]

    def instruction(self, instruction: Instruction, operands: list[Lowered]) -> Lowered:
        if _is_empty(instruction):
            shape = instruction.array_shape
            return Value.repeated(self.graph.literal(0, shape.element_type), shape.dimensions)
        rule = RULES[instruction.opcode]
        dynamic = any(isinstance(operand, Value) and operand.sizes for operand in operands)
        result = dynamic_rule(rule, self, instruction, operands) if dynamic else rule(self, instruction, *operands)
        if isinstance(result, Value):
            assert _fits(result, instruction.shape), f"{instruction} was lowered to {result}"
            self.graph.results.setdefault(result.node, []).append(instruction)
        if not self.module.options.axis_maps and isinstance(result, Value):
            return Value.of(materialise(self.graph, result))
        return result

    # -- functions

    def combiner(self, computation: Computation) -> Ufunc | Function:
        """Return the combiner of two elements: a ufunc if there is one, else an emitted function of arrays."""
        opcode = simple_reducer(computation)
        return Ufunc(opcode) if opcode is not None else self.function_of(computation)

    def function_of(self, computation: Computation) -> Function:
        """Return the emitted function of a computation on scalars, which also takes arrays since NumPy broadcasts.

        A result that depends on no parameter gets the shape of the first.
        """
        function = self.module.function(computation)
        if isinstance(function.results, Node):
            function.results = _spread(function, function.results)
        else:
            function.results = tuple(_spread(function, result) for result in function.results)
        return function

    def materialised_tree(self, lowered: Lowered) -> Any:
        if lowered is None:
            return None
        if isinstance(lowered, Value):
            return cropped(self, lowered)
        return tuple(self.materialised_tree(part) for part in lowered)


def _spread(function: Function, result: Node) -> Node:
    """Return a result, with the shape of the first parameter if it depends on no parameter."""
    if not function.parameters or any("argument" in node.parameters for node in topological([result])):
        return result
    like = function.parameters[0]
    keywords = {} if like.element_type is result.type else {"dtype": result.type}
    return function.graph.add(
        "library", (like, result), function="full_like", arguments=(Slot(0), Slot(1)), keywords=keywords
    )


def _fits(value: Value, shape: Shape) -> bool:
    """Return whether a value has the shape that HLO says; tokens and tuples always do."""
    return not isinstance(shape, ArrayShape) or value.shape == shape.dimensions


def _is_empty(instruction: Instruction) -> bool:
    """Return whether a result has no elements and no effect, so that nothing is computed: other axes may be too long
    for any memory.
    """
    shape = instruction.shape
    if not isinstance(shape, ArrayShape) or 0 not in shape.dimensions or shape.is_dynamic:
        return False
    spec = OPCODES[instruction.opcode]
    return not spec.has_side_effect and spec.topic not in ("control", "communication")


def _call_counts(module: HloModule) -> dict[Computation, int]:
    """Return how many instructions call each computation."""
    counts: dict[Computation, int] = {}
    for instruction in module.instructions():
        for computation in instruction.called:
            counts[computation] = counts.get(computation, 0) + 1
    return counts


def _lengths_in_place(module: HloModule) -> dict[Computation, int]:
    """Return the number of operations of each computation, with those of the computations that it calls."""
    lengths: dict[Computation, int] = {}
    for computation in module.computations:
        called = [callee for instruction in computation.instructions for callee in instruction.called]
        lengths[computation] = len(computation.instructions) + sum(lengths[callee] for callee in called)
    return lengths
