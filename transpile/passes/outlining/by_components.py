"""Repeats: computations that a program applies alike to several arrays become one function, such as the update of each
parameter of a model.

An optimiser is written once and traced for every array of a tree, and outside calls only the computation itself
distinguishes the copies. Here they are the connected components of element-wise operations on arrays of one shape each;
as such operations do not depend on shape, components of different shapes share one function. A function is made where
it saves the reader more than the calls cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from math import inf
from typing import Any

from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.program import Function, Program, roots
from ...array.traversal import dependencies, topological
from ...hlo.element_types import PRED
from ...walks import reached
from .copies import Rows, connected
from .leaf_shapes import widen
from .replacing import Alike, cyclic_outline, label_of, outline, readers_in

_LEAST_COPIES = 3
_LEAST_WORK = 6  # operations of a component worth a name
_MOST_VALUES = 12  # inputs and outputs, or one for this many operations:
_WORK_OF_VALUE = 2
_MOST_OF_ANY = 20


def repeats(program: Program, *, of_one_shape: bool = False) -> None:
    """Write components that are alike as calls of one function; if kernels are written for specific shapes, only those
    ``of_one_shape``.
    """
    outline(program, lambda function: [_outlines(function, of_one_shape)], label_of)


def _outlines(function: Function, of_one_shape: bool) -> list[Alike]:
    """The components that are alike and worth a function; all of them can be calls at once."""
    live, order = live_nodes(function), topological(roots(function))
    alike: dict[Hashable, list[list[Node]]] = {}
    members = _members(function, order)
    if not of_one_shape and widen(function.graph, live, _connected(members), _LEAST_COPIES, _LEAST_WORK):
        order = topological(roots(function))
        members = _members(function, order)
    parts = [nodes for nodes in _joined(_connected(members), members) if len(nodes) >= _LEAST_WORK]
    lengths = Counter(map(len, parts))
    for nodes in parts:
        if lengths[len(nodes)] >= _LEAST_COPIES:
            ordered = _by_use(nodes)
            form = _form(ordered, live)
            if form is not None:
                alike.setdefault((form, nodes[0].shape if of_one_shape else None), []).append(ordered)
    place = {node: k for k, node in enumerate(order)}
    found: list[Alike] = []
    for copies in alike.values():
        if _worth_it(copies, live) is not None:
            outline = _worth_it([nodes for nodes in copies if not _needs_itself(nodes, place)], live)
            found += [outline] if outline is not None else []
    while found and (entangled := cyclic_outline(function, found)) is not None:
        found = [each for each in found if each is not entangled]
    return found


def _worth_it(copies: list[list[Node]], live: LiveNodes) -> Alike | None:
    """Copies as an outline, with the inputs in the order in which a person would list them: arguments of the program,
    other arrays, scalars. None if they are not worth a function.
    """
    if len(copies) < _LEAST_COPIES:
        return None
    rows = sorted(zip(*copies, strict=True), key=lambda row: row[0].number)  # as the first one was written
    found = Rows(rows).outline(lambda column: column[0].is_literal, readers_in(live))
    found.inputs.sort(key=_place)
    work = len(rows)
    is_short = found.values <= max(_MOST_VALUES, min(work // _WORK_OF_VALUE, _MOST_OF_ANY))
    return found if is_short and found.saving(work) > 0 else None


def _place(column: tuple[Node, ...]) -> tuple[bool, float]:
    are_arguments = all(node.opcode == "parameter" and "argument" in node.parameters for node in column)
    return column[0].ndim == 0, column[0].parameters["argument"] if are_arguments else inf


def _members(function: Function, order: list[Node]) -> set[Node]:
    """The element-wise operations on arrays."""
    root = function.graph.root
    fixed: set[Node] = set()  # positions, tables and cheap results of them, which are inputs of a function
    for node in order:
        is_small = node.opcode != "parameter" and not node.stands_alone and not node.operation.is_costly
        if is_small and fixed.issuperset(dependencies(node)):
            fixed.add(node)
    return {
        node
        for node in order
        if node.region is root
        and node not in fixed
        and node.operation.is_elementwise
        and isinstance(node.parameters.get("function", ""), str)
        and node.ndim
        and (node.type.is_floating or node.element_type is PRED)
    }


def _connected(members: set[Node]) -> list[list[Node]]:
    """The connected components of element-wise operations, each in program order."""
    return connected(sorted(members, key=lambda node: node.number), lambda node: node.operands)


def _joined(parts: list[list[Node]], members: set[Node]) -> list[list[Node]]:
    """Merge a component with the only other one that reads all arrays that it reads, if these are several: an
    optimiser's new weights and new momentum are both computed from the gradient and the old momentum.
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
    """Order the nodes of a component by dependence, whatever their original order: each after its operands, starting
    from those that no other node of the component needs.
    """
    inside = set(nodes)
    needed = {operand for node in nodes for operand in node.operands}
    last = [node for node in nodes if node not in needed]
    return topological(last, lambda node: [operand for operand in node.operands if operand in inside])


def _form(nodes: list[Node], live: LiveNodes) -> Hashable:
    """A key that is equal for components that compute the same; None if shapes matter, or the order is not clear."""
    readers = readers_in(live)
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
    outputs = [k for k, node in enumerate(nodes) if any(reader not in place for reader in readers(node))]
    return tuple(form), tuple(outputs)


def _hashable(parameters: Mapping[str, Any]) -> Hashable:
    items = sorted(parameters.items())
    return tuple((name, _hashable(value) if isinstance(value, dict) else value) for name, value in items)


def _needs_itself(nodes: list[Node], place: dict[Node, int]) -> bool:
    """Whether a path between two nodes of a component leads outside it, so that no call can replace all of them.

    ``place`` numbers the nodes of the function, operands first: nodes before the whole component do not depend on it.
    """
    inside = set(nodes)
    first = min(place[node] for node in nodes)
    outside = {operand for node in nodes for operand in node.operands if operand not in inside}
    needed = reached(outside, lambda node: (other for other in dependencies(node) if place[other] >= first))
    return any(node in inside for node in needed)
