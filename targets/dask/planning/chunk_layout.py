"""The chunks of a program by the positions of its nodes, so that the same program at other sizes can be cut alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....transpile.array.node import Node
from ....transpile.array.program import Function
from ....transpile.dataclass import dataclass
from ....transpile.errors import Diagnostic, UnsupportedError
from .axis_classes import Axis, nodes_of
from .chunks import Chunks
from .nodes import name_of, shape_of
from .propagation import Choices, classified, propagated

NodeStructure = tuple[str, int, tuple[int, ...]]  # operation, number of axes, positions of operands


@dataclass(frozen=True, slots=True)
class Round:
    """One choice of chunks for a function.

    ``structure``, ``shapes`` and ``strategies`` have an entry for each node, operands first. An entry of ``lengths`` is
    the position of a node, one of its axes, and the chunk length of the axis's class.
    """

    structure: tuple[NodeStructure, ...]
    shapes: tuple[tuple[int, ...], ...]
    strategies: tuple[str, ...]
    lengths: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, chunks: Chunks, choices: Choices) -> Round:
        """Return the round that describes these chunks."""
        nodes = chunks.classes.nodes
        numbers = {node: number for number, node in enumerate(nodes)}
        return cls(
            _structure(nodes),
            tuple(map(shape_of, nodes)),
            tuple(choices[node].name for node in nodes),
            tuple((numbers[node], axis, length) for (node, axis), length in chunks.lengths.items()),
        )

    def applied(self, function: Function, memory: int | None) -> tuple[Chunks, Choices]:
        """Return the chunks of the same function at other sizes.

        Raises UnsupportedError (XP424) if the function's structure differs, or if a node needs another strategy.
        """
        if _structure(nodes_of(function)) != self.structure:
            raise UnsupportedError(Diagnostic("XP424", "the program does not compute the same at all sizes"))
        classes = classified(function, memory, self.shapes)
        lengths: Mapping[Axis, int] = {classes.find(classes.nodes[k], axis): n for k, axis, n in self.lengths}
        chunks, choices = propagated(classes, lengths)
        for node, name in zip(classes.nodes, self.strategies, strict=True):
            if choices[node].name != name:
                raise UnsupportedError(_other(node, name, choices[node].name))
        return chunks, choices


@dataclass(frozen=True, slots=True)
class ChunkLayout:
    """The rounds of chunks for a program: it is legalized after each round but the last."""

    rounds: tuple[Round, ...]


def _structure(nodes: Sequence[Node]) -> tuple[NodeStructure, ...]:
    """Return the parts of a function that must be the same at all sizes."""
    numbers = {node: number for number, node in enumerate(nodes)}
    rows = ((name_of(x), len(shape_of(x)), tuple(numbers[operand] for operand in x.operands)) for x in nodes)
    return tuple(rows)


def _other(node: Node, planned: str, found: str) -> Diagnostic:
    message = f"{name_of(node)} is done as {planned} at the sizes that are planned for, and as {found} at others"
    return Diagnostic("XP424", message)
