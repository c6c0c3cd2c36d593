"""Operations for which the prelude has a function that is faster on NumPy."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ...transpile.array.node import Node, PreludeName, Slot, Ufunc, literal_value
from ...transpile.target import OwnCall

_LONG_ROW = 32  # elements that are combined at once rather than by the ufunc's ``at``
_LEAST_ELEMENTS = 2**12  # elements for which Numba's loops are worth their start
_OF_ROWS = frozenset(("softmax", "log_softmax"))  # along the last axis, unless they are told another
_FACTORED = frozenset("f32 f64 c64 c128".split())
_MANY_EQUATIONS = 128
_MANY_ELEMENTS = 2**17  # of which arrays do not stay in the cache
_NUMBERS = frozenset("s8 s16 s32 s64 u8 u16 u32 u64 f32 f64".split())
COMBINERS = frozenset("add multiply maximum minimum".split())
_LEAST_OF_ROW = 32  # elements of a row for each of the largest
_WARNING = frozenset("nanmax nanmin nanmean nanstd nanvar".split())  # through warnings.warn, not as floats do
_MOST_WINDOWED = 2  # axes along which the loops of pools have windows


def compiled_function(node: Node) -> OwnCall | None:
    """Return the call of the function with loops of Numba that stands for a node, or None."""
    results = (shape for shape, _ in node.results) if node.results else (node.shape,)
    if max(prod(shape) for shape in (*results, *(each.shape for each in node.operands))) < _LEAST_ELEMENTS:
        return None
    if node.opcode == "update_at":
        index: tuple[Any, ...] = node.parameters["index"]
        is_inside = ":" not in index and all(
            each.interval is not None and each.interval[0] >= 0 for each in node.operands[2:]
        )
        arguments = (Slot(0), index if len(index) > 1 else index[0], Slot(1), node.parameters["ufunc"])
        return _scattered(node, arguments) if is_inside else None
    rule = _CALLS.get(node.parameters["function"]) if node.opcode == "prelude" else None
    return rule(node) if rule is not None else None


def _generator(function: str) -> Callable[[Node], OwnCall | None]:
    return lambda node: OwnCall(function, node.parameters["arguments"])


def _scatter(node: Node) -> OwnCall | None:
    return _scattered(node, node.parameters["arguments"])


def _scattered(node: Node, arguments: tuple[Any, ...]) -> OwnCall | None:
    index = arguments[1] if isinstance(arguments[1], tuple) else arguments[1:2]
    combiner = arguments[3].opcode if len(arguments) > 3 else "add"
    is_known = combiner in COMBINERS and node.type.name in _NUMBERS and node.operands[1].type is node.type
    if not is_known or not all(isinstance(part, Slot) for part in index):
        return None
    operands, keywords = node.operands, tuple[tuple[str, Any], ...]()
    slot = index[0].index
    counted = _counted_from_end(operands[slot], node.shape[0])
    if len(index) == 1 and counted is not None and not node.region.is_in_loop:
        operands = (*operands[:slot], counted, *operands[slot + 1 :])
        keywords = (("from_end", True),)
    if node.operands[0].opcode == "zeros":
        arguments = (*arguments[1:3], node.shape, node.type, *arguments[3:])
        return OwnCall("scatter_on_zeros", arguments, keywords, operands=operands)
    return OwnCall("scatter_in_order", arguments, keywords, operands=operands)


def _counted_from_end(index: Node, size: int) -> Node | None:
    """Return the integers that count from the end of an axis where they are negative, of which an index is made by
    adding the axis's size to these; None for any other index."""
    if index.opcode != "select":
        return None
    which, moved, plain = index.operands
    adds_size = moved.opcode == "add" and moved.operands[0] is plain and _is_number(moved.operands[1], size)
    is_below = which.opcode == "compare" and which.operands[0] is plain and _is_number(which.operands[1], 0)
    return plain if adds_size and is_below and which.parameters["direction"] == "LT" else None


def _is_number(node: Node, number: int) -> bool:
    return node.is_literal and bool(literal_value(node) == number)


def _pool(node: Node) -> OwnCall | None:
    """Windows along one or two axes are gone through directly, if they are not much longer than their steps."""
    keywords = node.parameters["keywords"]
    combine, window = node.parameters["arguments"][2:4]
    strides = keywords.get("strides", (1,) * len(window))
    is_short = all(size <= 4 * stride + 8 for size, stride in zip(window, strides, strict=True))
    is_known = node.type.name in _NUMBERS and combine in map(Ufunc, COMBINERS) and "base_dilation" not in keywords
    if not (is_known and is_short and 0 < _windowed(window, keywords) <= _MOST_WINDOWED):
        return None
    return OwnCall("compiled_pool", node.parameters["arguments"], tuple(keywords.items()))


def _pool_gradient(node: Node) -> OwnCall | None:
    keywords, window = node.parameters["keywords"], node.parameters["arguments"][2]
    is_known = node.type.name in _NUMBERS and not set(keywords) - {"strides", "padding"}
    if not (is_known and 0 < _windowed(window, keywords) <= _MOST_WINDOWED):
        return None
    return OwnCall("compiled_pool_gradient", node.parameters["arguments"], tuple(keywords.items()))


def _windowed(window: tuple[int, ...], keywords: dict[str, Any]) -> int:
    """Return along how many axes windows are more than elements."""
    strides = keywords.get("strides", (1,) * len(window))
    padding = keywords.get("padding", ((0, 0),) * len(window))
    return sum(each != (1, 1, (0, 0)) for each in zip(window, strides, padding, strict=True))


def _search(node: Node) -> OwnCall | None:
    """Values of one type are looked for in a table that is not empty."""
    table, values = node.operands
    if table.type.name not in _NUMBERS or values.element_type is not table.element_type or not table.shape[0]:
        return None
    return OwnCall("compiled_search", node.parameters["arguments"], tuple(node.parameters["keywords"].items()))


def top_k_by_heap(node: Node) -> OwnCall | None:
    """Numbers of up to 32 bits go through a heap for each row, whatever size they have."""
    (x,), (_, k, *_) = node.operands, node.parameters["arguments"]
    if x.type.name not in _NUMBERS or x.type.bits > 32 or 0 in x.shape or not k:
        return None
    function = "top_k_by_heap" if x.type.is_floating else "top_k_of_integers_by_heap"
    return OwnCall(function, node.parameters["arguments"], tuple(node.parameters["keywords"].items()))


def takes_few(node: Node) -> bool:
    """Tell whether a choice of the largest takes so few of a row that a heap finds them sooner than a partition."""
    k: int = node.parameters["arguments"][1]
    return _LEAST_OF_ROW * k <= node.operands[0].shape[-1]


def _few_of_rows(node: Node) -> OwnCall | None:
    """A heap is faster than to take all of a row apart where few are wanted, as then few are put into it."""
    return top_k_by_heap(node) if takes_few(node) else None


_CALLS: dict[str, Callable[[Node], OwnCall | None]] = {
    "random_bits": _generator("compiled_bits"),
    "random_uniform": _generator("compiled_uniform"),
    "random_normal": _generator("compiled_normal"),
    "philox_bits": _generator("compiled_philox"),
    "scatter_at": _scatter,
    "top_k": _few_of_rows,
    "reduce_window": _pool,
    "select_and_scatter": _pool_gradient,
    **dict.fromkeys(("search_sorted", "search_many"), _search),
}


def own_function(node: Node) -> OwnCall | None:
    """The call of the prelude that stands for a node, or None."""
    if node.opcode == "library" and node.parameters["function"] in _WARNING and "package" not in node.parameters:
        keywords = tuple(node.parameters["keywords"].items())
        return OwnCall(node.parameters["function"], node.parameters["arguments"], keywords)
    if node.opcode != "prelude" or node.parameters["function"] != "scatter_at":
        return None
    arguments = node.parameters["arguments"]
    index = arguments[1] if isinstance(arguments[1], tuple) else arguments[1:2]
    is_plain = all(isinstance(part, Slot) for part in index) and isinstance(arguments[-1], Ufunc)
    is_long = prod(node.shape[len(index) :]) >= _LONG_ROW
    return OwnCall("scatter_rows", arguments) if is_plain and is_long else None


def search_of_many(node: Node) -> OwnCall | None:
    """The call that looks for many values in a table, or None."""
    is_search = node.opcode == "prelude" and node.parameters["function"] == "search_sorted"
    if not is_search or prod(node.shape) < _MANY_ELEMENTS or not node.operands[0].type.is_floating:
        return None
    return OwnCall("search_many", node.parameters["arguments"], tuple(node.parameters["keywords"].items()))


def readable_function(node: Node) -> OwnCall | None:
    """The call that computes a function of many single elements, rows or equations block by block, or looks for many
    values, or None."""
    if (search := search_of_many(node)) is not None:
        return search
    if node.opcode == "prelude" and node.parameters["function"] == "cholesky":
        is_known = node.type.name in _FACTORED and node.shape[-1] >= _MANY_EQUATIONS
        keywords = tuple(node.parameters["keywords"].items())
        return OwnCall("cholesky_by_blocks", node.parameters["arguments"], keywords) if is_known else None
    if node.opcode != "prelude" or prod(node.shape) < _MANY_ELEMENTS or node.parameters["keywords"]:
        return None
    function = node.parameters["function"]
    if node.parameters["arguments"] != (Slot(0),) or node.element_type is not node.operands[0].element_type:
        return None
    if function in _OF_ROWS and node.ndim > 1:
        return OwnCall("rows_in_blocks", (PreludeName(function), Slot(0)))
    return OwnCall("in_blocks", (PreludeName(function), Slot(0))) if node.operation.is_elementwise else None
