"""Loops that are functions: all that is in them is compiled together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ....transpile.array.node import Node
from ....transpile.array.traversal import body_and_captured
from ....transpile.emission.body import FunctionWriter
from ....transpile.emission.expression import Expression, Renderer
from ....transpile.emission.names import Names
from ....transpile.hlo.element_types import ElementType, from_dtype
from ..kernels import fuses
from .renderer import NumbaRenderer

# Made where the loop begins: numbers, and new arrays.
_MADE_INSIDE = frozenset("literal integer empty full zeros ones".split())


class LoopRenderer(Renderer):
    """NumPy's macros, and for numbers those of kernels: Numba keeps no types of NumPy's scalars."""

    def __init__(self, folder: Path, beside: Renderer, elements: NumbaRenderer) -> None:
        self.elements = elements
        super().__init__(folder, beside.namespace, beside=beside)

    def render(self, node: Node, operands: Sequence[Expression]) -> Expression:
        is_number = not node.ndim and not node.is_python_int and not any(operand.ndim for operand in node.operands)
        if is_number and node.opcode != "kernel" and (fuses(node) or node.opcode == "scalar"):
            return self.elements.render(node, operands)
        return super().render(node, operands)

    def statement(self, name: str, *arguments: Any) -> str:
        return "" if name == "typed_numbers" else super().statement(name, *arguments)

    def own_globals(self) -> dict[str, Any]:
        return {"is_compiled": True}

    def typed_literal(self, value: np.ndarray, element_type: ElementType) -> Expression:
        return self.elements.typed_literal(value, element_type)

    def weak_literal(self, value: np.ndarray) -> Expression:
        return self.elements.typed_literal(value, from_dtype(value.dtype))


class LoopWriter:
    """Writes the functions of loops; ``texts`` are the finished ones."""

    def __init__(self, renderer: Renderer, elements: NumbaRenderer) -> None:
        self.renderer = renderer
        self.inside = LoopRenderer(renderer.folder, renderer, elements)
        self.texts: list[str] = []
        self.module_names: Names | None = None

    def compile(self, writer: FunctionWriter, node: Node) -> bool:
        """Write a loop's function, and its call in the place of the loop."""
        assert self.module_names is not None
        self._name_what_it_reads(writer, node)
        given = sorted(writer.reads.of(node), key=writer.positions.__getitem__)
        parameters = [writer.texts[read] for read in given]
        if not all(name.isidentifier() for name in parameters) or len(set(parameters)) < len(parameters):
            return False
        results = [part for _, part in sorted(writer.items.get(node, {}).items())]
        texts = self._lines(writer, node)
        names = [writer.texts[part] for part in results]
        texts.append(self.inside.elements.statement("return_results", names))
        own = self.module_names.fresh(f"{names[-1]}_loop")
        body, _ = body_and_captured(node)
        has_floats = any(part.element_type is not None and part.type.is_floating for part in body)
        self.texts.append(self.renderer.statement("kernel_function", own, parameters, has_floats, [], texts))
        call = self.renderer.statement("call_of_loop", own, [(writer.texts[read], read) for read in given], results)
        writer.assign(names, Expression(call), node)
        writer.bind_results(results if len(results) > 1 else [], results)
        return True

    def _lines(self, writer: FunctionWriter, node: Node) -> list[str]:
        """The lines of a loop as those of a function."""
        lines, indent = writer.lines, writer.indent
        writer.lines, writer.indent, writer.loop_compiler, writer.renderer = [], 1, None, self.inside
        writer.control_flow.lines_of_loop(node)
        made = writer.lines
        writer.lines, writer.indent, writer.loop_compiler, writer.renderer = lines, indent, self, self.renderer
        statement = self.inside.elements.statement
        return ["    " * (line.indent - 1) + statement("commented", line.text, line.comment) for line in made]

    def _name_what_it_reads(self, writer: FunctionWriter, node: Node) -> None:
        """Have everything computed before the loop that is no part of it."""
        _, captured = body_and_captured(node)
        for read in (*node.operands, *captured):
            (source,) = read.operands if read.opcode == "copy" else (read,)
            if source.opcode not in _MADE_INSIDE and source not in writer.plan.named and source not in writer.texts:
                writer.plan.named.add(source)
                writer.statement(source)
