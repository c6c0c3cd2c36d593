"""Calls of SciPy, if a module may import it: faster than NumPy's, or in place of special functions in the module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any

from ...transpile.array.node import Node, Slot
from ...transpile.target import OwnCall, Package

_LEAST_ELEMENTS = 2**12  # elements from which on a faster function is worth the longer call
_SOLVED = frozenset("f32 f64 c64 c128".split())
_RANKS = {1: "", 2: "2"}


def _faster_function(node: Node) -> OwnCall | None:
    """Return the call of SciPy, or of a prelude function that uses it, that replaces a node; or None."""
    if not node.operands or max(prod(each.shape) for each in (node, *node.operands)) < _LEAST_ELEMENTS:
        return None
    if node.opcode == "fft":
        return _transform(node)
    rule = _CALLS.get(node.parameters["function"]) if node.opcode == "prelude" else None
    return rule(node) if rule is not None else None


def _transform(node: Node) -> OwnCall:
    kind, lengths, own_length = (node.parameters[name] for name in ("kind", "lengths", "own_length"))
    rank = len(lengths)
    size: tuple[Any, ...] = () if own_length else lengths if rank == 1 else (lengths,)
    axes = (("axes", tuple(range(-rank, 0))),) if rank > 2 else ()
    return OwnCall(f"fft.{kind}{_RANKS.get(rank, 'n')}", (Slot(0), *size), axes, package="scipy")


def _of_one_matrix(function: str) -> Callable[[Node], OwnCall | None]:
    def rule(node: Node) -> OwnCall | None:
        is_known = all(each.ndim == 2 and each.type.name in _SOLVED for each in node.operands)
        return OwnCall(function, keywords=tuple(node.parameters["keywords"].items())) if is_known else None

    return rule


_CALLS: dict[str, Callable[[Node], OwnCall | None]] = {
    "cholesky": _of_one_matrix("cholesky_by_lapack"),
    "triangular_solve": _of_one_matrix("triangular_solve_by_blas"),
    "solve": _of_one_matrix("solve_by_lapack"),
}

# SciPy's functions by prelude functions: those that agree for every number, also at singularities.
_SPECIAL = {
    **dict.fromkeys(("erf", "erf_float64"), "erf"),
    **dict.fromkeys(("erfc", "erfc_float64"), "erfc"),
    **dict.fromkeys(("erf_inv", "erf_inv_float64"), "erfinv"),
    **dict.fromkeys(("normal_cdf", "normal_cdf_float64"), "ndtr"),
    **dict.fromkeys(("i0e", "i0e_float64"), "i0e"),
    **dict.fromkeys(("i1e", "i1e_float64"), "i1e"),
    **dict.fromkeys(("erfcx", "erfcx_float64"), "erfcx"),
    **{name: name for name in ("entr", "ndtri", "xlogy", "xlog1py")},
}
# These functions differ from HLO at infinities and poles.
_SPECIAL_INSIDE = {
    "lgamma": "gammaln",
    **{name: name for name in ("digamma", "gammainc", "gammaincc", "betainc", "zeta")},
    **{f"{name}_with_limits": name for name in ("digamma", "gammainc", "gammaincc")},
}


def _special_function(names: Mapping[str, str], node: Node) -> OwnCall | None:
    """Return the special function of SciPy that replaces a prelude call, of those in ``names``; or None."""
    name = names.get(node.parameters["function"]) if node.opcode == "prelude" else None
    is_known = name is not None and all(each.type.name in ("f32", "f64") for each in (node, *node.operands))
    return OwnCall(f"special.{name}", package="scipy") if is_known else None


SCIPY = Package(_faster_function, partial(_special_function, _SPECIAL), partial(_special_function, _SPECIAL_INSIDE))
