"""The pytree of a program's results, whose leaves are the results or their numbers.

If the tree is unknown, or a key could be mistaken for something else in the emitted text, the results stay a flat
tuple.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from ..hlo.ir import Built, ResultTree, is_plain_key
from .node import Node
from .program import Tree

Path = tuple[Any, ...]  # from the root to a leaf: keys, numbers, and fields of objects with a dot before them

_WORD = re.compile(r"(?!\.)[\s\S]{0,400}")


def fitting(tree: ResultTree, results: Tree) -> ResultTree:
    """Return the tree if its leaves are exactly the numbers of the results, in order, and its keys can be written;
    else None.
    """
    parts = list(results) if isinstance(results, tuple | list) else [results]
    if tree is None or not all(isinstance(part, Node) for part in parts) or not _is_plain(tree):
        return None
    numbers: list[int] = []
    mapped(tree, numbers.append)
    return tree if numbers == list(range(len(parts))) else None


def _is_plain(tree: ResultTree) -> bool:
    if isinstance(tree, dict):
        return all(map(_is_written, tree)) and all(map(_is_plain, tree.values()))
    parts = tree.parts if isinstance(tree, Built) else tree
    return all(map(_is_plain, parts)) if isinstance(parts, list | tuple) else tree is None or type(tree) is int


def _is_written(key: Any) -> bool:
    """Return whether the text may have a key of a dict."""
    if type(key) is tuple:
        return all(map(_is_written, key))
    return is_plain_key(key) and (type(key) is not str or _WORD.fullmatch(key) is not None)


def placed(tree: ResultTree, leaves: Any) -> Any:
    """Return the tree with the leaves (a list, or the only leaf) in place of their numbers."""
    return mapped(tree, (list(leaves) if isinstance(leaves, tuple | list) else [leaves]).__getitem__)


def mapped(tree: Any, function: Callable[[Any], Any]) -> Any:
    """Return the tree with ``function`` applied to each leaf."""
    if isinstance(tree, dict | list | tuple | Built):
        return with_parts(tree, (mapped(part, function) for _, part in parts_of(tree)))
    return None if tree is None else function(tree)


def with_parts(tree: Any, parts: Iterable[Any]) -> Any:
    """Return a tree with other children, in the order of :func:`parts_of`; a leaf as it is."""
    if isinstance(tree, dict):
        return dict(zip(tree, parts, strict=True))
    if isinstance(tree, Built):
        return replace(tree, parts=tuple(parts))
    return type(tree)(parts) if isinstance(tree, list | tuple) else tree


def parts_of(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the children of a tree with their keys, numbers or fields; nothing for a leaf."""
    if isinstance(tree, dict):
        yield from tree.items()
    elif isinstance(tree, Built) and tree.fields:
        yield from zip((f".{each}" for each in tree.fields), tree.parts, strict=True)
    elif isinstance(tree, list | tuple | Built):
        yield from enumerate(tree.parts if isinstance(tree, Built) else tree)


def is_field(key: Any) -> bool:
    """Return whether a key of a path is a field of an object; no key of a dict begins with a dot."""
    return isinstance(key, str) and key.startswith(".")


def leaves_of(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    """Yield the leaves of a tree, each with its path."""
    if isinstance(tree, Node):
        yield path, tree
    for key, part in parts_of(tree):
        yield from leaves_of(part, (*path, key))
