"""How threads go over their lines: one loop for each reduction that needs another.

What a loop needs of an earlier one, a thread has kept, an element in each register, or computes again from memory
where its share of a line is too long for that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..array.node import Node
from ..array.program import tree_nodes
from ..array.traversal import topological
from .index_maps import Offset
from .kernel import Kernel

_REGISTER = 32  # bits


@dataclass(slots=True)
class Phase:
    """One loop over a line, and what is computed before it, once for the line."""

    before: list[Node] = field(default_factory=list)
    inside: list[Node] = field(default_factory=list)  # in the order of the computation
    reductions: list[Node] = field(default_factory=list)
    results: list[Node] = field(default_factory=list)  # elements that are written


@dataclass(slots=True)
class Phases:
    """The loops of a kernel; ``kept`` is what later ones take from earlier ones."""

    loops: list[Phase]
    kept: set[Node]
    registers: int  # for each element that a thread keeps, at most


def phases(kernel: Kernel, keeps: bool) -> Phases:
    """The loops of a kernel whose threads keep what they need again, or do not."""
    results = tree_nodes(kernel.function.results)
    nodes = topological(results)
    level: dict[Node, int] = {}
    for node in nodes:
        level[node] = max((level[operand] + (operand in kernel.reductions) for operand in node.operands), default=0)
    once = _once_for_a_line(kernel, nodes)
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
    computed: dict[Node, int] = {}  # in which loop
    last: dict[Node, int] = {}  # that takes what is kept
    for number, phase in enumerate(made):
        wanted = [node.operands[0] for node in phase.reductions] + phase.results
        ends = set(computed) & read if keeps else set()
        inside = _needed(wanted, once, ends)
        last |= {node: number for node in inside if node in ends}
        phase.inside = [node for node in inside if node not in ends]
        computed |= {node: number for node in phase.inside if node not in computed}
    widths = {node: -(-node.type.bits // _REGISTER) for node in last}
    taken = (
        sum(width for node, width in widths.items() if computed[node] <= number < last[node])
        for number in range(len(made))
    )
    return Phases(made, set(last), max(taken, default=0))


def _needed(wanted: Iterable[Node], once: set[Node], ends: set[Node]) -> list[Node]:
    """What must be computed in a loop, and the ``ends`` at which that begins."""
    order = topological(wanted, lambda node: () if node in ends or node in once else node.operands)
    return [node for node in order if node not in once]


def _once_for_a_line(kernel: Kernel, nodes: Iterable[Node]) -> set[Node]:
    """What is the same for all elements of a line."""
    found: set[Node] = set()
    for node in nodes:
        places: tuple[Offset, ...] = node.parameters.get("places", ())
        places += (node.parameters["at"],) if node.opcode == "read" else ()
        assert kernel.lines is not None
        differs = any(kernel.lines.is_along(t.divisor, t.modulus) for place in places for t in place.terms)
        if node in kernel.reductions or (not differs and all(operand in found for operand in node.operands)):
            found.add(node)
    return found


def _from_memory(nodes: Iterable[Node], once: set[Node]) -> set[Node]:
    """What is read for each element, or computed of that; the rest follows from the number of the element."""
    found: set[Node] = set()
    for node in nodes:
        if node not in once and (node.opcode == "read" or any(operand in found for operand in node.operands)):
            found.add(node)
    return found
