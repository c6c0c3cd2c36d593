"""Calls of SciPy in place of NumPy's where a module may import it: SciPy computes these faster."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ...transpile.array.node import Node, Slot
from ..base import OwnCall

_LEAST_ELEMENTS = 2**12  # for which another function is worth the longer call
_SOLVED = frozenset("f32 f64 c64 c128".split())
_RANKS = {1: "", 2: "2"}


def scipy_function(node: Node) -> OwnCall | None:
    """The call of SciPy that stands for a node, or of a function of the prelude that calls it; or None."""
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
