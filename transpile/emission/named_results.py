"""Functions that give many arrays give them names: ``layer_0.scores`` in place of the fifth of twelve targets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..array.node import Node
from ..array.program import Function, Program, roots
from ..array.result_trees import Path, placed
from ..array.traversal import topological
from ..hlo.ir import Built
from .expression import Renderer
from .lines import LARGE
from .names import Names, common_start, common_words, outer_words
from .result_groups import ResultGroup
from .result_trees import quoted
from .signature import result_type

_MOST_TARGETS = 6  # results that a statement lists
_OF_TUPLES = {"count", "index"}  # attributes that any tuple has
_NEW = "new_"


@dataclass(slots=True)
class NamedResults:
    """The class of a function's results; the first caller that is written names its fields.

    ``fields`` has what leads to each result, ``scores`` or ``new_norm["bias"]``; ``parts`` the names of the class's own
    fields, each with the number of its result, or the dict of several.
    """

    class_name: str
    fields: tuple[str, ...] = ()
    parts: tuple[tuple[str, Any], ...] = ()
    groups: tuple[tuple[str, ResultGroup], ...] = ()
    words: tuple[str, ...] = ()  # what the results would be called in the function

    def name_fields(
        self, wanted: Iterable[Sequence[str]], makers: Mapping[int, str], groups: Sequence[ResultGroup]
    ) -> None:
        """Name the fields by the words that each result is called by, in all calls, and groups by those of theirs.

        Of results that share a word, those of which ``makers`` know the call that makes them are called after that.
        """
        names, given = Names(_OF_TUPLES), list(wanted)
        words = common_words(given)
        counts = Counter(words)
        for number, maker in makers.items():
            if counts[words[number]] > 1 and not words[number].startswith(maker):
                words[number] = f"{maker}_{words[number]}".rstrip("_")
        grouped = {number: at for at, group in enumerate(groups) for number in group.keys}
        found: dict[int, str] = {}
        parts: list[tuple[str, Any]] = []
        fields: list[str] = []
        for number, own in enumerate(given):
            at = grouped.get(number)
            if at is None:
                parts.append((names.fresh(_field(words[number] or "value", own)), number))
                fields.append(parts[-1][0])
                continue
            if at not in found:
                members = zip(*(given[each] for each in groups[at].keys), strict=True)
                found[at] = names.fresh(groups[at].word or outer_words([*map(common_start, members)]) or "part")
                parts.append((found[at], groups[at].tree))
            fields.append(field_path(found[at], groups[at].keys[number]))
        self.fields, self.parts = tuple(fields), tuple(parts)
        self.groups = tuple((found[at], group) for at, group in enumerate(groups))

    def built(self, results: Sequence[Node]) -> Built:
        """The object of these results."""
        return Built("", self.class_name, tuple(placed(tree, list(results)) for _, tree in self.parts))


def field_path(name: str, keys: Path) -> str:
    """``new_norm["bias"]``."""
    return name + "".join(f"[{quoted(key)}]" for key in keys)


def _field(word: str, given: Sequence[str]) -> str:
    is_new = given and all(name.startswith(_NEW) for name in given)
    return _NEW + word.removeprefix(_NEW) if is_new else word


def makers_of_results(function: Function, function_names: Mapping[Function, str]) -> dict[int, str]:
    """What those results are called after that a function has of one of its several calls of another."""
    results = function.flat_results
    calls: dict[Function, list[Node]] = {}
    for node in topological(roots(function)):
        if node.opcode == "call":
            calls.setdefault(node.parameters["function"], []).append(node)
    names = {
        call: name_of_call(function_names[called], own.index(call))
        for called, own in calls.items()
        if len(own) > 1
        for call in own
    }
    made = {number: node.operands[0] for number, node in enumerate(results) if node.opcode == "item"}
    return {number: names[call] for number, call in made.items() if call in names}


def name_of_call(function_name: str, number: int) -> str:
    """Return what the results of one of several calls of a function are called."""
    return f"{function_name}_{number}"


def named_results(program: Program, renderer: Renderer, names: Names) -> dict[Function, NamedResults]:
    """The functions of a program that have a class for their results.

    Loops take their results apart, and so does what may let go of large arrays one by one.
    """
    if program.functions == [program.entry]:
        return {}
    in_bodies: set[Function] = set()
    called: set[Function] = set()
    for caller in program.functions:
        for node in topological(roots(caller)):
            if node.opcode == "call":
                (called if node.region is caller.graph.root else in_bodies).add(node.parameters["function"])
    return {
        function: NamedResults(names.fresh(_class_name(renderer.function_names[function])))
        for function in program.functions[:-1]
        if function in called - in_bodies and _has_many(function)
    }


def _has_many(function: Function) -> bool:
    results = function.results
    return (
        isinstance(results, tuple)
        and len(results) > _MOST_TARGETS
        and all(isinstance(node, Node) and _bytes(node) < LARGE for node in results)
    )


def _bytes(node: Node) -> int:
    return 0 if node.element_type is None else math.prod(node.shape) * node.element_type.dtype.itemsize


def _class_name(function_name: str) -> str:
    return "".join(word.capitalize() for word in function_name.split("_")) + "Results"


def class_text(function: Function, named: NamedResults, renderer: Renderer) -> str:
    """The definition of the class of a function's results."""
    names = [name for name, _ in named.parts]
    fields = list(zip(names, result_type(named.built(function.results).parts), strict=True))
    return renderer.statement("result_class", named.class_name, renderer.function_names[function], fields)
