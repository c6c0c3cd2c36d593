"""Simplifies indices: libraries count negative ones from the end, and take integers of any type.

JAX adds the size of an axis to negative indices, and HLO clamps the rest: ``x[clip(where(i < 0, i + n, i), 0, n - 1)]``
is ``x[clip(i, -n, n - 1)]``. A value that is only an index, or only stored in an array, does not need its own type: an
``argmax`` or a sum of that kind gets the parameter ``plain``.
"""

from __future__ import annotations

from ...array.affine import integer_value
from ...array.graph import Graph
from ...array.intervals import fits
from ...array.node import Node
from ...array.operations import OPERATIONS
from ...array.program import Function
from ...array.rewriting import rewrite, with_operands
from ...array.support import Support
from ...hlo.element_types import PRED
from ..rewriting.patterns import pattern
from ..rewriting.users import Use, Uses, index_places
from .wrapped_indices import CLAMPED, WRAPPED, is_of_axis, wrapped_counter

# Operations whose own type may not be needed, and operations with indices.
_TYPED = ("argmax", "argmin", "argsort", "sum", "prod", "convert")
_INDEXED = (*_TYPED, *(name for name, row in OPERATIONS.items() if row.takes_positions))


def indices(function: Function, supports: Support) -> None:
    """Write indices as the array library takes them."""
    if not supports.features.indices_are_free:
        return
    uses = Uses(function)
    graph = function.graph
    is_trusted, are_numbers = supports.features.indices_are_trusted, supports.features.elements_are_numbers

    def is_guarded(node: Node) -> bool | None:
        """Return whether the node clamps its index itself; None if no clamp is needed."""
        return None if is_trusted else node.parameters.get("clamped", False)

    def rule(node: Node) -> Node | None:
        if node.opcode in _TYPED and not node.parameters.get("plain") and _needs_no_type(node, uses(node)):
            is_convert = node.opcode == "convert"
            return node.operands[0] if is_convert else with_operands(graph, node, node.operands, plain=True)
        if node.opcode == "take" and node.parameters["clamped"] and (unbounded := _unbounded(node)):
            return with_operands(graph, node, (node.operands[0], unbounded))
        if node.opcode == "update_at" and not are_numbers and not node.parameters.get("distinct"):
            return None  # such libraries call a function for it, which drops what is negative
        changed = {
            place: index
            for place, size in index_places(node).items()
            if (index := _index(graph, node.operands[place], size, uses, is_guarded(node))) is not None
        }
        if not changed:
            return None
        given = tuple(changed.get(place, operand) for place, operand in enumerate(node.operands))
        unclamped = {"clamped": False} if node.opcode == "take" and node.parameters["clamped"] else {}
        if unclamped:
            given = (given[0], _clamp(graph, given[1], node.operands[0].shape[node.parameters["axis"]]))
        return with_operands(graph, node, given, **unclamped)

    rewrite(function, _INDEXED, rule, supports)


def _unbounded(node: Node) -> Node | None:
    """Return the index of a ``take`` without bounds, if it is clamped to the axis anyway; or None."""
    x, index = node.operands
    last = x.shape[node.parameters["axis"]] - 1
    if index.opcode == "clamp":
        low, inner, high = index.operands
        least, most = integer_value(low), integer_value(high)
    elif index.opcode in ("maximum", "minimum"):
        inner, bound = index.operands if not index.operands[0].is_literal else index.operands[::-1]
        number = integer_value(bound)
        least, most = (number, last) if index.opcode == "maximum" else (0, number)
    else:
        return None
    is_dead = least is not None and least <= 0 and most is not None and most >= last
    is_like = inner.element_type is index.element_type and inner.shape == index.shape and not inner.is_python_int
    return inner if is_dead and is_like else None


def _needs_no_type(node: Node, uses: list[Use]) -> bool:
    """Return whether all users of an arg-reduction, a sum of integers or a conversion accept any type: wider integers
    keep the low bits.
    """
    if not uses or any(use.kind not in ("index", "counted", "stored") for use in uses):
        return False
    if node.opcode in ("argmax", "argmin", "argsort"):
        return True
    stored = all(use.kind == "stored" for use in uses)
    if node.opcode in ("sum", "prod"):
        return stored and node.type.is_integral and node.type.bits >= 8 and _wraps(node, node)
    if node.opcode != "convert":
        return False
    (source,) = node.operands
    if source.type.is_extension or node.type.is_extension:
        return False
    if source.type.name in ("pred", "u64") and any(use.kind == "counted" for use in uses):
        return False  # np.bincount only takes types that convert safely to int64
    is_exact = source.type.is_integral and source.interval is not None and fits(source.interval, node.type)
    return is_exact or (stored and _wraps(source, node))


def _wraps(source: Node, node: Node) -> bool:
    """Return whether storing a value converts it as ``node`` does. NumPy stores no number in signed integers that they
    cannot hold, unlike the elements of an array.
    """
    if node.ndim or not node.type.is_integral or source.type is PRED:
        return True
    return source.type.is_integral and not node.type.is_signed and not source.is_python_int


def _index(graph: Graph, given: Node, size: int, uses: Uses, is_clamped: bool | None) -> Node | None:
    """Return a simpler index, or None. ``is_clamped`` tells whether the user clamps it, None if no clamp is needed."""
    if any(use.kind != "index" for use in uses(given)):
        return None
    if given.opcode in ("remainder", "modulo"):
        return _counted_around(given, size)
    found = pattern(CLAMPED).match(given) or pattern(WRAPPED).match(given)
    if found is None and given.opcode in ("clamp", "select"):
        return _counted_index(graph, given, size, is_clamped)
    if found is None or not given.type.is_signed or found["i"].is_python_int:
        return None
    inner = given.operands[1] if given.opcode == "clamp" else given
    if inner is not given and not all(map(_may_count_from_end, uses(inner))):
        return None
    if not is_of_axis(found, size):
        return None
    index: Node = found["i"]
    bounds = index.interval
    if bounds is not None and -size <= bounds[0] and bounds[1] < size:
        return index
    if is_clamped is None and "LAST" not in found:
        return index
    return _clamp(graph, index, size) if "LAST" in found or is_clamped else None


def _counted_around(given: Node, size: int) -> Node | None:
    """Return ``i`` for ``i % size`` that is at least 0, if libraries count ``i`` from the end where it is negative."""
    index, divisor = given.operands
    is_floored = given.interval is not None and given.interval[0] >= 0
    if not is_floored or integer_value(divisor) != size or index.interval is None or not index.type.is_signed:
        return None
    return index if -size <= index.interval[0] and index.interval[1] < size else None


def _may_count_from_end(use: Use) -> bool:
    """Return whether an index gets simpler for a user, too: it is clamped, or says where a loop changes an element."""
    user = use.node
    if user is None or user.opcode == "clamp":
        return user is not None
    is_update = user.parameters.get("function") == "scatter_at" and user.region.is_in_loop
    return is_update and not any(place.ndim for place in user.operands[2:])


def _counted_index(graph: Graph, given: Node, size: int, is_clamped: bool | None) -> Node | None:
    """Return the Python int that counts from the end where it is negative, for one to which the size is added."""
    clamped = pattern("clamp(0, inner, LAST)").match(given)
    found = wrapped_counter(clamped["inner"] if clamped is not None else given)
    if found is None or found[1] != size or (clamped is not None and not is_of_axis(clamped, size)):
        return None
    index, (low, high) = found[0], (-size, size - 1)
    assert index.interval is not None
    if (low <= index.interval[0] and index.interval[1] <= high) or (is_clamped is None and clamped is None):
        return index
    if clamped is None and not is_clamped:
        return None
    index = graph.add("maximum", (index, graph.integer(low)), element_type=index.element_type)
    return graph.add("minimum", (index, graph.integer(high)), element_type=index.element_type)


def _clamp(graph: Graph, index: Node, size: int) -> Node:
    if index.opcode == "clamp" and index.interval == (-size, size - 1):
        return index
    low, high = (graph.literal(bound, index.type) for bound in (-size, size - 1))
    return graph.add("clamp", (low, index, high), interval=(-size, size - 1))
