"""In-place updates of arrays: an update, or a loop, needs no copy of an array that nothing reads afterwards.

An update is made in a copy (``y = x.copy()``, ``y[i] = value``), and a loop that updates a carried array begins with a
copy. The copy is left out if the function owns the array, and if all readers of the array and of its views come before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...array.in_place import is_own_array, is_view, reads_safely
from ...array.node import Node, Region
from ...array.program import Branch, Carry, Function, Loop, tree_nodes
from ...array.traversal import users_of
from ...dataclass import dataclass
from ...walks import reached


@dataclass(frozen=True, slots=True)
class Takeover:
    """A statement at which ``taker``, an update or a loop's initial copy, may reuse the buffer of ``array``."""

    statement: Node
    array: Node
    taker: Node


class Takeovers:
    """The takeovers in the bodies of a function; ``elements_are_numbers`` says that ``x[0]`` is not a view."""

    def __init__(self, function: Function, nodes: Sequence[Node], *, elements_are_numbers: bool) -> None:
        self._nodes = nodes
        self._elements_are_numbers = elements_are_numbers
        self._users = users_of(nodes, tree_nodes(function.results))
        loops: list[Loop] = [node.parameters["loop"] for node in nodes if node.opcode == "loop"]
        self._carries = {carry.parameter: (loop, carry) for loop in loops for carry in loop.carries}
        self._kept = {carry.following for loop in loops for carry in loop.carries}  # live until the iteration ends
        for node in nodes:
            branches: Sequence[Branch] = node.parameters.get("branches", ()) if node.opcode == "conditional" else ()
            self._kept.update(result for branch in branches for result in branch.results)

    def of(self, region: Region) -> Iterator[tuple[Takeover, set[Node]]]:
        """Yield the takeovers in a region, each with the array and its views: all their readers must come before."""
        for node in self._nodes:
            for found in self._candidates(node) if node.region is region else ():
                x = found.array
                looking = self._aliases_if_dead(x, found) if x.ndim and x.region is region and self._is_own(x) else None
                if looking is not None:
                    yield found, looking

    @staticmethod
    def _candidates(node: Node) -> Iterator[Takeover]:
        if node.operation.changes:
            yield Takeover(node, _seen_through(node.operands[0]), node)
        elif node.opcode == "loop":
            for initial in node.operands:
                if initial.opcode == "copy" and node.operands.count(initial) == 1:
                    yield Takeover(node, initial.operands[0], initial)

    def _is_own(self, node: Node, assumed: frozenset[Node] = frozenset()) -> bool:
        """Return whether the function owns an array, under no other name of the program."""
        if node in assumed or node.operation.changes or is_own_array(node):
            return True
        if node.opcode == "item" and node.operands[0].opcode == "loop":
            loop: Loop = node.operands[0].parameters["loop"]
            return self._carries_own(loop, loop.carries[node.parameters["index"]], assumed)
        return node in self._carries and self._carries_own(*self._carries[node], assumed)

    def _carries_own(self, loop: Loop, carry: Carry, assumed: frozenset[Node]) -> bool:
        """Return whether a loop owns the initial value of a carry, and all values that follow."""
        initial, following = carry.initial, carry.following
        if not is_own_array(initial) or len(self._users.get(initial, ())) != 1:
            return False
        if following is None or following is carry.parameter:
            return True
        if following.region is not loop.region or self._escapes(loop, following):
            return False
        return self._is_own(following, assumed | {carry.parameter})

    def _escapes(self, loop: Loop, following: Node) -> bool:
        """Return whether the next iteration also has a next value, or a view of it, under another name."""
        others = [each.following for each in loop.carries]
        views = set(reached([following], self._all_views)) - {following}
        return others.count(following) > 1 or any(node in self._kept for node in views)

    def _all_views(self, node: Node) -> list[Node]:
        """Return the nodes that are, or may be, views of a node."""
        return [view for user in self._users.get(node, ()) if user is not None for view in self._views(user, node)]

    def _aliases_if_dead(self, array: Node, found: Takeover) -> set[Node] | None:
        """Return an array and the nodes that may be views of it, or None if one of them outlives the statement."""
        seen = set()
        for node in reached([array], self._all_views):
            users = self._users.get(node, ())
            if node in self._kept or any(user is None or not self._is_harmless(user, node, found) for user in users):
                return None
            seen.add(node)
        return seen

    def _views(self, user: Node, node: Node) -> list[Node]:
        """Return the results of a user that may be the array or a view of it: a loop may return its initial value."""
        if user.opcode == "loop":
            carries = user.parameters["loop"].carries
            begun = [k for k, carry in enumerate(carries) if carry.initial is node]
            items = [each for each in self._users.get(user, ()) if each is not None and each.opcode == "item"]
            given = [item for item in items if item.parameters["index"] in begun]
            return [*given, *(carries[k].parameter for k in begun)]
        return [user] if is_view(user) and not (self._elements_are_numbers and not user.ndim) else []

    def _is_harmless(self, user: Node, node: Node, found: Takeover) -> bool:
        """Return whether a user is a view, or reads an array without keeping it."""
        if user.opcode == "loop":
            return True
        if user is found.statement:
            others = user.operands[1:]
            return not any(other.ndim and other is node for other in others) or reads_safely(user, node)
        return is_view(user) or user.operation.allocates or user.operation.changes


def _seen_through(array: Node) -> Node:
    """Return the array of which another is a reshape or a transpose."""
    while array.opcode in ("reshape", "transpose"):
        array = array.operands[0]
    return array
