"""Calls of one function, each on what the last one gave: ``for i in range(32): x = layer(x, weights[i])``.

The layers of a model are such a chain. It becomes a loop where the other arguments of the calls step through the rows
of arrays, or through a list in an argument that is a tree. Arguments that have a name each stay in calls of their own:
a list of these names would be no shorter.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..array.graph import Graph
from ..array.node import Node, Slot
from .argument_trees import Path
from .plan import Plan

_LEAST_CALLS = 4


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf of the tree ``argument``; in the path the counter stands at ``place`` for the key."""

    argument: str
    path: Path
    place: int = -1


Step = Node | Leaf


@dataclass(frozen=True, eq=False, slots=True)
class Chain:
    """The calls in order, and the place among their arguments of what the last one gave.

    ``steps`` are those arguments that are made of the ``counter``, by their places; all others are the same in all
    calls.
    """

    calls: tuple[Node, ...]
    carried: int
    counter: Node
    numbers: range
    steps: Mapping[int, Step]

    @property
    def last(self) -> Node:
        return self.calls[-1]


def chains(graph: Graph, plan: Plan, leaves: Mapping[Node, Leaf]) -> dict[Node, Chain]:
    """The chains that are worth a loop, for each of their calls; ``leaves`` are the parameters that are leaves."""
    following = {before: call for call in plan.nodes if (before := _before(call, plan)) is not None}
    ends = set(following.values())
    found: dict[Node, Chain] = {}
    for first in following:
        if first not in ends:
            calls = [first]
            while calls[-1] in following:
                calls.append(following[calls[-1]])
            while len(calls) >= _LEAST_CALLS:
                chain = _longest(graph, calls, plan, leaves)
                if chain is not None:
                    found.update(dict.fromkeys(chain.calls, chain))
                del calls[: len(chain.calls) if chain is not None else 1]
    return found


def _before(call: Node, plan: Plan) -> Node | None:
    """The call of the same function whose result is read by this call alone, as one of its arguments."""
    if call.opcode != "call" or call.results or call.element_type is None:
        return None
    likes = [
        operand
        for operand in call.operands
        if operand.opcode == "call"
        and operand.parameters == call.parameters
        and operand.region is call.region
        and operand.shape == call.shape
    ]
    return likes[0] if len(likes) == 1 and plan.uses[likes[0]] == 1 else None


def _longest(graph: Graph, calls: Sequence[Node], plan: Plan, leaves: Mapping[Node, Leaf]) -> Chain | None:
    """The longest chain that begins with the first call: what begins a chain is one."""
    found = _chain(graph, tuple(calls[:_LEAST_CALLS]), plan, leaves)
    low, high = _LEAST_CALLS, len(calls)
    while found is not None and low < high:
        middle = (low + high + 1) // 2
        longer = _chain(graph, tuple(calls[:middle]), plan, leaves)
        found, low, high = (longer, middle, high) if longer is not None else (found, low, middle - 1)
    return found


def _chain(graph: Graph, calls: tuple[Node, ...], plan: Plan, leaves: Mapping[Node, Leaf]) -> Chain | None:
    carried = calls[1].operands.index(calls[0])
    if any(call.operands[carried] is not before for before, call in itertools.pairwise(calls)):
        return None
    counter = graph.parameter((), None, calls[0].region, python_int=True)
    steps: dict[int, Step] = {}
    stepped: set[tuple[int, ...]] = set()
    for place in range(len(calls[0].operands)):
        given = [call.operands[place] for call in calls]
        if place == carried or len(set(given)) == 1:
            continue
        found = _rows(graph, given, counter, plan) or _leaves(given, leaves)
        if found is None:
            return None
        steps[place] = found[0]
        stepped.add(found[1])
    numbers = _as_range(*stepped) if len(stepped) == 1 else range(len(calls)) if not stepped else None
    return Chain(calls, carried, counter, numbers, steps) if numbers is not None else None


def _as_range(numbers: Sequence[int]) -> range | None:
    step = numbers[1] - numbers[0]
    found = range(numbers[0], numbers[0] + step * len(numbers), step or 1)
    return found if tuple(found) == tuple(numbers) else None


def _rows(graph: Graph, given: Sequence[Node], counter: Node, plan: Plan) -> tuple[Step, tuple[int, ...]] | None:
    """``whole[3]`` or ``whole[3:4]`` of one array, with another number in each call."""
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
    """The number of an index, or of a slice of one element."""
    if isinstance(item, int):
        return item % size
    if not isinstance(item, tuple):
        return None
    found = range(*slice(*item).indices(size))
    return found[0] if len(found) == 1 else None


def _leaves(given: Sequence[Node], leaves: Mapping[Node, Leaf]) -> tuple[Step, tuple[int, ...]] | None:
    """``tree[3]["weight"]``, with another number in each call."""
    found = [leaves[node] for node in given if node in leaves]
    if len(found) < len(given) or len({(leaf.argument, len(leaf.path.keys)) for leaf in found}) > 1:
        return None
    keys = list(zip(*(leaf.path.keys for leaf in found), strict=True))
    differing = [k for k, each in enumerate(keys) if len(set(each)) > 1]
    if len(differing) != 1 or not all(isinstance(key, int) for key in keys[differing[0]]):
        return None
    (place,) = differing
    return Leaf(found[0].argument, found[0].path, place), tuple(int(key) for key in keys[place])
