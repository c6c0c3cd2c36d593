"""States of functions: arguments whose next values a function returns, such as ``step(state, x) -> state, y``.

The name of the argument says that it is a state; the result has the argument's tree, types and shapes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..dataclass import dataclass
from ..hlo.ir import Built, HloModule, ResultTree
from ..hlo.shapes import ArrayShape, TupleShape, leaves
from .arguments import ArgumentLeaf

_STATES = frozenset({"state", "states", "carry", "cache", "caches", "hidden", "h"})  # words in names of states
_BESIDE_STATES = frozenset({"params", "variables", "weights", "key", "rng"})  # kept like states, if there is a state
_Tree = frozenset[tuple[tuple[Any, ...], str, tuple[int, ...]]]


@dataclass(frozen=True, slots=True)
class States:
    """The arguments of a function that are states, each with the index of its next value among the results.

    ``results`` is the number of results, None for a single one.
    """

    places: dict[str, int]
    results: int | None


def states_of(program: HloModule, arguments: Sequence[ArgumentLeaf]) -> States | None:
    """Return the states of a function, or None if it has none."""
    root = program.entry.root.shape
    shapes = [shape for _, shape in leaves(root) if isinstance(shape, ArrayShape)]
    tree = program.trees.results if program.trees is not None else None
    if tree is None:
        tree = tuple(range(len(shapes))) if isinstance(root, TupleShape) else 0
    names = list(dict.fromkeys(leaf.argument for leaf in arguments))
    given = {name: frozenset((e.keys, e.type, e.shape) for e in arguments if e.argument == name) for name in names}
    whole = _with_types(tree, shapes)
    if same := [name for name in names if _has_word(name, _STATES) and given[name] == whole]:
        return States({same[0]: 0}, None)
    parts = [_with_types(part, shapes) for part in tree] if isinstance(tree, tuple) else []
    unread = _unread(program, arguments) if program.trees is not None else {}
    for name in names:
        given[name] = next((part for part in parts if _is_part(given[name], part, unread.get(name, 0))), given[name])
    places = dict(_places(names, given, parts))
    return States(places, len(parts)) if any(_has_word(name, _STATES) for name in places) else None


def _is_part(given: _Tree, part: _Tree, unread: float) -> bool:
    """Return whether an argument can have the tree of a result, all but leaves that the function does not read."""
    return bool(given) and given < part and len(part) - len(given) <= unread


def _unread(program: HloModule, arguments: Sequence[ArgumentLeaf]) -> dict[str, float]:
    """Return how many leaves each argument may have that are no parameters: leaves that JAX counted between those of
    its neighbours, and any number behind the last.
    """
    numbers = program.trees.leaves if program.trees is not None else ()
    if len(numbers) != len(arguments):
        return {}
    own: dict[str, list[int]] = {}
    for number, leaf in zip(numbers, arguments, strict=True):
        own.setdefault(leaf.argument, []).append(number)
    ends = [-1, *(max(each) for each in own.values())]
    begins = [*(min(each) for each in own.values()), float("inf")]
    return {name: begins[place + 1] - ends[place] - 1 - len(each) for place, (name, each) in enumerate(own.items())}


def _places(names: list[str], given: dict[str, _Tree], parts: list[_Tree]) -> Iterator[tuple[str, int]]:
    """Yield each state with the index of its result: of several candidates, the one as far from an end as the state."""
    taken: set[int] = set()
    for number, name in enumerate(names):
        agreeing = [k for k, part in enumerate(parts) if part == given[name]]
        likely = [number, len(parts) - len(names) + number]
        found = agreeing if len(agreeing) == 1 else [k for k in likely if k in agreeing]
        if _has_word(name, _STATES | _BESIDE_STATES) and found and found[0] not in taken:
            taken.add(found[0])
            yield name, found[0]


def _has_word(name: str, words: frozenset[str]) -> bool:
    return not words.isdisjoint(name.lower().split("_"))


def _with_types(tree: ResultTree, shapes: Sequence[ArrayShape]) -> _Tree:
    """Return the leaves of a result in the form of arguments (:class:`.ArgumentLeaf`): keys, type, shape."""
    return frozenset((keys, str(shapes[k].element_type.dtype), shapes[k].dimensions) for keys, k in _leaves(tree))


def _leaves(tree: ResultTree, keys: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], int]]:
    if isinstance(tree, int):
        yield keys, tree
    elif tree is not None:
        for key, part in _parts(tree):
            yield from _leaves(part, (*keys, key))


def _parts(tree: Any) -> Iterator[tuple[Any, ResultTree]]:
    if isinstance(tree, dict):
        yield from tree.items()
    elif isinstance(tree, Built):
        yield from zip([f".{name}" for name in tree.fields] or range(len(tree.parts)), tree.parts, strict=True)
    else:
        yield from enumerate(tree)
