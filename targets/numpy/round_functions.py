"""Functions of the prelude that loops call which are compiled as a whole: on small arrays, in every round."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ...transpile.array.node import Node, Slot
from ..base import OwnCall
from .functions import COMBINERS, top_k_by_heap

_NUMBERS = frozenset("s8 s16 s32 s64 u8 u16 u32 u64 f32 f64".split())
_FEW = 2**10  # elements of an array that is copied for one change, where NumPy would change it in place
_AT_ONE_PLACE = {"set": "put_at", "add": "add_at"}
Rule = Callable[[Node], OwnCall | None]


def round_function(node: Node) -> OwnCall | None:
    """Return the call that stands for a node in a loop that Numba compiles, or None."""
    rule = _RULES.get(node.parameters["function"] if node.opcode == "prelude" else node.opcode)
    return rule(node) if rule is not None else None


def _same(function: str) -> Rule:
    return lambda node: OwnCall(function, node.parameters["arguments"], tuple(node.parameters["keywords"].items()))


def _drawn(array: str, number: str) -> Rule:
    """Numbers of a shape are an array, and one alone is a number."""

    def rule(node: Node) -> OwnCall:
        key, shape, *rest = node.parameters["arguments"]
        return OwnCall(array, (key, shape, *rest)) if node.ndim else OwnCall(number, (key, *rest))

    return rule


def _scatter(node: Node) -> OwnCall | None:
    """Updates of numbers, or rows, at places along the first axis, or at one place."""
    _, index, *rest = node.parameters["arguments"]
    parts = index if isinstance(index, tuple) else (index,)
    if len(parts) != 1 or not isinstance(parts[0], Slot) or not isinstance(rest[0], Slot):
        return None
    x, places, values = node.operands[0], node.operands[parts[0].index], node.operands[rest[0].index]
    combiner = rest[1].opcode if len(rest) > 1 else "set"
    is_known = node.type.name in _NUMBERS and values.element_type is x.element_type is node.element_type
    if is_known and not places.ndim and values.shape == x.shape[1:] and combiner in _AT_ONE_PLACE:
        return OwnCall(_AT_ONE_PLACE[combiner], (Slot(0), parts[0], rest[0]))
    is_plain = places.ndim == 1 and values.shape == (*places.shape, *x.shape[1:])
    if combiner not in (*COMBINERS, "set") or not (is_known and is_plain and _has_elements(x, values)):
        return None
    return OwnCall(f"scatter_{combiner}", (Slot(0), parts[0], rest[0]))


def _update(node: Node) -> OwnCall | None:
    """A number, or a row, is added at one place, which is known to lie in a small array."""
    index, ufunc = node.parameters["index"], node.parameters["ufunc"]
    x, values, *places = node.operands
    is_known = node.type.name in _NUMBERS and values.element_type is x.element_type and ufunc.opcode == "add"
    is_row = len(index) == len(places) == 1 and not places[0].ndim and values.shape == x.shape[1:]
    if not (is_known and is_row and isinstance(index[0], Slot)) or prod(x.shape) > _FEW:
        return None
    bounds = places[0].interval
    is_inside = bounds is not None and bounds[0] >= 0 and bounds[1] < x.shape[0]
    return OwnCall("add_at", (Slot(0), index[0], Slot(1))) if is_inside else None


def _search(node: Node) -> OwnCall | None:
    table, values = node.operands
    is_known = values.element_type is table.element_type and table.type.name in _NUMBERS
    if not is_known or not values.ndim or not _has_elements(table, values):
        return None
    arguments: tuple[Any, ...] = node.parameters["arguments"]
    side = dict(node.parameters["keywords"]).get("side", "left")
    return OwnCall("search_before" if side == "left" else "search_behind", arguments)


def _sort(node: Node) -> OwnCall | None:
    is_known = node.type.name in _NUMBERS and node.parameters["axis"] == node.ndim - 1
    return OwnCall("small_sort") if is_known and _has_elements(node) else None


def _has_elements(*nodes: Node) -> bool:
    return all(0 not in node.shape for node in nodes)


_RULES: dict[str, Rule] = {
    "split_key": _same("compiled_split"),
    "fold_in": _same("compiled_fold_in"),
    **dict.fromkeys(("random_bits", "compiled_bits"), _drawn("small_bits", "one_word")),
    **dict.fromkeys(("random_uniform", "compiled_uniform"), _drawn("small_uniform", "one_uniform")),
    **dict.fromkeys(("random_normal", "compiled_normal"), _drawn("small_normal", "one_normal")),
    **dict.fromkeys(("scatter_at", "scatter_in_order"), _scatter),
    **dict.fromkeys(("top_k", "top_k_by_heap", "top_k_of_integers_by_heap"), top_k_by_heap),
    "update_at": _update,
    "sort": _sort,
    **dict.fromkeys(("search_sorted", "compiled_search"), _search),
}
