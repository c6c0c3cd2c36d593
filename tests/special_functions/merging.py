"""One file for the types in which a special function is written alike, with a row of numbers for each other type."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from xla2py.transpile.hlo.ir import Computation, HloModule, Instruction, with_called
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.printer import print_module
from xla2py.transpile.passes.special_functions.library import CONSTANT, KEPT, SEPARATOR, function_of, in_other_types

_KINDS = "f32 f32_x64 f64 c64 c128 f16 bf16".split()
_TYPES = (  # what may stand for other types, all at once
    {"s32": "s64"},
    {"f32": "f64"},
    {"f32": "f64", "s32": "s64"},
    {"c64": "c128", "f32": "f64"},
    {"f16": "bf16"},
)


def merge(folder: Path) -> None:
    """Put the texts of a folder that are alike but for types and numbers into one file, in the form of all such."""
    groups: defaultdict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.glob("*.hlo"), key=lambda path: _KINDS.index(kind_of(path))):
        groups[function_of(path)].append(path)
    for paths in groups.values():
        kept: dict[Path, str] = {}
        for path in paths:
            text = path.read_text("utf-8")
            own = plain_form(text)
            found = next(
                ((base, row) for base in kept if (row := _row(kind_of(path), own, plain_form(kept[base])))), None
            )
            if found is None:
                kept[path] = text
                continue
            base, row = found
            head = [line for line in kept[base].split("\n") if line.startswith("//")]
            numbers = [line.replace("leave:", f"leave in {kind_of(path)}:") for line in _kept_lines(text)]
            kept[base] = "\n".join([*head, *numbers, row, plain_form(kept[base])])
            path.unlink()
        for path, text in kept.items():
            path.write_text(text, "utf-8")


def kind_of(path: Path) -> str:
    """The type that a pattern is of: ``f32`` of ``lgamma.f32.hlo``."""
    return path.name.rsplit(".", 2)[1]


def _kept_lines(text: str) -> list[str]:
    return [found[0] for found in KEPT.finditer(text) if not found[1]]


def _row(kind: str, own: str, base: str) -> str:
    """The line by which a text becomes another; empty where they differ by more than types and numbers."""
    numbers = [number for _, _, number in CONSTANT.findall(own)]
    for types in _TYPES if len(numbers) == len(CONSTANT.findall(base)) else ():
        if in_other_types(base, types, numbers) == own:
            return f"// {kind} has {' '.join(f'{a}={b}' for a, b in types.items())}: {SEPARATOR.join(numbers)}"
    return ""


def plain_form(text: str) -> str:
    """A text whose names and order follow from what it computes; each use of a number has a constant of its own."""
    made: dict[Computation, Computation] = {}

    def plain(computation: Computation) -> Computation:
        if computation not in made:
            instructions = _in_plain_order(computation, plain)
            made[computation] = Computation(f"f{len(made)}", tuple(instructions), instructions[-1])
        return made[computation]

    entry = plain(parse_module(text).entry)
    printed = print_module(HloModule("pattern", tuple(made.values()), entry))
    return re.sub(r"\{0\}(?= )", "", printed[printed.index("HloModule") :])


def _in_plain_order(computation: Computation, plain: Callable[[Computation], Computation]) -> list[Instruction]:
    """The parameters, then what the root needs, each instruction right behind its operands."""
    made: dict[Instruction, Instruction] = {}
    ordered: list[Instruction] = []

    def add(instruction: Instruction, operands: tuple[Instruction, ...], name: str) -> Instruction:
        attributes = {key: with_called(value, plain) for key, value in instruction.attributes.items()}
        ordered.append(Instruction(name, instruction.opcode, instruction.shape, operands, attributes))
        return ordered[-1]

    def operand(instruction: Instruction) -> Instruction:
        if instruction in made:
            return made[instruction]
        return add(instruction, tuple(map(operand, instruction.operands)), f"v{len(ordered)}")  # a number

    for parameter in computation.parameters:
        made[parameter] = add(parameter, (), f"p{parameter['parameter_number']}")
    waiting = [computation.root]
    while waiting:
        last = waiting[-1]
        needed = next((each for each in last.operands if each not in made and not _is_number(each)), None)
        if needed is not None:
            waiting.append(needed)
        else:
            waiting.pop()
            if last not in made:
                operands = tuple(map(operand, last.operands))
                made[last] = add(last, operands, f"v{len(ordered)}")
    return ordered


def _is_number(instruction: Instruction) -> bool:
    return instruction.opcode == "constant" or (
        instruction.opcode == "broadcast" and instruction.operands[0].opcode == "constant"
    )


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        merge(Path(folder))
