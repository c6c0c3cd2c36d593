"""Where the author's own statements end, by the lines and calls that XLA keeps: the files need not be at hand."""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node
from ...hlo.ir import HloModule, Instruction
from ...hlo.stack_frames import CallChains

Line = tuple[str, str, int]  # file, function, line


class SourceLines:
    """The statements of the author's that the values of a module come from."""

    def __init__(self, module: HloModule) -> None:
        self.frames = module.stack_frames
        self.chains = CallChains(module)

    def is_statement_end(self, graph: Graph, node: Node, user: Node) -> bool:
        """A value is used in another statement than the one that makes it.

        What a function returns into an expression, or is given by one, is of the same statement.
        """
        made, used = (self._lines(graph.origins.get(each)) for each in (node, user))
        if not made or not used:
            return False
        for one, other in zip(made, used, strict=False):
            if one != other:
                return one[:2] == other[:2]
        return False

    def _lines(self, instruction: Instruction | None) -> list[Line]:
        """The line of each call around an instruction, outermost first, and its own."""
        if instruction is None or instruction.metadata is None:
            return []
        frames = [self.frames[frame_id - 1] for frame_id in self.chains.of(instruction)]
        if frames:
            return [(frame.file_name, frame.function_name, frame.line) for frame in frames]
        metadata = instruction.metadata
        return [(metadata.source_file, "", metadata.source_line)] if metadata.source_line else []
