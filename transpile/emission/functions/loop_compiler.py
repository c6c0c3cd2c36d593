"""The writer of loops as functions of their own, for targets that compile loops."""

from __future__ import annotations

from typing import Any, Protocol

from ...array.node import Node


class LoopCompiler(Protocol):
    """The part of a target's :class:`..kernels.declarations.Declarations` that writes compiled loops."""

    def compile(self, writer: Any, node: Node) -> None:
        """Write the function of a loop, and its call in ``writer`` (:class:`.function_writer.FunctionWriter`)."""
        ...

    def kernel(self, writer: Any, node: Node) -> None:
        """Write the lines of a kernel inline in a compiled loop that calls it."""
        ...

    def numbers(self, writer: Any, node: Node) -> bool:
        """Write the elements of a small array into an existing one in a compiled loop; return whether that was done."""
        ...

    def overwrite(self, writer: Any, name: str, source: str, node: Node) -> bool:
        """Write the copy of ``source``, which is to be updated, into the array of a name; return whether that was done.

        It is done if the iterations of a compiled loop write into ``source``.
        """
        ...

    def change(self, node: Node, name: str) -> bool:
        """Have the preceding kernel write the update into the array of a name; return whether that was done."""
        ...

    def scatter(self, node: Node, name: str) -> None:
        """Write the lines of a scatter into the array of a name, in a compiled loop."""
        ...
