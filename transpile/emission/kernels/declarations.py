"""The kernels of a module: their names, and that each is declared once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ...array.node import Node
from ...array.program import tree_nodes
from ...kernels.kernel import Kernel
from ...target import Target
from ..expression import Renderer
from ..functions.constants import ModuleConstants
from ..functions.function_writer import FunctionWriter
from ..functions.loop_compiler import LoopCompiler
from ..naming.identifiers import Names, base_name, identifier
from ..naming.source import SourceNames
from ..prelude.library import Prelude
from .kernel_writer import carried_names

Shape = Sequence[int]


class Declarations:
    """Names and declares the kernels of a module; what a declaration looks like, a target's own subclass says."""

    def __init__(
        self, target: Target, renderer: Renderer, library: Prelude, annotate: str, source_names: SourceNames
    ) -> None:
        self.caller_renderer = renderer
        self.loop_compiler: LoopCompiler | None = None  # of targets that compile loops
        self.library = library
        self.annotate = annotate
        self.source_names = source_names
        self.target = target
        self.texts: list[str] = []
        self.names: dict[Hashable, str] = {}  # of kernels, by what they compute
        self.kernels: dict[str, Kernel] = {}  # those that are written, by name
        self.shapes: dict[str, dict[str, Shape]] = {}  # of the parameters of functions, where they are known
        self.kinds: set[str] = set()  # of the types that the texts name

    def name_kernels(self, writer: FunctionWriter, module_names: Names) -> None:
        """Name the kernels that a function calls after their results, before the function is written.

        Those that do the same have one name, unless the function has an argument of that name.
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
        """Call the results of a kernel what its loop carries; the last of the names."""
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
        """The text that declares the kernel that a node calls."""
        raise NotImplementedError(f"{self.target.title} has no kernels")

    def imports(self) -> list[str]:
        """The import statements of what kernels call, one name each."""
        return []

    def shared(self) -> list[str]:
        """The texts of what several kernels call, which come before them."""
        return []


def argument_names(node: Node, caller: FunctionWriter) -> tuple[list[str], list[str]]:
    """Return what a kernel calls what it reads and what it writes: as the function does that calls it, or would."""
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
    """Return what a function calls a value, or would."""
    text = writer.texts.get(node)
    if text is not None and text.isidentifier():
        return str(text)
    return base_name(node, writer.graph)


def _before(writer: FunctionWriter, node: Node, name: str) -> str:
    """A name for what is replaced by a result of its name."""
    return f"{name}_before" if node.opcode in ("parameter", "item") else base_name(node, writer.graph)
