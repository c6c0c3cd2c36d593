"""Calls of one function for every leaf of trees as one call: ``new_mu, new_params = map_leaves(update, ..)``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...array.node import Node
from ...array.program import Function
from ...array.result_trees import Path, is_field, leaves_of, mapped, parts_of, with_parts
from ...dataclass import dataclass
from ...hlo.ir import Built
from ...passes.outlining.tree_maps import LeafCalls, leaf_calls, part_at, pruned
from ...python.grammar import PRIMARY
from ...python.templates import Expression
from ..lines import EQUALS_SIGN
from ..naming.gradients import updates
from ..naming.identifiers import identifier
from ..naming.scopes import GRADIENT, is_gradient
from ..trees.named_results import field_path
from .context import Writing
from .rerolled_loops import Leaf

_PRELUDE, _OF_OBJECTS = "map_leaves", "map_object_leaves"


@dataclass(frozen=True, eq=False, slots=True)
class LeafMap:
    """Calls for all leaves of trees.

    ``trees`` has the text of a tree whose leaves are arguments, or a tree of values. ``shared`` are the operands that
    all calls have in common, behind the leaves. ``of_objects`` says that some leaves are fields of objects.
    """

    found: LeafCalls
    trees: tuple[Any, ...]
    shared: tuple[Node, ...]
    last: Node  # the last call in the order of the program
    of_objects: bool


class LeafMaps:
    """The leaf maps of one function, by their calls."""

    def __init__(self, writer: Writing) -> None:
        self.writer = writer
        self.by_call: dict[Node, LeafMap] = {}
        self._names: dict[int, str] = {}  # of the trees that are built so far, by number

    def find(self) -> None:
        """Find the calls that become leaf maps: their operands are leaves of trees, then values, then shared values."""
        writer = self.writer
        for found in leaf_calls(writer.results, writer.items, writer.plan.uses):
            function = found.calls[0].parameters["function"]
            if function in writer.renderer.named_results or writer.renderer.argument_groups.get(function):
                continue
            columns = list(zip(*(call.operands for call in found.calls), strict=True))
            count = sum(len(set(column)) > 1 for column in columns)
            given = [self._tree(column, found) for column in columns[:count]]
            of_objects = any(is_field(key) for path in found.leaves for key in path)
            if of_objects and (count == 0 or not isinstance(given[0], str)):
                continue  # the class of the objects is unknown
            if count and all(len(set(column)) == 1 for column in columns[count:]) and not isinstance(given[-1], str):
                last = max(found.calls, key=writer.priority)
                made = LeafMap(found, tuple(given), tuple(column[0] for column in columns[count:]), last, of_objects)
                self.by_call.update(dict.fromkeys(found.calls, made))
                writer.trees.made += ((tree, self._word(tree, made)) for tree in given if not isinstance(tree, str))

    def words(self, function: Function) -> dict[int, str]:
        """Return the names of the arguments, by number, of a function that leaf maps call: those of the trees."""
        maps = (made for call, made in self.by_call.items() if call.parameters["function"] is function)
        trees = next((made.trees for made in maps), ())
        words = _words(trees)
        return {k: words[k] if isinstance(tree, str) else self._made(tree)[1] for k, tree in enumerate(trees)}

    def _made(self, tree: Any) -> tuple[int, str]:
        """Return the number and the name of a tree that is built for a map."""
        return next((k, word) for k, (other, word) in enumerate(self.writer.trees.all) if other is tree)

    def _tree(self, column: Sequence[Node], found: LeafCalls) -> Any:
        """Return the text of the tree whose leaves the values are, or a tree of the values."""
        leaves = [self.writer.arguments.leaves.get(node) for node in column]
        texts = {_around(*pair) for pair in zip(leaves, found.leaves, strict=True)}
        if len(texts) == 1 and (text := texts.pop()):
            return text
        operands = {self.writer.items[call][0]: node for call, node in zip(found.calls, column, strict=True)}
        tree = part_at(self.writer.results, found.trees[0])
        return mapped(_in_dicts(pruned(tree, found.leaves)), operands.__getitem__)

    def _word(self, tree: Any, made: LeafMap) -> str:
        """Return the name of a tree that has values for the leaves of another."""
        (like, *_) = [*filter(None, _words(made.trees)), "leaves"]
        leaves = (node.operands[0] if node.opcode == "expand" else node for _, node in leaves_of(tree))
        origins = (self.writer.graph.results.get(node, ()) for node in leaves)
        return GRADIENT + like if all(any(map(is_gradient, each)) for each in origins) else f"{like}_values"

    def tree_of(self, given: Sequence[Node]) -> str:
        """Return the name of the tree that is built for a map and has exactly these leaves, in the order of its sorted
        keys, or an empty string. The tree is built now if it is not yet.
        """
        for made in dict.fromkeys(self.by_call.values()):
            for tree in made.trees:
                if not isinstance(tree, str) and [*_by_sorted_keys(tree)] == [*given]:
                    return self._built(tree, made)
        return ""

    def _built(self, tree: Any, made: LeafMap) -> str:
        """Return the name of a tree that is built for a map; write its line if there is none yet."""
        number, word = self._made(tree)
        if number not in self._names:
            self._names[number] = self.writer.names.fresh(word)
            fitted = self.writer.trees.fitted(number, len(self._names[number]) + EQUALS_SIGN)
            before, self.writer.written = self.writer.written, {}
            self.writer.assign([self._names[number]], fitted, made.last)
            self.writer.written = before
        return self._names[number]

    def write(self, made: LeafMap) -> None:
        """Write a map after the trees that are built for it, and record the texts of its results."""
        writer, found = self.writer, made.found
        function = found.calls[0].parameters["function"]
        texts = [tree if isinstance(tree, str) else self._built(tree, made) for tree in made.trees]
        shared = [writer.array_text(node) for node in made.shared]
        targets = [writer.names.fresh(word) for word in _words_of_results(function, made)]
        own = writer.renderer.function_names[function]
        mapping = _OF_OBJECTS if made.of_objects else _PRELUDE
        writer.renderer.used_prelude[mapping] = None
        writer.line(writer.renderer.statement("map_leaves", targets, mapping, own, texts, shared), made.last)
        for k, (target, start) in enumerate(zip(targets, found.trees, strict=True)):
            for whole in _whole_parts(part_at(writer.results, start), found.leaves):
                writer.trees.grouped[(0, *start, *whole)] = field_path(target, whole)
            for call, end in zip(found.calls, found.leaves, strict=True):
                writer.texts[writer.items[call][k]] = Expression(field_path(target, end), PRIMARY)
        for call in found.calls:
            writer.bound(*writer.items[call].values())
            writer.allocation.has_read(writer.reads.of(call))


def _whole_parts(tree: Any, leaves: Sequence[Path]) -> Iterator[Path]:
    """Yield the paths to the largest subtrees that have only these leaves."""
    if pruned(tree, leaves) == tree:
        yield ()
        return
    for key, part in tree.items():
        inside = [tuple(rest) for first, *rest in leaves if first == key]
        if inside:
            yield from ((key, *way) for way in _whole_parts(part, inside))


def _by_sorted_keys(tree: Any) -> Iterator[Node]:
    """Yield the leaves of nested dicts, by their sorted keys, lists and tuples; none if the keys of a dict have no
    order.
    """
    if isinstance(tree, Node):
        yield tree
        return
    parts = dict(parts_of(tree))
    in_order = sorted(parts) if len({*map(type, parts)}) == 1 else ()
    for key in in_order:
        yield from _by_sorted_keys(parts[key])


def _in_dicts(tree: Any) -> Any:
    """Return a tree with dicts in place of its objects."""
    if isinstance(tree, Built):
        return {field: _in_dicts(part) for field, part in zip(tree.fields, tree.parts, strict=True)}
    return with_parts(tree, (_in_dicts(part) for _, part in parts_of(tree)))


def _around(leaf: Leaf | None, end: Path) -> str:
    """Return the text of the tree in which a leaf has the path ``end``, or an empty string."""
    if leaf is None or leaf.path.keys[-len(end) :] != end:
        return ""
    return replace(leaf.path, keys=leaf.path.keys[: -len(end)]).text(leaf.argument)


def _words(trees: Sequence[Any]) -> list[str]:
    """Return ``params`` and ``mu`` for ``params.layers`` and ``opt_state[0].mu.layers``; "" for trees of values."""
    words = [re.findall(r"[A-Za-z]\w*", tree) if isinstance(tree, str) else [] for tree in trees]
    given = list(filter(None, words))
    while len(given) > 1 and len({each[-1] for each in given}) == 1 < min(map(len, given)):
        for each in given:
            each.pop()
    return [identifier(each[-1]) if each else "" for each in words]


def _words_of_results(function: Function, made: LeafMap) -> Iterator[str]:
    """Yield the names of the trees of results: ``new_mu`` for an update of ``opt_state[0].mu``."""
    updated, words = updates(function), _words(made.trees)
    for k, result in enumerate(function.flat_results):
        argument = updated.get(result)
        number = function.parameters.index(argument) if argument is not None else len(made.trees)
        word = words[number] if number < len(words) else ""
        yield f"new_{word}" if word else f"leaves_{k + 1}"
