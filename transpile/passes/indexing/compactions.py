"""Elements that a mask compacts, and that are scattered back after element-wise operations: a select by the mask.

``jnp.nonzero(mask, size=n, fill_value=n)`` gives the indices of the true elements of a mask of ``n`` elements, padded
with ``n``. A scatter drops the updates at ``n``, so gathering and scattering move no element. The select computes
values for the other elements as well, and drops them.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node, Slot, Ufunc, literal_value
from ...array.rewriting import with_operands
from ...array.traversal import topological
from ...hlo.element_types import PRED
from ..rewriting.patterns import Bindings, is_number
from ..rewriting.rules import Rule, rule_pass

_TOTALS = "(totals := cumsum(convert(mask), axis=0))"
_COUNTS = (
    f"getitem(convert(np.bincount({_TOTALS}, keywords=keywords)), index=part)",
    f"getitem(np.bincount({_TOTALS}, keywords=keywords), index=part)",
    f"prelude.scatter_at(zeros(0), 1, {_TOTALS}, arguments=counting)",
)
_PLACES = (
    "(places := select(compare(arange(stop=stop), (count := sum(mask)), direction='GE'), FILL, "
    "remainder((ranks := cumsum({}, axis=0)), SIZE)))"
)
_STORING = (Slot(0), Slot(2), Slot(1))  # the arguments of ``scatter_at``: an array, places and values


def _chosen(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the select that a scatter is, or None."""
    x, mask, arguments = node.operands[0], found["mask"], node.parameters["arguments"]
    is_plain = arguments[:3] == _STORING and not node.parameters["keywords"]
    if not is_plain or not _are_all_places(found, mask) or x.shape != mask.shape:
        return None
    value = _everywhere(graph, node.operands[1], found)
    if value is None or value.element_type is not x.element_type:
        return None
    if arguments[3:] == (Ufunc("add"),) and x.type.is_integral and is_number(value, 1):
        return graph.add("add", (x, graph.add("convert", (mask,), element_type=x.element_type)))
    for combine in arguments[3:]:
        value = graph.add(combine.opcode, (x, value))
    return graph.add("select", (mask, value, x))


def _are_all_places(found: Bindings, mask: Node) -> bool:
    """Return whether the indices are those of all true elements, padded with the size of the mask."""
    if mask.element_type is not PRED or mask.ndim != 1:
        return False
    (size,) = mask.shape
    is_cut = found.get("part", ((None, size, None),)) == ((None, size, None),)
    is_counted = found.get("keywords") == {"minlength": size + 1} or found.get("counting") == (*_STORING, Ufunc("add"))
    is_wide = all(found[name].type.is_integral and found[name].type.bits >= 32 for name in ("totals", "count", "ranks"))
    sizes = {found["stop"], *(int(literal_value(found[name])) for name in ("SIZE", "FILL"))}
    return is_cut and is_counted and is_wide and sizes == {size}


def _everywhere(graph: Graph, value: Node, found: Bindings) -> Node | None:
    """Return the update values computed for all elements, or None if the operations are not all element-wise."""
    places, shape = found["places"], found["mask"].shape
    new: dict[Node, Node] = {}

    def needs(node: Node) -> tuple[Node, ...]:
        is_inner = node.ndim and node is not places and node.operation.is_elementwise and not node.stands_alone
        return node.operands if is_inner else ()

    for node in topological([value], needs):
        if not node.ndim:
            new[node] = node
        elif node is places:
            new[node] = graph.add("arange", stop=shape[0], element_type=node.element_type)
        elif node.opcode == "take" and node.operands[1] is places and node.operands[0].shape == shape:
            new[node] = node.operands[0]
        elif needs(node) and node.shape == shape:
            new[node] = with_operands(graph, node, tuple(new[operand] for operand in node.operands))
        elif node.operation.is_filled:
            new[node] = node
        else:
            return None
    return new[value]


RULES = tuple(Rule(f"prelude.scatter_at(x, value, {_PLACES.format(counts)})", _chosen) for counts in _COUNTS)

compactions = rule_pass(__name__, "Choose by the mask.", RULES)
