"""Operations that become other than one instruction: loops, branches, calls, reductions of several arrays, .."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..hlo.attributes import Raw
from ..hlo.ir import Computation, Instruction
from ..hlo.lexer import quote
from ..hlo.opcodes import OPCODES
from ..hlo.shapes import TOKEN, ArrayShape, Layout, Shape, TupleShape
from .attributes import integers
from .broadcasts import BROADCASTS
from .custom_calls import custom_call, written
from .expansions import NAMES
from .manual_computations import manual_computation, sharding_constraint
from .other_forms import dynamic_slice, einsum, index_select, infeed, outfeed
from .program import Operation, Value
from .rows import ROWS, AttributeValueError, channel, convolution, number, numbers, replica_groups
from .static_forms import STATIC_FORMS
from .translation import Rule, Translator, callee_name
from .writer import Writer, array_of


def operands_of(writer: Writer, operation: Operation) -> list[Instruction]:
    """The instructions that the operands are."""
    return [writer.values[value] for value in operation.operands]


def _plain(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    """An operation with a row, with its regions as the computations that it calls."""
    row = ROWS[operation.name]
    attributes = translator.read_attributes(operation)
    if operation.regions:
        attributes = {**attributes, **_called(translator, operation)}
    shape, operands = translator.result_shape(operation), operands_of(writer, operation)
    place = _LIES_AS.get(row.opcode, len(operands))
    if place < len(operands) and shape is not operands[place].shape:
        shape = _as_it_lies(shape, operands[place].shape)
    return writer.add(row.opcode, shape, operands, attributes)


_LIES_AS: dict[str, int] = {  # the operand whose layout the result has
    **{name: 0 for name, row in OPCODES.items() if row.is_elementwise},
    **dict.fromkeys(("all-reduce", "dynamic-update-slice", "reverse", "scatter", "set-dimension-size", "sort"), 0),
    "triangular-solve": 1,
}


def _as_it_lies(shape: Shape, given: Shape) -> Shape:
    """The shape of a result that lies as the operand does."""
    if not (isinstance(shape, ArrayShape) and isinstance(given, ArrayShape)):
        return shape
    is_alike = shape.dimensions == given.dimensions and shape.layout != given.layout
    return replace(shape, layout=given.layout) if is_alike else shape


def _sort(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    """Dimensions may be counted from the last."""
    dimension = operation.attributes.get("dimension", -1)
    rank = translator.array(operation.operands[0], operation.span).rank
    if isinstance(dimension, int) and -rank <= dimension < 0:
        operation = replace(operation, attributes={**operation.attributes, "dimension": dimension + rank})
    return _plain(translator, writer, operation)


def _called(translator: Translator, operation: Operation) -> dict[str, Computation]:
    names = ("select", "scatter") if operation.name == "stablehlo.select_and_scatter" else ("to_apply",)
    if len(operation.regions) != len(names):
        message = f"{operation.name} has {len(names)} regions, not {len(operation.regions)}"
        raise translator.error("XP111", message, operation.span)
    return {
        name: translator.reducer(region, operation.span) for name, region in zip(names, operation.regions, strict=True)
    }


def _constant(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    shape = translator.array(operation.results[0], operation.span)
    value = operation.attributes.get("value")
    if not isinstance(value, np.ndarray) or value.dtype != shape.element_type.dtype or value.shape != shape.dimensions:
        raise translator.error("XP131", f"the value of this constant is no literal of {shape}", operation.span)
    translator.constants[operation.results[0]] = value
    return writer.constant(value, shape)


def _iota(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    shape = translator.array(operation.results[0], operation.span)
    dimension = _read(translator, operation, number("iota_dimension", "dim", default=0))
    if not 0 <= dimension < max(shape.rank, 1):
        raise translator.error("XP123", f"there is no dimension {dimension}", operation.span)
    return writer.add("iota", shape, (), {"iota_dimension": dimension})


def _read(translator: Translator, operation: Operation, reader: Any) -> Any:
    try:
        return reader(operation.attributes)
    except AttributeValueError as error:
        raise translator.error("XP123", f"{operation.name}: {error}", operation.span) from None


def _broadcast(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    shape = translator.array(operation.results[0], operation.span)
    dimensions = _read(translator, operation, numbers("broadcast_dimensions", "dims"))
    operand = writer.values[operation.operands[0]]
    given = translator.array(operation.operands[0], operation.span)
    fits = len(dimensions) == given.rank == len(set(dimensions)) and all(
        0 <= d < shape.rank and given.dimensions[k] in (1, shape.dimensions[d]) for k, d in enumerate(dimensions)
    )
    if not fits or given.element_type is not shape.element_type:
        message = f"{given.without_layout()} cannot become {shape.without_layout()} along {list(dimensions)}"
        raise translator.error("XP123", message, operation.span)
    return writer.broadcast(operand, shape, dimensions)


def _transpose(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    """The result lies as the operand does."""
    attributes = translator.read_attributes(operation)
    shape, given = translator.array(operation.results[0], operation.span), operands_of(writer, operation)[0].array_shape
    order = attributes["dimensions"]
    if sorted(order) == list(range(given.rank)) and given.rank == shape.rank and shape.rank:
        minor = tuple(order.index(dimension) for dimension in given.layout_or_default.minor_to_major)
        shape = replace(shape, layout=Layout(minor))
    return writer.add("transpose", shape, operands_of(writer, operation), attributes)


def _clamp(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    """Bounds that are numbers are for all elements."""
    shape = translator.array(operation.results[0], operation.span)
    operands = [_spread(writer, each, shape) for each in operands_of(writer, operation)]
    return writer.add("clamp", _as_it_lies(shape, operands[1].shape), operands)


def _select(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    shape = translator.array(operation.results[0], operation.span)
    predicate, *others = operands_of(writer, operation)
    return writer.add("select", shape, [_spread(writer, predicate, shape), *others])


def _spread(writer: Writer, operand: Instruction, shape: ArrayShape) -> Instruction:
    own = operand.shape
    if not isinstance(own, ArrayShape) or own.rank or not shape.rank:
        return operand
    return writer.add("broadcast", array_of(own.element_type, shape.dimensions), (operand,), {"dimensions": ()})


# -- calls


def _call(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    name = callee_name(operation)
    if name is None:
        raise translator.error("XP122", f"{operation.name} names no function", operation.span)
    callee = translator.written[name]
    attributes: dict[str, Any] = {"to_apply": callee}
    if operation.name.endswith(".composite"):
        writer.metadata = None
        attributes |= _composite(operation)
    _require_results(translator, operation, callee)
    return writer.add("call", callee.root.shape, operands_of(writer, operation), attributes)


def _require_results(translator: Translator, operation: Operation, callee: Computation) -> None:
    """Raise where a computation gives another number of results than the operation has."""
    count = len(operation.results)
    given = len(callee.root.element_shapes) if count != 1 else 1
    if count != given or (count == 1 and isinstance(callee.root.shape, TupleShape) and not _is_tuple(operation)):
        message = f"{operation.name} has {count} results, but {quote(callee.name)} gives {callee.root.shape}"
        raise translator.error("XP141", message, operation.span)


def _is_tuple(operation: Operation) -> bool:
    return isinstance(operation.results[0].type, TupleShape)


def _composite(operation: Operation) -> dict[str, Any]:
    """What XLA keeps of a composite beside its decomposition."""
    words = operation.attributes.get("words", ("",))
    name = operation.attributes.get("name", words[0])
    version = operation.attributes.get("version", 0)
    listed = written(operation.attributes.get("composite_attributes", {}))
    text = f'composite.attributes={listed},composite.name="{name}",composite.version="{version}"'
    return {"is_composite": True, "frontend_attributes": Raw(f"{{{text}}}")}


def _while(translator: Translator, writer: Writer, operation: Operation) -> None:
    """What the regions see around them is carried, too."""
    condition, body = operation.regions
    captures = {region: translator.captures(region) for region in operation.regions}
    carried = [value for value in captures[condition] | captures[body] if value not in translator.constants]
    operands = [*operands_of(writer, operation), *(writer.values[value] for value in carried)]
    count = len(operands)
    shape = _joined(translator, operation, [*operation.operands, *carried])
    whole = operands[0] if count == 1 else writer.tuple(operands, is_marked=True)
    computations: dict[str, Computation] = {}
    for name, region in (("body", body), ("condition", condition)):
        inner = Writer(translator.names, {})
        _take_apart(inner, [*region.arguments, *carried], shape, "arg_tuple", operation)
        for value in captures[region]:
            if value in translator.constants:
                translator.repeat_constant(inner, value, operation.span)
        root = translator.body(inner, region, carried if name == "body" else ())
        if name == "body" and count == 0:
            root = inner.tuple(())
        computations[name] = inner.computation("region", root, region.span)
    attributes = {"condition": computations["condition"], "body": computations["body"]}
    made = writer.add("while", whole.shape, (whole,), attributes)
    results = [made] if count == 1 else writer.elements(made, len(operation.results))
    for value, result in zip(operation.results, results, strict=False):
        writer.values[value] = result


def _joined(translator: Translator, operation: Operation, values: Sequence[Value]) -> Shape:
    """The shape of a value, or of a tuple of several."""
    shapes = tuple([translator.shape(value.type, operation.span) for value in values])
    return shapes[0] if len(shapes) == 1 else TupleShape(shapes)


def _take_apart(writer: Writer, values: Sequence[Value], shape: Shape, stem: str, operation: Operation) -> None:
    """Begin a computation with a parameter that is a value, or a tuple of several."""
    whole = writer.parameter(0, shape, stem, None, operation.span)
    writer.span = operation.span
    parts = [whole] if len(values) == 1 else writer.elements(whole, len(values), is_marked=False)
    writer.values.update(zip(values, parts, strict=True))


def _conditional(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    """Each branch is given what it sees around it."""
    branches: list[Computation] = []
    given: list[Instruction] = []
    for region in operation.regions:
        outer = translator.captures(region)
        carried = [value for value in outer if value not in translator.constants]
        arguments = [writer.values[value] for value in carried]
        given.append(arguments[0] if len(arguments) == 1 else writer.tuple(arguments, is_marked=True))
        inner = Writer(translator.names, {})
        _take_apart(inner, carried, _joined(translator, operation, carried), "arg", operation)
        for value in outer:
            if value in translator.constants:
                translator.repeat_constant(inner, value, operation.span)
        root = translator.body(inner, region)
        branches.append(inner.computation("region", root, region.span))
    predicate = writer.values[operation.operands[0]]
    if operation.name.endswith(".if") and len(branches) == 2:
        attributes: dict[str, Any] = {"true_computation": branches[0], "false_computation": branches[1]}
    else:
        attributes = {"branch_computations": tuple(branches)}
    for branch in branches:
        _require_results(translator, operation, branch)
    return writer.add("conditional", branches[0].root.shape, (predicate, *given), attributes)


def _reduce(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    attributes = dict(translator.read_attributes(operation))
    if operation.regions:
        attributes |= _called(translator, operation)
    else:
        attributes["to_apply"] = _applied(translator, writer, operation)
    shape = translator.result_shape(operation)
    return writer.add("reduce", shape, operands_of(writer, operation), attributes)


def _applied(translator: Translator, writer: Writer, operation: Operation) -> Computation:
    """``applies stablehlo.add``: the computation of two numbers that a word stands for."""
    name = str(operation.attributes.get("applies", ""))
    row = ROWS.get(name)
    if row is None or row.attributes or not operation.operands:
        raise translator.error("XP110", f"there is no operation {quote(name)} of two numbers", operation.span)
    shape = ArrayShape(translator.array(operation.operands[0], operation.span).element_type, ())
    inner = Writer(translator.names, {})
    inner.span, inner.metadata = operation.span, writer.metadata
    own = writer.metadata.op_name if writer.metadata is not None else ""
    metadata = type(writer.metadata)(op_name=own) if own and writer.metadata is not None else None
    stem = own.rpartition("/")[2] or "Arg"
    pair = [inner.parameter(k, shape, stem, metadata, operation.span) for k in range(2)]
    root = inner.add(row.opcode, shape, pair)
    return inner.computation("region", root, operation.span)


def _summed(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    """``cross-replica-sum``: an ``all_reduce`` whose computation goes without saying."""
    plain = replace(operation, name="stablehlo.all_reduce", attributes={**operation.attributes, "applies": _ADD})
    attributes = {**translator.read_attributes(plain), "to_apply": _applied(translator, writer, plain)}
    shape = translator.result_shape(operation)
    return writer.add("all-reduce", shape, operands_of(writer, operation), attributes)


_ADD = "stablehlo.add"


def _barrier(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    operands = operands_of(writer, operation)
    whole = operands[0] if len(operands) == 1 else writer.tuple(operands, is_marked=True)
    return writer.add("opt-barrier", whole.shape, (whole,))


def _get_element(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    words = operation.attributes.get("words", ((0,),))
    index = operation.attributes.get("index")
    if index is None:
        listed = integers(words[0]) if words else None
        index = listed[0] if listed else 0
    shape = translator.result_shape(operation)
    return writer.add("get-tuple-element", shape, operands_of(writer, operation), {"index": index})


def _tuple(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    return writer.tuple(operands_of(writer, operation), is_marked=True)


def _convolution(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    kernel = translator.array(operation.operands[1], operation.span)
    attributes = _read(translator, operation, lambda own: convolution(own, kernel))
    shape = translator.result_shape(operation)
    return writer.add("convolution", shape, operands_of(writer, operation), attributes)


def _rng(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    attributes = translator.read_attributes(operation)
    shape = translator.result_shape(operation)
    return writer.add("rng", shape, operands_of(writer, operation)[:2], attributes)


def _first_operand_only(translator: Translator, writer: Writer, operation: Operation) -> None:
    """What gives its operand as it is."""
    for value, operand in zip(operation.results, operation.operands, strict=False):
        writer.values[value] = writer.values[operand]


def _left(translator: Translator, writer: Writer, operation: Operation) -> None:
    """Refuse an operation that has no expansion for its element type."""
    type_ = translator.array(operation.operands[0], operation.span).element_type
    raise translator.error("XP110", f"`{operation.name}` takes no {type_}", operation.span)


def _token(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    return writer.add("after-all", TOKEN)


def _dynamic(translator: Translator, writer: Writer, operation: Operation) -> None:
    """What nothing made static."""
    message = f"{quote(operation.name)} is read where the sizes and positions that it takes are constants"
    raise translator.error("XP110", message, operation.span)


def _all_to_all(translator: Translator, writer: Writer, operation: Operation) -> None:
    """The parts of each operand along one dimension go to all devices; what comes back is joined along another."""
    if len(operation.operands) != len(operation.results):
        message = f"{operation.name} has as many results as operands"
        raise translator.error("XP111", message, operation.span)
    for operand, result in zip(operation.operands, operation.results, strict=True):
        writer.values[result] = _exchanged(translator, writer, operation, operand, result)


def _exchanged(
    translator: Translator, writer: Writer, operation: Operation, operand: Value, result: Value
) -> Instruction:
    """What a device has of one operand after the exchange."""
    split, join, count = (
        _read(translator, operation, number(key)) for key in ("split_dimension", "concat_dimension", "split_count")
    )
    given = translator.array(operand, operation.span)
    sizes = given.dimensions
    if not (0 <= split < given.rank and 0 <= join < given.rank and count > 0 and sizes[split] % count == 0):
        message = f"{given.without_layout()} cannot be split in {count} along {split} and joined along {join}"
        raise translator.error("XP123", message, operation.span)
    own = {"channel_id": channel(operation.attributes), "replica_groups": replica_groups(operation.attributes)}
    attributes = {**{key: value for key, value in own.items() if value is not None}, "dimensions": (split,)}
    made = writer.add("all-to-all", given, [writer.values[operand]], attributes)
    if split == join:
        return made
    apart = (*sizes[:split], count, sizes[split] // count, *sizes[split + 1 :])
    order = [d + (d >= split) for d in range(given.rank)]
    order.insert(join, split)
    made = writer.add("reshape", array_of(given.element_type, apart), (made,))
    moved = array_of(given.element_type, [apart[d] for d in order])
    moved = replace(moved, layout=Layout(tuple(order.index(d) for d in reversed(range(len(order))))))
    made = writer.add("transpose", moved, (made,), {"dimensions": tuple(order)})
    return writer.add("reshape", translator.array(result, operation.span), (made,))


RULES: dict[str, Rule] = {
    "*": _plain,
    "stablehlo.constant": _constant,
    "chlo.constant": _constant,
    "stablehlo.iota": _iota,
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.transpose": _transpose,
    "stablehlo.clamp": _clamp,
    "stablehlo.select": _select,
    "func.call": _call,
    "stablehlo.composite": _call,
    "stablehlo.while": _while,
    "stablehlo.if": _conditional,
    "stablehlo.case": _conditional,
    "stablehlo.reduce": _reduce,
    "stablehlo.sort": _sort,
    "stablehlo.optimization_barrier": _barrier,
    "stablehlo.get_tuple_element": _get_element,
    "stablehlo.tuple": _tuple,
    "stablehlo.convolution": _convolution,
    "stablehlo.rng": _rng,
    "stablehlo.create_token": _token,
    "stablehlo.custom_call": custom_call,
    **dict.fromkeys((*(f"chlo.{name}" for name in NAMES), *BROADCASTS), _left),
    "sdy.manual_computation": manual_computation,
    "sdy.sharding_constraint": sharding_constraint,
    "builtin.unrealized_conversion_cast": _first_operand_only,
    "stablehlo.all_to_all": _all_to_all,
    "stablehlo.cross-replica-sum": _summed,
    "stablehlo.einsum": einsum,
    "stablehlo.torch_index_select": index_select,
    "stablehlo.infeed": infeed,
    "stablehlo.outfeed": outfeed,
    **dict.fromkeys(STATIC_FORMS, _dynamic),
    "stablehlo.real_dynamic_slice": dynamic_slice,
}
