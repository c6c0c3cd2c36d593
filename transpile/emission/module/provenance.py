"""Provenance: the instructions that each emitted line computes.

A line computes the nodes in its text, and a node is the value of the instructions that it was lowered from. An
instruction without a node of its own (in a reducer, a broadcast, a part of a raised form) belongs to the lines of its
users. So every instruction that a result needs has a line. ``--annotate full`` writes them above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ...array.node import Node
from ...array.program import Function, tree_nodes
from ...hlo.ir import Computation, Instruction, callees_first
from ...walks import reached
from ..layout import Layout
from ..lines import Line, WrittenFunction

SIGNATURE = -1  # the number of the line with a function's parameters; the lines of its body count from 0

LineRef = tuple[int, int]  # function, line
LineRefs = dict[LineRef, None]  # without repeats, in order

# Opcodes that compute nothing: they belong to the lines of their users.
_TRANSPARENT = frozenset(("constant", "parameter", "tuple", "get-tuple-element"))
MOST = 6  # instructions that are written above one statement
# Opcodes that move values or group instructions; left out if the statement has any others.
_MOVES = frozenset(
    "constant parameter tuple get-tuple-element broadcast reshape bitcast copy call fusion optimization-barrier".split()
)


def instructions_by_line(functions: Sequence[WrittenFunction]) -> dict[LineRef, tuple[Instruction, ...]]:
    """Return the instructions of each line that computes any: callees' first, then in the module's order."""
    order = [i for computation in callees_first(functions[0].function.computation) for i in computation.instructions]
    spots = _all_spots(functions, order)
    originals = functions[0].function.originals
    by_line: dict[LineRef, dict[Instruction, None]] = {}
    for instruction in order:
        for spot in spots[instruction]:
            by_line.setdefault(spot, {}).update(dict.fromkeys(originals.get(instruction, (instruction,))))
    return {spot: tuple(by_line[spot]) for spot in sorted(by_line)}


def _all_spots(functions: Sequence[WrittenFunction], order: list[Instruction]) -> dict[Instruction, LineRefs]:
    """Return the lines of each instruction: its own, or those of its users."""
    values, steps = _own_spots(functions)
    users: dict[Instruction, list[Instruction]] = {}
    callers: dict[Computation, list[Instruction]] = {}
    for instruction in order:
        for operand in instruction.operands:
            users.setdefault(operand, []).append(instruction)
        for called in instruction.called:
            callers.setdefault(called, []).append(instruction)
    roots = {computation.root: found for computation, found in callers.items()}
    spots: dict[Instruction, LineRefs] = {}
    for instruction in reversed(order):
        found = values.get(instruction) or steps.get(instruction)
        if not found:
            found = {}
            for user in (*users.get(instruction, ()), *roots.get(instruction, ())):
                found.update(spots[user])
        spots[instruction] = found
    for instruction, found in steps.items():
        spots[instruction] = found | spots[instruction]
    return spots


def _own_spots(functions: Sequence[WrittenFunction]) -> tuple[dict[Instruction, LineRefs], dict[Instruction, LineRefs]]:
    """Return the lines that compute the value of each instruction, and those with an intermediate step of it."""
    values: dict[Instruction, LineRefs] = {}
    steps: dict[Instruction, LineRefs] = {}
    for number, written in enumerate(functions):
        function = written.function
        instructions = _instructions_by_node(function)
        origins = function.graph.origins
        for parameter in function.computation.parameters if not function.repeated else ():
            values.setdefault(parameter, {})[number, SIGNATURE] = None
        named: set[Node] = set()
        for position, line in enumerate(written.lines):
            for node in _computed(line, named):
                for instruction in instructions.get(node, ()):
                    values.setdefault(instruction, {})[number, position] = None
                if node in line.after and node not in instructions and node in origins:
                    steps.setdefault(origins[node], {})[number, position] = None
            named.update(line.inside, line.after)
        values.setdefault(function.computation.root, {(number, len(written.lines) - 1): None})
    return values, steps


def _computed(line: Line, named: set[Node]) -> Iterator[Node]:
    """Yield the nodes that a line computes: the nodes that it binds, and the nodes in its text that they depend on.

    The writer renders expressions before it cuts parts out of them: these parts belong to a later line. Equal constants
    are one node everywhere, so a node that depends on nothing else counts where it is bound.
    """

    def inner(node: Node) -> list[Node]:
        return [operand for operand in node.operands if operand in line.values or operand.results]

    for node in set(reached(line.after, inner)) or set(line.values):
        is_constant = all(operand.is_literal for operand in node.operands)
        if node in line.after or (node not in named and not is_constant):
            yield node


def _instructions_by_node(function: Function) -> dict[Node, list[Instruction]]:
    """Return, by node of a function, the instructions whose values it is."""
    found: dict[Node, list[Instruction]] = {}
    for scope in function.scopes:
        for instruction, lowered in scope.values.items():
            if instruction.opcode in _TRANSPARENT:
                continue
            passed = {node for operand in instruction.operands for node in _nodes(scope.values[operand])}
            for node in _nodes(lowered):
                if node not in passed:
                    found.setdefault(function.graph.current(node), []).append(instruction)
    return found


def _nodes(lowered: Any) -> list[Node]:
    """Return the nodes of a value or of the values in a tuple."""
    values: list[Any] = tree_nodes(lowered)
    return [value.node for value in values]


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
