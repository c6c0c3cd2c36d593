"""Shardy's operations as XLA hands them on in HLO: custom calls that divide arrays among devices and join them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..hlo.attributes import Raw
from ..hlo.ir import Instruction
from ..hlo.lexer import escape
from ..hlo.shapes import TupleShape
from .program import Operation, Unread
from .shardings import tiled
from .translation import Translator
from .writer import Writer


def sharding_constraint(translator: Translator, writer: Writer, operation: Operation) -> Instruction:
    """A custom call that gives its operand, divided."""
    angles = operation.attributes.get("angles", operation.attributes.get("sharding"))
    text = angles.text if isinstance(angles, Unread) else ""
    text = text if text.startswith("<") else f"<{text}>"
    attributes: dict[str, Any] = {"custom_call_target": "Sharding"}
    spelled = escape(f"#sdy.sharding_per_value<[{text}]>")
    attributes["frontend_attributes"] = Raw(f'{{xla.sdy.sharding="{spelled}"}}')
    tiles = tiled(text, translator.meshes)
    if tiles is not None:
        attributes["sharding"] = Raw(tiles)
    operands = [writer.values[value] for value in operation.operands]
    return writer.add("custom-call", translator.result_shape(operation), operands, attributes)


def manual_computation(translator: Translator, writer: Writer, operation: Operation) -> None:
    """A call on the parts of one device, between custom calls that divide arrays and join them."""
    (region,) = operation.regions
    axes = _text(operation, "manual_axes")
    shapes = [translator.shape(value.type, operation.span) for value in region.arguments]
    operands = [writer.values[value] for value in operation.operands]
    local = _resharded(writer, "GlobalToLocalShape", operands, shapes, _words(operation, "in_shardings", axes))
    body = translator.reducer(region, operation.span, "xla.sdy.manual_computation_body")
    inline = {"frontend_attributes": Raw('{inlineable="false"}')}
    made = writer.add("call", body.root.shape, local, {"to_apply": body, **inline})
    count = len(operation.results)
    parts = [made] if count == 1 else writer.elements(made, count, attributes=inline)
    shapes = [translator.shape(value.type, operation.span) for value in operation.results]
    whole = _resharded(writer, "LocalToGlobalShape", parts, shapes, _words(operation, "out_shardings", axes))
    writer.values.update(zip(operation.results, whole, strict=True))


def _text(operation: Operation, key: str) -> str:
    value = operation.attributes.get(key)
    return value.text if isinstance(value, Unread) else ""


def _words(operation: Operation, key: str, axes: str) -> Raw:
    """What the custom call says of its arrays and of the axes along which devices compute on their own."""
    texts = {
        f"xla.sdy.{key}": f"#sdy.sharding_per_value<{_text(operation, key)}>",
        "xla.sdy.manual_axes": f"#sdy<manual_axes{axes}>",
    }
    listed = ",".join(f'{name}="{escape(text)}"' for name, text in sorted(texts.items()))
    return Raw(f"{{{listed}}}")


def _resharded(writer: Writer, target: str, operands: Sequence[Any], shapes: Sequence[Any], words: Raw) -> list[Any]:
    if not shapes:
        return []
    attributes = {
        "custom_call_target": f"xla.sdy.{target}",
        "custom_call_has_side_effect": True,
        "frontend_attributes": words,
    }
    shape = shapes[0] if len(shapes) == 1 else TupleShape(tuple(shapes))
    made = writer.add("custom-call", shape, operands, attributes)
    return [made] if len(shapes) == 1 else writer.elements(made, len(shapes))
