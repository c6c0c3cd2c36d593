"""The prelude functions that replace operations since they are faster on NumPy."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ...transpile.array.node import Node, PreludeName, Slot, Ufunc, literal_value
from ...transpile.target import OwnCall

_LONG_ROW = 32  # elements from which on rows are combined one by one, not by the ufunc's ``at``
_LEAST_ELEMENTS = 2**12  # elements from which on a call of a Numba function pays
_LEAST_SCATTERED = 2**9  # the same for scatters, which NumPy does update by update
_OF_ROWS = frozenset(("softmax", "log_softmax"))  # along the last axis by default
_FACTORED = frozenset("f32 f64 c64 c128".split())
_MANY_EQUATIONS = 128
_MANY_ELEMENTS = 2**17  # elements of an array that does not fit the cache
_NUMBERS = frozenset("s8 s16 s32 s64 u8 u16 u32 u64 f32 f64".split())
COMBINERS = frozenset("add multiply maximum minimum".split())
_LEAST_OF_ROW = 32  # elements of a row for each one that a heap selects
_WARNING = frozenset("nanmax nanmin nanmean nanstd nanvar".split())  # call warnings.warn, which np.errstate ignores
_MOST_WINDOWED = 2  # axes with windows that the loops of pools support


def compiled_function(node: Node) -> OwnCall | None:
    """Return the call of the Numba function that replaces a node, or None."""
    results = (shape for shape, _ in node.results) if node.results else (node.shape,)
    is_scatter = node.opcode == "update_at" or node.parameters.get("function") == "scatter_at"
    least = _LEAST_SCATTERED if is_scatter else _LEAST_ELEMENTS
    if max(prod(shape) for shape in (*results, *(each.shape for each in node.operands))) < least:
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
    """Return the integers from which an index is made by adding the size of the axis to negative ones; None for any
    other index.
    """
    if index.opcode != "select":
        return None
    which, moved, plain = index.operands
    adds_size = moved.opcode == "add" and moved.operands[0] is plain and _is_number(moved.operands[1], size)
    is_below = which.opcode == "compare" and which.operands[0] is plain and _is_number(which.operands[1], 0)
    return plain if adds_size and is_below and which.parameters["direction"] == "LT" else None


def _is_number(node: Node, number: int) -> bool:
    return node.is_literal and bool(literal_value(node) == number)


def _pool(node: Node) -> OwnCall | None:
    """Return the compiled pool for windows along one or two axes that are not much longer than their strides, or
    None.
    """
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
    """Return the number of axes along which windows are not single elements."""
    strides = keywords.get("strides", (1,) * len(window))
    padding = keywords.get("padding", ((0, 0),) * len(window))
    return sum(each != (1, 1, (0, 0)) for each in zip(window, strides, padding, strict=True))


def _search(node: Node) -> OwnCall | None:
    """Return the compiled search if the values have the type of the table, which is not empty; or None."""
    table, values = node.operands
    if table.type.name not in _NUMBERS or values.element_type is not table.element_type or not table.shape[0]:
        return None
    return OwnCall("compiled_search", node.parameters["arguments"], tuple(node.parameters["keywords"].items()))


def top_k_by_heap(node: Node) -> OwnCall | None:
    """Return the call that selects the largest with a heap for each row, for numbers of up to 32 bits; or None. It does
    not ask for the size.
    """
    (x,), (_, k, *_) = node.operands, node.parameters["arguments"]
    if x.type.name not in _NUMBERS or x.type.bits > 32 or 0 in x.shape or not k:
        return None
    function = "top_k_by_heap" if x.type.is_floating else "top_k_of_integers_by_heap"
    return OwnCall(function, node.parameters["arguments"], tuple(node.parameters["keywords"].items()))


def takes_few(node: Node) -> bool:
    """Return whether a ``top_k`` selects so few elements of a row that a heap is faster than a partition."""
    k: int = node.parameters["arguments"][1]
    return _LEAST_OF_ROW * k <= node.operands[0].shape[-1]


_CALLS: dict[str, Callable[[Node], OwnCall | None]] = {
    "random_bits": _generator("compiled_bits"),
    "random_uniform": _generator("compiled_uniform"),
    "random_normal": _generator("compiled_normal"),
    "philox_bits": _generator("compiled_philox"),
    "scatter_at": lambda node: _scattered(node, node.parameters["arguments"]),
    "top_k": lambda node: top_k_by_heap(node) if takes_few(node) else None,
    "reduce_window": _pool,
    "select_and_scatter": _pool_gradient,
    **dict.fromkeys(("search_sorted", "search_many"), _search),
}


def own_function(node: Node) -> OwnCall | None:
    """Return the prelude call that replaces a node in all styles, or None."""
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
    """Return the call that searches many values in a table, or None."""
    is_search = node.opcode == "prelude" and node.parameters["function"] == "search_sorted"
    if not is_search or prod(node.shape) < _MANY_ELEMENTS or not node.operands[0].type.is_floating:
        return None
    return OwnCall("search_many", node.parameters["arguments"], tuple(node.parameters["keywords"].items()))


def readable_function(node: Node) -> OwnCall | None:
    """Return the call that replaces a node where there are no kernels, or None: a function of many elements, rows or
    equations that works block by block, or a search of many values.
    """
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
