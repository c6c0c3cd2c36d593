"""The block function of a loop that goes through chunks: it does the steps of one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any

from ...transpile.array.graph import Graph
from ...transpile.array.node import Node, Slot
from ...transpile.array.program import Function, Loop, Store
from ...transpile.array.traversal import body_and_captured, topological
from ...transpile.hlo.ir import Computation
from .groups import in_one_chunk
from .phases import Phases
from .steps import Steps, is_number
from .tracing import Copier, Source, Trace

OWN_ARRAYS = ("copy", "empty")  # what a loop writes into


@dataclass(frozen=True, slots=True)
class StepsBlock:
    """A block function, which is given the numbers of its steps if it is ``numbered``, what goes from chunk to chunk,
    chunks of ``rows``, which lie along ``axes``, and arrays that it needs ``whole``."""

    function: Function
    numbered: bool
    rows: tuple[Source, ...]
    axes: tuple[int, ...]
    whole: tuple[Source, ...]

    def keywords(self, steps: Steps) -> dict[str, Any]:
        """Of the call that applies it. The operands are what ``steps`` begin with, rows and what is whole, and arrays
        like those that the steps write."""
        slots = map(Slot, count())
        groups = (("carries", steps.carried), ("rows", self.rows), ("whole", self.whole), ("out", steps.written))
        found: dict[str, Any] = {name: tuple(islice(slots, len(group))) for name, group in groups if group}
        axes = (*self.axes, *steps.written.values())
        options = {"axes": axes, "reverse": steps.loop.step < 0, "numbered": self.numbered}
        return found | {name: value for name, value in options.items() if (any(axes) if name == "axes" else value)}


class StepsCopier(Copier):
    """Copies a loop so that its counter begins with 0 in each chunk; ``numbers`` are those of the chunk's steps."""

    def __init__(self, trace: Trace, function: Function, origin: Graph, steps: Steps) -> None:
        super().__init__(trace, function, origin)
        self.steps = steps
        self.numbers = self.graph.parameter((), None, self.graph.root, python_int=True)
        self.counter = self.numbers  # until the loop is copied

    def number(self, loop: Loop, counter: Node) -> Node:
        if loop is not self.steps.loop:
            return counter
        self.counter, self.graph.instruction = counter, None
        return self.graph.typed(
            "step",
            (self.numbers, counter),
            (),
            counter.element_type,
            python_int=True,
            interval=counter.interval,
        )

    def node(
        self, node: Node, operands: tuple[Node, ...], outer: dict[Node, Node], key: tuple[object, ...] = ()
    ) -> Node:
        if node in self.steps.reads and self.trace.cuts.is_cut(node.operands[0]):
            pairs = zip(node.operands, operands, strict=True)
            operands = tuple(self.counter if is_number(given, self.steps.loop) else made for given, made in pairs)
        return super().node(node, operands, outer, key)

    def index(self, store: Store, made: dict[Node, Node]) -> tuple[Node, ...]:
        return (self.counter,) if store.carry in self.steps.written else super().index(store, made)


def steps_block(node: Node, phases: Phases, computation: Computation, origin: Graph) -> StepsBlock:
    """The block function of a loop: its results are those of ``steps.carried``, then those of ``steps.written``."""
    cuts = phases.cuts
    steps, trace = cuts.classes.steps[node], phases.before_steps(node)
    block = Function(
        computation, Graph(), block_of=(node,), loop=steps.loop, origin=origin, note=in_one_chunk(trace, cuts)
    )
    graph, copier = block.graph, StepsCopier(trace, block, origin, steps)
    copier.copy()
    outer = {
        part: copier.made[part, tuple(letter.of for letter in phases.letters_in_steps(trace, steps, part))]
        for part in body_and_captured(node)[1]
    }
    given = list(zip(trace.sources.values(), block.parameters, strict=True))
    rows = [(source, p) for source, p in given if any(letter.of is not None for letter in source.letters)]
    whole = [(source, p) for source, p in given if all(letter.of is None for letter in source.letters)]
    counted = next((part for part in steps.read if cuts.is_cut(part)), None)
    graph.region, graph.instruction = graph.root, origin.origins.get(node)
    first, axis = (outer[counted], steps.read[counted]) if counted is not None else (copier.numbers, 0)
    length = graph.typed("length", (first,), python_int=True, interval=(0, steps.length), axis=axis)
    started: dict[Node, Node] = {}
    initials = []
    for carry in steps.loop.carries:
        p = carry.parameter
        if carry in steps.written:
            array = graph.typed("empty", (length,), p.shape, p.element_type, pinned=True, rows=steps.written[carry])
            initials.append(array)
            continue
        begin = graph.parameter(p.shape, p.element_type, graph.root, interval=p.interval)
        started[p] = begin
        own = carry.initial.opcode in OWN_ARRAYS
        initials.append(graph.typed("copy", (begin,), p.shape, p.element_type, pinned=True) if own else begin)
    loop = replace(copier.loop(steps.loop, tuple(initials), outer), count=length)
    graph.region, graph.instruction = graph.root, origin.origins.get(node)
    made = graph.typed("loop", tuple(initials), results=node.results, pinned=True, loop=loop)
    ordered = [*steps.carried, *steps.written]
    results = [
        graph.typed("item", (made,), c.parameter.shape, c.parameter.element_type, index=steps.loop.carries.index(c))
        for c in ordered
    ]
    block.results = results[0] if len(results) == 1 else tuple(results)
    numbered = copier.numbers in topological(results)
    block.parameters = [
        *([copier.numbers] if numbered else []),
        *(started[carry.parameter] for carry in steps.carried),
        *(p for _, p in (*rows, *whole)),
    ]
    block.sources = (
        *([copier.numbers] if numbered else []),
        *(carry.parameter for carry in steps.carried),
        *(source.node for source, _ in (*rows, *whole)),
    )
    axes = tuple(
        next(axis for axis, letter in enumerate(source.letters) if letter.of is not None) for source, _ in rows
    )
    return StepsBlock(block, numbered, tuple(s for s, _ in rows), axes, tuple(s for s, _ in whole))
