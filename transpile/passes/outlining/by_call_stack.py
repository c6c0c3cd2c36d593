"""A Python function that was traced several times becomes one function that is called several times."""

from __future__ import annotations

import heapq
import re
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from ...hlo.ir import (
    Computation,
    HloModule,
    Instruction,
    OpMetadata,
    callees_first,
    with_called,
    with_instructions,
)
from ...hlo.shapes import TupleShape
from ...hlo.stack_frames import CallChains
from .common_body import Readers, common_body, most_saved, saved, short
from .copies import Outline, columns
from .traced_calls import Activations, Constants, Copy, Numbers, activations, work

# Operations of a function that is traced in a loop and around it, for which a call stands twice.
_LEAST_AROUND_LOOPS = 10
_RUNNING = frozenset(("while", "conditional", "call"))
_WORD = re.compile(r"[A-Za-z]\w*|\d+", re.ASCII)

Originals = dict[Instruction, tuple[Instruction, ...]]  # the instructions that each new one replaces
_Found = tuple[Activations, Outline[Instruction]]


def outlining(module: HloModule, *, around_loops: bool = False) -> tuple[HloModule, Originals]:
    """The module with its repeated Python functions as computations that are called; with ``around_loops``, also those
    that were traced before a loop or branch and in it.
    """
    if not module.stack_frames:
        return module, {}
    outlined = _Outlining(module)
    return outlined.module(around_loops), outlined.originals


class _Outlining:
    def __init__(self, module: HloModule) -> None:
        self.original = module
        self.chains = CallChains(module)
        self.numbers = Numbers()
        self.constants = Constants(self.numbers)
        self.names = {computation.name for computation in module.computations}
        self.made: list[Computation] = []
        self.originals: Originals = {}

    def stands_for(self, made: Instruction, given: Iterable[Instruction]) -> None:
        """Record the instructions that an instruction was made from."""
        found = (original for instruction in given for original in self.originals.get(instruction, (instruction,)))
        self.originals[made] = tuple(dict.fromkeys(found))

    def stands_for_one(self, made: Instruction, given: Instruction) -> None:
        """Record the one instruction that an instruction was made from."""
        self.originals[made] = self.originals.get(given, (given,))

    def stand_for_called(self, given: tuple[Instruction, ...]) -> None:
        """Record that the computations that the first instruction calls replace those of the corresponding
        instructions.
        """
        for computations in zip(*(instruction.called for instruction in given), strict=True):
            if len(set(computations)) > 1:
                for same in zip(*(computation.instructions for computation in computations), strict=True):
                    self.stands_for(same[0], same)
                    self.stand_for_called(same)

    def module(self, around_loops: bool) -> HloModule:
        """Rewrite all computations, callees first, so that each finds its callees already rewritten."""
        rewritten: dict[Computation, Computation] = {}
        called = _called_as_code(self.original)
        for computation in self.original.computations:
            changed = self.calling(computation, rewritten)
            if computation in called:
                changed = self.outlined(changed)
            if changed is not computation:
                rewritten[computation] = changed
            self.made.append(changed)
        entry = rewritten.get(self.original.entry, self.original.entry)
        if around_loops and (whole := self.outlined(entry, around_loops=True)) is not entry:
            return replace(self.original, computations=tuple(callees_first(whole)), entry=whole)
        return replace(self.original, computations=tuple(self.made), entry=entry) if rewritten else self.original

    def outlined(self, computation: Computation, *, around_loops: bool = False) -> Computation:
        """A computation in which the function that saves most is outlined, then the next, and so on; and the same for
        the bodies of those functions. With ``around_loops``, functions that are in several of the computations that it
        runs.
        """
        savings: dict[object, int] = {}
        while True:
            group = callees_first(computation, called=_run_by) if around_loops else [computation]
            for found, outline in self.outlines(group, savings):
                function = self.function(found, outline)
                called: dict[str, Computation] = {"to_apply": function}
                replaced = [self.with_calls(each, outline, found.callers, called) for each in group]
                if None not in replaced:
                    break
            else:
                return computation
            called["to_apply"] = self.outlined(function)
            self.made.append(called["to_apply"])
            changed: dict[Computation, Computation] = {}
            for old, new in zip(group, replaced, strict=True):
                if new is not None and (redirected := self.calling(new, changed)) is not old:
                    changed[old] = redirected
            computation = changed[computation]

    def outlines(self, group: Sequence[Computation], savings: dict[object, int]) -> Iterator[_Found]:
        """Yield the worthwhile outlines in a computation, or in several that each have some of the copies; those that
        save most first, of equal ones the innermost function.

        An outline is computed only when no other is known to save more than its upper bound, which is the saving of the
        same copies when they were last computed, in ``savings``.
        """
        around = Readers(group)
        instructions = [instruction for computation in group for instruction in computation.instructions]
        found = list(activations(instructions, self.chains, self.numbers))
        least_work = _LEAST_AROUND_LOOPS if len(group) > 1 else 0
        if len(group) > 1:
            homes = {each: number for number, computation in enumerate(group) for each in computation.instructions}
            found = [*filter(None, (_in_several(homes, copies) for copies in found))]
        keys = [copies.identity for copies in found]
        bounds = [savings.get(key, most_saved(copies)) for key, copies in zip(keys, found, strict=True)]
        waiting = sorted((bound, k) for k, bound in enumerate(bounds) if bound > 0)
        ready: list[tuple[int, int]] = []
        known: dict[int, Outline[Instruction]] = {}
        while waiting or ready:
            while waiting and (not ready or waiting[-1] > ready[-1]):
                _, k = waiting.pop()
                outline = common_body(around, found[k], self.constants, self.numbers)
                is_much = outline is not None and work(row[0] for row in outline.rows) >= least_work
                savings[keys[k]] = saved(outline) if outline is not None and is_much else 0
                if outline is not None and savings[keys[k]] > 0:
                    known[k] = outline
                    insort(ready, (savings[keys[k]], k))
            if ready:
                _, k = ready.pop()
                yield found[k], known[k]

    # -- writing

    def function(self, found: Activations, outline: Outline[Instruction]) -> Computation:
        """The computation of the first copy, over parameters for its inputs."""
        parameters = {
            column: Instruction(
                f"{_common_name(column)}.{k}", "parameter", column[0].shape, attributes={"parameter_number": k}
            )
            for k, column in enumerate(outline.inputs)
        }
        instructions = list(parameters.values())
        self.originals.update((parameter, ()) for parameter in instructions)
        made: dict[Instruction, Instruction] = {}

        def operand(column: tuple[Instruction, ...]) -> Instruction:
            return parameters.get(column) or made.get(column[0]) or add(column)

        def add(row: tuple[Instruction, ...]) -> Instruction:
            new = row[0].replace(operands=tuple(map(operand, columns(row))))
            made[row[0]] = new
            self.stands_for(new, row)
            self.stand_for_called(row)
            instructions.append(new)
            return new

        for row in outline.rows:
            add(row)
        results = tuple(made[row[0]] for row in outline.outputs)
        root = results[0]
        if len(results) > 1:
            root = Instruction("results", "tuple", TupleShape(tuple(r.shape for r in results)), results)
            self.originals[root] = ()
            instructions.append(root)
        name = ("d_" if found.is_gradient else "") + short(found.function_name)
        return Computation(self._free_name(name), tuple(instructions), root)

    def _free_name(self, base: str) -> str:
        number = next(n for n in range(1, len(self.names) + 2) if f"{base}.{n}" not in self.names)
        self.names.add(f"{base}.{number}")
        return f"{base}.{number}"

    def with_calls(
        self,
        computation: Computation,
        outline: Outline[Instruction],
        callers: Sequence[int],
        called: dict[str, Computation],
    ) -> Computation | None:
        """The computation with a call for each copy in it; None if a copy depends on its own results through other
        code.

        ``called`` are the attributes that all calls share: the function in it may be replaced as long as nothing has
        read them.
        """
        function, inside = called["to_apply"], set(computation.instructions)
        replaced: dict[Instruction, Instruction] = {}  # an output of a copy: its replacement
        added: list[Instruction] = []
        name = function.name.replace(".", "_")
        for number, caller in enumerate(callers):
            if outline.rows[0][number] not in inside:
                continue
            operands = tuple(column[number] for column in outline.inputs)
            outputs = [row[number] for row in outline.outputs]
            metadata = self._called_at(caller, outputs[0])
            call = Instruction(f"{name}.call.{number}", "call", function.root.shape, operands, called, metadata)
            added.append(call)
            self.stands_for(call, outputs)
            if len(outputs) == 1:
                replaced[outputs[0]] = call
            else:
                for k, output in enumerate(outputs):
                    item = Instruction(
                        f"{call.name}.{k}", "get-tuple-element", output.shape, (call,), {"index": k}, metadata
                    )
                    added.append(item)
                    self.stands_for(item, [output])
                    replaced[output] = item
        if not added:
            return computation
        gone = {instruction for row in outline.rows for instruction in row}
        kept = [instruction for instruction in computation.instructions if instruction not in gone]
        ordered = _ordered([*kept, *added], replaced, {i: k for k, i in enumerate(computation.instructions)})
        if ordered is None:
            return None
        return self.rebuilt(computation, ordered, replaced, {})

    def _called_at(self, caller: int, output: Instruction) -> OpMetadata:
        """The metadata of a call: the source location of the calling line."""
        name = output.metadata.op_name if output.metadata is not None else ""
        return self.chains.frames[caller - 1].located(OpMetadata(op_name=name, stack_frame_id=caller))

    def calling(self, computation: Computation, rewritten: dict[Computation, Computation]) -> Computation:
        """The computation with its calls directed to the rewritten computations."""
        if not any(called in rewritten for i in computation.instructions for called in i.called):
            return computation
        return self.rebuilt(computation, list(computation.instructions), {}, rewritten)

    def rebuilt(
        self,
        computation: Computation,
        instructions: list[Instruction],
        replaced: dict[Instruction, Instruction],
        rewritten: dict[Computation, Computation],
    ) -> Computation:
        """The computation with these instructions in this order, with some operands and called computations
        replaced.
        """
        current: dict[Instruction, Instruction] = {}  # of those that have been replaced
        replacing: dict[Instruction, list[Instruction]] = {}
        for old, new in replaced.items():
            replacing.setdefault(new, []).append(old)
        made: list[Instruction] = []
        places: dict[Instruction, Instruction] = {}  # of all so far
        for instruction in instructions:
            new = instruction
            if not current.keys().isdisjoint(instruction.operands):
                new = new.on(tuple(current.get(operand, operand) for operand in instruction.operands))
            if rewritten and not rewritten.keys().isdisjoint(instruction.called):
                new = new.replace(
                    attributes={
                        k: with_called(v, lambda called: rewritten.get(called, called))
                        for k, v in new.attributes.items()
                    }
                )
            if "control-predecessors" in new.attributes:
                attributes = {name: with_instructions(value, places) for name, value in new.attributes.items()}
                new = new.replace(attributes=attributes)
            if new is not instruction:
                self.stands_for_one(new, instruction)
                current[instruction] = new
            for old in replacing.get(instruction, ()):
                current[old] = places[old] = new
            places[instruction] = new
            made.append(new)
        return replace(computation, instructions=tuple(made), root=current.get(computation.root, computation.root))


def _common_name(given: tuple[Instruction, ...]) -> str:
    """The words in which the argument names of all calls end, such as ``w`` for ``params[0]['w']`` and
    ``params[1]['w']``.

    If there are none, those in which they begin, such as ``weights`` for ``weights[0]`` and ``weights[1]``.
    """
    paths: list[list[str]] = []
    for instruction in given:
        path = instruction.metadata.op_name if instruction.metadata is not None else ""
        paths.append(_WORD.findall(path) if instruction.opcode == "parameter" else [])
    ends = _common([words[::-1] for words in paths])[::-1]
    return "_".join([word for word in ends if not word.isdigit()] or _common(paths)) or "x"


def _common(paths: Iterable[Sequence[str]]) -> list[str]:
    """The common prefix of the sequences."""
    return [words[0] for words in takewhile(lambda words: len(set(words)) == 1, zip(*paths, strict=False))]


def _run_by(computation: Computation) -> list[Computation]:
    """The computations that loops, branches and calls run."""
    return [each for i in computation.instructions if i.opcode in _RUNNING for each in i.called]


def _in_several(homes: Mapping[Instruction, int], found: Activations) -> Activations | None:
    """The copies that are each in one computation, whose number ``homes`` gives, and run no loop; None if all are in
    the same.
    """
    copies: list[Copy] = []
    callers: list[int] = []
    places: set[int] = set()
    for copy, caller in zip(found.copies, found.callers, strict=True):
        own = {homes[instruction] for instruction in copy.values()}
        if len(own) == 1 and not any(i.opcode in ("while", "conditional") for i in copy.values()):
            copies.append(copy)
            callers.append(caller)
            places |= own
    return replace(found, copies=copies, callers=callers) if len(places) > 1 else None


def _called_as_code(module: HloModule) -> set[Computation]:
    """The entry, and the computations that loops, branches and calls run, but not scalar reducers."""
    called = {module.entry}
    for instruction in module.instructions():
        if instruction.opcode in _RUNNING:
            called.update(instruction.called)
    return called


def _ordered(
    instructions: list[Instruction], replaced: dict[Instruction, Instruction], places: dict[Instruction, int]
) -> list[Instruction] | None:
    """The instructions with operands first, otherwise in the old order; None if there is a cycle."""
    position = dict(places)
    for old, new in replaced.items():
        position[new] = places[old]
        for call in (o for o in new.operands if o not in places):
            position[call] = min(places[old], position.get(call, places[old]))
    given = sorted(instructions, key=lambda instruction: position.get(instruction, 0))
    waiting: dict[Instruction, list[int]] = {}  # by an instruction that must come first: the places of those after it
    missing: dict[int, int] = {}  # how many operands each waiting instruction still lacks
    ordered: dict[Instruction, None] = {}
    for place, instruction in enumerate(given):
        needed = [operand for o in instruction.operands if (operand := replaced.get(o, o)) not in ordered]
        if needed:
            missing[place] = len(needed)
            for operand in needed:
                waiting.setdefault(operand, []).append(place)
            continue
        free = [place]
        while free:
            instruction = given[heapq.heappop(free)]
            ordered[instruction] = None
            for k in waiting.pop(instruction, ()):
                missing[k] -= 1
                if not missing[k]:
                    heapq.heappush(free, k)
    return list(ordered) if len(ordered) == len(given) else None
