"""Trees of arrays, without JAX: lists, tuples, named tuples, dicts by their sorted keys, and None for no leaf."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Return the leaves in order: as ``jax.tree.leaves``."""
    return list(_leaves(tree, is_leaf or (lambda part: False)))


def structure(tree: Any) -> Any:
    """Return the tree without its leaves, which can be compared: as ``jax.tree.structure``."""
    return map(lambda leaf: "*", tree)


def unflatten(treedef: Any, new_leaves: Any) -> Any:
    """Return the tree of a structure with other leaves: as ``jax.tree.unflatten``."""
    rest = iter(new_leaves)
    return map(lambda leaf: next(rest), treedef)


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Return leaves and structure: as ``jax.tree.flatten``."""
    return leaves(tree), structure(tree)


def map(function: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Return the tree with a function called on each leaf, and on those of further trees: as ``jax.tree.map``."""
    if is_leaf is not None and is_leaf(tree):
        return function(tree, *rest)
    if tree is None:
        return None
    if isinstance(tree, dict):
        return {key: map(function, tree[key], *(each[key] for each in rest), is_leaf=is_leaf) for key in sorted(tree)}
    if isinstance(tree, list | tuple):
        parts = [map(function, part, *(each[k] for each in rest), is_leaf=is_leaf) for k, part in enumerate(tree)]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return function(tree, *rest)


def _leaves(tree: Any, is_leaf: Callable[[Any], bool]) -> Iterator[Any]:
    if is_leaf(tree):
        yield tree
    elif isinstance(tree, dict):
        for key in sorted(tree):
            yield from _leaves(tree[key], is_leaf)
    elif isinstance(tree, list | tuple):
        for part in tree:
            yield from _leaves(part, is_leaf)
    elif tree is not None:
        yield tree


tree_leaves, tree_map, tree_structure, tree_unflatten, tree_flatten = leaves, map, structure, unflatten, flatten
