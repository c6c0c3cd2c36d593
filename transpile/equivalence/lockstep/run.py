"""Finds the first instruction that emitted code gets wrong.

The emitted text runs with a probe for each value. Then the reference computes every HLO instruction from the operands
that the emitted code had, so a difference was introduced by that instruction: an error in the operands is in the
reference's result as well. The first difference in the order of the run is the one to look at.

A loop is checked in two parts: its body, instruction by instruction in each iteration, and its state: whether it starts
from the operands, passes each value to the next iteration, continues as the condition says, and returns the last state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from ...array.graph import Graph
from ...array.node import Node, Region
from ...array.program import Function, Loop, Scope, roots
from ...array.traversal import topological
from ...dataclass import dataclass
from ...emission.lines import WrittenFunction
from ...emission.module.generated import GeneratedModule
from ...errors import XlaToPythonError
from ...hlo.carriers import Array
from ...hlo.ir import HloModule, Instruction
from ...hlo.printer import print_module
from ...hlo.shapes import without_layouts
from ..reference.xla_process import run_hlo_in_child
from ..shrinking.cases import array_leaves, module_of, new_parameter
from ..verdicts.comparison import Budget, LeafResult, compare_leaf
from ..verdicts.sensitivity import excused, moved
from ..verdicts.tolerances import EXACT, budgets_for
from .loops import LoopFault, LoopRun
from .probes import Instrumented, instrument
from .recorder import Event, record
from .steps import BodyEnd, Check, Expected, Step, checkable, emitted_leaves, known_instructions, state_nodes, step_of

Evaluate = Callable[[str, Sequence[Array]], list[Array]]
Record = Callable[[GeneratedModule, Sequence[Any]], tuple[list[Event], str]]


@dataclass(frozen=True, slots=True)
class Divergence:
    """An instruction that introduces an error.

    ``line`` is in the emitted text, ``source`` is the user's ``file:line`` or empty, ``iterations`` are the numbers of
    the iterations of the loops around it, outermost first. ``inside`` are earlier instructions whose values emitted
    code does not have: the error may be theirs. ``leaf`` compares emitted code with the reference; ``note`` describes
    the error of a loop.
    """

    instruction: Instruction
    line: int
    text: str
    source: str
    iterations: tuple[int, ...]
    inside: tuple[Instruction, ...] = ()
    leaf: LeafResult | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Lockstep:
    """The result of a run in lockstep: errors in the order in which they were made.

    ``checked`` counts comparisons of an instruction, ``unchecked`` names instructions that the reference refuses;
    ``failure`` is the reason why the run ended early.
    """

    divergences: tuple[Divergence, ...]
    checked: int
    unchecked: tuple[str, ...] = ()
    failure: str = ""

    @property
    def first(self) -> Divergence | None:
        return self.divergences[0] if self.divergences else None


def lockstep(
    module: HloModule,
    emitted: GeneratedModule,
    arguments: Sequence[Any],
    source: str | None = None,
    *,
    record: Record = record,
    evaluate: Evaluate = lambda text, arrays: run_hlo_in_child(text, *arrays),
) -> Lockstep:
    """Run an emitted module in lockstep with the reference.

    ``emitted`` is the module that :func:`xla2py.emit` made of ``module``; ``source`` is an edited text to run instead.
    ``arguments`` are those of ``main``, nested like its parameters. ``record`` runs the text with probes, by default in
    this process; ``evaluate`` returns the results of HLO text on arrays.
    """
    probed = instrument(emitted, source)
    events, failure = record(probed.module, arguments)
    judge = _Judge(module, probed, source or emitted.source, evaluate)
    judge.replay(events)
    judge.judge()
    order = sorted(judge.found, key=lambda found: found[0])
    return Lockstep(tuple(found for _, found in order), judge.checked, tuple(dict.fromkeys(judge.unchecked)), failure)


@dataclass(slots=True)
class _Frame:
    """A running function."""

    number: int
    begun: int
    values: dict[Node, Array] = field(default_factory=dict)
    times: dict[Node, int] = field(default_factory=dict)
    lines: dict[Node, int] = field(default_factory=dict)
    loops: list[tuple[int, int, int]] = field(default_factory=list)  # loop, iteration, time of its start
    runs: dict[int, list[BodyEnd]] = field(default_factory=dict)  # the finished iterations of each loop


class _Judge:
    def __init__(self, module: HloModule, probed: Instrumented, text: str, evaluate: Evaluate) -> None:
        self.module = module
        self.probed = probed
        self.lines = text.splitlines()
        self.evaluate = evaluate
        self.found: list[tuple[tuple[int, int], Divergence]] = []
        self.checked = 0
        self.unchecked: list[str] = []
        self.ends: list[BodyEnd] = []
        self._frames: list[_Frame] = []
        self._steps: dict[Any, tuple[Step, str]] = {}
        self._budgets: dict[tuple[Instruction, tuple[Instruction, ...]], list[Budget]] = {}
        self._scopes = [_by_region(function.function) for function in probed.functions]
        self._loops_by_region = {loop.region: loop for function in probed.functions for loop in _loops(function)}
        self._regions = {loop.region: loop.line for loop in probed.loops}  # loop bodies of the text, with their lines

    # -- the events

    def replay(self, events: Sequence[Event]) -> None:
        """Collect the values at the ends of bodies."""
        for time, (kind, number, value) in enumerate(events):
            getattr(self, f"_{kind}")(time, number, value)
        while self._frames:
            self._leave(len(events), 0, None)

    def _enter(self, time: int, number: int, value: Any) -> None:
        self._frames.append(_Frame(number, time))

    def _leave(self, time: int, number: int, value: Any) -> None:
        frame = self._frames[-1]
        while frame.loops:  # the run ended here
            self._end(time, frame.loops[-1][0], None)
        self._frames.pop()
        root = self.probed.functions[frame.number].function.graph.root
        self.ends.append(self._body_end(time, frame, root, frame.begun, set(frame.runs)))

    def _begin(self, time: int, number: int, value: Any) -> None:
        frame = self._frames[-1]
        for probe in self.probed.probes:
            if number in probe.loops:
                frame.values.pop(probe.node, None)
        frame.loops.append((number, len(frame.runs.setdefault(number, [])), time))

    def _end(self, time: int, number: int, value: Any) -> None:
        frame = self._frames[-1]
        inside = {loop for loop in frame.runs if number in self.probed.loops[loop].around}
        end = self._body_end(time, frame, self.probed.loops[number].region, frame.loops[-1][2], inside)
        frame.loops.pop()
        self.ends.append(end)
        frame.runs[number].append(end)

    def _value(self, time: int, number: int, value: Any) -> None:
        probe, frame = self.probed.probes[number], self._frames[-1]
        frame.values[probe.node] = value
        frame.times[probe.node] = time
        frame.lines[probe.node] = probe.line

    def _body_end(self, time: int, frame: _Frame, region: Region, begun: int, inside: set[int]) -> BodyEnd:
        iterations = tuple(iteration for _, iteration, _ in frame.loops)
        runs = {self.probed.loops[loop].region: frame.runs.pop(loop) for loop in inside}
        values, times, lines = dict(frame.values), dict(frame.times), dict(frame.lines)
        return BodyEnd(frame.number, region, values, times, lines, begun, time, iterations, runs)

    # -- the comparison

    def judge(self) -> None:
        """Check the values at the end of every body; ends that need the same module, one after the other."""
        work: dict[str, list[tuple[BodyEnd, Scope, Step]]] = {}
        for end in self.ends:
            graph = self._graph(end)
            for scope in self._scopes[end.function].get(end.region, []):
                if _fits(scope, graph, end):
                    step, text = self._step(scope, graph, end)
                    if step.checks:
                        work.setdefault(text, []).append((end, scope, step))
                    self._loops(scope, end)
        for text, jobs in work.items():
            for end, scope, step in jobs:
                self._check(end, scope, step, text)

    def _graph(self, end: BodyEnd) -> Graph:
        return self.probed.functions[end.function].function.graph

    def _step(self, scope: Scope, graph: Graph, end: BodyEnd) -> tuple[Step, str]:
        known = known_instructions(scope, graph, end.values)
        key = (scope, known)
        if key not in self._steps:
            wanted = [i for i in checkable(scope) if self._has_values(i, scope, graph, end)]
            step = step_of(scope, known, self.module, wanted)
            self._steps[key] = (step, print_module(step.module))
        return self._steps[key]

    def _has_values(self, instruction: Instruction, scope: Scope, graph: Graph, end: BodyEnd) -> bool:
        """Return whether an array of an instruction's result is known, and the instruction is not a loop checked in
        parts.
        """
        if any(inner.region in self._regions for inner in _loop_scopes(instruction, scope)):
            return False
        leaves = emitted_leaves(scope.values[instruction], graph, end.values)
        return any(leaf is not None for leaf in leaves)

    def _check(self, end: BodyEnd, scope: Scope, step: Step, text: str) -> None:
        graph = self._graph(end)
        arrays = step.arrays(scope, graph, end.values)
        try:
            expected = step.expected(self.evaluate(text, arrays))
        except XlaToPythonError:
            self._check_halves(end, scope, step)
            return

        @cache
        def again(seed: int) -> Expected | None:
            try:
                return step.expected(self.evaluate(text, moved(arrays, seed)))
            except XlaToPythonError:
                return None

        for check in step.checks:
            self.checked += 1
            actual = emitted_leaves(scope.values[check.instruction], graph, end.values)
            wrong = self._wrong(check, expected, actual, again)
            if wrong is not None:
                self._report(end, scope, check.instruction, check.inside, wrong)

    def _check_halves(self, end: BodyEnd, scope: Scope, step: Step) -> None:
        """Check each half of a step alone, since the reference refuses some instruction of it."""
        instructions = [check.instruction for check in step.checks]
        if len(instructions) == 1:
            self.unchecked.append(instructions[0].name)
            return
        known = known_instructions(scope, self._graph(end), end.values)
        middle = len(instructions) // 2
        for half in (instructions[:middle], instructions[middle:]):
            part = step_of(scope, known, self.module, half)
            self._check(end, scope, part, print_module(part.module))

    def _wrong(
        self, check: Check, expected: Expected, actual: list[Array | None], again: Callable[[int], Expected | None]
    ) -> LeafResult | None:
        """Return the first bad comparison of emitted code's values with the reference's, or None.

        ``again(seed)`` returns the reference's values for operands that are moved by a rounding error.
        """
        values, magnitudes = expected[check.instruction]
        budgets = self._allowances(check)
        for number, (want, have, budget) in enumerate(zip(values, actual, budgets, strict=True)):
            overflows = bool(magnitudes) and not np.isfinite(magnitudes[number].astype(np.float64)).all()
            if have is not None and not overflows:  # after an overflow, the result depends on the order of the terms
                allowed = with_magnitude(budget, magnitudes[number]) if magnitudes else budget
                leaf = compare_leaf(want, np.asarray(have), allowed, (number,))
                if not leaf.status.is_good and budget != EXACT:  # for example a solve of a nearly singular matrix

                    def moved_to(seed: int, number: int = number) -> Sequence[Array] | None:
                        found = again(seed)
                        return [found[check.instruction][0][number]] if found is not None else None

                    (leaf,) = excused([leaf], [want], [np.asarray(have)], moved_to, lambda seed: None)
                if not leaf.status.is_good:
                    return leaf
        return None

    def _allowances(self, check: Check) -> list[Budget]:
        key = (check.instruction, check.inside)
        if key not in self._budgets:
            self._budgets[key] = allowances(check)
        return self._budgets[key]

    def _loops(self, scope: Scope, end: BodyEnd) -> None:
        graph = self._graph(end)
        for instruction in scope.values:
            inner = [inner for inner in _loop_scopes(instruction, scope) if inner.region in self._regions]
            if inner:
                runs = end.runs.get(inner[0].region, [])
                loop = self._loops_by_region[inner[0].region]
                run = LoopRun(instruction, scope, graph, loop, end, runs, self.module, self.evaluate)
                for fault in run.faults():
                    self._report(end, scope, instruction, (), None, fault)

    def _report(
        self,
        end: BodyEnd,
        scope: Scope,
        instruction: Instruction,
        inside: tuple[Instruction, ...],
        leaf: LeafResult | None,
        fault: LoopFault | None = None,
    ) -> None:
        graph = self._graph(end)
        nodes = [graph.current(node) for node in state_nodes(scope.values[instruction])]
        time = max((end.times[node] for node in nodes if node in end.times), default=end.begun)
        line = next((end.lines[node] for node in nodes if node in end.lines), 0)
        iterations = end.iterations
        if fault is not None:
            time, line = fault.time, self._regions[_loop_scopes(instruction, scope)[0].region]
            iterations = (*iterations, *fault.iterations)
        text = self.lines[line - 1].strip() if line else ""
        source, note = user_place(instruction, self.module), fault.note if fault else ""
        found = Divergence(instruction, line, text, source, iterations, inside, leaf, note)
        place = scope.computation.instructions.index(instruction)
        self.found.append(((time, place), found))


def _loops(function: WrittenFunction) -> list[Loop]:
    nodes = topological(roots(function.function))
    return [node.parameters["loop"] for node in nodes if node.opcode == "loop"]


def _fits(scope: Scope, graph: Graph, end: BodyEnd) -> bool:
    """Return whether the arguments have the shapes of the computation: a combiner of scalars is called with whole
    arrays.
    """
    for parameter in scope.computation.parameters:
        leaves = emitted_leaves(scope.values[parameter], graph, end.values)
        for shape, leaf in zip(array_leaves(parameter.shape), leaves, strict=True):
            if leaf is not None and leaf.shape != shape.dimensions:
                return False
    return True


def _loop_scopes(instruction: Instruction, scope: Scope) -> list[Scope]:
    """Return the scope of a loop's body, in a list that is empty for other instructions."""
    if instruction.opcode != "while":
        return []
    inner = scope.called.get((instruction, instruction["body"]))
    return [inner] if inner is not None and inner.region.kind == "loop" else []


def _by_region(function: Function) -> dict[Region, list[Scope]]:
    """Return all scopes of a function by the region that computes them: the body of a loop, or that of the function."""
    found: dict[Region, list[Scope]] = {}
    for scope in function.scopes:
        home = next(region for region in scope.region.path() if region.kind not in ("branch", "block"))
        found.setdefault(home, []).append(scope)
    return found


def user_place(instruction: Instruction, module: HloModule) -> str:
    """Return ``file:line`` of the user's source that an instruction comes from; "" if the module does not say."""
    metadata = instruction.metadata
    if metadata is None:
        return ""
    if metadata.source_line:
        return f"{metadata.source_file}:{metadata.source_line}"
    if 0 < metadata.stack_frame_id <= len(module.stack_frames):
        frame = module.stack_frames[metadata.stack_frame_id - 1]
        return f"{frame.file_name}:{frame.line}"
    return ""


# -- the allowances of instructions


def allowances(check: Check) -> list[Budget]:
    """Return the allowance of each array of an instruction, as of a program of the instruction and those that only the
    reference computes.
    """
    given: dict[Instruction, Instruction] = {}
    made: dict[Instruction, Instruction] = {}
    for part in (*check.inside, check.instruction):
        for operand in part.operands:
            if operand not in made and operand.opcode != "constant":
                given.setdefault(operand, new_parameter(operand.name, without_layouts(operand.shape)))
        operands = (made.get(operand) or given.get(operand, operand) for operand in part.operands)
        made[part] = part.replace(operands=tuple(operands))
    return budgets_for(module_of(made[check.instruction], given.values(), "budget"))


def with_magnitude(budget: Budget, magnitude: Array) -> Budget:
    """Return the allowance with the rounding of sums measured by their terms: for ``n`` terms, ``n eps`` of their
    magnitudes.
    """
    sizes = magnitude.astype(np.float64)
    largest = float(np.max(sizes, initial=0.0))
    _, absolute = budget.tolerance(magnitude.dtype)
    eps = float(ml_dtypes.finfo(magnitude.dtype).eps)
    return replace(budget, absolute=absolute + 4 * eps * budget.terms * largest)
