"""Results as the tree that the traced function returned: ``return {"w": w, "b": b}, loss``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...dataclass import dataclass
from ...hlo.ir import Built, HloModule, ResultTree


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
    return f"**{key.text}" if isinstance(key, Spread) else f"{quoted(key)}: {display(part, outermost=False)}"


def quoted(key: str | int) -> str:
    """Return a key that has passed ``fitting`` as a literal."""
    return f'"{key}"' if isinstance(key, str) else str(key)


def leaf_columns(tree: Any, level: int = 1, before: int = 0) -> Iterator[tuple[Any, int]]:
    """Yield each leaf with the columns taken in its line, if every container has a line for each of its parts.

    Indentation is relative to the statement.
    """
    if isinstance(tree, dict):
        for key, part in tree.items():
            yield from leaf_columns(part, level + 1, len(f"{quoted(key)}: "))
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
    if isinstance(tree, Built):
        return made(replace(tree, parts=tuple(with_objects(part, made) for part in tree.parts)))
    if isinstance(tree, dict):
        return {key: with_objects(part, made) for key, part in tree.items()}
    return type(tree)(with_objects(part, made) for part in tree) if isinstance(tree, list | tuple) else tree


def has_trees(module: HloModule, paths: Sequence[object]) -> bool:
    """Return whether a module knows that its function takes or returns more than arrays and a flat tuple."""
    if module.trees is None:
        return False
    results = module.trees.results
    is_one = isinstance(results, tuple) and len(results) == 1
    parts = results if isinstance(results, tuple) else (results,)
    is_flat = all(isinstance(part, int | None) for part in parts)
    return is_one or not is_flat or any(path is not None for path in paths)
