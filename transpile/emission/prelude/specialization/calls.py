"""The calls of prelude functions in a written module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping

from ....array.node import Node
from ....python.calls import Lost, uses_of, without_arguments
from ....python.modules import mentioned
from ...lines import Line
from .lattice import Call, call_of


def calls_of(
    nodes: Mapping[str, Collection[Node]], lines: Iterable[Line], others: Iterable[str], known_sizes: Container[int]
) -> dict[str, list[Call]]:
    """Return the calls of each function that only ``nodes`` call.

    ``lines`` are the program's lines. Names in ``others``, the texts besides them, are used in unknown ways. Only sizes
    in ``known_sizes`` are facts; others are unknown.
    """
    if not nodes:
        return {}
    uses = Counter[tuple[str, bool]]()
    for line in lines:
        uses.update(uses_of(line.text, nodes))
    named = {name for text in others for name in mentioned(text)}
    return {
        name: [call_of(node, known_sizes) for node in own]
        for name, own in nodes.items()
        if name not in named and not uses[name, False] and 0 < uses[name, True] <= len(own)
    }


def cut_calls(line: Line, lost: Lost) -> None:
    """Remove lost arguments from the calls in a line."""
    line.text = without_arguments(line.text, lost)
    line.values.update({node: without_arguments(text, lost) for node, text in line.values.items()})
