"""The tree of a program's results, with the results, or their numbers, as its leaves.

Where it is not known, or a key of it could be read as anything but itself, the results stay a flat tuple.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ..hlo.ir import Built, ResultTree
from .node import Node
from .program import Tree

Path = tuple[Any, ...]  # from the whole tree: keys, numbers, and fields of objects with a dot before them

_WORD = re.compile(r"[ !#-&(-\[\]-~]{1,60}", re.ASCII)  # nothing that a string has to escape


def fitting(tree: ResultTree, results: Tree) -> ResultTree:
    """Return the tree, None where it is not one of exactly these results or has keys that are no plain words."""
    parts = list(results) if isinstance(results, tuple | list) else [results]
    if tree is None or not all(isinstance(part, Node) for part in parts) or not _is_plain(tree):
        return None
    numbers: list[int] = []
    mapped(tree, numbers.append)
    return tree if numbers == list(range(len(parts))) else None


def _is_plain(tree: ResultTree) -> bool:
    if isinstance(tree, dict):
        keys_are_plain = all(type(key) is int or (isinstance(key, str) and _WORD.fullmatch(key)) for key in tree)
        return keys_are_plain and all(map(_is_plain, tree.values()))
    parts = tree.parts if isinstance(tree, Built) else tree
    return all(map(_is_plain, parts)) if isinstance(parts, list | tuple) else tree is None or type(tree) is int


def placed(tree: ResultTree, leaves: Any) -> Any:
    """Return the tree with the leaves, several or the only one, in place of their numbers."""
    return mapped(tree, (list(leaves) if isinstance(leaves, tuple | list) else [leaves]).__getitem__)


def mapped(tree: Any, function: Callable[[Any], Any]) -> Any:
    """Return the tree with what ``function`` makes of each leaf."""
    if isinstance(tree, dict):
        return {key: mapped(part, function) for key, part in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(mapped(part, function) for part in tree)
    if isinstance(tree, Built):
        return replace(tree, parts=mapped(tree.parts, function))
    return None if tree is None else function(tree)


def parts_of(tree: Any) -> Iterator[tuple[Any, Any]]:
    """The parts of a tree that is no leaf, by their keys, numbers or fields."""
    if isinstance(tree, dict):
        yield from tree.items()
    elif isinstance(tree, Built) and tree.fields:
        yield from zip((f".{each}" for each in tree.fields), tree.parts, strict=True)
    elif isinstance(tree, list | tuple | Built):
        yield from enumerate(tree.parts if isinstance(tree, Built) else tree)


def is_field(key: Any) -> bool:
    """Tell whether a key of a way is a field of an object; no key of a dict has a dot before it."""
    return isinstance(key, str) and key.startswith(".")


def leaves_of(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    """The arrays of a tree, each with the way to it."""
    if isinstance(tree, Node):
        yield path, tree
    for key, part in parts_of(tree):
        yield from leaves_of(part, (*path, key))
