"""Fewer numbered names: after a function is written, names lose their numbers, or get lower ones, where possible.
Where not, a value gets its next best name.

While a function is written, equal names are kept apart if the writer does not know all their reads yet. The liveness of
names in the finished statements, including branches, loops and closures, is known (:mod:`..python.liveness`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..array.node import Node
from ..python.liveness import LiveNames
from ..python.names import renamed, renamed_expression
from .functions.context import Writing
from .naming.identifiers import identifier
from .naming.known_types import KnownType, agree


def reuse_names(writer: Writing) -> None:
    """Rename the values of a written function, in its lines and in the state of its writer."""
    arrays = _names_of_arrays(writer.texts)
    families: dict[str, list[str]] = {}  # wanted name: the names with a number, the lowest first
    for name, base in writer.names.numbered.items():
        if name in arrays:
            families.setdefault(base, []).append(name)
    if not families:
        return
    tracked = {name for base, names in families.items() for name in (base, *names) if name in arrays}
    parameters = {name.lstrip("*") for name, _ in writer.arguments.heads}
    live = LiveNames(tracked)
    live.read([(line.indent, line.text) for line in writer.lines], parameters)
    types: dict[str, set[KnownType | None]] = {name: set() for name in tracked}
    for node, text in writer.texts.items():
        if text in types:
            types[text].add(writer.allocation.known_types.get(node))
    new_names: dict[str, str] = {}
    for base, names in families.items():
        is_own = base not in writer.names.numbered  # else the names of that family may become it, too
        leaders = [base] if is_own and base in tracked - live.fixed else []
        members = [name for name in names if name not in live.fixed]
        new_names |= _renamed(leaders, members, live, parameters, types)
    for names in families.values():
        left = [name for name in names if name in tracked - new_names.keys() and name not in new_names.values()]
        if parameters.isdisjoint(left) and live.fixed.isdisjoint(left):
            new_names |= _other_names(writer, left)
    if new_names:
        _rename(writer, new_names)


def _other_names(writer: Writing, numbered: Sequence[str]) -> dict[str, str]:
    """Return other names for the numbered names of a family, if each stands for one value that has a free one."""
    found: dict[str, str] = {}
    for name in numbered:
        words = [words for node, words in writer.wanted.others.items() if writer.texts.get(node) == name]
        free = (word for word in map(identifier, *words) if writer.names.free(word) == word) if len(words) == 1 else ()
        word = next((word for word in free if word not in found.values()), "")
        if not word:
            return {}
        found[name] = word
    writer.names.taken.update(found.values())
    return found


def _names_of_arrays(texts: Mapping[Node, str]) -> set[str]:
    """Return the names that only stand for arrays, never for a Python number."""
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
    """Return the new names of ``members``: the first of ``leaders`` and earlier members that may stand for both."""
    beside = {leader: set(live.interfering[leader]) for leader in leaders}
    held = {leader: set(types[leader]) for leader in leaders}  # remaining name: the types of its values

    def may_stand_for(own: str, name: str) -> bool:
        return name not in beside[own] and agree(held[own], types[name])

    renamed: dict[str, str] = {}
    unused: list[str] = []  # lower numbers that have become free
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


def _rename(writer: Writing, names: Mapping[str, str]) -> None:
    """Put the new names into lines, their records of computed and bound values, and the texts of values."""
    for node, text in writer.texts.items():
        writer.texts[node] = renamed_expression(text, names)
    for line in writer.lines:
        line.text = renamed(line.text, names)
        for known in (line.values, line.inside, line.after):
            known.update((node, renamed(text, names)) for node, text in known.items())
