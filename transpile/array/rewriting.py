"""The driver of rewrite rules on a function of the array dialect, and helpers that build replacements."""

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
    """Replace each live node of some opcodes, also in bodies, by ``rule(node)`` unless that is None. ``may_match`` is a
    cheap test that rejects most nodes before the rule runs.

    The worklist is in topological order, and users of a replaced node enter it again. Nodes that a rule makes are
    visited only if they use a changed node. If ``supports`` is given, a node stays unless it accepts all nodes that the
    rule made.
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
    """Return whether a target supports all nodes that ``new`` needs, of those in ``given`` that are not live yet."""
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
    """Return the same operation on other operands of the same shapes, with some parameters changed; for a node without
    bodies and effects.
    """
    if operands == node.operands and not changed:
        return node
    return copied(graph, node, operands, narrowed(node, operands), {**node.parameters, **changed})


def called(graph: Graph, name: str, operands: tuple[Node, ...], like: Node, *more: Any, **keywords: Any) -> Node:
    """Return a call of a function of the array library (``np.hypot``) or of the prelude (``sigmoid``), in place of
    ``like``, whose interval holds for the result. The arguments are the operands, ``more`` and the keywords; literals
    become plain numbers.
    """
    opcode, function = ("library", name.removeprefix("np.")) if name.startswith("np.") else ("prelude", name)
    parameters = call_parameters(function, operands, *more, **keywords)
    given = tuple(operand for operand in operands if not operand.is_literal)
    return graph.add(opcode, given, interval=like.interval, **parameters)


def prelude_call(
    graph: Graph,
    function: str,
    operands: tuple[Node, ...],
    arguments: tuple[Any, ...] | None = None,
    keywords: Mapping[str, Any] | None = None,
    interval: Interval | None = None,
) -> Node:
    """Return a call of a function of the prelude; its arguments are the operands unless given."""
    given = tuple(map(Slot, range(len(operands)))) if arguments is None else arguments
    return graph.add(
        "prelude", operands, interval=interval, function=function, arguments=given, keywords=dict(keywords or {})
    )


def call_parameters(function: str, operands: Sequence[Node], *more: Any, **keywords: Any) -> dict[str, Any]:
    """Return the parameters of a call's node; its operands are those of ``operands`` that are not literals."""
    slots = iter(range(len(operands)))
    arguments = tuple(
        operand.parameters["constant"] if operand.is_literal else Slot(next(slots)) for operand in operands
    )
    return {"function": function, "arguments": (*arguments, *more), "keywords": keywords}


def along(reduction: Node) -> dict[str, Any]:
    """Return the keywords for the axes of a reduction, as ``np.linalg.norm`` takes them."""
    axes, ndim = tuple(reduction.parameters["axes"]), reduction.operands[0].ndim
    keywords: dict[str, Any] = {} if len(axes) == ndim else {"axis": axes}
    if len(axes) == 1 < ndim:
        keywords = {"axis": -1 if axes == (ndim - 1,) else axes[0]}
    return {**keywords, "keepdims": True} if reduction.parameters.get("keepdims") else keywords


def copied(
    graph: Graph,
    node: Node,
    operands: tuple[Node, ...],
    interval: Interval | None,
    parameters: Mapping[str, Any],
    *,
    pinned: bool = False,
) -> Node:
    """Return the same operation on other operands, with the given interval and parameters; a ``pinned`` one stands
    alone.
    """
    return graph.typed(
        node.opcode,
        operands,
        node.shape,
        node.element_type,
        python_int=node.is_python_int,
        interval=interval,
        results=node.results,
        pinned=pinned or node.stands_alone,
        **parameters,
    )
