"""How a written module uses the functions of the prelude."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence

from ....array.node import Node
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
    called: Counter[str] = Counter()
    named: Counter[str] = Counter()
    use = re.compile(rf"\b({'|'.join(nodes)})\b(\(?)")
    for line in lines:
        for word, bracket in use.findall(line.text):
            (called if bracket else named)[word] += 1
    for text in others:
        named.update(word for word, _ in use.findall(text))
    return {
        name: [call_of(node, known_sizes) for node in own]
        for name, own in nodes.items()
        if not named[name] and 0 < called[name] <= len(own)
    }


def without_arguments(line: Line, lost: Mapping[str, Mapping[str, int]]) -> None:
    """Take arguments out of the calls in a line: of each function, the parameters that it has no longer, by name, and
    their places."""
    for name in lost:
        at = 0
        while (found := re.compile(rf"\b{name}\(").search(line.text, at)) is not None:
            old = _call_at(line.text, found.start())
            new = _shortened(old, lost[name])
            at = found.start() + len(name) + 1
            if new != old:
                line.text = line.text.replace(old, new)
                line.values.update({node: text.replace(old, new) for node, text in line.values.items()})


def _call_at(text: str, start: int) -> str:
    """The call that begins at a place: up to the first bracket behind which it is one."""
    end = start
    while True:
        end = text.index(")", end) + 1
        try:
            ast.parse(text[start:end], mode="eval")
        except SyntaxError:
            continue
        return text[start:end]


def _shortened(text: str, lost: Mapping[str, int]) -> str:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    places = set(lost.values())
    parts: Sequence[str | None] = [
        *(ast.get_source_segment(text, part) for k, part in enumerate(call.args) if k not in places),
        *(f"{word.arg}={ast.get_source_segment(text, word.value)}" for word in call.keywords if word.arg not in lost),
    ]
    return f"{ast.unparse(call.func)}({', '.join(part or '' for part in parts)})"
