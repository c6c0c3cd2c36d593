"""Rewriting a function of the array dialect: new nodes for old ones, and what rules build them with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any

from .graph import Graph
from .intervals import narrowed
from .live import LiveNodes, live_nodes
from .node import Node, Slot
from .operation import Interval
from .program import Function
from .support import Support
from .traversal import dependencies

Rewrite = Callable[[Node], Node | None]


def rewrite(
    function: Function,
    opcodes: Iterable[str],
    rule: Rewrite,
    supports: Support | None = None,
    may_match: Callable[[Node], bool] = lambda node: True,
) -> None:
    """Put ``rule(node)``, where it is not None, in place of each live node of some opcodes, also of those in bodies,
    that ``may_match``: a cheap test that most nodes fail.

    Operands come before their users, and a node whose operands change is looked at again. Nodes that the rule makes are
    only looked at where they use what has changed. Where ``supports`` is given, a node stays if it does not support all
    that the rule made.
    """
    live, graph, opcodes = live_nodes(function), function.graph, frozenset(opcodes)
    waiting = [(live.place(node), k, node) for k, node in enumerate(filter(may_match, live.of(opcodes)))]
    heapify(waiting)
    queued = {node for _, _, node in waiting}
    numbers = count(len(waiting))
    while waiting:
        _, _, node = heappop(waiting)
        queued.discard(node)
        if node not in live:
            continue
        with graph.in_place_of(node), graph.recording() as made:
            new = rule(node)
        if new is None or new is node or (supports is not None and not are_supported(new, made, live, supports)):
            continue
        for user in live.replace(node, new, made):
            if user.opcode in opcodes and user in live and user not in queued and may_match(user):
                queued.add(user)
                heappush(waiting, (live.place(user), next(numbers), user))
    live.flush()


def are_supported(new: Node, given: Collection[Node], live: LiveNodes, supports: Support) -> bool:
    """Tell whether a target supports what ``new`` adds to a program, with all that it needs of the ``given`` nodes."""
    own, waiting = set(given), [new]
    while waiting:
        node = waiting.pop()
        if node in own and node not in live:
            own.discard(node)
            if not supports(node):
                return False
            waiting += dependencies(node)
    return True


def with_operands(graph: Graph, node: Node, operands: tuple[Node, ...], **changed: Any) -> Node:
    """The same operation on other operands of the same shapes, with some parameters changed; for a node without
    bodies and effects."""
    if operands == node.operands and not changed:
        return node
    return copied(graph, node, operands, narrowed(node, operands), {**node.parameters, **changed})


def called(graph: Graph, name: str, operands: tuple[Node, ...], like: Node, *more: Any, **keywords: Any) -> Node:
    """A call on these operands, what follows them and keywords, in place of ``like``, whose interval holds for it: of
    ``np.hypot`` or another function of the array library, or of one of the prelude, ``sigmoid``. Literals become plain
    numbers.
    """
    opcode, function = ("library", name.removeprefix("np.")) if name.startswith("np.") else ("prelude", name)
    parameters = call_parameters(function, operands, *more, **keywords)
    given = tuple(operand for operand in operands if not operand.is_literal)
    return graph.add(opcode, given, interval=like.interval, **parameters)


def call_parameters(function: str, operands: Sequence[Node], *more: Any, **keywords: Any) -> dict[str, Any]:
    """Return the parameters of a call's node; operands that are no literals are the node's."""
    slots = iter(range(len(operands)))
    arguments = tuple(
        operand.parameters["constant"] if operand.is_literal else Slot(next(slots)) for operand in operands
    )
    return {"function": function, "arguments": (*arguments, *more), "keywords": keywords}


def along(reduction: Node) -> dict[str, Any]:
    """The keywords that say which axes a reduction goes along, as ``np.linalg.norm`` takes them."""
    axes, ndim = tuple(reduction.parameters["axes"]), reduction.operands[0].ndim
    keywords: dict[str, Any] = {} if len(axes) == ndim else {"axis": axes}
    if len(axes) == 1 < ndim:
        keywords = {"axis": -1 if axes == (ndim - 1,) else axes[0]}
    return {**keywords, "keepdims": True} if reduction.parameters.get("keepdims") else keywords


def copied(
    graph: Graph, node: Node, operands: tuple[Node, ...], interval: Interval | None, parameters: Mapping[str, Any]
) -> Node:
    """Return the same operation on other operands; its values are within an ``interval``."""
    return graph.typed(
        node.opcode,
        operands,
        node.shape,
        node.element_type,
        python_int=node.is_python_int,
        interval=interval,
        results=node.results,
        pinned=node.stands_alone,
        **parameters,
    )
