"""The branches that are known to be taken inside of other branches."""

from __future__ import annotations

from collections.abc import Iterator

from ...array.node import Node
from ...hlo.element_types import PRED

Taken = dict[tuple[Node, int], int]  # the number of the taken branch, by the selecting node and the branch count


def taken_inside(which: Node, number: int, count: int) -> Taken:
    """Return the facts inside of a branch: the same choice leads there, and the parts of a flag are known."""
    if which.element_type is not PRED:
        return {(which, count): number}
    return {(flag, 2): int(holds) for flag, holds in _implied(which, bool(number))}


def taken_by(which: Node, count: int, taken: Taken) -> int | None:
    """Return the number of the branch that a number or a flag selects, if the enclosing branches determine it;
    or None.
    """
    if which.opcode == "not" and which.element_type is PRED:
        opposite = taken_by(which.operands[0], count, taken)
        return None if opposite is None else 1 - opposite
    return taken.get((which, count))


def _implied(flag: Node, holds: bool) -> Iterator[tuple[Node, bool]]:
    """Yield the flags that follow from one: both parts of an ``and`` that holds, or of an ``or`` that does not."""
    waiting = [(flag, holds)]
    while waiting:
        flag, holds = waiting.pop()
        yield flag, holds
        if flag.opcode == "not":
            waiting.append((flag.operands[0], not holds))
        elif flag.opcode == ("and" if holds else "or"):
            waiting += [(part, holds) for part in flag.operands]
