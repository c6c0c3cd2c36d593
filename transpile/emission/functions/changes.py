"""In-place updates as statements: updated copies of arrays, and rows that a loop stores."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from ...array.affine import integer_value
from ...array.in_place import is_own_array, is_same_part, is_view, reads_safely
from ...array.intervals import exceeded
from ...array.node import Node, Slot
from ...array.operations import operation
from ...array.program import Loop, Store
from ...array.value import FULL, NEW
from ...python.grammar import PRIMARY
from ...python.templates import Expression
from ..expression import UFUNCS
from .context import Writing

_NUMBER = re.compile(r"_\d+$")  # distinguishes a name from earlier ones
_ROW = "stored_row"  # the macro of libraries whose kernels take output arrays


def _with_known_parts(node: Node) -> list[Any]:
    """Return the index of an update with static bounds, such as ``1:``, for slices whose start is known."""
    index = list(node.parameters["index"])
    sizes = iter(node.shape)
    for k, item in enumerate(index):
        size = next(sizes) if item is not NEW else 0
        if isinstance(item, tuple) and len(item) == 2 and node.operands[item[0].index].opcode == "integer":
            start = node.operands[item[0].index].parameters["value"]
            stop = start + item[1]
            index[k] = (start or None, None if stop == size else stop, None)
    return index


def _with_numbers(index: Sequence[Any], places: Sequence[Node]) -> list[Any]:
    """Return an index with the known numbers in place of their slots, the first of which is 2."""
    known = [integer_value(places[item.index - 2]) if isinstance(item, Slot) else None for item in index]
    return [item if number is None else number for item, number in zip(index, known, strict=True)]


def _looks_at(view: Node, part: Node) -> bool:
    """Return whether two values may be views of one array."""
    bases = [view, part]
    for k, base in enumerate(bases):
        while is_view(base):
            base = base.operands[0]
        bases[k] = base
    return bases[0] is bases[1]


class ChangeWriter:
    """The writer of the updates of a function's arrays."""

    def __init__(self, writer: Writing) -> None:
        self.writer = writer
        plan = writer.plan
        self._after = {  # updated array: the next update, if nothing else reads the array
            node.operands[0]: node
            for node in plan.nodes
            if node.operation.changes and node.operands[0].operation.changes and plan.uses[node.operands[0]] == 1
        }

    def setitem(self, node: Node) -> None:
        """Write an update, of a copy if the array is read again: ``y = x.copy()``, ``y[i] = value``."""
        writer = self.writer
        before, begin, indent = node.operands[0], len(writer.lines), writer.indent
        takes_over = self._taken_over_by(before) is node
        name = writer.texts[before] if takes_over else writer.texts.get(node)
        wanted = "" if name is not None else writer.wanted.of(self._last_change(node))
        if node.opcode != "scatter" or writer.loop_compiler is None:
            writer.fit_change(node, partial(self._change, node, name or Expression(writer.names.free(wanted))))
        is_taken = node in writer.taken_over and before in writer.texts  # the update reuses the buffer
        is_last = is_taken or self._is_last_read(before, node)
        keeps = name is None and is_last and (is_taken or self._keeps_its_name(before, node))
        if keeps and writer.allocation.may_stay(writer.texts[before], self._last_change(node)):
            takes_over, name = True, writer.texts[before]
        name = name or Expression(writer.names.fresh(wanted))
        if not takes_over and node not in writer.changed_in_place:
            source = writer.text(before)
            is_new = self._is_new(before, node)
            copied = source if is_new else writer.renderer.expression("copy", before, source)
            compiler = writer.loop_compiler if node in writer.texts else None
            if copied != name and not (compiler and compiler.overwrite(writer, name, copied, node)):
                writer.assign([name], copied, node)
        writer.texts[node] = name
        writer.allocation.hold(name, node)
        compiler = writer.loop_compiler
        if node.opcode == "scatter" and compiler is not None:
            compiler.scatter(node, name, begin)
        elif not is_same_part(node, node.operands[1]) and (compiler is None or not compiler.change(node, name)):
            self._begin_test(node)
            writer.line(self._change(node, name), node)
            writer.indent = indent
        writer.bound(node)

    def _begin_test(self, node: Node) -> None:
        """Write the test that the places of a ``scatter`` are in the array, under which the update stands."""
        if node.opcode != "scatter":
            return
        tests: list[tuple[str, int | None, int | None]] = []
        sizes = [size for size, item in zip(node.shape, node.parameters["index"], strict=False) if item != FULL]
        for place, size, from_end in zip(node.operands[2:], sizes, node.parameters["from_end"], strict=True):
            limits = exceeded(place, size, from_end=from_end)
            tests += [(self.writer.text(place), *limits)] if limits != (None, None) else []
        if tests:
            self.writer.line(self.writer.renderer.statement("if_inside", tests), node)
            self.writer.indent += 1

    def _change(self, node: Node, name: Expression) -> str:
        """Return the statement that updates the array of a name."""
        writer = self.writer
        ufunc = node.parameters.get("ufunc")
        value = node.operands[1] if ufunc is not None else self._stored(node.operands[1])
        operands = [name, writer.value_text(value), *map(writer.index_text, node.operands[2:])]
        index = writer.renderer.index_of(_with_known_parts(node), operands, node.shape)
        if ufunc is None:
            more = self._combined(node)
            if more is not None:
                text = writer.value_text(more)
                return writer.renderer.statement("augment", node.operands[1].opcode, name, index, text)
            items = _with_numbers(node.parameters["index"], node.operands[2:])
            return writer.renderer.store(name, index, operands[1], value, items, node.shape)
        row = operation(ufunc.opcode, {})
        is_one = node.opcode == "scatter" and row.wraps and row.promotes and not node.type.is_extension
        ufunc = UFUNCS[ufunc.opcode]
        if is_one or node.parameters.get("distinct"):
            return writer.renderer.statement("augment", ufunc, name, index, operands[1])
        is_sliced = FULL in node.parameters["index"]
        places = f"({index})" if len(node.operands) > 3 and not is_sliced else index
        return writer.renderer.statement("update_at", ufunc, name, places, is_sliced, operands[1])

    def _combined(self, node: Node) -> Node | None:
        """Return ``y`` of ``x[i] += y`` for the update ``x[i] = x[i] + y``, or None."""
        writer, value = self.writer, node.operands[1]
        if not (writer.renderer.combines_in_place and value.operation.wraps and value.operation.promotes):
            return None
        orders = (value.operands, value.operands[::-1]) if value.operation.is_commutative else (value.operands,)
        for part, other in orders:
            if is_same_part(node, part) and not {value, part} & writer.texts.keys():
                return other if not other.ndim or reads_safely(node, other) or not _looks_at(other, part) else None
        return None

    def _is_new(self, before: Node, node: Node) -> bool:
        """Return whether an array is made for an update alone, so that it needs no copy."""
        if before.opcode == "kernel" and not before.parameters["kernel"].is_inline:
            return before.region is node.region and self.writer.plan.uses[before] == 1
        if node in self.writer.taken_over:
            return True
        if before not in self.writer.plan.named:
            return is_own_array(before)
        return node in self.writer.texts and self._is_last_read(before, node)

    def _keeps_its_name(self, before: Node, node: Node) -> bool:
        """Return whether an updated array may keep its name: the author has no other name for it."""
        word = self.writer.plan.user_names.get(node)
        return word in (None, _NUMBER.sub("", self.writer.texts.get(before, "")))

    def _is_last_read(self, before: Node, node: Node) -> bool:
        """Return whether an array that this body owns is dead after an update, with all its views: it may be in
        place.
        """
        writer = self.writer
        if not (is_own_array(before) and before.ndim and before.region is node.region and before in writer.texts):
            return False
        if writer.allocation.is_needed_after(before, node):
            return False
        waiting = [before]
        while waiting:
            looked_at = waiting.pop()
            for user in self.writer.users[looked_at]:
                if user is node and looked_at not in node.operands[1:]:
                    continue
                if user in (None, node) or (is_view(user) and user in writer.plan.named):
                    return False
                if is_view(user):
                    waiting.append(user)
                elif not user.operation.allocates:
                    return False
        return True

    def _taken_over_by(self, node: Node) -> Node | None:
        """Return the next update of an updated array that nothing else reads, or None."""
        change = self._after.get(node)
        if (
            change is None
            or change.region is not node.region
            or change in self.writer.kept
            or node in self.writer.changed_in_place
        ):
            return None
        return change

    def _last_change(self, node: Node) -> Node:
        """Return the last of successive updates of one array, after which the array is named."""
        while (change := self._taken_over_by(node)) is not None:
            node = change
        return node

    def store(self, store: Store) -> None:
        """Write ``out[t] = value``."""
        writer = self.writer
        if store.value in writer.written_rows:
            return
        value = self._stored(store.value)
        operands = ["", writer.value_text(value), *map(writer.index_text, store.indices)]
        index = writer.renderer.index_of(store.index, operands, store.carry.parameter.shape)
        target = writer.texts[store.carry.parameter]
        items = _with_numbers(store.index, store.indices)
        line = writer.renderer.store(target, index, operands[1], value, items, store.carry.parameter.shape)
        writer.line(line, store.value)
        writer.lines[-1].after[store.result] = target

    def _stored(self, node: Node) -> Node:
        """Return the value to be stored, without a broadcast that the store does by itself."""
        return node.operands[0] if node.opcode == "broadcast_to" and node not in self.writer.texts else node


class StoredRows:
    """The writer of calls of kernels whose results are only used as rows of a loop's stacked outputs."""

    def __init__(self, writer: Writing) -> None:
        self.writer = writer
        self.stores: dict[Node, tuple[Store, Node]] = {}  # value that is stored once: its store and loop node
        for node in writer.plan.nodes:
            if node.opcode == "loop":
                loop: Loop = node.parameters["loop"]
                times = Counter(store.value for store in loop.stores)
                stores = [store for store in loop.stores if times[store.value] == 1]
                self.stores.update((store.value, (store, node)) for store in stores)

    def write(self, node: Node) -> bool:
        """Write the call of a kernel if at least half of its results are such rows; return whether that was done."""
        writer = self.writer
        parts = writer.items.get(node, {}) if node.results else {0: node}
        found = {k: store for k, part in parts.items() if (store := self._row(part)) is not None}
        count = len(node.results) or 1
        if node.parameters["kernel"].makes_results or 2 * len(found) < count or _ROW not in writer.renderer.macros:
            return False
        places: list[str] = [""] * count
        for k, store in found.items():
            operands = ["", "", *map(writer.index_text, store.indices)]
            index = writer.renderer.index_of(store.index, operands, store.carry.parameter.shape)
            places[k] = writer.renderer.statement(_ROW, writer.texts[store.carry.parameter], index)
            if parts[k] not in writer.texts and writer.plan.uses[parts[k]] == 1:
                writer.texts[parts[k]] = Expression(places[k], PRIMARY)  # it has no other reader
        writer.renderer.stored_rows[node] = places
        targets = ["_" if target in places else target for target in self._targets(node)]
        targets = targets if set(targets) != {"_"} else []
        call = writer.value(node)  # of any length: it has a line for each array
        if targets:
            writer.assign(targets, call, node)
        else:
            writer.line(writer.renderer.statement("evaluate", call), node)
        writer.bound(*parts.values())
        for store in found.values():
            writer.lines[-1].after[store.result] = writer.texts[store.carry.parameter]
        writer.written_rows.update(parts[k] for k in found)
        return True

    def _targets(self, node: Node) -> list[str]:
        """Return names for the results of a kernel."""
        if node.results:
            return self.writer.targets(node)
        if node not in self.writer.texts:
            wanted = self.writer.wanted.of(node)
            self.writer.texts[node] = Expression(self.writer.allocation.name(node, wanted))
        return [self.writer.texts[node]]

    def _row(self, part: Node) -> Store | None:
        """Return the store of a result in the row of the counter, or None if the result may be seen afterwards."""
        store, node = self.stores.get(part, (None, None))
        if store is None or node is None or part.region is not node.parameters["loop"].region:
            return None
        stacked = store.carry.parameter
        numbered = [axis for axis, item in enumerate(store.index) if item != FULL]
        is_slot = len(numbered) == 1 and isinstance(store.index[numbered[0]], Slot)
        if not is_slot or store.indices != (node.parameters["loop"].counter,):
            return None
        row = tuple(size for axis, size in enumerate(stacked.shape) if axis != numbered[0])
        fits = (part.shape, part.element_type) == (row, stacked.element_type)
        return store if fits and not self._outlives(part, node) else None

    def _outlives(self, part: Node, node: Node) -> bool:
        """Return whether a result is read after its loop, or by a node that would see a view of the stacked output."""
        loop: Loop = node.parameters["loop"]
        behind = self.writer.items.get(node, {})
        if any(carry.following is part and k in behind for k, carry in enumerate(loop.carries)):
            return True
        users = [user for user in self.writer.plan.nodes if part in user.operands]
        return not all(user.opcode == "kernel" or is_own_array(user) for user in users)
