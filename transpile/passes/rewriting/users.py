"""The uses of a node, by kind."""

from __future__ import annotations

from ...array.live import live_nodes
from ...array.node import Node, Slot
from ...array.program import Function
from ...array.traversal import nested_roots
from ...dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Use:
    """One use: by a node (None for a result of the function).

    ``kind`` is ``index`` if the value selects elements, ``counted`` for ``np.bincount``, ``stored`` if the value is
    written into an array and takes its type, or ``operand``.
    """

    node: Node | None
    kind: str


class Uses:
    """The uses of nodes while a function is rewritten."""

    def __init__(self, function: Function) -> None:
        self._live = live_nodes(function)

    def __call__(self, node: Node) -> list[Use]:
        """Return the uses of a node."""
        found = [Use(None, "operand")] if self._live.is_root(node) else []
        for user in self._live.users(node):
            kinds = _kinds(user)
            stores = user.parameters["loop"].stores if user.opcode == "loop" else []
            stored = [store.value for store in stores].count(node)
            places = [index for store in stores for index in store.indices].count(node)
            found += (Use(user, kinds.get(place, "operand")) for place, one in enumerate(user.operands) if one is node)
            nested = nested_roots(user).count(node) - stored - places
            found += [Use(user, "stored")] * stored + [Use(user, "index")] * places + [Use(user, "operand")] * nested
        return found


def _kinds(node: Node) -> dict[int, str]:
    if node.opcode == "library" and node.parameters["function"] == "bincount":
        return {0: "counted"}
    kinds = dict.fromkeys(index_places(node), "index")
    return kinds | {1: "stored"} if node.opcode == "setitem" else kinds


def index_places(node: Node) -> dict[int, int]:
    """Return the operands that select single elements along an axis, by position, with the size of the axis."""
    if not node.operation.takes_positions:
        return {}
    if "axis" in node.parameters:
        return {1: node.operands[0].shape[node.parameters["axis"]]}
    items = [item for item in node.parameters["index"] if item is not None]
    sizes = node.operands[0].shape
    return {item.index: sizes[axis] for axis, item in enumerate(items) if isinstance(item, Slot)}
