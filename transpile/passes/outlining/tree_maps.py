"""Calls of one function for each leaf of trees, such as an optimiser's update of every weight of a model.

Their results are at corresponding places of trees that the program returns: the new weights, and the optimiser state of
each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...array.node import Node
from ...array.result_trees import Path, leaves_of, parts_of, with_parts
from ...dataclass import dataclass
from ...hlo.ir import Built

_LEAST_CALLS = 3

Items = Mapping[Node, Mapping[int, Node]]  # by call, the results that are read, by index


@dataclass(frozen=True, eq=False, slots=True)
class LeafCalls:
    """Calls that give some or all leaves of some trees: ``trees`` are the paths of these trees in the program's result,
    one for each result of a call, and ``leaves`` the paths of each call's results within them, the same in all of them.
    """

    calls: tuple[Node, ...]
    leaves: tuple[Path, ...]
    trees: tuple[Path, ...]


def leaf_calls(tree: Any, items: Items, uses: Mapping[Node, int]) -> list[LeafCalls]:
    """The calls among ``items`` with several results that are used only in that tree of returned results.

    The trees that they give are dicts, lists, tuples and objects with fields; only dicts may contain other entries too.
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
    """If all leaves are in one common part of each tree, the calls described as those for these parts."""
    while not _are_parts(tree, found) and len({path[:1] for path in found.leaves}) == 1 < min(map(len, found.leaves)):
        starts = tuple((*start, found.leaves[0][0]) for start in found.trees)
        found = replace(found, leaves=tuple(path[1:] for path in found.leaves), trees=starts)
    return found


def _are_parts(tree: Any, found: LeafCalls) -> bool:
    """Whether the calls give complete trees, except that keys of dicts may be left out."""
    return all(found.leaves) and all(pruned(part_at(tree, start), found.leaves) is not None for start in found.trees)


def pruned(tree: Any, leaves: Sequence[Path]) -> Any:
    """The part of a tree with only these leaves; None if anything other than keys of dicts would be left out."""
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
    return with_parts(tree, parts.values()) if len(parts) == sum(1 for _ in parts_of(tree)) else None


def part_at(tree: Any, path: Path) -> Any:
    """The part of a tree at a path."""
    for key in path:
        tree = dict(parts_of(tree))[key]
    return tree


def _shared_keys(paths: Sequence[Path]) -> int:
    """The length of the common suffix of all paths."""
    pairs = zip(*(reversed(path) for path in paths), strict=False)
    return next((k for k, keys in enumerate(pairs) if len(set(keys)) > 1), min(map(len, paths)))


def _plain_keys(tree: Any, path: Path) -> int:
    """The number of trailing keys of a path that lead through no object without field names."""
    found = 0
    for key in path:
        found = 0 if isinstance(tree, Built) and not tree.fields else found + 1
        tree = dict(parts_of(tree))[key]
    return found
