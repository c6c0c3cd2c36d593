"""Operations for which CuPy and HLO differ: the functions of CuPy's prelude that replace them.

Source: CuPy 14.2, its ufunc tables and the bodies of their loops.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, prod
from typing import Any

from ...transpile.array.contractions import has_rows_of_words, is_of_matrices, subscripts
from ...transpile.array.node import Node, Slot, Ufunc, literal_value
from ...transpile.hlo.element_types import F32, PRED, S8, S32
from ...transpile.target import OwnCall

Rule = Callable[[Node], OwnCall | None]


def own_function(node: Node) -> OwnCall | None:
    """Return the call that replaces a node, or None if the shared macro is right."""
    rule = _CALLS.get(node.parameters["function"]) if node.opcode == "prelude" else _FUNCTIONS.get(node.opcode)
    return rule(node) if rule is not None and not node.is_python_int else None


def _shift(function: str) -> Rule:
    """Return the rule of a shift: C++ leaves shifts by the width or more undefined; HLO gives 0, or the sign."""

    def rule(node: Node) -> OwnCall | None:
        bounds = node.operands[1].interval
        in_range = bounds is not None and bounds[0] >= 0 and bounds[1] < node.type.bits
        return None if in_range else OwnCall(function)

    return rule


def _place(function: str) -> Rule:
    """Return the rule of an arg-reduction, which calls ``function`` for floats: which of several NaN CuPy finds depends
    on the order of its threads, and it has no bfloat16.
    """

    def rule(node: Node) -> OwnCall | None:
        if not node.operands[0].type.is_floating:
            return None
        return OwnCall(function, keywords=(("axis", node.parameters["axis"]), ("dtype", node.type)))

    return rule


def _running(opcode: str, narrow_only: bool = False) -> Rule:
    """Return the rule of a cumulative ufunc: CuPy's ``maximum`` and ``minimum`` have no ``accumulate``, and its
    cumulative sums and products have no bfloat16.
    """

    def rule(node: Node) -> OwnCall | None:
        if narrow_only and node.type.name not in _NARROW:
            return None
        return OwnCall("running", (Slot(0), Ufunc(opcode), node.parameters["axis"]))

    return rule


def _bitwise(node: Node) -> OwnCall | None:
    """Return the call of a bitwise reduction: CuPy's bitwise ufuncs have no ``reduce``."""
    combine, axes = node.parameters["ufunc"], tuple(node.parameters["axes"])
    ones = 2**node.type.bits - 1 if node.type.is_unsigned else -1
    return OwnCall("bitwise_reduce", (Slot(0), Ufunc(combine), axes, ones if combine == "and" else 0))


def _sort(node: Node) -> OwnCall | None:
    """Return the call of a sort, or None.

    CuPy sorts float vectors by their bits, so that NaN with a sign come first. It merges rows, where a block of threads
    for each row, or one radix sort of all rows, is faster.
    """
    if rows := _rows_of(node.operands[0], node.parameters["axis"]):
        return OwnCall(f"sort_{rows}", (Slot(0), node.parameters["axis"]))
    return OwnCall("sort_vector") if _is_vector(node.operands[0]) else None


def _argsort(node: Node) -> OwnCall | None:
    (x,) = node.operands
    if x.parameters.get("function") == "sort_key" and x.operands[0].type.bits <= 32:
        (x,) = x.operands  # the order of the keys is the order of x
    if rows := _rows_of(x, node.parameters["axis"]):
        return OwnCall(f"argsort_{rows}", (Slot(0), node.parameters["axis"], node.type), operands=(x,))
    return OwnCall("argsort_vector", (Slot(0), node.type)) if _is_vector(node.operands[0]) else None


def _sort_by_keys(node: Node) -> OwnCall | None:
    """Return the call that sorts rows of several arrays by keys of up to 32 bits, one block of threads for each row."""
    keys, operands, axis = node.parameters["arguments"]
    are_short = all(_rows_of(node.operands[key.index], axis) == "rows" for key in keys)
    return OwnCall("sort_rows_by_keys", (keys, operands, axis)) if are_short else None


def _rows_of(x: Node, axis: int) -> str | None:
    """Return the suffix of the function that sorts the rows of numbers of up to 32 bits, or None for CuPy's own sort.

    ``rows``: a block of threads sorts a row in shared memory. ``long_rows``: a radix sort of 64-bit keys, which consist
    of the row, the number and the column.
    """
    if x.ndim < 2 or x.type.bits > 32 or 0 in x.shape:
        return None
    columns = x.shape[axis]
    if columns <= _LONGEST_SORTED:
        return "rows"
    return "long_rows" if prod(x.shape) // columns << (columns - 1).bit_length() <= 2**32 else None


def _is_vector(node: Node) -> bool:
    return node.ndim == 1 and node.type.is_floating


def _product(node: Node) -> OwnCall | None:
    """Return the call of a matrix product, or None.

    CuPy has no fast product of booleans: a float32 product tells where a term is true. CuPy refuses or casts batches of
    16-bit floats, and rounds each term if the result is a single number.
    """
    if node.element_type is PRED:
        return OwnCall("matmul")
    if any(operand.ndim < 2 for operand in node.operands):
        return None
    if _is_in_tf32(node):
        return product_by_gemm(node)
    if node.type.name not in _NARROW or (node.ndim == 2 and node.shape != (1, 1)):
        return None
    return _of_one_matrix(node) or OwnCall("gemm")


def _product_in(node: Node) -> OwnCall | None:
    """Return ``gemm`` for a product of int8 summed in int32, which tensor cores compute."""
    a, b = node.operands
    is_of_bytes = node.type is S32 and a.type is b.type is S8 and len({a.shape[:-2], b.shape[:-2]} - {()}) <= 1
    return OwnCall("gemm", node.parameters["arguments"]) if is_of_bytes and has_rows_of_words(a, b, None) else None


def _is_in_tf32(node: Node) -> bool:
    return "precision" in node.parameters and node.type is F32


def product_by_gemm(node: Node) -> OwnCall | None:
    """Return the call of ``gemm`` or ``contract`` for a product of two arrays; None for batches that are broadcast
    along one of several axes. Factors are rounded to TF32 if the node has that precision.
    """
    keywords = (("tf32", True),) if _is_in_tf32(node) else ()
    if is_of_matrices(node):
        return OwnCall("gemm", keywords=keywords)
    text = subscripts(node)
    return None if text is None else OwnCall("contract", (Slot(0), Slot(1), text), keywords)


def copied_product(node: Node) -> OwnCall | None:
    """Return ``gemm`` for an ``@`` of batches for which CuPy copies a transposed operand or computes addresses."""
    if node.opcode != "matmul" or node.ndim < 3 or any(operand.ndim < 2 for operand in node.operands):
        return None
    if _is_in_tf32(node):
        return None  # own_function has a call for it
    batches = {operand.shape[:-2] for operand in node.operands}
    is_copied = len(batches) == 2 or any(map(_is_turned, node.operands))
    if not is_copied or len(batches - {()}) != 1:
        return None
    return _of_one_matrix(node) or (OwnCall("gemm") if node.type.name in _BY_CUBLAS else None)


def _of_one_matrix(node: Node) -> OwnCall | None:
    """Return ``tensordot`` for a batch times one matrix, which is one product of all rows; None for a single number,
    which CuPy sums in another way.
    """
    a, b = node.operands
    if b.ndim > 2 or _is_turned(a) or node.type.is_integral or prod(node.shape) == 1:
        return None
    return OwnCall("tensordot", keywords=(("axes", ((a.ndim - 1,), (0,))),), is_operation=True)


def _is_turned(node: Node) -> bool:
    """Return whether matrices are transposed or parts of larger arrays, so that they are not contiguous."""
    return node.opcode in ("transpose", "getitem")


def _pad(node: Node) -> OwnCall | None:
    """Return the call of a pad whose value is an array or an extension type: ``cp.pad`` takes only numbers of
    the host.
    """
    filling = node.operands[1]
    if filling.is_literal and not filling.type.is_extension:
        return None
    return OwnCall("pad", (Slot(0), Slot(1), tuple(node.parameters["widths"])))


def _log_add_exp(node: Node) -> OwnCall | None:
    """Return the call of ``logaddexp`` unless an operand is finite: CuPy gives NaN for two infinities of the
    same sign.
    """
    finite = any(operand.is_literal and isfinite(literal_value(operand)) for operand in node.operands)
    return None if finite else OwnCall("log_add_exp")


def _update(node: Node) -> OwnCall | None:
    """Return the call of a repeated update: CuPy's ``add.at`` uses atomic functions, which it has for few dtypes."""
    if node.parameters.get("distinct"):
        return None  # distinct places need no atomic functions
    index: tuple[Any, ...] = tuple(node.parameters["index"])
    where = index if len(index) > 1 else index[0]
    found = _scattered(node, where, node.parameters["ufunc"])
    return found or OwnCall("scatter_at", (Slot(0), where, Slot(1), node.parameters["ufunc"]))


def _scatter(node: Node) -> OwnCall | None:
    """Return the call of a scatter in one kernel: sums and extremes by atomic functions, or replacements."""
    _, index, _, *combine = node.parameters["arguments"]
    return _scattered(node, index, *combine)


def _scattered(node: Node, index: Any, combine: Any = None) -> OwnCall | None:
    places = index if isinstance(index, tuple) else (index,)
    if not all(isinstance(place, Slot) and node.operands[place.index].ndim for place in places):
        return None
    if combine is None:
        return OwnCall("scatter_set", (Slot(0), index, Slot(1)))
    if node.type.name not in _ADDED or combine not in _SCATTERS:
        return None
    if combine == Ufunc("add") and node.operands[0].opcode == "zeros":
        return OwnCall("scatter_sum", (index, Slot(1), node.shape, node.type))
    return OwnCall(_SCATTERS[combine], (Slot(0), index, Slot(1)))


def _pool_gradient(node: Node) -> OwnCall | None:
    """Return the call of a pool's gradient that selects by comparison and adds: one kernel finds the selected element
    of each window, another writes the result.
    """
    given = dict(node.parameters["keywords"])
    select = given.pop("select", Ufunc("greater-equal"))
    if set(given) - {"strides", "padding"} or select not in _STAYS or node.type.name not in _ORDERED:
        return None
    stays = {"stays": _STAYS[select]} if select != Ufunc("greater-equal") else {}
    return OwnCall("pool_gradient", node.parameters["arguments"], tuple((stays | given).items()))


def _pool(node: Node) -> OwnCall | None:
    """Return the call of a pool with small windows, in which one thread combines all elements of a window."""
    combine, window = node.parameters["arguments"][2:4]
    ordered = node.type.name in _ORDERED and combine in (Ufunc("maximum"), Ufunc("minimum"))
    if not (ordered or (node.type.name in _ADDED and combine in (Ufunc("add"), Ufunc("multiply")))):
        return None
    if "base_dilation" in node.parameters["keywords"] or prod(window) > _MOST_TAPS:
        return None
    return OwnCall("pool", node.parameters["arguments"], tuple(node.parameters["keywords"].items()))


_NARROW = frozenset(("bf16", "f16"))
_BY_CUBLAS = frozenset(("f32", "f64"))  # beside narrow floats
BY_GEMM = _NARROW | _BY_CUBLAS
_ADDED = frozenset("s32 u32 s64 u64 f32 f64 f16 bf16".split())  # have atomic sums, narrow floats in float32
_SCATTERS = {Ufunc("add"): "scatter_add", Ufunc("maximum"): "scatter_max", Ufunc("minimum"): "scatter_min"}
_ORDERED = _ADDED | frozenset("s8 s16 u8 u16".split())
_STAYS = {Ufunc("greater-equal"): ">=", Ufunc("greater"): ">", Ufunc("less-equal"): "<=", Ufunc("less"): "<"}
_MOST_TAPS = 64  # elements of a window that one thread combines
_LONGEST_SORTED = 4096  # elements of a row that the threads of a block sort
_FUNCTIONS: dict[str, Rule] = {
    "shift-left": _shift("shift_left"),
    "shift-right-logical": _shift("shift_right_logical"),
    "shift-right-arithmetic": _shift("shift_right_arithmetic"),
    "argmax": _place("first_largest"),
    "argmin": _place("first_smallest"),
    "cummax": _running("maximum"),
    "cummin": _running("minimum"),
    "cumsum": _running("add", narrow_only=True),
    "cumprod": _running("multiply", narrow_only=True),
    "bitwise_reduce": _bitwise,
    **dict.fromkeys(("einsum", "tensordot"), lambda node: product_by_gemm(node) if _is_in_tf32(node) else None),
    "matmul": _product,
    "pad": _pad,
    "sort": _sort,
    "argsort": _argsort,
    "update_at": _update,
    "logaddexp": _log_add_exp,
}
_CALLS: dict[str, Rule] = {
    "matmul": _product_in,
    "scatter_at": _scatter,
    "select_and_scatter": _pool_gradient,
    "reduce_window": _pool,
    "sort_by_keys": _sort_by_keys,
}
