"""The nodes of a function and their neighbourhoods, by which similar nodes are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import pairwise

from ...array.graph import Graph, frozen
from ...array.live import live_nodes
from ...array.node import Node
from ...array.program import Function, roots
from ...array.traversal import dependencies, topological
from .replacing import is_leaf, readers_in

_ROUNDS = 3  # radius of the neighbourhood that distinguishes a node from others

Row = tuple[Node, ...]  # corresponding nodes, one per copy


class Surroundings:
    """The nodes of a function in order, their kinds, and their users: ``users`` among the nodes that copies may
    contain, and ``outer_users`` among the nodes that are ``left_out``.
    """

    def __init__(self, function: Function, left_out: Collection[Node] = ()) -> None:
        self.graph, self.live = function.graph, live_nodes(function)
        self.readers = readers_in(self.live)
        self.order = _with_unread_results(function.graph, topological(roots(function)))
        self.place = {node: k for k, node in enumerate(self.order)}
        self.needs = [tuple([self.place[part] for part in dependencies(node)]) for node in self.order]  # places
        root = function.graph.root
        self._numbers: dict[Hashable, int] = {}
        movable = (node for node in self.order if node.region is root and _is_movable(node))
        self.members = {node for node in movable if node not in left_out}
        self.users: dict[Node, list[tuple[Node, int]]] = {}  # with the index of the operand
        self.outer_users: dict[Node, list[tuple[Node, int]]] = {}
        for node in self.order:
            if node in self.members or node in left_out:
                users = self.users if node in self.members else self.outer_users
                for k, operand in enumerate(node.operands):
                    users.setdefault(operand, []).append((node, k))
        self.kinds = {node: self._number(_kind(node)) for node in self.order}
        self.hashes = [self.kinds]
        for _ in range(_ROUNDS):
            self.hashes.append(self._refined(self.hashes[-1]))
        self._grown: set[tuple[int, Node]] = set()
        self._depths: list[int] = []
        for needs in self.needs:
            self._depths.append(1 + max([self._depths[part] for part in needs], default=0))

    def _number(self, value: Hashable) -> int:
        return self._numbers.setdefault(value, len(self._numbers))

    def _refined(self, known: dict[Node, int]) -> dict[Node, int]:
        """Refined class numbers that also distinguish the classes of operands and users; a node that is alone in its
        class keeps its number.
        """
        found: dict[Node, int] = {}
        counts = Counter(known.values())
        for node in self.order:
            if counts[known[node]] == 1:
                found[node] = known[node]
                continue
            inner = tuple([known[operand] for operand in node.operands])
            outer = [(known[user], k) for user, k in self.users.get(node, ())]
            if len(outer) > 1:
                outer.sort()
            found[node] = self._number((known[node], inner, tuple(outer)))
        return found

    def classes(self, least: int) -> list[Row]:
        """Rows of similar nodes in program order, each row once: those distinguished by the largest neighbourhoods
        first.
        """
        found: dict[Row, None] = {}
        heavy = [node for node in self.order if node in self.members and not node.operation.is_light]
        for known in reversed(self.hashes):
            together: dict[int, list[Node]] = {}
            for node in heavy:
                together.setdefault(known[node], []).append(node)
            found.update(dict.fromkeys(tuple(nodes) for nodes in together.values() if len(nodes) >= least))
        return [nodes for nodes in found if self.may_be_chain(nodes)]

    def may_be_chain(self, nodes: Row) -> bool:
        """Whether each node is deeper than the one before it, as a node that depends on another is."""
        if not all(node in self.place for node in nodes):
            return False
        depths = [self._depths[self.place[node]] for node in nodes]
        return all(before < depth for before, depth in pairwise(depths))

    def note_grown(self, rows: Iterable[Row]) -> None:
        """Record that copies of these nodes, that many of them, exist, so that growing need not start from them
        again.
        """
        self._grown.update((len(row), node) for row in rows for node in row)

    def note_made(self, node: Node, likes: Row) -> None:
        """Register a node that nothing reads yet, similar to others, so that it can join them."""
        self.kinds[node] = self.kinds[likes[0]]
        self.members.add(node)

    def has_grown(self, row: Row) -> bool:
        """Whether that many copies have already been grown to include a node."""
        return (len(row), row[0]) in self._grown

    def steps(self, anchors: Row) -> tuple[list[int], list[int]] | None:
        """For each place, the number of the last anchor that its node depends on (0 for none), and of the first anchor
        that depends on it (the number of anchors plus 1 for none); anchors count from 1. None if they are no chain.
        """
        number = {self.place[node]: k for k, node in enumerate(anchors, 1)}
        needs = [0] * len(self.order)
        for place in range(min(number), len(self.order)):
            last = 0
            for part in self.needs[place]:
                if needs[part] > last:
                    last = needs[part]
            if place in number:
                if last != number[place] - 1:
                    return None
                last = number[place]
            needs[place] = last
        needed = [len(anchors) + 1] * len(self.order)
        for place in range(max(number), -1, -1):
            own = needed[place] = number.get(place, needed[place])
            for part in self.needs[place]:
                if needed[part] > own:
                    needed[part] = own
        return needs, needed


def _with_unread_results(graph: Graph, order: Sequence[Node]) -> list[Node]:
    """The nodes, together with the unread results of a call, after it, that are read of other calls of the same
    function: the last layer's gradient may be one that nothing needs.
    """
    read: dict[Function, set[int]] = {}
    own: dict[Node, set[int]] = {}
    for node in order:
        if node.opcode == "item" and node.operands[0].opcode == "call":
            (call,) = node.operands
            read.setdefault(call.parameters["function"], set()).add(node.parameters["index"])
            own.setdefault(call, set()).add(node.parameters["index"])
    found: list[Node] = []
    for node in order:
        found.append(node)
        if node in own:
            unread = read[node.parameters["function"]] - own[node]
            found += [graph.add("item", (node,), index=index) for index in sorted(unread)]
    return found


def _is_movable(node: Node) -> bool:
    if node.opcode == "item":
        return _is_movable(node.operands[0])
    if node.opcode in ("parameter", "loop", "conditional", "kernel") or "effect" in node.parameters or is_leaf(node):
        return False
    if "after" in node.parameters or "stands_for" in node.parameters:
        return False
    return bool(node.results) or (node.element_type is not None and not node.is_python_int)


def _kind(node: Node) -> Hashable:
    """A key that is equal for nodes that apply the same operation to operands of the same types."""
    operands = tuple(
        operand if is_leaf(operand) else (operand.shape, operand.element_type) for operand in node.operands
    )
    parameters = frozen(node.parameters) if not node.stands_alone or node.operation.changes else node
    return node.opcode, node.shape, node.element_type, node.is_python_int, node.results, parameters, operands
