"""Linear equations: raises JAX's code around LAPACK's LU factorisation to one call.

``jnp.linalg.solve`` consists of that factorisation, a loop that turns its row exchanges into a permutation, and two
triangular solves. The call does the same, so it behaves alike for singular and non-finite matrices. Its gradient solves
with the transposed factors; a loop that saved these for the gradient saves the matrix.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node, Slot
from ...array.program import Function, Loop
from ...array.rewriting import called, rewrite
from ...array.support import Support
from ...array.traversal import is_inside
from ...array.value import FULL, getitem, permute
from ..indexing.wrapped_indices import WRAPPED
from ..loops.dead_carries import unread_carries
from ..loops.loop_rows import is_counted_store, is_row, of_all_rounds, row_at
from ..rewriting.patterns import Bindings, pattern
from ..rewriting.rules import Rule, apply_rules
from ..to_array.linear_algebra import permutation

_EXCHANGE = "setitem((once := setitem(order, getitem(order, there), here)), getitem(order, here), there)"
_EXCHANGES = (
    "setitem((once := setitem(order, (own := advanced_index(order, each, there)), here)),"
    " take(order, scalar(here)), each, there)"
)  # for each of several orders


def solves(function: Function, supports: Support) -> None:
    """Raise permutations by row exchanges, then the solves that use them."""
    graph = function.graph

    def rule(node: Node) -> Node | None:
        if node.opcode != "item" or node.operands[0].opcode != "loop":
            return None
        found = _permutation(node.operands[0])
        return None if found is None else _order(graph, node, found)

    rewrite(function, ("item",), rule, supports)
    apply_rules(function, (*RULES, *RULES_IN_MEMORY) if supports.features.arrays_fit_memory else RULES, supports)
    calls = live_nodes(function).of(("prelude",))
    if any(call.parameters["function"] == "solve_transposed" for call in calls):
        unread_carries(function, supports)  # of the factors


def _permutation(node: Node) -> Node | None:
    """Return the row that each step exchanges with its own, if the loop does only that to 0, 1, .. n - 1, or to several
    such orders; or None.
    """
    loop: Loop = node.parameters["loop"]
    if len(loop.carries) != 1 or loop.stores or loop.effect is not None or loop.counter is None or not loop.is_fixed:
        return None
    (carry,) = loop.carries
    shape, following = carry.initial.shape, carry.following
    is_counted = _counts(carry.initial) and (loop.start, loop.stop, loop.step) == (0, shape[-1], 1)
    if following is None or not is_counted:
        return None
    exchanged = _exchanged if len(shape) == 1 else _exchanged_in_each
    rows = exchanged(following, carry.parameter, loop.counter)
    if rows is None or rows.region is loop.region or rows.shape != shape or rows.interval is None:
        return None
    return rows if rows.interval[0] >= 0 and rows.interval[1] < shape[-1] else None


def _counts(order: Node) -> bool:
    """Return whether an array is 0, 1, .., or has that in each of its rows."""
    is_row = order.opcode == "broadcast_to" and order.ndim == 2
    return (order.operands[0] if is_row else order).opcode == "arange"


def _exchanged(following: Node, order: Node, counter: Node) -> Node | None:
    found = pattern(_EXCHANGE).match(following)
    if found is None or found["order"] is not order or found["here"] is not counter:
        return None
    there = found["there"]
    is_read = there.opcode == "getitem" and len(there.operands) == 2 and there.operands[1] is counter
    return there.operands[0] if is_read else None


def _exchanged_in_each(following: Node, order: Node, counter: Node) -> Node | None:
    found = pattern(_EXCHANGES).match(following)
    if found is None or found["order"] is not order or found["here"] is not counter:
        return None
    places = [node.parameters["index"] for node in (found["once"], found["own"], following)]
    are_own = places == [(FULL, Slot(2)), (Slot(1), Slot(2)), (Slot(2), Slot(3))]
    there = pattern("take(rows, scalar(counter), axis=1)").match(found["there"])
    is_read = there is not None and there["counter"] is counter and _is_counted(found["each"], order.shape[0])
    return there["rows"] if there is not None and is_read and are_own else None


def _is_counted(node: Node, size: int) -> bool:
    return node.opcode == "arange" and node.shape == (size,)


def _order(graph: Graph, item: Node, rows: Node) -> Node | None:
    made = permutation(graph, rows, item.shape[-1])
    return made if made.element_type is item.element_type else None


def _dead_wrap(graph: Graph, node: Node, found: Bindings) -> Node | None:
    order: Node = found["i"]
    return order if order.interval is not None and order.interval[0] >= 0 else None


def _in_bounds(graph: Graph, node: Node, found: Bindings) -> Node | None:
    order, axis = found["order"], node.parameters["axis"]
    if not node.parameters["clamped"] or order.interval is None or order.interval[0] < 0:
        return None
    if order.interval[1] >= found["x"].shape[axis]:
        return None
    return graph.add("take", node.operands, axis=axis, clamped=False)


def _factors(found: Bindings, order: Node) -> bool:
    """Return whether both triangles come from one factorisation, and the rows are in its order."""
    parts = {name: found[name].parameters["index"] for name in ("lu", "info")}
    (pivots,) = order.operands
    exchanged = pattern("subtract((rows := item(factored)), 1)").match(pivots)
    return (
        found["factored"].opcode == "prelude"
        and found["factored"].parameters["function"] == "getrf"
        and parts == {"lu": 0, "info": 2}
        and exchanged is not None
        and exchanged["factored"] is found["factored"]
        and exchanged["rows"].parameters["index"] == 1
        and order.parameters["function"] == "pivots_to_permutation"
    )


def _solution(graph: Graph, node: Node, found: Bindings) -> Node | None:
    outer, inner = node.parameters["keywords"], found["half"].parameters["keywords"]
    taken: Node = found["taken"]
    if outer or inner != {"lower": True, "unit_diagonal": True} or not _factors(found, found["order"]):
        return None
    (matrix,) = found["factored"].operands
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        return None
    x: Node = found["b"]
    if "turned" in found:
        right = permute(graph, x, (1, 0)) if x.ndim == 2 and taken.parameters["axis"] == 1 else None
    else:
        right = x if taken.parameters["axis"] == 0 else None
    if right is not None and "column" in found:
        right = getitem(graph, right, found["column"].parameters["index"]) if right.ndim == 1 else None
    if right is None or right.shape != node.shape:
        return None
    return called(graph, "solve", (matrix, right), node)


def _vector(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the vector solution for a right-hand side that is a single column, or None."""
    column = found["column"]
    is_column = tuple(column.parameters["index"]) == (":", None) and column.operands[0].ndim == 1
    if not is_column or tuple(node.parameters["index"]) != (":", 0):
        return None
    return called(graph, "solve", (found["a"], column.operands[0]), node)


def _transposed(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the solution of the transposed equations, or None."""
    outer, inner = (found[name].parameters["keywords"] for name in ("whole", "half"))
    is_vector = "first" in found
    if is_vector and found["first"].parameters["index"] != (FULL, 0):
        return None
    if outer != {"unit_diagonal": True} or inner != {"lower": True} or node.parameters["axis"]:
        return None
    both, order, right = (found[name] for name in ("both", "order", "b"))
    matrix = _factored(both, order) or _factored_in_loop(graph, both, order)
    if matrix is None:
        return None
    if is_vector:
        is_column = right.opcode == "expand" and right.operands[0].ndim == 1
        right = right.operands[0] if is_column else getitem(graph, right, (FULL, 0))
    return called(graph, "solve_transposed", (matrix, right), node) if right.shape == node.shape else None


def _factored(both: Node, order: Node) -> Node | None:
    """Return the matrix that has these factors and this order of rows, or None."""
    found = pattern(_TRIANGLES).match(both)
    is_order = order.opcode == "prelude" and order.parameters["function"] == "pivots_to_permutation"
    if found is None or not is_order or not _factors(found, order):
        return None
    (matrix,) = found["factored"].operands
    return matrix if matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] else None


def _factored_in_loop(graph: Graph, both: Node, order: Node) -> Node | None:
    """Return the row of the matrices that a loop has factored, if ``both`` and ``order`` are rows of what it saved."""
    saved = [_saved(row) for row in (both, order)]
    if None in saved or both.operands[1] is not order.operands[1]:
        return None
    (loop, factors), (other, exchanged) = (each for each in saved if each is not None)
    matrix = _factored(factors, exchanged) if loop is other else None
    if matrix is None or not is_inside(matrix.region, loop.parameters["loop"].region):
        return None
    return row_at(graph, of_all_rounds(graph, loop, matrix, both.operands[0].shape[0]), both.operands[1])


def _saved(row: Node) -> tuple[Node, Node] | None:
    """Return the loop that saved a row, and its value there, or None."""
    if not is_row(row) or row.operands[0].opcode != "item" or row.operands[0].operands[0].opcode != "loop":
        return None
    (node,), index = row.operands[0].operands, row.operands[0].parameters["index"]
    loop: Loop = node.parameters["loop"]
    store = next((store for store in loop.stores if store.carry is loop.carries[index]), None)
    return (node, store.value) if store is not None and is_counted_store(store, loop) else None


def _solutions(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return one call for the equations of several matrices, or None."""
    outer, inner = node.parameters["keywords"], found["half"].parameters["keywords"]
    (matrix,) = found["factored"].operands
    if outer or inner != {"lower": True, "unit_diagonal": True} or not _factors(found, found["order"]):
        return None
    is_taken = found["taken"].parameters["index"] == (Slot(1), Slot(2)) and _is_counted(found["each"], matrix.shape[0])
    right: Node = found["b"]
    if "column" in found:
        right = getitem(graph, right, found["column"].parameters["index"])
    if matrix.ndim != 3 or matrix.shape[1] != matrix.shape[2] or right.shape != node.shape or not is_taken:
        return None
    return called(graph, "solve_each", (matrix, right), node)


_TRIANGLES = 'select(compare((info := item(factored)), 0, direction="GE"), (lu := item(factored)), nan)'
_TAKEN = "(taken := take(b, (order := prelude.pivots_to_permutation(rows))))"
_RIGHT_SIDES = (_TAKEN, f"(turned := transpose({_TAKEN}))", f"(column := expand({_TAKEN}))")

_EACH_TRIANGLE = 'select(expand(compare((info := item(factored)), 0, direction="GE")), (lu := item(factored)), nan)'
_EACH_TAKEN = (
    "(taken := advanced_index(b, expand(each), clamp(0, (order := prelude.pivots_to_permutation(rows)), LAST)))"
)

_HALF = "(half := prelude.triangular_solve((turned := transpose(both)), b))"
_WHOLE = f"(whole := prelude.triangular_solve(turned, {_HALF}))"

RULES = (
    Rule(WRAPPED, _dead_wrap),
    Rule("take(x, order)", _in_bounds),
    *(
        Rule(
            f"prelude.triangular_solve((both := {_TRIANGLES}), (half := prelude.triangular_solve(both, {right})))",
            _solution,
        )
        for right in _RIGHT_SIDES
    ),
    Rule("getitem(prelude.solve(a, (column := expand(b))))", _vector),
)

# For several matrices, and transposed ones. A target with chunks cuts the two triangular solves instead.
RULES_IN_MEMORY = (
    *(
        Rule(
            f"prelude.triangular_solve((both := {_EACH_TRIANGLE}), (half := prelude.triangular_solve(both, {right})))",
            _solutions,
        )
        for right in (_EACH_TAKEN, f"(column := expand({_EACH_TAKEN}))")
    ),
    Rule(f"take({_WHOLE}, argsort(order))", _transposed),
    Rule(f"take((first := getitem({_WHOLE})), argsort(order))", _transposed),
)
