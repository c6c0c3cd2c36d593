"""The scopes of operations inside calls.

JAX names what is inside a nested ``jit`` after that function alone: ``exp``, where the call is
``jit(step)/transpose(jvp(jit(log_softmax)))``. As XLA does where it inlines a call, the call's name is put before the
names inside it, so that they tell what is a gradient.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...hlo.ir import Computation, HloModule, Instruction, OpMetadata, naming
from .custom_call_definitions import Originals


def scopes_through_calls(module: HloModule) -> tuple[HloModule, Originals]:
    """The module with full names of operations in computations that one call alone has, and what its instructions
    stand for. A module without such names is returned as it is.
    """
    scopes = _scopes(module)
    if not scopes:
        return module, {}
    originals: Originals = {}
    made: dict[Computation, Computation] = {}
    for computation in module.computations:
        values: dict[Instruction, Instruction] = {}
        for old in computation.instructions:
            new = _within(scopes.get(computation, ""), old, values, made)
            values[old] = new
            if new is not old:
                originals[new] = (old,)
        if any(new is not old for old, new in values.items()):
            made[computation] = replace(computation, instructions=tuple(values.values()), root=values[computation.root])
    computations = tuple(made.get(each, each) for each in module.computations)
    return replace(module, computations=computations, entry=made.get(module.entry, module.entry)), originals


def _scopes(module: HloModule) -> dict[Computation, str]:
    """The names of the only calls of computations, by computation."""
    callers: dict[Computation, list[tuple[Computation, Instruction]]] = {}
    for computation in module.computations:
        for instruction in computation.instructions:
            for called in instruction.called:
                callers.setdefault(called, []).append((computation, instruction))
    found: dict[Computation, str] = {}
    for computation in reversed(module.computations):  # callers first
        if len(given := callers.get(computation, [])) == 1:
            caller, call = given[0]
            if scope := _joined(found.get(caller, ""), call.metadata):
                found[computation] = scope
    return found


_LONGEST = 1000  # letters of a scope that names begin with: deep calls would have long names each


def _joined(scope: str, metadata: OpMetadata | None) -> str:
    """The name of an operation with the scope before it, where it does not begin with the same function."""
    name = metadata.op_name if metadata is not None else ""
    is_full = not scope or len(scope) > _LONGEST or name.split("/")[0] == scope.split("/")[0]
    return name if is_full else f"{scope}/{name}" if name else scope


def _within(
    scope: str,
    old: Instruction,
    values: Mapping[Instruction, Instruction],
    made: Mapping[Computation, Computation],
) -> Instruction:
    """An instruction over new values and computations, with the scope in its name; itself where nothing is new."""
    new = naming(old, values, made)
    operands = tuple(values[operand] for operand in old.operands)
    if any(operand is not before for operand, before in zip(operands, old.operands, strict=True)):
        new = new.on(operands)
    if not scope or old.opcode == "parameter" or old.metadata is None or not old.metadata.op_name:
        return new
    name = _joined(scope, old.metadata)
    return new if name == old.metadata.op_name else new.replace(metadata=replace(old.metadata, op_name=name))
