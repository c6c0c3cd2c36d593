"""Rewriting a function of the array dialect: a new node for an old one, everything above it rebuilt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from .graph import Graph
from .node import Node, Slot
from .operation import Interval
from .program import Branch, Function, Loop, Tree, roots
from .traversal import dependencies, topological

Rule = Callable[[Node, tuple[Node, ...]], Node | None]


def rewrite(function: Function, rule: Rule) -> None:
    """Replace each node by ``rule(node, rewritten operands)``, or where that is None by the same operation on them.

    Operands come before their users; bodies of loops and branches are part of it.
    """
    graph = function.graph
    region, instruction = graph.region, graph.instruction
    made: dict[Node, Node] = {}
    for node in topological(roots(function)):
        operands = tuple(made[operand] for operand in node.operands)
        graph.region, graph.instruction = node.region, graph.origins.get(node)
        graph.number = node.number
        made[node] = rule(node, operands) or rebuilt(function, node, operands, made)
        stand_in(graph, node, made[node])
    graph.region, graph.instruction, graph.number = region, instruction, None
    function.results = mapped(function.results, made)
    function.effect = made[function.effect] if function.effect is not None else None


class Part(Protocol):
    """Nodes of a function that something is put in place of, and what they need that is not among them."""

    @property
    def nodes(self) -> Collection[Node]: ...

    @property
    def inputs(self) -> Collection[Node]: ...


P = TypeVar("P", bound=Part)


def rewrite_parts(function: Function, parts: Iterable[P], replace: Callable[[P, dict[Node, Node]], None]) -> None:
    """Put something in place of each part, in one walk through the function.

    ``replace`` is called when the inputs of a part have been rewritten, with all rewritten nodes so far; it adds to
    them what takes the place of the nodes of the part that are needed outside. No part may need its own results by
    way of nodes outside of it, nor may two parts need each other.
    """
    graph = function.graph
    part_of = {node: part for part in parts for node in part.nodes}
    made: dict[Node, Node] = {}

    def needs(node: Node) -> Iterable[Node]:
        part = part_of.get(node)
        return dependencies(node) if part is None else part.inputs

    before = graph.region, graph.instruction
    for node in topological(roots(function), needs):
        if node in made:
            continue
        part = part_of.get(node)
        if part is not None:
            replace(part, made)
            continue
        graph.region, graph.instruction, graph.number = node.region, graph.origins.get(node), node.number
        made[node] = rebuilt(function, node, tuple(made[operand] for operand in node.operands), made)
        stand_in(graph, node, made[node])
    (graph.region, graph.instruction), graph.number = before, None
    function.results = mapped(function.results, made)
    function.effect = made[function.effect] if function.effect is not None else None


def stand_in(graph: Graph, node: Node, new: Node) -> None:
    """Note that a node has taken another's place."""
    if new is not node:
        graph.replaced[node] = new
        graph.replaced.pop(new, None)
        if node in graph.results:
            graph.results.setdefault(new, graph.results[node])


def rebuilt(function: Function, node: Node, operands: tuple[Node, ...], made: dict[Node, Node]) -> Node:
    """The same operation on rewritten operands, its bodies and the effect before it rewritten too."""
    parameters = dict(node.parameters)
    if node.opcode == "loop":
        _update_loop(parameters["loop"], operands, made)
    elif node.opcode == "conditional":
        branches: tuple[Branch, ...] = parameters["branches"]
        for branch in branches:
            branch.results = [made[result] for result in branch.results]
            branch.effect = made[branch.effect] if branch.effect is not None else None
    after = parameters.get("after")
    if operands == node.operands and (after is None or made[after] is after):
        return node
    if after is not None:
        parameters["after"] = made[after]
    return _copied(function.graph, node, operands, parameters)


def with_operands(graph: Graph, node: Node, operands: tuple[Node, ...], **changed: Any) -> Node:
    """The same operation on other operands of the same shapes, with some parameters changed; for a node without
    bodies and effects."""
    if operands == node.operands and not changed:
        return node
    return _copied(graph, node, operands, {**node.parameters, **changed})


def called(graph: Graph, name: str, operands: tuple[Node, ...], like: Node, *more: Any, **keywords: Any) -> Node:
    """A call on these operands, what follows them and keywords, of the shape and element type of ``like``: of
    ``np.hypot`` or another function of the array library, or of one of the prelude, ``sigmoid``. Literals become plain
    numbers."""
    opcode, function = ("library", name.removeprefix("np.")) if name.startswith("np.") else ("prelude", name)
    parameters = call_parameters(function, operands, *more, **keywords)
    given = tuple(operand for operand in operands if not operand.is_literal)
    return graph.typed(opcode, given, like.shape, like.element_type, interval=like.interval, **parameters)


def call_parameters(function: str, operands: Sequence[Node], *more: Any, **keywords: Any) -> dict[str, Any]:
    """Of the node of a call: the operands that are no literals are its operands."""
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


def _copied(graph: Graph, node: Node, operands: tuple[Node, ...], parameters: dict[str, Any]) -> Node:
    return graph.typed(
        node.opcode,
        operands,
        node.shape,
        node.element_type,
        python_int=node.is_python_int,
        interval=_interval(node, operands),
        results=node.results,
        pinned=node.stands_alone,
        **parameters,
    )


def _interval(node: Node, operands: tuple[Node, ...]) -> Interval | None:
    """What was known of a node and what follows from its new operands."""
    before = node.interval
    rule = node.operation.interval
    if not node.operation.is_elementwise or rule is None or node.element_type is None or not node.type.is_integral:
        return before
    after = rule(operands, node.parameters, node.element_type)
    if before is None or after is None:
        return before or after
    return max(before[0], after[0]), min(before[1], after[1])


def _update_loop(loop: Loop, initials: tuple[Node, ...], made: dict[Node, Node]) -> None:
    for carry, initial in zip(loop.carries, initials, strict=True):
        carry.initial = initial
        if carry.following is not None:
            carry.following = made[carry.following]
    for store in loop.stores:
        store.value = made[store.value]
        store.indices = tuple(made[index] for index in store.indices)
    if loop.condition is not None:
        loop.condition = made[loop.condition]
    if loop.effect is not None:
        loop.effect = made[loop.effect]


def mapped(tree: Tree, made: dict[Node, Node]) -> Any:
    """A tree of results with its nodes rewritten."""
    if isinstance(tree, tuple):
        return tuple(mapped(part, made) for part in tree)
    return made[tree] if isinstance(tree, Node) else tree
