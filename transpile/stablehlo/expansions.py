"""Operations of CHLO that HLO does not have, written out.

A file in ``expansions/`` has a computation of one number for each element type, as XLA's translation writes it; applied
to arrays, each of its instructions has their sizes.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ..hlo.element_types import F32, ElementType
from ..hlo.ir import Computation, Instruction
from ..hlo.parser import parse_module
from ..hlo.shapes import ArrayShape
from ..hlo.source import SourceText
from .program import Operation
from .translation import Translator
from .writer import Writer, array_of

_FOLDER = Path(__file__).with_name("expansions")
NAMES = frozenset(each.name.removesuffix(".hlo") for each in _FOLDER.iterdir() if each.name.endswith(".hlo"))


@cache
def _computations(name: str) -> dict[str, Computation]:
    """The computations of an operation by element type."""
    source = SourceText(_FOLDER.joinpath(f"{name}.hlo").read_text(encoding="utf-8"), f"{name}.hlo")
    return {each.name.rpartition(".")[2]: each for each in parse_module(source).computations}


def expanded(name: str, element_type: ElementType) -> Computation | None:
    """What an operation computes of numbers of a type; None where nobody says."""
    return _computations(name).get(element_type.name) if name in NAMES else None


def expand(translator: Translator, writer: Writer, operation: Operation) -> None:
    """Write an operation out. Floats narrower than float32 without an own text are computed in that."""
    name = operation.name.partition(".")[2]
    shape = translator.array(operation.operands[0], operation.span)
    operands = [writer.values[value] for value in operation.operands]
    computation, wide = expanded(name, shape.element_type), None
    if computation is None and shape.element_type.is_floating and shape.element_type.bits < F32.bits:
        computation, wide = expanded(name, F32), array_of(F32, shape.dimensions)
    if computation is None:
        raise translator.error("XP110", f"`{operation.name}` takes no {shape.element_type}", operation.span)
    if wide is not None:
        operands = [writer.add("convert", wide, (operand,)) for operand in operands]
    made = _applied(writer, computation, operands, shape.dimensions)
    if wide is not None:
        made = writer.add("convert", array_of(shape.element_type, shape.dimensions), (made,))
    writer.values[operation.results[0]] = made


def _applied(
    writer: Writer, computation: Computation, operands: list[Instruction], sizes: tuple[int, ...]
) -> Instruction:
    made: dict[Instruction, Instruction] = {}
    shapes: dict[ElementType, ArrayShape] = {}
    for each in computation.instructions:
        element_type = each.array_shape.element_type
        shape = shapes.get(element_type) or shapes.setdefault(element_type, array_of(element_type, sizes))
        if each.opcode == "parameter":
            made[each] = operands[each["parameter_number"]]
        elif each.opcode == "constant":
            made[each] = writer.repeated(each["literal"], shape)
        else:
            made[each] = writer.add(each.opcode, shape, [made[operand] for operand in each.operands], each.attributes)
    return made[computation.root]
