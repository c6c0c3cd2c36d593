"""Chains of calls as loops, with lists of the results that are read: ``tanhs[i], x = layer(x, layers[i])``."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ...array.node import Node
from ...array.program import Function
from ...array.result_trees import Path
from ...python.grammar import PRIMARY
from ...python.templates import Expression
from ..naming.identifiers import plural
from ..trees.argument_groups import Field
from ..trees.named_results import NamedResults, field_path
from .context import Writing
from .rerolled_loops import Chain, Listed, Step, Total

COUNTERS = "ijklmn"
_MOST_TARGETS = 6  # results that one statement unpacks

At = partial[str]  # from an index to the text of the item


def letter(writer: Writing, other: Container[str] = ()) -> str:
    """Return a name for a counter that no value has, and none of the ``other`` names."""
    name = next((c for c in COUNTERS if c not in writer.names.taken and c not in other), None) or "index"
    return writer.names.fresh(name)


def _named(name: str, number: str | int) -> str:
    return name


def _item(name: str, number: str | int) -> str:
    return f"{name}[{number}]"


def _inside(at: At, steps: str, number: str | int) -> str:
    return at(number) + steps


class ChainWriter:
    """The writer of the chains of one function.

    ``lists`` has the lengths of the lists that are written so far, ``parts`` the texts of results as parts of the
    objects that calls gave, for calls that take the object.
    """

    def __init__(self, writer: Writing) -> None:
        self.writer = writer
        self.lists: dict[str, int] = {}
        self.parts: dict[Node, Expression] = {}
        self._totals: dict[Node, tuple[Total, str, bool]] = {}  # by last sum: the list, and whether it is backwards
        self._at: dict[Listed, At] = {}

    def expect(self, chain: Chain, *, is_written: bool) -> None:
        """Record that a chain reads the initial values of another chain from a list instead of by name.

        These reads are taken off the count; when the chain ``is_written``, they are added again before its calls count
        as read.
        """
        for step, _ in chain.steps.values():
            if isinstance(step, Listed) and step.is_given:
                initial = step.first.operands[step.number]
                note = self.writer.allocation.expect if is_written else self.writer.allocation.has_read
                note([initial for call in chain.calls if initial in call.operands])

    def write(self, chain: Chain) -> None:
        """Write calls that each take the result of the one before as a loop over the numbers that distinguish them."""
        writer = self.writer
        before = len(self.lists)
        starts = {k: writer.array_text(chain.calls[0].operands[place]) for place, k in chain.carried.items()}
        names = self._carried_names(chain, starts)
        above = [*self._given_lists(chain, names)]
        targets, below = self._targets(chain, names)
        self._keep_totals(chain)
        calls = {call: writer.folded(call) for call in chain.calls[:-1]}
        for name in list(self.lists)[before:]:
            writer.line(writer.renderer.statement("list_of", name, self.lists[name]))
        for k, start in starts.items():
            if names[k] != start:
                writer.assign([names[k]], start, chain.calls[0])
        counter = letter(writer) if chain.steps or chain.listed else "_"
        value = self._value(chain, names, counter)
        writer.written = dict(calls)
        self._head(chain, counter)
        writer.indent += 1
        for at, name in above:
            writer.assign([at(counter)], name)
        writer.written = dict(calls)
        writer.assign([target(counter) for target in targets], value, chain.last)
        for to, given in below:
            writer.assign([to(counter)], Expression(given(counter), PRIMARY))
        writer.indent -= 1
        writer.names.taken.discard(counter)

    def _head(self, chain: Chain, counter: str) -> None:
        """Write the head of the loop; the loop's results are bound when it is done."""
        writer, numbers = self.writer, chain.numbers
        if numbers.step == -1 and numbers.stop == -1:
            head = writer.renderer.statement("for_count", counter, chain.size, True)
        else:
            head = writer.renderer.statement("for_range", counter, numbers.start, numbers.stop, numbers.step)
        writer.line(head, chain.calls[0])
        kept = {node for node, listed, _ in chain.places() if listed in chain.listed}
        left = (node for own in chain.results for node in own.values() if node in kept or own is chain.results[-1])
        writer.bound(*left)

    # -- operands of the calls

    def _value(self, chain: Chain, names: Mapping[int, Expression], counter: str) -> Expression:
        """Return the call inside the loop."""
        writer = self.writer
        writer.texts[chain.counter] = Expression(counter)
        operands = writer.operand_texts(chain.last)
        for place, (step, scaled) in chain.steps.items():
            operands[place] = self._step(step, scaled.text(counter))
        for place, k in chain.carried.items():
            operands[place] = names[k]
        return writer.renderer.render(chain.last, operands)

    def _step(self, step: Step, number: str) -> Expression:
        if isinstance(step, Node):
            return self.writer.text(step)
        if isinstance(step, Listed):
            return Expression(self._at[step](number), PRIMARY)
        text = number if step.key is None else self.writer.renderer.statement("numbered_key", *step.key, number)
        return Expression(step.path.text(step.argument, (step.place, text)), PRIMARY)

    def _around(self, chain: Chain) -> set[Node]:
        """Return the values from outside that every call reads."""
        return self.writer.reads.of(chain.last) - set(chain.results[-2].values())

    def _carried_names(self, chain: Chain, starts: Mapping[int, Expression]) -> dict[int, Expression]:
        """Return the names of the carried values by result number: the author's, or that of a dead initial value."""
        writer, reads = self.writer, self.writer.reads
        allocation = writer.allocation
        self.expect(chain, is_written=True)
        for call in chain.calls[:-1]:
            allocation.has_read(reads.of(call))
        around = self._around(chain)
        initials = {k: chain.calls[0].operands[place] for place, k in chain.carried.items()}
        before = {k: reads.of_roots([initial]) for k, initial in initials.items()}  # read in this order
        allocation.expect([*around, *(node for own in before.values() for node in own)])
        names: dict[int, Expression] = {}
        held: list[Node] = []
        for k, initial in initials.items():
            allocation.has_read(before[k])
            node = chain.results[-1].get(k) or chain.results[-2][k]
            wanted, start = writer.plan.user_names.get(node), starts[k]
            if start.isidentifier() and initial in writer.texts and start not in writer.constants.names:
                allocation.hold(start, initial)
                wanted = wanted or start
            names[k] = Expression(allocation.name(node, wanted or writer.wanted.of(node)))
            writer.texts.update((own[k], names[k]) for own in chain.results if k in own)
            allocation.expect([node])  # until all have names
            held.append(node)
        allocation.has_read([*around, *held])
        allocation.has_read(reads.of(chain.last))
        return names

    # -- results of the calls

    def _given_lists(self, chain: Chain, names: Mapping[int, Expression]) -> Iterator[tuple[At, Expression]]:
        """Yield the lists of the carried values that each call begins with: the item, and the name of its value."""
        first = chain.calls[0]
        for place, k in chain.carried.items():
            if Listed(first, True, place) in chain.listed:
                at = self._list(names[k], chain)
                self._at[Listed(first, True, place)] = at
                for own, number in zip(chain.results[:-1], chain.numbers[1:], strict=True):
                    self.writer.texts[own[k]] = Expression(at(number), PRIMARY)
                yield at, names[k]

    def _list(self, word: str, chain: Chain) -> At:
        """Return a new list that is named after a word, without the number of the layer."""
        word = re.sub(r"_\d+(?=_|$)", "", word)
        many = word if word.endswith("s") and word[-2:] != "ss" else f"{word}s" if len(word) == 1 else plural(word)
        name = self.writer.names.fresh(many)
        self.lists[name] = chain.size
        return partial(_item, name)

    def _targets(self, chain: Chain, names: Mapping[int, Expression]) -> tuple[list[At], list[tuple[At, At]]]:
        """Return the targets of the call, as functions of the counter, and the assignments after it."""
        writer, last = self.writer, chain.last
        named = writer.renderer.named_results.get(last.parameters["function"])
        if named is None:
            parts: Sequence[tuple[str, Any]] = [("", k) for k in range(max(1, len(last.results)))]
        else:
            writer.trees.name_fields(last, named)
            parts = named.parts
            if len(parts) > _MOST_TARGETS or named.nested or self._is_handed_on(last.parameters["function"]):
                return self._records(chain, named, names)
        groups = dict(named.groups) if named is not None else {}
        targets: list[At] = []
        below: list[tuple[At, At]] = []
        held = [chain.results[-1].get(k) or chain.results[-2][k] for k in names]
        held += self._around(chain)
        writer.allocation.expect([*held, *held])  # by the next call, too: no other target has the name of such a value
        for word, tree in parts:
            paths = groups[word].keys if word in groups else {tree: ()}
            is_listed = any(Listed(chain.calls[0], False, k) in chain.listed for k in paths)
            if isinstance(tree, int) and tree in names:
                targets.append(partial(_named, names[tree]))
                if is_listed:
                    at = self._list(names[tree], chain)
                    self._at[Listed(chain.calls[0], False, tree)] = at
                    below.append((at, targets[-1]))
            elif is_listed:
                node = next(own[k] for k in paths for own in chain.results if k in own)
                at = self._list(word or writer.wanted.of(node), chain)
                self._keep(chain, at, paths)
                targets.append(at)
            elif any(k in chain.results[-1] for k in paths):
                node = next(chain.results[-1][k] for k in paths if k in chain.results[-1])
                name = writer.names.fresh(word) if word else writer.allocation.name(node, writer.wanted.of(node), last)
                self._keep(chain, partial(_named, name), paths)
                targets.append(partial(_named, name))
            else:
                targets.append(partial(_named, "_"))
        writer.allocation.has_read([*held, *held])
        return targets, below

    def _keep(self, chain: Chain, at: At, paths: Mapping[int, Path]) -> None:
        """Record the texts of results from here on; the results of a group are at the ends of ``paths``."""
        writer, function = self.writer, chain.last.parameters["function"]
        for k, path in paths.items():
            steps = field_path("", path)
            self._at[Listed(chain.calls[0], False, k)] = partial(_inside, at, steps) if steps else at
            for own, number in zip(chain.results, chain.numbers, strict=True):
                if k in own:
                    writer.texts[own[k]] = Expression(at(number) + steps, PRIMARY)
        for _, group in writer.trees.groups.get(function, ()):
            if group.keys == paths:
                for call, number in zip(chain.calls, chain.numbers, strict=True):
                    writer.trees.grouped[group.places[writer.calls[function].index(call)]] = at(number)

    def _keep_totals(self, chain: Chain) -> None:
        """Record the sums that are sums of lists from here on."""
        for k, total in chain.totals.items():
            at = self._at[Listed(chain.calls[0], False, k)]
            if at.func is _item:
                self._totals[total.sums[-1]] = total, at.args[0], chain.numbers.step < 0

    def total(self, node: Node) -> Expression | None:
        """Return the text of a node that is the sum of a list, or None."""
        if node not in self._totals:
            return None
        total, name, is_backwards = self._totals[node]
        start = "" if total.start is None else self.writer.text(total.start)
        return self.writer.renderer.expression("sum_of_list", name, start, is_backwards)

    def _records(
        self, chain: Chain, named: NamedResults, names: Mapping[int, Expression]
    ) -> tuple[list[At], list[tuple[At, At]]]:
        """Return a list of the result objects as target, and the assignments of the carried values from it."""
        writer, function = self.writer, chain.last.parameters["function"]
        at = self._list(writer.renderer.function_names[function], chain)
        fields = [f".{each}" for each in named.fields]
        below: list[tuple[At, At]] = []
        given = {k for place, k in chain.carried.items() if Listed(chain.calls[0], True, place) in chain.listed}
        for k, steps in enumerate(fields):
            where = partial(_inside, at, steps)
            self._at[Listed(chain.calls[0], False, k)] = where
            for own, number in zip(chain.results, chain.numbers, strict=True):
                if k in own:
                    self.parts[own[k]] = Expression(where(number), PRIMARY)
                    if not (k in names and (k in given or own is chain.results[-1])):
                        writer.texts[own[k]] = self.parts[own[k]]
            if k in names:
                below.append((partial(_named, names[k]), where))
        for field, group in writer.trees.groups.get(function, ()):
            for call, number in zip(chain.calls, chain.numbers, strict=True):
                writer.trees.grouped[group.places[writer.calls[function].index(call)]] = f"{at(number)}.{field}"
        return [at], below

    def _is_handed_on(self, function: Function) -> bool:
        """Return whether some function takes all results of this one as one argument."""
        groups = (group for own in self.writer.renderer.argument_groups.values() for group in own)
        steps = (step for group in groups for steps in group.parts.values() for step in steps)
        return any(isinstance(step, Field) and step.function is function for step in steps)
