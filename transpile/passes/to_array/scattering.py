"""Lowers scatter: to ``x[i] = y`` or ``np.add.at``, to a short function if positions may be out of bounds, else to a
long one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...array.affine import integer_value
from ...array.node import Node, Slot, Ufunc
from ...array.program import Function
from ...array.rewriting import prelude_call
from ...array.value import FULL, NEW, Value, arranged, common_order, getitem, materialise, permute, without_dimensions
from ...dataclass import dataclass
from ...hlo.attributes import SliceDimension
from ...hlo.ir import Instruction
from ...hlo.shapes import ArrayShape
from .elementwise import apply
from .growth import limits
from .indexing import fits, indexed, is_start, untyped, updated
from .lowering import FunctionLowering, Lowered, lowers
from .points import element_points, known, start_points
from .structure import sliced

_NUMBERS = (
    "update_window_dims",
    "inserted_window_dims",
    "scatter_dims_to_operand_dims",
    "input_batching_dims",
    "scatter_indices_batching_dims",
)


@lowers("scatter")
def scatter(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Lowered:
    count = (len(operands) - 1) // 2
    numbers = {key: instruction[key] for key in _NUMBERS if instruction[key]}
    indices = operands[count]
    if instruction["index_vector_dim"] != len(indices.shape) - 1:
        numbers["index_vector_dim"] = instruction["index_vector_dim"]
    computation = instruction["to_apply"]
    replaces = computation.root is computation.parameters[-1] and count == 1
    combine = None if replaces else lowering.combiner(computation)
    if count == 1 and "scatters" not in lowering.module.options.disabled and not isinstance(combine, Function):
        simple = _Scatter.of(lowering, instruction, *operands).lowered(combine)
        if simple is not None:
            return simple if isinstance(instruction.shape, ArrayShape) else (simple,)
    nodes = tuple(lowering.plain(value) for value in operands)
    slots = tuple(Slot(k) for k in range(len(nodes)))
    if count == 1:
        shape = instruction.element_shapes[0]
        assert isinstance(shape, ArrayShape)
        arguments: tuple[Any, ...] = (*slots, combine) if combine is not None else slots
        result = lowering.call("scatter", nodes, arguments=arguments, **numbers)
        return result if instruction.shape is shape else (result,)
    arguments = (slots[:count], slots[count], slots[count + 1 :], combine)
    return lowering.call_many("scatter", nodes, arguments=arguments, **numbers)


@dataclass(frozen=True, slots=True)
class _Scatter:
    """A scatter into one operand, with the starts and sizes of its windows."""

    lowering: FunctionLowering
    operand: Value
    updates: Value
    points: dict[int, Value]
    window: tuple[int, ...]  # sizes, by dimension of the operand
    window_places: tuple[int | None, ...]  # the updates' dimension of each operand dimension
    batch: tuple[int, ...]  # dimensions of the updates that are not a window's

    @staticmethod
    def of(
        lowering: FunctionLowering, instruction: Instruction, operand: Value, indices: Value, updates: Value
    ) -> _Scatter:
        batching = list(
            zip(instruction["input_batching_dims"], instruction["scatter_indices_batching_dims"], strict=True)
        )
        start_map = instruction["scatter_dims_to_operand_dims"]
        points = start_points(lowering, indices, instruction["index_vector_dim"], start_map, batching)
        inserted = {*instruction["inserted_window_dims"], *instruction["input_batching_dims"]}
        rest = iter(instruction["update_window_dims"])
        places = tuple(None if d in inserted else next(rest) for d in range(len(operand.shape)))
        window = tuple(1 if place is None else updates.shape[place] for place in places)
        batch = tuple(d for d in range(len(updates.shape)) if d not in places)
        return _Scatter(lowering, operand, updates, points, window, places, batch)

    def lowered(self, combine: Ufunc | None) -> Value | None:
        """Return the scatter as indexing, or None."""
        if 0 in self.updates.shape or self._misses():
            return self.operand
        if all(self.updates.shape[d] == 1 for d in self.batch):
            one = self._one_window(combine)
            if one is not None:
                return one
        elements = self._elements()
        return elements._strided(combine) or elements._rows(combine) or elements._rows_of_part(combine)

    def _misses(self) -> bool:
        """Return whether no window fits in the operand, wherever the indices are in their intervals."""
        places = ((limits(point.node), self.operand.shape[d] - self.window[d]) for d, point in self.points.items())
        return any(found is not None and (found[1] < 0 or found[0] > last) for found, last in places)

    def _one_window(self, combine: Ufunc | None) -> Value | None:
        """Return ``x[1:3, i] = y`` for a single window that is proved to fit, or None."""
        starts: dict[int, Node] = {}
        for d, (size, limit) in enumerate(zip(self.window, self.operand.shape, strict=True)):
            node = self.points[d].node if d in self.points else self.lowering.graph.integer(0)
            fixed = known(self.points[d]) if d in self.points else 0
            if fixed is not None:
                node = self.lowering.graph.integer(fixed)
            if not fits(self.lowering, node, limit - size) or not (size == 1 or is_start(self.lowering, node)):
                return None
            if size != limit:
                starts[d] = node
        update = without_dimensions(self.lowering.graph, self.updates, self.batch)
        held = iter(update.axes)
        update = Value(
            update.node, tuple(None if place is None else next(held) for place in self.window_places), self.window
        )
        if combine is not None:
            current = self._current(starts)
            element_type = self.operand.node.type
            update = apply(self.lowering, combine.opcode, element_type, (current, update), self.window, {})
        if not starts:
            return update
        return updated(self.lowering, self.lowering.plain(self.operand), update, starts)

    def _current(self, starts: dict[int, Node]) -> Value:
        """Return the elements of a window with these starts."""
        if any(node.opcode != "integer" for node in starts.values()):
            return indexed(self.lowering, self.operand, starts, self.window)
        fixed = {d: node.parameters["value"] for d, node in starts.items()}
        cut = (SliceDimension(fixed.get(d, 0), fixed.get(d, 0) + size) for d, size in enumerate(self.window))
        return sliced(self.lowering, self.operand, tuple(cut))

    def _elements(self) -> _Scatter:
        """Return the scatter of single elements, if windows at unknown positions are proved to fit; else the same
        scatter.
        """
        lowering, shape = self.lowering, self.operand.shape
        windows = {d: self.window[d] for d, point in self.points.items() if self.window[d] > 1 and known(point) is None}
        if any(not fits(lowering, self.points[d].node, shape[d] - size) for d, size in windows.items()):
            return self
        return replace(
            self,
            points=element_points(lowering, self.points, windows),
            window=tuple(1 if d in windows else size for d, size in enumerate(self.window)),
            window_places=tuple(None if d in windows else place for d, place in enumerate(self.window_places)),
            batch=(*self.batch, *(place for d in windows if (place := self.window_places[d]) is not None)),
        )

    def _strided(self, combine: Ufunc | None) -> Value | None:
        """Return ``x[1:-1:2, 3] = y`` for evenly spaced positions along each dimension, or None."""
        shape, graph = self.operand.shape, self.lowering.graph
        ranges = {d: _range(point) for d, point in self.points.items()}
        if any(size != (1 if d in self.points else shape[d]) for d, size in enumerate(self.window)):
            return None
        if any(found is None or found[0].start < 0 or found[0][-1] >= shape[d] for d, found in ranges.items()):
            return None
        places = {d: found[1] for d, found in ranges.items() if found is not None and found[1] is not None}
        batch = [k for k, d in enumerate(self.batch) if self.updates.shape[d] != 1]
        if not places or sorted(places.values()) != batch:
            return None
        index = [ranges[d][0] if d in ranges else range(size) for d, size in enumerate(shape)]  # type: ignore[index]
        held = {d: place for d, place in enumerate(self.window_places) if place is not None and d not in ranges}
        held |= {d: self.batch[place] for d, place in places.items()}
        items = tuple(_item(each, shape[d]) if d in held else each.start for d, each in enumerate(index))
        order = [held[d] for d in sorted(held)]
        plain, updates = self.lowering.plain(self.operand), self._updates(order)
        if combine is not None:
            kind, current = self.operand.node.type, Value.of(getitem(graph, plain, items))
            updates = apply(self.lowering, combine.opcode, kind, (current, updates), current.shape, {})
        if all(item == FULL for item in items):
            return updates
        values = self._values(order) if combine is None else self.lowering.strong(materialise(graph, updates))
        return Value.of(graph.add("setitem", (plain, values), index=items))

    def _rows(self, combine: Ufunc | None) -> Value | None:
        """Return ``x[i, j] = y``, of single elements or of whole dimensions that are not indexed; or None."""
        lowering, graph = self.lowering, self.lowering.graph
        shape = self.operand.shape
        if any(size != (1 if d in self.points else shape[d]) for d, size in enumerate(self.window)):
            return None
        if not self.points or 0 in shape:
            return None
        indexed = list(self.points)
        rest = [d for d in range(len(shape)) if d not in self.points]
        batch = [k for k, d in enumerate(self.batch) if self.updates.shape[d] != 1]
        if not set(batch) <= {
            k for value in self.points.values() for k, axis in enumerate(value.axes) if axis is not None
        }:
            return None  # all windows along a dimension have the same position
        need = [k for k in common_order(list(self.points.values())) if k in batch]
        index = [arranged(graph, value, need) for value in self.points.values()]
        order = [*(self.batch[k] for k in need), *(place for d in rest if (place := self.window_places[d]) is not None)]
        values = self._values(order)
        if not values.is_literal:  # add unit dimensions that the updates lack
            missing = [FULL if self.window_places[d] is not None else NEW for d in rest]
            values = getitem(graph, values, [FULL] * len(need) + missing)
        all_fit = all(fits(lowering, node, shape[d] - 1) for d, node in zip(indexed, index, strict=True))
        node = permute(graph, lowering.plain(self.operand), [*indexed, *rest])
        slots = tuple(Slot(2 + k) for k in range(len(index)))
        if all_fit:
            index = [*map(untyped, index)]
            if combine is not None and values.ndim == len(shape) == 1:  # of fewer axes, np.add.at reads past their end
                values = getitem(graph, values, [NEW] * (index[0].ndim - 1) + [FULL])
            opcode = "setitem" if combine is None else "update_at"
            extra: dict[str, Any] = {} if combine is None else {"ufunc": combine}
            made = graph.add(opcode, (node, values, *index), index=slots, **extra)
        else:
            strong = tuple(lowering.strong(part) for part in (node, values, *index))
            where: Any = slots if len(slots) > 1 else slots[0]
            arguments = (Slot(0), where, Slot(1)) + (() if combine is None else (combine,))
            made = prelude_call(graph, "scatter_at", strong, arguments)
        placed = [*indexed, *rest]
        return Value(made, tuple(placed.index(d) for d in range(len(shape))), shape)

    def _rows_of_part(self, combine: Ufunc | None) -> Value | None:
        """Return ``x[:, 1:3][i] = y``, rows of a part of the operand with constant starts along other dimensions; or
        None.
        """
        lowering, shape = self.lowering, self.operand.shape
        starts = {d: known(value) for d, value in self.points.items() if self.window[d] > 1}
        ends = {d: start + self.window[d] for d, start in starts.items() if start is not None and start >= 0}
        if not starts or len(ends) < len(starts) or any(end > shape[d] for d, end in ends.items()):
            return None
        cut = tuple(SliceDimension(starts.get(d) or 0, ends.get(d, size)) for d, size in enumerate(shape))
        points = {d: value for d, value in self.points.items() if d not in starts}
        part = replace(self, operand=sliced(lowering, self.operand, cut), points=points)
        rows = part._rows(combine)
        if rows is None or rows.shape == shape:
            return rows
        places = {d: lowering.graph.integer(each.start) for d, each in enumerate(cut) if rows.shape[d] != shape[d]}
        return updated(lowering, lowering.plain(self.operand), rows, places)

    def _updates(self, order: Sequence[int]) -> Value:
        """Return the updates with these dimensions; the others have size 1."""
        left = [d for d in range(len(self.updates.shape)) if d in order]
        dropped = [d for d in range(len(self.updates.shape)) if d not in order]
        core = without_dimensions(self.lowering.graph, self.updates, dropped)
        turned = [left.index(d) for d in order]
        return Value(core.node, tuple(core.axes[k] for k in turned), tuple(core.shape[k] for k in turned))

    def _values(self, order: Sequence[int]) -> Node:
        """Return the node of the updates with these dimensions, without leading axes that broadcasting adds."""
        value = self._updates(order)
        if value.node.is_literal:
            return value.node
        return self.lowering.strong(arranged(self.lowering.graph, value, range(len(order))))


def _range(point: Value) -> tuple[range, int | None] | None:
    """Return the positions of a point and their axis, or None if they are not a range."""
    fixed = known(point)
    if fixed is not None:
        return range(fixed, fixed + 1), None
    axes = [k for k, axis in enumerate(point.axes) if axis is not None]
    places = _counted(point.node) if len(axes) == 1 and point.node.ndim == 1 else None
    return (places, axes[0]) if places else None


def _counted(node: Node) -> range | None:
    """Return the integers of a row that is affine in ``np.arange``, if they increase; or None."""
    if node.opcode == "arange":
        return range(node.parameters["stop"])
    if node.opcode not in ("add", "multiply") or not node.type.is_integral or node.interval is None:
        return None
    numbers = [integer_value(operand) for operand in node.operands]
    rows = [_counted(operand) for operand in node.operands]
    number = next((number for number in numbers if number is not None), None)
    row = next((row for row in rows if row is not None), None)
    if number is None or row is None:
        return None
    if node.opcode == "add":
        return range(row.start + number, row.stop + number, row.step)
    return range(row.start * number, row.stop * number, row.step * number) if number > 0 else None


def _item(places: range, size: int) -> Any:
    """Return the index of positions along an axis that the indexed part keeps."""
    if places == range(size):
        return FULL
    return places.start or None, None if places.stop >= size else places.stop, None if places.step == 1 else places.step
