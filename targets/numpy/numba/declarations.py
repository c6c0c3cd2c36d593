"""Kernels as functions that Numba compiles when they are first called."""

from __future__ import annotations

from ....transpile.array.node import Node
from ....transpile.emission.expression import Renderer
from ....transpile.emission.functions.constants import ModuleConstants
from ....transpile.emission.functions.function_writer import FunctionWriter
from ....transpile.emission.kernels.declarations import Declarations, argument_names
from ....transpile.emission.naming.identifiers import Names, own_name
from ....transpile.emission.naming.source import SourceNames
from ....transpile.emission.prelude.library import Prelude, names_in
from ....transpile.kernels.kernel import Kernel
from ....transpile.target import TEMPLATES, Target
from .line_writer import LineNestWriter
from .loops import HeadWriter, LoopWriter
from .renderer import CASTS, NumbaRenderer
from .writer import NestWriter, readable_lines

RESULT = "out"  # the name of what a function returns as it is
FOLDER = TEMPLATES / "numpy" / "fast"  # of the macros


class NumbaDeclarations(Declarations):
    """Declares kernels as functions with loops."""

    def __init__(
        self, target: Target, renderer: Renderer, library: Prelude, annotate: str, source_names: SourceNames
    ) -> None:
        super().__init__(target, renderer, library, annotate, source_names)
        self.renderer = NumbaRenderer(FOLDER, renderer)
        called = (name for folder in target.prelude for name in names_in(folder))
        self.reserved = {*called, *CASTS.values(), "njit", "prange"}
        self.heads = HeadWriter(renderer, target.arrange is not None, self.kinds)
        self.loops = self.loop_compiler = LoopWriter(renderer, self.renderer, self.heads, annotate, self.reserved)

    def name_kernels(self, writer: FunctionWriter, module_names: Names) -> None:
        self.loops.module_names = module_names
        writer.names.taken.update(CASTS.values())  # the module may import these
        super().name_kernels(writer, module_names)

    def add(self, writer: FunctionWriter, constants: ModuleConstants) -> None:
        super().add(writer, constants)
        self.texts += self.loops.texts
        self.loops.texts.clear()
        self.shapes |= self.loops.shapes

    def wanted_name(self, result: Node, writer: FunctionWriter) -> str:
        if result is writer.plan.only_result and result not in writer.plan.user_names:
            name = own_name(writer.function)  # what computes all of a function is called like it
            return self.source_names.program_name if name == "main" else name
        return super().wanted_name(result, writer)

    def declaration(self, node: Node, caller: FunctionWriter, constants: ModuleConstants) -> str:
        kernel: Kernel = node.parameters["kernel"]
        self.renderer.counters.clear()
        kind = LineNestWriter if kernel.by_lines else NestWriter
        writer = kind(kernel, self.renderer, Names(self.reserved), self.annotate, constants, self.source_names)
        inputs, outputs = argument_names(node, caller)
        if node is caller.plan.only_result and node not in caller.plan.user_names:
            outputs = [RESULT]
        writer.name_arguments(inputs, outputs)
        writer.write()
        note = readable_lines(kernel, caller, self.caller_renderer, writer.parameters, writer.arrays)
        types = {n.type for n in writer.plan.nodes if n.element_type is not None}
        has_floats = any(kind.is_floating or kind.is_complex for kind in types)
        name = self.caller_renderer.kernel_names[kernel]
        parameters = zip(kernel.function.parameters, writer.parameters, strict=True)
        self.shapes[name] = {parameter: node.shape for node, parameter in parameters}
        given = {array: kernel.shapes[number] for number, array in writer.given_arrays().items()}
        return self.caller_renderer.statement(
            "kernel_function",
            self.heads.head(name, self.shapes[name] | given, kernel.shapes),
            has_floats,
            writer.in_threads,
            note,
            writer.texts_of_lines(),
        )

    def imports(self) -> list[str]:
        return [self.caller_renderer.statement("number_type", name) for name in sorted(self.renderer.used_casts)]
