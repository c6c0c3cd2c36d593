"""Growing copies: from like nodes of a chain to all that is alike around them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

from ..array.graph import frozen
from ..array.live import live_nodes
from ..array.node import Node
from ..array.program import Function, roots
from ..array.traversal import dependencies, topological
from .parts import Part, is_leaf

_ROUNDS = 3  # how far around a node is looked at to tell it from others
_MOST_SWEEPS = 8
_WORK_OF_CALL = 3

Row = tuple[Node, ...]  # the same node in each copy


class Surroundings:
    """The nodes of a function: in order, what they are, and who uses them."""

    def __init__(self, function: Function) -> None:
        self.live = live_nodes(function)
        self.order = topological(roots(function))
        self.place = {node: k for k, node in enumerate(self.order)}
        self.needs = [tuple([self.place[part] for part in dependencies(node)]) for node in self.order]  # places
        root = function.graph.root
        self._numbers: dict[Hashable, int] = {}
        self.members = {node for node in self.order if node.region is root and _is_movable(node)}
        self.users: dict[Node, list[tuple[Node, int]]] = {}  # with the number of the operand
        for node in self.order:
            if node in self.members:
                for k, operand in enumerate(node.operands):
                    self.users.setdefault(operand, []).append((node, k))
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
        """Numbers that also tell apart what the operands and the users of nodes are; what is like no other keeps its
        own.
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
        """Like nodes in order, each set once: those that most is known of first."""
        found: dict[Row, None] = {}
        heavy = [node for node in self.order if node in self.members and not node.operation.is_light]
        for known in reversed(self.hashes):
            together: dict[int, list[Node]] = {}
            for node in heavy:
                together.setdefault(known[node], []).append(node)
            found.update(dict.fromkeys(tuple(nodes) for nodes in together.values() if len(nodes) >= least))
        return [nodes for nodes in found if self.may_be_chain(nodes)]

    def may_be_chain(self, nodes: Row) -> bool:
        """Tell whether each is deeper than the last one: what needs another is."""
        depths = [self._depths[self.place[node]] for node in nodes]
        return all(before < depth for before, depth in pairwise(depths))

    def note_grown(self, rows: Iterable[Row]) -> None:
        """Nodes that stand in copies, of so many, need not be begun with again."""
        self._grown.update((len(row), node) for row in rows for node in row)

    def has_grown(self, row: Row) -> bool:
        """Tell whether copies of so many have been grown to a node."""
        return (len(row), row[0]) in self._grown

    def steps(self, anchors: Row) -> tuple[list[int], list[int]] | None:
        """For each place the number of the last anchor that its node needs (0 for none), and of the first anchor that
        needs it (one too many for none); anchors count from 1. None where they are no chain.
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


def _is_movable(node: Node) -> bool:
    if node.opcode == "item":
        return _is_movable(node.operands[0])
    if node.opcode in ("parameter", "loop", "conditional", "kernel") or "effect" in node.parameters or is_leaf(node):
        return False
    if "after" in node.parameters or "stands_for" in node.parameters:
        return False
    return bool(node.results) or (node.element_type is not None and not node.is_python_int)


def _kind(node: Node) -> Hashable:
    """Equal for nodes that do the same to like operands."""
    operands = tuple(
        operand if is_leaf(operand) else (operand.shape, operand.element_type) for operand in node.operands
    )
    parameters = frozen(node.parameters) if not node.stands_alone or node.operation.changes else node
    return node.opcode, node.shape, node.element_type, node.is_python_int, node.results, parameters, operands


@dataclass(slots=True)
class Copies:
    """Rows of nodes: the same place in each of the copies, which come one after the other."""

    around: Surroundings
    rows: list[Row] = field(default_factory=list)
    owner: dict[Node, tuple[int, int]] = field(default_factory=dict)  # row, copy

    @classmethod
    def grown(cls, around: Surroundings, anchors: Row, least_work: int) -> Copies | None:
        """The largest copies around some anchors; None where these are no chain, or the copies do too little work."""
        steps = around.steps(anchors)
        if steps is None:
            return None
        copies = cls(around)
        copies._add(anchors)
        for fits in (copies._is_behind, copies._is_ahead):
            copies._grow(partial(fits, *steps))
        if copies.work >= least_work and not copies._settle():  # which leaves less, and looks at the whole function
            return None
        around.note_grown(copies.rows)
        return copies if copies.work >= least_work else None

    def _grow(self, fits: Callable[[Row], bool]) -> None:
        """Add all rows beside rows, as long as they are alike in all copies and fit."""
        waiting = deque(self.rows)
        while waiting:
            for row in self._beside(waiting.popleft()):
                if self._is_alike(row) and fits(row):
                    self._add(row)
                    waiting.append(row)

    def _add(self, row: Row) -> None:
        self.owner.update((node, (len(self.rows), k)) for k, node in enumerate(row))
        self.rows.append(row)

    def _beside(self, row: Row) -> Iterable[Row]:
        """The operands and the users of a row, in all copies."""
        yield from zip(*(node.operands for node in row), strict=True)
        users = [self._labelled(node) for node in row]
        for label, found in users[0].items():
            if all(len(other.get(label, ())) == len(found) for other in users):
                yield from zip(*(other[label] for other in users), strict=True)

    def _labelled(self, node: Node) -> dict[tuple[int, int], list[Node]]:
        found: dict[tuple[int, int], list[Node]] = {}
        for user, k in self.around.users.get(node, ()):
            found.setdefault((self.around.kinds[user], k), []).append(user)
        return found

    def _is_alike(self, row: Row) -> bool:
        members, kinds = self.around.members, self.around.kinds
        return (
            row[0] in members
            and len({kinds[node] for node in row}) == 1
            and len(set(row)) == len(row)
            and all(node in members and node not in self.owner for node in row)
        )

    def _is_behind(self, needs: list[int], needed: list[int], row: Row) -> bool:
        """Tell whether all nodes need the anchors of their copies, and no later ones."""
        place = self.around.place
        return all(needs[place[node]] == copy for copy, node in enumerate(row, 1))

    def _is_ahead(self, needs: list[int], needed: list[int], row: Row) -> bool:
        """Tell whether the nodes need no anchors of their copies, and nothing of an earlier copy needs them."""
        place = self.around.place
        if not all(needs[place[node]] < copy <= needed[place[node]] for copy, node in enumerate(row, 1)):
            return False
        return all(
            self.owner.get(user, (-1, copy))[1] == copy
            for copy, node in enumerate(row)
            for user, _ in self.around.users.get(node, ())
        )

    # -- what can be a call

    def _settle(self) -> bool:
        """Leave out what is not alike in all copies, or needs something that is made of its own copy; tell whether
        anything is left.
        """
        for _ in range(_MOST_SWEEPS):
            left_out = self._differing() | self._entangled() | self._torn()
            left_out = left_out or self._cheaper_outside()
            if not left_out:
                return bool(self.rows)
            rows = [row for number, row in enumerate(self.rows) if number not in left_out]
            self.rows, self.owner = [], {}
            for row in rows:
                self._add(row)
        return False

    def _source(self, copy: int, operand: Node) -> int:
        """The row of an operand in its own copy; -1 for what comes from outside."""
        row, owner = self.owner.get(operand, (-1, -1))
        return row if owner == copy else -1

    def _differing(self) -> set[int]:
        """The rows whose operands are of the copy in some copies only."""
        found: set[int] = set()
        for number, row in enumerate(self.rows):
            for operands in zip(*(node.operands for node in row), strict=True):
                sources = {self._source(copy, operand) for copy, operand in enumerate(operands)}
                if len(sources) > 1:
                    found.add(number)
        return found

    def _entangled(self) -> set[int]:
        """The rows that need, from outside, what is made of their own copy or of a later one."""
        found: set[int] = set()
        owner = {self.around.place[node]: at for node, at in self.owner.items()}
        latest = [-1] * len(self.around.order)  # copy that a node needs
        for place in range(min(owner, default=0), max(owner, default=-1) + 1):
            needs = self.around.needs[place]
            number, copy = owner.get(place, (-1, -1))
            last = max([latest[part] for part in needs], default=-1)
            if number in found or (
                last >= copy >= 0
                and any(
                    latest[part] >= copy and (owner.get(part, (-1, -1))[1] != copy or owner[part][0] in found)
                    for part in needs
                )
            ):
                found.add(number)
                copy = -1
            latest[place] = max(last, copy)
        return found

    def _torn(self) -> set[int]:
        """The rows of calls with several results of which not all have joined, and of results without their call."""
        found: set[int] = set()
        for number, row in enumerate(self.rows):
            if row[0].results:
                items = (self.around.users.get(node, ()) for node in row)
                is_whole = all(
                    self.owner.get(item, (-1, -1))[1] == copy for copy, each in enumerate(items) for item, _ in each
                )
            else:
                is_whole = row[0].opcode != "item" or row[0].operands[0] in self.owner
            if not is_whole:
                found.add(number)
        return found

    def _cheaper_outside(self) -> set[int]:
        """The rows that only others read, and that are made of what these others read as well."""
        outputs = set(self._outputs())
        return {
            number
            for number in outputs
            if not any(self.around.live.is_root(node) for node in self.rows[number])
            and self.rows[number][0].opcode != "item"
            and not any(self._source(0, user) >= 0 for user, _ in self.around.users.get(self.rows[number][0], ()))
            and self._is_made_of(number, outputs)
        }

    def _is_made_of(self, number: int, outputs: set[int]) -> bool:
        given = [operand for operand in self.rows[number][0].operands if not is_leaf(operand)]
        return all(self._source(0, operand) in outputs for operand in given)

    def _outputs(self) -> list[int]:
        """The rows that something outside of their copy reads, in some copy."""
        return [
            number
            for number, row in enumerate(self.rows)
            if not row[0].results
            and any(
                self.around.live.is_root(node)
                or any(self.owner.get(user, (-1, -1))[1] != copy for user in self.around.live.users(node))
                for copy, node in enumerate(row)
            )
        ]

    # -- what they are worth

    @property
    def work(self) -> int:
        """Return how many operations a copy has; a call is as much to read as a few."""
        return sum(_WORK_OF_CALL if row[0].opcode == "call" else not row[0].operation.is_light for row in self.rows)

    def saving(self, parts: Sequence[Part]) -> int:
        """Operations, and values that calls list, that need not be read again, less the values that every new call
        lists.
        """
        listed = sum(len(row[0].operands) if row[0].opcode == "call" else row[0].opcode == "item" for row in self.rows)
        return (len(parts) - 1) * (2 * self.work + listed) - len(parts) * parts[0].values

    def parts(self) -> list[Part]:
        """The copies as parts."""
        rows = sorted(self.rows, key=lambda row: self.around.place[row[0]])
        outputs = {self.rows[number] for number in self._outputs()}
        places = [k for k, row in enumerate(rows) if row in outputs]
        inputs: dict[Row, None] = {}
        for row in rows:
            for operands in zip(*(node.operands for node in row), strict=True):
                if self._source(0, operands[0]) < 0 and not is_leaf(operands[0]):
                    inputs.setdefault(operands)
        columns: Sequence[Row] = list(inputs)
        return [
            Part([row[copy] for row in rows], [column[copy] for column in columns], places, None)
            for copy in range(len(rows[0]))
        ]
