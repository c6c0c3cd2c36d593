"""Name allocation: the value that each name of a function stands for, and when another value may take the name over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from ...array.node import Node
from ...array.program import Loop
from ...array.traversal import nested_roots
from ..arrangement.folding import Plan
from ..arrangement.schedule import Body, Reads, statement_of
from .identifiers import Names, identifier
from .known_types import KnownType, may_follow

_FOREVER = 1 << 30


class NameAllocation:
    """The values that have names while a function is written, in the order in which it runs."""

    def __init__(
        self, plan: Plan, reads: Reads, names: Names, results: Iterable[Node], types: Mapping[Node, KnownType]
    ) -> None:
        self.plan = plan
        self.reads = reads
        self.names = names
        self.known_types = types
        self._holders: dict[str, Node] = {}  # name: the value it stands for
        self._types: dict[str, set[KnownType | None]] = {}  # name: the types of all values it has stood for
        self._taken_until: dict[Node, set[Node]] = {}  # carry, value in its name: values that may have the name
        self._borrowed = set[Node]()  # carries, and new values that have their names
        self.shares = True  # whether values may take over the names of dead values
        self._results = tuple(results)
        self._pending = self._counted()  # value: the statements that are still to read it; results count as one

    def _counted(self) -> Counter[Node]:
        found: Counter[Node] = Counter()
        for node in self.plan.nodes:
            if node in self.plan.named and node.opcode not in ("parameter", "item"):
                found.update(self.reads.of(node))
            for root in nested_roots(node):
                found.update(self.reads.of_roots([root]))
        found.update(self.reads.of_roots(self._results))
        return found

    def become_statements(self, nodes: Collection[Node]) -> None:
        """Record that nodes are statements, no parts of other expressions, while nothing is written yet."""
        if not self.plan.named.issuperset(nodes):
            before = self._counted()
            self.plan.named.update(nodes)
            self._pending.update(self._counted())
            self._pending.subtract(before)

    def become_parts(self, nodes: Collection[Node]) -> None:
        """Record that nodes are parts of other expressions, no statements, while nothing is written yet."""
        before = self._counted()
        self.plan.named.difference_update(nodes)
        self._pending.update(self._counted())
        self._pending.subtract(before)

    def expect(self, read: Iterable[Node]) -> None:
        """Record that one more statement will read these values."""
        for node in read:
            self._pending[node] = self._pending.get(node, 0) + 1

    def has_read(self, read: Iterable[Node]) -> None:
        """Record that a statement that reads these values has been written."""
        for node in read:
            self._pending[node] = self._pending.get(node, 0) - 1

    def hold(self, name: str, node: Node) -> None:
        """Record that a name stands for a node from here on; a carry's name that is lent stays so within the loop."""
        holder = self._holders.get(name)
        if holder in self._taken_until and holder.region is node.region:
            self._taken_until[node] = self._taken_until[holder]
        self._holders[name] = node
        self._types.setdefault(name, set()).add(self.known_types.get(node))

    def keep(self, node: Node) -> None:
        """Reserve a value's name for the whole function, as its readers are not counted."""
        self._pending[node] = self._pending.get(node, 0) + _FOREVER

    def is_lent(self, node: Node) -> bool:
        """Return whether a value is a carry of the loop around, or a new value in the name of such a carry."""
        return node in self._borrowed

    def lends(self, carry: Node, node: Node) -> bool:
        """Return whether a value may take the name of a carry.

        It may not if the loop around carries it and writes its next value before the last reader of the value.
        """
        return node in self._taken_until.get(carry, {node})

    def may_stay(self, name: str, node: Node) -> bool:
        """Return whether an updated value may keep the name of the array before the update, perhaps a carry's."""
        holder = self._holders.get(name)
        return holder is None or holder.region is not node.region or self.lends(holder, node)

    def name(self, node: Node, wanted: str, made_by: Node | None = None) -> str:
        """Return a name for a new value, or a result of ``made_by``: the wanted one if its holder is dead by then."""
        name = identifier(wanted)
        holder = self._holders.get(name)
        if holder is not None and self._takes_over(node, name, made_by or node):
            if holder in self._taken_until:
                self._borrowed.add(node)
            self.hold(name, node)
            return name
        fresh = self.names.fresh(name)
        if fresh not in self._holders:
            self.hold(fresh, node)
        return fresh

    def gives(self, node: Node, wanted: str) -> bool:
        """Return whether a new value would get exactly this name from the value that has it."""
        return self._takes_over(node, identifier(wanted), node)

    def _takes_over(self, node: Node, name: str, statement: Node) -> bool:
        """Return whether a new value may take over a name whose holder is dead after the statement."""
        holder = self._holders.get(name)
        if holder is None or not self.shares or holder.region is not node.region:
            return False
        if not may_follow(self._types[name], {self.known_types.get(node)}):
            return False
        return self.lends(holder, node) and not self.is_needed_after(holder, statement)

    def may_take(self, node: Node, wanted: str) -> bool:
        """Return whether a new value would get exactly this name and could lend it: it is free, or its holder dead."""
        name = identifier(wanted)
        holder = self._holders.get(name)
        if not self.shares or holder is None:
            return self.shares and self.names.free(name) == name
        is_lent = holder in self._taken_until or node in self._taken_until
        return not is_lent and holder.region is node.region and not self.is_needed_after(holder, node)

    def is_needed_after(self, holder: Node, statement: Node) -> bool:
        """Return whether a statement other than this one is still to read a value."""
        own = 1 if holder in self.reads.of(statement) else 0
        return self._pending.get(holder, 0) > own

    def hold_carries(self, body: Body, loop: Loop, texts: Mapping[Node, str]) -> None:
        """Record which values of a loop's body may have a carry's name until the carry's next value gets it."""
        place = {statement: k for k, statement in enumerate(body.statements)}
        end = len(body.statements)
        read_last: dict[Node, int] = {}
        for statement, k in place.items():
            read_last.update(dict.fromkeys(self.reads.of(statement), k))
        for carry in body.moves:
            read_last.update(dict.fromkeys(self.reads.of_roots([carry.following] if carry.following else []), end))
        for carry in loop.carries:
            following = carry.following
            if following is None or following is carry.parameter:
                continue
            written, read_inside = end, set[Node]()
            if following in body.in_place:
                statement = statement_of(following)
                written = place[statement]
                if statement.opcode == "loop":  # its own carry has the name from the first iteration on
                    read_inside = self.reads.of_bodies(statement)
                elif statement.operation.changes:  # the copy that it changes has the name before the rest is read
                    read_inside = self.reads.of_roots(statement.operands[1:]) - {statement.operands[0]}
            self.hold(texts[carry.parameter], carry.parameter)
            self._borrowed.add(carry.parameter)
            self._taken_until[carry.parameter] = {
                node
                for node in self.plan.named - read_inside
                if node.region is loop.region and read_last.get(node, -1) <= written
            }
