"""``del scores`` after the last use of a large array, if that lowers the peak of live bytes.

A name keeps its array until the function ends. That matters only for arrays of 64 MiB and more. A ``del`` line is
written if it lowers the peak of live bytes, counted for every statement from the static shapes, by a quarter.

Only names that a plain assignment of the function's own body bound are deleted, after a whole statement of that body (a
loop or a branch is one), and only if no later statement reads them. A possible view of another array is taken to keep
that array alive. Arguments belong to the caller, and are live all the time.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from ...array.node import Node
from ...array.program import Loop
from ...dataclass import dataclass
from ...python.liveness import Block, blocks
from ...python.templates import template_of
from ..lines import LARGE, Line

if TYPE_CHECKING:
    from .function_writer import FunctionWriter

_PART_TO_SAVE = 0.25  # of the peak, the least that is worth it
_PART_TO_WASTE = 0.05  # of the peak, given up for fewer lines

Array = tuple[int, str]  # the statement that allocated an array, and its name there


@dataclass(slots=True)
class _Step:
    """A statement of a function's own body.

    ``end`` is the position after its last line. ``made`` has the bytes of new arrays by name, ``looks`` the names whose
    arrays a name may be a view of, and ``passing`` the bytes that are live only while the statement runs.
    """

    end: int
    is_assignment: bool
    reads: set[str] = field(default_factory=set)
    binds: set[str] = field(default_factory=set)
    captured: set[str] = field(default_factory=set)
    made: dict[str, int] = field(default_factory=dict)
    looks: dict[str, set[str]] = field(default_factory=dict)
    passing: int = 0


Releases = Mapping[int, set[str]]  # by the number of a step: the names to let go after it


def release(writers: Iterable[FunctionWriter]) -> None:
    """Add the ``del`` lines to written functions, callees first."""
    peaks: dict[str, int] = {}
    for writer in writers:
        given = _arguments(writer)
        if not any(node.nbytes >= LARGE for node in writer.plan.nodes):
            continue
        steps = _steps(writer, peaks)
        chosen, peak = _chosen(steps, given)
        for number in sorted(chosen, reverse=True):
            names = sorted(chosen[number])
            writer.lines.insert(steps[number].end, Line(1, writer.renderer.statement("release", names)))
        peaks[writer.renderer.function_names[writer.function]] = peak - sum(given.values())


def _arguments(writer: FunctionWriter) -> dict[str, int]:
    """Return the bytes of the arguments by their names in the head."""
    found: Counter[str] = Counter()
    for node in writer.function.parameters:
        found[str(writer.texts[node]).split("[")[0].split(".")[0]] += node.nbytes
    return dict(found)


# -- arrays and reads of each step


def _steps(writer: FunctionWriter, peaks: Mapping[str, int]) -> list[_Step]:
    lines = writer.lines
    starts = [k for k, line in enumerate(lines) if line.indent == 1 and not template_of(line.text).continues]
    statements = blocks([(line.indent, line.text) for line in lines])
    return [
        _step(writer, block, lines[start:end], end, peaks)
        for block, start, end in zip(statements, starts, [*starts[1:], len(lines)], strict=True)
    ]


def _step(writer: FunctionWriter, block: Block, lines: list[Line], end: int, peaks: Mapping[str, int]) -> _Step:
    step = _Step(end, isinstance(block.tree, ast.Assign))
    for part in block.walk():
        step.reads |= part.names.read
        step.binds |= part.names.bound - part.names.fixed
        step.captured |= part.names.later | (part.all() if isinstance(part.tree, ast.FunctionDef) else set())
    step.passing = max((size for name, size in peaks.items() if name in step.reads), default=0)
    for line in lines:
        for node, name in line.after.items():
            if str(name).isidentifier():
                size, looks = _made(node, name, step.reads, writer.plan.named)
                step.made[name] = max(size, step.made.get(name, 0))
                step.looks.setdefault(name, set()).update(looks)
        inner = [node.nbytes for node in line.values if node not in line.after and node.operation.allocates]
        step.passing = max([step.passing, *inner])
    counters = block.names.bound if isinstance(block.tree, ast.For) and len(block.names.bound) == 1 else set()
    for name in step.binds - set(step.made) - counters:
        step.looks[name] = set(step.reads)
    return step


def _made(node: Node, name: str, reads: set[str], named: set[Node]) -> tuple[int, set[str]]:
    """Return the bytes of the new array that a node may be, and the names whose arrays it may be a view of."""
    while node.operation.is_view and node.operands:
        node = node.operands[0]
        if node in named:
            return 0, reads
    maker = node.operands[0] if node.opcode == "item" else node
    if maker.opcode == "loop":
        loop: Loop = maker.parameters["loop"]
        following = loop.carries[node.parameters["index"]].following
        if following is None:
            return 0, {name}  # filled in place
        runs = loop.is_fixed and loop.trip_count > 0
        return node.nbytes, set() if runs and following.operation.allocates else reads
    return node.nbytes, set() if maker.operation.allocates else reads


# -- names to delete


def _chosen(steps: list[_Step], given: Mapping[str, int]) -> tuple[Releases, int]:
    """Return the deletions that are worth it, and the peak of live bytes with them."""
    before, large = _peak(steps, given, {})
    everything = [(number, name) for number, name in _possible(steps) if name in large[number]]
    least, _ = _peak(steps, given, _grouped(everything))
    if least > before * (1 - _PART_TO_SAVE):
        return {}, before
    kept = list(everything)
    enough = min(least + before * _PART_TO_WASTE, before * (1 - _PART_TO_SAVE))
    for candidate in everything:  # most of them hardly lower the peak
        fewer = [other for other in kept if other != candidate]
        if _peak(steps, given, _grouped(fewer))[0] <= enough:
            kept = fewer
    return _grouped(kept), _peak(steps, given, _grouped(kept))[0]


def _grouped(releases: Iterable[tuple[int, str]]) -> dict[int, set[str]]:
    grouped: dict[int, set[str]] = {}
    for number, name in releases:
        grouped.setdefault(number, set()).add(name)
    return grouped


def _possible(steps: list[_Step]) -> list[tuple[int, str]]:
    """Return pairs of a step and a name that is bound after it and not read again before its next assignment."""
    captured = {name for step in steps for name in step.captured}
    needed: set[str] = set()  # live after the current step
    found: list[tuple[int, str]] = []
    bound: list[set[str]] = [set()]
    for step in steps:
        bound.append(bound[-1] | step.binds if step.is_assignment else bound[-1])
    for number in range(len(steps) - 1, -1, -1):
        step = steps[number]
        mentioned = step.reads | step.binds
        if number < len(steps) - 1:
            found += [(number, name) for name in sorted(mentioned & bound[number + 1] - needed - captured)]
        needed = (needed - step.binds) | step.reads if step.is_assignment else needed | mentioned
    return found[::-1]


def _peak(steps: list[_Step], given: Mapping[str, int], releases: Releases) -> tuple[int, list[set[str]]]:
    """Return the peak of live bytes, and for each step the names that hold a large array after it."""
    sizes: dict[Array, int] = {(-1, name): size for name, size in given.items()}
    held: dict[str, set[Array]] = {name: {(-1, name)} for name in given}
    holders = Counter(dict.fromkeys(sizes, 2))  # one holder is the caller, for the whole call
    live = peak = sum(sizes.values())
    large: list[set[str]] = []
    for number, step in enumerate(steps):
        made: dict[str, set[Array]] = {}
        for name in {*step.made, *step.looks}:
            made[name] = {array for other in step.looks.get(name, ()) for array in held.get(other, ())}
            if step.made.get(name):
                sizes[number, name] = step.made[name]
                made[name].add((number, name))
        for arrays in made.values():
            for array in arrays:
                live += 0 if holders[array] else sizes[array]
                holders[array] += 1
        peak = max(peak, live + step.passing)
        gone = [held.pop(name) for name in made if name in held]
        held.update(made)
        gone += [held.pop(name) for name in releases.get(number, ()) if name in held]
        for array in (array for arrays in gone for array in arrays):
            holders[array] -= 1
            live -= 0 if holders[array] else sizes[array]
        large.append({name for name in made.keys() | step.reads if any(sizes[a] >= LARGE for a in held.get(name, ()))})
    return peak, large
