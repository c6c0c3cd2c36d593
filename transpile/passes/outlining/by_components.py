"""Repeats: what a program does alike to several arrays becomes one function, such as the update of each parameter of a
model.

An optimiser is written once and traced for every array of a tree, and outside of calls nothing tells the copies apart
but what they compute. Here they are the connected parts of element-wise work on arrays of one shape each; as such work
asks for no shape, parts of different shapes are one function. It gets a name where that saves the reader more than
the calls cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import replace
from math import inf
from typing import Any

from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.program import Function, Program, roots
from ...array.traversal import dependencies, topological
from ...hlo.element_types import PRED
from .regions import Part, in_a_circle, label_of, outline

_LEAST_COPIES = 3
_LEAST_WORK = 6  # operations of a part worth a name
_MOST_VALUES = 12  # inputs and outputs, or one for so many operations:
_WORK_OF_VALUE = 2
_MOST_OF_ANY = 20


def repeats(program: Program, *, of_one_shape: bool = False) -> None:
    """Write parts that are alike as calls of one function; where kernels are written for shapes, those
    ``of_one_shape``.
    """
    outline(program, lambda function: [_groups(function, of_one_shape)], label_of)


def _groups(function: Function, of_one_shape: bool) -> list[list[Part]]:
    """Parts that are alike and worth a function; all of them can be calls at once."""
    live, order = live_nodes(function), topological(roots(function))
    found: dict[Hashable, list[Part]] = {}
    connected = [nodes for nodes in _connected(function, order) if len(nodes) >= _LEAST_WORK]
    lengths = Counter(map(len, connected))
    for nodes in connected:
        part = _part(_by_use(nodes), live) if lengths[len(nodes)] >= _LEAST_COPIES else None
        if part is not None:
            found.setdefault((part.form, nodes[0].shape if of_one_shape else None), []).append(part)
    place = {node: k for k, node in enumerate(order)}
    worth = filter(_is_worth_it, found.values())
    groups = [[part for part in parts if not _needs_itself(part, place)] for parts in worth]
    groups = [parts for parts in groups if _is_worth_it(parts)]
    while groups and (entangled := in_a_circle(function, groups)) is not None:
        groups = [parts for parts in groups if entangled not in parts]
    return [_in_order(_as_written(parts)) for parts in groups]


def _is_worth_it(parts: list[Part]) -> bool:
    if len(parts) < _LEAST_COPIES:
        return False
    work, values = len(parts[0].nodes), parts[0].values
    if work < _LEAST_WORK or values > max(_MOST_VALUES, min(work // _WORK_OF_VALUE, _MOST_OF_ANY)):
        return False
    return 2 * (len(parts) - 1) * work > len(parts) * values


def _in_order(parts: list[Part]) -> list[Part]:
    """Return the parts with the inputs as a person would list them: arguments of the program in its order, other
    arrays, scalars.
    """

    def place(number: int) -> tuple[bool, float]:
        given = [part.inputs[number] for part in parts]
        are_arguments = all(node.opcode == "parameter" and "argument" in node.parameters for node in given)
        return given[0].ndim == 0, given[0].parameters["argument"] if are_arguments else inf

    order = sorted(range(len(parts[0].inputs)), key=place)
    return [replace(part, inputs=[part.inputs[number] for number in order]) for part in parts]


def _connected(function: Function, order: list[Node]) -> list[list[Node]]:
    """The connected parts of element-wise work on arrays, each in the order of the program."""
    root = function.graph.root
    fixed: set[Node] = set()  # positions, tables and what is computed of them with ease, which a function is given
    for node in order:
        is_small = node.opcode != "parameter" and not node.stands_alone and not node.operation.is_costly
        if is_small and fixed.issuperset(dependencies(node)):
            fixed.add(node)
    members = {
        node
        for node in order
        if node.region is root
        and node not in fixed
        and node.operation.is_elementwise
        and isinstance(node.parameters.get("function", ""), str)
        and node.ndim
        and (node.type.is_floating or node.element_type is PRED)
    }
    parent: dict[Node, Node] = {node: node for node in members}

    def leader(node: Node) -> Node:
        while parent[node] is not node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for node in members:
        for operand in node.operands:
            if operand in members:
                parent[leader(operand)] = leader(node)
    together: dict[Node, list[Node]] = {}
    for node in sorted(members, key=lambda node: node.number):
        together.setdefault(leader(node), []).append(node)
    return _joined(list(together.values()), members)


def _joined(parts: list[list[Node]], members: set[Node]) -> list[list[Node]]:
    """Join a part to the only other one that reads all arrays that it reads, where these are several: of an optimiser
    the new weights and the new momentum, which are both made of the gradient and the old momentum.
    """
    read = [
        {operand for node in nodes for operand in node.operands if operand.ndim and operand not in members}
        for nodes in parts
    ]
    readers: dict[Node, set[int]] = {}
    for number, arrays in enumerate(read):
        for array in arrays:
            readers.setdefault(array, set()).add(number)
    into: dict[int, int] = {}
    for number, arrays in enumerate(read):
        others = set.intersection(*(readers[array] for array in arrays)) - {number} if len(arrays) > 1 else set()
        (other,) = others if len(others) == 1 else (number,)
        if other != number and into.get(other) != number:
            into[number] = other
    joined = {number: list(nodes) for number, nodes in enumerate(parts) if number not in into}
    for number, other in into.items():
        if other in joined:
            joined[other] = sorted([*joined[other], *parts[number]], key=lambda node: node.number)
        else:
            joined[number] = parts[number]
    return list(joined.values())


def _by_use(nodes: list[Node]) -> list[Node]:
    """Order the nodes of a part by what needs them, whenever they were made: each behind its operands, from those that
    none of the others needs.
    """
    inside = set(nodes)
    needed = {operand for node in nodes for operand in node.operands}
    found: dict[Node, None] = {}
    for last in (node for node in nodes if node not in needed):
        waiting = [(last, iter(last.operands))]
        while waiting:
            node, operands = waiting[-1]
            following = next((each for each in operands if each in inside and each not in found), None)
            if following is None:
                found[node] = None
                waiting.pop()
            else:
                waiting.append((following, iter(following.operands)))
    return list(found)


def _as_written(parts: list[Part]) -> list[Part]:
    """Return the parts with their nodes in the order in which those of the first one were made."""
    first = parts[0].nodes
    order = sorted(range(len(first)), key=lambda k: first[k].number)
    places = {k: place for place, k in enumerate(order)}
    inputs = dict.fromkeys(operand for k in order for operand in first[k].operands if operand in parts[0].inputs)
    numbers = [parts[0].inputs.index(operand) for operand in inputs]
    return [
        replace(
            part,
            nodes=[part.nodes[k] for k in order],
            inputs=[part.inputs[k] for k in numbers],
            outputs=sorted(places[k] for k in part.outputs),
        )
        for part in parts
    ]


def _part(nodes: list[Node], live: LiveNodes) -> Part | None:
    """A part by what it computes; None where shapes matter, or order is not clear."""
    shape = nodes[0].shape
    place = {node: k for k, node in enumerate(nodes)}
    inputs: dict[Node, int] = {}
    form: list[Hashable] = []
    for node in nodes:
        references: list[Hashable] = []
        for operand in node.operands:
            if operand in place:
                references.append(("part", place[operand]))
            elif operand.is_literal:
                references.append(("literal", operand.element_type, operand.parameters["constant"]))
            elif operand.is_python_int or operand.element_type is None or operand.shape not in ((), shape):
                return None
            else:
                number = inputs.setdefault(operand, len(inputs))
                references.append(("input", number, operand.element_type, bool(operand.shape)))
        if node.shape != shape or any(place.get(operand, -1) >= place[node] for operand in node.operands):
            return None
        form.append((node.opcode, node.element_type, _hashable(node.parameters), tuple(references)))
    outputs = [
        k for k, node in enumerate(nodes) if live.is_root(node) or any(user not in place for user in live.users(node))
    ]
    return Part(nodes, list(inputs), outputs, (tuple(form), tuple(outputs)))


def _hashable(parameters: Mapping[str, Any]) -> Hashable:
    items = sorted(parameters.items())
    return tuple((name, _hashable(value) if isinstance(value, dict) else value) for name, value in items)


def _needs_itself(part: Part, place: dict[Node, int]) -> bool:
    """Something between two nodes of a part is not of it: no call can stand for all of them.

    ``place`` numbers the nodes of the function, operands first: what comes before all of a part needs none of it.
    """
    inside = set(part.nodes)
    first = min(place[node] for node in part.nodes)
    waiting, seen = list(part.inputs), set(part.inputs)
    while waiting:
        needed = [node for node in dependencies(waiting.pop()) if node not in seen and place[node] >= first]
        if not inside.isdisjoint(needed):
            return True
        seen.update(needed)
        waiting += needed
    return False
