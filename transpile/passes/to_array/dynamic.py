"""Dimensions whose size is known only at run time.

The array has the bound's shape; its size is a separate value. Elements beyond the size are replaced by the identity
before they could be combined, as in XLA's dynamic padder. A result is cropped to its size when it leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any, Protocol

from ...array.graph import Graph
from ...array.node import Node, Slot
from ...array.value import Value
from ...hlo.element_types import PRED, S32, ElementType
from ...hlo.ir import Instruction
from ...hlo.opcodes import OPCODES
from ...hlo.shapes import UNBOUNDED, ArrayShape
from ...hlo.source import Diagnostic, UnsupportedError

Sizes = tuple[tuple[int, Node], ...]
Lowered = Any  # Value | tuple[Lowered, ...] | None (a token)
Rule = Callable[..., Lowered]


class Lowering(Protocol):
    """The lowering of a function, as far as the rules for dynamic sizes use it."""

    graph: Graph

    def plain(self, value: Value) -> Node: ...
    def call(self, function: str, operands: tuple[Node, ...], *, arguments: tuple[Any, ...] | None = None) -> Value: ...
    def elementwise(
        self,
        opcode: str,
        element_type: ElementType,
        *operands: Value,
        shape: tuple[int, ...] | None = None,
        **parameters: Any,
    ) -> Value: ...


def dynamic_rule(rule: Rule, lowering: Lowering, instruction: Instruction, operands: list[Lowered]) -> Lowered:
    """Apply a rule to operands of which some have dynamic sizes; the result gets its sizes."""
    opcode = instruction.opcode
    if opcode in _PASS_THROUGH:
        return rule(lowering, instruction, *operands)
    values = [operand for operand in operands if isinstance(operand, Value)]
    if opcode in _IN_FULL:
        return _in_full(rule, lowering, instruction, values)
    if opcode == "concatenate":
        return _concatenated(rule, lowering, instruction, values)
    sizes = _result_sizes(lowering, instruction, values)
    masked = [_masked(lowering, instruction, k, values) for k in range(len(values))]
    result = rule(lowering, instruction, *masked)
    if isinstance(result, Value):
        return replace(result, sizes=sizes)
    return tuple(replace(part, sizes=sizes) for part in result)


# Rules that handle operands with sizes themselves.
_PASS_THROUGH = frozenset(
    "tuple copy opt-barrier get-dimension-size set-dimension-size dynamic-reshape dynamic-update-slice outfeed call "
    "fusion custom-call".split()
)
# Operations on the cropped array, whose results are extended to the bound again.
_IN_FULL = frozenset(("sort", "reverse"))


def _in_full(rule: Rule, lowering: Lowering, instruction: Instruction, values: list[Value]) -> Lowered:
    sizes = values[0].sizes
    parts = [Value.of(cropped(lowering, value)) for value in values]
    results = rule(lowering, instruction, *parts)
    several = results if isinstance(results, tuple) else (results,)
    whole = tuple(
        replace(lowering.call("extend", (lowering.plain(r),), arguments=(Slot(0), v.shape)), sizes=sizes)
        for r, v in zip(several, values, strict=True)
    )
    return whole if isinstance(results, tuple) else whole[0]


def _concatenated(rule: Rule, lowering: Lowering, instruction: Instruction, values: list[Value]) -> Value:
    """Return the concatenation of cropped operands; along the dimension, sizes are added."""
    (dimension,) = instruction["dimensions"]
    sizes = {d: size for value in values for d, size in value.sizes if d != dimension}
    along = [tuple(size for size in value.sizes if size[0] == dimension) for value in values]
    parts = [replace(value, sizes=()) for value in values]
    if not any(along):
        joined: Value = rule(lowering, instruction, *parts)
        return replace(joined, sizes=tuple(sizes.items()))
    shown = [replace(part, sizes=own) for part, own in zip(parts, along, strict=True)]
    joined = rule(lowering, instruction, *(Value.of(cropped(lowering, part)) for part in shown))
    bound = instruction.array_shape.dimensions
    whole = lowering.call("extend", (lowering.plain(joined),), arguments=(Slot(0), bound))
    counts = (
        Value.of(own[0][1]) if own else _number(lowering, part.shape[dimension])
        for part, own in zip(parts, along, strict=True)
    )
    sizes[dimension] = reduce(lambda one, other: lowering.elementwise("add", S32, one, other, shape=()), counts).node
    return replace(whole, sizes=tuple(sizes.items()))


def _number(lowering: Lowering, value: int) -> Value:
    return Value.of(lowering.graph.literal(value, S32))


def _windows_in(lowering: Lowering, instruction: Instruction, dimension: int, size: Node) -> Node:
    """Return the number of windows that fit in a size. XLA does not count the padding."""
    part = instruction["window"][dimension]
    length = (part.size - 1) * part.window_dilation + 1
    count = Value.of(size)
    if spare := length - part.stride:
        opcode = "subtract" if spare > 0 else "add"
        count = lowering.elementwise(opcode, S32, count, _number(lowering, abs(spare)), shape=())
    if part.stride != 1:
        count = lowering.elementwise(
            "prelude", S32, count, _number(lowering, part.stride), shape=(), function="int_divide"
        )
    return count.node


def _result_sizes(lowering: Lowering, instruction: Instruction, values: list[Value]) -> Sizes:
    """Return the sizes of the result's dimensions. Raises UnsupportedError XP306 if the operation has no rule
    for them.
    """
    if OPCODES[instruction.opcode].is_elementwise:
        return tuple({d: size for value in values for d, size in value.sizes}.items())
    rule = _RESULT_DIMENSIONS.get(instruction.opcode)
    found: dict[int, Node] = {}
    for k, value in enumerate(values):
        for d, size in value.sizes:
            place = rule(instruction, k, d) if rule is not None else None
            if place is None:
                message = f"{instruction.opcode} with a size known at run time only, in dimension {d} of operand {k}"
                raise UnsupportedError(Diagnostic("XP306", f"{message}, is not supported", instruction.span))
            if place >= 0:
                is_window = instruction.opcode == "reduce-window"
                found[place] = _windows_in(lowering, instruction, d, size) if is_window else size
    return tuple(found.items())


def _reduced(instruction: Instruction, operand: int, dimension: int) -> int | None:
    gone = instruction["dimensions"]
    return -1 if dimension in gone else dimension - sum(d < dimension for d in gone)


def _dotted(instruction: Instruction, operand: int, dimension: int) -> int | None:
    sides = [
        (list(instruction[f"{side}_batch_dims"]), list(instruction[f"{side}_contracting_dims"]))
        for side in ("lhs", "rhs")
    ]
    batch, contracting = sides[operand]
    if dimension in contracting:
        return -1
    if dimension in batch:
        return batch.index(dimension)
    ranks = [shape.array_shape.rank for shape in instruction.operands[:2]]
    free = [d for d in range(ranks[operand]) if d not in (*batch, *contracting)]
    before = len(batch) + (ranks[0] - len(sides[0][0]) - len(sides[0][1]) if operand else 0)
    return before + free.index(dimension)


def _reshaped(instruction: Instruction, operand: int, dimension: int) -> int | None:
    """Return the new position of a dimension for a reshape that only adds or removes unit dimensions; else None."""
    old, new = instruction.operands[0].array_shape.dimensions, instruction.array_shape.dimensions
    kept, wanted = [d for d, n in enumerate(old) if n != 1], [d for d, n in enumerate(new) if n != 1]
    same = [old[d] for d in kept] == [new[d] for d in wanted]
    return wanted[kept.index(dimension)] if same and dimension in kept else None


# opcode: (instruction, operand, its dimension) -> the result's dimension, -1 if it is reduced, None if unknown.
_RESULT_DIMENSIONS: dict[str, Callable[[Instruction, int, int], int | None]] = {
    "transpose": lambda instruction, operand, d: instruction["dimensions"].index(d),
    "broadcast": lambda instruction, operand, d: instruction["dimensions"][d],
    "reduce": _reduced,
    "dot": _dotted,
    "reshape": _reshaped,
    "reduce-window": lambda instruction, operand, d: d,
    "slice": lambda instruction, operand, d: (
        d if instruction["slice"][d].limit == instruction.operands[0].array_shape.dimensions[d] else None
    ),
    "map": lambda instruction, operand, d: d,
}


def _masked(lowering: Lowering, instruction: Instruction, operand: int, values: list[Value]) -> Value:
    """Return an operand whose elements beyond its sizes are replaced by the identity."""
    value = values[operand]
    plain = replace(value, sizes=())
    if instruction.opcode in ("reduce", "reduce-window"):
        is_window = instruction.opcode == "reduce-window"
        mixed: Any = range(len(value.shape)) if is_window else instruction["dimensions"]
        filling = values[operand + len(values) // 2] if operand < len(values) // 2 else None
    elif instruction.opcode == "dot":
        mixed = instruction["lhs_contracting_dims" if operand == 0 else "rhs_contracting_dims"]
        filling = Value.of(lowering.graph.literal(0, value.node.type))
    else:
        return plain
    for dimension, size in value.sizes:
        if dimension in mixed and filling is not None:
            within = inside(lowering, value.shape, dimension, size)
            fill = Value.repeated(filling.node, value.shape)
            plain = lowering.elementwise("select", value.node.type, within, plain, fill, shape=value.shape)
    return plain


def inside(lowering: Lowering, shape: tuple[int, ...], dimension: int, size: Node) -> Value:
    """Return the mask of the elements that lie within a size."""
    n = shape[dimension]
    node = lowering.graph.add("arange", (), element_type=S32, interval=(0, max(n - 1, 0)), stop=n)
    axes = tuple(0 if d == dimension else None for d in range(len(shape)))
    bound = Value.repeated(size, shape)
    return lowering.elementwise("compare", PRED, Value(node, axes, shape), bound, shape=shape, direction="LT")


def cropped(lowering: Lowering, value: Value) -> Node:
    """Return an array cropped to its sizes, as a node; the array itself if its shape is static."""
    node = lowering.plain(value)
    if not value.sizes:
        return node
    sizes = dict(value.sizes)
    operands = (node, *sizes.values())
    slots = {d: Slot(1 + k) for k, d in enumerate(sizes)}
    arguments = (Slot(0), tuple(slots.get(d) for d in range(len(value.shape))))
    return lowering.call("crop", operands, arguments=arguments).node


def extended(lowering: Lowering, node: Node, shape: ArrayShape) -> Value:
    """Return an argument of the function with its sizes, in an array of the bound's shape. Raises UnsupportedError
    XP306 if a size has no bound.
    """
    if UNBOUNDED in shape.dimensions:
        raise UnsupportedError(Diagnostic("XP306", f"{shape} has a size without a bound"))
    sizes = []
    for d, is_dynamic in enumerate(shape.dynamic):
        if is_dynamic:
            size = lowering.graph.add("axis_size", (node,), interval=(0, shape.dimensions[d]), axis=d)
            sizes.append((d, size))
    whole = lowering.call("extend", (node,), arguments=(Slot(0), shape.dimensions))
    return replace(whole, sizes=tuple(sizes))
