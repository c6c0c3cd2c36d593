"""Extends the scopes of operations inside calls by the scopes of the calls.

JAX names operations inside a nested ``jit`` after that function alone: ``exp``, where the call is
``jit(step)/transpose(jvp(jit(log_softmax)))``. As in XLA's inlining, the call's name is put before the names inside, so
that they tell which operations are a gradient's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...hlo.ir import Computation, HloModule, Instruction, OpMetadata, naming
from .custom_call_definitions import Originals


def scopes_through_calls(module: HloModule) -> tuple[HloModule, Originals]:
    """Return the module with full names of operations in computations that are called once, and the originals of its
    instructions. A module without such computations is returned unchanged.
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
    """Return the names of the only calls of computations, by computation."""
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


_LONGEST = 1000  # characters of a scope that is still extended, since deep calls would give long names


def _joined(scope: str, metadata: OpMetadata | None) -> str:
    """Return the name of an operation with the scope before it, unless both begin with the same function."""
    name = metadata.op_name if metadata is not None else ""
    is_full = not scope or len(scope) > _LONGEST or name.split("/")[0] == scope.split("/")[0]
    return name if is_full else f"{scope}/{name}" if name else scope


def _within(
    scope: str, old: Instruction, values: Mapping[Instruction, Instruction], made: Mapping[Computation, Computation]
) -> Instruction:
    """Return an instruction with new operands and computations and the scope in its name; itself if nothing changes."""
    new = naming(old, values, made)
    operands = tuple(values[operand] for operand in old.operands)
    if any(operand is not before for operand, before in zip(operands, old.operands, strict=True)):
        new = new.on(operands)
    if not scope or old.opcode == "parameter" or old.metadata is None or not old.metadata.op_name:
        return new
    name = _joined(scope, old.metadata)
    return new if name == old.metadata.op_name else new.replace(metadata=replace(old.metadata, op_name=name))
