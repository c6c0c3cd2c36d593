"""Lowers loops.

A ``while`` is lowered once to learn which carries never change and which one counts, then again with these facts: a
counted loop becomes a ``range``, values that step with the counter become arithmetic on it, carries that never change
are read from outside, and rows written at the counter become stores into a stacked output.
"""

from __future__ import annotations

from ...array.affine import affine, integer_value
from ...array.graph import Graph
from ...array.in_place import copy_updated_carries
from ...array.node import Node
from ...array.program import Carry, Loop, Store
from ...array.traversal import body_nodes, use_counts
from ...array.value import Value
from ...hlo.ir import Computation, Instruction
from .control import flattened, placed, unflattened
from .counters import from_affine
from .loop_knowledge import Attempt, Knowledge
from .lowering import FunctionLowering, Lowered, lowers

_MOST_LOWERINGS = 6  # of one loop; those of nested loops multiply


@lowers("while")
def while_(lowering: FunctionLowering, instruction: Instruction, state: Lowered) -> Lowered:
    leaves = flattened(state)
    knowledge = Knowledge(_passed_through(instruction, leaves), may_grow=not lowering.graph.sizes_reach)
    if "loops" not in lowering.module.options.disabled:
        attempt, postponed = _explored(lowering, instruction, leaves, knowledge)
        if knowledge.runs_never:
            return state
        if knowledge.runs_once:
            return lowering.computation(instruction["body"], [state])
        if postponed:
            attempt = _attempt(lowering, instruction, leaves, knowledge)
    else:
        attempt = _attempt(lowering, instruction, leaves, knowledge)
    return unflattened(instruction.shape, iter(_finished(lowering, attempt, leaves, knowledge)))


def _passed_through(instruction: Instruction, leaves: list[Value]) -> set[int]:
    """Return the elements that the body's root tuple takes unchanged from its parameter."""
    body: Computation = instruction["body"]
    if body.root.opcode != "tuple" or len(body.root.operands) != len(leaves):
        return set()
    (parameter,) = body.parameters
    return {
        k
        for k, element in enumerate(body.root.operands)
        if element.opcode == "get-tuple-element" and element.operands == (parameter,) and element["index"] == k
    }


def _explored(
    lowering: FunctionLowering, instruction: Instruction, leaves: list[Value], knowledge: Knowledge
) -> tuple[Attempt, bool]:
    """Lower a loop, with every call inlined, until nothing more is learned; return the last attempt, and whether a call
    may become a function.
    """
    outer = lowering.exploring, lowering.postponed
    lowering.exploring, lowering.postponed = True, False
    knowledge.assume(leaves)
    attempt = _attempt(lowering, instruction, leaves, knowledge)
    for count in range(_MOST_LOWERINGS):
        if not knowledge.learn(attempt, leaves) or knowledge.runs_once or knowledge.runs_never:
            break
        if count == _MOST_LOWERINGS - 2 and not knowledge.is_proved:
            knowledge.assumed, knowledge.is_proved = {}, True
        attempt = _attempt(lowering, instruction, leaves, knowledge)
    postponed = lowering.postponed
    lowering.exploring, lowering.postponed = outer[0], outer[1] or (postponed and outer[0])
    return attempt, postponed and not lowering.exploring


def _attempt(
    lowering: FunctionLowering, instruction: Instruction, leaves: list[Value], knowledge: Knowledge
) -> Attempt:
    graph = lowering.graph
    loop = Loop(graph.region.child("loop"))
    if knowledge.is_counted:
        loop.start, loop.stop, loop.step = knowledge.start, knowledge.stop, knowledge.step
        loop.bounds = _bounds(graph, knowledge)
        assert knowledge.counter is not None
        element_type = leaves[knowledge.counter].node.element_type
        loop.counter = graph.parameter(
            (), element_type, loop.region, python_int=True, interval=graph.reached(knowledge.interval), counter=loop
        )
    inside = [_inside(lowering, loop, k, leaf, knowledge) for k, leaf in enumerate(leaves)]
    state = unflattened(instruction.shape, iter(inside))
    with graph.inside(loop.region):
        condition = lowering.computation(instruction["condition"], [state])
        following = flattened(lowering.computation(instruction["body"], [state]))
    return Attempt(graph, loop, inside, following, condition)


def _bounds(graph: Graph, knowledge: Knowledge) -> tuple[Node, Node] | None:
    """Return the start and stop of a loop, with constants as Python ints; None if they are fixed."""
    if knowledge.bounds is None:
        return None
    start, stop = (graph.integer(integer_value(b)) if b.is_literal else b for b in knowledge.bounds)  # type: ignore[arg-type]
    return start, stop


def _inside(lowering: FunctionLowering, loop: Loop, k: int, leaf: Value, knowledge: Knowledge) -> Value:
    """Return leaf ``k`` of the state inside the body."""
    graph = lowering.graph
    if k in knowledge.unchanged:
        return leaf
    element_type = leaf.node.element_type
    if k in knowledge.steps:
        assert loop.counter is not None
        coefficient, constant = knowledge.steps[k]
        return Value.of(from_affine(graph, {loop.counter: coefficient}, constant, element_type))
    initial = lowering.plain(leaf)
    parameter = graph.parameter(
        leaf.shape, element_type, loop.region, interval=knowledge.assumed.get(k), carry=len(loop.carries)
    )
    loop.carries.append(Carry(initial, parameter, element=k))
    return Value.of(parameter)


def _finished(lowering: FunctionLowering, attempt: Attempt, leaves: list[Value], knowledge: Knowledge) -> list[Value]:
    """Make the loop node; return the values of all leaves after the loop."""
    loop, graph = attempt.loop, lowering.graph
    by_parameter = {carry.parameter: carry for carry in loop.carries}
    with graph.inside(loop.region):
        for inside, following in zip(attempt.inside, attempt.following, strict=True):
            carry = by_parameter.get(inside.node)
            if carry is not None:
                carry.following = lowering.plain(following)
        if loop.counter is None:
            loop.condition = lowering.plain(attempt.condition)
    loop.effect = graph.effects.get(loop.region)
    _find_stores(graph, loop)
    if lowering.module.options.in_place:
        copy_updated_carries(graph, loop)
    initials = tuple(carry.initial for carry in loop.carries)
    node = placed(graph, "loop", initials, loop.effect is not None, loop=loop)
    items = dict(zip(by_parameter, _items(graph, node, loop, knowledge), strict=True))
    final = []
    for k, (leaf, inside) in enumerate(zip(leaves, attempt.inside, strict=True)):
        if k in knowledge.unchanged:
            final.append(leaf)
        elif k in knowledge.steps:
            final.append(_after(lowering, knowledge, k, leaf))
        else:
            final.append(items[inside.node])
    return final


def _after(lowering: FunctionLowering, knowledge: Knowledge, k: int, leaf: Value) -> Value:
    """Return the value of a stepping leaf after the loop."""
    element_type = leaf.node.type
    if knowledge.bounds is None:
        return Value.of(lowering.graph.literal(knowledge.after(k), element_type))
    given = (bound.operands[0] if bound.opcode == "as_int" else bound for bound in knowledge.bounds)
    start, stop = map(Value.of, given)
    return lowering.elementwise("maximum" if knowledge.step > 0 else "minimum", element_type, start, stop, shape=())


def _items(graph: Graph, node: Node, loop: Loop, knowledge: Knowledge) -> list[Value]:
    """Return the carries after the loop, with their known intervals."""
    known = {store.carry: store.value.interval for store in loop.stores if store.carry.initial.opcode == "empty"}
    known |= {carry: knowledge.grown[carry.element] for carry in loop.carries if carry.element in knowledge.grown}
    return [
        Value.of(graph.add("item", (node,), interval=known.get(carry, carry.parameter.interval), index=index))
        for index, carry in enumerate(loop.carries)
    ]


def _loop_nodes(loop: Loop) -> list[Node]:
    roots = [carry.following for carry in loop.carries if carry.following is not None]
    roots += [store.value for store in loop.stores]
    roots += [index for store in loop.stores for index in store.indices]
    roots += [node for node in (loop.condition, loop.effect) if node is not None]
    return body_nodes(roots, loop.region)


def _find_stores(graph: Graph, loop: Loop) -> None:
    """Turn carries that are only written, one row at a time, into stacked outputs that are updated in place."""
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
        store = Store(carry, node.parameters["index"], node.operands[2:], node.operands[1], node)
        loop.stores.append(store)
        carry.following = None
        shape, element_type = carry.initial.shape, carry.initial.element_type
        if _covers(loop, store) and carry.initial.operation.is_filled:
            carry.initial = graph.add("empty", (), shape=shape, element_type=element_type, pinned=True)
        else:
            carry.initial = graph.add("copy", (carry.initial,), pinned=True)


def _covers(loop: Loop, store: Store) -> bool:
    """Return whether the iterations write every row once, in the order of the counter or in reverse."""
    first = store.index[0]
    if loop.counter is None or not loop.is_fixed or len(store.indices) != 1 or isinstance(first, tuple) or first == ":":
        return False
    (index,) = store.indices
    rows = store.carry.parameter.shape[0]
    terms, _ = affine(index)
    one_each = index.is_python_int and terms.keys() == {loop.counter} and abs(terms[loop.counter] * loop.step) == 1
    return one_each and index.interval == (0, rows - 1)
