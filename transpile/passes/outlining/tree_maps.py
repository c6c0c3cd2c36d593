"""Calls of one function for each leaf of trees: what an optimiser does to every weight of a model.

Their results stand at the same places of trees that the program returns: those of new weights, and of what is kept
beside each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...array.node import Node
from ...array.result_trees import Path, leaves_of, parts_of
from ...dataclass import dataclass
from ...hlo.ir import Built

_LEAST_CALLS = 3

Items = Mapping[Node, Mapping[int, Node]]  # by call, the results that somebody reads by their numbers


@dataclass(frozen=True, eq=False, slots=True)
class LeafCalls:
    """Calls that give leaves of some trees, or all: ``trees`` are the places of these in what is returned, one for each
    result of a call, and ``leaves`` the places of each call's results in them, which are the same in all of them.
    """

    calls: tuple[Node, ...]
    leaves: tuple[Path, ...]
    trees: tuple[Path, ...]


def leaf_calls(tree: Any, items: Items, uses: Mapping[Node, int]) -> list[LeafCalls]:
    """Return those among the calls of ``items`` whose several results are only returned, in that tree of results.

    The trees that they give are dicts, lists, tuples and objects with fields; only dicts may hold something else, too.
    ``uses`` says how often a value is used.
    """
    leaves = list(leaves_of(tree))
    counts = Counter(node for _, node in leaves)
    places = {node: path for path, node in leaves if counts[node] == 1 == uses.get(node)}
    found: dict[Any, list[tuple[Node, Path]]] = {}  # by function and trees
    for call, parts in items.items():
        given = [places[parts[k]] for k in range(len(call.results)) if k in parts and parts[k] in places]
        is_free = call.opcode == "call" and "effect" not in call.parameters and "after" not in call.parameters
        if is_free and len(given) == len(call.results) > 1:
            shared = min(_shared_keys(given), *(_plain_keys(tree, path) for path in given))
            starts = tuple(path[: len(path) - shared] for path in given)
            found.setdefault((call.parameters["function"], starts), []).append((call, given[0][len(starts[0]) :]))
    made = [
        _inner(tree, LeafCalls(tuple(call for call, _ in own), tuple(end for _, end in own), starts))
        for (_, starts), own in found.items()
    ]
    return [each for each in made if len(each.calls) >= _LEAST_CALLS and _are_parts(tree, each)]


def _inner(tree: Any, found: LeafCalls) -> LeafCalls:
    """Return calls for the leaves of trees, where they are those of a part of each, as calls for these parts."""
    while not _are_parts(tree, found) and len({path[:1] for path in found.leaves}) == 1 < min(map(len, found.leaves)):
        starts = tuple((*start, found.leaves[0][0]) for start in found.trees)
        found = replace(found, leaves=tuple(path[1:] for path in found.leaves), trees=starts)
    return found


def _are_parts(tree: Any, found: LeafCalls) -> bool:
    """Tell whether the calls give what trees are left of when keys of dicts are left out."""
    return all(found.leaves) and all(pruned(part_at(tree, start), found.leaves) is not None for start in found.trees)


def pruned(tree: Any, leaves: Sequence[Path]) -> Any:
    """Return what is left of a tree with these leaves alone; None where more than keys of dicts would be left out."""
    if () in leaves:
        return tree
    by_key: dict[Any, list[Path]] = {}
    for key, *rest in leaves:
        by_key.setdefault(key, []).append(tuple(rest))
    parts = {key: pruned(part, by_key[key]) for key, part in parts_of(tree) if key in by_key}
    if None in parts.values():
        return None
    if isinstance(tree, dict):
        return parts
    if len(parts) < sum(1 for _ in parts_of(tree)):
        return None
    whole = tuple(parts.values())
    return replace(tree, parts=whole) if isinstance(tree, Built) else type(tree)(whole)


def part_at(tree: Any, path: Path) -> Any:
    """Return the part of a tree at the end of a way."""
    for key in path:
        tree = dict(parts_of(tree))[key]
    return tree


def _shared_keys(paths: Sequence[Path]) -> int:
    """The number of last keys that all ways have in common."""
    pairs = zip(*(reversed(path) for path in paths), strict=False)
    return next((k for k, keys in enumerate(pairs) if len(set(keys)) > 1), min(map(len, paths)))


def _plain_keys(tree: Any, path: Path) -> int:
    """The number of last keys of a way that lead through no object whose parts have no names."""
    found = 0
    for key in path:
        found = 0 if isinstance(tree, Built) and not tree.fields else found + 1
        tree = dict(parts_of(tree))[key]
    return found
