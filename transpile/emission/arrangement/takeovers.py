"""In-place updates of arrays: an update, or a loop, needs no copy of an array that nothing reads afterwards.

An update is made in a copy (``y = x.copy()``, ``y[i] = value``), and a loop that updates a carried array begins with a
copy. The copy is left out if the function owns the array, and if all readers of the array and of its views come before.

In a branch, an array of the body around may be updated, too, if that body reads it only before the branches, and the
branch itself only before the update: ``if ok: x[i] = value``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...array.in_place import is_own_array, is_view, reads_safely, runs_more_often
from ...array.node import Node, Region
from ...array.program import Branch, Carry, Function, Loop, tree_nodes
from ...array.traversal import is_inside, users_of
from ...dataclass import dataclass
from ...walks import reached


@dataclass(frozen=True, slots=True)
class Takeover:
    """A statement at which ``taker``, an update or a loop's initial copy, may reuse the buffer of ``array``; in the
    bodies around the taker's, the conditional that it is in.
    """

    statement: Node
    array: Node
    taker: Node

    @property
    def is_around(self) -> bool:
        return self.statement.opcode == "conditional"


class Takeovers:
    """The takeovers in the bodies of a function; ``elements_are_numbers`` says that ``x[0]`` is not a view.

    A taker in a branch is first ``admitted`` by each body around.
    """

    def __init__(self, function: Function, nodes: Sequence[Node], *, elements_are_numbers: bool) -> None:
        self._nodes = nodes
        self._elements_are_numbers = elements_are_numbers
        self._users = users_of(nodes, tree_nodes(function.results))
        loops = [(node, carry) for node in nodes if node.opcode == "loop" for carry in node.parameters["loop"].carries]
        self._carries: dict[Node, tuple[Node, Carry]] = {carry.parameter: (node, carry) for node, carry in loops}
        self._kept = {carry.following for _, carry in loops}  # live until the iteration ends
        conditionals = (node for node in nodes if node.opcode == "conditional")
        self._choices: dict[Region, tuple[Node, Branch]] = {
            branch.region: (node, branch) for node in conditionals for branch in node.parameters["branches"]
        }
        self._owns_carried = False
        self.admitted: set[tuple[Region, Node]] = set()

    def of(self, region: Region, *, owns_carried: bool) -> Iterator[tuple[Takeover, set[Node]]]:
        """Yield the takeovers in a region, each with the array and its views: all their readers must come before.

        ``owns_carried`` says that each loop begins with arrays of its own for what it changes.
        """
        self._owns_carried = owns_carried
        for node in self._nodes:
            if not is_inside(node.region, region):
                continue
            for found in self._candidates(node):
                x = found.array
                way = self._way(found.statement, self._memory(x)) if x.ndim and self._is_own(x) else []
                regions = [statement.region for statement in way]
                if region not in regions:
                    continue
                level = regions.index(region)
                if level and (regions[level - 1], found.taker) not in self.admitted:
                    continue
                looking = self._aliases_if_dead(found, way)
                if looking is not None:
                    yield Takeover(way[level], x, found.taker), looking

    def results(self, region: Region) -> list[Node]:
        """Return the results of a branch, given its region; none for other regions."""
        return self._choices[region][1].results if region in self._choices else []

    @staticmethod
    def _candidates(node: Node) -> Iterator[Takeover]:
        if node.operation.changes:
            yield Takeover(node, _seen_through(node.operands[0]), node)
        elif node.opcode == "loop":
            for initial in node.operands:
                if initial.opcode == "copy" and node.operands.count(initial) == 1:
                    yield Takeover(node, initial.operands[0], initial)

    def _memory(self, array: Node) -> list[Node]:
        """Return an array and what the branches that it comes from may give as it."""

        def given(node: Node) -> Iterable[Node]:
            if node.opcode != "item" or node.operands[0].opcode != "conditional":
                return ()
            return (branch.results[node.parameters["index"]] for branch in node.operands[0].parameters["branches"])

        return list(reached([array], given))

    def _way(self, statement: Node, arrays: Iterable[Node]) -> list[Node]:
        """Return the conditionals around a statement, from the body with the outermost of some arrays on, and the
        statement; nothing if a loop is in between.
        """
        outermost = min((array.region for array in arrays), key=lambda region: region.depth)
        way = [statement]
        while way[0].region is not outermost:
            if way[0].region not in self._choices:
                return []
            way.insert(0, self._choices[way[0].region][0])
        return way

    def _is_own(self, node: Node, assumed: frozenset[Node] = frozenset()) -> bool:
        """Return whether the function owns an array, under no other name of the program."""
        if node in assumed or node.operation.changes or is_own_array(node):
            return True
        if node.opcode == "item" and node.operands[0].opcode == "loop":
            loop: Loop = node.operands[0].parameters["loop"]
            return self._carries_own(node.operands[0], loop.carries[node.parameters["index"]], assumed)
        if node.opcode == "item" and node.operands[0].opcode == "conditional":
            return self._branches_own(node.operands[0], node.parameters["index"], assumed)
        return node in self._carries and self._carries_own(*self._carries[node], assumed)

    def _branches_own(self, conditional: Node, index: int, assumed: frozenset[Node]) -> bool:
        """Return whether each branch gives an array that the function owns, and gives it once."""
        branches: Sequence[Branch] = conditional.parameters["branches"]
        for branch in branches:
            result = branch.results[index]
            looks = set(reached([result], self._all_views))
            if sum(other in looks for other in branch.results) > 1 or not self._is_own(result, assumed):
                return False
            if not is_inside(result.region, branch.region) and not self._way(conditional, [result]):
                return False
        return True

    def _carries_own(self, node: Node, carry: Carry, assumed: frozenset[Node]) -> bool:
        """Return whether a loop owns the initial value of a carry, which no loop around it reads again, and all values
        that follow.
        """
        loop: Loop = node.parameters["loop"]
        initial, following = carry.initial, carry.following
        is_changed = following not in (None, carry.parameter)
        is_alone = len(self._users.get(initial, ())) == 1 and not runs_more_often(node, initial)
        is_own = is_own_array(initial) and is_alone
        if not is_own and not (is_changed and self._owns_carried):
            return False
        if following is None or not is_changed:
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

    def _aliases_if_dead(self, found: Takeover, way: Sequence[Node]) -> set[Node] | None:
        """Return an array and the nodes that may be views of it, or None if one of them outlives the statement.

        What the conditionals on the ``way`` give comes after the statement.
        """

        def views(node: Node) -> list[Node]:
            users = (user for user in self._users.get(node, ()) if user is not None and user not in way)
            return [view for user in users for view in self._views(user, node)]

        seen = set()
        for node in reached(self._memory(found.array), views):
            users = self._users.get(node, ())
            if node in self._kept or any(user is None or not self._is_harmless(user, node, found) for user in users):
                return None
            seen.add(node)
        return seen

    def _views(self, user: Node, node: Node) -> list[Node]:
        """Return the results of a user that may be the array or a view of it: a loop may return its initial value, and
        branches what they are given.
        """
        items = [each for each in self._users.get(user, ()) if each is not None and each.opcode == "item"]
        if user.opcode == "loop":
            carries = user.parameters["loop"].carries
            begun = [k for k, carry in enumerate(carries) if carry.initial is node]
            given = [item for item in items if item.parameters["index"] in begun]
            return [*given, *(carries[k].parameter for k in begun)]
        if user.opcode == "conditional":
            branches: Sequence[Branch] = user.parameters["branches"]
            return [item for item in items if any(b.results[item.parameters["index"]] is node for b in branches)]
        return [user] if is_view(user) and not (self._elements_are_numbers and not user.ndim) else []

    def _is_harmless(self, user: Node, node: Node, found: Takeover) -> bool:
        """Return whether a user is a view, or reads an array without keeping it."""
        if user.opcode in ("loop", "conditional"):
            return True
        if user is found.taker:
            others = user.operands[1:]
            return not any(other.ndim and other is node for other in others) or reads_safely(user, node)
        return is_view(user) or user.operation.allocates or user.operation.changes


def _seen_through(array: Node) -> Node:
    """Return the array of which another is a reshape or a transpose."""
    while array.opcode in ("reshape", "transpose"):
        array = array.operands[0]
    return array
