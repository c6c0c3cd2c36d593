"""The order of statements in a body, and which carried values are updated in place.

Everything is a pure value except loop carries and stores into stacked outputs. A carry is updated in place by the
statement of its next value only if that statement can come after all readers of the old value; the other carries move
at the end of the body (:mod:`.assignments`).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from ...array.in_place import is_view
from ...array.node import Node, Region
from ...array.program import Carry, Loop, Store
from ...array.traversal import is_inside, nested_roots, topological
from ...dataclass import dataclass
from ...walks import reached
from .takeovers import Takeover

Statement = Node | Store


@dataclass(slots=True)
class Body:
    """The statements of one region in order, and the handling of the carries of its loop or the results of a branch."""

    statements: list[Statement] = field(default_factory=list)
    in_place: dict[Node, Carry] = field(default_factory=dict)  # next value: the carry whose name it gets
    moves: list[Carry] = field(default_factory=list)
    taken: set[Node] = field(default_factory=set)  # in-place updates and copies that reuse their operand's buffer
    admitted: set[Node] = field(default_factory=set)  # those in branches that may reuse a buffer of this body


class Reads:
    """The named nodes that the expressions of statements read."""

    def __init__(self, named: set[Node]) -> None:
        self.named = named

    def of(self, statement: Statement) -> set[Node]:
        if isinstance(statement, Store):
            return self.of_roots([statement.value, *statement.indices])
        found = self.of_roots(statement.operands)
        after = statement.parameters.get("after")
        if after is not None:
            found.add(after)
        roots = nested_roots(statement)
        if roots:
            found |= self.of_bodies(statement)
        return found

    def of_roots(self, roots: Iterable[Node]) -> set[Node]:
        """Return the named nodes that folded expressions read; it does not look behind these."""
        nodes = reached(roots, lambda node: () if node in self.named else node.operands)
        return {node for node in nodes if node in self.named}

    def of_bodies(self, statement: Node) -> set[Node]:
        """Return the named nodes that the bodies of a loop or conditional read from outside."""
        roots = nested_roots(statement)
        regions = body_regions(statement)
        inner = [node for node in topological(roots) if any(is_inside(node.region, region) for region in regions)]
        found: set[Node] = set()
        for node in inner:
            found |= self.of(node) if node in self.named else self.of_roots(node.operands)
        found |= self.of_roots(roots)
        return {node for node in found if not any(is_inside(node.region, region) for region in regions)}


def body_regions(node: Node) -> list[Region]:
    """Return the regions of the bodies of a loop or conditional node."""
    if node.opcode == "loop":
        return [node.parameters["loop"].region]
    return [branch.region for branch in node.parameters["branches"]] if node.opcode == "conditional" else []


def statement_of(node: Node) -> Node:
    """Return the statement that computes a node: the results of a call belong to one statement."""
    return node.operands[0] if node.opcode == "item" else node


def schedule(
    region: Region,
    named: set[Node],
    reads: Reads,
    priority: Callable[[Node], tuple[int, ...]],
    loop: Loop | None = None,
    together: Mapping[Node, Node] | None = None,
    given: Sequence[Carry] = (),
    takeovers: Iterable[tuple[Takeover, set[Node]]] = (),
    results: Sequence[Node] = (),
    *,
    overwrites: bool = False,
) -> Body:
    """Return the named nodes of a region in order, with the handling of carries. If the next iteration ``overwrites``
    the arrays of carries, no other carry may look at one.

    Nodes that are made ``together`` are available after the last of them. The results that a branch has ``given`` are
    like carries: a name gets a new value, and the statement of that value may write it in place.
    """
    members: list[Statement] = [
        node for node in named if node.region is region and node.opcode not in ("parameter", "item")
    ]
    if loop is not None:
        members += loop.stores
    last_of: dict[Any, Node] = dict(together or {})
    edges: dict[Statement, set[Statement]] = {member: set() for member in members}  # member: its predecessors
    reading: dict[Statement, set[Node]] = {member: reads.of(member) for member in members}
    for member, nodes in reading.items():
        for node in nodes:
            source = statement_of(node)
            if last_of and last_of.get(source) is not last_of.get(member, member):
                source = last_of.get(source, source)
            if source in edges and source is not member:
                edges[member].add(source)
    for member, last in last_of.items():
        if member is not last and member in edges and last in edges:
            edges[last].add(member)
    body = Body()
    carries = [*(loop.carries if loop is not None else ()), *given]
    if carries:
        _place_carries(carries, region, edges, reading, reads, body, is_loop=loop is not None)
    at_the_end = [*results, *(carry.following for carry in body.moves if carry.following is not None)]
    if overwrites:
        takeovers = [each for each in takeovers if not _may_be_overwritten(each[0], body)]
    _take_over(takeovers, edges, reading, reads, body, reads.of_roots(at_the_end))
    body.statements = _ordered(members, edges, priority)
    return body


def _take_over(
    takeovers: Iterable[tuple[Takeover, set[Node]]],
    edges: dict[Statement, set[Statement]],
    reading: dict[Statement, set[Node]],
    reads: Reads,
    body: Body,
    read_at_the_end: set[Node],
) -> None:
    """Let updates reuse a buffer if all other readers can come before; add the ordering edges.

    The taker of a carry's buffer has the carry's name, too, until the next value gets it: so the taker's own readers
    come before that. A loop that begins without its copy reads the array itself: no buffer has two takers.
    """
    reading = {member: set(nodes) for member, nodes in reading.items()}
    taken: dict[Statement, Node] = {}  # the array whose buffer a taker reuses
    named_again = {carry.parameter: statement_of(following) for following, carry in body.in_place.items()}
    for takeover, looking in takeovers:
        statement, taker = takeover.statement, takeover.taker
        if statement not in edges or looking & read_at_the_end:
            continue
        readers = [member for member in edges if member is not statement and reading[member] & looking]
        if takeover.is_around:
            if not any(_reaches(statement, reader, edges) for reader in readers):
                edges[statement].update(readers)
                body.admitted.add(taker)
            continue
        ending = named_again.get(takeover.array, statement)
        if ending is not statement and (taker in read_at_the_end or _is_read_behind_copy(ending, taker, reads)):
            continue
        if ending is not statement and ending.opcode == "loop" and taker in reads.of_bodies(ending):
            continue
        if _reads_in_its_body(statement, takeover, looking, reads):
            continue
        if any(_reaches(statement, reader, edges) or taken.get(reader) in looking for reader in readers):
            continue
        edges[statement].update(readers)
        own = [member for member in edges if ending not in (member, statement) and taker in reading[member]]
        if not any(_reaches(ending, reader, edges) for reader in own):
            edges[ending].update(own)
            if ending is not statement:
                named_again[taker] = ending
            body.taken.add(taker)
            reading[statement].add(takeover.array)
            taken[taker] = takeover.array


def _may_be_overwritten(takeover: Takeover, body: Body) -> bool:
    """Return whether the buffer that is taken over would get the name of another carry, for its next value; or is seen
    otherwise, such as transposed, where the next value of its own carry is written over it.
    """
    is_seen_otherwise = any(map(is_view, reached([takeover.taker], _changed_to)))
    begun = set(reached([takeover.array], _begun_with))
    for following, carry in body.in_place.items():
        is_changed = takeover.taker in reached([following], _changed_to)
        is_own = carry.parameter is takeover.array
        if (is_own and is_seen_otherwise and not is_changed) or (carry.parameter not in begun and is_changed):
            return True
    return False


def _begun_with(node: Node) -> Sequence[Node]:
    """Return the arrays that an array was, or is a copy of, before it was changed."""
    return () if is_view(node) else node.operands if node.opcode == "copy" else _changed_to(node)


def _changed_to(node: Node) -> Sequence[Node]:
    """Return the arrays that an array may have been, or looks at."""
    if node.opcode != "item":
        return node.operands[:1] if node.operation.changes or is_view(node) else ()
    (source,), index = node.operands, node.parameters["index"]
    if source.opcode == "loop":
        return (source.parameters["loop"].carries[index].initial,)
    return [branch.results[index] for branch in source.parameters["branches"]] if source.opcode == "conditional" else ()


def _reads_in_its_body(statement: Node, takeover: Takeover, looking: set[Node], reads: Reads) -> bool:
    """Return whether a loop that begins with an array also reads the array's old value."""
    if statement.opcode != "loop":
        return False
    others = [operand for operand in statement.operands if operand is not takeover.taker]
    return bool((reads.of_roots(others) | reads.of_bodies(statement)) & looking)


def _place_carries(
    carries: list[Carry],
    region: Region,
    edges: dict[Statement, set[Statement]],
    reading: dict[Statement, set[Node]],
    reads: Reads,
    body: Body,
    *,
    is_loop: bool,
) -> None:
    """Decide between in place and move for all carries jointly; add the ordering edges of those in place."""
    carries = [c for c in carries if c.following is not None and c.following is not c.parameter]
    moved: set[int] = set()
    while True:
        trial = {member: set(before) for member, before in edges.items()}
        failed = _try(carries, moved, trial, reading, reads, region, body, is_loop=is_loop)
        if failed is None:
            break
        moved.add(failed)
    edges.update(trial)
    body.moves = [carry for k, carry in enumerate(carries) if k in moved]


def _try(
    carries: list[Carry],
    moved: set[int],
    edges: dict[Statement, set[Statement]],
    reading: dict[Statement, set[Node]],
    reads: Reads,
    region: Region,
    body: Body,
    *,
    is_loop: bool,
) -> int | None:
    """Place every carry that is not moved; return the number of the first that cannot be placed, or None."""
    body.in_place = {}
    read_by_moves: set[Node] = set()
    for k in moved:
        following = carries[k].following
        assert following is not None
        read_by_moves |= reads.of_roots([following])
    for k, carry in enumerate(carries):
        if k in moved:
            continue
        following = carry.following
        assert following is not None
        statement = statement_of(following)
        if (
            following not in reads.named
            or (following.operation.changes and not is_loop)  # of an array that may have aliases
            or following.region is not region
            or statement not in edges
            or following in body.in_place
            or carry.parameter in read_by_moves
            or _clobbers(statement, carry)
            or _is_read_behind_copy(statement, carry.parameter, reads)
        ):
            return k
        readers = [m for m in edges if m is not statement and carry.parameter in reading[m]]
        if any(_reaches(statement, reader, edges) for reader in readers):
            return k
        for reader in readers:
            edges[statement].add(reader)
        body.in_place[following] = carry
    return None


def _is_read_behind_copy(statement: Node, array: Node, reads: Reads) -> bool:
    """Return whether a statement updates a copy of something else under the name of an array that it still reads."""
    if not statement.operation.changes or statement.operands[0] is array:
        return False
    return array in reads.of_roots(statement.operands[1:])


def _clobbers(statement: Node, carry: Carry) -> bool:
    """Return whether an inner loop writes the carry's name while its body still reads the old value."""
    if statement.opcode != "loop":
        return False
    inner: Loop = statement.parameters["loop"]
    roots = nested_roots(statement)
    if carry.parameter in set(topological(roots)):
        return True
    return any(other.initial is carry.parameter for other in inner.carries)


def _reaches(start: Statement, goal: Statement, edges: dict[Statement, set[Statement]]) -> bool:
    """Return whether ``goal`` depends on ``start``, directly or not."""
    return any(member is start for member in reached([goal], edges.__getitem__))


def _ordered(
    members: list[Statement], edges: dict[Statement, set[Statement]], priority: Callable[[Node], tuple[int, ...]]
) -> list[Statement]:
    """Return the members in topological order; among those that are ready, in source order."""
    waiting = {member: len(before) for member, before in edges.items()}
    after: dict[Statement, list[Statement]] = {}
    for member, before in edges.items():
        for other in before:
            after.setdefault(other, []).append(member)

    def key(member: Statement, tie: int) -> tuple[tuple[int, ...], int]:
        return priority(member.value if isinstance(member, Store) else member), tie

    ranks = {member: position for position, member in enumerate(sorted(members, key=lambda m: key(m, 0)))}
    heap = [ranks[member] for member in members if not waiting[member]]
    by_rank = {rank: member for member, rank in ranks.items()}
    heapq.heapify(heap)
    order: list[Statement] = []
    while heap:
        member = by_rank[heapq.heappop(heap)]
        order.append(member)
        for follower in after.get(member, []):
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(heap, ranks[follower])
    assert len(order) == len(members), "statements depend on each other in a circle"
    return order
