"""The prelude functions that compiled loops call: on small arrays, in every iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...transpile.array.node import Node, Slot, Ufunc
from ...transpile.hlo.element_types import ElementType
from ...transpile.target import OwnCall
from .functions import COMBINERS, top_k_by_heap

_NUMBERS = frozenset("s8 s16 s32 s64 u8 u16 u32 u64 f32 f64".split())
_PLACES = frozenset("s8 s16 s32 s64 u8 u16 u32 u64".split())
_FACTORED = frozenset(("f32", "f64"))
_MOST_EQUATIONS = 32
_MOST_OF_TRIANGLES = 64  # rows of a triangular factor, which takes a third of the operations
_TRANSFORMED = frozenset("f32 f64 c64 c128".split())
_SMALL_FACTORS = (2, 3, 5, 7, 11, 13)
_LONGEST = 512  # elements of a line of a Fourier transform
_MOST_AXES = 2
_SUMS = frozenset(("add", "multiply"))
Rule = Callable[[Node], OwnCall | None]


def loop_function(node: Node) -> OwnCall | None:
    """Return the call that replaces a node in a loop that Numba compiles, or None."""
    rule = _RULES.get(node.parameters["function"] if node.opcode in ("prelude", "library") else node.opcode)
    return rule(node) if rule is not None else None


def _same(function: str) -> Rule:
    return lambda node: OwnCall(function, *_given(node))


def _drawn(array: str, number: str) -> Rule:
    """Return the rule of random numbers: a function of an ``array`` with a shape, another for a single ``number``."""

    def rule(node: Node) -> OwnCall:
        key, shape, *rest = node.parameters["arguments"]
        return OwnCall(array, (key, shape, *rest)) if node.ndim else OwnCall(number, (key, *rest))

    return rule


def _scatter(node: Node) -> OwnCall | None:
    _, index, value, *combiner = node.parameters["arguments"]
    parts = index if isinstance(index, tuple) else (index,)
    return _scattered(node, parts, value, *combiner)


def _assignment(node: Node) -> OwnCall | None:
    """Return the scatter of an assignment that has index arrays; None for other assignments, which Numba supports."""
    is_scatter = any(place.ndim for place in node.operands[2:])
    return _scattered(node, node.parameters["index"], Slot(1), from_end=True) if is_scatter else None


def _combination(node: Node) -> OwnCall | None:
    return _scattered(node, node.parameters["index"], Slot(1), node.parameters["ufunc"], from_end=True)


def _scattered(
    node: Node, index: tuple[Any, ...], value: Any, combiner: Ufunc | None = None, *, from_end: bool = False
) -> OwnCall | None:
    """Return a scatter along the first axes that applies updates one after the other, or None; negative indices may
    count ``from_end``.
    """
    if not all(isinstance(part, Slot) for part in (*index, value)):
        return None
    x, *given = (node.operands[part.index] for part in (Slot(0), value, *index))
    is_combined = combiner is None or _combines(combiner.opcode, node.type)
    is_plain = given[0].element_type is x.element_type and all(map(_is_place, given[1:]))
    if not (is_combined and is_plain and _has_elements(x, *given)):
        return None
    slots = tuple(Slot(2 + k) for k in range(len(index)))
    parameters = (("index", slots), ("ufunc", combiner), ("from_end", (from_end,) * len(index)))
    return OwnCall("scatter", (), parameters, is_operation=True, operands=(x, *given))


def _is_place(node: Node) -> bool:
    return node.is_python_int or (node.element_type is not None and node.type.name in _PLACES)


def _combines(opcode: str, kind: ElementType) -> bool:
    return (opcode in COMBINERS and kind.name in _NUMBERS) or (opcode in _SUMS and kind.is_complex)


def _search(node: Node) -> OwnCall | None:
    table, values = node.operands
    is_known = values.element_type is table.element_type and table.type.name in _NUMBERS
    if not is_known or not _has_elements(table, values):
        return None
    arguments: tuple[Any, ...] = node.parameters["arguments"]
    side = dict(node.parameters["keywords"]).get("side", "left")
    return OwnCall(("search_" if values.ndim else "one_") + ("before" if side == "left" else "behind"), arguments)


def _sort(node: Node) -> OwnCall | None:
    is_known = node.type.name in _NUMBERS and node.parameters["axis"] == node.ndim - 1
    return OwnCall("small_sort") if is_known and _has_elements(node) else None


def _argsort(node: Node) -> OwnCall | None:
    is_known = node.operands[0].type.name in _NUMBERS and node.parameters["axis"] == node.ndim - 1
    return OwnCall("small_argsort", (Slot(0), node.type)) if is_known and _has_elements(node) else None


def _top_k(node: Node) -> OwnCall | None:
    if node.operands[0].type.name == "f64" and _has_elements(node.operands[0]):
        return OwnCall("small_top_k", *_given(node))
    return top_k_by_heap(node)


def _equations(function: str, rank: int = 2, most: int = _MOST_EQUATIONS) -> Rule:
    """Return the rule of ``function`` for small matrices; LAPACK is faster for larger ones, and its call overhead
    matters less.
    """

    def rule(node: Node) -> OwnCall | None:
        matrix = node.operands[0]
        is_known = all(each.ndim <= rank and each.type.name in _FACTORED for each in node.operands)
        if not is_known or matrix.ndim != rank or not _has_elements(*node.operands):
            return None
        if max(matrix.shape[-2:]) > most:
            return None
        return OwnCall(function, *_given(node))

    return rule


def _given(node: Node) -> tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]]:
    """Return the arguments and keywords of a call."""
    return node.parameters.get("arguments", ()), tuple(node.parameters.get("keywords", {}).items())


def _permutation(node: Node) -> OwnCall | None:
    (pivots,) = node.operands
    is_known = pivots.ndim == 1 and pivots.type.name in _PLACES and _has_elements(node, pivots)
    return OwnCall("small_permutation", *_given(node)) if is_known else None


def _tridiagonal(node: Node) -> OwnCall | None:
    diagonal, right = node.operands[1], node.operands[3]
    is_known = (diagonal.ndim, right.ndim) == (1, 2) and right.type.name in _FACTORED and _has_elements(right)
    return OwnCall("small_gtsv", node.parameters["arguments"]) if is_known else None


def _transform(node: Node) -> OwnCall | None:
    """Return a short Fourier transform along one or two axes whose lengths have small prime factors, for which a
    library call takes longer; or None.
    """
    kind, lengths = node.parameters["kind"], node.parameters["lengths"]
    (x,) = node.operands
    is_known = x.type.name in _TRANSFORMED and _has_elements(x) and all(map(_is_short, lengths))
    sign = (Slot(0), 1 if kind == "ifft" else -1)
    if not is_known or (kind != "irfft" and x.shape[x.ndim - len(lengths) :] != tuple(lengths)):
        return None
    if kind in ("fft", "ifft") and x.type.is_complex and len(lengths) <= _MOST_AXES:
        return OwnCall("small_fft" if len(lengths) == 1 else "small_fft2", sign)
    if (
        kind in ("rfft", "irfft")
        and len(lengths) == 1
        and x.shape[-1] <= node.shape[-1] // 2 + 1 + x.shape[-1] * (kind == "rfft")
    ):
        return OwnCall(f"small_{kind}", (Slot(0), node.shape[-1], node.type))
    return None


def _is_short(length: int) -> bool:
    rest = length
    for factor in _SMALL_FACTORS:
        while rest % factor == 0:
            rest //= factor
    return rest == 1 and length <= _LONGEST


def _has_elements(*nodes: Node) -> bool:
    return all(0 not in node.shape for node in nodes)


_RULES: dict[str, Rule] = {
    "split_key": _same("compiled_split"),
    "fold_in": _same("compiled_fold_in"),
    **dict.fromkeys(("random_bits", "compiled_bits"), _drawn("small_bits", "one_word")),
    **dict.fromkeys(("random_uniform", "compiled_uniform"), _drawn("small_uniform", "one_uniform")),
    **dict.fromkeys(("random_normal", "compiled_normal"), _drawn("small_normal", "one_normal")),
    **dict.fromkeys(("scatter_at", "scatter_in_order", "scatter_rows"), _scatter),
    **dict.fromkeys(("top_k", "top_k_by_heap", "top_k_of_integers_by_heap"), _top_k),
    **{name: _equations(f"small_{name}", most=_MOST_OF_TRIANGLES) for name in ("cholesky", "triangular_solve")},
    **{
        name: _equations(f"small_{name}")
        for name in "solve solve_transposed getrf qr geqrf orgqr eigh eigvalsh svd svdvals".split()
    },
    **dict.fromkeys(("linalg.det", "small_det"), _equations("small_determinant")),
    "pivots_to_permutation": _permutation,
    "linalg.slogdet": _equations("small_slogdet"),
    "solve_each": _equations("small_solve_each", rank=3),
    "gtsv": _tridiagonal,
    "fft": _transform,
    "small_convolution": _same("small_convolution"),
    "update_at": _combination,
    "setitem": _assignment,
    "sort": _sort,
    "argsort": _argsort,
    **dict.fromkeys(("search_sorted", "compiled_search"), _search),
}
