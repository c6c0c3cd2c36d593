"""The arguments of a function: their names, and the statements that prepare them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...array.in_place import is_view
from ...array.node import Node
from ...array.program import Function
from ...python.grammar import PRIMARY
from ...python.templates import Expression
from ..naming.arguments import argument_names, own_words, short_names
from ..naming.identifiers import base_name, common_words, is_argument
from ..naming.operands import operation_words
from ..naming.scopes import is_gradient
from ..trees.argument_groups import paths_of, steps_text
from ..trees.argument_trees import Path
from ..trees.types import TREE, Type, parameter_types
from .context import Writing
from .rerolled_loops import Leaf

_NUMBERED = re.compile(r"(?<!\d)(\d{1,4})\"?\]?$", re.ASCII)  # the number of a part of a tree, or of a name
_LEAST_READS = 3  # of a leaf of a tree that gets a name
_LEAST_SAVED = 60  # characters in all of them
_SHORTEST = 2  # characters of such a name
_NAMELESS = re.compile(r"x|[Aa]rg_\d+")


class ArgumentWriter:
    """The writer of everything before the body of a function.

    ``heads`` are the parameters in the function's head, with their types. ``leaf_names`` are the names that leaves of
    trees would have as variables, ``leaves`` their places in the trees. ``short_names`` are the short forms of long
    names, for naming other values after them.
    """

    def __init__(self, writer: Writing) -> None:
        self.writer = writer
        self.function = writer.function
        self.plan = writer.plan
        self.names = writer.names
        self.texts = writer.texts
        self.heads: list[tuple[str, Type]] = []
        self.leaf_names: dict[Node, str] = {}
        self.leaves: dict[Node, Leaf] = {}
        self.short_names: dict[Node, str] = {}

    def name(self, paths: Sequence[Path | None] = (), stored: Mapping[str, str] | None = None) -> list[str]:
        """Name the parameters, unpack tuples, and return the texts of the parameters.

        Parameters with ``paths`` are leaves of trees; ``stored`` has the names of trees that the module stores itself.
        """
        renderer = self.writer.renderer
        groups = renderer.argument_groups.get(self.function, ())
        objects = {group.word: renderer.named_results[group.maker] for group in groups if group.maker is not None}
        if groups:
            paths = paths_of(groups, len(self.function.parameters), renderer.field_names)
        parameters: list[str] = []
        roots = dict(stored or {})
        types = parameter_types(self.function)
        paths = paths or [None] * len(types)
        self.short_names = self._shorter()
        for node, wanted, kind, path in zip(self.function.parameters, self._wanted(), types, paths, strict=True):
            if path is None:
                name = self.names.fresh(wanted)
                self.texts[node] = Expression(name)
                self.writer.allocation.hold(name, node)
                self.heads.append((name, kind))
            else:
                if path.root not in roots:
                    roots[path.root] = self.names.fresh(path.root)
                    own = [each for each in paths if each is not None and each.root == path.root]
                    are_arrays = path.stars and all(len(each.keys) == 1 for each in own)
                    self.heads.append(
                        (path.stars + roots[path.root], kind if are_arrays else objects.get(path.root, TREE))
                    )
                name = path.text(roots[path.root])
                self.texts[node] = Expression(name, PRIMARY)
                self.leaf_names[node] = self.short_names.get(node, wanted)
                self.leaves[node] = Leaf(roots[path.root], path)
            parameters.append(name)
        for node, name in zip(list(self.function.parameters), parameters, strict=True):
            self._unpack(node, name)
        return parameters

    def numbers(self, function: Function, calls: Sequence[Node]) -> Sequence[int]:
        """Return a number for each call of a function.

        The number is that of the part of a tree that the call takes, ``blocks[2]`` or ``params["block_2"]``, or of an
        object, ``block_2``; if these are missing or not distinct, the calls are counted.
        """
        renderer = self.writer.renderer
        for group in renderer.argument_groups.get(function, ()):
            number = min(group.parts)
            steps = steps_text(group, number, renderer.field_names)
            given = [self.texts.get(call.operands[number], Expression("")).removesuffix(steps) for call in calls]
            found = [int(end[1]) for end in map(_NUMBERED.search, given) if end is not None]
            if len(found) == len(set(found)) == len(calls):
                return found
        return range(len(calls))

    def unpack_trees(self) -> None:
        """Assign names to the leaves of trees, if the library must prepare its arguments."""
        for node, wanted in self.leaf_names.items():
            if self.plan.uses.get(node):
                name = Expression(self.names.fresh(wanted))
                self.writer.assign([name], self.texts[node])
                self.texts[node] = name
        self.leaf_names.clear()
        self.leaves.clear()

    def name_often_read(self) -> None:
        """Assign names to the leaves of trees that are read so often that this is shorter, unless a call takes them."""
        words = own_words(self.function.computation.parameters)
        for node in self.leaf_names:
            text, word = self.texts[node], words[node.parameters["argument"]]
            is_given = any(user is None or user.opcode == "call" for user in self.writer.users.get(node, ()))
            count = self._reads(node)
            is_often = count >= _LEAST_READS and count * (len(text) - len(word)) >= _LEAST_SAVED
            is_own = words.count(word) == 1 and self.names.free(word) == word
            if not is_often or is_given or not is_own or len(word) < _SHORTEST:
                continue
            name = Expression(self.names.fresh(word))
            self.writer.assign([name], text, node)
            self.texts[node] = name
            self.leaf_names[node] = name
            self.writer.allocation.hold(name, node)

    def _reads(self, node: Node) -> int:
        """Return how many expressions read a value, or a view of it without a name; copies for results do not count."""
        users = [user for user in self.writer.users.get(node, ()) if user is not None and user.opcode != "copy"]
        return sum(self._reads(user) if is_view(user) and user not in self.plan.named else 1 for user in users)

    def _wanted(self) -> list[str]:
        """Return the best names of the parameters."""
        if self.function.repeated:
            return _lettered(self._given())
        origin = self.function.origin
        names = argument_names(self.function.computation.parameters)
        if origin is not None:
            main, loop = self.writer.earlier_writers[0], self.function.loop
            carried = main.wanted.of_carries(self.function.block_of[0], loop) if loop is not None else {}
            carries = {carry.parameter: name for carry, name in carried.items()}
            return [
                carries[node]
                if node in carries
                else "steps"
                if node in self.function.parameters
                else names[node.parameters["argument"]]
                if "argument" in node.parameters
                else (node.is_python_int and main.texts.get(node)) or main.wanted.of_argument(node)  # of a loop
                if node.opcode == "parameter"
                else base_name(node, origin)
                for node in self.function.sources
            ]
        computation = self.function.computation
        names_of = self.writer.source_names
        # The entry is called main by JAX, which says nothing about an author's function of this name.
        is_entry = not self.writer.earlier_writers
        own = "" if is_entry else names_of.contexts.of_called(self.function).removeprefix("d_")
        wanted = names_of.functions.parameters(computation, own)
        return _lettered(
            (not is_other and wanted[node.parameters["argument"]])
            or self._own_or_given(names[node.parameters["argument"]], given)
            for node, given, is_other in zip(self.function.parameters, self._given(), self._others(), strict=True)
        )

    def _shorter(self) -> dict[Node, str]:
        """Return the short forms of the names of the program's arguments."""
        if self.function.repeated or self.function.origin is not None:
            return {}
        parameters = self.function.computation.parameters
        pairs = list(zip(argument_names(parameters), short_names(parameters), strict=True))
        places = {node: node.parameters["argument"] for node in self.function.parameters if is_argument(node)}
        return {node: pairs[k][1] for node, k in places.items() if pairs[k][0] != pairs[k][1]}

    def _given(self) -> list[str]:
        """Return for each parameter the words that the names of its operands have in common in all calls, or "".

        If some calls pass a constant, only the other operands count, unless their name is just an operation's word.
        """
        given: list[list[str]] = [[] for _ in self.function.parameters]
        calls = list(self._calls())
        for names, operands in zip(given, zip(*(call.operands for _, call in calls), strict=True), strict=False):
            saying = [each for each in zip(calls, operands, strict=True) if not _is_constant(each[1])]
            for (caller, _), operand in saying or zip(calls, operands, strict=True):
                word = caller.wanted.of_argument(operand)
                names.append("" if 0 < len(saying) < len(calls) and word in operation_words() else word)
        words = dict(enumerate(common_words(given)))
        if len(words) == 1 and words[0] in operation_words():
            words[0] = ""
        for caller in self.writer.earlier_writers:
            words |= caller.leaf_maps.words(self.function)
        return [*words.values()]

    def _others(self) -> list[bool]:
        """Return for each parameter whether some call passes a gradient or a leaf of a tree, not a value of the
        author's.
        """
        found = [False] * len(self.function.parameters)
        for caller, call in self._calls():
            for k, operand in enumerate(call.operands):
                of_gradient = any(map(is_gradient, caller.graph.results.get(operand, ())))
                found[k] |= of_gradient or operand in caller.arguments.leaves
        return found

    def _calls(self) -> Iterator[tuple[Writing, Node]]:
        """Yield the calls of the function, each with the writer of its caller."""
        for caller in self.writer.earlier_writers:
            for node in caller.plan.nodes:
                if node.opcode == "call" and node.parameters["function"] is self.function:
                    yield caller, node

    def _own_or_given(self, name: str, given: str) -> str:
        """Return a parameter's own name, or the operands' name if its own is only a number or ``x``."""
        if not _NAMELESS.fullmatch(name):
            return name
        return given or ("x" if name == "x" and not self.writer.earlier_writers else "")

    def prepare(self) -> str:
        """Write how some libraries prepare their arguments; return the statement that plans the chunks of these."""
        given = [node for node in self.plan.nodes if node.opcode in ("parameter", "item") and node in self.texts]
        names = [str(self.texts[node]) for node in given if node.element_type is not None and self.plan.uses.get(node)]
        chunks = self.function.chunks
        cut = any(node in chunks for node in given)
        text = self.writer.renderer.statement("prepare", names, cut) if names else ""
        if text:
            self.writer.line(text)
        rows = [(str(self.texts[node]), chunks[node]) for node in given if node in chunks and self.plan.uses.get(node)]
        return self.writer.renderer.statement("chunks", rows, self.function.threads) if cut else ""

    def namespaces(self) -> list[str]:
        """Return the lines that bind what some libraries get from a function's arrays, such as their namespace."""
        nodes = dict.fromkeys((*self.function.parameters, *self.plan.nodes))
        given = [node for node in nodes if node.opcode in ("parameter", "item") and node in self.texts]
        names = [str(self.texts[node]) for node in given if node.element_type is not None and not node.is_python_int]
        return self.writer.renderer.statement("namespaces", names).splitlines()

    def _unpack(self, node: Node, name: str) -> None:
        """Unpack a tuple argument: its elements get names in one line, the elements of nested tuples in the next."""
        parts = self.writer.items.get(node)
        if not parts:
            return
        targets = []
        for index in range(node.parameters["count"]):
            part = parts.get(index)
            target = self.names.fresh(f"{name}_{index}") if part is not None else "_"
            targets.append(target)
            if part is not None:
                self.texts[part] = Expression(target)
        self.writer.assign(targets if len(targets) > 1 else [f"({targets[0]},)"], Expression(name))
        self.writer.bound(*parts.values())
        for part in parts.values():
            self._unpack(part, self.texts[part])


def _is_constant(node: Node) -> bool:
    """Return whether a value is a literal or a filled array, such as zeros, whose name says little."""
    return node.is_literal or node.operation.is_filled


def _lettered(names: Iterable[str]) -> list[str]:
    """Return names for parameters: ``x`` for a single one without a name, ``a``, ``b``, ``c`` for several."""
    names = list(names)
    letters = iter("abcdefgh") if names.count("") > 1 else iter("x")
    return [name or next(letters, "x") for name in names]
