"""Unpacking where the author unpacks: ``k1, k2 = split_key(key, 2)`` for ``jax.random.split(key)``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ...array.graph import Graph
from ...array.in_place import is_view
from ...array.node import Node
from ...array.program import Function, Program, roots, tree_nodes
from ...array.rewriting import rewrite
from ...array.traversal import topological, users_of
from ...array.value import FULL
from ..naming.source import SourceNames, TakenApart

_MOST = 8  # rows of one array


def unpack_as_author(program: Program, names: SourceNames, *, elements_are_numbers: bool) -> None:
    """Unpack arrays where the author does, in one assignment to several names."""
    for function in program.functions:
        arrays = list(_taken_apart(function, names, elements_are_numbers=elements_are_numbers))
        for array, rows, own in reversed(arrays):  # a rewrite may change later nodes, so last first
            rewrite(function, ("getitem",), partial(_row, function.graph, array, own), may_match=rows.__contains__)


def _row(graph: Graph, array: Node, names: tuple[str, ...], node: Node) -> Node:
    with graph.in_place_of(array):
        parts = graph.add("unpack", (array,), names=names)
    return graph.add("item", (parts,), index=node.parameters["index"][0])


def _taken_apart(
    function: Function, names: SourceNames, *, elements_are_numbers: bool
) -> Iterator[tuple[Node, set[Node], tuple[str, ...]]]:
    """Yield each array to unpack, with the nodes that read the rows of the author's assignment, and the names in it.

    Other readers of an array must not see changes of its rows: either the rows are numbers, or there are no other
    readers.
    """
    users = users_of(topological(roots(function)), tree_nodes(function.results))
    for array, readers in users.items():
        if array.is_literal or not array.ndim or not 2 <= array.shape[0] <= _MOST:
            continue
        places = {each: _place(function.graph, each, array, names) for each in readers if each is not None}
        rows = {reader: place for reader, place in places.items() if place is not None}
        has_other_readers = len(rows) < len(readers)
        are_apart = (elements_are_numbers and array.ndim == 1) or (_is_new(array) and not has_other_readers)
        if len(rows) > 1 and len(set(rows.values())) == 1 and are_apart:
            ((own, *_),) = set(rows.values())
            if len(own) == array.shape[0]:
                yield array, set(rows), own


def _is_new(array: Node) -> bool:
    """Return whether an operation allocates its result, which is not one of its operands."""
    is_call = array.opcode in ("prelude", "library") and not array.operation.passes_on
    return (array.operation.allocates or is_call) and not is_view(array)


def _place(graph: Graph, reader: Node, array: Node, names: SourceNames) -> TakenApart | None:
    """Return the author's unpacking of an array that a reader is one row of, or None.

    For keys, which are assembled from words, the split itself says so.
    """
    if reader.opcode != "getitem" or reader.operands != (array,) or reader.region is not array.region:
        return None
    row, *others = reader.parameters["index"]
    if not isinstance(row, int) or row < 0 or any(item != FULL for item in others):
        return None
    made = graph.results.get(reader, ())
    if not made and array.parameters.get("function") == "split_key":
        return names.taken_apart(graph.origins.get(array))
    return next((found for each in made if (found := names.taken_apart(each)) is not None), None)
