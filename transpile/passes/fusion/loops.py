"""A loop whose body is one kernel of element-wise operations becomes a loop inside the kernel.

Each element keeps its carried values local, so that they are read and written once for all iterations. Where a
predicate of the element selects between the new values and the old ones, the element's iterations end when it is false:
nothing changes any more. So a loop that continues while the predicate is true anywhere, as ``jax.vmap`` makes of
``lax.while_loop``, becomes a separate loop for each element.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node
from ...array.program import Carry, Function, Loop, roots, tree_nodes
from ...array.rewriting import rewrite
from ...array.traversal import is_inside, topological
from ...hlo.element_types import S32
from ...kernels.index_maps import identity
from ...kernels.kernel import Kernel
from ...kernels.operations import is_generated

_Inputs = dict[tuple[Node, bool], Node]  # parameters by what they are outside and whether they are read as a whole


def kernel_loops(function: Function) -> None:
    """Move the loops of a function into the kernels that they call, where they contain nothing else."""
    nodes = topological(roots(function))
    items: dict[Node, dict[int, Node]] = {}
    for node in nodes:
        if node.opcode == "item":
            items.setdefault(node.operands[0], {})[node.parameters["index"]] = node
    made: dict[Node, LoopKernel] = {}
    for node in nodes:
        if node.opcode == "loop" and items.get(node):
            call = _only_call(node, nodes)
            built = LoopKernel(function, node, call, items[node]) if call is not None else None
            if built is not None and built.fits():
                made[node] = built
    if made:
        calls: dict[Node, LoopKernel] = {}
        rewrite(function, ("loop", "item"), lambda node: _in_kernel(function.graph, node, made, calls))


def _in_kernel(graph: Graph, node: Node, made: dict[Node, LoopKernel], calls: dict[Node, LoopKernel]) -> Node | None:
    """The call that replaces a loop, and the results that replace the loop's."""
    if node in made:
        call = made[node].call(node.operands)
        calls[call] = made[node]
        return call
    if node.opcode != "item" or node.operands[0] not in calls:
        return None
    wanted = calls[node.operands[0]].wanted
    if len(wanted) == 1:
        return node.operands[0]
    index = wanted.index(node.parameters["index"])
    return graph.typed("item", node.operands, node.shape, node.element_type, index=index, stands_for=node)


def _only_call(node: Node, nodes: list[Node]) -> Node | None:
    """The only kernel call in a loop that computes nothing else in an iteration but its condition; None for any other
    loop.
    """
    loop: Loop = node.parameters["loop"]
    if loop.runs_once or loop.count is not None or loop.bounds is not None or loop.stores or loop.effect is not None:
        return None
    inside = [n for n in nodes if is_inside(n.region, loop.region) and n.opcode not in ("parameter", "item", "scalar")]
    if loop.condition is not None and loop.condition.opcode == "any" and loop.condition in inside:
        inside.remove(loop.condition)
    if len(inside) != 1 or inside[0].opcode != "kernel":
        return None
    kernel: Kernel = inside[0].parameters["kernel"]
    has_pieces = any(node.opcode == "conditional" for node in topological(tree_nodes(kernel.function.results)))
    return None if kernel.by_lines or has_pieces else inside[0]


class LoopKernel:
    """Builds the kernel with a loop inside, from a loop around a kernel."""

    def __init__(self, function: Function, node: Node, call: Node, items: dict[int, Node]) -> None:
        self.function = function
        self.node = node
        self.loop: Loop = node.parameters["loop"]
        self.inner_call = call
        self.inner: Kernel = call.parameters["kernel"]
        self.items = items
        self.wanted = sorted(items)  # the indices of the carried values that are read after the loop
        self.parameters = [carry.parameter for carry in self.loop.carries]

    def fits(self) -> bool:
        """Whether every carried value is an array of the loop's shape, of which each step reads its own element."""
        types = all(
            carry.initial.shape == carry.parameter.shape == self.inner.loop and not carry.parameter.is_python_int
            for carry in self.loop.carries
        )
        is_of_elements = types and all(map(self._follows, self.loop.carries))
        ends = self.loop.condition is None or (is_of_elements and self._goes_on() is not None)
        return is_of_elements and ends and all(map(self._is_read, range(len(self.inner_call.operands))))

    def _goes_on(self) -> Node | None:
        """The predicate, in the inner kernel, without which no carried value changes; None if there is none."""
        results, own = (
            tree_nodes(self.inner.function.results),
            dict(zip(self.inner_call.operands, self.inner.function.parameters, strict=True)),
        )
        changing = [
            (own.get(carry.parameter), results[number])
            for carry in self.loop.carries
            if (number := self._result(carry.following)) is not None
        ]
        chosen = next((new.operands[0] for _, new in changing if new.opcode == "select"), None)
        if chosen is None or not all(_is_kept(new, old, chosen) for old, new in changing):
            return None
        counters = {own[operand] for operand in self.inner_call.operands if self._is_counter(operand)}
        if not counters.isdisjoint(topological([chosen])):
            return None
        if self.loop.condition is None:
            return chosen
        number = self._result(self.loop.condition.operands[0])
        return chosen if number is not None and results[number] is chosen else None

    def _follows(self, carry: Carry) -> bool:
        following = carry.following
        return following in self.parameters or self._result(following) is not None

    def _result(self, node: Node | None) -> int | None:
        """Which result of the inner kernel a node is; None if it is none."""
        if node is self.inner_call:
            return 0
        is_part = node is not None and node.opcode == "item" and node.operands[0] is self.inner_call
        return node.parameters["index"] if is_part and node is not None else None

    def _number(self, parameter: Node | None) -> int:
        """The index of a carried value."""
        return next(k for k, own in enumerate(self.parameters) if own is parameter)

    def _is_read(self, number: int) -> bool:
        operand, parameter = self.inner_call.operands[number], self.inner.function.parameters[number]
        if operand in self.parameters:
            return parameter not in self.inner.whole
        return self._is_counter(operand) or not is_inside(operand.region, self.loop.region)

    def _is_counter(self, operand: Node) -> bool:
        return operand.opcode == "scalar" and operand.operands[0] is self.loop.counter

    def call(self, initials: tuple[Node, ...]) -> Node:
        """The node that calls the kernel, given the rewritten initial values."""
        graph = self.function.graph
        kernel, operands = self._kernel(initials)
        if len(self.wanted) == 1:
            (only,) = self.items.values()
            return graph.typed("kernel", operands, only.shape, only.element_type, kernel=kernel, stands_for=only)
        results = tuple((node.shape, node.element_type) for node in kernel.outputs)
        return graph.typed("kernel", operands, results=results, kernel=kernel)

    def _kernel(self, initials: tuple[Node, ...]) -> tuple[Kernel, tuple[Node, ...]]:
        graph, inner = Graph(), self.inner
        kernel = Kernel(Function(inner.function.computation, graph, originals=inner.function.originals), inner.loop)
        inputs: _Inputs = {}
        body = graph.root.child("loop")
        counter = graph.parameter((), S32, body, python_int=True)
        carries = []
        for carry, initial in zip(self.loop.carries, initials, strict=True):
            start = self._initial(graph, initial, inputs)
            parameter = graph.parameter(inner.loop, carry.parameter.element_type, body)
            carries.append(Carry(start, parameter, element=carry.element))
        made: dict[Node, Node] = {}
        for operand, parameter in zip(self.inner_call.operands, inner.function.parameters, strict=True):
            if operand in self.parameters:
                made[parameter] = carries[self.parameters.index(operand)].parameter
            elif self._is_counter(operand):
                with graph.inside(body):
                    made[parameter] = graph.typed("scalar", (counter,), (), operand.element_type)
            else:
                outer = self.function.graph.current_of_shape(operand)
                is_whole = parameter in inner.whole
                made[parameter] = _input(graph, outer, inputs, is_whole)
                if is_whole:
                    kernel.whole.add(made[parameter])
        goes_on = self._goes_on()
        with graph.inside(body):
            results = self._copied(graph, made)
        for carry, old in zip(carries, self.loop.carries, strict=True):
            number = self._result(old.following)
            carry.following = results[number] if number is not None else carries[self._number(old.following)].parameter
            if number is not None and goes_on is not None:
                with graph.inside(body):
                    carry.following = _chosen(graph, carry.following)
        loop = Loop(body, carries, start=self.loop.start, stop=self.loop.stop, step=self.loop.step)
        loop.counter = counter if self.loop.counter is not None else None
        loop.condition = made[goes_on] if goes_on is not None else None
        types = tuple((carry.parameter.shape, carry.parameter.element_type) for carry in carries)
        starts = tuple(carry.initial for carry in carries)
        with graph.coming_as(self.node, self.function.graph):
            whole = graph.typed("loop", starts, results=types, pinned=True, loop=loop)
            kernel.function.results = tuple(
                graph.typed("item", (whole,), inner.loop, types[index][1], index=index) for index in self.wanted
            )
        kernel.function.parameters = list(inputs.values())
        operands = tuple(outer for outer, _ in inputs)
        kernel.inputs, kernel.outputs = [*operands], [self.items[index] for index in self.wanted]
        kernel.shapes = [node.shape for node in kernel.outputs]
        kernel.at = [identity(inner.loop) for _ in kernel.outputs]
        return kernel, operands

    def _initial(self, graph: Graph, initial: Node, inputs: _Inputs) -> Node:
        """The initial value of an element: a constant, or a read."""
        if is_generated(initial) and initial.operands:
            literal = initial.operands[0]
            return graph.typed("literal", (), (), literal.element_type, interval=literal.interval, **literal.parameters)
        return _input(graph, initial, inputs)

    def _copied(self, graph: Graph, made: dict[Node, Node]) -> list[Node]:
        """The operations of the inner kernel, copied into the body."""
        old = self.inner.function
        results: tuple[Node, ...] = tuple(old.results)
        for node in topological(results):
            if node in made:
                continue
            operands = tuple(made[operand] for operand in node.operands)
            with graph.standing_for(node, old.graph):
                made[node] = graph.typed(
                    node.opcode, operands, node.shape, node.element_type, interval=node.interval, **node.parameters
                )
            graph.valued(made[node], node, old.graph)
        return [made[node] for node in results]


def _is_kept(new: Node, old: Node | None, truth: Node) -> bool:
    """Whether a carried value does not change where a predicate is false: it is selected by it, or counts how often it
    held.
    """
    if new.opcode == "select":
        return new.operands[0] is truth and new.operands[2] is old
    if new.opcode != "add" or not new.type.is_integral:
        return False
    value, step = new.operands
    return value is old and step.opcode == "convert" and step.operands[0] is truth


def _chosen(graph: Graph, new: Node) -> Node:
    """The next value of an element whose predicate is true."""
    if new.opcode == "select":
        return new.operands[1]
    return graph.typed("add", (new.operands[0], graph.literal(1, new.type)), new.shape, new.element_type)


def _input(graph: Graph, outer: Node, inputs: _Inputs, is_whole: bool = False) -> Node:
    if (outer, is_whole) not in inputs:
        inputs[outer, is_whole] = graph.parameter(outer.shape, outer.element_type, graph.root)
    return inputs[outer, is_whole]
