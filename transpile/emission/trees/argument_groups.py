"""Arguments that are parts of one tree are passed as the tree: ``layer(params["layers"][3], x)``.

A function of the program has the leaves that it reads, and results of other calls, as separate parameters. If in every
call some of these come from the same places of one tree, or of one object with named results, the emitted function
takes that instead, and its body reads ``params["norm"]``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator, Mapping, Sequence

from ...array.node import Node
from ...array.program import Function, Program, given_functions, roots
from ...array.result_trees import is_field
from ...array.traversal import topological
from ...dataclass import dataclass
from ...python.templates import Expression
from ..functions.rerolled_loops import LEAST_CALLS
from ..naming.arguments import last_word
from ..naming.identifiers import Names, identifier
from ..naming.scopes import is_gradient
from .argument_trees import Key, Path

_LEAST_FIELDS = 3


@dataclass(frozen=True, slots=True)
class Field:
    """A result of a function that returns an object with named results.

    ``index`` is the number of the result, or, beyond the results, of a nested object that ``maker`` returned.
    """

    function: Function
    index: int
    maker: Function | None = None


Steps = tuple[Key | Field, ...]
_WORDS = ("params", "weights", "tree")  # names for parts of trees whose own names are taken


@dataclass(frozen=True, slots=True)
class Root:
    """A tree or an object with parts: ``key`` identifies it, ``maker`` is the function that returned an object."""

    key: Hashable
    word: str
    maker: Function | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """The part of ``root`` at the end of ``steps``."""

    root: Root
    steps: Steps

    def before(self, size: int) -> tuple[Hashable, Steps]:
        """Return the place without the last ``size`` steps, as a comparable key."""
        return self.root.key, self.steps[: len(self.steps) - size]

    def maker(self, size: int) -> Function | None:
        """Return the function that returned the object without the last ``size`` steps; None for a tree."""
        _, steps = self.before(size)
        last = steps[-1] if steps else self.root
        return last.maker if isinstance(last, Field | Root) else None


@dataclass(frozen=True, slots=True)
class Group:
    """One argument instead of several parameters: the steps to each of them, by their numbers.

    ``word`` is its name; ``maker`` is the function whose named results it is, None for a tree.
    """

    word: str
    parts: Mapping[int, Steps]
    maker: Function | None


Groups = dict[Function, tuple[Group, ...]]
FieldNames = Callable[[Function], Sequence[str]]  # the field names of a function's results


def argument_groups(
    program: Program,
    paths: Sequence[Path | None],
    makers: Mapping[Function, str],
    nested: Nested,
    order: Sequence[Function],
    stored: Collection[str] = (),
) -> Groups:
    """Return the arguments that the functions of a program take instead of their parts.

    ``paths`` are those of the entry's parameters; ``makers`` has the functions with named results, with their names;
    ``nested`` has the objects that they pass on; ``order`` has callers before callees. ``stored`` are the trees that
    the module has, whose names no part of them can have.
    """
    if program.functions == [program.entry]:
        return {}
    nodes = {function: topological(roots(function)) for function in program.functions}
    calls: dict[Function, list[Node]] = {}
    for node in (node for function in order for node in nodes[function] if node.opcode == "call"):
        calls.setdefault(node.parameters["function"], []).append(node)
    handed_on = {function for each in nodes.values() for node in each for function in given_functions(node)}
    places: dict[Node, Place] = {}
    sizes: dict[Hashable, int] = {}  # argument of the entry: the number of its leaves
    for node, path in zip(program.entry.parameters, paths, strict=False):
        if path is not None:
            word = next(word for word in _WORDS if word not in stored) if path.root in stored else path.root
            places[node] = Place(Root(path.root, word), path.keys)
            sizes[path.root] = sizes.get(path.root, 0) + 1
    groups: Groups = {}
    for function in order:
        if function in calls and function not in handed_on and not function.block_of:
            found = groups[function] = tuple(_grouped(calls[function], places, sizes, makers))
            for number, group in enumerate(found):
                root = Root((function, number), group.word, group.maker)
                places.update((function.parameters[k], Place(root, steps)) for k, steps in group.parts.items())
        for node in nodes[function]:
            maker = node.operands[0].parameters.get("function") if node.opcode == "item" else None
            if isinstance(maker, Function) and maker in makers:
                root = Root(node.operands[0], f"{makers[maker]}_results", maker)
                places[node] = Place(root, _fields(maker, node.parameters["index"], nested))
    return groups


def _fields(function: Function, index: int, nested: Nested) -> Steps:
    """Return the steps to a result of a function, through the objects that it passes on."""
    for number, each in enumerate(nested.get(function, ())):
        if index in each.indices:
            outer = Field(function, len(function.flat_results) + number, each.function)
            return outer, *_fields(each.function, each.indices[index], nested)
    return (Field(function, index),)


def _grouped(
    calls: Sequence[Node], places: Mapping[Node, Place], sizes: Mapping[Hashable, int], makers: Mapping[Function, str]
) -> Iterator[Group]:
    """Yield the groups, the largest first, and of equally large ones those with the smallest trees."""
    given = {
        number: [places[operand] for operand in operands]
        for number, operands in enumerate(zip(*(call.operands for call in calls), strict=True))
        if all(operand in places for operand in operands)
    }
    candidates: dict[tuple[tuple[Hashable, Steps], ...], dict[int, int]] = {}
    for number, found in given.items():
        for size in range(1, _shared_steps(found) + 1):
            candidates.setdefault(tuple(place.before(size) for place in found), {})[number] = size
    chosen: list[tuple[list[Place], int, dict[int, Steps]]] = []
    taken: set[int] = set()
    while True:
        left = {key: [number for number in members if number not in taken] for key, members in candidates.items()}
        left = {key: members for key, members in left.items() if len(members) > 1 and _is_tidy(key, members, sizes)}
        if not left:
            break
        key = max(left, key=lambda each: (len(left[each]), len(each[0][1])))
        taken.update(left[key])
        found = given[left[key][0]]
        size = candidates[key][left[key][0]]
        parts = {number: given[number][0].steps[-candidates[key][number] :] for number in left[key]}
        chosen.append((found, size, parts))
    words = [_word(found, size, makers) for found, size, _ in chosen]
    names = Names(set())
    for word, (found, size, parts) in zip(words, chosen, strict=True):
        maker = found[0].maker(size)
        own = _word_of_key(found, size) if words.count(word) > 1 else ""
        yield Group(names.fresh(own or word), parts, maker)


def _shared_steps(places: Sequence[Place]) -> int:
    """Return the number of last steps that all places have in common."""
    shortest = min(len(place.steps) for place in places)
    first = places[0].steps
    differing = (k for k in range(1, shortest + 1) if any(place.steps[-k] != first[-k] for place in places))
    return next(differing, shortest + 1) - 1


def _is_tidy(key: tuple[tuple[Hashable, Steps], ...], members: Sequence[int], sizes: Mapping[Hashable, int]) -> bool:
    """Return whether a tree is little more than its parts that are read; an argument of the entry may be much more."""
    return all(steps or 2 * len(members) >= sizes.get(root, 0) for root, steps in key)


def _word(places: Sequence[Place], size: int, makers: Mapping[Function, str]) -> str:
    """Return ``params`` for ``params["layers"][3]``, ``mu`` for ``state[0].mu["layers"][3]``."""
    ways = [(place.root.word, *place.before(size)[1]) for place in places]
    attributes = [steps[0][1:] for steps in zip(*ways, strict=False) if len(set(steps)) == 1 and is_field(steps[0])]
    made = [place.maker(size) for place in places]
    words = {
        place.root.word if maker is None else f"{makers[maker]}_results"
        for place, maker in zip(places, made, strict=True)
    }
    return attributes[-1] if attributes else words.pop() if len(words) == 1 else "tree"


def _word_of_key(places: Sequence[Place], size: int) -> str:
    """Return ``attention_params`` for ``variables["params"]["SelfAttention_0"]``.

    Empty if the last keys are not such words, or differ between the calls.
    """
    ways = [(place.root.word, *place.before(size)[1]) for place in places]
    if any(len(way) < 2 or not isinstance(key, str) for way in ways for key in way[-2:]):
        return ""
    found = {f"{last_word(str(way[-1])).rstrip('_0123456789')}_{way[-2]}".replace(".", "").lower() for way in ways}
    return identifier(found.pop()) if len(found) == 1 else ""


def paths_of(groups: Sequence[Group], count: int, fields: FieldNames) -> list[Path | None]:
    """Return the path of each of ``count`` parameters in the arguments that a function takes instead of them."""
    paths: list[Path | None] = [None] * count
    for group in groups:
        for number, steps in group.parts.items():
            paths[number] = Path(group.word, _keys(steps, fields))
    return paths


def given_texts(groups: Sequence[Group], operands: Sequence[Expression], fields: FieldNames) -> list[str]:
    """Return the arguments of a call whose ``operands`` have these texts: for a group, the text of the whole."""
    texts: list[str | None] = list(operands)
    for group in groups:
        first = min(group.parts)
        steps = steps_text(group, first, fields)
        text = operands[first].text
        assert text.endswith(steps), f"{text} is no part at the end of {steps}"
        texts[first] = text.removesuffix(steps)
        for number in group.parts:
            texts[number] = texts[number] if number == first else None
    return [text for text in texts if text is not None]


def parts_of_objects(groups: Iterable[Group]) -> set[int]:
    """Return the numbers of the parameters that a function takes as parts of objects that calls gave."""
    return {number for group in groups if group.maker is not None for number in group.parts}


def steps_text(group: Group, number: int, fields: FieldNames) -> str:
    """Return the text behind a group's tree or object for one of its parts: ``["norm"]``."""
    return Path("", _keys(group.parts[number], fields)).text("")


def _keys(steps: Steps, fields: FieldNames) -> tuple[Key, ...]:
    return tuple(f".{fields(step.function)[step.index]}" if isinstance(step, Field) else step for step in steps)


@dataclass(frozen=True, slots=True)
class NestedResults:
    """The object that a ``call`` of ``function`` inside another function returns, and that the latter passes on.

    ``indices`` maps the numbers of the outer function's results to the fields of the object.
    """

    call: Node
    function: Function
    indices: Mapping[int, int]


Nested = Mapping[Function, Sequence[NestedResults]]


def nested_results(function: Function, with_names: Container[Function]) -> list[NestedResults]:
    """Return the objects that a function passes on: of calls in ``with_names``, of which it returns nearly all results.

    Gradients are left out, as they are returned as parts of the tree of weights, and so are calls that become a loop.
    """
    found: dict[Node, dict[int, int]] = {}
    for number, node in enumerate(function.flat_results):
        call = node.operands[0] if node.opcode == "item" else node
        if call.opcode == "call" and call.parameters["function"] in with_names and node.region is function.graph.root:
            found.setdefault(call, {})[number] = node.parameters["index"]
    called = [call.parameters["function"] for call in found]
    return [
        NestedResults(call, inner, indices)
        for (call, indices), inner in zip(found.items(), called, strict=True)
        if len(indices) >= max(_LEAST_FIELDS, 0.75 * len(inner.flat_results))
        and called.count(inner) < LEAST_CALLS
        and not any(_is_gradient(function, number) for number in indices)
    ]


def _is_gradient(function: Function, number: int) -> bool:
    return any(map(is_gradient, function.graph.results.get(function.flat_results[number], ())))
