"""Growing copies: from corresponding nodes of a chain to everything around them that is alike."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from ...array.node import Node
from ...array.rewriting import copied
from .copies import Rows, columns
from .neighbours import Row, Surroundings
from .replacing import Alike, is_leaf

_MOST_SWEEPS = 8
_LEAST_COMPLETED = 4  # copies, for adding nodes to the last one that only the others need
_WORK_OF_CALL = 4


class Copies(Rows[Node]):
    """Rows of nodes, each with the same node of every copy; the copies follow one another."""

    def __init__(self, around: Surroundings, anchors: Row) -> None:
        super().__init__([anchors])
        self.around = around
        self.looked_at: set[Row] = set()  # operand columns whose users have been visited

    @classmethod
    def grown(cls, around: Surroundings, anchors: Row, least_work: int, *, begins_ahead: bool = False) -> Copies | None:
        """The largest copies around some anchors; None if the anchors are no chain, or the copies do too little work.

        A node that could belong to either of two successive copies is assigned to the former, unless growing
        ``begins_ahead`` of the anchors.
        """
        steps = around.steps(anchors)
        if steps is None:
            return None
        copies = cls(around, anchors)
        ways = copies._is_behind, copies._is_ahead
        for fits in reversed(ways) if begins_ahead else ways:
            copies._grow(partial(fits, *steps))
        if len(anchors) >= _LEAST_COMPLETED:
            LastCopy(copies).complete()
        if copies.work >= least_work and not copies._settle():  # expensive, and can only remove rows
            return None
        around.note_grown(copies.rows)
        return copies if copies.work >= least_work else None

    def _grow(self, fits: Callable[[Row], bool]) -> None:
        """Add all adjacent rows that are alike in all copies and fit."""
        self.looked_at.clear()
        waiting = deque(self.rows)
        while waiting:
            for row in self._beside(waiting.popleft()):
                if self.is_alike(row) and fits(row):
                    self.add(row)
                    waiting.append(row)

    def _beside(self, row: Row) -> Iterable[Row]:
        """The operands and the users of a row, and the other users of the operands, in all copies."""
        operands = [*columns(row)]
        yield from operands
        yield from self._reading(row)
        for column in operands:
            if column not in self.looked_at and len(set(column)) == len(column) and not is_leaf(column[0]):
                self.looked_at.add(column)
                yield from self._reading(column)

    def _reading(self, row: Row) -> Iterator[Row]:
        """The rows of users that all nodes have in common."""
        yield from self._alike([self.labelled(self.around.users.get(node, ())) for node in row])

    def reading_outside(self, row: Row) -> Iterator[Row]:
        """The rows of users that all nodes have in common, among the nodes that no copy may contain."""
        yield from self._alike([self.labelled(self.around.outer_users.get(node, ())) for node in row])

    def _alike(self, users: Sequence[Mapping[tuple[int, int], Sequence[Node]]]) -> Iterator[Row]:
        for label, found in users[0].items():
            if all(len(other.get(label, ())) == len(found) for other in users):
                yield from zip(*(other[label] for other in users), strict=True)

    def labelled(self, users: Iterable[tuple[Node, int]]) -> dict[tuple[int, int], list[Node]]:
        """Users by their kind and by the index at which they take the value."""
        found: dict[tuple[int, int], list[Node]] = {}
        for user, k in users:
            found.setdefault((self.around.kinds[user], k), []).append(user)
        return found

    def is_alike(self, row: Row) -> bool:
        members, kinds = self.around.members, self.around.kinds
        return (
            row[0] in members
            and len({kinds[node] for node in row}) == 1
            and len(set(row)) == len(row)
            and all(node in members and node not in self.owner for node in row)
        )

    def _is_behind(self, needs: list[int], needed: list[int], row: Row) -> bool:
        """Whether all nodes depend on the anchors of their own copies, and on no later ones."""
        place = self.around.place
        return all(needs[place[node]] == copy for copy, node in enumerate(row, 1))

    def _is_ahead(self, needs: list[int], needed: list[int], row: Row) -> bool:
        """Whether the nodes do not depend on the anchors of their own copies, and nothing in an earlier copy depends on
        them.
        """
        place = self.around.place
        if not all(needs[place[node]] < copy <= needed[place[node]] for copy, node in enumerate(row, 1)):
            return False
        return all(
            self.owner.get(user, (-1, copy))[1] == copy
            for copy, node in enumerate(row)
            for user, _ in self.around.users.get(node, ())
        )

    # -- restricting copies to what can be a call

    def _settle(self) -> bool:
        """Remove rows that are not alike in all copies, or that depend through outside nodes on their own copy; tell
        whether anything is left.
        """
        for _ in range(_MOST_SWEEPS):
            left_out = self.differing() | self._entangled() | self._torn()
            left_out = left_out or self._cheaper_outside()
            if not left_out:
                return bool(self.rows)
            self.drop(left_out)
        return False

    def _entangled(self) -> set[int]:
        """The rows that depend, through outside nodes, on their own copy or a later one."""
        found: set[int] = set()
        owner = {self.around.place[node]: at for node, at in self.owner.items() if node in self.around.place}
        latest = [-1] * len(self.around.order)  # copy that a node depends on
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
        """The rows of calls whose results are not all included, and of results whose call is not."""
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
        """The rows that only code outside their copy reads, and that are computed only from other outputs of the copy.
        As results of a call they would take a line per copy anyway.
        """
        outputs = set(self.outputs(self.around.readers))
        return {
            number
            for number in outputs
            if not any(self.around.live.is_root(node) for node in self.rows[number])
            and not any(user.opcode == "call" for user, _ in self.around.users.get(self.rows[number][0], ()))
            and self.rows[number][0].opcode != "item"
            and not any(self.source(0, user) >= 0 for user, _ in self.around.users.get(self.rows[number][0], ()))
            and self._is_made_of(number, outputs)
        }

    def _is_made_of(self, number: int, outputs: set[int]) -> bool:
        given = [operand for operand in self.rows[number][0].operands if not is_leaf(operand)]
        return all(self.source(0, operand) in outputs for operand in given)

    # -- what they are worth

    @property
    def work(self) -> int:
        """The number of operations in a copy; a call counts as a few."""
        return sum(_WORK_OF_CALL if row[0].opcode == "call" else not row[0].operation.is_light for row in self.rows)

    def saving(self, found: Alike) -> int:
        """How much the copies save: operations, and the values that calls in them list."""
        listed = sum(len(row[0].operands) if row[0].opcode == "call" else row[0].opcode == "item" for row in self.rows)
        return found.saving(self.work) + (found.count - 1) * listed

    def outlined(self) -> Alike:
        """The copies as an outline, in program order."""
        rows = Rows(sorted(self.rows, key=lambda row: self.around.place[row[0]]))
        return rows.outline(lambda column: is_leaf(column[0]), self.around.readers)


class LastCopy:
    """Adds the nodes that the last copy lacks: values that every other copy computes only because a next one needs
    them.

    The gradient of the first layer's input is such a value. With it all layers are one function, and a loop.
    """

    def __init__(self, copies: Copies) -> None:
        self.copies, self.around = copies, copies.around
        self.columns: dict[Row, Node] = {}  # by the input of the other copies: that of the last one
        for row in copies.rows:
            for reading in (row, *copies.reading_outside(row)):
                for column in columns(reading):
                    self.columns[column[:-1]] = column[-1]

    def complete(self) -> None:
        """Add the rows that only the last copy lacks, each computed from rows and inputs of copies."""
        waiting = deque(self.copies.rows)
        while waiting:
            for short in self._beside(waiting.popleft()):
                before = len(self.copies.rows)
                if all(node not in self.copies.owner for node in short):
                    self._last_of(short)
                    waiting += self.copies.rows[before:]

    def _beside(self, row: Row) -> Iterator[Row]:
        """The users that the nodes of all copies but the last have, and the last has not."""
        users = [self.copies.labelled(self.around.users.get(node, ())) for node in row]
        for label in users[0].keys() - users[-1].keys():
            if all(len(other.get(label, ())) == 1 for other in users[:-1]):
                yield tuple(other[label][0] for other in users[:-1])

    def _last_of(self, short: Row) -> Node | None:
        """The node of the last copy that corresponds to those of the others; None if it cannot be made."""
        first = short[0]
        if is_leaf(first) or len(set(short)) == 1:
            return first if len(set(short)) == 1 else None
        numbers = {self.copies.source(copy, node) for copy, node in enumerate(short)}
        if numbers != {-1}:
            return self.copies.rows[numbers.pop()][-1] if len(numbers) == 1 else None
        if short in self.columns:
            return self.columns[short]
        if not self.copies.is_alike(short) or first.results or first.stands_alone:
            return None
        operands = [self._last_of(column) for column in columns(short)]
        if None in operands:
            return None
        graph = self.around.graph
        made = copied(graph, first, tuple(operands), first.interval, first.parameters)  # type: ignore[arg-type]
        if made in self.copies.owner or made in self.around.place:
            return None
        self.around.note_made(made, short)
        self.copies.add((*short, made))
        return made
