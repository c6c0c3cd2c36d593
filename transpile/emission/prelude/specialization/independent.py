"""Specialization of independent groups of prelude functions, with a cache of the groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache

from ....dataclass import dataclass
from ..library import Definition
from .inlining import needed_by
from .lattice import Call
from .specialize import Cut, cut_together

_MOST_KNOWN = 512  # groups of functions


@dataclass(frozen=True, slots=True)
class _Group:
    """Functions that share definitions, with everything that determines how they are specialized."""

    used: tuple[str, ...]
    calls: tuple[tuple[object, ...], ...]
    texts: tuple[tuple[object, ...], ...]
    namespace: str
    definitions: Mapping[str, Definition] = field(compare=False)
    calls_by_name: Mapping[str, Sequence[Call]] = field(compare=False)


def cut(
    definitions: Mapping[str, Definition],
    used: Iterable[str],
    calls: Mapping[str, Sequence[Call]],
    namespace: str = "np",
) -> Cut:
    """Return the prelude functions behind ``used`` names, specialized to the module's ``calls``.

    The result is that of :func:`.specialize.cut_together`.
    """
    found = Cut({}, {})
    for names, needed in _groups(definitions, used):
        group = _Group(
            tuple(names),
            tuple(_told(name, call) for name in names if name in calls for call in calls[name]),
            tuple(_text(definitions[name]) for name in needed),
            namespace,
            definitions,
            {name: calls[name] for name in names if name in calls},
        )
        part = _cut(group)
        found.definitions.update(part.definitions)
        found.lost.update(part.lost)
    return found


@lru_cache(_MOST_KNOWN)
def _cut(group: _Group) -> Cut:
    return cut_together(group.definitions, group.used, group.calls_by_name, group.namespace)


def _told(name: str, call: Call) -> tuple[object, ...]:
    return name, call.arguments, tuple(call.keywords.items()), call.derived


def _text(definition: Definition) -> tuple[object, ...]:
    return (
        definition.name,
        definition.source,
        definition.order,
        definition.module,
        frozenset(definition.imports.items()),
    )


_Sharing = tuple[list[str], dict[str, Definition]]  # names, and all that they need


def _groups(definitions: Mapping[str, Definition], used: Iterable[str]) -> list[_Sharing]:
    """Return the used names in groups that have no definition in common, each with all that it needs."""
    groups: list[_Sharing] = []
    for name in used:
        names, needed = [name], needed_by(definitions, [name])
        for group in [group for group in groups if not needed.keys().isdisjoint(group[1])]:
            groups.remove(group)
            names, needed = [*group[0], *names], group[1] | needed
        groups.append((names, needed))
    return groups
