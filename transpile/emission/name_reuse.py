"""Fewer numbered names: what could do without its number, or with a lower one, is renamed once a function is written.

Equal names are kept apart while a function is written, wherever its writer does not know yet who reads them. In the
text that is known of branches, loops and closures, too (:mod:`.live_names`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..array.node import Node
from ..python.templates import Expression
from .functions.context import Writing
from .lines import Line
from .live_names import NAME, LiveNames
from .naming.known_types import KnownType, agree

_WORD = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w*")


def reuse_names(writer: Writing) -> None:
    """Rename the values of a written function, in its lines and in what its writer knows of them."""
    arrays = _names_of_arrays(writer.texts)
    families: dict[str, list[str]] = {}  # by the name that was wanted: those with a number, the lowest first
    for name, base in writer.names.numbered.items():
        if name in arrays:
            families.setdefault(base, []).append(name)
    if not families:
        return
    tracked = {name for base, names in families.items() for name in (base, *names) if name in arrays}
    parameters = {name.lstrip("*") for name, _ in writer.arguments.heads}
    live = LiveNames(tracked)
    live.read(writer.lines, parameters)
    types: dict[str, set[KnownType | None]] = {name: set() for name in tracked}
    for node, text in writer.texts.items():
        if text in types:
            types[text].add(writer.allocation.known_types.get(node))
    renamed: dict[str, str] = {}
    for base, names in families.items():
        leaders = [base] if base in tracked - live.fixed else []
        members = [name for name in names if name not in live.fixed]
        renamed |= _renamed(leaders, members, live, parameters, types)
    if renamed:
        _rename_lines(writer.lines, live, renamed)
        _rename_texts(writer, renamed)


def _names_of_arrays(texts: Mapping[Node, str]) -> set[str]:
    """The names that stand for arrays alone, never for a number of Python's."""
    named = [(node, str(text)) for node, text in texts.items() if text.isidentifier()]
    others = {name for node, name in named if node.is_python_int or node.element_type is None}
    return {name for _, name in named} - others


def _renamed(
    leaders: list[str],
    members: Iterable[str],
    live: LiveNames,
    parameters: set[str],
    types: dict[str, set[KnownType | None]],
) -> dict[str, str]:
    """The new names of ``members``: the first of those before them, ``leaders`` included, that may stand for both."""
    beside = {leader: set(live.interfering[leader]) for leader in leaders}
    held = {leader: set(types[leader]) for leader in leaders}  # by the names that stay: the types of their values

    def may_stand_for(own: str, name: str) -> bool:
        return name not in beside[own] and agree(held[own], types[name])

    renamed: dict[str, str] = {}
    unused: list[str] = []  # lower numbers that nobody has any more
    for name in members:
        shared = None if name in parameters else next((own for own in beside if may_stand_for(own, name)), None)
        if shared is None and unused and name not in parameters:
            shared = unused.pop(0)
            beside[shared], held[shared] = set(), set()
        if shared is None:
            beside[name], held[name] = set(live.interfering[name]), set(types[name])
            continue
        renamed[name] = shared
        beside[shared] |= live.interfering[name]
        held[shared] |= types[name]
        unused.append(name)
    return renamed


def _rename_lines(lines: list[Line], live: LiveNames, renamed: Mapping[str, str]) -> None:
    """Put the new names where the names stand, from the back, so that the places of those before stay right."""
    for number, names in live.plain.items():
        if not renamed.keys().isdisjoint(names):
            lines[number].text = NAME.sub(lambda word: renamed.get(word[0], word[0]), lines[number].text)
    found = [node for node in live.places if node.id in renamed]
    for node in sorted(found, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        number, k = live.rows[node.lineno - 2]
        parts = lines[number].text.split("\n")
        row = parts[k].encode()
        begin = node.col_offset - 4 * lines[number].indent
        parts[k] = (row[:begin] + renamed[node.id].encode() + row[begin + len(node.id) :]).decode()
        lines[number].text = "\n".join(parts)


def _rename_texts(writer: Writing, renamed: Mapping[str, str]) -> None:
    """Put the new names into the texts of values, and into what lines say of the values that they compute and bind."""

    def new(text: str) -> str:
        if text in renamed or text.isidentifier():
            return renamed.get(text, text)
        return _WORD.sub(lambda word: renamed.get(word[0], word[0]), text)

    for node, text in writer.texts.items():
        if (other := new(text)) != text:
            writer.texts[node] = Expression(other, text.level)
    for line in writer.lines:
        for known in (line.values, line.inside, line.after):
            for node, name in known.items():
                known[node] = new(name)
