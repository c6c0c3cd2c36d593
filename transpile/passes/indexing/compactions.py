"""Work on the elements that a mask chooses, which are gathered and put back: work on all, and a choice by the mask.

``jnp.nonzero(mask, size=n, fill_value=n)`` gives the places where a mask of ``n`` elements is true, and ``n`` for the
rest. What is computed of the elements there, and stored or combined there, is dropped everywhere else: no element is
moved. Values at the other elements are computed as well, and not chosen.
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
    """Return the choice, or None."""
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
    """Tell whether the places are those of all true elements, and then one past the end."""
    if mask.element_type is not PRED or mask.ndim != 1:
        return False
    (size,) = mask.shape
    is_cut = found.get("part", ((None, size, None),)) == ((None, size, None),)
    is_counted = found.get("keywords") == {"minlength": size + 1} or found.get("counting") == (*_STORING, Ufunc("add"))
    is_wide = all(found[name].type.is_integral and found[name].type.bits >= 32 for name in ("totals", "count", "ranks"))
    sizes = {found["stop"], *(int(literal_value(found[name])) for name in ("SIZE", "FILL"))}
    return is_cut and is_counted and is_wide and sizes == {size}


def _everywhere(graph: Graph, value: Node, found: Bindings) -> Node | None:
    """Return what is computed of the chosen elements, of all elements; None unless that is element by element."""
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
