"""Operations that HLO has in another form: products by letters, rows by numbers, what is fed in and out."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..hlo.attributes import SliceDimension
from ..hlo.ir import Instruction
from ..hlo.shapes import TOKEN, ArrayShape, TokenShape, TupleShape
from .program import Operation
from .rows import AttributeValueError, number
from .translation import Translator
from .writer import Writer, array_of

_EINSUM = re.compile(r"\s*([A-Za-z]*)\s*,\s*([A-Za-z]*)\s*->\s*([A-Za-z]*)\s*", re.ASCII)


def einsum(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    """A product and the order of its dimensions."""
    left, right, result = _letters(translator, operation)
    shapes = [translator.array(value, operation.span) for value in operation.operands]
    batch = [letter for letter in left if letter in right and letter in result]
    summed = [letter for letter in left if letter in right and letter not in result]
    attributes: dict[str, Any] = {}
    for side, letters in (("lhs", left), ("rhs", right)):
        if batch:
            attributes[f"{side}_batch_dims"] = tuple(map(letters.index, batch))
        attributes[f"{side}_contracting_dims"] = tuple(map(letters.index, summed))
    given = [*batch, *(c for c in left if c not in batch + summed), *(c for c in right if c not in batch + summed)]
    if sorted(given) != sorted(result) or len(set(given)) != len(given):
        raise translator.error("XP123", "this einsum is no product of two arrays", operation.span)
    sizes = dict(zip(left + right, [n for shape in shapes for n in shape.dimensions], strict=True))
    element_type = translator.array(operation.results[0], operation.span).element_type
    operands = [writer.values[value] for value in operation.operands]
    made = writer.add("dot", array_of(element_type, (sizes[c] for c in given)), operands, attributes)
    order = tuple(given.index(c) for c in result)
    shape = array_of(element_type, (sizes[c] for c in result))
    return writer.add("transpose", shape, (made,), {"dimensions": order})


def _letters(translator: Translator, operation: Operation) -> tuple[str, str, str]:
    """What an einsum calls the dimensions of its operands and its result."""
    found = _EINSUM.fullmatch(str(operation.attributes.get("einsum_config", "")))
    ranks = [translator.array(value, operation.span).rank for value in operation.operands]
    parts = found.groups() if found is not None else ("", "", "")
    if found is None or [len(each) for each in parts[:2]] != ranks or any(len(set(p)) != len(p) for p in parts):
        raise translator.error("XP123", "an einsum has a form such as `ij,jk->ik`", operation.span)
    return parts[0], parts[1], parts[2]


def index_select(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    """``torch_index_select``: rows by their numbers, of each batch its own."""
    array, numbers = (translator.array(value, operation.span) for value in operation.operands)
    try:
        axis, batch = (number(key, default=0)(operation.attributes) for key in ("dim", "batch_dims"))
    except AttributeValueError as error:
        raise translator.error("XP123", f"{operation.name}: {error}", operation.span) from None
    if not 0 <= batch <= axis < array.rank or batch > numbers.rank:
        raise translator.error("XP123", f"there is no dimension {axis} behind {batch} of batches", operation.span)
    operand, indices = (writer.values[value] for value in operation.operands)
    if batch:
        indices = _with_batch(writer, indices, numbers, batch)
    named = (*range(batch), axis)
    others = [d for d in range(array.rank) if d not in named]
    attributes = {
        "offset_dims": tuple(d if d < axis else d + numbers.rank - batch - 1 for d in others),
        "collapsed_slice_dims": named,
        "start_index_map": named,
        "index_vector_dim": numbers.rank,
        "slice_sizes": tuple(1 if d in named else size for d, size in enumerate(array.dimensions)),
    }
    shape = translator.result_shape(operation)
    return writer.add("gather", shape, (operand, indices), attributes)


def _with_batch(writer: Writer, indices: Instruction, shape: ArrayShape, batch: int) -> Instruction:
    """The numbers behind those of their batches."""
    apart = array_of(shape.element_type, (*shape.dimensions, 1))
    parts = [writer.add("iota", apart, (), {"iota_dimension": axis}) for axis in range(batch)]
    parts.append(writer.add("reshape", apart, (indices,)))
    whole = array_of(shape.element_type, (*shape.dimensions, batch + 1))
    return writer.add("concatenate", whole, parts, {"dimensions": (shape.rank,)})


def infeed(translator: Translator, writer: Writer, operation: Operation) -> None:
    """The data are one tuple, with a token behind it."""
    shapes = [translator.shape(value.type, operation.span) for value in operation.results]
    if not shapes or not isinstance(shapes[-1], TokenShape):
        raise translator.error("XP141", "the last result of an infeed is a token", operation.span)
    data = TupleShape(tuple(shapes[:-1]))
    operands = [writer.values[value] for value in operation.operands]
    made = writer.add("infeed", TupleShape((data, TOKEN)), operands, _config(operation, "infeed_config"))
    whole = writer.add("get-tuple-element", data, (made,), {"index": 0})
    parts = writer.elements(whole, len(shapes) - 1)
    parts.append(writer.add("get-tuple-element", TOKEN, (made,), {"index": 1}))
    writer.values.update(zip(operation.results, parts, strict=True))


def outfeed(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    """The data are one tuple."""
    *parts, token = (writer.values[value] for value in operation.operands)
    data = writer.tuple(parts, is_marked=True)
    attributes = {"outfeed_shape": data.shape, **_config(operation, "outfeed_config")}
    return writer.add("outfeed", TOKEN, (data, token), attributes)


def _config(operation: Operation, key: str) -> dict[str, Any]:
    value = operation.attributes.get(key)
    return {key: value} if isinstance(value, str) and value else {}


def dynamic_slice(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    """``real_dynamic_slice`` of a known size, whose beginning is computed."""
    shape, strides = translator.array(operation.results[0], operation.span), operation.operands[3:]
    known = [translator.constants[value] for value in strides if value in translator.constants]
    if not known or shape.is_dynamic or any(np.any(each != 1) for each in known):
        message = f"`{operation.name}` is read where its size is known and its strides are 1"
        raise translator.error("XP110", message, operation.span)
    operand, starts = (writer.values[value] for value in operation.operands[:2])
    numbers = [_element(writer, starts, k) for k in range(shape.rank)]
    attributes = {"dynamic_slice_sizes": shape.dimensions}
    return writer.add("dynamic-slice", shape, (operand, *numbers), attributes)


def _element(writer: Writer, numbers: Instruction, k: int) -> Instruction:
    """One of some numbers."""
    element_type, (count,) = numbers.array_shape.element_type, numbers.array_shape.dimensions
    if count > 1:
        part = (SliceDimension(k, k + 1),)
        numbers = writer.add("slice", array_of(element_type, (1,)), (numbers,), {"slice": part})
    return writer.add("reshape", array_of(element_type, ()), (numbers,))
