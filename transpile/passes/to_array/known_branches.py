"""Which branches are taken where code stands that is itself in a branch."""

from __future__ import annotations

from collections.abc import Iterator

from ...array.node import Node
from ...hlo.element_types import PRED

Taken = dict[tuple[Node, int], int]  # by what chooses and of how many: the number of the branch


def taken_inside(which: Node, number: int, count: int) -> Taken:
    """Return what is known inside a branch: that the same choice leads there, and of a flag what it is made from."""
    if which.element_type is not PRED:
        return {(which, count): number}
    return {(flag, 2): int(holds) for flag, holds in _implied(which, bool(number))}


def taken_by(which: Node, count: int, taken: Taken) -> int | None:
    """Return the number of the branch that a number or a flag chooses, as far as what is around tells."""
    if which.opcode == "not" and which.element_type is PRED:
        opposite = taken_by(which.operands[0], count, taken)
        return None if opposite is None else 1 - opposite
    return taken.get((which, count))


def _implied(flag: Node, holds: bool) -> Iterator[tuple[Node, bool]]:
    """Yield the flags that are known where one is: both parts of an ``and`` that holds, of an ``or`` that does not."""
    waiting = [(flag, holds)]
    while waiting:
        flag, holds = waiting.pop()
        yield flag, holds
        if flag.opcode == "not":
            waiting.append((flag.operands[0], not holds))
        elif flag.opcode == ("and" if holds else "or"):
            waiting += [(part, holds) for part in flag.operands]
