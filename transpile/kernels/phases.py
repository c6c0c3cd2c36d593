"""The loops over a line in which its reductions are computed: one after another if one depends on another.

Values of an earlier loop that a later one needs are kept for each element, or recomputed from memory if a line is too
long for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field

from ..array.node import Node
from ..array.program import tree_nodes
from ..array.traversal import dependencies, topological
from ..dataclass import dataclass
from .index_maps import Offset
from .kernel import Kernel
from .operations import RUNNING

_WORD = 32  # bits


@dataclass(slots=True)
class Phase:
    """One loop over a line, and the values computed before it, once for the line."""

    before: list[Node] = field(default_factory=list)
    inside: list[Node] = field(default_factory=list)  # in the order of the computation
    reductions: list[Node] = field(default_factory=list)
    results: list[Node] = field(default_factory=list)  # elements that the loop writes


@dataclass(slots=True)
class Phases:
    """The loops of a kernel; ``kept`` are the values that later loops take from earlier ones."""

    loops: list[Phase]
    kept: set[Node]
    words: int  # of 32 bits, the most that are kept for one element


def everything(node: Node) -> bool:
    """Keep every value that a later loop needs again."""
    return True


def nothing(node: Node) -> bool:
    """Keep no value: later loops recompute what they need."""
    return False


def phases(kernel: Kernel, keeps: Callable[[Node], bool]) -> Phases:
    """Return the loops of a kernel. Of the values that later loops need again, those that ``keeps`` accepts are kept,
    the others recomputed.
    """
    results = tree_nodes(kernel.function.results)
    nodes = topological(results)
    level: dict[Node, int] = {}
    for node in nodes:
        level[node] = max((level[needed] + (needed in kernel.reductions) for needed in dependencies(node)), default=0)
    once = once_for_a_line(kernel, nodes)
    made = [Phase() for _ in range(max(level.values()) + 1)]
    for node in nodes:
        if node in kernel.reductions:
            made[level[node]].reductions.append(node)
        elif node in once:
            made[level[node]].before.append(node)
    for node in results:
        if node not in kernel.of_lines:
            made[level[node]].results.append(node)
    read = _from_memory(nodes, once)
    computed: dict[Node, int] = {}  # the loop that computes it
    last: dict[Node, int] = {}  # the last loop that uses it
    for number, phase in enumerate(made):
        wanted = [node.operands[0] for node in phase.reductions] + phase.results
        ends = {node for node in computed if node in read and keeps(node)}
        inside = _needed(wanted, once, ends)
        last |= {node: number for node in inside if node in ends}
        phase.inside = [node for node in inside if node not in ends]
        computed |= {node: number for node in phase.inside if node not in computed}
    widths = {node: -(-node.type.bits // _WORD) for node in last}
    taken = (
        sum(width for node, width in widths.items() if computed[node] <= number < last[node])
        for number in range(len(made))
    )
    return Phases(made, set(last), max(taken, default=0))


def _needed(wanted: Iterable[Node], once: set[Node], ends: set[Node]) -> list[Node]:
    """Return the nodes that a loop computes for ``wanted``, including the ``ends`` where the computation begins."""
    order = topological(wanted, lambda node: () if node in ends or node in once else node.operands)
    return [node for node in order if node not in once]


def once_for_a_line(kernel: Kernel, nodes: Iterable[Node]) -> set[Node]:
    """Return the nodes that are the same for all elements of a line, given the nodes in topological order."""
    found: set[Node] = set()
    assert kernel.lines is not None
    for node in nodes:
        differs = any(kernel.lines.is_along(t.divisor, t.modulus) for place in _places(node) for t in place.terms)
        differs = differs or node.opcode in RUNNING
        if node in kernel.reductions or (not differs and all(needed in found for needed in dependencies(node))):
            found.add(node)
    return found


def _places(node: Node) -> Iterator[Offset]:
    """Yield the offsets that a node depends on: its read, its indices, and the tests of pieces."""
    if "at" in node.parameters:
        yield node.parameters["at"]
    yield from node.parameters.get("places", ())
    yield from (each.place for test in node.parameters.get("tests", ()) for each in test)


def _from_memory(nodes: Iterable[Node], once: set[Node]) -> set[Node]:
    """Return the nodes that are read for each element, or computed from such reads; other nodes follow from the number
    of the element.
    """
    found: set[Node] = set()
    for node in nodes:
        if node not in once and ("at" in node.parameters or any(operand in found for operand in node.operands)):
            found.add(node)
    return found
