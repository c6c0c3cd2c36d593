"""Writes trees of values: what a function returns, and those that it makes on the way to it.

Parts of them that a call gives as a whole are written as that: ``"norm": layer_0.new_params_norm``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from ...array.node import Node
from ...array.program import Function
from ...array.result_trees import Path, leaves_of, mapped, placed
from ...python.templates import Expression
from ..naming.arguments import path_of
from ..naming.identifiers import identifier
from ..naming.scopes import GRADIENT
from ..trees.named_results import NamedResults, makers_of_results
from ..trees.result_groups import ResultGroup, result_groups, with_texts
from ..trees.result_trees import display, leaf_columns
from .context import Writing
from .result_runs import Lists, with_runs


class TreeWriter:
    """Writes the trees of one function: the first of ``all`` is that of its results, ``made`` are the others. Each has
    the word that it is called by.

    ``groups`` are those of the results of called functions that are a dict of some tree, each with its name;
    ``grouped`` are the texts of such dicts, and of others that a call gave, by their places in ``all``. ``lists`` are
    the lists that the function's text has by now, ``fit`` gives names to parts of what is too long.
    """

    def __init__(self, writer: Writing, lists: Lists, fit: Callable[..., Expression]) -> None:
        self.writer, self.lists, self.fit = writer, lists, fit
        self.made: list[tuple[Any, str]] = []
        self.groups: dict[Function, Sequence[tuple[str, ResultGroup]]] = {}
        self.grouped: dict[Path, str] = {}

    @property
    def all(self) -> Sequence[tuple[Any, str]]:
        return (self.writer.results, ""), *self.made

    def fitted(self, number: int, head: int) -> Expression:
        """Return the text of a tree behind so many columns of its line; leaves whose lines are too long get names."""
        writer, (tree, _) = self.writer, self.all[number]
        together = 4 * writer.indent + head
        if not writer.renderer.layout.fits(self._text(number), together):
            for node, columns in leaf_columns(tree):
                alone = node is tree
                taken = together if alone else 4 * writer.indent + columns
                self.fit(node, partial(writer.array_text, node), taken, alone=alone)
        return self._text(number)

    def _text(self, number: int) -> Expression:
        tree, _ = self.all[number]
        if isinstance(tree, Node):
            return self.writer.array_text(tree)
        texts = with_texts(mapped(tree, self.writer.array_text), self.grouped, (number,))
        return Expression(display(with_runs(texts, self.lists), outermost=not number), 1)

    def name_fields(self, node: Node, named: NamedResults) -> None:
        """Name the results of what a node calls, unless another caller has."""
        if named.fields:
            return
        writer, function = self.writer, node.parameters["function"]
        self._name_nested(named)
        calls = [writer.items.get(call, {}) for call in writer.calls[function]]
        given = [[parts[k] for parts in calls if k in parts] for k in range(len(node.results))]
        trees = [tree for tree, _ in self.all]
        groups = [
            replace(group, word=self._word(group.places[0])) for group in result_groups(trees, calls, writer.plan.uses)
        ]
        makers = makers_of_results(function, writer.renderer.function_names)
        named.name_fields(([writer.wanted.of(part) for part in parts] for parts in given), makers, groups)
        self.groups[function] = named.groups

    def _name_nested(self, named: NamedResults) -> None:
        """Name the fields of the objects that are handed on, as their own functions call them."""
        for _, nested, inner in named.nested:
            if not inner.fields:
                self._name_nested(inner)
                makers = makers_of_results(nested.function, self.writer.renderer.function_names)
                inner.name_fields([[word] for word in self.writer.words_of_results(nested.function)], makers, ())

    def _word(self, place: Path) -> str:
        """Return what a part of the trees is called after: a tree and the list in it, or a field of results, with
        gradients.
        """
        number, *way = place
        if number:
            lists = [key for key, inner in pairwise(way) if isinstance(key, str) and isinstance(inner, int)]
            return identifier("_".join([self.all[number][1], *lists]))
        named = self.writer.renderer.named_results.get(self.writer.function)
        field = named.parts[way[0]][0] if named is not None and way else ""
        return field if field.startswith(GRADIENT) else self._gradient_of(place)

    def _gradient_of(self, place: Path) -> str:
        """``d_params`` for a part of the results with gradients of parts of ``params``; else empty."""
        function, gradients = self.writer.function, self.writer.wanted.gradients
        leaves = (node for path, node in leaves_of([tree for tree, _ in self.all]) if path[: len(place)] == place)
        arguments = [gradients.get(node) for node in leaves]
        roots = {
            path_of(function.computation.parameters[each.parameters["argument"]])[0] if each is not None else ""
            for each in arguments
        }
        root = roots.pop() if len(roots) == 1 else ""
        return GRADIENT + identifier(root).lower() if root else ""

    def gradients(self) -> dict[Node, str]:
        """Return what the gradients are called that are parts of trees among the results: ``d_dense_bias``."""
        function = self.writer.function
        named = self.writer.renderer.named_results.get(function)
        fields = named.parts if named is not None else ()
        trees = (tree for field, tree in fields if field.startswith(GRADIENT) and isinstance(tree, dict))
        leaves = (leaf for tree in trees for leaf in leaves_of(placed(tree, function.flat_results)))
        return {node: identifier(GRADIENT + "_".join(map(str, path))).lower() for path, node in leaves}

    def note_groups(self, call: Node, name: str) -> None:
        """Note that the results of a call are fields of what has that name; where this function hands on all of it, it
        returns that.
        """
        function = call.parameters["function"]
        own: NamedResults | None = self.writer.renderer.named_results.get(self.writer.function)
        if own is not None:
            fields = [word for word, _ in own.parts]
            for field, (_, nested, _) in zip(own.objects, own.nested, strict=True):
                if nested.call is call:
                    self.grouped[0, fields.index(field)] = name
        place = self.writer.calls[function].index(call)
        for field, group in self.groups.get(function, ()):
            self.grouped[group.places[place]] = self.writer.renderer.statement("field", name, field)
