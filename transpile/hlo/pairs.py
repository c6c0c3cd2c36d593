"""The two halves of what starts and ends apart: asynchronous operations, and transfers.

The second half takes what the first gave, itself or out of the tuple that a pipelined loop carries it in.
Source: XLA's ``hlo_verifier.cc``.
"""

from __future__ import annotations

from collections.abc import Mapping

from .ir import HloModule, Instruction
from .shape_rules.common import refuse
from .shapes import TOKEN, TupleShape

_ASYNC = ("async-start", "async-update")
FIRST_HALVES: dict[str, tuple[str, ...]] = {
    "async-update": _ASYNC,
    "async-done": _ASYNC,
    "all-reduce-done": ("all-reduce-start",),
    "all-gather-done": ("all-gather-start",),
    "collective-permute-done": ("collective-permute-start",),
    "copy-done": ("copy-start",),
    "send-done": ("send",),
    "recv-done": ("recv",),
}
_CARRIED = frozenset({"async-update", "async-done", "send-done", "recv-done"})  # a loop may carry their first halves
_TRANSFERS = frozenset({"send", "recv"})
# What a transfer's state may go through on its way to its -done.
_HANDS_ON = frozenset({"tuple", "while", "opt-barrier"})

Loops = Mapping[int, Instruction]  # the while by the id of a parameter of its body or condition


def loops_of(module: HloModule) -> Loops:
    """The loop whose state each parameter of a body or a condition is."""
    return {
        id(parameter): instruction
        for instruction in module.instructions()
        if instruction.opcode == "while"
        for called in instruction.called
        for parameter in called.instructions
        if parameter.opcode == "parameter"
    }


def check_second_half(instruction: Instruction, loops: Loops) -> None:
    """Refuse (XP222) a second half that does not follow its first, or has another channel or computation."""
    wanted = FIRST_HALVES.get(instruction.opcode)
    if wanted is None:
        return
    first = instruction.operands[0]
    if first.opcode == "get-tuple-element" and instruction.opcode in _CARRIED:
        carried = _origin(first, loops)
        if carried is None:
            return
        first = carried
    if first.opcode not in wanted:
        refuse("XP222", f"{instruction.opcode} has to follow {' or '.join(wanted)}, not {first.opcode}")
    if first.opcode in _TRANSFERS:
        for attribute in ("channel_id", "is_host_transfer"):
            before, after = first[attribute], instruction[attribute]
            if before != after and after is not None:
                refuse("XP222", f"{instruction.opcode} has {attribute}={after}, but {first.name} has {before}")
    elif first.opcode in _ASYNC:
        wrapped, here = first["calls"], instruction["calls"]
        if here is not None and wrapped is not None and here is not wrapped and here.name != wrapped.name:
            refuse("XP222", f"{instruction.opcode} wraps {here.name}, but {first.name} wraps {wrapped.name}")


def check_use(instruction: Instruction, loops: Loops) -> None:
    """Refuse (XP222) to read the state of a transfer before its -done, also out of a tuple that holds it."""
    if instruction.opcode in _HANDS_ON or instruction.opcode in FIRST_HALVES:
        return
    for operand in filter(_may_be_state, instruction.operands):
        started = _origin(operand, loops)
        if started is not None and started.opcode in _TRANSFERS:
            message = f"{instruction.name} reads {started.name}, whose {started.opcode}-done has the result"
            refuse("XP222", message, f"only {started.opcode}-done takes what {started.opcode} gives")


def _may_be_state(instruction: Instruction) -> bool:
    """Tell whether the shape is that of a transfer's state: (data, context, token)."""
    shape = instruction.shape
    return isinstance(shape, TupleShape) and len(shape.elements) == 3 and shape.elements[2] == TOKEN


def _origin(element: Instruction, loops: Loops) -> Instruction | None:
    """Return what gave an element of a tuple that loops may carry, or None where that is not to be seen."""
    path: list[int] = []
    found: Instruction | None = element
    while found is not None:
        if found.opcode == "get-tuple-element":
            path.append(found["index"])
            found = _operand(found, 0)
        elif found.opcode == "tuple" and path:
            found = _operand(found, path.pop())
        elif found.opcode in ("while", "opt-barrier"):
            found = _operand(found, 0)
        elif found.opcode == "parameter":
            found = loops.get(id(found))
        else:
            return None if path else found
    return None


def _operand(instruction: Instruction, index: int) -> Instruction | None:
    """An operand of an instruction that may be faulty itself."""
    return instruction.operands[index] if 0 <= index < len(instruction.operands) else None
