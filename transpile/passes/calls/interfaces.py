"""Removes redundant parameters and results of functions.

A traced function takes and returns all values that cross its boundary: the same value twice, an argument as a result, a
part of an argument, and cheap functions of a result that only the gradient of the function reads.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ...array.graph import Graph
from ...array.intervals import narrowed
from ...array.live import live_nodes
from ...array.node import Node, literal_value
from ...array.program import Function, Program
from ...array.rewriting import copied, rewrite
from ...array.value import getitem
from ...dataclass import dataclass
from .inlining import calls_of, copy_of, handed_on, operations_between, used_functions

Arguments = Mapping[int, Node]  # dropped parameters by position, with their replacements in the function
Results = Mapping[int, Node | None]  # dropped results by position, with the node that callers make, None if unread
_MOST_MOVED = 2  # element-wise operations that move from the producer of a value to its consumer


def interfaces(program: Program) -> None:
    """Drop parameters and results of functions that follow from others, until there are none."""
    fixed = {program.entry, *handed_on(program.functions)}
    fixed |= {function for function in program.functions if function.block_of}
    moved: set[Node] = set()
    for called in (each for each in program.functions[:-1] if each not in fixed):
        _unstack(program, called)
    while any(_drop(program, called, moved) for called in program.functions if called not in fixed):
        pass
    for function in program.functions:
        rewrite(function, ("getitem",), partial(_part_of_view, function.graph))
    used = used_functions(program)
    program.functions[:] = [function for function in program.functions if function in used]


def _drop(program: Program, called: Function, moved: set[Node]) -> bool:
    """Drop the redundant parameters and results of one function; return whether there were any.

    ``moved`` are nodes that were moved from other functions.
    """
    calls = [_Call(caller, call) for caller in program.functions for call in calls_of(caller, called)]
    if not calls:
        return False
    arguments, results = _following_arguments(called, calls, moved), _following_results(called, calls)
    has_axes = any(_without_axes(called, node) is not node for node in called.flat_results)
    if arguments or results or has_axes:
        moved.update(arguments.values())
        drop_from_interface(program, called, arguments, results)
    return bool(arguments or results or has_axes)


def _unstack(program: Program, called: Function) -> None:
    """Return the arrays of stacks of which all calls only read these, as gradients do of positions."""
    calls = [_Call(caller, call) for caller in program.functions for call in calls_of(caller, called)]
    if called.repeated or not isinstance(called.results, tuple):
        return
    given = called.flat_results
    stacks = {place: node for place, node in enumerate(given) if node.opcode == "stack"}
    for call, item in [(each, item) for each in calls for item in each.users(each.node)]:
        place = item.parameters["index"]
        users = call.users(item) if place in stacks else []
        if live_nodes(call.caller).is_root(item) or not all(_reads_one(user, stacks[place]) for user in users):
            stacks.pop(place, None)
    if stacks:
        parts = dict.fromkeys(part for node in stacks.values() for part in node.operands)
        more = [part for part in parts if not part.is_literal and part not in (*given, *called.parameters)]
        drop_from_interface(program, called, {}, stacks, more)


def _reads_one(user: Node, stack: Node) -> bool:
    """Return whether a node reads one of the arrays of a stack, or a part of one."""
    axis, index = stack.parameters["axis"], user.parameters.get("index", ())
    is_part = user.opcode == "getitem" and len(user.operands) == 1
    return is_part and len(index) > axis and None not in index and isinstance(index[axis], int)


def _part_of_view(graph: Graph, node: Node) -> Node | None:
    """Return a part of a view or of a stack as a part of its source."""
    if len(node.operands) != 1 or node.operands[0].opcode not in ("expand", "stack"):
        return None
    made = getitem(graph, node.operands[0], node.parameters["index"])
    return made if made.shape == node.shape else None


@dataclass(frozen=True, slots=True)
class _Call:
    caller: Function
    node: Node

    def users(self, node: Node) -> list[Node]:
        return live_nodes(self.caller).users(node)


# -- results


def _following_results(called: Function, calls: Sequence[_Call]) -> Results:
    """Return the results that are unread, repeated, or views of parameters, of other results or of constants."""
    given = called.flat_results
    if not isinstance(called.results, tuple):
        return {}
    read = sorted({user.parameters["index"] for call in calls for user in call.users(call.node)})
    found: dict[int, Node | None] = {place: None for place in range(len(given)) if place not in read}
    known = {*called.parameters, *(given[place] for place in read)}
    for place in read:
        node = given[place]
        is_again = any(given[other] is node for other in read if other < place)
        if is_again or node in called.parameters or _is_view(node, known - {node}):
            found[place] = node
    return found


def _is_view(node: Node, known: set[Node]) -> bool:
    """Return whether a node is a view of a known node or of a constant."""
    while node not in known and node.operation.is_view and len(node.operands) == 1:
        (node,) = node.operands
    return node in known or node.opcode == "array"


# -- arguments


def _following_arguments(called: Function, calls: Sequence[_Call], moved: Container[Node]) -> Arguments:
    """Return the parameters that are unread, or follow from others in all calls in the same way."""
    live = live_nodes(called)
    unread = {
        k: own for k, own in enumerate(called.parameters) if not live.users(own) and own not in called.flat_results
    }
    found = dict(unread)
    for place in (place for place in range(len(called.parameters)) if place not in unread):
        others = {k: own for k, own in enumerate(called.parameters) if k != place and k not in found}
        if (made := _made_of_others(called, calls, place, others, moved)) is not None:
            found[place] = made
    return found


def _made_of_others(
    called: Function, calls: Sequence[_Call], place: int, others: Mapping[int, Node], moved: Container[Node]
) -> Node | None:
    """Return the replacement of a parameter, or None: an equal earlier parameter, or a copy of the operations by which
    another function makes it, if all calls pass the parameters and results that these operations need.
    """
    given = [(call, call.node.operands[place]) for call in calls]
    for other, parameter in others.items():
        if other < place and all(call.node.operands[other] is node for call, node in given):
            return parameter
    if not all(call.users(node) == [call.node] and not live_nodes(call.caller).is_root(node) for call, node in given):
        return None
    if len(calls) > 1 and (made := _made_alike(called, given, place, others)) is not None:
        return made
    first, argument = given[0]
    if len(calls) == 1 and _without_axes(called, argument) in moved:
        source, result = first.caller, argument
        known = {first.node.operands[other]: parameter for other, parameter in others.items()}
    else:
        sources = {_result(node) for _, node in given}
        source, result = next(iter(sources)) or (called, argument)
        if len(sources) > 1 or source is called:
            return None
        known = {
            inner: parameter
            for other, parameter in others.items()
            for inner in _inner(source, [(node.operands[0], call.node.operands[other]) for call, node in given])
        }
    known.pop(result, None)
    if operations_between(known, result, partial(_may_move, source)) > _MOST_MOVED:
        return None
    with called.graph.standing_for(called.parameters[place], None):
        return copy_of(called.graph, result, known, source.graph)


def _made_alike(
    called: Function, given: Sequence[tuple[_Call, Node]], place: int, others: Mapping[int, Node]
) -> Node | None:
    """Return the copy of a cheap operation that all calls make of the same other arguments and numbers, or None."""
    first = given[0][1]
    forms = {(node.opcode, node.shape, node.element_type, node.is_python_int, len(node.operands)) for _, node in given}
    is_cheap = first.operation.is_elementwise and not first.operation.is_costly and not first.stands_alone
    if len(forms) > 1 or not is_cheap or any(node.parameters != first.parameters for _, node in given):
        return None
    columns = [[(call.node, node.operands[k]) for call, node in given] for k in range(len(first.operands))]
    operands = [_of_column(called.graph, column, others) for column in columns]
    own = tuple(operand for operand in operands if operand is not None)
    if len(own) < len(operands):
        return None
    with called.graph.standing_for(called.parameters[place], None):
        return copied(called.graph, first, own, narrowed(first, own), first.parameters)


def _of_column(graph: Graph, column: Sequence[tuple[Node, Node]], others: Mapping[int, Node]) -> Node | None:
    """Return what a function has for a value of each call: a parameter, a number that is the same in all, or None."""
    (_, first), *_ = column
    if first.is_literal:
        is_one = all(value.is_literal and value.parameters == first.parameters for _, value in column)
        return graph.literal(literal_value(first), first.type) if is_one else None
    given = (own for k, own in others.items() if all(call.operands[k] is value for call, value in column))
    return next(given, None)


def _result(node: Node) -> tuple[Function, Node] | None:
    """Return the function of which a node is one of several results, and that result in the function; None if it is
    none.
    """
    maker = node.operands[0] if node.opcode == "item" else node
    if maker is node or maker.opcode != "call":
        return None
    function: Function = maker.parameters["function"]
    return function, function.flat_results[node.parameters["index"]]


def _inner(source: Function, given: Sequence[tuple[Node, Node]]) -> set[Node]:
    """Return the parameters and results of a function that correspond to an operand in all calls.

    ``given`` has, for each call, the call of ``source`` that makes the value, and the other operand.
    """
    each = [
        {own for own, operand in zip(source.parameters, maker.operands, strict=True) if operand is node}
        | ({source.flat_results[node.parameters["index"]]} if node.operands[:1] == (maker,) else set())
        for maker, node in given
    ]
    return set.intersection(*each)


def _may_move(source: Function, node: Node) -> bool:
    """Return whether an operation may be done again: it is no work, or none that is costly is done twice."""
    row = node.operation
    return row.is_view or (row.is_elementwise and (not row.is_costly or live_nodes(source).count(node) == 1))


# -- calls


def drop_from_interface(
    program: Program, called: Function, arguments: Arguments, results: Results, more: Sequence[Node] = ()
) -> Function:
    """Replace a function by one without some parameters and results, and with ``more`` results, all without added axes;
    return it.
    """
    kept = [node for place, node in enumerate(called.flat_results) if place not in results]
    left = [_without_axes(called, node) for node in (*kept, *more)]
    function = replace(
        called,
        parameters=[node for place, node in enumerate(called.parameters) if place not in arguments],
        repeated=tuple(nodes for place, nodes in enumerate(called.repeated) if place not in arguments),
        results=tuple(left) if len(left) != 1 else left[0],
        live=None,
    )
    program.functions[program.functions.index(called)] = function
    live = live_nodes(function)
    for place, node in arguments.items():
        if (old := called.parameters[place]) in live and old is not node:
            live.replace(old, node)
    live.flush()
    for caller in program.functions:
        if any(calls_of(caller, called)):
            rewrite(
                caller, ("call", "item"), partial(_called_with_less, caller, called, function, arguments, results, left)
            )
    return function


def _without_axes(called: Function, node: Node) -> Node:
    """Return the source of a result that only adds axes; the result itself if calls have several shapes."""
    return node.operands[0] if node.opcode == "expand" and not called.repeated else node


def _called_with_less(
    caller: Function,
    called: Function,
    function: Function,
    arguments: Arguments,
    results: Results,
    given: Sequence[Node],
    node: Node,
) -> Node | None:
    """Return a result of a call with the new ``function`` in place of ``called``, which gives other results; None for
    other nodes.
    """
    call, graph = (node.operands[0] if node.opcode == "item" else node), caller.graph
    if call.opcode != "call" or call.parameters["function"] is not called or node.results:
        return None
    left = [place for place in range(len(called.flat_results)) if place not in results]
    operands = tuple(operand for k, operand in enumerate(call.operands) if k not in arguments)
    new = graph.add("call", operands, function=function, **(_types(call, left) if called.repeated else {}))
    known = dict(zip(called.parameters, call.operands, strict=True))
    for index, own in enumerate(given):
        known[own] = graph.add("item", (new,), index=index) if len(given) > 1 else new
    place = node.parameters["index"] if node.opcode == "item" else 0
    return copy_of(graph, results.get(place) or called.flat_results[place], known, called.graph)


def _types(call: Node, left: Sequence[int]) -> dict[str, Any]:
    """Return the parameters for the types of some results of a call."""
    types = [call.results[place] if call.results else (call.shape, call.element_type) for place in left]
    return {"results": tuple(types)} if len(types) != 1 else {"shape": types[0][0], "element_type": types[0][1]}
