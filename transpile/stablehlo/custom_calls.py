"""Custom calls of StableHLO as those of HLO."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from ..hlo.attributes import Raw, SliceDimension
from ..hlo.element_types import PRED
from ..hlo.lexer import escape
from ..hlo.shapes import ArrayShape, Layout, Shape, TupleShape
from .attributes import integers
from .program import Operation, Symbol, Typed, Unread
from .shardings import marks
from .translation import Translator, callee_name
from .writer import Writer, array_of

_APPROXIMATE_TOP_K = "ApproxTopK"
_REDUCTION_DIMENSION = re.compile(r"\breduction_dim = (\d{1,9})", re.ASCII)
_VERSIONS = {
    0: None,
    1: None,
    2: "API_VERSION_STATUS_RETURNING",
    3: "API_VERSION_STATUS_RETURNING_UNIFIED",
    4: "API_VERSION_TYPED_FFI",
}


def custom_call(translator: Translator, writer: Writer, operation: Operation) -> None:
    """One instruction; several results are the elements of its tuple."""
    own = operation.attributes
    target = own.get("call_target_name", own.get("symbol", ""))
    target = target.name if isinstance(target, Symbol) else str(target)
    if target == _APPROXIMATE_TOP_K:
        _top_k(translator, writer, operation)
        return
    attributes: dict[str, Any] = {"custom_call_target": target}
    operands = [writer.values[value] for value in operation.operands]
    shape: Shape = translator.result_shape(operation)
    if layouts := _listed(own.get("operand_layouts")):
        shapes = [_laid_out(each.shape, layout) for each, layout in zip(operands, layouts, strict=False)]
        attributes["operand_layout_constraints"] = tuple(shapes)
    if layouts := _listed(own.get("result_layouts")):
        parts = shape.elements if isinstance(shape, TupleShape) else (shape,)
        parts = tuple(_laid_out(each, layout) for each, layout in zip(parts, layouts, strict=False))
        shape = TupleShape(parts) if isinstance(shape, TupleShape) else parts[0]
    if own.get("has_side_effect") is True:
        attributes["custom_call_has_side_effect"] = True
    config = own.get("mhlo.backend_config", own.get("backend_config"))
    version = 4 if "mhlo.backend_config" in own else own.get("api_version", 1)
    if name := _VERSIONS.get(version if isinstance(version, int) else 1):
        attributes["api_version"] = name
    if own.get("output_operand_aliases"):
        attributes["output_to_operand_aliasing"] = Raw(_aliases(own["output_operand_aliases"]))
    if isinstance(config, Unread):
        attributes["backend_config"] = Raw(config.text)
    elif isinstance(config, str) and config:
        attributes["backend_config"] = Raw(f'"{escape(config)}"')
    elif isinstance(config, dict):
        attributes["backend_config"] = Raw(written(config))
    if (name := callee_name(operation)) is not None:
        attributes["called_computations"] = (translator.written[name],)
    words = marks(own, translator.meshes)
    attributes |= words
    made = writer.add("custom-call", shape, operands, attributes)
    if len(operation.results) == 1:
        writer.values[operation.results[0]] = made
    else:
        elements = writer.elements(made, len(operation.results), attributes=words)
        writer.values.update(zip(operation.results, elements, strict=True))


def _top_k(translator: Translator, writer: Writer, operation: Operation) -> None:
    """The largest or smallest elements, which XLA may find by approximation, are the first of those in order."""
    config = written(operation.attributes.get("mhlo.backend_config", operation.attributes.get("backend_config")))
    found, comparator = _REDUCTION_DIMENSION.search(config), callee_name(operation)
    values = operation.operands[: len(operation.results)]
    dimension = int(found[1]) if found is not None else -1
    shapes = [translator.array(value, operation.span) for value in values]
    results = [translator.array(value, operation.span) for value in operation.results]
    has_form = len(operation.operands) == 2 * len(operation.results) > 0 and comparator is not None
    if not has_form or not 0 <= dimension < min(shape.rank for shape in (*shapes, *results)):
        raise translator.error("XP123", f"the custom call {_APPROXIMATE_TOP_K} is not of its form", operation.span)
    attributes = {"dimensions": (dimension,), "to_apply": translator.written[str(comparator)]}
    if all(shape.dimensions[dimension] == 1 for shape in results):
        return _best(translator, writer, operation, attributes)
    shape = TupleShape(tuple(shapes)) if len(shapes) > 1 else shapes[0]
    made = writer.add("sort", shape, [writer.values[value] for value in values], attributes)
    parts = writer.elements(made, len(shapes)) if len(shapes) > 1 else [made]
    writer.needed.update(writer.values[value] for value in operation.operands)
    largest = [
        writer.add("slice", own, (part,), {"slice": tuple(SliceDimension(0, size) for size in own.dimensions)})
        for own, part in zip(map(partial(translator.array, span=operation.span), operation.results), parts, strict=True)
    ]
    if len(largest) > 1:
        largest = writer.elements(writer.tuple(largest, is_marked=True), len(largest))
    writer.values.update(zip(operation.results, largest, strict=True))


def _best(translator: Translator, writer: Writer, operation: Operation, attributes: dict[str, Any]) -> None:
    """The one best element along a dimension: a reduction by the comparator, which takes the operands pair by pair."""
    count = len(operation.results)
    operands = [writer.values[value] for value in operation.operands]
    inner = Writer(translator.names, {})
    inner.span = operation.span
    scalars = [ArrayShape(each.array_shape.element_type, ()) for each in operands[:count]]
    sides = [
        [inner.parameter(first + k, scalar, stem, None, operation.span) for k, scalar in enumerate(scalars)]
        for first, stem in ((0, "lhs"), (count, "rhs"))
    ]
    pairs = list(zip(*sides, strict=True))
    arguments = tuple(value for pair in pairs for value in pair)
    chosen = inner.unmarked("call", ArrayShape(PRED, ()), arguments, {"to_apply": attributes["to_apply"]})
    best = [inner.unmarked("select", left.shape, (chosen, left, right), {}) for left, right in pairs]
    reducer = inner.computation("ReductionFn", best[0] if count == 1 else inner.tuple(best), operation.span)
    (dimension,) = attributes["dimensions"]
    shapes = [
        array_of(
            each.array_shape.element_type, (n for d, n in enumerate(each.array_shape.dimensions) if d != dimension)
        )
        for each in operands[:count]
    ]
    shape = TupleShape(tuple(shapes)) if count > 1 else shapes[0]
    made = writer.add("reduce", shape, operands, {"dimensions": (dimension,), "to_apply": reducer})
    parts = writer.elements(made, count) if count > 1 else [made]
    wide = [
        writer.add("reshape", translator.array(value, operation.span), (part,))
        for value, part in zip(operation.results, parts, strict=True)
    ]
    if count > 1:
        wide = writer.elements(writer.tuple(wide, is_marked=True), count)
    writer.values.update(zip(operation.results, wide, strict=True))


def written(value: Any) -> str:
    """An attribute as MLIR writes it."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {written(each)}' for key, each in value.items())}}}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Unread):
        return value.text
    if isinstance(value, Typed):
        return f"{int(value)} : {value.type}"
    return f'"{escape(value)}"' if isinstance(value, str) else str(value)


def _listed(value: Any) -> tuple[Any, ...]:
    """Return what an attribute lists, nothing where it is no list."""
    return value if isinstance(value, tuple) else ()


def _laid_out(shape: Shape, layout: Any) -> Shape:
    order = integers(layout)
    if not isinstance(shape, ArrayShape) or order is None or not shape.rank:
        return shape
    return ArrayShape(shape.element_type, shape.dimensions, shape.dynamic, Layout(order))


def _aliases(listed: Any) -> str:
    rows = []
    for each in _listed(listed):
        if not isinstance(each, dict):
            continue
        outputs, operands = (
            integers(each.get(key, ())) or () for key in ("output_tuple_indices", "operand_tuple_indices")
        )
        rows.append(
            f"{{{', '.join(map(str, outputs))}}}: ({each.get('operand_index', 0)}, {{{', '.join(map(str, operands))}}})"
        )
    return f"{{{', '.join(rows)}}}"
