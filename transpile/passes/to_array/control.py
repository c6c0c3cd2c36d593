"""Calls and branches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...array.graph import Graph
from ...array.node import Node, literal_value
from ...array.program import Branch, Function, tree_nodes
from ...array.traversal import dependencies
from ...array.value import Value
from ...hlo.element_types import PRED
from ...hlo.equality import compute_alike
from ...hlo.ir import Computation, Instruction
from ...hlo.shapes import ArrayShape, Shape, TupleShape
from ..calls.inlining import lines_around_convolutions
from ..constants.interpreter import known_value
from .known_branches import taken_by
from .lowering import FunctionLowering, Lowered, lowers

# Functions of JAX that a reader knows by name: called once they stay functions, but where kernels join what is around.
_KNOWN = frozenset(
    "_interp _map_coordinates bessel_jn expm expm_frechet funm hyp1f1 hyp2f1 polar poly polyfit rankdata "
    "sqrtm unwrap".split()
)
_SMALL = 4  # nodes that a computation may make and still be written in place at every call
_MOST_INSTRUCTIONS = 20_000  # of a computation and what it calls, written in place to learn from them


# -- calls


@lowers("call", "fusion", "async-start")
def call(lowering: FunctionLowering, instruction: Instruction, *operands: Lowered) -> Lowered:
    attribute = "to_apply" if instruction.opcode == "call" else "calls"
    computation = instruction[attribute]
    result = _called(lowering, computation, list(operands))
    if instruction.opcode != "async-start":
        return result
    assert isinstance(instruction.shape, TupleShape)
    contexts = (nothing(lowering, shape) for shape in instruction.shape.elements[2:])
    return (tuple(operands), result, *contexts)


def nothing(lowering: FunctionLowering, shape: Shape) -> Lowered:
    """Return zeros for a value that only another compiler's runtime fills."""
    if isinstance(shape, TupleShape):
        return tuple(nothing(lowering, element) for element in shape.elements)
    if not isinstance(shape, ArrayShape):
        return None
    return Value.repeated(lowering.graph.literal(0, shape.element_type), shape.dimensions)


def _called(lowering: FunctionLowering, computation: Computation, operands: list[Lowered]) -> Lowered:
    module = lowering.module
    is_taught = lowering.exploring or any(value.node.is_python_int for value in flattened(operands))
    if is_taught and module.lengths[computation] <= _MOST_INSTRUCTIONS:
        # A counter is worth more inside; what a loop teaches must not hide in a function.
        lowering.postponed = lowering.postponed or lowering.exploring
        return lowering.computation(computation, operands)
    if computation in module.functions:
        return call_function(lowering, module.functions[computation], operands)
    is_known = computation.name.split(".")[0] in _KNOWN and module.options.support.features.operations_are_passes
    is_kept = is_known or module.call_counts.get(computation, 0) > 1
    if not is_kept or computation in module.inline or not module.options.functions:
        return lowering.computation(computation, operands)
    before = lowering.graph.count
    result = lowering.computation(computation, operands)
    made = lowering.graph.nodes_since(before)
    if _work(_needed(result, made)) <= _SMALL or any("effect" in node.parameters for node in made):
        module.inline.add(computation)
        return result
    return call_function(lowering, module.function(computation), operands)


def _needed(result: Lowered, made: list[Node]) -> list[Node]:
    """Return the new nodes that a result needs; rules leave others behind when they find a shorter form."""
    needed = {value.node for value in flattened(result)}
    for node in reversed(made):
        if node in needed:
            needed.update(dependencies(node))
    return [node for node in made if node in needed]


def _work(nodes: list[Node]) -> int:
    computing = sum(not (node.operation.is_light or node.opcode == "reshape") for node in nodes)
    return computing + lines_around_convolutions(nodes)


def call_function(lowering: FunctionLowering, function: Function, operands: list[Lowered]) -> Lowered:
    """Call an emitted function: arguments and results are flat lists of arrays."""
    arguments = tuple(lowering.plain(value) for value in flattened(operands))
    node = lowering.graph.add("call", arguments, function=function)
    if isinstance(function.results, Node):
        return Value.of(node)
    return unflattened(function.result_shape, iter(lowering.items(node)))


def flattened(lowered: Lowered) -> list[Value]:
    """Return the arrays of a tree, in order."""
    return tree_nodes(lowered)  # type: ignore[return-value]


def unflattened(shape: Shape | None, values: Iterator[Value]) -> Lowered:
    """Return a tree of a shape, made of its arrays in order."""
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
        if len(computations) == 2 and which.node.opcode == "convert" and which.node.operands[0].type is PRED:
            which = Value.of(which.node.operands[0])
    number, branches = _chosen_at_once(
        which.node, _without_repeated_end(list(zip(computations, arguments, strict=True)))
    )
    chosen = _known_branch(lowering, number, len(branches))
    if chosen is not None:
        computation, argument = branches[chosen]
        return lowering.computation(computation, [argument])
    graph = lowering.graph
    lowered = []
    for place, (computation, argument) in enumerate(branches):
        region = graph.region.child("branch")
        with graph.inside(region), lowering.inside_branch(number, place, len(branches)):
            result = lowering.computation(computation, [argument])
            results = [_as_chosen(number, place, lowering.plain(value)) for value in flattened(result)]
        lowered.append(Branch(region, results, graph.effects.get(region)))
    # What all branches give is no choice: a loop may carry it round unchanged.
    common = [_common(graph, alike) for alike in zip(*(branch.results for branch in lowered), strict=True)]
    for branch in lowered:
        branch.results = [own for own, same in zip(branch.results, common, strict=True) if same is None]
    has_effect = any(branch.effect is not None for branch in lowered)
    given: Iterator[Value] = iter(())
    if has_effect or None in common:
        node = placed(graph, "conditional", (number,), has_effect, branches=tuple(lowered))
        given = iter(lowering.items(node))
    return unflattened(instruction.shape, (Value.of(same) if same is not None else next(given) for same in common))


def _as_chosen(which: Node, place: int, result: Node) -> Node:
    """Return the predicate in place of the constant that it has in a branch, if it is a flag that a loop carries: the
    flag stays unchanged.
    """
    is_flag = which.element_type is PRED and which.opcode == "parameter" and "carry" in which.parameters
    is_own = result.is_literal and result.element_type is PRED and bool(literal_value(result)) == bool(place)
    return which if is_flag and is_own else result


_Branches = list[tuple[Computation, Lowered]]


def _chosen_at_once(which: Node, branches: _Branches) -> tuple[Node, _Branches]:
    """Return the branch index and the branches, with conditionals that only compute the index folded into it: JAX
    writes these for the index of a platform. No branch is duplicated.
    """
    while which.opcode == "item" and which.operands[0].opcode == "conditional":
        chosen, index = which.operands[0], which.parameters["index"]
        numbers = [branch.results[index] for branch in chosen.parameters["branches"]]
        if not all(number.is_literal for number in numbers):
            break
        taken = [_branch_of(int(literal_value(number)), len(branches)) for number in numbers]
        fewer = _without_repeated_end([branches[k] for k in taken])
        if len(set(taken[: len(fewer)])) < len(fewer):
            break
        which, branches = chosen.operands[0], fewer
    return which, branches


def _branch_of(number: int, count: int) -> int:
    """Return the branch that an index chooses: the last one for an index out of range."""
    return number if 0 <= number < count else count - 1


def _without_repeated_end(branches: _Branches) -> _Branches:
    """Return the branches without those at the end that compute the same as the last one."""
    while len(branches) > 1:
        (computation, argument), (last, given) = branches[-2:]
        if argument != given or not compute_alike(computation, last):
            break
        branches = branches[:-1]
    return branches


def _common(graph: Graph, given: Sequence[Node]) -> Node | None:
    """Return the value that all branches give; None if they differ."""
    first = given[0]
    if all(node.is_literal and node.type is first.type for node in given):
        texts = {literal_value(node).tobytes() for node in given}
        return graph.literal(literal_value(first), first.type) if len(texts) == 1 else None
    return first if len(set(given)) == 1 else None


def placed(graph: Graph, opcode: str, operands: tuple[Node, ...], has_effect: bool, **parameters: Any) -> Node:
    """Return a loop or conditional, in order with the other side effects if it has any."""
    if has_effect:
        return graph.add_effect(opcode, operands, **parameters)
    return graph.add(opcode, operands, **parameters)


def _known_branch(lowering: FunctionLowering, which: Node, count: int) -> int | None:
    """Return the branch taken if it is known: the only one, one chosen by a constant, or one that an outer conditional
    implies; else None.
    """
    if count == 1:
        return 0
    taken = taken_by(which, count, lowering.taken)
    sizes_are_fixed = lowering.module.options.support.features.sizes_are_fixed and not lowering.graph.sizes_reach
    known = known_value(which) if taken is None and (which.is_literal or sizes_are_fixed) else None
    if known is None:
        return taken
    return _branch_of(int(known), count)
