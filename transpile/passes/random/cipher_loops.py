"""The Threefry cipher as a loop, as JAX writes it for CPUs: 5 groups of 4 rounds."""

from __future__ import annotations

from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.program import Function, Loop
from ...array.rewriting import rewrite
from ...array.support import Support
from ..rewriting.patterns import Bindings, pattern
from .words import GROUPS, ROTATIONS, cipher_call


def _rounds() -> tuple[str, str]:
    """The patterns of both words after the 4 rounds of a group, on words ``x`` and ``y``."""
    x, y = "x", "y"
    for k in range(4):
        amount = f"(r{k} := getitem(rotations, index={(k,)}))"
        x = f"(x{k} := add({x}, {y}))"
        y = f"xor({x}, or_(shift_left({y}, {amount}), shift_right_logical({y}, subtract(32, {amount}))))"
    return x, y


_FIRST, _SECOND = (text for text in _rounds())
_NEXT_FIRST = f"add({_FIRST}, key)"
_NEXT_SECOND = f"add(add({_SECOND}, key), count)"


def cipher_loops(function: Function, supports: Support) -> None:
    """Put a call of ``threefry_2x32`` in place of each loop that is the cipher."""
    live = live_nodes(function)

    def rule(node: Node) -> Node | None:
        if not _is_cipher(live, node):
            return None
        x, y, key1, key2, key0, *_ = node.operands
        return cipher_call(function.graph, (x, y), (key0, key1, key2))

    rewrite(function, ("loop",), rule, supports)


def _is_cipher(live: LiveNodes, node: Node) -> bool:
    """The body is a group of rounds, the carries turn as they should, and only the two words are read afterwards."""
    loop: Loop = node.parameters["loop"]
    carries = loop.carries
    counted = loop.is_fixed and (loop.start, loop.stop, loop.step) in ((1, 6, 1), (0, 5, 1))
    if not counted or loop.stores or loop.effect is not None or len(carries) != 7:
        return False
    if any(user.opcode != "item" or user.parameters["index"] > 1 for user in live.users(node)):
        return False
    x, y, key1, key2, key0, even, odd = (carry.parameter for carry in carries)
    following = [carry.following for carry in carries]
    if following[2:] != [key2, key0, key1, odd, even] or following[0] is None or following[1] is None:
        return False
    given = {"x": x, "y": y, "rotations": even}
    return (
        _holds(_NEXT_FIRST, following[0], given | {"key": key1})
        and _holds(_NEXT_SECOND, following[1], given | {"key": key2}, loop)
        and [_constant(carry.initial) for carry in carries[5:]] == list(ROTATIONS)
    )


def _holds(text: str, node: Node, given: Bindings, loop: Loop | None = None) -> bool:
    """The pattern matches with these meanings of its names; ``count`` is the number of the group, from 1."""
    found = pattern(text).match(node)
    if found is None or any(found[name] is not meaning for name, meaning in given.items()):
        return False
    if loop is None:
        return True
    count, extra = found["count"], 1 - loop.start
    while count.opcode in ("retype", "scalar", "convert"):
        (count,) = count.operands
    if extra and count.opcode == "add":
        (count,) = (part for part in count.operands if part.opcode not in ("integer", "literal"))
        return count is loop.counter and found["count"].interval == (1, GROUPS)
    return not extra and count is loop.counter


def _constant(node: Node) -> tuple[int, ...] | None:
    return tuple(node.parameters["constant"].array.tolist()) if node.opcode == "array" else None
