"""JAX's random numbers: raises the Threefry cipher to a call, and its uses to named functions of keys, bits and
numbers.

JAX writes out the cipher, as a loop for CPUs or inline for GPUs. Its counts tell its purpose: one word for each element
(``random_bits``), pairs of words (``split_key``), or the words of one number (``fold_in``).

Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011); ``jax/_src/prng.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, Slot, literal_value
from ...array.operations.inference import broadcast_shapes
from ...array.program import Function, Loop, tree_nodes
from ...array.rewriting import prelude_call, rewrite
from ...array.support import Support
from ...array.value import FULL, NEW, filled, getitem
from ...dataclass import dataclass
from ...hlo.element_types import F32, U32
from ..rewriting.patterns import Bindings, is_zero, pattern
from ..rewriting.rules import Rule, apply_rules

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


def cipher_call(graph: Graph, initial: tuple[Node, Node], keys: tuple[Node, Node, Node]) -> Node | None:
    """Return the call of the cipher for two initial words that are words of the key plus counts; None if they are not,
    or the third word of the key does not follow from the others.
    """
    key0, key1, key2 = keys
    counts = _count(graph, initial[0], key0), _count(graph, initial[1], key1)
    if counts[0] is None or counts[1] is None or not _are_keys(key0, key1, key2):
        return None
    first, second = (_spread(graph, count, key1, initial[1].shape) for count in counts if count is not None)
    return prelude_call(graph, "threefry_2x32", (key0, key1, first, second))


def _spread(graph: Graph, count: Node, word: Node, shape: tuple[int, ...]) -> Node:
    """Return the counts of one word, broadcast to the cipher's results unless the key's word does that."""
    if broadcast_shapes(count.shape, word.shape) == shape:
        return count
    if count.is_literal:
        return filled(graph, count, shape)
    if [size for size in shape if size != 1] == list(count.shape):
        return getitem(graph, count, [NEW if size == 1 else FULL for size in shape])
    return graph.add("broadcast_to", (count,), shape=shape)


_WORD = 2**32
_MOST_TERMS = 16  # sums that are expanded
_ROUND = {
    rotation: f"xor(x, or_(shift_left(y, {rotation}), shift_right_logical(y, {32 - rotation})))"
    for rotations in ROTATIONS
    for rotation in rotations
}


def _rounds() -> tuple[str, str]:
    """Return the patterns of both words after the 4 rounds of a group, from words ``x`` and ``y``."""
    x, y = "x", "y"
    for k in range(4):
        amount = f"(r{k} := getitem(rotations, index={(k,)}))"
        x = f"(x{k} := add({x}, {y}))"
        y = f"xor({x}, or_(shift_left({y}, {amount}), shift_right_logical({y}, subtract(32, {amount}))))"
    return x, y


_FIRST, _SECOND = _rounds()
_NEXT_FIRST = f"add({_FIRST}, key)"
_NEXT_SECOND = f"add(add({_SECOND}, key), count)"


def cipher_loops(function: Function, supports: Support) -> None:
    """Replace each loop that is the cipher by a call of ``threefry_2x32``."""
    live = live_nodes(function)

    def rule(node: Node) -> Node | None:
        if not _is_loop(live, node):
            return None
        x, y, key1, key2, key0, *_ = node.operands
        return cipher_call(function.graph, (x, y), (key0, key1, key2))

    rewrite(function, ("loop",), rule, supports)


def _is_loop(live: LiveNodes, node: Node) -> bool:
    """Return whether a loop is the cipher: the body is a group of rounds, the carries rotate in order, and only the two
    words are used.
    """
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
    """Return whether the pattern matches with these bindings. With a ``loop``, ``count`` must be the number of the
    group, from 1.
    """
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


_SMALLEST = 2.0**-23  # the smallest fraction of JAX's uniform floats above 0


def threefry(function: Function, supports: Support) -> None:
    """Raise the cipher, then JAX's uses of its words."""
    cipher_loops(function, supports)
    cipher_rounds(function, supports)
    live, graph = live_nodes(function), function.graph
    if _cipher_of(function) is not None or not any(map(_is_cipher, live.of(("prelude", "call")))):
        return
    named: set[Node] = set()

    def rule(node: Node) -> Node | None:
        if node.opcode == "item":
            return _word(graph, node, node.operands[0]) if node.operands[0] in named else None
        made = _named(graph, live, node) if _is_cipher(node) else None
        if made is not None:
            named.add(made)
        return made

    rewrite(function, ("prelude", "call", "item"), rule, supports)
    apply_rules(function, RULES, supports)


def _is_cipher(node: Node) -> bool:
    """Return whether a node is a call of the cipher, or of a function that only calls it."""
    if node.opcode == "call":
        return _cipher_of(node.parameters["function"]) is not None
    return node.opcode == "prelude" and node.parameters["function"] == "threefry_2x32"


def _cipher_of(function: Function) -> Node | None:
    """Return the cipher if a function only returns both words of it, for its parameters and numbers; else None.

    JAX has such a function for each shape.
    """
    parts = tree_nodes(function.results)
    cipher = parts[0].operands[0] if [part.opcode for part in parts] == ["item", "item"] else None
    if cipher is None or cipher.opcode != "prelude" or not _is_cipher(cipher):
        return None
    is_whole = parts[1].operands[0] is cipher and [part.parameters["index"] for part in parts] == [0, 1]
    is_given = all(word.is_literal or word in function.parameters for word in cipher.operands)
    return cipher if is_whole and is_given else None


def _words_of(graph: Graph, node: Node) -> list[Node]:
    """Return the words of the key and the counts that the cipher, or a function that only calls it, is given."""
    function = node.parameters["function"]
    cipher = _cipher_of(function) if node.opcode == "call" else None
    if cipher is None:
        return list(node.operands)
    given = dict(zip(function.parameters, node.operands, strict=True))
    return [given.get(word) or graph.literal(literal_value(word), U32) for word in cipher.operands]


def _named(graph: Graph, live: LiveNodes, node: Node) -> Node | None:
    """Return the named call that makes the words of a key and two counts, if these are a pattern of JAX's; or None."""
    key0, key1, first, second = _words_of(graph, node)
    key, shape = key_of(graph, key0, key1), node.results[1][0]
    if key is None or not is_zero(_spread_out(first)):
        return None
    items = live.users(node)
    mixed = {reader for item in items for reader in live.users(item)}
    is_read_once = len(items) == 2 and len(mixed) == 1 and not any(map(live.is_root, items))
    together = is_read_once and all(reader.opcode == "xor" for reader in mixed)
    if _counts_up(second, shape) and (together or len(shape) == 1):
        name, size = ("random_bits", shape) if together else ("split_key", shape[0])
        return prelude_call(graph, name, (key,), (Slot(0), size))
    count = _spread_out(second)
    if count.ndim or prod(shape) != 1 or together:
        return None
    data: Any = int(literal_value(count)) if count.is_literal else Slot(1)
    return prelude_call(graph, "fold_in", (key, count)[: 1 if count.is_literal else 2], (Slot(0), data))


def _spread_out(count: Node) -> Node:
    """Return the number that is broadcast to a count, or the count itself."""
    is_number = count.operation.is_filled or count.opcode in ("broadcast_to", "expand")
    return count.operands[0] if is_number and not count.operands[0].ndim else count


def _counts_up(node: Node, shape: tuple[int, ...]) -> bool:
    """Return whether a node is 0, 1, 2, .. over an array of the shape in row-major order."""
    steps = _steps(node)
    if steps is None or steps[0] != 0:
        return False
    given = [(size, step) for size, step in zip(node.shape, steps[1], strict=True) if size != 1]
    sizes = [size for size in shape if size != 1]
    return given == [(size, prod(sizes[axis + 1 :])) for axis, size in enumerate(sizes)]


def _steps(node: Node) -> tuple[int, tuple[int, ...]] | None:
    """Return (first element, step along each axis) of integers that grow evenly along every axis, or None."""
    if node.opcode == "arange":
        return 0, (1,)
    if node.is_literal and node.type.is_integral:
        return int(literal_value(node)), ()
    if node.operation.is_filled and node.type.is_integral and node.operands[0].is_literal:
        return int(literal_value(node.operands[0])), (0,) * node.ndim
    if node.interval is None:
        return None
    parts = [_steps(operand) for operand in node.operands]
    given = [part for part in parts if part is not None]
    if not parts or len(given) != len(parts):
        return None
    if node.opcode == "convert":
        return given[0]
    if node.opcode == "expand":
        held = iter(given[0][1])
        return given[0][0], tuple(0 if item is NEW else next(held) for item in node.parameters["index"])
    if node.opcode == "reshape" and node.operands[0].ndim == 1 and given[0][1] == (1,):
        return given[0][0], tuple(prod(node.shape[axis + 1 :]) for axis in range(node.ndim))
    rank = node.ndim
    padded = [(start, (0,) * (rank - len(steps)) + steps) for start, steps in given]
    if node.opcode == "add":
        return sum(start for start, _ in padded), tuple(map(sum, zip(*(steps for _, steps in padded), strict=True)))
    if node.opcode == "multiply" and any(not any(steps) for _, steps in padded):
        (factor, _), (start, steps) = sorted(padded, key=lambda part: any(part[1]))
        return factor * start, tuple(factor * step for step in steps)
    return None


def _word(graph: Graph, item: Node, call: Node) -> Node | None:
    """Return the replacement of one of the two words of the cipher, or None if it stays a result of the call."""
    number = item.parameters["index"]
    if call.parameters["function"] == "random_bits":
        graph.inexact_replacements.add(item)
        return call if number else graph.literal(0, U32)  # the xor of both words stays the same
    if call.parameters["function"] == "split_key":
        return getitem(graph, call, [FULL, number])
    if not item.ndim:
        return getitem(graph, call, [number])
    return getitem(graph, call, [*(NEW,) * (item.ndim - 1), (number or None, None if number else 1, None)])


# -- JAX's uses of the words


def _whole(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the pairs of words whose two columns were joined again, or None."""
    array = found["pairs"]
    wanted = found["first"], found["second"]
    columns: tuple[Any, Any] = ((None, 1, None),), ((1, None, None),)
    if node.opcode == "stack":
        columns = ((FULL, 0), (FULL, 1)) if array.ndim == 2 else ((0,), (1,))
    is_whole = wanted == columns and node.parameters["axis"] == node.ndim - 1 and array.shape == node.shape
    return array if is_whole else None


def _key_of_a_batch(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the key of a batch of one whose two words were joined again, or None."""
    if node.element_type is not U32 or node.shape != (1,) * (node.ndim - 1) + (2,):
        return None
    key = key_of(graph, found["first"], found["second"])
    return key and getitem(graph, key, [*(NEW,) * (node.ndim - 1), FULL])


def _with_unit_axes(graph: Graph, node: Node, found: Bindings) -> Node:
    """Return the bits for a shape with unit axes."""
    return prelude_call(graph, "random_bits", found["bits"].operands, (Slot(0), node.shape))


def _uniform(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return uniform numbers from ``low``, whose upper 23 bits are the fraction of a float in [1, 2); or None."""
    low = found["LOW"]
    span = np.float32(literal_value(found["SPAN"])) if "SPAN" in found else np.float32(1)
    start = np.float32(literal_value(low))
    below = -literal_value(found["BELOW"]) if "BELOW" in found else 0
    shift = literal_value(found["START"]) if "START" in found else below
    vanishes = shift == 0 and 0 < start < _SMALLEST / 2  # XLA drops a term that changes nothing
    if shift != start and not vanishes:
        return None
    ends = (np.float32(1), np.float32(f"{start + span:.6g}"), start + span)
    high = next((end for end in ends if end - start == span), None)
    bits = found["bits"]
    if node.element_type is not F32 or high is None or bits.element_type is not U32:
        return None
    written = [int(end) if end == int(end) else float(str(end)) for end in (start, high)]
    limits = tuple(written if high != 1 else written[:1] if start else ())
    return _drawn(graph, bits, *limits)


def _drawn(graph: Graph, bits: Node, *limits: float) -> Node:
    """Return uniform numbers of some bits."""
    if bits.opcode == "xor":
        return prelude_call(graph, "uniform_of", (bits,), (Slot(0), *limits))
    return prelude_call(graph, "random_uniform", bits.operands, (*bits.parameters["arguments"], *limits))


def _scaled(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return uniform numbers from 0 to 1 times a span that is known at run time only; or None."""
    bits, span = found["bits"], found["span"]
    if span.is_literal or node.element_type is not F32 or bits.element_type is not U32:
        return None
    return graph.add("multiply", (_drawn(graph, bits), span))


def _normal(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return normal numbers for the inverse normal distribution at uniform numbers in (-1, 1), or None."""
    uniform = found["uniform"]
    is_named = uniform.parameters["function"] == "random_uniform"  # else they are made from bits of several keys
    given = 2 if is_named else 1
    arguments = uniform.parameters["arguments"]
    least = np.nextafter(np.float32(-1), np.float32(0))
    if node.element_type is not F32 or [np.float32(end) for end in arguments[given:]] != [least]:
        return None
    return prelude_call(graph, "random_normal" if is_named else "normal_of", uniform.operands, arguments[:given])


def _uniforms(bits: str) -> Iterator[Rule]:
    """Yield the rules for uniform numbers of some bits, with any limits."""
    unit = f"subtract(view(or_(shift_right_logical((bits := {bits}), 9), 1065353216)), 1)"
    yield Rule(f"multiply({unit}, span)", _scaled)
    for inner in (unit, f"multiply({unit}, SPAN)"):
        for fraction in (f"add({inner}, START)", f"subtract({inner}, BELOW)", *([unit] if inner is unit else [])):
            yield Rule(f"maximum(LOW, {fraction})", _uniform)


RULES = (
    Rule("xor(words, 0)", lambda graph, node, found: found["words"]),
    Rule("stack(getitem(pairs, index=first), getitem(pairs, index=second))", _whole),
    Rule("concatenate(getitem(pairs, index=first), getitem(pairs, index=second))", _whole),
    Rule("concatenate(first, second)", _key_of_a_batch),
    *(
        Rule(f"multiply(prelude.erf_inv((uniform := prelude.{function}(given))), 1.4142135)", _normal)
        for function in ("random_uniform", "uniform_of")
    ),
    Rule("expand((bits := prelude.random_bits(key)))", _with_unit_axes, once=("bits",)),
    *_uniforms("prelude.random_bits(key)"),
    *_uniforms("xor(first, second)"),
)

# -- the inline cipher: 20 rounds


@dataclass(frozen=True, slots=True)
class _Cipher:
    """The initial words, the key, and the first word after the last round."""

    initial: tuple[Node, Node]
    keys: tuple[Node, Node, Node]
    last: Node


def cipher_rounds(function: Function, supports: Support) -> None:
    """Replace each word that inline rounds of the cipher make by a result of ``threefry_2x32``."""
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
    """Return the cipher whose second word is the node, or None."""
    keys: dict[int, Node] = {}
    rounds: list[tuple[Node, Node]] = []  # the first word in each round and the second before it, last round first
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
    """Return the match of a round whose rotated bits are known to be 0, as in the first round of small counts;
    or None.
    """
    found = pattern(f"xor(x, or_(shift_left(y, {rotation}), 0))").match(word)
    within = found["y"].interval if found is not None else None
    return found if within is not None and 0 <= within[0] <= within[1] < 1 << (32 - rotation) else None


def _without_key(graph: Graph, word: Node, group: int, last_round: str) -> tuple[Node, Node] | None:
    """Return the word after the rounds of a group, and the key's word that is added to it with the group's number; or
    None.
    """
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
    """Return the terms of a sum of up to three that are not literals, in any order, and the sum of the literals."""
    terms = [word]
    for _ in range(2):
        place = next((place for place, term in enumerate(terms) if term.opcode == "add"), None)
        if place is not None:
            terms[place : place + 1] = terms[place].operands
    return [term for term in terms if not term.is_literal], sum(int(literal_value(t)) for t in terms if t.is_literal)


def _difference(graph: Graph, total: Node, term: Node) -> Node | None:
    """Return the word that is added to ``term`` to give the total, or None."""
    if total is term:
        return graph.literal(0, U32)
    rest = list(total.operands) if total.opcode == "add" else []
    if term not in rest:
        return None
    rest.remove(term)
    return rest[0]


def _is_sum(live: LiveNodes, total: Node, terms: Sequence[Node]) -> bool:
    """Return whether a node is the sum of others, added in any order.

    The difference of both sides is expanded, latest nodes first, until nothing is left.
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
