"""The writer of a loop as a function of its own, where a target compiles loops."""

from __future__ import annotations

from typing import Any, Protocol

from ...array.node import Node


class LoopCompiler(Protocol):
    """The part of a target's :class:`.kernels.Declarations` that does that."""

    def compile(self, writer: Any, node: Node) -> None:
        """Write the function of a loop, and its call among the lines of a writer (:class:`.body.FunctionWriter`)."""
        ...

    def kernel(self, writer: Any, node: Node) -> None:
        """Write the lines of a kernel where such a loop calls it."""
        ...

    def numbers(self, writer: Any, node: Node) -> bool:
        """Write the numbers of a small array into one that is there, in such a loop; tell whether that was done."""
        ...

    def overwrite(self, writer: Any, name: str, source: str, node: Node) -> bool:
        """Write that the array ``source``, which is to change, goes into that of a name, where the rounds of such a
        loop write into ``source``; tell whether they do.
        """
        ...

    def change(self, node: Node, name: str) -> bool:
        """Have the kernel before it write what a change gives to the array of a name; tell whether that was done."""
        ...

    def scatter(self, node: Node, name: str) -> None:
        """Write the lines of a scatter in such a loop, into the array of a name."""
        ...
