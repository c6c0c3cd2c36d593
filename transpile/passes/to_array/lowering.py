"""From the HLO dialect to the array dialect: the driver and the table of rules.

Each rule takes the lowering, an instruction and its operands as :class:`Value`\\ s (tuples as Python tuples, tokens
as None) and returns its result in the same form. The rules stand in the modules beside this one, by topic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...array.graph import Graph
from ...array.intervals import cut_interval, result_interval
from ...array.node import Node, Slot, Ufunc, literal_value
from ...array.operations import operation
from ...array.operations.inference import broadcast
from ...array.program import Function, Program, Scope, tree_nodes
from ...array.support import Support
from ...array.traversal import topological
from ...array.value import Value, arranged, common_order, materialise, strong
from ...hlo.custom_calls import callbacks
from ...hlo.element_types import ElementType
from ...hlo.ir import Computation, HloModule, Instruction
from ...hlo.opcodes import OPCODES
from ...hlo.shapes import ArrayShape, Shape, TupleShape
from ...hlo.source import Diagnostic, UnsupportedError
from ...hlo.transfers import transfer_schedule
from .counters import counted
from .dynamic import cropped, dynamic_rule, extended
from .folding import fold
from .reducers import simple_reducer

Lowered = Any  # Value | tuple[Lowered, ...] | None (a token)
Rule = Callable[..., Lowered]

RULES: dict[str, Rule] = {}

MAX_NESTING = 64  # of calls, loops and branches; Python itself stops at 100 levels of indentation


def lowers(*opcodes: str) -> Callable[[Rule], Rule]:
    """Register the rule of some opcodes: ``rule(lowering, instruction, *operands)``."""

    def register(rule: Rule) -> Rule:
        for opcode in opcodes:
            RULES[opcode] = rule
        return rule

    return register


# What lowering does beyond a plain translation, and can leave out.
LOWERING_CHOICES = (
    "axis_maps",
    "flooring",
    "functions",
    "gathers",
    "in_place",
    "loops",
    "normalizations",
    "scatters",
)


class Options:
    """What lowering may do. ``axis_maps=False`` materialises every value: explicit, longer, still right."""

    def __init__(
        self,
        disabled: Iterable[str] = (),
        custom_calls: Mapping[str, str] | None = None,
        support: Support | None = None,
    ) -> None:
        self.disabled = frozenset(disabled)
        self.custom_calls = dict(custom_calls or {})  # target: module:function
        self.support = support or Support()

    @property
    def axis_maps(self) -> bool:
        return "axis_maps" not in self.disabled

    @property
    def functions(self) -> bool:
        """Whether computations that are called more than once become functions."""
        return "functions" not in self.disabled and self.support.features.functions_are_called

    @property
    def in_place(self) -> bool:
        """Whether loops change carried arrays where they are."""
        return "in_place" not in self.disabled and self.support.features.arrays_are_mutable


class ModuleLowering:
    """Lowers a module; keeps the functions made so far."""

    def __init__(self, module: HloModule, options: Options) -> None:
        self.module = module
        self.options = options
        self.functions: dict[Computation, Function] = {}
        self.inline: set[Computation] = set()
        self.call_counts = _call_counts(module)
        self.callbacks = {found.instruction: found for found in callbacks(module)}

    def lower(self) -> Program:
        entry = self.function(self.module.entry)
        return Program(self.module, [*(f for f in self.functions.values() if f is not entry), entry])

    def function(self, computation: Computation) -> Function:
        """The function of a computation, lowered on first use."""
        if computation not in self.functions:
            function = Function(computation, Graph())
            lowering = FunctionLowering(self, function.graph)
            is_entry = computation is self.module.entry
            argument = lowering.argument if is_entry else lowering.flat_argument
            arguments = [
                argument(parameter.shape, function, number) for number, parameter in enumerate(computation.parameters)
            ]
            results = lowering.materialised_tree(lowering.computation(computation, arguments))
            function.scope = lowering.scope
            function.effect = function.graph.effects.get(function.graph.root)
            function.results = results if is_entry or isinstance(results, Node) else tuple(tree_nodes(results))
            function.result_shape = computation.root.shape
            self.functions[computation] = function
        return self.functions[computation]


class FunctionLowering:
    """Lowers the computations that end up in one emitted function."""

    def __init__(self, module: ModuleLowering, graph: Graph) -> None:
        self.module = module
        self.graph = graph
        self.scope: Scope | None = None  # of the computation being lowered; in the end, of the function's own
        self.nesting = 0
        self.exploring = False  # inside a first lowering of a loop, which only learns
        self.postponed = False  # a call was written in place for that alone
        self.sent: dict[int, list[Lowered]] = {}  # by channel: what the only device has sent to itself

    # -- computations

    def argument(self, shape: Shape, function: Function, number: int) -> Lowered:
        """A parameter of the function; a tuple becomes its elements, each read from the tuple by index."""
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
        """A parameter of a function that only emitted code calls: a tuple is passed as its arrays."""
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

    def computation(self, computation: Computation, arguments: list[Lowered]) -> Lowered:
        """Lower a computation in place, with these arguments for its parameters."""
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
            self.graph.results.setdefault(result.node, []).append(instruction)
        if not self.module.options.axis_maps and isinstance(result, Value):
            return Value.of(materialise(self.graph, result))
        return result

    # -- what rules are made of

    def elementwise(
        self,
        opcode: str,
        element_type: ElementType,
        *operands: Value,
        shape: tuple[int, ...] | None = None,
        **parameters: Any,
    ) -> Value:
        """An element-wise node over values that NumPy broadcasts together.

        A prelude function takes its operands in order, then the ``statics``.
        """
        if opcode == "prelude":
            slots = tuple(Slot(k) for k in range(len(operands)))
            parameters = {
                "function": parameters["function"],
                "arguments": slots + parameters.get("statics", ()),
                "keywords": parameters.get("keywords", {}),
            }
        logical = shape if shape is not None else max((value.shape for value in operands), key=len)
        need = common_order(operands)
        nodes = tuple(arranged(self.graph, value, need) for value in operands)
        if all(node.is_literal for node in nodes):
            folded = fold(opcode, [literal_value(node) for node in nodes], element_type, parameters)
            if folded is not None:
                return Value.repeated(self.graph.literal(folded, element_type), logical)
        node = self.node(opcode, nodes, element_type, **parameters)
        if node.interval is not None and node.interval[0] == node.interval[1] and not node.is_python_int:
            return Value.repeated(self.graph.literal(node.interval[0], element_type), logical)
        axes: list[int | None] = [None] * len(logical)
        offset = node.ndim - len(need)
        for position, dimension in enumerate(need):
            if position + offset >= 0:
                axes[dimension] = position + offset
        return Value(node, tuple(axes), logical)

    def node(self, opcode: str, nodes: tuple[Node, ...], element_type: ElementType, **parameters: Any) -> Node:
        """An element-wise node; its shape is NumPy's broadcast of the operands'."""
        if any(node.is_python_int for node in nodes):
            total = counted(self.graph, opcode, nodes, element_type)
            if total is not None:
                return total
        nodes = self.strengthened(opcode, nodes)
        interval = cut_interval(nodes[0], element_type) if parameters.get("function") == "to_int" else None
        shape = None if operation(opcode, parameters).shape is not None else broadcast(nodes)
        return self.graph.add(opcode, nodes, shape=shape, element_type=element_type, interval=interval, **parameters)

    def strengthened(self, opcode: str, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """Python ints need one strong operand beside them that gives the result its dtype."""
        if not any(node.is_python_int for node in nodes):
            return nodes
        typed = nodes[1:] if opcode == "select" else nodes
        if any(not node.is_python_int and not node.is_literal for node in typed):
            return nodes
        return tuple(self.strong(node) for node in nodes)

    def strong(self, node: Node) -> Node:
        """A Python int as a NumPy scalar of the type HLO gives it."""
        return strong(self.graph, node)

    def plain(self, value: Value) -> Node:
        """The node of exactly the logical shape, strong."""
        return self.strong(materialise(self.graph, value))

    def call(
        self,
        function: str,
        operands: tuple[Node, ...],
        shape: tuple[int, ...],
        element_type: ElementType,
        *,
        arguments: tuple[Any, ...] | None = None,
        pinned: bool = False,
        **keywords: Any,
    ) -> Value:
        """A call of a prelude function that gives one array of the logical shape.

        ``arguments`` are the positional arguments, operands as :class:`Slot`; by default the operands in order.
        """
        operands = tuple(self.strong(node) for node in operands)
        node = self.graph.add(
            "prelude",
            operands,
            shape=shape,
            element_type=element_type,
            pinned=pinned,
            function=function,
            arguments=self._arguments(operands, arguments),
            keywords=keywords,
        )
        return Value.of(node)

    def call_many(
        self,
        function: str,
        operands: tuple[Node, ...],
        shapes: Iterable[Shape],
        *,
        arguments: tuple[Any, ...] | None = None,
        pinned: bool = False,
        **keywords: Any,
    ) -> tuple[Value, ...]:
        """A call of a prelude function that gives a tuple of arrays."""
        operands = tuple(self.strong(node) for node in operands)
        results = tuple((s.dimensions, s.element_type) for s in shapes if isinstance(s, ArrayShape))
        node = self.graph.add(
            "prelude",
            operands,
            results=results,
            pinned=pinned,
            function=function,
            arguments=self._arguments(operands, arguments),
            keywords=keywords,
        )
        return self.items(node)

    @staticmethod
    def _arguments(operands: tuple[Node, ...], arguments: tuple[Any, ...] | None) -> tuple[Any, ...]:
        return tuple(Slot(k) for k in range(len(operands))) if arguments is None else arguments

    def combiner(self, computation: Computation) -> Ufunc | Function:
        """What combines two elements: a ufunc where there is one, else an emitted function of arrays."""
        opcode = simple_reducer(computation)
        return Ufunc(opcode) if opcode is not None else self.function_of(computation)

    def function_of(self, computation: Computation) -> Function:
        """The emitted function of a computation on scalars; as NumPy broadcasts, it takes arrays too.

        A result that depends on no parameter gets the shape of the first.
        """
        function = self.module.function(computation)
        if isinstance(function.results, Node):
            function.results = _spread(function, function.results)
        else:
            function.results = tuple(_spread(function, result) for result in function.results)
        return function

    def effect(
        self, opcode: str, operands: tuple[Node, ...], shapes: Iterable[Shape], **parameters: Any
    ) -> tuple[Value, ...]:
        """A node with a side effect, after all others of its body; its results."""
        results = tuple((s.dimensions, s.element_type) for s in shapes if isinstance(s, ArrayShape))
        operands = tuple(self.strong(node) for node in operands)
        if len(results) == 1:
            ((shape, element_type),) = results
            node = self.graph.add_effect(opcode, operands, shape=shape, element_type=element_type, **parameters)
            return (Value.of(node),)
        return self.items(self.graph.add_effect(opcode, operands, results=results, **parameters))

    def call_in_order(
        self, function: str, operands: tuple[Node, ...], shape: ArrayShape, arguments: tuple[Any, ...]
    ) -> Value:
        """A call of a prelude function that must run exactly once, where it stands."""
        (value,) = self.effect("prelude", operands, [shape], function=function, arguments=arguments, keywords={})
        return value

    def items(self, node: Node) -> tuple[Value, ...]:
        """The results of a node that has several."""
        return tuple(
            Value.of(
                self.graph.add(
                    "item",
                    (node,),
                    interval=result_interval(node, index),
                    index=index,
                )
            )
            for index, (shape, element_type) in enumerate(node.results)
        )

    def materialised_tree(self, lowered: Lowered) -> Any:
        if lowered is None:
            return None
        if isinstance(lowered, Value):
            return cropped(self, lowered)
        return tuple(self.materialised_tree(part) for part in lowered)


def _spread(function: Function, result: Node) -> Node:
    """A result with the shape of the first parameter, where no parameter gives it one."""
    if not function.parameters or any("argument" in node.parameters for node in topological([result])):
        return result
    like = function.parameters[0]
    keywords = {} if like.element_type is result.type else {"dtype": result.type}
    return function.graph.add(
        "library",
        (like, result),
        element_type=result.type,
        function="full_like",
        arguments=(Slot(0), Slot(1)),
        keywords=keywords,
    )


def _is_empty(instruction: Instruction) -> bool:
    """Whether a result has no elements and nothing to do for it: other axes may be as long as no memory holds."""
    shape, spec = instruction.shape, OPCODES[instruction.opcode]
    if not isinstance(shape, ArrayShape) or shape.is_dynamic or shape.size:
        return False
    return not spec.has_side_effect and spec.topic not in ("control", "communication")


def _call_counts(module: HloModule) -> dict[Computation, int]:
    """How many instructions call each computation."""
    counts: dict[Computation, int] = {}
    for instruction in module.instructions():
        for computation in instruction.called:
            counts[computation] = counts.get(computation, 0) + 1
    return counts
