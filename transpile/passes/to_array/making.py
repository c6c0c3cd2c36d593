"""The makers of values for lowering rules: element-wise nodes, prelude calls, and side effects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...array.graph import Graph
from ...array.intervals import cut_interval, result_interval
from ...array.node import Node, Slot, literal_value
from ...array.rewriting import prelude_call
from ...array.value import Value, arranged, common_order, materialise, strong
from ...hlo.element_types import ElementType
from ...hlo.shapes import ArrayShape, Shape
from ..constants.folding import fold
from .counters import counted


class ValueMaker:
    """Makes values in the current region of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def elementwise(
        self,
        opcode: str,
        element_type: ElementType,
        *operands: Value,
        shape: tuple[int, ...] | None = None,
        **parameters: Any,
    ) -> Value:
        """Return an element-wise operation on values, which NumPy broadcasts.

        A function of the prelude or the library gets its operands in order, then the ``statics``.
        """
        if opcode in ("prelude", "library"):
            slots = tuple(Slot(k) for k in range(len(operands)))
            parameters = {
                "function": parameters["function"],
                "arguments": slots + parameters.get("statics", ()),
                "keywords": parameters.get("keywords", {}),
            }
        logical = shape if shape is not None else max((value.shape for value in operands), key=len)
        need = common_order(operands)
        nodes = tuple([arranged(self.graph, value, need) for value in operands])
        if all(node.is_literal for node in nodes):
            folded = fold(opcode, [literal_value(node) for node in nodes], element_type, parameters)
            if folded is not None:
                return Value.repeated(self.graph.literal(folded, element_type), logical)
        node = self.node(opcode, nodes, element_type, **parameters)
        if node.interval is not None and node.interval[0] == node.interval[1] and not node.is_python_int:
            return Value.repeated(self.graph.literal(node.interval[0], element_type), logical)
        axes: list[int | None] = [None] * len(logical)
        offset = node.ndim - len(need)
        for position, dimension in enumerate(need):
            if position + offset >= 0:
                axes[dimension] = position + offset
        return Value(node, tuple(axes), logical)

    def node(self, opcode: str, nodes: tuple[Node, ...], element_type: ElementType, **parameters: Any) -> Node:
        """Return an element-wise node; its shape is NumPy's broadcast of the operands'."""
        if any(node.is_python_int for node in nodes):
            total = counted(self.graph, opcode, nodes, element_type)
            if total is not None:
                return total
            nodes = self._strengthened(opcode, nodes)
        interval = cut_interval(nodes[0], element_type) if parameters.get("function") == "to_int" else None
        return self.graph.add(opcode, nodes, element_type=element_type, interval=interval, **parameters)

    def _strengthened(self, opcode: str, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """Return operands with Python ints as typed scalars, unless another operand determines the dtype of the result;
        functions of the prelude read the dtype of each.
        """
        typed = nodes[1:] if opcode == "select" else nodes
        if opcode != "prelude" and any(not node.is_python_int and not node.is_literal for node in typed):
            return nodes
        return tuple(self.strong(node) for node in nodes)

    def strong(self, node: Node) -> Node:
        """Return a Python int as a NumPy scalar of its HLO type."""
        return strong(self.graph, node)

    def plain(self, value: Value) -> Node:
        """Return the node of exactly the logical shape, with a type."""
        return self.strong(materialise(self.graph, value))

    def call(
        self, function: str, operands: tuple[Node, ...], *, arguments: tuple[Any, ...] | None = None, **keywords: Any
    ) -> Value:
        """Return a call of a prelude function with one array of the logical shape as the result.

        ``arguments`` are the positional arguments, operands as :class:`Slot`; by default the operands in order.
        """
        return Value.of(self._prelude(function, operands, arguments, keywords))

    def call_many(
        self, function: str, operands: tuple[Node, ...], *, arguments: tuple[Any, ...] | None = None, **keywords: Any
    ) -> tuple[Value, ...]:
        """Return the results of a prelude function that returns a tuple of arrays."""
        return self.items(self._prelude(function, operands, arguments, keywords))

    def _prelude(
        self, function: str, operands: tuple[Node, ...], arguments: tuple[Any, ...] | None, keywords: dict[str, Any]
    ) -> Node:
        """Return the node of a prelude call; its row gives shapes and types."""
        operands = tuple(self.strong(node) for node in operands)
        return prelude_call(self.graph, function, operands, arguments, keywords)

    def effect(
        self, opcode: str, operands: tuple[Node, ...], shapes: Iterable[Shape], **parameters: Any
    ) -> tuple[Value, ...]:
        """Add a node with a side effect after all others of its body; return its results."""
        results = tuple((s.dimensions, s.element_type) for s in shapes if isinstance(s, ArrayShape))
        operands = tuple(self.strong(node) for node in operands)
        if len(results) == 1:
            ((shape, element_type),) = results
            node = self.graph.add_effect(opcode, operands, shape=shape, element_type=element_type, **parameters)
            return (Value.of(node),)
        return self.items(self.graph.add_effect(opcode, operands, results=results, **parameters))

    def call_in_order(self, function: str, operands: tuple[Node, ...], arguments: tuple[Any, ...]) -> Value:
        """Add a prelude call that must run exactly once, in program order; return its result."""
        operands = tuple(self.strong(node) for node in operands)
        made = self.graph.add_effect("prelude", operands, function=function, arguments=arguments, keywords={})
        return Value.of(made)

    def items(self, node: Node) -> tuple[Value, ...]:
        """Return the results of a node that has several."""
        known = [result_interval(node, index) for index in range(len(node.results))]
        return tuple(
            Value.of(
                self.graph.add(
                    "item", (node,), interval=self.graph.reached(interval) if interval else None, index=index
                )
            )
            for index, interval in enumerate(known)
        )
