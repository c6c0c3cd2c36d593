"""Arrays that are changed where they are: what a change, or a loop, would copy is not read behind it.

A change is one of a copy (``y = x.copy()``, ``y[i] = value``), and a loop that changes what it carries begins with one.
The copy is left out where the array is the function's own, and all that reads it or a view of it comes before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...array.in_place import is_own_array, is_view, lies_apart
from ...array.node import Node, Region
from ...array.program import Branch, Carry, Function, Loop, tree_nodes
from ...array.traversal import users_of
from ...dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Takeover:
    """``taker``, a change or the copy that a loop begins with, may have the array itself at a statement."""

    statement: Node
    array: Node
    taker: Node


class Takeovers:
    """Finds them in the bodies of a function; ``elements_are_numbers`` says whether ``x[0]`` looks at no array."""

    def __init__(self, function: Function, nodes: Sequence[Node], *, elements_are_numbers: bool) -> None:
        self._nodes = nodes
        self._elements_are_numbers = elements_are_numbers
        self._users = users_of(nodes, tree_nodes(function.results))
        loops: list[Loop] = [node.parameters["loop"] for node in nodes if node.opcode == "loop"]
        self._carries = {carry.parameter: (loop, carry) for loop in loops for carry in loop.carries}
        self._kept = {carry.following for loop in loops for carry in loop.carries}  # until the round ends
        for node in nodes:
            branches: Sequence[Branch] = node.parameters.get("branches", ()) if node.opcode == "conditional" else ()
            self._kept.update(result for branch in branches for result in branch.results)

    def of(self, region: Region) -> Iterator[tuple[Takeover, set[Node]]]:
        """Yield those in a body, with all nodes that look at the array: these must be read before."""
        for node in self._nodes:
            for found in self._candidates(node) if node.region is region else ():
                x = found.array
                looking = self._looking(x, found) if x.ndim and x.region is region and self._is_own(x) else None
                if looking is not None:
                    yield found, looking

    @staticmethod
    def _candidates(node: Node) -> Iterator[Takeover]:
        if node.operation.changes:
            yield Takeover(node, node.operands[0], node)
        elif node.opcode == "loop":
            for initial in node.operands:
                if initial.opcode == "copy" and node.operands.count(initial) == 1:
                    yield Takeover(node, initial.operands[0], initial)

    def _is_own(self, node: Node, assumed: frozenset[Node] = frozenset()) -> bool:
        """Tell whether an array is the function's own, and no other name of the program stands for it."""
        if node in assumed or node.operation.changes or is_own_array(node):
            return True
        if node.opcode == "item" and node.operands[0].opcode == "loop":
            loop: Loop = node.operands[0].parameters["loop"]
            return self._carries_own(loop, loop.carries[node.parameters["index"]], assumed)
        return node in self._carries and self._carries_own(*self._carries[node], assumed)

    def _carries_own(self, loop: Loop, carry: Carry, assumed: frozenset[Node]) -> bool:
        """Tell whether a loop begins with an array of its own, and goes on with such."""
        initial, following = carry.initial, carry.following
        if not is_own_array(initial) or len(self._users.get(initial, ())) != 1:
            return False
        if following is None or following is carry.parameter:
            return True
        if following.region is not loop.region or self._escapes(loop, following):
            return False
        return self._is_own(following, assumed | {carry.parameter})

    def _escapes(self, loop: Loop, following: Node) -> bool:
        """Tell whether the next round has a next value, or a view of it, by another name, too."""
        waiting, seen = [following], {following}
        while waiting:
            node = waiting.pop()
            views = [view for user in self._users.get(node, ()) if user is not None for view in self._views(user, node)]
            waiting += [view for view in views if view not in seen]
            seen.update(views)
        others = [each.following for each in loop.carries]
        return others.count(following) > 1 or any(node in self._kept for node in seen - {following})

    def _looking(self, array: Node, found: Takeover) -> set[Node] | None:
        """The nodes that are an array or may be views of it; None where one of them lives on."""
        seen, waiting = {array}, [array]
        while waiting:
            node = waiting.pop()
            if node in self._kept:
                return None
            for user in self._users.get(node, ()):
                if user is None or not self._is_harmless(user, node, found):
                    return None
                views = [view for view in self._views(user, node) if view not in seen]
                seen.update(views)
                waiting += views
        return seen

    def _views(self, user: Node, node: Node) -> list[Node]:
        """What a user gives that may be an array, or look at it: a loop may give what it begins with."""
        if user.opcode == "loop":
            carries = user.parameters["loop"].carries
            begun = [k for k, carry in enumerate(carries) if carry.initial is node]
            items = [each for each in self._users.get(user, ()) if each is not None and each.opcode == "item"]
            given = [item for item in items if item.parameters["index"] in begun]
            return [*given, *(carries[k].parameter for k in begun)]
        return [user] if is_view(user) and not self._is_number(user) else []

    def _is_harmless(self, user: Node, node: Node, found: Takeover) -> bool:
        """Tell whether a user reads an array and lets go of it, or is a view."""
        if user.opcode == "loop":
            return True
        if user is found.statement:
            others = user.operands[1:]
            return not any(other.ndim and other is node for other in others) or lies_apart(user, node)
        return is_view(user) or user.operation.allocates or user.operation.changes

    def _is_number(self, node: Node) -> bool:
        return self._elements_are_numbers and not node.ndim
