"""The Threefry cipher in line, as JAX writes it for GPUs: 20 rounds, and a word of the key after every 4.

It is found from its second word backwards. A round is recognised by its rotation, which names the word before it; that
the first words are the sums that they should be is then shown for all of them, whatever the order of the terms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, literal_value
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.support import Support
from ...dataclass import dataclass
from ...hlo.element_types import U32
from ..rewriting.patterns import Bindings, pattern
from .words import GROUPS, ROTATIONS, cipher_call

_WORD = 2**32
_MOST_TERMS = 16  # that sums are taken apart into
_ROUND = {
    rotation: f"xor(x, or_(shift_left(y, {rotation}), shift_right_logical(y, {32 - rotation})))"
    for rotations in ROTATIONS
    for rotation in rotations
}


@dataclass(frozen=True, slots=True)
class _Cipher:
    """The words that the rounds start from, the key, and the first word after the last round."""

    initial: tuple[Node, Node]
    keys: tuple[Node, Node, Node]
    last: Node


def cipher_rounds(function: Function, supports: Support) -> None:
    """Put a result of ``threefry_2x32`` in place of each word that rounds of the cipher make."""
    graph, live = function.graph, live_nodes(function)
    if not live.of(("shift-left",)):
        return
    firsts: dict[Node, Node] = {}

    def rule(node: Node) -> Node | None:
        found = _cipher(graph, live, node)
        call = cipher_call(graph, found.initial, found.keys) if found is not None else None
        if found is None or call is None:
            return None
        words = [graph.add("item", (call,), index=index) for index in range(2)]
        if words[1].shape != node.shape:
            return None
        for user in live.users(found.last):
            if user.shape == node.shape and _is_sum(live, user, (found.last, found.keys[GROUPS % 3])):
                firsts[user] = words[0]
        return words[1]

    rewrite(function, ("add",), rule, supports, lambda node: node.element_type is U32)
    rewrite(function, ("add",), firsts.get, supports, firsts.__contains__)


def _cipher(graph: Graph, live: LiveNodes, second: Node) -> _Cipher | None:
    """The cipher that a node is the second word of."""
    keys: dict[int, Node] = {}
    rounds: list[tuple[Node, Node]] = []  # from the last: the first word in it, and the second word before it
    word = second
    for group in range(GROUPS, 0, -1):
        rotations = ROTATIONS[(group - 1) % 2]
        injected = _without_key(graph, word, group, _ROUND[rotations[-1]])
        if injected is None or keys.setdefault((group + 1) % 3, injected[1]) is not injected[1]:
            return None
        word = injected[0]
        for rotation in reversed(rotations):
            found = pattern(_ROUND[rotation]).match(word) or _of_small_word(word, rotation)
            if found is None:
                return None
            word = found["y"]
            rounds.append((found["x"], word))
    rounds.reverse()
    for count, ((before, _), (after, given)) in enumerate(pairwise(rounds), 1):
        key = () if count % 4 else (keys[count // 4 % 3],)
        if not _is_sum(live, after, (before, given, *key)):
            return None
    first = _difference(graph, *rounds[0])
    return _Cipher((first, word), (keys[0], keys[1], keys[2]), rounds[-1][0]) if first is not None else None


def _of_small_word(word: Node, rotation: int) -> Bindings | None:
    """The match of a round in which the bits that go around are known to be 0, as in the first of small counts."""
    found = pattern(f"xor(x, or_(shift_left(y, {rotation}), 0))").match(word)
    within = found["y"].interval if found is not None else None
    return found if within is not None and 0 <= within[0] <= within[1] < 1 << (32 - rotation) else None


def _without_key(graph: Graph, word: Node, group: int, last_round: str) -> tuple[Node, Node] | None:
    """The word after the rounds of a group and the word of the key that is added to it with the number of the group."""
    terms, number = _terms(word)
    made = [term for term in terms if pattern(last_round).match(term) is not None]
    others = [term for term in terms if term not in made]
    if len(made) != 1 or len(others) > 1:
        return None
    rest = (number - group) % _WORD
    if not others:
        return made[0], graph.literal(rest, U32)
    return (made[0], others[0]) if not rest else None


def _terms(word: Node) -> tuple[list[Node], int]:
    """Return the terms of a sum of three, in whatever order it is made, and what those that are numbers come to."""
    terms = [word]
    for _ in range(2):
        place = next((place for place, term in enumerate(terms) if term.opcode == "add"), None)
        if place is not None:
            terms[place : place + 1] = terms[place].operands
    return [term for term in terms if not term.is_literal], sum(int(literal_value(t)) for t in terms if t.is_literal)


def _difference(graph: Graph, total: Node, term: Node) -> Node | None:
    """What a word is added to, to give the total."""
    if total is term:
        return graph.literal(0, U32)
    rest = list(total.operands) if total.opcode == "add" else []
    if term not in rest:
        return None
    rest.remove(term)
    return rest[0]


def _is_sum(live: LiveNodes, total: Node, terms: Sequence[Node]) -> bool:
    """Tell whether a node is the sum of others, in whatever order it is made.

    The difference of both sides is taken apart, latest nodes first, until nothing is left of it.
    """
    difference, number = Counter({total: 1}), 0
    difference.subtract(terms)
    for _ in range(_MOST_TERMS):
        for literal in [node for node in difference if node.is_literal]:
            number += difference.pop(literal) * int(literal_value(literal))
        difference = Counter({node: count for node, count in difference.items() if count % _WORD})
        if not difference:
            return number % _WORD == 0
        latest = max(difference, key=live.place)
        if latest.opcode != "add":
            return False
        count = difference.pop(latest)
        for operand in latest.operands:
            difference[operand] += count
    return False
