"""The order of assignments whose new values are computed from the old ones."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from ...walks import reached

Pair = tuple[str, str]  # a name, and the text of its new value

_NAME = re.compile(r"""(?<![.\w"'])[^\W\d]\w*""")  # no attribute, and no key of a dict


def mentions(text: str, names: Container[str]) -> bool:
    """Return whether a text reads one of the names."""
    return any(name in names for name in _NAME.findall(text))


def one_after_another(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Return groups of assignments in an order such that no value reads a name that an earlier group changed.

    A group has several assignments only if their values read each other's names, as in ``a, b = b, a``.
    """
    readers = {
        name: [k for k, (own, value) in enumerate(pairs) if own != name and mentions(value, {name})]
        for name, _ in pairs
    }
    groups = []
    left = dict(enumerate(pairs))
    while left:
        first = min((_no_later_than(k, left, readers) for k in left), key=len)
        groups.append([left.pop(k) for k in sorted(first)])
    return groups


def _no_later_than(k: int, left: dict[int, Pair], readers: dict[str, list[int]]) -> set[int]:
    """Return an assignment with those that must be made before it or with it."""
    return set(reached([k], lambda each: (reader for reader in readers[left[each][0]] if reader in left)))
