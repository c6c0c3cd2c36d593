"""Declarations of kernels: ``ElementwiseKernel``, the prelude's ``RowKernel`` and ``WideKernel``, and shared C++
functions.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Container, Sequence
from functools import cache
from math import prod
from typing import Any

from ....transpile.array.node import Node
from ....transpile.emission.expression import Renderer
from ....transpile.emission.functions.constants import ModuleConstants
from ....transpile.emission.functions.function_writer import FunctionWriter
from ....transpile.emission.kernels.declarations import Declarations, argument_names
from ....transpile.emission.kernels.kernel_writer import KernelWriter
from ....transpile.emission.naming.identifiers import Names
from ....transpile.emission.naming.source import SourceNames
from ....transpile.emission.prelude.library import Prelude
from ....transpile.kernels.kernel import Kernel
from ....transpile.python.modules import statement_of
from ....transpile.target import TEMPLATES, Target
from .launches import launched, launched_at_any_size
from .line_writer import LineWriter
from .renderer import CudaRenderer, to_wrap
from .sizes import DOUBLE_WORDS, WORDS

FOLDER = TEMPLATES / "cupy" / "fast"  # of the macros
# CuPy's headers for element types that C++ lacks.
_AROUND = 10  # columns beside a string of parameters: indent, quotes and comma
_HEADERS = {"f16": "float16", "bf16": "bfloat16", "c64": "complex", "c128": "complex"}


class CudaDeclarations(Declarations):
    """Declares the kernels of a module as ``ElementwiseKernel``, ``RowKernel`` or ``WideKernel``."""

    def __init__(
        self, target: Target, renderer: Renderer, library: Prelude, annotate: str, source_names: SourceNames
    ) -> None:
        super().__init__(target, renderer, library, annotate, source_names)
        self.renderer: CudaRenderer | None = None

    def declaration(self, node: Node, caller: FunctionWriter, constants: ModuleConstants) -> str:
        if self.renderer is None:
            self.renderer = CudaRenderer(FOLDER, self.caller_renderer)
        kernel: Kernel = node.parameters["kernel"]
        self.renderer.preamble.clear()
        self.renderer.places.clear()
        words = set(WORDS)
        if kernel.by_lines:
            words |= {"row", "column", "inside", "k"}
        if kernel.at_once > 1:
            words |= {"group", "k", "first"}
        if _kinds(kernel) & {"f64", "c64", "c128"}:
            words |= DOUBLE_WORDS
        launch = launched_at_any_size if self.caller_renderer.sizes_are_free else launched
        self.renderer.at_once = kernel.at_once
        self.renderer.launch, found = launch(kernel) if kernel.by_lines else (None, None)
        self.shapes[self.caller_renderer.kernel_names[kernel]] = {}  # sizes are arguments
        given_to_all = kernel, self.renderer, Names(words), self.annotate, constants, self.source_names
        writer = KernelWriter(*given_to_all) if found is None else LineWriter(*given_to_all, found)
        self.renderer.to_wrap = to_wrap(writer.plan.nodes)
        writer.name_arguments(*argument_names(node, caller))
        writer.write()
        if isinstance(writer, LineWriter):
            return self._of_lines(writer)
        if kernel.at_once > 1:
            return self._of_neighbours(writer)
        brought = {_HEADERS.get(node.type.name) for node in (*kernel.function.parameters, *writer.results)}
        for header in _headers(kernel, self.renderer.preamble):
            if header not in (*brought, "complex"):
                self.renderer.device(header.upper(), "")
        return self.caller_renderer.statement(
            "elementwise_kernel",
            self.caller_renderer.kernel_names[kernel],
            self._declared(writer, kernel.function.parameters, [writer.texts[n] for n in kernel.function.parameters]),
            self._declared(writer, writer.results, writer.written_names),
            writer.texts_of_lines(),
            list(self.renderer.preamble),
        )

    def _of_lines(self, writer: LineWriter) -> str:
        """Return the declaration of a kernel whose threads compute lines together."""
        kernel, renderer = writer.kernel, writer.renderer
        class_name = "SizedRowKernel" if self.caller_renderer.sizes_are_free else "RowKernel"
        self.caller_renderer.used_prelude[class_name] = None
        pairs: list[tuple[Node, str, bool]] = [(n, writer.texts[n], False) for n in kernel.function.parameters]
        pairs += [(node, name, True) for node, name in zip(writer.results, writer.written_names, strict=True)]
        return self.caller_renderer.statement(
            "row_kernel",
            self.caller_renderer.kernel_names[kernel],
            _headers(kernel, renderer.preamble),
            [
                renderer.statement("pointer", renderer.type_name(n.type), name, is_result)
                for n, name, is_result in pairs
            ],
            renderer.launch,
            writer.texts_of_lines(),
            list(renderer.preamble),
            self._results(kernel),
        )

    def _of_neighbours(self, writer: KernelWriter) -> str:
        """Return the declaration of a kernel in which each thread computes several adjacent elements."""
        kernel, renderer = writer.kernel, self.renderer
        assert renderer is not None
        class_name = "WideKernel" if kernel.rows is None else "AddingKernel"
        self.caller_renderer.used_prelude[class_name] = None
        renderer.device("NEIGHBOURS", "neighbours")
        rows = None
        if kernel.rows is not None:
            renderer.device("ADD_NEIGHBOURS", "add_neighbours")
            ((count, *columns),) = kernel.shapes
            rows = {"name": writer.texts[kernel.rows], "count": count, "columns": prod(columns)}
        inputs = [(node, writer.texts[node]) for node in kernel.function.parameters]
        outputs = list(zip(writer.results, writer.written_names, strict=True))
        return self.caller_renderer.statement(
            "wide_kernel",
            class_name,
            self.caller_renderer.kernel_names[kernel],
            _headers(kernel, renderer.preamble),
            [
                _Elements(renderer.type_name(node.type), name, node in kernel.whole, not node.shape, writer.names)
                for node, name in inputs
            ],
            [_Elements(renderer.type_name(node.type), name, False, False, writer.names) for node, name in outputs],
            kernel.at_once,
            prod(kernel.loop) // kernel.at_once,
            rows,
            writer.texts_of_lines(),
            list(renderer.preamble),
            self._results(kernel),
        )

    def _results(self, kernel: Kernel) -> list[tuple[Sequence[int], str]]:
        """Return the shape and the dtype of each array that a kernel makes."""
        pairs = zip(kernel.outputs, kernel.shapes, strict=True)
        return [(shape, self.caller_renderer.dtype(output.type)) for output, shape in pairs]

    def _declared(self, writer: KernelWriter, nodes: Sequence[Node], names: Sequence[str]) -> list[str]:
        """Return the parameters of a kernel, wrapped into lines."""
        whole = writer.kernel.whole
        parts = [
            writer.renderer.statement("declared", node in whole, str(node.type.dtype.name), name)
            for node, name in zip(nodes, names, strict=True)
        ]
        width = self.caller_renderer.layout.line_length - _AROUND
        lines = textwrap.wrap(", ".join(part.replace(" ", "~") for part in parts), width) or [""]
        return [line.replace("~", " ") + (" " if k + 1 < len(lines) else "") for k, line in enumerate(lines)]

    def shared(self) -> list[str]:
        """Return the declarations of the device functions that kernels call, sorted by name."""
        if self.renderer is None:
            return []
        functions = sorted(self.renderer.shared_functions)
        return [
            self.caller_renderer.statement("device_function", name.upper(), name, *_parts(self.library, name))
            for name in functions
        ]


class _Elements:
    """An array in a kernel that computes adjacent elements: the names of its element, its pointer and its group."""

    def __init__(self, ctype: str, name: str, is_whole: bool, is_number: bool, names: Names) -> None:
        self.ctype, self.name, self.is_whole, self.is_number = ctype, name, is_whole, is_number
        self.pointer = name if is_whole else names.fresh(f"{name}_all")
        self.group = "" if is_whole or is_number else names.fresh(f"{name}_group")


def _headers(kernel: Kernel, preamble: Container[str]) -> list[str]:
    """Return the headers that a kernel needs, without those whose text is already in its preamble."""
    needed = {_HEADERS[kind] for kind in _kinds(kernel) if kind in _HEADERS}
    return sorted(header for header in needed if header.upper() not in preamble)


def _kinds(kernel: Kernel) -> set[str]:
    """Return the names of the element types that a kernel computes with."""
    nodes = kernel.function.graph.nodes_since(0)
    return {node.type.name for node in nodes if node.element_type is not None}


def _parts(library: Prelude, name: str) -> tuple[Any, ...]:
    """Return the type letters, parameters, result and operation of a kernel of the prelude."""
    return _parsed(library.definitions[name].source)


@cache
def _parsed(source: str) -> tuple[Any, ...]:
    statement = statement_of(source)
    assert isinstance(statement, ast.Assign)
    assert isinstance(statement.value, ast.Call)
    inputs, output, operation, _ = (ast.literal_eval(argument) for argument in statement.value.args)
    parameters = [part.strip() for part in inputs.split(",")]
    letters = list(dict.fromkeys(part.split()[0] for part in parameters))
    return letters, parameters, output.split(), textwrap.dedent(operation).strip().replace("\n", "\n    ")
