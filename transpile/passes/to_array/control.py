"""Calls, loops and branches.

A ``while`` is lowered once to learn which carried values never change and which one counts, then again with that
knowledge: a counted loop becomes a ``range``, values that step with the counter become arithmetic on it, values that
never change are read from outside, and rows written at the counter become stores into a stacked output.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...array.node import Graph, Node
from ...array.program import Branch, Carry, Function, Loop, Store, tree_nodes
from ...array.traversal import body_nodes, use_counts
from ...array.value import Value
from ...hlo.element_types import PRED, ElementType
from ...hlo.ir import Computation, Instruction
from ...hlo.shapes import ArrayShape, Shape, TupleShape
from .lowering import FunctionLowering, Lowered, lowers

_SMALL = 4  # nodes that a computation may make and still be written in place at every call


# -- calls


@lowers("call", "fusion", "async-start")
def call(lowering: FunctionLowering, instruction: Instruction, *operands: Lowered) -> Lowered:
    attribute = "to_apply" if instruction.opcode == "call" else "calls"
    computation = instruction[attribute]
    result = _called(lowering, computation, list(operands))
    return (tuple(operands), result, None) if instruction.opcode == "async-start" else result


def _called(lowering: FunctionLowering, computation: Computation, operands: list[Lowered]) -> Lowered:
    module = lowering.module
    if lowering.exploring or any(value.node.is_python_int for value in flattened(operands)):
        # A counter is worth more inside; what a loop teaches must not hide in a function.
        lowering.postponed = lowering.postponed or lowering.exploring
        return lowering.computation(computation, operands)
    if computation in module.functions:
        return call_function(lowering, module.functions[computation], operands)
    if (
        module.call_counts.get(computation, 0) < 2
        or computation in module.inline
        or "functions" in module.options.disabled
    ):
        return lowering.computation(computation, operands)
    before = lowering.graph.count
    result = lowering.computation(computation, operands)
    made = lowering.graph.nodes_since(before)
    if _work(made) <= _SMALL or _has_effects(made):
        module.inline.add(computation)
        return result
    return call_function(lowering, module.function(computation), operands)


def _work(nodes: list[Node]) -> int:
    views = ("expand", "getitem", "transpose", "reshape", "literal", "integer", "item", "parameter")
    return sum(node.opcode not in views for node in nodes)


def _has_effects(nodes: list[Node]) -> bool:
    return any("effect" in node.parameters for node in nodes)


def call_function(lowering: FunctionLowering, function: Function, operands: list[Lowered]) -> Lowered:
    """Call an emitted function: arguments and results are flat lists of arrays."""
    arguments = tuple(lowering.plain(value) for value in flattened(operands))
    results = tree_nodes(function.results)
    if isinstance(function.results, Node):
        (only,) = results
        node = lowering.graph.add("call", arguments, only.shape, only.element_type, function=function)
        return Value.of(node)
    types = tuple((result.shape, result.element_type) for result in results)
    node = lowering.graph.add("call", arguments, results=types, function=function)
    return unflattened(function.result_shape, iter(lowering.items(node)))


def flattened(lowered: Lowered) -> list[Value]:
    """The arrays of a tree, in order."""
    return tree_nodes(lowered)  # type: ignore[return-value]


def unflattened(shape: Shape | None, values: Iterator[Value]) -> Lowered:
    """A tree of the given shape from its arrays in order."""
    if isinstance(shape, TupleShape):
        return tuple(unflattened(element, values) for element in shape.elements)
    return next(values) if isinstance(shape, ArrayShape) else None


@lowers("async-update")
def async_update(lowering: FunctionLowering, instruction: Instruction, operand: Lowered) -> Lowered:
    return operand


@lowers("async-done")
def async_done(lowering: FunctionLowering, instruction: Instruction, operand: Lowered) -> Lowered:
    return operand[1]


# -- branches


@lowers("conditional")
def conditional(lowering: FunctionLowering, instruction: Instruction, which: Value, *operands: Lowered) -> Lowered:
    if instruction.attributes.get("true_computation") is not None:
        computations = [instruction["false_computation"], instruction["true_computation"]]
        arguments = [operands[1], operands[0]]
    else:
        computations, arguments = list(instruction["branch_computations"]), list(operands)
        if which.node.element_type is PRED:
            computations, arguments = computations[::-1], arguments[::-1]
    chosen = _known_branch(which.node, len(computations))
    if chosen is not None:
        return lowering.computation(computations[chosen], [arguments[chosen]])
    graph = lowering.graph
    outer = graph.region
    branches = []
    for computation, argument in zip(computations, arguments, strict=True):
        graph.region = outer.child("branch")
        result = lowering.computation(computation, [argument])
        results = [lowering.plain(value) for value in flattened(result)]
        branches.append(Branch(graph.region, results, graph.effects.get(graph.region)))
        graph.region = outer
    types = tuple((node.shape, node.element_type) for node in branches[0].results)
    has_effect = any(branch.effect is not None for branch in branches)
    node = _placed(graph, "conditional", (which.node,), types, has_effect, branches=tuple(branches))
    return unflattened(instruction.shape, iter(lowering.items(node)))


def _placed(
    graph: Graph, opcode: str, operands: tuple[Node, ...], results: tuple[Any, ...], has_effect: bool, **parameters: Any
) -> Node:
    """A loop or conditional, in order among the side effects where it has any."""
    if has_effect:
        return graph.add_effect(opcode, operands, results, **parameters)
    return graph.add(opcode, operands, results=results, pinned=True, **parameters)


def _known_branch(which: Node, count: int) -> int | None:
    """The branch taken where there is no choice or it is a constant."""
    if count == 1:
        return 0
    if not which.is_literal:
        return None
    value = int(which.parameters["constant"].array)
    return value if 0 <= value < count else count - 1


# -- loops


@dataclass(slots=True)
class _Knowledge:
    """What one lowering of a loop teaches the next."""

    unchanged: set[int] = field(default_factory=set)
    counter: int | None = None
    start: int = 0
    stop: int = 0
    step: int = 1
    inductions: dict[int, int] = field(default_factory=dict)  # leaf: its value less the counter's

    @property
    def trip_count(self) -> int:
        return len(range(self.start, self.stop, self.step))

    @property
    def counter_interval(self) -> tuple[int, int]:
        """The least and the greatest value of the counter inside the body."""
        last = self.start + (self.trip_count - 1) * self.step
        return min(self.start, last), max(self.start, last)


@dataclass(slots=True)
class _Attempt:
    """One lowering of a loop: the loop, and what each leaf of the state is inside and becomes."""

    loop: Loop
    inside: list[Value]
    following: list[Value]
    condition: Value


@lowers("while")
def while_(lowering: FunctionLowering, instruction: Instruction, state: Lowered) -> Lowered:
    leaves = flattened(state)
    knowledge = _Knowledge(_passed_through(instruction, leaves))
    if "loops" not in lowering.module.options.disabled:
        attempt, postponed = _exploration(lowering, instruction, leaves, knowledge)
        learned = _learn(attempt, leaves, knowledge)
        if knowledge.counter is not None and knowledge.trip_count == 0:
            return state
        if knowledge.counter is not None and knowledge.trip_count == 1:
            return lowering.computation(instruction["body"], [state])
        if learned or postponed:
            attempt = _attempt(lowering, instruction, leaves, knowledge)
    else:
        attempt = _attempt(lowering, instruction, leaves, knowledge)
    return unflattened(instruction.shape, iter(_finished(lowering, attempt, leaves, knowledge)))


def _exploration(
    lowering: FunctionLowering, instruction: Instruction, leaves: list[Value], knowledge: _Knowledge
) -> tuple[_Attempt, bool]:
    """A lowering to learn from, with every call in place; and whether some call may want to be a function."""
    outer = lowering.exploring, lowering.postponed
    lowering.exploring, lowering.postponed = True, False
    attempt = _attempt(lowering, instruction, leaves, knowledge)
    postponed = lowering.postponed
    lowering.exploring, lowering.postponed = outer[0], outer[1] or (postponed and outer[0])
    return attempt, postponed and not lowering.exploring


def _passed_through(instruction: Instruction, leaves: list[Value]) -> set[int]:
    """Elements that the body's root tuple takes unchanged from its parameter."""
    body: Computation = instruction["body"]
    if body.root.opcode != "tuple" or len(body.root.operands) != len(leaves):
        return set()
    (parameter,) = body.parameters
    return {
        k
        for k, element in enumerate(body.root.operands)
        if element.opcode == "get-tuple-element" and element.operands == (parameter,) and element["index"] == k
    }


def _attempt(
    lowering: FunctionLowering, instruction: Instruction, leaves: list[Value], knowledge: _Knowledge
) -> _Attempt:
    graph = lowering.graph
    outer = graph.region
    region = outer.child("loop")
    loop = Loop(region)
    order = sorted(range(len(leaves)), key=lambda k: k != knowledge.counter)  # inductions refer to the counter
    made = {k: _inside(lowering, loop, k, leaves[k], knowledge) for k in order}
    inside = [made[k] for k in range(len(leaves))]
    graph.region = region
    state = unflattened(instruction.shape, iter(inside))
    condition = lowering.computation(instruction["condition"], [state])
    following = flattened(lowering.computation(instruction["body"], [state]))
    graph.region = outer
    return _Attempt(loop, inside, following, condition)


def _inside(lowering: FunctionLowering, loop: Loop, k: int, leaf: Value, knowledge: _Knowledge) -> Value:
    """What leaf ``k`` of the state is inside the body."""
    graph = lowering.graph
    if k in knowledge.unchanged:
        return leaf
    element_type = leaf.node.element_type
    if k == knowledge.counter:
        loop.counter = graph.parameter(
            (), element_type, loop.region, python_int=True, interval=knowledge.counter_interval, counter=loop
        )
        loop.start, loop.stop, loop.step = knowledge.start, knowledge.stop, knowledge.step
        return Value.of(loop.counter)
    if k in knowledge.inductions:
        return _offset(graph, loop, knowledge, knowledge.inductions[k], element_type)
    initial = lowering.plain(leaf)
    parameter = graph.parameter(leaf.shape, element_type, loop.region, carry=len(loop.carries))
    loop.carries.append(Carry(initial, parameter))
    return Value.of(parameter)


def _offset(graph: Graph, loop: Loop, knowledge: _Knowledge, offset: int, element_type: ElementType | None) -> Value:
    """``counter + offset`` as a Python int of another carried value's type."""
    low, high = (bound + offset for bound in knowledge.counter_interval)
    assert loop.counter is not None
    if offset == 0:
        node = graph.add("retype", (loop.counter,), (), element_type, python_int=True, interval=(low, high))
        return Value.of(node)
    other = graph.integer(abs(offset))
    opcode = "add" if offset > 0 else "subtract"
    return Value.of(graph.add(opcode, (loop.counter, other), (), element_type, python_int=True, interval=(low, high)))


def _learn(attempt: _Attempt, leaves: list[Value], knowledge: _Knowledge) -> bool:
    """Find unchanged leaves, the counter and the inductions. True where something new was found."""
    found = False
    for k, (inside, following) in enumerate(zip(attempt.inside, attempt.following, strict=True)):
        if k not in knowledge.unchanged and following.node is inside.node and following.axes == inside.axes:
            knowledge.unchanged.add(k)
            found = True
    bound = _counted(attempt)
    if bound is None:
        return found
    position, stop, direction = bound
    step = _step(attempt.inside[position], attempt.following[position])
    start = _integer(leaves[position].node)
    if step is None or start is None or not _ends(direction, start, stop, step):
        return found
    knowledge.counter, knowledge.start, knowledge.stop, knowledge.step = position, start, stop, step
    for k, (inside, following) in enumerate(zip(attempt.inside, attempt.following, strict=True)):
        initial = _integer(leaves[k].node)
        if k != position and k not in knowledge.unchanged and initial is not None and _step(inside, following) == step:
            knowledge.inductions[k] = initial - start
    return True


def _ends(direction: str, start: int, stop: int, step: int) -> bool:
    """Counting from ``start`` by ``step`` reaches the condition's end without passing the type's bounds."""
    if direction == "NE":
        return (stop - start) % step == 0 and (stop - start) // step >= 0
    return (step > 0) == (direction == "LT")


def _counted(attempt: _Attempt) -> tuple[int, int, str] | None:
    """(leaf, stop, direction) where the condition compares one carried integer with a constant."""
    node = attempt.condition.node
    if node.opcode != "compare":
        return None
    left, right = node.operands
    direction = node.parameters["direction"]
    if _integer(left) is not None:
        left, right = right, left
        direction = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}.get(direction, direction)
    stop = _integer(right)
    position = next(
        (k for k, value in enumerate(attempt.inside) if value.node is left and left.opcode == "parameter"), None
    )
    if stop is None or position is None:
        return None
    bounds = {
        "LT": (stop, "LT"),
        "LE": (stop + 1, "LT"),
        "GT": (stop, "GT"),
        "GE": (stop - 1, "GT"),
        "NE": (stop, "NE"),
    }
    return (position, *bounds[direction]) if direction in bounds else None


def _step(inside: Value, following: Value) -> int | None:
    """The constant that a carried integer grows by in each iteration."""
    node = following.node
    if node.opcode not in ("add", "subtract") or inside.node not in node.operands or inside.node.ndim:
        return None
    other = node.operands[1] if node.operands[0] is inside.node else node.operands[0]
    amount = _integer(other)
    if not amount or (node.opcode == "subtract" and node.operands[0] is not inside.node):
        return None
    return amount if node.opcode == "add" else -amount


def _integer(node: Node) -> int | None:
    """The value of an integer constant."""
    if node.opcode == "integer":
        return int(node.parameters["value"])
    if node.is_literal and node.type.is_integral:
        return int(node.parameters["constant"].array)
    return None


def _finished(lowering: FunctionLowering, attempt: _Attempt, leaves: list[Value], knowledge: _Knowledge) -> list[Value]:
    """Make the loop node; the values of all leaves after the loop."""
    loop, graph = attempt.loop, lowering.graph
    outer = graph.region
    graph.region = loop.region
    by_parameter = {carry.parameter: carry for carry in loop.carries}
    for inside, following in zip(attempt.inside, attempt.following, strict=True):
        carry = by_parameter.get(inside.node)
        if carry is not None:
            carry.following = lowering.plain(following)
    if loop.counter is None:
        loop.condition = lowering.plain(attempt.condition)
    graph.region = outer
    loop.effect = graph.effects.get(loop.region)
    _find_stores(graph, loop)
    initials = tuple(carry.initial for carry in loop.carries)
    results = tuple((carry.parameter.shape, carry.parameter.element_type) for carry in loop.carries)
    node = _placed(graph, "loop", initials, results, loop.effect is not None, loop=loop)
    items = dict(zip(by_parameter, lowering.items(node), strict=True))
    final = []
    for k, (leaf, inside) in enumerate(zip(leaves, attempt.inside, strict=True)):
        if k in knowledge.unchanged:
            final.append(leaf)
        elif inside.node in items:
            final.append(items[inside.node])
        else:  # the counter or an induction: known after the loop
            stop = knowledge.start + knowledge.trip_count * knowledge.step + knowledge.inductions.get(k, 0)
            final.append(Value.of(graph.literal(stop, leaf.node.type)))
    return final


def _loop_nodes(loop: Loop) -> list[Node]:
    roots = [carry.following for carry in loop.carries if carry.following is not None]
    roots += [store.value for store in loop.stores]
    roots += [index for store in loop.stores for index in store.indices]
    roots += [node for node in (loop.condition, loop.effect) if node is not None]
    return body_nodes(roots, loop.region)


def _find_stores(graph: Graph, loop: Loop) -> None:
    """A carry that is only written, one row at a time, is a stacked output written in place."""
    counts = use_counts(_loop_nodes(loop), [c.following for c in loop.carries if c.following is not None])
    for carry in loop.carries:
        node = carry.following
        if (
            node is None
            or node.opcode != "setitem"
            or node.operands[0] is not carry.parameter
            or counts.get(carry.parameter, 0) != 1
            or counts.get(node, 0) != 1
            or node.region is not loop.region
        ):
            continue
        loop.stores.append(Store(carry, node.parameters["index"], node.operands[2:], node.operands[1], node))
        carry.following = None
        covered = (
            loop.counter is not None
            and node.operands[2:] == (loop.counter,)
            and loop.start == 0
            and loop.step == 1
            and loop.stop == carry.parameter.shape[0]
            and not isinstance(node.parameters["index"][0], tuple)
            and node.parameters["index"][0] != ":"
        )
        if covered and carry.initial.opcode in ("full", "zeros", "ones"):
            carry.initial = graph.add("empty", (), carry.initial.shape, carry.initial.element_type, pinned=True)
        else:
            carry.initial = graph.add(
                "copy", (carry.initial,), carry.initial.shape, carry.initial.element_type, pinned=True
            )
