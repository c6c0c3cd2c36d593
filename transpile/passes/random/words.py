"""The inputs of the Threefry cipher: the words of keys, and the counts that are added to them."""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import Any

from ...array.graph import Graph
from ...array.node import Node, Slot, literal_value
from ...array.operations.inference import broadcast_shapes
from ...array.value import FULL, NEW, filled, getitem
from ...hlo.element_types import U32

GROUPS = 5
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA

Element = tuple[Node, tuple[Any, ...]]


def _element(node: Node) -> Element:
    """Return the array and the index that a single element is read from, through broadcasts and unit axes."""
    while node.opcode in ("broadcast_to", "expand", "full") and prod(node.operands[0].shape) == 1:
        (node,) = node.operands
    if node.opcode != "getitem" or len(node.operands) != 1 or prod(node.shape) != 1:
        return node, ()
    base, inner = node.operands[0], []
    index = [item for item in node.parameters["index"] if item is not NEW]
    for item, size in zip(index, base.shape, strict=False):
        inner.append(range(size)[slice(*item)].start if isinstance(item, tuple) else 0 if item == FULL else item)
    inner += [0] * (base.ndim - len(inner))
    while base.opcode == "getitem" and len(base.operands) == 1 and NEW not in base.parameters["index"]:
        rest = iter(inner)
        outer = []
        source = base.operands[0]
        items = [*base.parameters["index"], *[FULL] * (source.ndim - len(base.parameters["index"]))]
        for item, size in zip(items, source.shape, strict=True):
            outer.append(
                item
                if isinstance(item, int)
                else range(size)[slice(*item) if item != FULL else slice(None)][next(rest)]
            )
        base, inner = source, outer
    return base, tuple(inner)


def _read(node: Node) -> Element:
    """Return the array and the index that words are read from: those of one key, or of several side by side."""
    if prod(node.shape) == 1:
        return _element(node)
    while node.opcode == "expand":
        (node,) = node.operands
    if node.opcode != "getitem" or len(node.operands) != 1:
        return node, ()
    base, index = node.operands[0], [item for item in node.parameters["index"] if item is not NEW]
    chosen = [
        range(size)[slice(*i)] if isinstance(i, tuple) else () for i, size in zip(index, base.shape, strict=False)
    ]
    return base, tuple(own[0] if len(own) == 1 else item for item, own in zip(index, chosen, strict=True))


def _are_keys(key0: Node, key1: Node, key2: Node) -> bool:
    """Return whether the third word of each key is the one that the cipher derives from the first two."""
    while key2.opcode == "expand":
        (key2,) = key2.operands
    words, number = _xor_terms(key2)
    given, known = _xor_terms(key0, key1)
    return words == given and number == known ^ _PARITY


def _xor_terms(*nodes: Node) -> tuple[Counter[Element], int]:
    """Return the terms that nodes combine by xor, by where they are read, and the xor of the literals."""
    words, number, waiting = Counter[Element](), 0, list(nodes)
    while waiting:
        node = waiting.pop()
        if node.opcode == "xor":
            waiting += node.operands
        elif node.is_literal:
            number ^= int(literal_value(node))
        else:
            words[_read(node)] += 1
    return words, number


def key_of(graph: Graph, key0: Node, key1: Node) -> Node | None:
    """Return the key of two words, as part of an array or stacked from them; None for several keys."""
    if prod(key0.shape) != 1:
        return None
    (array, first), (other, second) = _element(key0), _element(key1)
    is_pair = array is other and first and first[:-1] == second[:-1] and (first[-1], second[-1]) == (0, 1)
    if is_pair and array.shape[-1] == 2:
        return getitem(graph, array, [*first[:-1], FULL])
    return graph.add("stack", (key0, key1), axis=0) if key0.ndim == key1.ndim == 0 else None


def _count(graph: Graph, initial: Node, word: Node) -> Node | None:
    """Return the count that was added to a word of the key to give an initial word of the cipher, or None."""
    is_one = prod(word.shape) == 1
    while (is_one and initial.opcode == "expand") or (
        initial.opcode == "broadcast_to" and initial.operands[0].shape in ((), word.shape)
    ):
        (initial,) = initial.operands
    if _is_word(initial, word):
        return graph.literal(0, U32)
    is_expanded = initial.opcode == "expand" and initial.shape == word.shape
    total = initial.operands[0] if is_expanded else initial
    for one, other in (total.operands, total.operands[::-1]) if total.opcode == "add" else ():
        if is_expanded and one.shape == other.shape and _read(other) == _read(word):
            return getitem(graph, one, initial.parameters["index"])
        if not is_expanded and _is_word(other, word):
            return one
    return initial if is_zero(word) else None


def _is_word(node: Node, word: Node) -> bool:
    has_shape = node.shape == word.shape or prod(node.shape) == prod(word.shape) == 1
    return has_shape and _read(node) == _read(word)


def is_zero(node: Node) -> bool:
    return node.is_literal and not literal_value(node)


def cipher_call(graph: Graph, initial: tuple[Node, Node], keys: tuple[Node, Node, Node]) -> Node | None:
    """Return the call of the cipher for two initial words that are words of the key plus counts; None if they are not,
    or the third word of the key does not follow from the others.
    """
    key0, key1, key2 = keys
    counts = _count(graph, initial[0], key0), _count(graph, initial[1], key1)
    if counts[0] is None or counts[1] is None or not _are_keys(key0, key1, key2):
        return None
    first, second = (_spread(graph, count, key1, initial[1].shape) for count in counts if count is not None)
    return prelude_call(graph, "threefry_2x32", (key0, key1, first, second), tuple(map(Slot, range(4))))


def _spread(graph: Graph, count: Node, word: Node, shape: tuple[int, ...]) -> Node:
    """Return the counts of one word, broadcast to the cipher's results unless the key's word does that."""
    if broadcast_shapes(count.shape, word.shape) == shape:
        return count
    if count.is_literal:
        return filled(graph, count, shape)
    if [size for size in shape if size != 1] == list(count.shape):
        return getitem(graph, count, [NEW if size == 1 else FULL for size in shape])
    return graph.add("broadcast_to", (count,), shape=shape)


def prelude_call(graph: Graph, name: str, operands: tuple[Node, ...], arguments: tuple[Any, ...]) -> Node:
    return graph.add("prelude", operands, function=name, arguments=arguments, keywords={})
