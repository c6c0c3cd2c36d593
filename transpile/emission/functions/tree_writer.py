"""Trees of values: the results of a function, and trees that it builds for calls.

Parts that a call returns as a whole are written as such: ``"norm": layer_0.new_params_norm``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from ...array.node import Node
from ...array.program import Function
from ...array.result_trees import Path, leaves_of, mapped, placed
from ...hlo.ir import Built
from ...python.constants import counted_parts, first_item
from ...python.names import names_of
from ...python.templates import Expression
from ..naming.arguments import path_of
from ..naming.identifiers import identifier
from ..naming.scopes import GRADIENT
from ..texts import quoted_key
from ..trees.named_results import NamedResults, makers_of_results
from ..trees.result_groups import ResultGroup, Spread, display, leaf_columns, result_groups, with_texts
from .context import Writing
from .rerolled_loops import LEAST_CALLS, numbered, scaled_numbers

Run = tuple[str, str, range]  # a list, the text behind each of its items, and the indices of the items
Lists = Mapping[str, int]  # list: its length


class TreeWriter:
    """The writer of the trees of one function, each with its name: the results first in ``all``, ``made`` the others.

    ``groups`` has, for called functions, the named groups of results that form a dict in some tree. ``grouped`` has the
    texts of such dicts, and of other subtrees that a call returned, by their paths in ``all``. ``lists`` are the lists
    that the function has so far; ``fit`` cuts parts out of leaves that are too long.
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
        """Return the text of a tree behind ``head`` columns of its line; parts of long leaves are named."""
        writer, (tree, _) = self.writer, self.all[number]
        together = 4 * writer.indent + head
        if not writer.renderer.layout.fits(self._text(number), together):
            for node, columns in leaf_columns(tree):
                alone = node is tree
                taken = together if alone else 4 * writer.indent + columns
                self.fit(node, partial(writer.array_text, node), taken, alone=alone)
        return self._text(number, together)

    def _text(self, number: int, head: int = 0) -> Expression:
        tree, _ = self.all[number]
        if isinstance(tree, Node):
            return self.writer.array_text(tree)
        texts = with_runs(with_texts(mapped(tree, self.writer.array_text), self.grouped, (number,)), self.lists)
        text = display(texts, outermost=not number)
        is_long = not number and head and not self.writer.renderer.layout.fits(text, head)
        return Expression(f"({text},)" if is_long and self._has_lines(texts, text, head) else text, 1)

    def _has_lines(self, texts: Any, text: str, head: int) -> bool:
        """Return whether a tuple whose text is too long has a line for each part: its arrays fit into a line each.

        A container at the end is broken alone, as black does it, if its opening bracket fits into the first line.
        """
        if not isinstance(texts, tuple) or len(texts) < 2:
            return False
        fits, taken = self.writer.renderer.layout.fits, 4 * (self.writer.indent + 1) + len(",")
        last, written = texts[-1], display(texts[-1], outermost=False)
        if isinstance(last, dict | list | Built) or (isinstance(last, tuple) and not fits(written, taken)):
            opening = len(last.name if isinstance(last, Built) else "") + len("(")
            if fits(text[: len(text) - len(written) + opening], head):
                return False
        return all(fits(part, taken) for part in texts if isinstance(part, str))

    def name_fields(self, node: Node, named: NamedResults) -> None:
        """Name the results of a called function, unless another caller has."""
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
        """Name the fields of objects that are passed on after the results of their own functions."""
        for _, nested, inner in named.nested:
            if not inner.fields:
                self._name_nested(inner)
                makers = makers_of_results(nested.function, self.writer.renderer.function_names)
                inner.name_fields([[word] for word in self.writer.words_of_results(nested.function)], makers, ())

    def _word(self, place: Path) -> str:
        """Return the name of a part of the trees: of its tree and the lists around it, or of a field with gradients."""
        number, *way = place
        if number:
            lists = [key for key, inner in pairwise(way) if isinstance(key, str) and isinstance(inner, int)]
            return identifier("_".join([self.all[number][1], *lists]))
        named = self.writer.renderer.named_results.get(self.writer.function)
        field = named.parts[way[0]][0] if named is not None and way else ""
        return field if field.startswith(GRADIENT) else self._gradient_of(place)

    def _gradient_of(self, place: Path) -> str:
        """Return ``d_params`` for a part of the results with gradients of parts of ``params``; else an empty string."""
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
        """Return the names of gradients that are leaves of trees among the results: ``d_dense_bias``."""
        function = self.writer.function
        named = self.writer.renderer.named_results.get(function)
        fields = named.parts if named is not None else ()
        trees = (tree for field, tree in fields if field.startswith(GRADIENT) and isinstance(tree, dict))
        leaves = (leaf for tree in trees for leaf in leaves_of(placed(tree, function.flat_results)))
        return {node: identifier(GRADIENT + "_".join(map(str, path))).lower() for path, node in leaves}

    def note_groups(self, call: Node, name: str) -> None:
        """Record that a call's results are fields of the object ``name``, which may also be used as a whole."""
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


# -- results that stand one after the other in a list


def with_runs(tree: Any, lists: Lists) -> Any:
    """Return a tree of texts with one comprehension or slice for texts that only differ in the index of a list."""
    if not lists:
        return tree
    if isinstance(tree, Built):
        return replace(tree, parts=tuple(with_runs(part, lists) for part in tree.parts))
    if isinstance(tree, dict):
        return dict(_of_dict({key: with_runs(part, lists) for key, part in tree.items()}, lists))
    if isinstance(tree, list | tuple):
        found = _of_sequence([with_runs(part, lists) for part in tree], lists)
        if isinstance(tree, list) and len(found) == 1 and isinstance(found[0], str) and found[0].startswith("*"):
            return _alone(found[0])
        return type(tree)(found)
    return tree


def _alone(spread: str) -> str:
    """Return the text of a list that consists of one spread."""
    inner = spread[1:]
    return f"[{inner[1:-1]}]" if inner.startswith("(") else inner


def _of_sequence(parts: Sequence[Any], lists: Lists) -> list[Any]:
    found: list[Any] = []
    for run, members in _runs(parts, lists):
        found += members if run is None or len(members) < LEAST_CALLS else [f"*{_items(run, lists)}"]
    if len(found) == len(parts) >= LEAST_CALLS:
        counted = _counted([display(part, outermost=False) for part in parts], lists)
        if counted is not None:
            text, numbers = counted
            return [f"*({text} for i in {_range(numbers)})"]
    return found


def _items(run: Run, lists: Lists) -> str:
    name, behind, numbers = run
    if numbers.step < 0:
        first = str(numbers[0]) if numbers[0] < lists[name] - 1 else ""
        part = f"{name}[{first}:{numbers[-1] - 1 if numbers[-1] else ''}:-1]"
    else:
        end = numbers[-1] + 1
        begin, end_text = str(numbers[0] or ""), "" if end == lists[name] else str(end)
        part = name if not begin and not end_text else f"{name}[{begin}:{end_text}]"
    return f"(each{behind} for each in {part})" if behind else part


def _of_dict(tree: dict[Any, Any], lists: Lists) -> Iterator[tuple[Any, Any]]:
    """Yield the items of a dict, with one spread, in the first's place, for items whose keys and values count alike."""
    groups: dict[Any, list[tuple[int, str, str]]] = {}  # common words and texts: numbers, keys and texts
    for key, part in tree.items():
        counted = numbered([key]) if isinstance(key, str) else None
        if counted is not None:
            text = display(part, outermost=False)
            groups.setdefault((counted[0], *counted_parts(text).gaps), []).append((counted[1][0], key, text))
    spread: dict[str, str] = {}
    for (around, *_), members in groups.items():
        own = _comprehension(around, sorted(members), lists) if len(members) >= LEAST_CALLS else ""
        spread.update((key, own) for _, key, _ in members if own)
    written: set[str] = set()
    for key, part in tree.items():
        if key not in spread:
            yield key, part
        elif spread[key] not in written:
            written.add(spread[key])
            yield Spread(spread[key]), None


def _comprehension(around: tuple[str, str], members: Sequence[tuple[int, str, str]], lists: Lists) -> str:
    """Return ``{f"block_{i}": blocks[i] for i in range(12)}``, or an empty string if the numbers form no such range."""
    counted = _counted([text for _, _, text in members], lists)
    scaled = scaled_numbers([number for number, _, _ in members], counted[1]) if counted is not None else None
    if counted is None or scaled is None:
        return ""
    key = f"f{quoted_key(around[0] + '{' + scaled.text('i') + '}' + around[1])}"
    return f"{{{key}: {counted[0]} for i in {_range(counted[1])}}}"


def _range(numbers: range) -> str:
    return f"range({f'{numbers[0]}, ' if numbers[0] else ''}{numbers[-1] + 1})"


def _counted(texts: Sequence[str], lists: Lists) -> tuple[str, range] | None:
    """Return the texts as one text with ``i``, and the range of ``i``, the indices of a list in the texts; or None."""
    rows = [counted_parts(text) for text in texts]
    gaps, _, names = rows[0]
    if any(row.gaps != gaps for row in rows) or "i" in names_of(texts[0]).all:
        return None
    columns = [*zip(*(row.constants for row in rows), strict=True)]
    found = (_of_list(name, column, lists) for name, column in zip(names, columns, strict=True))
    numbers = next(filter(None, found), None)
    if numbers is None:
        return None
    text = gaps[0]
    for column, name, gap in zip(columns, names, gaps[1:], strict=True):
        token = _token(column, numbers)
        if token is None:
            return None
        text += (token if name is not None or " " not in token or token == column[0] else f"({token})") + gap
    return text, numbers


def _of_list(name: str | None, column: Sequence[str], lists: Lists) -> range | None:
    """Return the consecutive indices in a column of tokens behind the name of a list, or None."""
    if name not in lists or not all(map(str.isdigit, column)):
        return None
    numbers = range(int(column[0]), int(column[0]) + len(column))
    return numbers if [*map(int, column)] == [*numbers] else None


def _token(column: Sequence[str], numbers: range) -> str | None:
    """Return the tokens at one place of the texts as a function of ``i``, or None."""
    if len(set(column)) == 1:
        return column[0]
    if all(map(str.isdigit, column)):
        scaled = scaled_numbers([*map(int, column)], numbers)
        return scaled and scaled.text("i")
    is_text = all(token[0] in "\"'" for token in column)
    counted = numbered([token[1:-1] for token in column]) if is_text else None
    scaled = scaled_numbers(counted[1], numbers) if counted is not None else None
    if counted is None or scaled is None:
        return None
    return f"f{quoted_key(counted[0][0] + '{' + scaled.text('i') + '}' + counted[0][1])}"


def _runs(parts: Sequence[Any], lists: Lists) -> Iterator[tuple[Run | None, list[Any]]]:
    """Yield the parts in groups: items of a list with consecutive indices, in either direction, or a single part."""
    found = [first_item(part) if isinstance(part, str) else None for part in parts]
    words = [each if each is not None and each[0] in lists else None for each in found]
    k = 0
    while k < len(parts):
        own, end, step = words[k], k + 1, 0
        while own is not None and end < len(parts) and (other := words[end]) is not None and other[:2] == own[:2]:
            now = other[2] - words[end - 1][2]  # type: ignore[index]
            if abs(now) != 1 or (step and now != step):
                break
            step, end = now, end + 1
        run = None if own is None or not step else (own[0], own[1], range(own[2], own[2] + step * (end - k), step))
        yield run, list(parts[k:end])
        k = end
