"""The kernels of a module: their names, and one declaration for each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ...array.node import Node
from ...array.program import tree_nodes
from ...kernels.kernel import Kernel
from ...target import Target
from ..expression import Renderer
from ..functions.constants import ModuleConstants
from ..functions.context import LoopCompiler
from ..functions.function_writer import FunctionWriter
from ..naming.identifiers import Names, base_name, identifier
from ..naming.source import SourceNames
from ..prelude.library import Prelude
from .kernel_writer import carried_names

Shape = Sequence[int]


class Declarations:
    """The names and declarations of a module's kernels; a target's subclass writes the text of a declaration."""

    def __init__(
        self, target: Target, renderer: Renderer, library: Prelude, annotate: str, source_names: SourceNames
    ) -> None:
        self.caller_renderer = renderer
        self.loop_compiler: LoopCompiler | None = None  # for targets that compile loops
        self.library = library
        self.annotate = annotate
        self.source_names = source_names
        self.target = target
        self.texts: list[str] = []
        self.names: dict[Hashable, str] = {}  # names of kernels by their computation
        self.kernels: dict[str, Kernel] = {}  # kernels written so far, by name
        self.shapes: dict[str, dict[str, Shape]] = {}  # known shapes of functions' parameters
        self.kinds: set[str] = set()  # kinds of the types in the texts

    def name_kernels(self, writer: FunctionWriter, module_names: Names) -> None:
        """Name the kernels that a function calls after their results, before the function is written.

        Kernels with the same computation share a name, unless the function has an argument of that name.
        """
        others = set(writer.names.taken)
        for node in writer.plan.nodes:
            if node.opcode != "kernel" or node.parameters["kernel"].is_inline:
                continue
            last = writer.items[node][max(writer.items[node])] if node.results else node
            wanted = self.wanted_name(last, writer)
            if node.parameters["kernel"].has_loop:
                wanted = self._named_as_carried(writer, node) or "loop"
            key = node.parameters["kernel"].key
            name = self.names.get(key, "")
            while not name or name in others:
                name = module_names.fresh(f"{identifier(wanted)}_kernel")
            writer.renderer.kernel_names[node.parameters["kernel"]] = self.names[key] = name
            writer.names.taken.add(name)

    def wanted_name(self, result: Node, writer: FunctionWriter) -> str:
        """Return the name of a kernel, after its last result."""
        by_use = "update" if result in writer.wanted.updates else ""
        return writer.plan.user_names.get(result) or by_use or base_name(result, writer.graph)

    def _named_as_carried(self, writer: FunctionWriter, node: Node) -> str:
        """Name the results of a kernel with a loop after the loop's carries; return the last of the names."""
        name, carried = "", carried_names(writer, node)
        for k, result in enumerate(tree_nodes(node.parameters["kernel"].function.results)):
            name = carried[result.parameters["index"]]
            target = writer.items[node].get(k) if node.results else node
            if name and target is not None:
                writer.plan.user_names.setdefault(target, name)
        return name

    def add(self, writer: FunctionWriter, constants: ModuleConstants) -> None:
        """Write the kernels that a written function calls, each once."""
        for node in writer.plan.nodes:
            name = writer.renderer.kernel_names.get(node.parameters["kernel"]) if node.opcode == "kernel" else None
            if name is not None and name not in self.kernels:
                self.kernels[name] = node.parameters["kernel"]
                self.texts.append(self.declaration(node, writer, constants))

    def declaration(self, node: Node, caller: FunctionWriter, constants: ModuleConstants) -> str:
        """Return the text that declares the kernel that a node calls."""
        raise NotImplementedError(f"{self.target.title} has no kernels")

    def imports(self) -> list[str]:
        """Return the import statements of functions that kernels call, one name each."""
        return []

    def shared(self) -> list[str]:
        """Return the declarations that several kernels use, which come before them."""
        return []


def argument_names(node: Node, caller: FunctionWriter) -> tuple[list[str], list[str]]:
    """Return a kernel's names of its inputs and outputs: the names in the function that calls it."""
    kernel: Kernel = node.parameters["kernel"]
    parts = caller.items.get(node, {})
    outputs = [_plain(caller, parts[k] if node.results else node) for k in range(len(kernel.outputs))]
    operands = [_plain(caller, operand) for operand in node.operands]
    given = {*outputs, *carried_names(caller, node)} if kernel.has_loop else set(outputs)
    operands = [
        _before(caller, operand, name) if name in given else name
        for operand, name in zip(node.operands, operands, strict=True)
    ]
    return operands, outputs


def _plain(writer: FunctionWriter, node: Node) -> str:
    """Return the name of a value in a function, or the name that it would have there."""
    text = writer.texts.get(node)
    if text is not None and text.isidentifier():
        return str(text)
    return base_name(node, writer.graph)


def _before(writer: FunctionWriter, node: Node, name: str) -> str:
    """Return a name for an input whose name is that of an output."""
    return f"{name}_before" if node.opcode in ("parameter", "item") else base_name(node, writer.graph)
