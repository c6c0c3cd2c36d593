"""Rerolling of call chains: ``for i in range(32): x = layer(x, weights[i])``.

The layers of a model are such a chain: each call takes the result of the one before. Their gradients are another. A
chain becomes a loop if the other arguments of the calls step through the rows of an array, through a list in an
argument that is a tree, or through the results of an earlier chain. Results that are read elsewhere are kept in lists.
Calls whose arguments have a name each stay separate: a list of these names would be no shorter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from ...array.graph import Graph
from ...array.node import Node, Slot
from ...array.traversal import dependencies, users_of
from ...dataclass import dataclass
from ...hlo.element_types import PRED
from ...walks import reached
from ..arrangement.folding import Plan
from ..lines import LARGE
from ..trees.argument_trees import Path

LEAST_CALLS = 4
_NUMBERED = re.compile(r"([\w/~ -]*?)(0|[1-9]\d*)([/~ -][\w/~ -]*)?", re.ASCII)  # a key of a dict: block_12


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf of the tree ``argument``, one of whose keys counts.

    ``place`` is the place of that key in the path, and ``key`` has the words around its number if it is a string.
    """

    argument: str
    path: Path
    place: int = -1
    key: tuple[str, str] | None = None


class Listed(NamedTuple):
    """A list with an item for each call of the chain that begins with ``first``.

    The items are the results of that ``number``, or, if it ``is_given``, the carried operands at that index.
    """

    first: Node
    is_given: bool
    number: int


class Total(NamedTuple):
    """The sum of a result over all calls, in their order, perhaps added to a ``start``; ``sums`` end with the last."""

    start: Node | None
    sums: tuple[Node, ...]


class Scaled(NamedTuple):
    """An affine function of the counter."""

    factor: int = 1
    added: int = 0

    def text(self, counter: str) -> str:
        """Return its text: ``2 * i + 1``."""
        text = counter if self.factor == 1 else f"{self.factor} * {counter}"
        return f"{text} {'-' if self.added < 0 else '+'} {abs(self.added)}" if self.added else text


Step = Node | Leaf | Listed
Steps = Mapping[int, tuple[Step, Scaled]]  # by operand index
Numbers = tuple[int, ...]
Places = Callable[[Node], Collection[int]]  # from a call to numbers of its operands


@dataclass(frozen=True, eq=False, slots=True)
class Chain:
    """A chain of calls in order; ``carried`` maps the index of each carried operand to the index of its result.

    ``steps`` are the operands that depend on the ``counter``, by index, each with the affine function of the counter in
    it; all others are the same in all calls. ``results`` has, for each call, the results that are read, by index.
    ``listed`` are the lists of results of calls before the last that are read by others than the next call, ``totals``
    the sums over all calls of results that nothing else reads, by index.
    """

    calls: tuple[Node, ...]
    carried: Mapping[int, int]
    counter: Node
    numbers: range
    steps: Steps
    results: tuple[Mapping[int, Node], ...]
    listed: set[Listed] = field(default_factory=set)
    totals: dict[int, Total] = field(default_factory=dict)

    @property
    def last(self) -> Node:
        return self.calls[-1]

    @property
    def size(self) -> int:
        """The length of a list that is indexed by the counter."""
        return max(self.numbers) + 1

    def places(self) -> Iterator[tuple[Node, Listed, int]]:
        """Yield the values that lists may hold, each with its list and index."""
        first = self.calls[0]
        for place, index in self.carried.items():
            yield first.operands[place], Listed(first, True, place), self.numbers[0]
            for before, number in zip(self.results[:-1], self.numbers[1:], strict=True):
                yield before[index], Listed(first, True, place), number
        for results, number in zip(self.results, self.numbers, strict=True):
            for index, node in results.items():
                yield node, Listed(first, False, index), number


def chains(
    graph: Graph, plan: Plan, leaves: Mapping[Node, Leaf], results: Iterable[Node], in_objects: Places
) -> dict[Node, Chain]:
    """Return the chains that are worth a loop, by each of their calls.

    ``leaves`` are the parameters that are leaves of trees, ``results`` the results of the function. ``in_objects``
    returns the operands of a call that its function takes as parts of objects that calls gave.
    """
    found = _Finder(graph, plan, leaves, in_objects).chains()
    _note_lists(found, plan, results)
    _note_totals(found, plan, results)
    return found


class _Finder:
    def __init__(self, graph: Graph, plan: Plan, leaves: Mapping[Node, Leaf], in_objects: Places) -> None:
        self.graph, self.plan, self.leaves, self.in_objects = graph, plan, leaves, in_objects
        self.results: dict[Node, dict[int, Node]] = {}
        for node in plan.nodes:
            if node.opcode == "call":
                self.results[node] = {} if node.results else {0: node}
            elif node.opcode == "item" and node.operands[0] in self.results:
                self.results[node.operands[0]][node.parameters["index"]] = node
        self.listed: dict[Node, list[tuple[Listed, int]]] = {}

    def chains(self) -> dict[Node, Chain]:
        following: dict[Node, Node] = {}
        for call in self.results:
            before = self._before(call)
            if before is not None:
                following.setdefault(before, call)
        ends = set(following.values())
        found: dict[Node, Chain] = {}
        for first in following:
            if first not in ends:
                calls = [first]
                while calls[-1] in following:
                    calls.append(following[calls[-1]])
                while len(calls) >= LEAST_CALLS:
                    chain = self._longest(calls)
                    if chain is not None and self._stands_together(chain):
                        found.update(dict.fromkeys(chain.calls, chain))
                        for node, listed, number in chain.places():
                            self.listed.setdefault(node, []).append((listed, number))
                    del calls[: len(chain.calls) if chain is not None else 1]
        return found

    def _before(self, call: Node) -> Node | None:
        """Return the only call of the same function whose results are among a call's operands, or None."""
        makers = {operand.operands[0] if operand.opcode == "item" else operand for operand in call.operands}
        likes = [
            maker
            for maker in makers
            if maker.opcode == "call"
            and maker.parameters == call.parameters
            and maker.region is call.region
            and (maker.shape, maker.results) == (call.shape, call.results)
        ]
        return likes[0] if len(likes) == 1 else None

    def _longest(self, calls: Sequence[Node]) -> Chain | None:
        """Return the longest chain that begins with the first call, by bisection: each prefix of a chain is a chain."""
        found = self._chain(tuple(calls[:LEAST_CALLS]))
        low, high = LEAST_CALLS, len(calls)
        while found is not None and low < high:
            middle = (low + high + 1) // 2
            longer = self._chain(tuple(calls[:middle]))
            found, low, high = (longer, middle, high) if longer is not None else (found, low, middle - 1)
        return found

    def _chain(self, calls: tuple[Node, ...]) -> Chain | None:
        results = tuple(self.results[call] for call in calls)
        counter = self.graph.parameter((), None, calls[0].region, python_int=True)
        carried: dict[int, int] = {}
        columns: dict[int, list[tuple[Step, Numbers]]] = {}
        for place in range(len(calls[0].operands)):
            given = [call.operands[place] for call in calls]
            index = next((k for k, node in results[0].items() if node is given[1]), None)
            if index is not None:
                if any(before.get(index) is not node for before, node in zip(results, given[1:], strict=False)):
                    return None
                if any(k == index and calls[0].operands[other] is not given[0] for other, k in carried.items()):
                    return None  # two operands that are one result from the second call on begin with different values
                carried[place] = index
            elif len(set(given)) > 1:
                columns[place] = [*self._steps(given, counter, in_object=place in self.in_objects(calls[0]))]
                if not columns[place]:
                    return None
        if not carried:
            return None
        numbers, steps = _stepped(columns, len(calls))
        return Chain(calls, carried, counter, numbers, steps, results) if numbers is not None else None

    def _steps(self, given: Sequence[Node], counter: Node, *, in_object: bool) -> Iterator[tuple[Step, Numbers]]:
        """Yield the ways to get an operand from the counter, each with the numbers that the calls need.

        An operand that comes ``in_object`` is only in the lists of results.
        """
        found = _rows(self.graph, given, counter, self.plan) or _leaves(given, self.leaves)
        if found is not None:
            yield found
        for listed, _ in self.listed.get(given[0], ()):
            numbers = [dict(self.listed.get(node, ())).get(listed) for node in given]
            if None not in numbers and not (in_object and listed.is_given):
                yield listed, tuple(number for number in numbers if number is not None)

    def _stands_together(self, chain: Chain) -> bool:
        """Return whether all calls can be where the last one is.

        That is so if nothing that the last call needs reads results of the calls before, except the next call, and if
        no large array would stay live for longer.
        """
        own = {node for results in chain.results for node in results.values()}
        before_last = {node for results in chain.results[:-1] for node in results.values()}
        needed = (node for node in reached([chain.last], dependencies) if node not in chain.calls and node not in own)
        if not all(before_last.isdisjoint(dependencies(node)) for node in needed):
            return False
        is_kept = any(self.plan.uses[node] > 1 or not self._is_carried(chain, node) for node in before_last)
        is_root = chain.last.region is self.graph.root
        return not is_kept or (is_root and all(node.nbytes < LARGE for node in own))

    def _is_carried(self, chain: Chain, node: Node) -> bool:
        index = node.parameters["index"] if node.opcode == "item" else 0
        return index in chain.carried.values()


def _stepped(columns: Mapping[int, Sequence[tuple[Step, Numbers]]], count: int) -> tuple[range | None, Steps]:
    """Return the values of the counter, and each column's step with its function of the counter, best the identity.

    The range is None if the columns have no counter in common.
    """
    if not columns:
        return range(count), {}
    every = [each for found in columns.values() for each in found]
    rows = [numbers for step, numbers in every if isinstance(step, Node)]
    trees = [numbers for step, numbers in every if isinstance(step, Leaf)]
    first = rows[0] if rows else min(trees or [numbers for _, numbers in every], key=lambda own: abs(own[1] - own[0]))
    steps: dict[int, tuple[Step, Scaled]] = {}
    for place, found in columns.items():
        fitting = [(step, scaled) for step, numbers in found if (scaled := scaled_numbers(numbers, first)) is not None]
        fitting = [(step, scaled) for step, scaled in fitting if scaled == Scaled() or not isinstance(step, Node)]
        if not fitting:
            return None, {}
        steps[place] = min(fitting, key=lambda each: (each[1].factor, abs(each[1].added)))
    return _as_range(first), steps


def scaled_numbers(numbers: Sequence[int], first: Sequence[int]) -> Scaled | None:
    """Return the affine function that maps the numbers of ``first`` to ``numbers``, or None."""
    step = first[1] - first[0]
    factor = (numbers[1] - numbers[0]) // step if step else 0
    found = Scaled(factor, numbers[0] - factor * first[0])
    is_same = all(found.factor * own + found.added == number for own, number in zip(first, numbers, strict=True))
    return found if factor > 0 and is_same else None


def _note_lists(by_call: Mapping[Node, Chain], plan: Plan, results: Iterable[Node]) -> None:
    """Record which values of chains must be in lists: the ones that steps read, and the ones that other nodes read."""
    found = list(dict.fromkeys(by_call.values()))
    for step, _ in (step for chain in found for step in chain.steps.values()):
        if isinstance(step, Listed):
            by_call[step.first].listed.add(step)
    before_last = {
        node: (chain, k) for chain in found for own in chain.results[:-1] for k, node in own.items()
    }  # with the index of the result
    reading: list[tuple[Node, Node | None]] = [(node, None) for node in results]
    reading += [(operand, reader) for reader in plan.nodes if found for operand in dependencies(reader)]
    for node, reader in reading:
        if node not in before_last:
            continue
        (chain, k), other = before_last[node], by_call.get(reader) if reader is not None else None
        if other is not chain and not (other is not None and reader is not None and _steps_over(other, reader, node)):
            place = next((place for place, own in chain.carried.items() if own == k), None)
            chain.listed.add(Listed(chain.calls[0], place is not None, k if place is None else place))


def _note_totals(by_call: Mapping[Node, Chain], plan: Plan, results: Iterable[Node]) -> None:
    """Record the sums of whole lists, whose parts then need no names."""
    users = users_of(plan.nodes, results) if by_call else {}
    for chain in dict.fromkeys(by_call.values()):
        is_whole = chain.numbers in (range(chain.size), range(chain.size)[::-1])
        for listed in chain.listed if is_whole else ():
            terms = [own[listed.number] for own in chain.results if listed.number in own]
            total = None if listed.is_given or len(terms) < len(chain.calls) else _total(terms, users)
            if total is not None:
                chain.totals[listed.number] = total
                plan.named.difference_update(total.sums[:-1])


def _total(terms: Sequence[Node], users: Mapping[Node, Sequence[Node | None]]) -> Total | None:
    """Return the sum of all terms in their order; None if there is none, or if a part of it is read elsewhere."""
    readers = [users[term][0] if len(users[term]) == 1 else None for term in terms]
    sums = [reader for reader in readers if reader is not None and reader.opcode == "add"]
    if len(sums) < len(terms) or terms[0].element_type is PRED or terms[0].type.is_extension:
        return None
    start = next((operand for operand in sums[0].operands if operand is not terms[0]), terms[0])
    before, rest = (terms[0], 1) if start is terms[1] else (start, 0)
    for made, term in zip(sums[rest:], terms[rest:], strict=True):
        is_next = {*made.operands} == {before, term} and (made.type, made.shape) == (term.type, term.shape)
        if not is_next or made.region is not term.region or (before is not start and users[before] != [made]):
            return None
        before = made
    return Total(None if rest else start, tuple(dict.fromkeys(sums)))


def _steps_over(chain: Chain, call: Node, node: Node) -> bool:
    """Return whether a call of a chain reads a value through the counter alone."""
    places = [place for place, operand in enumerate(call.operands) if operand is node]
    return all(place in chain.steps for place in places)


def _as_range(numbers: Sequence[int]) -> range | None:
    step = numbers[1] - numbers[0]
    found = range(numbers[0], numbers[0] + step * len(numbers), step or 1)
    return found if tuple(found) == tuple(numbers) else None


def _rows(graph: Graph, given: Sequence[Node], counter: Node, plan: Plan) -> tuple[Step, Numbers] | None:
    """Return ``whole[3]`` or ``whole[3:4]`` as a function of the counter, and the number in each call, or None."""
    first = given[0]
    indices = [node.parameters.get("index", ()) for node in given]
    if any(
        node.opcode != "getitem" or node.operands != first.operands or node.shape != first.shape or node in plan.named
        for node in given
    ) or (len(first.operands) > 1 or len(set(map(len, indices))) > 1):
        return None
    items = list(zip(*indices, strict=True))
    differing = [k for k, each in enumerate(items) if len(set(each)) > 1]
    if len(differing) != 1:
        return None
    (k,) = differing
    size = first.operands[0].shape[sum(item is not None for item in indices[0][:k])]
    numbers = [_begin(item, size) for item in items[k]]
    if None in numbers or len({isinstance(item, int) for item in items[k]}) > 1:
        return None
    item = Slot(1) if isinstance(items[k][0], int) else (Slot(1), 1)
    index = (*indices[0][:k], item, *indices[0][k + 1 :])
    row = graph.add("getitem", (first.operands[0], counter), index=index)
    return row, tuple(number for number in numbers if number is not None)


def _begin(item: object, size: int) -> int | None:
    """Return the index, or the start of a slice of one element; None for any other item."""
    if isinstance(item, int):
        return item % size
    if not isinstance(item, tuple):
        return None
    found = range(*slice(*item).indices(size))
    return found[0] if len(found) == 1 else None


def _leaves(given: Sequence[Node], leaves: Mapping[Node, Leaf]) -> tuple[Step, Numbers] | None:
    """Return ``tree[3]["weight"]`` or ``tree["block_3"]["weight"]`` as a function of the counter, with the numbers.

    None if the values are not such leaves of one argument.
    """
    found = [leaves[node] for node in given if node in leaves]
    if len(found) < len(given) or len({(leaf.argument, len(leaf.path.keys)) for leaf in found}) > 1:
        return None
    keys = list(zip(*(leaf.path.keys for leaf in found), strict=True))
    differing = [k for k, each in enumerate(keys) if len(set(each)) > 1]
    if len(differing) != 1:
        return None
    (place,) = differing
    if all(isinstance(key, int) for key in keys[place]):
        return Leaf(found[0].argument, found[0].path, place), tuple(int(key) for key in keys[place])
    counted = numbered([str(key) for key in keys[place]])
    return counted and (Leaf(found[0].argument, found[0].path, place, counted[0]), counted[1])


def numbered(keys: Sequence[str]) -> tuple[tuple[str, str], Numbers] | None:
    """Return the words around the numbers of keys such as ``block_12``, and the numbers; None if the words differ."""
    words = [_NUMBERED.fullmatch(key) for key in keys]
    around = {(word[1], word[3] or "") for word in words if word is not None}
    if None in words or len(around) != 1:
        return None
    return around.pop(), tuple(int(word[2]) for word in words if word is not None)
