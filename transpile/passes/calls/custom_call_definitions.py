"""Replaces custom calls that HLO can define by calls of their definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...hlo.custom_calls import definition_of, known_call
from ...hlo.ir import Computation, HloModule, Instruction, callees_first, with_called, with_instructions

Originals = dict[Instruction, tuple[Instruction, ...]]


def is_expanded(instruction: Instruction, hooks: Mapping[str, str]) -> bool:
    """Return whether an instruction is a custom call with a definition in HLO, and not hooked by a function of the
    user.
    """
    if instruction.opcode != "custom-call" or (target := instruction["custom_call_target"]) in hooks:
        return False
    row = known_call(target)
    return row is not None and (row.definition is not None or row.by_columns)


def expanding(module: HloModule, is_wanted: Callable[[Instruction], bool]) -> tuple[HloModule, Originals]:
    """Return the module with definitions in place of the wanted custom calls that have one, and the originals of its
    instructions.

    A module without such calls is returned unchanged. Raises ConfigError if a call does not fit its target.
    """
    wanted = {call: definition_of(call) for call in module.instructions() if is_wanted(call)}
    found = {call: definition for call, definition in wanted.items() if definition is not None}
    if not found:
        return module, {}
    work = _Expansion(found)
    return work.module(module), work.originals


def composed(later: Originals, earlier: Originals) -> Originals:
    """Return the originals of instructions after two rewrites."""
    through = {
        made: tuple(dict.fromkeys(first for each in given for first in earlier.get(each, (each,))))
        for made, given in later.items()
    }
    return {**earlier, **through}


class _Expansion:
    def __init__(self, definitions: dict[Instruction, Computation]) -> None:
        self.definitions = definitions
        self.originals: Originals = {}
        self.finished: list[Computation] = []
        self.made: dict[Computation, Computation] = {}

    def module(self, module: HloModule) -> HloModule:
        for computation in module.computations:
            self.made[computation] = self.rewritten(computation, None)
        return replace(module, computations=tuple(self.finished), entry=self.made[module.entry])

    def rewritten(self, computation: Computation, call: Instruction | None) -> Computation:
        """Return a computation with definitions expanded; instructions of the definition of ``call`` get its metadata
        and span.
        """
        values: dict[Instruction, Instruction] = {}
        for old in computation.instructions:
            made = old.replace(operands=tuple(values[operand] for operand in old.operands), **self.changes(old, values))
            if call is not None:
                made = made.replace(metadata=call.metadata, span=call.span)
            self.originals[made] = (call or old, *self.replaced_by_definition(old))
            values[old] = made
        result = replace(computation, instructions=tuple(values.values()), root=values[computation.root])
        self.finished.append(result)
        return result

    def replaced_by_definition(self, old: Instruction) -> Iterator[Instruction]:
        """Yield the instructions of computations that a custom call names and its definition does not call."""
        definition = self.definitions.get(old)
        if definition is not None:
            kept = set(callees_first(definition))
            for each in (each for called in old.called for each in callees_first(called)):
                yield from each.instructions if each not in kept else ()

    def changes(self, old: Instruction, values: dict[Instruction, Instruction]) -> dict[str, Any]:
        definition = self.definitions.get(old)
        if definition is None:
            return {"attributes": {name: self.remapped(value, values) for name, value in old.attributes.items()}}
        for each in callees_first(definition):
            if each not in self.made:  # the definition may call a computation of the module, which is done already
                self.made[each] = self.rewritten(each, old)
        return {"opcode": "call", "attributes": {"to_apply": self.made[definition]}}

    def remapped(self, value: Any, values: dict[Instruction, Instruction]) -> Any:
        """Return an attribute with the new computations and instructions."""
        return with_called(with_instructions(value, values), self.made.__getitem__)
