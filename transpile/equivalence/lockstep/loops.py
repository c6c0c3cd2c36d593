"""Checks a loop of emitted code against its HLO instruction: the state at its start, between iterations, and at its
end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np

from ...array.graph import Graph
from ...array.program import Loop, Scope
from ...dataclass import dataclass
from ...errors import XlaToPythonError
from ...hlo.carriers import Array
from ...hlo.ir import HloModule, Instruction
from ...hlo.printer import print_module
from ..shrinking.cases import array_leaves, flat, inlined, kept_header, module_of, new_parameter, ordered, tree_of
from .steps import BodyEnd, known_instructions, state_nodes, step_of, typed_leaves

State = list[Array | None]
Evaluate = Callable[[str, Sequence[Array]], list[Array]]


@dataclass(frozen=True, slots=True)
class LoopFault:
    """An error in how a loop handles its state, with the time of the event and the iteration."""

    note: str
    time: int
    iterations: tuple[int, ...] = ()


@dataclass(frozen=True)
class LoopRun:
    """One execution of the loop that a ``while`` became: ``ends`` are those of its iterations."""

    instruction: Instruction
    scope: Scope  # the scope of the instruction
    graph: Graph
    loop: Loop
    outer: BodyEnd
    ends: Sequence[BodyEnd]
    like: HloModule
    evaluate: Evaluate = field(repr=False)

    @cached_property
    def body(self) -> Scope:
        return self.scope.called[self.instruction, self.instruction["body"]]

    def faults(self) -> Iterator[LoopFault]:
        """Yield the errors of the loop itself, whatever its body computes."""
        initial = typed_leaves(self.instruction.operands[0], self.scope, self.graph, self.outer.values)
        final = typed_leaves(self.instruction, self.scope, self.graph, self.outer.values)
        if not self.ends and all(leaf is None for leaf in final):
            return  # in a branch that did not run
        before, name = initial, "its operand"
        for number, end in enumerate(self.ends):
            inside = self._inside(end)
            for k in self._changed(before, inside, is_first=number == 0):
                note = f"element {k} of the state does not start as {name} left it"
                yield LoopFault(note, end.begun, (number,))
            before, name = self._following(end), f"iteration {number}"
        if self.ends and self._goes_on(self._inside(self.ends[-1])) is False:
            note = f"it goes on after {len(self.ends) - 1} iterations, though its condition is false then"
            yield LoopFault(note, self.ends[-1].begun, (len(self.ends) - 1,))
        time = self.ends[-1].ended if self.ends else self.outer.begun
        before = self._computed(before, {*self._needed, *(k for k, leaf in enumerate(final) if leaf is not None)})
        if self._goes_on(before) is True:
            yield LoopFault(f"it ends after {len(self.ends)} iterations, though its condition still holds", time)
        for k in self._changed(before, final, is_first=not self.ends):
            yield LoopFault(f"element {k} of its result is not what {name} left", time)

    def _inside(self, end: BodyEnd) -> State:
        (parameter,) = self.body.computation.parameters
        return typed_leaves(parameter, self.body, self.graph, end.values)

    def _following(self, end: BodyEnd) -> State:
        return typed_leaves(self.body.computation.root, self.body, self.graph, end.values)

    def _changed(self, before: State, after: State, *, is_first: bool) -> Iterator[int]:
        """Yield the elements that are known on both sides and differ; elements that are not initialised have no value
        yet.
        """
        for k, (old, new) in enumerate(zip(before, after, strict=True)):
            if old is None or new is None or (is_first and k in self._uninitialised):
                continue
            if old.tobytes() != new.tobytes():
                yield k

    @cached_property
    def _uninitialised(self) -> set[int]:
        """The elements that are stored completely in the loop before they are read."""
        empty = {carry.parameter for carry in self.loop.carries if carry.initial.opcode == "empty"}
        (parameter,) = self.body.computation.parameters
        nodes = state_nodes(self.body.values[parameter])
        return {k for k, node in enumerate(nodes) if node in empty}

    # -- the condition

    def _goes_on(self, state: State) -> bool | None:
        """Return the reference's value of the condition; None if the state is unknown or the reference cannot evaluate
        it.
        """
        if any(state[k] is None for k in self._needed):
            return None
        try:
            (answer,) = self.evaluate(self._condition_text, [np.asarray(state[k]) for k in self._needed])
        except XlaToPythonError:
            return None
        return bool(answer)

    @cached_property
    def _condition(self) -> tuple[Instruction, list[Instruction]]:
        """The root of the condition, inlined over a parameter for each element of the state, and these parameters."""
        shapes = array_leaves(self.instruction.shape)
        parameters = [new_parameter(f"state.{k}", shape.without_layout()) for k, shape in enumerate(shapes)]
        state = tree_of(self.instruction.shape, iter(parameters), "state")
        return inlined(self.instruction["condition"], [state]), parameters

    @cached_property
    def _needed(self) -> list[int]:
        root, parameters = self._condition
        needed = set(ordered(root))
        return [k for k, parameter in enumerate(parameters) if parameter in needed]

    @cached_property
    def _condition_text(self) -> str:
        root, parameters = self._condition
        used = [parameters[k] for k in self._needed]
        return print_module(module_of(root, used, self.like.name, kept_header(self.like), self.like))

    def _computed(self, state: State, wanted: Collection[int]) -> State:
        """Return the state after the last iteration. The reference computes elements that emitted code does not, such
        as counters.
        """
        missing = [k for k in sorted(wanted) if state[k] is None]
        if not missing or not self.ends:
            return state
        end = self.ends[-1]
        parts = _parts(self.body.computation.root)
        known = known_instructions(self.body, self.graph, end.values)
        checked = [parts[k] for k in missing if parts[k] in self.body.values]
        step = step_of(self.body, known, self.like, checked)
        arrays = step.arrays(self.body, self.graph, end.values)
        try:
            expected = step.expected(self.evaluate(print_module(step.module), arrays))
        except XlaToPythonError:
            return state
        made = list(state)
        for k in missing:
            if parts[k] in expected:
                (made[k],), _ = expected[parts[k]]
        return made


def _parts(root: Instruction) -> list[Instruction]:
    """Return the instructions that give the arrays of a root, in order."""
    if root.opcode != "tuple":
        return flat(root)
    return [part for operand in root.operands for part in _parts(operand)]
