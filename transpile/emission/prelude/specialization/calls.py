"""How a written module uses the functions of the prelude."""

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
    """The calls of each function that nothing but ``nodes`` calls.

    ``lines`` are all that is written for the program, ``others`` the texts beside them, where a name that appears is
    used in a way that nobody knows. Arrays have the ``known_sizes`` of nodes, and any in place of others.
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
    """Take arguments out of the calls in a line."""
    line.text = without_arguments(line.text, lost)
    line.values.update({node: without_arguments(text, lost) for node, text in line.values.items()})
