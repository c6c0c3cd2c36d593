"""Results of a layer that form a part of the tree that ``main`` returns are returned as that part.

A training step returns a new tree of weights. If the same results of every call of a layer's function form a whole dict
of that tree, the function returns the dict: ``"norm": layer_0.new_params_norm``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...array.node import Node
from ...array.program import Tree
from ...array.result_trees import Path, leaves_of, parts_of
from ...dataclass import dataclass
from ...hlo.ir import Built


@dataclass(frozen=True, slots=True)
class ResultGroup:
    """Results that form a dict: by number, the path of each in it; for each call, the dict's place; and its word."""

    keys: Mapping[int, Path]
    places: tuple[Path, ...]
    word: str = ""

    @property
    def tree(self) -> dict[str, Any]:
        """The dict, with the numbers of the results."""
        whole: dict[str, Any] = {}
        for number, keys in self.keys.items():
            inner = whole
            for key in keys[:-1]:
                inner = inner.setdefault(key, {})
            inner[keys[-1]] = number
        return whole


def result_groups(tree: Tree, calls: Sequence[Mapping[int, Node]], uses: Mapping[Node, int]) -> list[ResultGroup]:
    """Return the groups of a function's results, the largest dicts first.

    ``tree`` is the caller's result; ``calls`` has the used results of each call by number; ``uses`` counts the uses of
    values.
    """
    leaves = list(leaves_of(tree))
    counts = Counter(node for _, node in leaves)
    places = {node: path for path, node in leaves if counts[node] == 1 == uses.get(node)}
    dicts = dict(_dicts(tree, ()))
    numbers = {node: number for number, node in calls[0].items()}
    found: list[ResultGroup] = []
    taken: set[int] = set()
    for inside in dicts.values():
        keys = {numbers[node]: keys for keys, node in inside.items() if node in numbers and node in places}
        if len(keys) < max(2, len(inside)) or taken & keys.keys():
            continue
        own = [_place(keys, call, places) for call in calls]
        if all(place is not None and len(dicts.get(place, ())) == len(keys) for place in own):
            found.append(ResultGroup(keys, tuple(place for place in own if place is not None)))
            taken.update(keys)
    return found


def _place(keys: Mapping[int, Path], call: Mapping[int, Node], places: Mapping[Node, Path]) -> Path | None:
    """Return the place of the dict that these results of a call form, or None."""
    own = {number: places[call[number]] for number in keys if number in call and call[number] in places}
    starts = {path[: len(path) - len(keys[number])] for number, path in own.items()}
    is_whole = len(own) == len(keys) and len(starts) == 1
    start = starts.pop() if is_whole else None
    return start if start is not None and all((*start, *keys[k]) == path for k, path in own.items()) else None


def _dicts(tree: Any, path: Path) -> Iterator[tuple[Path, dict[Path, Any]]]:
    """Yield the dicts in a tree that contain only arrays and such dicts, outermost first, with their leaves."""
    if isinstance(tree, dict) and tree and _is_plain(tree):
        yield path, dict(leaves_of(tree))
    for key, part in parts_of(tree):
        yield from _dicts(part, (*path, key))


def _is_plain(tree: Any) -> bool:
    if isinstance(tree, dict):
        return all(isinstance(key, str) and _is_plain(part) for key, part in tree.items())
    return isinstance(tree, Node)


def with_texts(tree: Any, texts: Mapping[Path, str], path: Path = ()) -> Any:
    """Return the tree with the parts at these places replaced by texts."""
    if path in texts:
        return texts[path]
    if isinstance(tree, Built):
        return replace(tree, parts=tuple(with_texts(part, texts, (*path, key)) for key, part in parts_of(tree)))
    if isinstance(tree, dict):
        return {key: with_texts(part, texts, (*path, key)) for key, part in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(with_texts(part, texts, (*path, key)) for key, part in enumerate(tree))
    return tree
