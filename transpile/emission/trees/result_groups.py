"""Results as trees: their display, and results of a layer that form a part of the tree that ``main`` returns.

A training step returns a new tree of weights. If the same results of every call of a layer's function form a whole dict
of that tree, the function returns the dict: ``"norm": layer_0.new_params_norm``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...array.node import Node
from ...array.program import Tree
from ...array.result_trees import Path, leaves_of, parts_of, with_parts
from ...dataclass import dataclass
from ...hlo.ir import Built, HloModule, ResultTree
from ..texts import quoted_key


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
    return with_parts(tree, (with_texts(part, texts, (*path, key)) for key, part in parts_of(tree)))


@dataclass(frozen=True, slots=True)
class Spread:
    """A text whose items a dict has, in the place of a key."""

    text: str


def display(tree: Any, *, outermost: bool = True) -> str:
    """Return a tree of texts as Python source; an ``outermost`` tuple of several has no parentheses."""
    if isinstance(tree, dict):
        if len(tree) == 1 and isinstance(only := next(iter(tree)), Spread):
            return only.text
        return f"{{{', '.join(_item(key, part) for key, part in tree.items())}}}"
    if isinstance(tree, list | tuple):
        inner = ", ".join(display(part, outermost=False) for part in tree)
        if isinstance(tree, list):
            return f"[{inner}]"
        if outermost and len(tree) > 1:
            return inner
        return f"({inner},)" if len(tree) == 1 else f"({inner})"
    if isinstance(tree, Built):
        parts = [display(part, outermost=False) for part in tree.parts]
        heads = [f"{field}=" for field in tree.fields] or [""] * len(parts)
        return f"{tree.name}({', '.join(map(str.__add__, heads, parts))})"
    return str(tree)


def _item(key: Any, part: Any) -> str:
    return f"**{key.text}" if isinstance(key, Spread) else f"{quoted_key(key)}: {display(part, outermost=False)}"


def leaf_columns(tree: Any, level: int = 1, before: int = 0) -> Iterator[tuple[Any, int]]:
    """Yield each leaf with the columns taken in its line, if every container has a line for each of its parts.

    Indentation is relative to the statement.
    """
    if isinstance(tree, dict):
        for key, part in tree.items():
            yield from leaf_columns(part, level + 1, len(f"{quoted_key(key)}: "))
    elif isinstance(tree, Built):
        for field, part in zip(tree.fields or [""] * len(tree.parts), tree.parts, strict=True):
            yield from leaf_columns(part, level + 1, len(f"{field}="))
    elif isinstance(tree, list | tuple):
        for part in tree:
            yield from leaf_columns(part, level + 1)
    elif tree is not None:
        yield tree, 4 * (level - 1) + before + len(",")


def with_objects(tree: ResultTree, made: Callable[[Built], ResultTree]) -> ResultTree:
    """Return the tree with its objects replaced by what ``made`` returns for them, the inner ones first."""
    tree = with_parts(tree, (with_objects(part, made) for _, part in parts_of(tree)))
    return made(tree) if isinstance(tree, Built) else tree


def has_trees(module: HloModule, paths: Sequence[object]) -> bool:
    """Return whether a module knows that its function takes or returns more than arrays and a flat tuple."""
    if module.trees is None:
        return False
    results = module.trees.results
    is_one = isinstance(results, tuple) and len(results) == 1
    parts = results if isinstance(results, tuple) else (results,)
    is_flat = results is None or all(isinstance(part, int) for part in parts)
    return is_one or not is_flat or any(path is not None for path in paths)
