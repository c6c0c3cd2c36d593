"""Walks through graphs of any kind, without recursion."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def reached(starts: Iterable[T], following: Callable[[T], Iterable[T]]) -> Iterator[T]:
    """Yield all that is reached from ``starts``, these included, each once and before what follows it."""
    waiting, seen = list(starts), set[T]()
    while waiting:
        item = waiting.pop()
        if item not in seen:
            seen.add(item)
            yield item
            waiting += following(item)


def operands_first(roots: Iterable[T], needs: Callable[[T], Sequence[T]]) -> list[T]:
    """Return all that ``roots`` need, these included, each once and behind all that it needs itself."""
    order: dict[T, None] = {}
    entered: set[T] = set()
    stack = list(roots)[::-1]
    while stack:
        item = stack[-1]
        if item not in entered:
            entered.add(item)
            waiting = [each for each in needs(item)[::-1] if each not in entered]
            if waiting:
                stack += waiting
                continue
        order[stack.pop()] = None
    return list(order)
