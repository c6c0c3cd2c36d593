"""``--edge-cases library``: the array library's plain calls, where they differ from HLO only on special inputs.

The inputs are singular, not finite, out of range or zero divisors; ``edges.toml`` lists them for each operation, with
the results. Guards of indices are never made if the target's features say that indices are trusted; the other rows are
raised here, after all other passes, from the calls that are exact everywhere.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node, Slot, literal_value
from ...array.operations import OPERATIONS
from ...array.program import Function
from ...array.rewriting import call_parameters, called
from ...array.support import Support
from ...array.value import FULL, last_two_swapped, transposed
from ...dataclass import dataclass
from ...hlo.element_types import ElementType
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, Rule, apply_rules
from ..rewriting.users import index_places

LIBRARY = "library"
SINGULARITIES = "singularities"  # the row for special functions of a package (``transpile.target.Package``)


@dataclass(frozen=True, slots=True)
class Edge:
    """A row of ``edges.toml``: the ``exact`` and the ``plain`` text, the ``inputs`` on which they differ, the results
    of XLA and of the library there, and the names of exceptions that the library raises.
    """

    name: str
    exact: str
    plain: str
    inputs: str
    xla: str
    library: str
    raises: tuple[str, ...] = ()


@cache
def table() -> tuple[Edge, ...]:
    """Return all rows, in order."""
    rows = tomllib.loads(Path(__file__).with_name("edges.toml").read_text(encoding="utf-8"))
    return tuple(Edge(name, **{**row, "raises": tuple(row.get("raises", ()))}) for name, row in rows.items())


def edges(function: Function, supports: Support) -> Iterator[str]:
    """Replace exact calls by the library's own; yield the names of the rows that are used."""
    for name, rules in RULES.items():
        before = set(live_nodes(function))
        apply_rules(function, rules, supports)
        if before - set(live_nodes(function)):
            yield name
    if any(map(_is_trusted, live_nodes(function).of(_INDEXED))):
        yield "indices"


# -- elements


def _converted(graph: Graph, node: Node, found: Bindings) -> Node:
    return graph.add("convert", (found["x"],), element_type=node.element_type, interval=node.interval)


def _is_native(element_type: ElementType) -> bool:
    return not element_type.is_extension and element_type.bits >= 8


def _is_not_negative(node: Node) -> bool:
    is_unsigned = node.element_type is not None and node.element_type.is_unsigned
    return is_unsigned or (node.interval is not None and node.interval[0] >= 0)


def _quotient(graph: Graph, node: Node, found: Bindings) -> Node | None:
    a, b = found["a"], found["b"]
    if not (_is_not_negative(a) and _is_not_negative(b)):
        a = graph.add("subtract", (a, called(graph, "np.fmod", (a, b), node)))
    return graph.add("divide", (a, b), interval=node.interval)


def _remainder(graph: Graph, node: Node, found: Bindings) -> Node | None:
    a, b = found["a"], found["b"]
    if _is_not_negative(a) and _is_not_negative(b):
        return graph.add("remainder", (a, b), interval=node.interval)
    return called(graph, "np.fmod", (a, b), node)


def _mod(graph: Graph, node: Node, found: Bindings) -> Node | None:
    divisor: Node = found["Y"]
    return called(graph, "np.mod", (found["x"], divisor), node) if literal_value(divisor) > 0 else None


# -- indices

_INDEXED = tuple(name for name, row in OPERATIONS.items() if row.takes_positions)


def _is_trusted(node: Node) -> bool:
    """Return whether an index may be out of range and is not clamped."""
    if node.parameters.get("clamped"):
        return False
    items = [item for item in node.parameters.get("index", ()) if item is not None]
    slices = {
        item[0].index: size - item[1]
        for item, size in zip(items, node.operands[0].shape, strict=False)
        if isinstance(item, tuple) and isinstance(item[0], Slot)
    }
    places = {place: (-size, size - 1) for place, size in index_places(node).items()}
    places |= {place: (0, last) for place, last in slices.items()}
    bounds = ((node.operands[place].interval, limits) for place, limits in places.items())
    return any(known is None or known[0] < low or known[1] > high for known, (low, high) in bounds)


def _taken(graph: Graph, node: Node, found: Bindings) -> Node:
    axis = node.parameters["keywords"].get("axis", 0)
    return graph.add("take", (found["x"], found["i"]), axis=axis, clamped=False)


def _elements(graph: Graph, node: Node, found: Bindings) -> Node:
    return graph.add("advanced_index", node.operands, index=tuple(Slot(k) for k in range(1, len(node.operands))))


def _searched(graph: Graph, node: Node, found: Bindings) -> Node:
    operands = found["table"], found["values"]
    parameters = call_parameters("searchsorted", operands, **node.parameters["keywords"])
    places = graph.add("library", operands, interval=node.interval, **parameters)
    return graph.add("convert", (places,), element_type=node.element_type, interval=node.interval)


def _converted_once(graph: Graph, node: Node, found: Bindings) -> Node:
    return graph.add("convert", (found["found"],), element_type=node.element_type, interval=node.interval)


# -- matrices


def _triangle(graph: Graph, matrix: Node, *, lower: bool) -> Node:
    """Return a matrix with zeros outside of one triangle; the matrix itself if it has them already."""
    if matrix.opcode == "transpose" and matrix.parameters["axes"] == last_two_swapped(matrix.ndim):
        return transposed(graph, _triangle(graph, matrix.operands[0], lower=not lower))
    opcode = "tril" if lower else "triu"
    is_factor = lower and matrix.parameters.get("function") == "linalg.cholesky"
    is_r = not lower and matrix.opcode == "item" and matrix.operands[0].opcode == "qr" and matrix.parameters["index"]
    is_cut = matrix.opcode == opcode and not matrix.parameters["diagonal"]
    return matrix if is_factor or is_r or is_cut else graph.add(opcode, (matrix,), diagonal=0)


def _triangular(graph: Graph, node: Node, found: Bindings) -> Node | None:
    a, b = found["a"], found["b"]
    given: dict[str, Any] = node.parameters["keywords"]
    if given.get("unit_diagonal") or a.element_type is not b.element_type or a.shape[:-2] != b.shape[:-2]:
        return None
    return called(graph, "np.linalg.solve", (_triangle(graph, a, lower=given.get("lower", False)), b), node)


def _of_transposed(graph: Graph, node: Node, found: Bindings) -> Node:
    return called(graph, "np.linalg.solve", (transposed(graph, found["a"]), found["b"]), node)


def _column(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the vector solution for a right side that is a single column, or None."""
    column = found["column"]
    is_column = tuple(column.parameters["index"]) == (FULL, None) and column.operands[0].ndim == 1
    if not is_column or tuple(node.parameters["index"]) != (FULL, 0) or found["a"].ndim != 2:
        return None
    return called(graph, "np.linalg.solve", (found["a"], column.operands[0]), node)


def _cholesky(graph: Graph, node: Node, found: Bindings) -> Node:
    given = node.parameters
    is_lower = all((*given["arguments"][1:], given["keywords"].get("lower", True)))
    return called(graph, "np.linalg.cholesky", (found["a"],), node, **({} if is_lower else {"upper": True}))


def _decomposed(name: str) -> Callable[[Graph, Node, Bindings], Node]:
    """Return the right side of a rule for a decomposition with one result, by the library's function of that name."""

    def give(graph: Graph, node: Node, found: Bindings) -> Node:
        return called(graph, f"np.linalg.{name}", (found["a"],), node, **_of_library(node))

    return give


def _part(name: str) -> Callable[[Graph, Node, Bindings], Node]:
    """Return the right side of a rule for one of several results."""

    def give(graph: Graph, node: Node, found: Bindings) -> Node:
        call: Node = found["call"]
        parameters = call_parameters(f"linalg.{name}", call.operands, **_of_library(call))
        made = graph.add("library", call.operands, **parameters)
        return graph.add("item", (made,), index=node.parameters["index"])

    return give


def _of_library(call: Node) -> dict[str, Any]:
    """Return the library's keywords for those of a prelude call."""
    given = dict(call.parameters["keywords"])
    return {**given, "UPLO": "U"} if given.pop("lower", True) is False else given


_ARCS = ("arccos", "arccosh", "arcsin", "arcsinh")

RULES: dict[str, tuple[Rule, ...]] = {
    "conversions": (Rule("prelude.to_int(x)", _converted, when=_is_native),),
    "sigmoids": (FloatRule("prelude.sigmoid(x)", "logistic(x)"),),
    "division": (
        Rule("prelude.int_divide(a, b)", _quotient, when=_is_native),
        Rule("prelude.int_remainder(a, b)", _remainder, when=_is_native),
    ),
    "zeros": (
        FloatRule("add(x, 0)", "x"),
        FloatRule("subtract(0, x)", "negate(x)"),
        FloatRule(
            "select(compare((rest := remainder(x, Y)), 0, direction='LT'), add(rest, Y), rest)", _mod, once=("rest",)
        ),
    ),
    "complex": (
        *(Rule(f"prelude.complex_{name}(z)", f"{name}(z)") for name in ("sqrt", "square")),
        Rule("prelude.complex_sin(z)", "sine(z)"),
        Rule("prelude.complex_cos(z)", "cosine(z)"),
        *(Rule(f"prelude.complex_{name}(z)", f"np.{name}(z)") for name in _ARCS),
    ),
    "powers": (Rule("prelude.int_power(a, b)", "power(a, b)", when=_is_native),),
    "indices": (
        Rule("prelude.take_or_fill(x, i)", _taken),
        *(Rule(f"prelude.get_or_fill({operands})", _elements) for operands in ("x, i", "x, i, j", "x, i, j, k")),
    ),
    "searches": (
        Rule("prelude.search_sorted(table, values)", _searched),
        Rule("convert((inner := convert((found := np.searchsorted(table, values)))))", _converted_once),
    ),
    "determinants": (Rule("prelude.small_det(a)", "np.linalg.det(a)"),),
    "equations": (
        Rule("prelude.solve(a, b)", "np.linalg.solve(a, b)"),
        Rule("prelude.solve_each(a, b)", "np.linalg.solve(a, b)"),
        Rule("prelude.solve_transposed(a, b)", _of_transposed),
        Rule("getitem(np.linalg.solve(a, (column := expand(b))))", _column),
    ),
    "triangles": (FloatRule("prelude.triangular_solve(a, b)", _triangular),),
    "cholesky": (
        FloatRule("prelude.cholesky(a)", _cholesky),
        Rule("tril((factor := np.linalg.cholesky(a)), diagonal=0)", "factor"),
    ),
    "decompositions": (
        *(Rule(f"prelude.{name}(a)", _decomposed(name)) for name in ("svdvals", "eigvalsh")),
        *(Rule(f"item((call := prelude.{name}(a)))", _part(name)) for name in ("svd", "eigh")),
    ),
}
