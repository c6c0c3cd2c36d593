"""Traversal of nodes: dependencies, topological order, and users."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..walks import operands_first
from .node import Node, Region
from .program import Branch, Loop

_WITH_BODIES = ("loop", "conditional")


def nested_roots(node: Node) -> list[Node]:
    """Return the nodes that the bodies of a node need: a loop's next values, condition and stores; branches'
    results.
    """
    if node.opcode == "loop":
        return loop_roots(node.parameters["loop"])
    if node.opcode == "conditional":
        branches: tuple[Branch, ...] = node.parameters["branches"]
        effects = [branch.effect for branch in branches if branch.effect is not None]
        return [result for branch in branches for result in branch.results] + effects
    return []


def loop_roots(loop: Loop) -> list[Node]:
    """Return the nodes that a loop needs: next values, stores, condition, effect, count and bounds."""
    roots = [carry.following for carry in loop.carries if carry.following is not None]
    for store in loop.stores:
        roots += [store.value, *store.indices]
    roots += [node for node in (loop.condition, loop.effect, loop.count, *(loop.bounds or ())) if node is not None]
    return roots


def dependencies(node: Node) -> tuple[Node, ...]:
    """Return the nodes that a node needs: operands, roots of its bodies, the effect before it."""
    if node.opcode not in _WITH_BODIES and "after" not in node.parameters:
        return node.operands
    after = node.parameters.get("after")
    return (*node.operands, *nested_roots(node), *((after,) if after is not None else ()))


def topological(roots: Iterable[Node], needs: Callable[[Node], Sequence[Node]] = dependencies) -> list[Node]:
    """Return the nodes that ``roots`` need, in topological order (operands first), including those in bodies."""
    return operands_first(roots, needs)


def is_inside(region: Region, outer: Region) -> bool:
    """Return whether ``region`` is ``outer`` or nested in it."""
    return any(part is outer for part in region.path())


def body_nodes(roots: Iterable[Node], region: Region) -> list[Node]:
    """Return those of the nodes that ``roots`` need that are in a region or nested in it."""
    return [node for node in topological(roots) if is_inside(node.region, region)]


def users_of(nodes: Iterable[Node], roots: Iterable[Node]) -> dict[Node, list[Node | None]]:
    """Return the users of each node among ``nodes``, one entry for each use; None stands for the use as a root."""
    users: dict[Node, list[Node | None]] = {}
    for node in nodes:
        for operand in dependencies(node):
            users.setdefault(operand, []).append(node)
    for root in roots:
        users.setdefault(root, []).append(None)
    return users


def is_place(node: Node, user: Node) -> bool:
    """Tell whether another reads a node as a place in an array, and as nothing else."""
    given = user.operands[: len(user.operation.operands) - 1]
    return user.operation.takes_positions and node not in given


def use_counts(nodes: Iterable[Node], roots: Iterable[Node]) -> dict[Node, int]:
    """Return the number of uses of each node by the given nodes and as a root."""
    counts: dict[Node, int] = {}
    for node in nodes:
        for operand in dependencies(node):
            counts[operand] = counts.get(operand, 0) + 1
    for root in roots:
        counts[root] = counts.get(root, 0) + 1
    return counts


def body_and_captured(node: Node) -> tuple[list[Node], list[Node]]:
    """Return the nodes inside the bodies of a loop or conditional, operands first, and the nodes outside that they
    read.
    """
    if node.opcode == "loop":
        regions = [node.parameters["loop"].region]
    else:
        regions = [branch.region for branch in node.parameters["branches"]]
    needed = nested_roots(node)
    body: list[Node] = []
    captured: dict[Node, None] = {}
    for part in topological(needed):
        if any(is_inside(part.region, region) for region in regions):
            body.append(part)
    inside = set(body)
    for reader in body:
        for part in dependencies(reader):
            if part not in inside:
                captured[part] = None
    for part in needed:
        if part not in inside:
            captured[part] = None
    if node.opcode == "loop":
        inside.update(carry.parameter for carry in node.parameters["loop"].carries)
    return body, [part for part in captured if part not in inside]


def unviewed(node: Node) -> Node:
    """Return the operand behind light views, such as ``expand``."""
    while node.operation.is_view and node.operation.is_light and len(node.operands) == 1:
        node = node.operands[0]
    return node
