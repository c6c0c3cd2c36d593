"""JAX's random numbers: the Threefry cipher as a call, and keys, bits and uniform numbers made with it by name.

JAX writes the cipher out as a loop of 5 groups of 4 rounds. The loop is recognised by what one iteration computes and
by what it starts from; then by its counts what it is for: one word for each element (``random_bits``), pairs of words
(``split_key``), or the words of one number (``fold_in``).

Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011); ``jax/_src/prng.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node, Slot, literal_value
from ...array.operations.inference import broadcast_shapes
from ...array.program import Function, Loop, roots, tree_nodes
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.traversal import topological, users_of
from ...array.value import FULL, NEW, filled, getitem
from ...hlo.element_types import F32, U32
from ..matching import Bindings, pattern
from ..rules import Rule, apply_rules

_GROUPS = 5
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_SMALLEST = 2.0**-23  # of the fractions of JAX's floats that are not 0


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


def threefry(function: Function, supports: Support) -> None:
    """Raise the loops of the cipher, then what JAX does with the words."""
    if not live_nodes(function).of(("loop", "call")):
        return
    users = users_of(topological(roots(function)), roots(function))
    graph = function.graph
    ciphers: dict[Node, Node] = {}  # by what stands for them: the loops, and calls of functions that are one

    def rule(node: Node) -> Node | None:
        is_cipher = node.opcode == "loop" and _is_cipher(node, users)
        if is_cipher or (node.opcode == "call" and _is_only_cipher(node.parameters["function"])):
            made = _call(graph, node, users) if is_cipher else _named(graph, node, users, node.operands)
            if made is not None:
                ciphers[made] = node
            return made
        if node.opcode == "item" and node.operands[0] in ciphers and node.operands[0].opcode == "prelude":
            return _word(graph, node, node.operands[0])
        return None

    rewrite(function, ("loop", "call", "item"), rule, supports)
    if ciphers:
        apply_rules(function, RULES, supports)


# -- the loop


def _is_cipher(node: Node, users: dict[Node, list[Node | None]]) -> bool:
    """The body is a group of rounds, the carries turn as they should, and only the two words are read afterwards."""
    loop: Loop = node.parameters["loop"]
    carries = loop.carries
    counted = loop.counter is not None and (loop.start, loop.stop, loop.step) in ((1, 6, 1), (0, 5, 1))
    if not counted or loop.stores or loop.effect is not None or len(carries) != 7:
        return False
    if any(user is None or user.opcode != "item" or user.parameters["index"] > 1 for user in users.get(node, ())):
        return False
    x, y, key1, key2, key0, even, odd = (carry.parameter for carry in carries)
    following = [carry.following for carry in carries]
    if following[2:] != [key2, key0, key1, odd, even] or following[0] is None or following[1] is None:
        return False
    given = {"x": x, "y": y, "rotations": even}
    return (
        _holds(_NEXT_FIRST, following[0], given | {"key": key1})
        and _holds(_NEXT_SECOND, following[1], given | {"key": key2}, loop)
        and [_constant(carry.initial) for carry in carries[5:]] == list(_ROTATIONS)
    )


def _is_only_cipher(function: Function) -> bool:
    """Tell whether a function gives both words of the cipher of its arguments, as JAX has it for each shape."""
    parts = tree_nodes(function.results)
    cipher = parts[0].operands[0] if [part.opcode for part in parts] == ["item", "item"] else None
    if cipher is None or cipher.opcode != "prelude" or cipher.parameters["function"] != "threefry_2x32":
        return False
    is_whole = parts[1].operands[0] is cipher and [part.parameters["index"] for part in parts] == [0, 1]
    return is_whole and list(cipher.operands) == function.parameters


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
        return count is loop.counter and found["count"].interval == (1, _GROUPS)
    return not extra and count is loop.counter


def _constant(node: Node) -> tuple[int, ...] | None:
    return tuple(node.parameters["constant"].array.tolist()) if node.opcode == "array" else None


# -- what it starts from


Element = tuple[Node, tuple[Any, ...]]


def _element(node: Node) -> Element:
    """The array and the index that a single element is read by, through broadcasts and unit axes."""
    while node.opcode in ("broadcast_to", "expand", "full") and prod(node.operands[0].shape) == 1:
        (node,) = node.operands
    if node.opcode != "getitem" or len(node.operands) != 1 or prod(node.shape) != 1:
        return node, ()
    base, inner = node.operands[0], []
    for item, size in zip(node.parameters["index"], base.shape, strict=False):
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
    """The array and the index that words are read by: those of one key, or of several side by side."""
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
    """The third word of each key is what the cipher makes of the first two."""
    while key2.opcode == "expand":
        (key2,) = key2.operands
    found = pattern(f"xor(xor(a, b), {_PARITY})").match(key2)
    return found is not None and {_read(found["a"]), _read(found["b"])} == {_read(key0), _read(key1)}


def _key(graph: Graph, key0: Node, key1: Node) -> Node | None:
    """The key of two words: part of an array, or put together from them; None for several keys."""
    if prod(key0.shape) != 1:
        return None
    (array, first), (other, second) = _element(key0), _element(key1)
    is_pair = array is other and first and first[:-1] == second[:-1] and (first[-1], second[-1]) == (0, 1)
    if is_pair and array.shape[-1] == 2:
        return getitem(graph, array, [*first[:-1], FULL])
    return graph.add("stack", (key0, key1), axis=0) if key0.ndim == key1.ndim == 0 else None


def _count(graph: Graph, initial: Node, word: Node) -> Node | None:
    """Return what was added to a word of the key to get what a word of the cipher starts from, or None."""
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
    return initial if _is_zero(word) else None


def _is_word(node: Node, word: Node) -> bool:
    has_shape = node.shape == word.shape or prod(node.shape) == prod(word.shape) == 1
    return has_shape and _read(node) == _read(word)


def _is_zero(node: Node) -> bool:
    return node.is_literal and not literal_value(node)


def _call(graph: Graph, node: Node, users: dict[Node, list[Node | None]]) -> Node | None:
    """Return the call that makes the words, by name where JAX's counts show one; None where it has no counts."""
    x, y, key1, key2, key0, *_ = node.operands
    first, second = _count(graph, x, key0), _count(graph, y, key1)
    if first is None or second is None or not _are_keys(key0, key1, key2):
        return None
    named = _named(graph, node, users, (key0, key1, first, second))
    if named is not None:
        return named
    words = key0, key1, _spread(graph, first, key0, y.shape), _spread(graph, second, key1, y.shape)
    return _prelude(graph, "threefry_2x32", words, tuple(map(Slot, range(len(words)))))


def _named(graph: Graph, node: Node, users: dict[Node, list[Node | None]], words: Sequence[Node]) -> Node | None:
    """Return the call by name that makes the words of a key and two counts, where these are a pattern of JAX's."""
    key0, key1, first, second = words
    key, shape = _key(graph, key0, key1), node.results[1][0]
    if key is None or not _is_zero(first.operands[0] if first.operation.is_filled else first):
        return None
    items = [user for user in users[node] if user is not None]
    mixed = {reader for item in items for reader in users[item]}
    together = len(items) == 2 and len(mixed) == 1 and all(r is not None and r.opcode == "xor" for r in mixed)
    if _counts_up(second, shape) and (together or len(shape) == 1):
        name, size = ("random_bits", shape) if together else ("split_key", shape[0])
        return _prelude(graph, name, (key,), (Slot(0), size))
    if second.ndim or prod(shape) != 1 or together:
        return None
    data: Any = int(literal_value(second)) if second.is_literal else Slot(1)
    return _prelude(graph, "fold_in", (key, second)[: 1 if second.is_literal else 2], (Slot(0), data))


def _spread(graph: Graph, count: Node, word: Node, shape: tuple[int, ...]) -> Node:
    """The counts of one word, as large as the cipher's results where they are not with the key's word."""
    if broadcast_shapes(count.shape, word.shape) == shape:
        return count
    return filled(graph, count, shape) if count.is_literal else graph.add("broadcast_to", (count,), shape=shape)


def _prelude(graph: Graph, name: str, operands: tuple[Node, ...], arguments: tuple[Any, ...]) -> Node:
    return graph.add("prelude", operands, function=name, arguments=arguments, keywords={})


def _counts_up(node: Node, shape: tuple[int, ...]) -> bool:
    """0, 1, 2, .. over an array of the shape in row-major order."""
    steps = _steps(node)
    if steps is None or steps[0] != 0:
        return False
    given = [(size, step) for size, step in zip(node.shape, steps[1], strict=True) if size != 1]
    sizes = [size for size in shape if size != 1]
    return given == [(size, prod(sizes[axis + 1 :])) for axis, size in enumerate(sizes)]


def _steps(node: Node) -> tuple[int, tuple[int, ...]] | None:
    """(first element, step along each axis) of integers that grow evenly along every axis."""
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
    """Return what stands for one of the two words that the loop gave, or None where it is a result of the call."""
    number = item.parameters["index"]
    if call.parameters["function"] == "random_bits":
        graph.stand_ins.add(item)
        return call if number else graph.literal(0, U32)  # which the other is combined with
    if call.parameters["function"] == "threefry_2x32":
        return None
    if call.parameters["function"] == "split_key":
        return getitem(graph, call, [FULL, number])
    return getitem(graph, call, [(number or None, None if number else 1, None)] if item.ndim else [number])


# -- what JAX makes of the words


def _whole(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """The pairs of words, of which both columns were put side by side again."""
    array = found["pairs"]
    wanted = found["first"], found["second"]
    columns = ((FULL, 0), (FULL, 1)) if node.opcode == "stack" else (((None, 1, None),), ((1, None, None),))
    is_whole = wanted == columns and node.parameters["axis"] == node.ndim - 1 and array.shape == node.shape
    return array if is_whole else None


def _uniform(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Numbers from ``low``: the upper 23 bits as the fraction of a float in [1, 2)."""
    low = found["LOW"]
    span = np.float32(literal_value(found["SPAN"])) if "SPAN" in found else np.float32(1)
    start = np.float32(literal_value(low))
    below = -literal_value(found["BELOW"]) if "BELOW" in found else 0
    shift = literal_value(found["START"]) if "START" in found else below
    vanishes = shift == 0 and 0 < start < _SMALLEST / 2  # XLA drops the sum with a number that changes nothing
    if shift != start and not vanishes:
        return None
    ends = (np.float32(1), np.float32(f"{start + span:.6g}"), start + span)
    high = next((end for end in ends if end - start == span), None)
    bits = found["bits"]
    if node.element_type is not F32 or high is None or bits.element_type is not U32:
        return None
    written = [int(end) if end == int(end) else float(str(end)) for end in (start, high)]
    limits = tuple(written if high != 1 else written[:1] if start else ())
    if bits.opcode == "xor":
        return _prelude(graph, "uniform_of", (bits,), (Slot(0), *limits))
    return _prelude(graph, "random_uniform", bits.operands, (*bits.parameters["arguments"], *limits))


def _normal(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """The inverse of the normal distribution at uniform numbers in (-1, 1)."""
    uniform = found["uniform"]
    is_named = uniform.parameters["function"] == "random_uniform"  # else these are of bits of several keys
    given = 2 if is_named else 1
    arguments = uniform.parameters["arguments"]
    least = np.nextafter(np.float32(-1), np.float32(0))
    if node.element_type is not F32 or [np.float32(end) for end in arguments[given:]] != [least]:
        return None
    return _prelude(graph, "random_normal" if is_named else "normal_of", uniform.operands, arguments[:given])


def _uniforms(bits: str) -> Iterator[Rule]:
    """The rules for uniform numbers of some bits, with any ends."""
    unit = f"subtract(view(or_(shift_right_logical((bits := {bits}), 9), 1065353216)), 1)"
    for inner in (unit, f"multiply({unit}, SPAN)"):
        for fraction in (f"add({inner}, START)", f"subtract({inner}, BELOW)", *([unit] if inner is unit else [])):
            yield Rule(f"maximum(LOW, {fraction})", _uniform)


RULES = (
    Rule("xor(words, 0)", lambda graph, node, found: found["words"]),
    Rule("stack(getitem(pairs, index=first), getitem(pairs, index=second))", _whole),
    Rule("concatenate(getitem(pairs, index=first), getitem(pairs, index=second))", _whole),
    *(
        Rule(f"multiply(prelude.erf_inv((uniform := prelude.{function}(given))), 1.4142135)", _normal)
        for function in ("random_uniform", "uniform_of")
    ),
    *_uniforms("prelude.random_bits(key)"),
    *_uniforms("xor(first, second)"),
)
