"""Kernels of the style ``fast``: their names, declarations and what they share."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Hashable, Sequence
from functools import cache
from typing import Any

from ...targets.base import Target
from ..array.kernel import Kernel
from ..array.node import Node
from ..array.program import tree_nodes
from .body import FunctionWriter
from .constants import ModuleConstants
from .expression import Renderer
from .kernel_renderer import KernelRenderer
from .kernel_writer import KernelWriter, carried_names
from .launches import launched
from .line_writer import LineWriter
from .names import Names, base_name, identifier
from .prelude import Prelude
from .sources import SourceNames

# The headers of CuPy with types that C++ does not have.
_HEADERS = {"f16": "float16", "bf16": "bfloat16", "c64": "complex", "c128": "complex"}
# Words that mean something in C++ for CUDA; the functions of the macros are those of its mathematics.
_WORDS = frozenset(
    "alignas alignof asm auto bool case catch char class const constexpr const_cast decltype default delete do double "
    "dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace "
    "new noexcept nullptr operator private protected public register reinterpret_cast return short signed sizeof "
    "static static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename "
    "union unsigned using virtual void volatile while and or not xor bitand bitor compl float16 bfloat16 complex at i "
    "n threadIdx blockIdx blockDim gridDim infinite infinite_double not_a_number "
    "not_a_number_double larger smaller squared sigmoid saturate sign popcount count_leading_zeros mulhi int_divide "
    "int_remainder int_power shift_left shift_right_logical shift_right_arithmetic logistic rsqrt round_half_away abs "
    "isfinite isnan min max half bool_ linux unix j0 j1 jn y0 y1 yn gamma signbit isinf round".split()
)
_DOUBLE_WORDS = frozenset(  # functions of double, which a float32 kernel does not call
    "exp expm1 log log1p sqrt cbrt sin cos tan tanh sinh cosh asin acos asinh acosh atanh floor ceil rint erf pow "
    "atan2 fabs fmod".split()
)


class KernelTexts:
    """The declarations of a module's kernels, and of what they share."""

    def __init__(
        self, target: Target, renderer: Renderer, library: Prelude, annotate: str, source_names: SourceNames
    ) -> None:
        self.caller_renderer = renderer
        self.library = library
        self.annotate = annotate
        self.source_names = source_names
        self.target = target
        self.renderer: KernelRenderer | None = None
        self.texts: list[str] = []
        self.names: dict[Hashable, str] = {}  # of kernels, by what they compute
        self.written: set[str] = set()

    def name_kernels(self, writer: FunctionWriter, module_names: Names) -> None:
        """Name the kernels that a function calls after their results, before the function is written.

        Those that do the same have one name, unless the function has an argument of that name.
        """
        others = set(writer.names.taken)
        for node in writer.plan.nodes:
            if node.opcode != "kernel":
                continue
            last = writer.items[node][max(writer.items[node])] if node.results else node
            wanted = writer.plan.user_names.get(last) or base_name(last, writer.graph)
            if node.parameters["kernel"].has_loop:
                wanted = self._named_as_carried(writer, node) or "loop"
            key = node.parameters["kernel"].key
            name = self.names.get(key, "")
            while not name or name in others:
                name = module_names.fresh(f"{identifier(wanted)}_kernel")
            writer.renderer.kernel_names[node.parameters["kernel"]] = self.names[key] = name
            writer.names.taken.add(name)

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
            if name is not None and name not in self.written:
                self.written.add(name)
                self.texts.append(self._text(node, writer, constants))

    def _text(self, node: Node, caller: FunctionWriter, constants: ModuleConstants) -> str:
        assert self.target.kernels is not None
        if self.renderer is None:
            self.renderer = KernelRenderer(self.target.kernels.folder, self.caller_renderer)
        kernel: Kernel = node.parameters["kernel"]
        self.renderer.preamble.clear()
        self.renderer.places.clear()
        words = set(_WORDS)
        if kernel.by_lines:
            words |= {"row", "column", "inside", "k"}
        if _kinds(kernel) & {"f64", "c64", "c128"}:
            words |= _DOUBLE_WORDS
        self.renderer.launch, found = launched(kernel) if kernel.by_lines else (None, None)
        given_to_all = kernel, self.renderer, Names(words), self.annotate, constants, self.source_names
        writer = KernelWriter(*given_to_all) if found is None else LineWriter(*given_to_all, found)
        parts = caller.items.get(node, {})
        outputs = [_plain(caller, parts[k] if node.results else node) for k in range(len(kernel.outputs))]
        operands = [_plain(caller, operand) for operand in node.operands]
        given = {*outputs, *carried_names(caller, node)} if kernel.has_loop else set(outputs)
        operands = [
            _before(caller, operand, name) if name in given else name
            for operand, name in zip(node.operands, operands, strict=True)
        ]
        writer.name_arguments(operands, outputs)
        writer.write()
        if isinstance(writer, LineWriter):
            return self._of_lines(writer)
        return self.caller_renderer.statement(
            "elementwise_kernel",
            self.caller_renderer.kernel_names[kernel],
            self._declared(writer, kernel.function.parameters, [writer.texts[n] for n in kernel.function.parameters]),
            self._declared(writer, writer.results, writer.written_names),
            writer.texts_of_lines(),
            list(self.renderer.preamble),
        )

    def _of_lines(self, writer: LineWriter) -> str:
        """The declaration of a kernel whose threads compute lines together."""
        kernel, renderer = writer.kernel, writer.renderer
        self.caller_renderer.used_prelude["RowKernel"] = None
        pairs: list[tuple[Node, str, bool]] = [(n, writer.texts[n], False) for n in kernel.function.parameters]
        pairs += [(node, name, True) for node, name in zip(writer.results, writer.written_names, strict=True)]
        return self.caller_renderer.statement(
            "row_kernel",
            self.caller_renderer.kernel_names[kernel],
            sorted({_HEADERS[kind] for kind in _kinds(kernel) if kind in _HEADERS}),
            [renderer.statement("pointer", renderer.ctype(node.type), name, result) for node, name, result in pairs],
            renderer.launch,
            writer.texts_of_lines(),
            list(renderer.preamble),
            [
                (shape, self.caller_renderer.dtype(output.type))
                for output, shape in zip(kernel.outputs, kernel.shapes, strict=True)
            ],
        )

    def _declared(self, writer: KernelWriter, nodes: Sequence[Node], names: Sequence[str]) -> list[str]:
        """The parameters of a kernel, in lines."""
        whole = writer.kernel.whole
        parts = [
            writer.renderer.statement("declared", node in whole, _dtype_name(node), name)
            for node, name in zip(nodes, names, strict=True)
        ]
        lines = textwrap.wrap(", ".join(part.replace(" ", "~") for part in parts), 76) or [""]
        return [line.replace("~", " ") + (" " if k + 1 < len(lines) else "") for k, line in enumerate(lines)]

    def shared(self) -> list[str]:
        """The texts of functions that kernels call: those of the prelude, then those of its kernels."""
        if self.renderer is None:
            return []
        functions = sorted(self.renderer.shared_functions)
        return [
            self.caller_renderer.statement("device_function", name.upper(), name, *_parts(self.library, name))
            for name in functions
        ]


def _kinds(kernel: Kernel) -> set[str]:
    """The element types that a kernel computes with."""
    nodes = kernel.function.graph.nodes_since(0)
    return {node.type.name for node in nodes if node.element_type is not None}


def _dtype_name(node: Node) -> str:
    return str(node.type.dtype.name)


def _plain(writer: FunctionWriter, node: Node) -> str:
    """What a function calls a value, or would."""
    text = writer.texts.get(node)
    if text is not None and text.isidentifier():
        return str(text)
    return base_name(node, writer.graph)


def _before(writer: FunctionWriter, node: Node, name: str) -> str:
    """A name for what is replaced by a result of its name."""
    return f"{name}_before" if node.opcode in ("parameter", "item") else base_name(node, writer.graph)


def _parts(library: Prelude, name: str) -> tuple[Any, ...]:
    """Letters of types, parameters, result and operation of a kernel of the prelude."""
    return _parsed(library.definitions[name].source)


@cache
def _parsed(source: str) -> tuple[Any, ...]:
    statement = ast.parse(source).body[0]
    assert isinstance(statement, ast.Assign)
    assert isinstance(statement.value, ast.Call)
    inputs, output, operation, _ = (ast.literal_eval(argument) for argument in statement.value.args)
    parameters = [part.strip() for part in inputs.split(",")]
    letters = list(dict.fromkeys(part.split()[0] for part in parameters))
    return letters, parameters, output.split(), textwrap.dedent(operation).strip().replace("\n", "\n    ")
