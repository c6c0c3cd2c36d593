"""Shape rules of the operations between replicas and partitions, and of infeed, outfeed, send and recv."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..device_groups import Named, named_by
from ..element_types import U32
from ..shapes import TOKEN, ArrayShape, Shape, TupleShape, compatible
from .common import (
    Operation,
    Rule,
    array_of,
    dynamic_flags,
    one_or_tuple,
    refuse,
    require_dimension,
    require_reducer,
    require_same_sizes,
    require_same_type,
    scalar,
    shape_text,
    signature,
    sizes_text,
)
from .control import require_token, tuple_operand

_EQUAL_GROUPS = frozenset({"all-gather", "all-gather-start", "reduce-scatter", "all-to-all", "ragged-all-to-all"})


def _named(op: Operation) -> Named:
    """Return the meaning of the ids of replica groups; a count of 1 also means that it is unknown."""
    return named_by(op.opcode, op.attributes, op.replica_count, op.num_partitions)


def _groups(op: Operation) -> tuple[tuple[int, ...], ...]:
    """Return the replica groups after checks; empty means one group of all."""
    attribute = op["replica_groups"]
    groups: tuple[tuple[int, ...], ...] = attribute.groups if attribute is not None else ()
    if op["use_global_device_ids"]:
        if op["channel_id"] is None:
            op.refuse("XP220", "use_global_device_ids needs a channel_id")
        if not groups:
            op.refuse("XP220", "with use_global_device_ids the replica groups have to be written out")
    if not groups:
        return ()
    if any(not group for group in groups) and op.opcode != "collective-broadcast":
        op.refuse("XP220", "a replica group is empty")
    noun, expected = _named(op)
    counts = Counter(number for group in groups for number in group)
    for number, count in counts.items():
        if count > 1:
            op.refuse("XP220", f"{noun} {number} is in the replica groups {count} times")
    if op.opcode != "collective-broadcast":
        missing = next((i for i in range(len(counts)) if i not in counts), None)
        if missing is not None:
            op.refuse("XP220", f"{noun} {missing} is in none of the replica groups")
        if expected != 1 and len(counts) != expected:
            op.refuse("XP220", f"the replica groups name {len(counts)} {noun}s of {expected}")
    if op.opcode in _EQUAL_GROUPS and len({len(group) for group in groups}) > 1:
        op.refuse("XP220", f"the replica groups have to be of equal size: {[len(group) for group in groups]}")
    return groups


def _group_size(op: Operation) -> int | None:
    """Return the number of devices that exchange data; ``None`` if neither groups nor module specify it."""
    groups = _groups(op)
    noun, count = _named(op)
    size = len(groups[0]) if groups else count
    if noun == "replica" and op["channel_id"] is not None:
        size *= op.num_partitions
    return size if groups or size != 1 else None


def _reduced(op: Operation, arrays: Sequence[ArrayShape]) -> None:
    """Check that the computation reduces one element type; XLA applies it to every operand separately."""
    element_type = require_same_type(op, arrays)
    require_reducer(op, signature(op["to_apply"]), [element_type], [scalar(element_type)], any_float_width=True)


def _all_reduce(op: Operation) -> Shape:
    arrays = op.arrays()
    _reduced(op, arrays)
    _groups(op)
    if op["channel_id"] is not None and op["channel_id"] < 1:
        op.refuse("XP218", f"channel_id has to be positive, not {op['channel_id']}")
    return one_or_tuple([array.without_layout() for array in arrays])


def _dimension(op: Operation, arrays: Sequence[ArrayShape]) -> int:
    if len(op["dimensions"]) != 1:
        refuse("XP215", f"{op.opcode} works along one dimension, not {sizes_text(op['dimensions'])}")
    dimension: int = op["dimensions"][0]
    for array in arrays:
        require_dimension(op, dimension, array.rank, "dimension")
    return dimension


def _scaled(array: ArrayShape, dimension: int, size: int) -> ArrayShape:
    sizes = (size if d == dimension else n for d, n in enumerate(array.dimensions))
    return array_of(array.element_type, sizes, dynamic_flags(array))


def _declared_size(op: Operation, dimension: int, *, nested: bool = False) -> int | None:
    """Return the first result's declared size along a dimension, or None; ``nested`` reads a -start's ``(operands,
    results)``.
    """
    shape = op.declared
    if nested:
        shape = shape.elements[1] if isinstance(shape, TupleShape) and len(shape.elements) > 1 else None
    if isinstance(shape, TupleShape):
        shape = shape.elements[0] if shape.elements else None
    known = isinstance(shape, ArrayShape) and dimension < shape.rank
    return shape.dimensions[dimension] if isinstance(shape, ArrayShape) and known else None


def _gathered(op: Operation, *, nested: bool = False) -> Shape | None:
    arrays = op.arrays()
    dimension, count = _dimension(op, arrays), _group_size(op)
    if count is None:
        declared, size = _declared_size(op, dimension, nested=nested), arrays[0].dimensions[dimension]
        if declared is None:
            return None
        if size and declared % size:
            op.refuse("XP213", f"{size} elements cannot be gathered to {declared}")
        count = declared // size if size else 1
    return one_or_tuple([_scaled(array, dimension, array.dimensions[dimension] * count) for array in arrays])


def _all_gather_start(op: Operation) -> Shape | None:
    result = _gathered(op, nested=True)
    return None if result is None else TupleShape((one_or_tuple(op.operands), result))


def _reduce_scatter(op: Operation) -> Shape | None:
    arrays = op.arrays()
    _reduced(op, arrays)
    dimension, count = _dimension(op, arrays), _group_size(op)
    if count is None:
        declared, size = _declared_size(op, dimension), arrays[0].dimensions[dimension]
        if declared is None:
            return None
        count = size // declared if declared else 1
    for array in arrays:
        if array.dimensions[dimension] % max(count, 1):
            op.refuse(
                "XP213",
                f"the {array.dimensions[dimension]} elements of dimension {dimension} do not divide "
                f"into {count} shards",
            )
    return one_or_tuple([_scaled(array, dimension, array.dimensions[dimension] // max(count, 1)) for array in arrays])


def _all_to_all(op: Operation) -> Shape:
    arrays, count = op.arrays(), _group_size(op)
    require_same_type(op, arrays)
    require_same_sizes(op, arrays)
    if op["dimensions"] is None:
        if count is not None and len(arrays) != count:
            op.refuse("XP201", f"groups of {count} need as many operands, not {len(arrays)}")
        return TupleShape(tuple(array.without_layout() for array in arrays))
    dimension = _dimension(op, arrays)
    if len(arrays) != 1:
        refuse("XP201", f"{op.opcode} with dimensions takes one operand, not {len(arrays)}")
    if count is not None and arrays[0].dimensions[dimension] % count:
        op.refuse(
            "XP213",
            f"the {arrays[0].dimensions[dimension]} elements of dimension {dimension} do not divide "
            f"into {count} blocks",
        )
    return arrays[0].without_layout()


def _ragged_all_to_all(op: Operation) -> Shape:
    operand, output, *counts = op.arrays()
    _groups(op)
    require_same_type(op, (operand, output), "operand and output")
    if operand.rank < 1 or operand.dimensions[1:] != output.dimensions[1:]:
        op.refuse("XP213", f"{shape_text(operand)} and {shape_text(output)} may differ only in their first dimension")
    for vector in counts:
        if not vector.element_type.is_integral or vector.rank != 1:
            op.refuse("XP213", f"offsets and sizes have to be integer vectors, not {shape_text(vector)}")
    require_same_sizes(op, counts, "offsets and sizes")
    require_same_type(op, counts, "offsets and sizes")
    return output.without_layout()


def _collective_broadcast(op: Operation) -> Shape:
    _groups(op)
    return one_or_tuple([array.without_layout() for array in op.arrays()])


def _require_pairs(op: Operation, allowed: int = 1) -> None:
    """Refuse (XP221) a replica that sends or receives more often than ``allowed``, and one out of range."""
    noun, limit = _named(op)
    for side, name in ((0, "source"), (1, "target")):
        seen = Counter(pair[side] for pair in op["source_target_pairs"])
        for replica, count in seen.items():
            if replica < 0 or (limit != 1 and replica >= limit):
                op.refuse("XP221", f"{name} {replica} is not in [0, {limit}), the {noun}s")
            if count > allowed:
                op.refuse("XP221", f"{replica} is a {name} {count} times in the source_target_pairs")


def _collective_permute(op: Operation) -> Shape:
    if op["slice_sizes"] is not None:
        if len(op.operands) != 4:
            refuse(
                "XP201", f"{op.opcode} in place takes input, output and their offsets, not {len(op.operands)} operands"
            )
        offsets = op.operands[2]
        # Each replica sends as many slices as there are offsets.
        _require_pairs(op, len(offsets.elements) if isinstance(offsets, TupleShape) else 1)
        return op.operands[1]
    _require_pairs(op)
    return one_or_tuple([array.without_layout() for array in op.arrays()])


def _collective_permute_start(op: Operation) -> Shape:
    result = _collective_permute(op)
    source = op.operands[0] if op["slice_sizes"] is not None else one_or_tuple(op.operands)
    context: tuple[Shape, ...] = ()
    if isinstance(op.declared, TupleShape):
        context = op.declared.elements[2:]
        if not all(compatible(part, scalar(U32)) for part in context):
            op.refuse("XP204", f"the context has to be u32[] values, not {shape_text(op.declared)}")
    return TupleShape((source, result, *context))


def _second_element(op: Operation) -> Shape:
    return tuple_operand(op, 2).elements[1]


def _identifier(op: Operation) -> Shape:
    return scalar(U32)


def _send(op: Operation) -> Shape:
    require_token(op, 1)
    return TupleShape((op.operands[0], scalar(U32), TOKEN))


def _recv(op: Operation) -> Shape | None:
    require_token(op, 0)
    if op.declared is None:
        return None
    if not isinstance(op.declared, TupleShape) or not op.declared.elements:
        refuse("XP204", f"{op.opcode} gives (data, u32[], token[]), but is declared as {shape_text(op.declared)}")
    return TupleShape((op.declared.elements[0], scalar(U32), TOKEN))


def _infeed(op: Operation) -> Shape | None:
    require_token(op, 0)
    if op.declared is None:
        return None
    if not isinstance(op.declared, TupleShape) or len(op.declared.elements) != 2:
        refuse("XP204", f"{op.opcode} gives (data, token[]), but is declared as {shape_text(op.declared)}")
    data = op.declared.elements[0]
    if isinstance(data, TupleShape) and any(isinstance(part, TupleShape) for part in data.elements):
        op.refuse("XP213", f"nested tuples cannot be fed: {shape_text(data)}")
    return TupleShape((data, TOKEN))


def _outfeed(op: Operation) -> Shape:
    require_token(op, 1)
    declared = op["outfeed_shape"]
    if declared is not None and not compatible(declared, op.operands[0]):
        op.refuse("XP213", f"outfeed_shape {shape_text(declared)}, but the data is {shape_text(op.operands[0])}")
    return TOKEN


RULES: dict[str, Rule] = {
    "all-reduce": _all_reduce,
    "all-reduce-start": _all_reduce,
    "all-reduce-done": lambda op: op.operands[0],
    "all-gather": _gathered,
    "all-gather-start": _all_gather_start,
    "all-gather-done": _second_element,
    "reduce-scatter": _reduce_scatter,
    "all-to-all": _all_to_all,
    "ragged-all-to-all": _ragged_all_to_all,
    "collective-broadcast": _collective_broadcast,
    "collective-reduce": _all_reduce,
    "collective-permute": _collective_permute,
    "collective-permute-start": _collective_permute_start,
    "collective-permute-done": _second_element,
    "replica-id": _identifier,
    "partition-id": _identifier,
    "send": _send,
    "send-done": lambda op: TOKEN,
    "recv": _recv,
    "recv-done": lambda op: TupleShape((tuple_operand(op, 1).elements[0], TOKEN)),
    "infeed": _infeed,
    "outfeed": _outfeed,
}
