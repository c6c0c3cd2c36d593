"""The likely tree of the results of a program that came as text, which only contains the trees of the arguments.

A training step returns new weights, and a gradient has the form of its argument. So consecutive results with the shapes
of all leaves of a dict or a list among the arguments are returned as such a tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...hlo.ir import HloModule, ResultTree, Trees
from ...hlo.shapes import ArrayShape, Shape
from .argument_trees import Key, Path, leaf_paths

_LEAST_LEAVES = 3

Leaves = tuple[tuple[tuple[Key, ...], ArrayShape], ...]  # path and shape of each leaf of a tree


def with_likely_trees(module: HloModule) -> HloModule:
    """Return the module with trees, or unchanged if no results are like a tree among the arguments."""
    paths = leaf_paths(module)
    shapes = module.entry.root.element_shapes
    known = sorted(_trees(paths, [each.shape for each in module.entry.parameters]), key=len, reverse=True)
    parts: list[ResultTree] = []
    place = 0
    while place < len(shapes):
        own = next((each for each in known if _are_alike(each, shapes[place : place + len(each)])), None)
        parts.append(place if own is None else _built([(keys, place + k) for k, (keys, _) in enumerate(own)]))
        place += 1 if own is None else len(own)
    if len(parts) == len(shapes):
        return module
    numbers = tuple(range(len(paths)))
    depths = tuple(len(path.keys) if path is not None else 0 for path in paths)
    results: ResultTree = tuple(parts) if len(parts) > 1 else parts[0]
    return replace(module, trees=Trees(numbers, frozenset(), depths, results))


def _trees(paths: Sequence[Path | None], shapes: Sequence[Shape]) -> Iterator[Leaves]:
    """Yield the plain dicts and lists among the arguments that have several leaves, not all of one type."""
    found: dict[tuple[str, tuple[Key, ...]], list[tuple[tuple[Key, ...], ArrayShape]]] = {}
    for path, shape in zip(paths, shapes, strict=True):
        for size in range(len(path.keys)) if path is not None and not path.stars else ():
            assert path is not None and isinstance(shape, ArrayShape), "leaves of trees are arrays"
            found.setdefault((path.root, path.keys[:size]), []).append((path.keys[size:], shape))
    for leaves in found.values():
        is_long = len(leaves) >= _LEAST_LEAVES and len({_kind(shape) for _, shape in leaves}) > 1
        if is_long and _is_plain([keys for keys, _ in leaves]):
            yield tuple(leaves)


def _is_plain(leaves: Sequence[tuple[Key, ...]]) -> bool:
    """Return whether paths to leaves, in order, are those of nested dicts with words as keys and of lists."""
    if leaves == [()]:
        return True
    inner: dict[Key, list[tuple[Key, ...]]] = {}
    for key, *rest in leaves:
        inner.setdefault(key, []).append(tuple(rest))
    are_words = all(isinstance(key, str) and not key.startswith(".") for key in inner)
    return (are_words or list(inner) == list(range(len(inner)))) and all(map(_is_plain, inner.values()))


def _are_alike(tree: Leaves, shapes: Sequence[Shape]) -> bool:
    return len(tree) == len(shapes) and all(
        isinstance(given, ArrayShape) and _kind(given) == _kind(own)
        for (_, own), given in zip(tree, shapes, strict=True)
    )


def _kind(shape: ArrayShape) -> tuple[object, ...]:
    return shape.element_type, shape.dimensions


def _built(leaves: Sequence[tuple[tuple[Key, ...], int]]) -> ResultTree:
    if not leaves[0][0]:
        return leaves[0][1]
    inner: dict[Key, list[tuple[tuple[Key, ...], int]]] = {}
    for (key, *rest), number in leaves:
        inner.setdefault(key, []).append((tuple(rest), number))
    made = {key: _built(own) for key, own in inner.items()}
    return list(made.values()) if isinstance(next(iter(made)), int) else made
