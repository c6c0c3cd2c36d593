"""A kernel: operations on the elements of arrays that a device does at once, reading and writing memory once."""

from __future__ import annotations

from dataclasses import dataclass, field

from .node import Node
from .program import Function, tree_nodes


@dataclass(eq=False, slots=True)
class Kernel:
    """What a ``kernel`` node calls.

    ``function`` computes one element of the ``loop``: its parameters are what is read at that element, a ``read`` node
    reads an array elsewhere. ``inputs`` are the nodes of the caller that the parameters stand for, ``outputs`` those
    that the results stand for. The threads of one row of the loop (its last axis) compute together where there are
    ``reductions`` over rows in the function.
    """

    function: Function
    loop: tuple[int, ...]
    inputs: list[Node] = field(default_factory=list)
    outputs: list[Node] = field(default_factory=list)
    whole: set[Node] = field(default_factory=set)  # parameters: arrays that are read by `read` nodes
    reductions: set[Node] = field(default_factory=set)  # over the rows: nodes of the function

    @property
    def has_loop(self) -> bool:
        """The results are what a loop carries."""
        return any(node.opcode == "item" for node in tree_nodes(self.function.results))

    @property
    def by_rows(self) -> bool:
        """Threads compute rows together."""
        return bool(self.reductions)

    @property
    def is_read_whole(self) -> bool:
        """No input has the shape of the loop: the call says how large it is."""
        return all(p in self.whole or p.shape != self.loop for p in self.function.parameters)
