"""Layers: computations that a program repeats, each on the result of the one before, become one function.

A Python loop over layers is traced into that many copies. Before the compiler optimises them the stack tables
distinguish the copies (``outlining``); in other texts, and for everything in a layer's gradient and optimiser step,
only the computation itself does. Here copies are grown from anchors: similar nodes, each of which depends on the one
before. Everything around them that is alike in all copies is added, step by step, so that the time is linear in the
number of nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from itertools import pairwise, product

from ...array.node import Node
from ...array.program import Function, Program, roots, tree_nodes
from ...array.result_trees import fitting, placed
from ...array.traversal import topological, users_of
from ...hlo.stack_frames import CallChains
from ...walks import reached
from .growing import Copies
from .measured_sums import measured_sums
from .neighbours import Row, Surroundings
from .replacing import Alike, label_of, outline
from .tree_maps import leaf_calls

_LEAST_COPIES = 3
_LEAST_WORK = 6  # operations of a layer worth a name
_LONG_CHAIN = 16  # copies that may be a single operation, where each depends only on the one before
_ALONE = 2  # values of a copy that depends only on the one before: its input and its output
_MOST_VALUES = 12  # without a name, or one for each operation
_MOST_LENGTHS = 4  # numbers of copies that are tried
_MOST_ANCHORS = 4  # anchors that are tried for each number of copies
_MOST_CUTS = 6  # places that are tried to cut copies apart differently
_LEAST_KEPT = 0.95  # of the saving that must remain for fewer values passed on, or more copies
_MOST_ROUNDS = 8  # functions that one function is split into
Anchors = tuple[Node, ...]
_MOST_ROWS = 500  # of a layer for which cuts are considered


def layers(program: Program) -> None:
    """Write the layers of a program as calls of functions."""

    def rounds(function: Function) -> Iterator[list[Alike]]:
        for _ in range(_MOST_ROUNDS):
            found = _best(function, _left_to_trees(program, function))
            if found is None:
                break
            yield [found]

    outline(program, rounds, _label)


def _label(function: Function, found: Alike, chains: CallChains, own: Container[str]) -> str:
    """The name of the author's function, such as ``block``, or else ``layer``; with ``d_`` before it in a gradient, as
    in ``d_block``.
    """
    graph = function.graph
    label = label_of(function, found, chains, own).removeprefix("part_of_") or "layer"
    # Views may be placed where their operand is computed.
    first = (row[0] for row in found.rows)
    origins = [graph.origins[n] for n in first if n in graph.origins and not n.operation.is_light]
    is_gradient = any(origin.metadata is not None and "transpose(" in origin.metadata.op_name for origin in origins)
    return f"d_{label}" if is_gradient and not label.startswith("d_") else label


def _left_to_trees(program: Program, function: Function) -> set[Node]:
    """Return the nodes that layers leave out, as they are written after all layers: the calls for the leaves of a tree,
    and sums over leaves.
    """
    trees = program.original.trees
    tree = fitting(trees.results, function.results) if trees is not None and function is program.entry else None
    nodes, results = topological(roots(function)), tree_nodes(function.results)
    uses = {node: len(found) for node, found in users_of(nodes, results).items()}
    summed = {node for found in measured_sums(nodes, uses) for node in (found.node, *found.inside)}
    if tree is None:
        return summed
    items: dict[Node, dict[int, Node]] = {}
    for node in nodes:
        if node.opcode == "item":
            items.setdefault(node.operands[0], {})[node.parameters["index"]] = node
    calls = [call for each in leaf_calls(placed(tree, results), items, uses) for call in each.calls]
    return summed | {node for call in calls for node in (call, *items[call].values())}


def _best(function: Function, left_out: set[Node]) -> Alike | None:
    """The copies that shorten the program most; None if none are worth a function."""
    around = Surroundings(function, left_out)
    known = {*function.parameters, *tree_nodes(function.results)}
    best: tuple[Copies, Alike] | None = None
    most = 0
    for anchors in _anchors(around):
        is_long = len(anchors) >= _LONG_CHAIN
        copies = Copies.grown(around, anchors, 1 if is_long else _LEAST_WORK)
        if copies is None:
            continue
        found = copies.outlined()
        if _lists_numbers(found, copies.work, known):
            continue
        if copies.work >= _LEAST_WORK or _are_alone(found):
            # Calls that depend only on the one before are written as a loop of two lines.
            saving = copies.saving(found) if copies.work >= _LEAST_WORK else found.count
            has_more = best is not None and found.count > best[1].count
            if saving > (_LEAST_KEPT * most if has_more else most):
                best, most = (copies, found), saving
    return _recut(function, around, *best, most) if best is not None else None


def _lists_numbers(found: Alike, work: int, known: set[Node]) -> bool:
    """Whether a call would list more values than it saves operations, none of which is an argument, a result or a
    result of another call, which the author would know.
    """
    values = [column[0] for column in (*found.inputs, *found.outputs)]
    is_anonymous = all(node not in known and node.opcode != "item" for node in values)
    return is_anonymous and len(values) > max(_MOST_VALUES, work)


def _are_alone(found: Alike) -> bool:
    """Whether each copy depends only on the result of the one before, and is more than a call."""
    return found.values == _ALONE and any(row[0].opcode != "call" for row in found.rows)


def _recut(function: Function, around: Surroundings, best: Copies, found: Alike, most: int) -> Alike:
    """The same copies cut where the fewest values pass from one to the next, if they save about as much.

    Preferred are cuts for which the inputs and outputs of a copy are adjacent among the function's arguments and
    results, as a layer's weights are.
    """
    places = {node: k for k, node in enumerate([*function.parameters, *tree_nodes(function.results)])}
    pieces = _pieces(found, places)
    for anchors, begins_ahead in product(cuts(best)[:_MOST_CUTS], (False, True)):
        copies = Copies.grown(around, anchors, _LEAST_WORK, begins_ahead=begins_ahead)
        if copies is None:
            continue
        other = copies.outlined()
        own = _pieces(other, places)
        is_better = (own, other.values, -other.count) < (pieces, found.values, -found.count)
        if is_better and copies.saving(other) > _LEAST_KEPT * most:
            found, pieces = other, own
    return found


def _pieces(found: Alike, places: dict[Node, int]) -> int:
    """The number of runs of consecutive places among the arguments and results that a copy in the middle uses."""
    values = (column[found.count // 2] for column in (*found.inputs, *found.outputs))
    numbers = sorted(places[node] for node in values if node in places)
    return sum(after - before > 1 for before, after in pairwise(numbers))


def _anchors(around: Surroundings) -> Iterator[Anchors]:
    """Similar nodes to start from, each of which may depend on the one before; nodes that are already part of grown
    copies are left out.
    """
    classes = around.classes(_LEAST_COPIES)
    weights = Counter(dict.fromkeys(map(len, classes), 0))
    for anchors in classes:
        weights[len(anchors)] += len(anchors)
    for length, _ in weights.most_common(_MOST_LENGTHS):
        tried = 0
        for anchors in classes:
            if len(anchors) == length and tried < _MOST_ANCHORS and not around.has_grown(anchors):
                tried += 1
                yield anchors


# -- the best places to cut copies apart


def cuts(copies: Copies) -> list[Row]:
    """The rows of copies just after the narrowest cuts.

    A cut before a row assigns the rows before it to the previous copy.
    """
    rows = sorted(_leading_on(copies), key=lambda row: copies.around.place[row[0]])
    if len(rows) > _MOST_ROWS:
        return []
    place = {node: (k, copy) for k, row in enumerate(rows) for copy, node in enumerate(row)}
    crossed: list[set[int]] = [set() for _ in rows]  # by row: the cuts that its value crosses
    for reader, row in enumerate(rows):
        for operand in row[1].operands:
            number, copy = place.get(operand, (0, -1))
            if copy in (0, 1):
                crossed[number].update(_between(number, reader, len(rows), is_later=copy == 0))
    widths = [sum(cut in own for own in crossed) for cut in range(len(rows))]
    narrowest = [cut for cut, width in enumerate(widths) if width == min(widths)]
    behind = (next(filter(copies.around.may_be_chain, rows[cut:]), None) for cut in narrowest)
    found: list[Row] = []
    for row in dict.fromkeys(row for row in behind if row is not None):
        before = _before(copies, row)
        found += [row] if before is None else [(before, *row), (before, *row[:-1]), row]
    return found


def _leading_on(copies: Copies) -> set[Row]:
    """The rows on which the next copy depends, as opposed to those that only give results."""
    row_of = {node: row for row in copies.rows for node in row[:2]}
    operands = (operand for row in copies.rows for operand in row[1].operands)
    needed = [row for operand in operands if (row := row_of.get(operand)) is not None and operand is row[0]]
    return set(reached(needed, lambda row: (row_of[operand] for operand in row[0].operands if operand in row_of)))


def _before(copies: Copies, row: Row) -> Node | None:
    """The node that corresponds to a row in an imaginary copy before the first one.

    It is found by following the inputs that the first copy has in place of results of a previous one.
    """
    kinds = copies.around.kinds
    waiting = [
        (outer, inner)
        for other in copies.rows
        for outer, inner in zip(other[0].operands, other[1].operands, strict=True)
        if copies.owner.get(inner, (0, -1))[1] == 0
    ]
    seen: set[Node] = set()
    while waiting:
        outer, inner = waiting.pop()
        if inner in seen or kinds[outer] != kinds[inner] or copies.owner.get(inner, (0, -1))[1] != 0:
            continue
        if inner is row[0]:
            return outer if outer not in copies.owner else None
        seen.add(inner)
        waiting += zip(outer.operands, inner.operands, strict=True)
    return None


def _between(row: int, reader: int, count: int, *, is_later: bool) -> Iterator[int]:
    """The cuts between a row and one that reads it, in the same copy or in the next."""
    if is_later:
        yield from range(min(row, reader) + 1)
        yield from range(row + 1, count)
    else:
        yield from range(row + 1, reader + 1)
