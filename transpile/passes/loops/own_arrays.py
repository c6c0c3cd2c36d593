"""Loops begin with a copy of what they change step by step, so that none is made in their rounds."""

from __future__ import annotations

from ...array.in_place import is_own_array, leads_back
from ...array.live import live_nodes
from ...array.program import Function, Loop
from ...array.support import Support


def own_arrays(function: Function, supports: Support) -> None:
    """Have loops begin with arrays of their own, where all that they do to one is to change it, outermost loops first:
    what a loop within changes is then the loop's own.
    """
    if not supports.features.arrays_are_mutable:
        return
    for node in sorted(live_nodes(function).of(("loop",)), key=lambda node: node.region.depth):
        loop: Loop = node.parameters["loop"]
        for carry in loop.carries:
            if not is_own_array(carry.initial) and leads_back(loop, carry):
                with function.graph.inside(node.region):
                    carry.initial = function.graph.add("copy", (carry.initial,), pinned=True)
        initials = tuple(carry.initial for carry in loop.carries)
        if initials != node.operands:
            object.__setattr__(node, "operands", initials)
            function.live = None
