"""Named results of functions that return many arrays: ``layer_0.scores`` instead of the fifth of twelve targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...array.node import Node
from ...array.program import Function, Program, roots
from ...array.result_trees import Path, is_field, placed
from ...array.traversal import topological, users_of
from ...dataclass import dataclass
from ...hlo.ir import Built
from ..expression import Renderer
from ..lines import LARGE
from ..naming.identifiers import Names, common_start, common_words, outer_words
from ..naming.scopes import GRADIENT
from ..texts import quoted_key
from .argument_groups import NestedResults, nested_results
from .result_groups import ResultGroup
from .types import result_type

_MOST_TARGETS = 6  # results that a statement unpacks
_MOST_AGAIN = 3  # results that several statements of a function unpack
_OF_TUPLES = {"count", "index"}  # methods of tuples
_NEW = "new_"


@dataclass(slots=True)
class NamedResults:
    """The class of a function's results; the first caller that is written names its fields.

    ``fields`` has the path to each result, ``scores``, ``new_norm["bias"]`` or ``layer_norm.mean``; ``parts`` has the
    names of the class's own fields, each with the number of its result, or with the dict or the object of several.
    ``nested`` are the nested objects, each with its word and its own field names. A field without a name is called
    ``otherwise``.
    """

    class_name: str
    otherwise: str = "value"
    nested: tuple[tuple[str, NestedResults, NamedResults], ...] = ()
    fields: tuple[str, ...] = ()
    parts: tuple[tuple[str, Any], ...] = ()
    groups: tuple[tuple[str, ResultGroup], ...] = ()
    objects: tuple[str, ...] = ()  # the names of the nested objects
    words: tuple[str, ...] = ()  # the results' names inside the function

    def name_fields(
        self, wanted: Iterable[Sequence[str]], makers: Mapping[int, str], groups: Sequence[ResultGroup]
    ) -> None:
        """Name the fields by the words that each result has in all calls, and groups by their members' words.

        Results that share a word are named after the call that makes them, if ``makers`` has it.
        """
        names, given = Names(_OF_TUPLES), list(wanted)
        words = common_words(given)
        counts = Counter(words)
        for number, maker in makers.items():
            if counts[words[number]] > 1 and not words[number].startswith(maker):
                words[number] = f"{maker}_{words[number]}".rstrip("_")
        wholes = [_CombinedField.of_group(group, given) for group in groups]
        wholes += [_CombinedField.of_object(*each) for each in self.nested]
        held = {number: at for at, whole in enumerate(wholes) for number in whole.steps}
        found: dict[int, str] = {}
        parts: list[tuple[str, Any]] = []
        fields: list[str] = []
        for number, own in enumerate(given):
            at = held.get(number)
            if at is None:
                parts.append((names.fresh(_field(words[number] or self.otherwise, own)), number))
                fields.append(parts[-1][0])
                continue
            if at not in found:
                found[at] = names.fresh(wholes[at].word)
                parts.append((found[at], wholes[at].tree))
            fields.append(found[at] + wholes[at].steps[number])
        self.fields, self.parts = tuple(fields), tuple(parts)
        self.groups = tuple((found[at], group) for at, group in enumerate(groups))
        self.objects = tuple(found[len(groups) + at] for at in range(len(self.nested)))

    @property
    def steps(self) -> Sequence[str]:
        """The names of the fields that are results, followed by those of the nested objects."""
        return *self.fields, *self.objects

    def built(self, results: Sequence[Node]) -> Built:
        """Return the object of these results."""
        return Built("", self.class_name, tuple(placed(tree, list(results)) for _, tree in self.parts))


@dataclass(frozen=True, slots=True)
class _CombinedField:
    """Several results in one field: its name, the ``tree`` of their numbers, and the steps to each of them."""

    word: str
    tree: Any
    steps: Mapping[int, str]

    @classmethod
    def of_group(cls, group: ResultGroup, given: Sequence[Sequence[str]]) -> _CombinedField:
        members = zip(*(given[each] for each in group.keys), strict=True)
        word = group.word or outer_words([*map(common_start, members)]) or "part"
        return cls(word, group.tree, {number: field_path("", keys) for number, keys in group.keys.items()})

    @classmethod
    def of_object(cls, word: str, nested: NestedResults, named: NamedResults) -> _CombinedField:
        steps = {number: f".{named.fields[index]}" for number, index in nested.indices.items()}
        return cls(word, Built("", named.class_name, tuple(steps)), steps)


def field_path(name: str, keys: Path) -> str:
    """Return ``new_norm["bias"]``, or ``new_layers[0].bias`` if a part is an object."""
    return name + "".join(key if is_field(key) else f"[{quoted_key(key)}]" for key in keys)


def _field(word: str, given: Sequence[str]) -> str:
    is_new = given and all(name.startswith(_NEW) for name in given)
    return _NEW + word.removeprefix(_NEW) if is_new else word


def makers_of_results(function: Function, function_names: Mapping[Function, str]) -> dict[int, str]:
    """Return, by result of a function, the name of the call it comes from, if there are several of that function."""
    names = {call: name for own in _calls(function) if len(own) > 1 for call, name in _named(own, function_names)}
    results = function.flat_results
    made = {number: node.operands[0] for number, node in enumerate(results) if node.opcode == "item"}
    return {number: names[call] for number, call in made.items() if call in names}


def _calls(function: Function) -> Iterable[Sequence[Node]]:
    """Return the calls in a function, grouped by the called function."""
    calls: dict[Function, list[Node]] = {}
    for node in topological(roots(function)):
        if node.opcode == "call":
            calls.setdefault(node.parameters["function"], []).append(node)
    return calls.values()


def _named(calls: Sequence[Node], function_names: Mapping[Function, str]) -> Iterator[tuple[Node, str]]:
    """Yield the calls of one function, each with the name of its results."""
    name = function_names[calls[0].parameters["function"]]
    for number, call in enumerate(calls):
        yield call, name_of_call(name, number) if len(calls) > 1 else name


def name_of_call(function_name: str, number: int) -> str:
    """Return the name of the results of one of several calls of a function."""
    return f"{function_name}_{number}"


def named_results(
    program: Program, renderer: Renderer, names: Names, *, with_tree: bool
) -> dict[Function, NamedResults]:
    """Return the functions of a program that get a class for their results.

    These are functions with many results, and, if the program returns a tree (``with_tree``), functions with some
    results that are parts of the tree. Calls in loops and functions with large arrays, which ``del`` may release one by
    one, unpack their results.
    """
    if program.functions == [program.entry]:
        return {}
    in_bodies: set[Function] = set()
    called: Counter[Function] = Counter()
    for caller in program.functions:
        for node in topological(roots(caller)):
            if node.opcode == "call":
                function = node.parameters["function"]
                if node.region is caller.graph.root:
                    called[function] += 1
                else:
                    in_bodies.add(function)
    of_tree = _of_parts(program.entry) if with_tree else set()
    found: dict[Function, NamedResults] = {}
    for function in program.functions[:-1]:  # callees come before callers
        most = 2 if function in of_tree else _MOST_AGAIN if called[function] > 1 else _MOST_TARGETS
        if function in called and function not in in_bodies and _has_many(function, most):
            words = dict(pair for own in _calls(function) for pair in _named(own, renderer.function_names))
            nested = [(words[each.call], each, found[each.function]) for each in nested_results(function, found)]
            name = renderer.function_names[function]
            otherwise = "gradient" if name.startswith(GRADIENT) else "value"
            found[function] = NamedResults(
                names.fresh("".join(map(str.capitalize, name.split("_"))) + "Results"), otherwise, tuple(nested)
            )
    return found


def _of_parts(function: Function) -> set[Function]:
    """Return the functions that several calls use for parts of the returned tree and for values of the next call."""
    results = function.flat_results
    nodes = topological(roots(function))
    users = users_of(nodes, results)
    returned: dict[Function, list[set[int]]] = {}
    for call in nodes:
        if call.opcode == "call" and call.region is function.graph.root:
            items = [user for user in users[call] if user is not None and user.opcode == "item"]
            own = {item.parameters["index"] for item in items if set(users.get(item, ())) == {None}}
            returned.setdefault(call.parameters["function"], []).append(own)
    return {
        called
        for called, each in returned.items()
        if len(each) > 1 and 1 < len(set.intersection(*each)) < len(called.flat_results)
    }


def _has_many(function: Function, least: int) -> bool:
    results = function.results
    return (
        isinstance(results, tuple)
        and len(results) > least
        and all(isinstance(node, Node) and node.nbytes < LARGE for node in results)
    )


def class_text(function: Function, named: NamedResults, renderer: Renderer) -> str:
    """Return the definition of the class of a function's results."""
    objects = {name: inner for name, (_, _, inner) in zip(named.objects, named.nested, strict=True)}
    names = [name for name, _ in named.parts]
    types = result_type(named.built(function.results).parts)
    fields = [(name, objects.get(name, kind)) for name, kind in zip(names, types, strict=True)]
    return renderer.statement("result_class", named.class_name, renderer.function_names[function], fields)
