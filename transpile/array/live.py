"""Def-use information of a function: its live nodes, their users, the nodes of each opcode, and replacement of nodes.

A node is live if a result, a parameter or a side effect of the function needs it. A rewrite changes only the operands
of a node's users, so its cost grows with the number of users and not with the size of the function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ..walks import reached
from .intervals import narrowed
from .node import Node
from .program import Branch, Function, Loop, Tree, roots
from .traversal import dependencies, topological

_Place = tuple[int, int]  # position in the initial topological order, and among the nodes that replaced that node


class LiveNodes:
    """The live nodes of a function, with their uses. Operands change only through :meth:`replace`."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._users: dict[Node, dict[Node, int]] = {}  # with the number of uses by each user
        self._root_uses: Counter[Node] = Counter()
        self._by_opcode: dict[str, dict[Node, None]] = {}
        self._place: dict[Node, _Place] = {}
        self._made = 0
        self._moved: dict[Node, Node] = {}  # replaced roots, until `flush` writes them into the function
        for k, node in enumerate(topological(roots(function))):
            self._attach(node, (k, 0))
        self._root_uses.update(roots(function))

    def __contains__(self, node: Node) -> bool:
        return node in self._users

    def __iter__(self) -> Iterator[Node]:
        return iter(sorted(self._users, key=self._place.__getitem__))

    def place(self, node: Node) -> _Place:
        """Return a sort key that puts operands before their users."""
        return self._place[node]

    def count(self, node: Node) -> int:
        """Return the number of uses of a node, including as a result, a parameter or a side effect; 0 if it is not
        live.
        """
        return sum(self._users.get(node, {}).values()) + self._root_uses[node]

    def users(self, node: Node) -> list[Node]:
        """Return the nodes that use a node."""
        return list(self._users.get(node, ()))

    def is_root(self, node: Node) -> bool:
        """Return whether the node is a result, a parameter or the last side effect of the function."""
        return self._root_uses[node] > 0

    def of(self, opcodes: Iterable[str]) -> list[Node]:
        """Return the live nodes of some opcodes, in no order."""
        return [node for opcode in opcodes for node in self._by_opcode.get(opcode, ())]

    # -- changing

    def replace(self, old: Node, new: Node, made: Iterable[Node] = ()) -> list[Node]:
        """Replace ``old`` by ``new`` in its users; return the users whose operands changed.

        ``made`` are the nodes that were made, or found, for ``new``: those that compute ``new`` from ``old`` keep
        ``old`` as their operand.
        """
        keeping = self._between(new, old, made)
        users = [user for user in self._users[old] if user not in keeping]
        place = self._place[old]
        changed: list[Node] = []
        waiting = [(old, new, users)]
        while waiting:
            old, new, users = waiting.pop()
            if new not in self._users:  # dropped with its only user
                self._attach_all(new, place)
            self._move_roots(old, new)
            self._function.graph.record_replacement(old, new)
            for user in users:
                if user not in self._users:
                    continue
                equal = self._exchange(user, old, new)
                changed.append(user)
                if equal is not None:  # the user became equal to another node, which replaces it
                    waiting.append((user, new if equal is old else equal, self.users(user)))
            self._drop(old)
        return changed

    def flush(self) -> None:
        """Write the replacements of results and effects into the function."""
        if self._moved:
            self._function.results = self._current_tree(self._function.results)
            if self._function.effect is not None:
                self._function.effect = self._current(self._function.effect)
            self._moved.clear()

    def _between(self, new: Node, old: Node, made: Iterable[Node]) -> set[Node]:
        """Return ``new`` and those nodes of ``made`` that it is computed from."""
        own = {new, *made} - {old}
        return set(reached([new], lambda node: (operand for operand in dependencies(node) if operand in own)))

    def _exchange(self, user: Node, old: Node, new: Node) -> Node | None:
        """Replace ``old`` by ``new`` in the operands of one user; return an equal node if there already is one."""
        graph = self._function.graph
        count = self._users[old].pop(user)
        uses = self._users[new]
        uses[user] = uses.get(user, 0) + count
        is_shared = graph.forget(user)
        exchange_operands(user, old, new)
        equal = graph.remember(user, self.__contains__) if is_shared else None
        if equal is None:
            self._refresh(user)
        return equal

    def _refresh(self, node: Node) -> None:
        """Recompute the interval and the region of a node from its operands, and then those of its users."""
        graph = self._function.graph
        waiting = [node]
        while waiting:
            node = waiting.pop()
            interval, home = narrowed(node, node.operands), graph.home_of(node)
            if interval == node.interval and home is node.region:
                continue
            is_shared = graph.forget(node)
            object.__setattr__(node, "interval", interval)
            object.__setattr__(node, "region", home)
            if is_shared:
                graph.remember(node, self.__contains__)
            waiting += self._users.get(node, ())

    def _attach_all(self, node: Node, place: _Place) -> None:
        """Make a node and everything that it needs live."""
        for one in topological([node], self._not_live):
            self._made += 1
            self._attach(one, (place[0], self._made))

    def _not_live(self, node: Node) -> list[Node]:
        return [one for one in dependencies(node) if one not in self._users]

    def _attach(self, node: Node, place: _Place) -> None:
        self._users[node] = {}
        self._place[node] = place
        self._by_opcode.setdefault(node.opcode, {})[node] = None
        for operand in dependencies(node):
            uses = self._users[operand]
            uses[node] = uses.get(node, 0) + 1

    def _drop(self, node: Node) -> None:
        """Remove a node without uses, and the nodes that only it used."""
        waiting = [node]
        while waiting:
            node = waiting.pop()
            if node not in self._users or self._users[node] or self._root_uses[node]:
                continue
            del self._users[node], self._by_opcode[node.opcode][node]
            for operand in dependencies(node):
                if self._users[operand].pop(node, None) is not None:
                    waiting.append(operand)

    def _move_roots(self, old: Node, new: Node) -> None:
        count = self._root_uses[old] - (old in self._function.parameters if old.opcode == "parameter" else 0)
        if count:
            self._root_uses[old] -= count
            self._root_uses[new] += count
            self._moved[old] = new

    def _current(self, node: Node) -> Node:
        while node in self._moved:
            node = self._moved[node]
        return node

    def _current_tree(self, tree: Tree) -> Tree:
        if isinstance(tree, tuple | list):
            return type(tree)(self._current_tree(part) for part in tree)
        return self._current(tree) if isinstance(tree, Node) else tree


def renew_initials(node: Node) -> bool:
    """Make the operands of a loop the initial values of its carries; return whether any is another."""
    before = node.operands
    object.__setattr__(node, "operands", tuple(carry.initial for carry in node.parameters["loop"].carries))
    return node.operands != before


def exchange_operands(user: Node, old: Node, new: Node) -> None:
    """Replace ``old`` by ``new`` in one node: in its operands, its bodies and its effect order."""

    def current(node: Node) -> Node:
        return new if node is old else node

    object.__setattr__(user, "operands", tuple(map(current, user.operands)))
    if user.parameters.get("after") is old:
        user.parameters["after"] = new
    if user.opcode == "loop":
        loop: Loop = user.parameters["loop"]
        for carry, initial in zip(loop.carries, user.operands, strict=True):
            carry.initial = initial
            carry.following = current(carry.following) if carry.following is not None else None
        for store in loop.stores:
            store.value, store.indices = current(store.value), tuple(map(current, store.indices))
        loop.condition, loop.effect, loop.count = (
            current(node) if node is not None else None for node in (loop.condition, loop.effect, loop.count)
        )
        if loop.bounds is not None:
            loop.bounds = current(loop.bounds[0]), current(loop.bounds[1])
    elif user.opcode == "conditional":
        branches: tuple[Branch, ...] = user.parameters["branches"]
        for branch in branches:
            branch.results = list(map(current, branch.results))
            branch.effect = current(branch.effect) if branch.effect is not None else None


def live_nodes(function: Function) -> LiveNodes:
    """Return the live nodes of a function. They are cached until the function changes other than by
    :meth:`LiveNodes.replace`.
    """
    if function.live is None:
        function.live = LiveNodes(function)
    live: LiveNodes = function.live
    return live
