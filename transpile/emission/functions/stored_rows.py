"""Rows of stacked outputs that kernels write in place: ``step_kernel(x, out[i])`` instead of a copy."""

from __future__ import annotations

from collections import Counter

from ...array.in_place import is_own_array
from ...array.node import Node, Slot
from ...array.program import Loop, Store
from ...array.value import FULL
from ...python.grammar import PRIMARY
from ...python.templates import Expression
from .context import Writing

_ROW = "stored_row"  # the macro of libraries whose kernels take output arrays


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
