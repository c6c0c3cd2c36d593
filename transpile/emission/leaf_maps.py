"""Writes calls of one function for every leaf of trees as one call: ``new_mu, new_params = map_leaves(update, ..)``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..array.node import Node
from ..array.program import Function
from ..array.result_trees import Path, leaves_of, mapped
from ..passes.leaf_calls import LeafCalls, leaf_calls, part_at, pruned
from .chains import Leaf
from .context_names import GRADIENT, is_gradient
from .expression import PRIMARY, Expression
from .named_results import field_path
from .names import identifier
from .updates import updates
from .writing import Writing

_PRELUDE = "map_leaves"


@dataclass(frozen=True, eq=False, slots=True)
class LeafMap:
    """Calls for the leaves of trees: the texts of those that are arguments or parts of them, and the others as trees of
    values. ``shared`` is what all calls are given behind the leaves.
    """

    found: LeafCalls
    trees: tuple[Any, ...]
    shared: tuple[Node, ...]
    last: Node  # of the calls, in the order of the program


class LeafMaps:
    """The maps of one function, by their calls."""

    def __init__(self, writer: Writing) -> None:
        self.writer = writer
        self.by_call: dict[Node, LeafMap] = {}

    def find(self) -> None:
        """Find the calls that are worth it: their arguments are leaves of trees, then values, then what they share."""
        writer = self.writer
        for found in leaf_calls(writer.results, writer.items, writer.plan.uses):
            function = found.calls[0].parameters["function"]
            if function in writer.renderer.named_results or writer.renderer.argument_groups.get(function):
                continue
            columns = list(zip(*(call.operands for call in found.calls), strict=True))
            count = sum(len(set(column)) > 1 for column in columns)
            given = [self._tree(column, found) for column in columns[:count]]
            if count and all(len(set(column)) == 1 for column in columns[count:]) and not isinstance(given[-1], str):
                last = max(found.calls, key=writer.priority)
                made = LeafMap(found, tuple(given), tuple(column[0] for column in columns[count:]), last)
                self.by_call.update(dict.fromkeys(found.calls, made))
                writer.trees.made += ((tree, self._word(tree, made)) for tree in given if not isinstance(tree, str))

    def words(self, function: Function) -> dict[int, str]:
        """Return what a function's arguments are called, by their numbers, where it is called for all leaves of trees:
        after these.
        """
        maps = (made for call, made in self.by_call.items() if call.parameters["function"] is function)
        trees = next((made.trees for made in maps), ())
        return {k: _word(tree) if isinstance(tree, str) else self._made(tree)[1] for k, tree in enumerate(trees)}

    def _made(self, tree: Any) -> tuple[int, str]:
        """Return the number of a tree that is made for a map, and what it is called."""
        return next((k, word) for k, (other, word) in enumerate(self.writer.trees.all) if other is tree)

    def _tree(self, column: Sequence[Node], found: LeafCalls) -> Any:
        """Return the text of what the values are leaves of, or a tree of them."""
        leaves = [self.writer.arguments.leaves.get(node) for node in column]
        texts = {_around(*pair) for pair in zip(leaves, found.leaves, strict=True)}
        if len(texts) == 1 and (text := texts.pop()):
            return text
        operands = {self.writer.items[call][0]: node for call, node in zip(found.calls, column, strict=True)}
        tree = part_at(self.writer.results, found.trees[0])
        return mapped(pruned(tree, found.leaves), operands.__getitem__)

    def _word(self, tree: Any, made: LeafMap) -> str:
        """Return what a tree is called that has values for the leaves of another."""
        (like, *_) = [*(_word(text) for text in made.trees if isinstance(text, str)), "leaves"]
        origins = (self.writer.graph.results.get(node, ()) for _, node in leaves_of(tree))
        return GRADIENT + like if all(any(map(is_gradient, each)) for each in origins) else f"{like}_values"

    def write(self, made: LeafMap) -> None:
        """Write a map behind the trees that are made for it, and note where its results are."""
        writer, found = self.writer, made.found
        function = found.calls[0].parameters["function"]
        texts: list[str] = []
        for tree in made.trees:
            if not isinstance(tree, str):
                number, word = self._made(tree)
                name = writer.names.fresh(word)
                writer.assign([name], writer.trees.fitted(number, f"{name} = "), made.last)
                tree = name
            texts.append(tree)
        shared = [writer.array_text(node) for node in made.shared]
        targets = [writer.names.fresh(word) for word in _words_of_results(function, made)]
        own = writer.renderer.function_names[function]
        writer.renderer.used_prelude[_PRELUDE] = None
        writer.line(writer.renderer.statement(_PRELUDE, targets, own, texts, shared), made.last)
        for k, (target, start) in enumerate(zip(targets, found.trees, strict=True)):
            for whole in _whole_parts(part_at(writer.results, start), found.leaves):
                writer.trees.grouped[(0, *start, *whole)] = field_path(target, whole)
            for call, end in zip(found.calls, found.leaves, strict=True):
                writer.texts[writer.items[call][k]] = Expression(field_path(target, end), PRIMARY)
        for call in found.calls:
            writer.bound(*writer.items[call].values())
            writer.allocation.has_read(writer.reads.of(call))


def _whole_parts(tree: Any, leaves: Sequence[Path]) -> Iterator[Path]:
    """Yield the ways to the largest parts of a tree that have these leaves alone."""
    if pruned(tree, leaves) == tree:
        yield ()
        return
    for key, part in tree.items():
        inside = [tuple(rest) for first, *rest in leaves if first == key]
        if inside:
            yield from ((key, *way) for way in _whole_parts(part, inside))


def _around(leaf: Leaf | None, end: Path) -> str:
    """Return the text of the tree in which a leaf stands at the end of such a way; empty if it does in none."""
    if leaf is None or leaf.path.keys[-len(end) :] != end:
        return ""
    return replace(leaf.path, keys=leaf.path.keys[: -len(end)]).text(leaf.argument)


def _word(text: str) -> str:
    """``mu`` of ``opt_state[0].mu``."""
    return identifier(re.findall(r"[A-Za-z]\w*", text)[-1])


def _words_of_results(function: Function, made: LeafMap) -> Iterator[str]:
    """Yield what the trees of results are called: ``new_mu`` where they are what becomes of ``opt_state[0].mu``."""
    updated = updates(function)
    for k, result in enumerate(function.flat_results):
        argument = updated.get(result)
        number = function.parameters.index(argument) if argument is not None else len(made.trees)
        text = made.trees[number] if number < len(made.trees) else None
        yield f"new_{_word(text)}" if isinstance(text, str) else f"leaves_{k + 1}"
