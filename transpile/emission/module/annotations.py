"""The HLO of each statement, as comments above it (``--annotate full``)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...hlo.ir import Instruction
from ..layout import Layout
from ..lines import WrittenFunction
from .provenance import SIGNATURE, instructions_by_line

MOST = 6  # instructions that are written above one statement

# Opcodes that move values or group instructions; left out if the statement has any others.
_MOVES = frozenset(
    "constant parameter tuple get-tuple-element broadcast reshape bitcast copy call fusion optimization-barrier".split()
)


def annotate(functions: Sequence[WrittenFunction], layout: Layout) -> None:
    """Put comments with the instructions of a line above it."""
    for (function, position), instructions in instructions_by_line(functions).items():
        if position != SIGNATURE:
            line = functions[function].lines[position]
            line.above = comments(instructions, layout.line_length - 4 * line.indent - len("# "))


def comments(instructions: Sequence[Instruction], width: int) -> list[str]:
    """Return a text of at most ``width`` characters for each relevant instruction, after a count of the others."""
    chosen = [i for i in instructions if i.opcode not in _MOVES] or list(instructions)
    texts = [_shortened(instruction_text(instruction), width) for instruction in chosen[-MOST:]]
    more = len(chosen) - len(texts)
    return [f"{more} more, then", *texts] if more else texts


def instruction_text(instruction: Instruction) -> str:
    """Return an instruction as ``add.3 = f32[4] add(x, y)``: printable ASCII on one line, with any names."""
    operands = ", ".join(operand.name for operand in instruction.operands)
    shape = re.sub(r"\{[^}]*\}", "", str(instruction.shape))  # layouts say nothing about values
    text = f"{instruction.name} = {shape} {instruction.opcode}({operands})"
    return "".join(c if " " <= c <= "~" else "?" for c in text)


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
