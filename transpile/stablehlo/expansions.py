"""Operations of CHLO that HLO does not have, written out.

A file in ``expansions/`` has a computation of one number for each element type, as XLA's translation writes it; applied
to arrays, each of its instructions has their sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ..hlo.element_types import F32, ElementType
from ..hlo.ir import Computation, Instruction
from ..hlo.parser import parse_module
from ..hlo.shapes import ArrayShape
from ..hlo.source import SourceText
from .dense import splat
from .program import Operation, Value
from .writer import array_of

_FOLDER = Path(__file__).with_name("expansions")
NAMES = frozenset(each.name.removesuffix(".hlo") for each in _FOLDER.iterdir() if each.name.endswith(".hlo"))


@cache
def _computations(name: str) -> dict[str, Computation]:
    """The computations of an operation by element type."""
    source = SourceText(_FOLDER.joinpath(f"{name}.hlo").read_text(encoding="utf-8"), f"{name}.hlo")
    return {each.name.rpartition(".")[2]: each for each in parse_module(source).computations}


def expanded(name: str, element_type: ElementType) -> Computation | None:
    """What an operation computes of numbers of a type; None where nobody says."""
    return _computations(name).get(element_type.name)


def expand(operation: Operation) -> list[Operation] | None:
    """The operations that an operation of CHLO, or one on complex numbers, is written out as; None where it stays.

    Floats narrower than float32 without an own text are computed in that.
    """
    dialect, _, name = operation.name.partition(".")
    if name not in NAMES or not isinstance(shape := operation.operands[0].type, ArrayShape):
        return None
    if not (shape.element_type.is_complex or dialect == "chlo"):
        return None
    computation = expanded(name, shape.element_type)
    if computation is not None:
        return _applied(operation, computation, operation.operands, operation.results[0])
    computation = expanded(name, F32)
    if computation is None or not shape.element_type.is_floating or shape.element_type.bits >= F32.bits:
        return None
    wide = array_of(F32, shape.dimensions)
    made = [_made(operation, "stablehlo.convert", [value], Value(wide)) for value in operation.operands]
    made += _applied(operation, computation, [each.results[0] for each in made], Value(wide))
    return [*made, _made(operation, "stablehlo.convert", made[-1].results, operation.results[0])]


def _applied(
    operation: Operation, computation: Computation, operands: Sequence[Value], result: Value
) -> list[Operation]:
    """The instructions of a computation of numbers as operations on arrays, of which the last gives the result."""
    assert isinstance(operands[0].type, ArrayShape)
    shapes = {each: array_of(each, operands[0].type.dimensions) for each in _element_types(computation)}
    values: dict[Instruction, Value] = {}
    made: list[Operation] = []
    for each in computation.instructions:
        if each.opcode == "parameter":
            values[each] = operands[each["parameter_number"]]
            continue
        shape = shapes[each.array_shape.element_type]
        values[each] = value = result if each is computation.root else Value(shape)
        attributes: dict[str, Any] = {}
        if each.opcode == "constant":
            attributes["value"] = splat(each["literal"], shape)
        elif each.opcode == "compare":
            attributes["comparison_direction"] = each["direction"]
        name = f"stablehlo.{each.opcode.replace('-', '_')}"
        made.append(_made(operation, name, [values[operand] for operand in each.operands], value, attributes))
    return made


def _element_types(computation: Computation) -> set[ElementType]:
    return {each.array_shape.element_type for each in computation.instructions}


def _made(
    operation: Operation, name: str, operands: Sequence[Value], result: Value, attributes: dict[str, Any] | None = None
) -> Operation:
    """A part of what an operation becomes."""
    return Operation(name, operands, [result], attributes or {}, [], operation.location, operation.span)
