"""Lowers ``dot`` to ``@`` if possible, else to ``matmul`` of transposed views, ``tensordot``, or ``einsum``."""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import Any

from ...array.node import Node, Slot
from ...array.value import Value, materialise, permute, without_dimensions
from ...dataclass import dataclass
from ...hlo.element_types import F32, ElementType
from ...hlo.ir import Instruction
from ...hlo.shape_rules.common import Operation, wider
from ...hlo.shape_rules.contractions import scaled_dot_order
from .elementwise import accumulated_type, converted
from .lowering import TF32, FunctionLowering, lowers


@dataclass(slots=True)
class _Side:
    """An operand: its value, and the numbers of its dimensions by role."""

    value: Value
    batch: list[int]
    contracting: list[int]

    @property
    def free(self) -> list[int]:
        used = {*self.batch, *self.contracting}
        return [d for d in range(len(self.value.shape)) if d not in used]


@lowers("dot")
def dot(lowering: FunctionLowering, instruction: Instruction, lhs: Value, rhs: Value) -> Value:
    names = ("lhs_batch_dims", "lhs_contracting_dims", "rhs_batch_dims", "rhs_contracting_dims")
    batch_left, contracting_left, batch_right, contracting_right = (list(instruction[name]) for name in names)
    left, right = _Side(lhs, batch_left, contracting_left), _Side(rhs, batch_right, contracting_right)
    shape = instruction.array_shape
    precision = {"precision": TF32} if is_in_tf32(lowering, instruction) else {}
    result = _contracted(lowering, left, right, shape.element_type, precision)
    return Value(result.node, result.axes, shape.dimensions)


def is_in_tf32(lowering: FunctionLowering, instruction: Instruction) -> bool:
    """Return whether a product of float32 is computed in TF32: the user allows it, and HLO asks only for default
    precision.
    """
    arrays = (instruction, *instruction.operands)
    algorithm = instruction.attributes.get("algorithm")
    is_default = set(instruction["operand_precision"]) <= {"default"} and algorithm in (None, "dot_tf32_tf32_f32")
    is_float32 = all(array.array_shape.element_type is F32 for array in arrays)
    return lowering.module.options.precision == TF32 and is_default and is_float32


def _contracted(
    lowering: FunctionLowering, left: _Side, right: _Side, element_type: ElementType, precision: dict[str, Any]
) -> Value:
    """Return the contraction of two sides; the dimensions of the result are batch, left free, right free.

    Sums of floats become integers, and complex sums real numbers, at the end.
    """
    computed = reduce(wider, filter(None, (left.value.node.element_type, right.value.node.element_type)), element_type)
    accumulator = accumulated_type(computed)
    in_bytes = computed.is_integral and _are_many(lowering, _products(left, right))
    if not in_bytes:
        left.value = converted(lowering, left.value, accumulator)
        right.value = converted(lowering, right.value, accumulator)
    sizes = [left.value.shape[d] for d in left.batch]
    sizes += [left.value.shape[d] for d in left.free] + [right.value.shape[d] for d in right.free]
    _drop_units(lowering, left, right)
    for side in (left, right):
        if side.value.node.is_literal or any(side.value.repeats(d) for d in side.contracting):
            side.value = Value.of(materialise(lowering.graph, side.value))
    result = _product(lowering, left, right, tuple(sizes), accumulator, precision)
    return converted(lowering, converted(lowering, result, computed), element_type)


_MANY = 1 << 18  # integer products from which on NumPy's loops are too slow


def _are_many(lowering: FunctionLowering, products: int) -> bool:
    """Return whether there are, or with free sizes may be, so many integer products that they are computed in
    floats.
    """
    return products >= _MANY or bool(lowering.module.module.free_sizes)


def _products(left: _Side, right: _Side) -> int:
    """Return the number of multiplications of the contraction."""
    return prod(left.value.shape) * prod(right.value.shape[d] for d in right.free)


def _matmul(
    lowering: FunctionLowering,
    a: Node,
    b: Node,
    shape: tuple[int, ...],
    element_type: ElementType,
    precision: dict[str, Any],
) -> Node:
    """Return ``a @ b``; many integer products are computed exactly in floats, for which there are fast libraries."""
    if a.element_type is element_type and not element_type.is_integral:
        return lowering.graph.add("matmul", (a, b), **precision)
    are_few = not _are_many(lowering, prod(shape) * a.shape[-1])
    if a.element_type is element_type and b.element_type is element_type and are_few:
        return lowering.graph.add("matmul", (a, b))
    if a.ndim > 1 and b.ndim > 1:
        return lowering.call("matmul", (a, b), arguments=(Slot(0), Slot(1), element_type)).node
    wide = [converted(lowering, Value.of(node), element_type).node for node in (a, b)]
    return lowering.graph.add("matmul", (wide[0], wide[1]))


def _drop_units(lowering: FunctionLowering, left: _Side, right: _Side) -> None:
    """Drop contracting dimensions of size 1."""
    units = [k for k, d in enumerate(left.contracting) if left.value.shape[d] == 1]
    if not units:
        return
    for side in (left, right):
        gone = [side.contracting[k] for k in units]
        kept = [d for d in range(len(side.value.shape)) if d not in gone]
        side.value = without_dimensions(lowering.graph, side.value, gone)
        side.batch = [kept.index(d) for d in side.batch]
        side.contracting = [kept.index(d) for k, d in enumerate(side.contracting) if k not in units]


def _product(
    lowering: FunctionLowering,
    left: _Side,
    right: _Side,
    sizes: tuple[int, ...],
    element_type: ElementType,
    precision: dict[str, Any],
) -> Value:
    """Return the product in the best form. Dimensions that a side only repeats do not reach NumPy."""
    batch_count = len(left.batch)
    left_result = {d: k for k, d in enumerate([*left.batch, *left.free])}
    right_result = dict(zip(right.batch, range(batch_count), strict=True))
    right_result |= {d: batch_count + len(left.free) + k for k, d in enumerate(right.free)}
    if not left.contracting:
        return _outer(lowering, left, right, left_result, right_result, sizes, element_type)
    # One letter for each result dimension and each contracted pair, as in einsum.
    letters_left = _letters(left, left_result)
    letters_right = _letters(right, right_result)
    batch = [k for k in letters_left if k >= 0 and k in letters_right]
    contracted = [k for k in letters_left if k < 0]
    left_free = [k for k in letters_left if k >= 0 and k not in batch]
    right_free = [k for k in letters_right if k >= 0 and k not in batch]
    left_node, right_node = left.value.node, right.value.node
    graph = lowering.graph
    if not (len(contracted) == 1 and len(left_free) == len(right_free) == 1):
        left_node = converted(lowering, Value.of(left_node), element_type).node
        right_node = converted(lowering, Value.of(right_node), element_type).node
    order = [*batch, *left_free, *right_free]
    shape = tuple(sizes[k] for k in order)

    def arranged(node: Node, letters: list[int], wanted: list[int]) -> Node:
        return permute(graph, node, [letters.index(k) for k in wanted])

    if (
        len(contracted) == 1
        and not batch
        and len(right_free) <= 1
        and (letters_left[-1] == contracted[0] or len(left_free) <= 1)
    ):
        a = arranged(left_node, letters_left, [*left_free, *contracted])
        b = arranged(right_node, letters_right, [*contracted, *right_free])
        node = _matmul(lowering, a, b, shape, element_type, precision)
    elif not batch:
        axes = (tuple(letters_left.index(k) for k in contracted), tuple(letters_right.index(k) for k in contracted))
        node = graph.add("tensordot", (left_node, right_node), axes=axes, **precision)
    elif len(contracted) == 1 and len(left_free) == 1 and len(right_free) == 1:
        a = arranged(left_node, letters_left, [*batch, *left_free, *contracted])
        b = arranged(right_node, letters_right, [*batch, *contracted, *right_free])
        node = _matmul(lowering, a, b, shape, element_type, precision)
    else:
        names = {k: "abcdefghijklmnopqrstuvwxyz"[i] for i, k in enumerate([*order, *contracted])}
        left_text, right_text, text = ("".join(names[k] for k in part) for part in (letters_left, letters_right, order))
        subscripts = f"{left_text},{right_text}->{text}"
        node = graph.add("einsum", (left_node, right_node), subscripts=subscripts, **precision)
    axes_of_result = tuple(order.index(k) if k in order else None for k in range(len(sizes)))
    return Value(node, axes_of_result, sizes)


def _letters(side: _Side, result: dict[int, int]) -> list[int]:
    """Return for each axis of the node its result dimension, or -1 - k for the k-th contracted pair."""
    letters = [0] * side.value.node.ndim
    for d, axis in enumerate(side.value.axes):
        if axis is not None:
            letters[axis] = result[d] if d in result else -1 - side.contracting.index(d)
    return letters


def _outer(
    lowering: FunctionLowering,
    left: _Side,
    right: _Side,
    left_result: dict[int, int],
    right_result: dict[int, int],
    sizes: tuple[int, ...],
    element_type: ElementType,
) -> Value:
    """Return the contraction without contracted dimensions: an element-wise product of broadcast operands."""
    values = []
    for side, result in ((left, left_result), (right, right_result)):
        side.value = converted(lowering, side.value, element_type)
        axes: list[int | None] = [None] * len(sizes)
        for d, axis in enumerate(side.value.axes):
            axes[result[d]] = axis
        values.append(Value(side.value.node, tuple(axes), sizes))
    return lowering.elementwise("multiply", element_type, *values, shape=sizes)


def _numbers(instruction: Instruction) -> dict[str, Any]:
    """Return the dimension numbers as the prelude takes them, without defaults."""
    contracting = (instruction["lhs_contracting_dims"], instruction["rhs_contracting_dims"])
    batch = (instruction["lhs_batch_dims"], instruction["rhs_batch_dims"])
    return {"contracting": contracting} | ({"batch": batch} if any(batch) else {})


@lowers("ragged-dot")
def ragged_dot(lowering: FunctionLowering, instruction: Instruction, lhs: Value, rhs: Value, sizes: Value) -> Value:
    """Lower a product of groups of consecutive positions along a dimension of the left operand, each with its right
    operand.
    """
    shape = instruction.array_shape
    (ragged_axis,) = instruction["lhs_ragged_dims"]
    group_dims = instruction["rhs_group_dims"]
    keywords = {"ragged_axis": ragged_axis} | ({"group_axis": group_dims[0]} if group_dims else {})
    nodes = (lowering.plain(lhs), lowering.plain(rhs), lowering.plain(sizes))
    return lowering.call("ragged_dot", nodes, **keywords, **_numbers(instruction), dtype=shape.element_type)


@lowers("scaled-dot")
def scaled_dot(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Value:
    """Lower a dot of operands with a scale for each block."""
    shape = instruction.array_shape
    shapes = tuple(operand.shape for operand in instruction.operands)
    order = scaled_dot_order(Operation(instruction.opcode, shapes, instruction.attributes))
    nodes = tuple(lowering.plain(operands[index]) for index in order)
    return lowering.call("scaled_dot", nodes, **_numbers(instruction), dtype=shape.element_type)
