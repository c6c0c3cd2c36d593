"""Values that a loop computes of an array before it changes the array, and uses behind the change: they get names, so
that the array can change in place.

``a = x[i]``, ``x[i] = x[j]``, ``x[j] = a`` need no copy of the array; ``x[j] = x[i]`` behind the first change does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...array.in_place import is_view
from ...array.node import Node, Region
from ...array.program import Loop
from ...array.traversal import is_inside
from ...walks import reached

Users = Mapping[Node, Sequence[Node | None]]


def early_reads(nodes: Sequence[Node], users: Users) -> set[Node]:
    """Return the nodes that read an array which a loop changes, and are used behind the change."""
    found: set[Node] = set()
    for change in nodes:
        if not change.region.is_in_loop:
            continue
        for array in _changed(change):
            if len(users[array]) > 1:
                found.update(_early(change, array, users))
    return found


def _changed(node: Node) -> Iterator[Node]:
    """Yield the arrays in which a node may write its results."""
    if node.operation.changes:
        yield node.operands[0]
    elif node.opcode == "loop":
        loop: Loop = node.parameters["loop"]
        for carry in loop.carries:
            if carry.parameter.ndim and carry.following not in (None, carry.parameter):
                yield carry.initial.operands[0] if carry.initial.opcode == "copy" else carry.initial


def _early(change: Node, array: Node, users: Users) -> Iterator[Node]:
    """Yield the values computed of an array that are read behind a change of it."""
    region = change.region
    around = _around(region, array.region)
    behind = set(reached([change], lambda node: _in_region(users.get(node, ()), region)))
    if change.opcode == "loop":
        behind.update(node for node in users if is_inside(node.region, change.parameters["loop"].region))

    def following(node: Node) -> list[Node]:
        """Return what else reads the array, through a node that does and gets no name."""
        if node in behind or node.region not in around or (node is not array and may_be_named(node)):
            return []
        return [user for user in users.get(node, ()) if user is not None and not _is_statement(user)]

    def may_be_named(node: Node) -> bool:
        is_read_behind = any(user in behind and user is not change for user in users.get(node, ()))
        return is_read_behind and not (node.ndim and is_view(node)) and not node.operation.is_atom

    for node in reached([array], following):
        if node is not array and node not in behind and node.region in around and may_be_named(node):
            yield node


def _around(region: Region, outermost: Region) -> list[Region]:
    """Return a region and the regions around the branches that it is in, up to one that has an array."""
    around = [region]
    while around[-1] is not outermost and around[-1].kind == "branch" and around[-1].parent is not None:
        around.append(around[-1].parent)
    return around


def _in_region(users: Sequence[Node | None], region: object) -> list[Node]:
    return [user for user in users if user is not None and any(each is region for each in user.region.path())]


def _is_statement(node: Node) -> bool:
    return bool(node.results) or node.operation.changes or node.opcode in ("item", "kernel")
