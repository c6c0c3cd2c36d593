"""Kernels of the style ``fast``: the lines of a readable function, in C++, for one element."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np

from ...targets.base import Target
from ..array.kernel import Kernel
from ..array.node import Node
from ..array.program import Carry, tree_nodes
from ..hlo.element_types import ElementType
from .body import FunctionWriter
from .constants import ModuleConstants
from .expression import ATOM, PRIMARY, UNARY, Expression, Renderer
from .lines import Line
from .literals import number
from .names import Names, base_name, identifier
from .prelude import Prelude
from .sources import SourceNames

CTYPES = {
    "pred": "bool",
    "s8": "signed char",
    "u8": "unsigned char",
    "s16": "short",
    "u16": "unsigned short",
    "s32": "int",
    "u32": "unsigned",
    "s64": "long long",
    "u64": "unsigned long long",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float",
    "f64": "double",
    "c64": "complex<float>",
    "c128": "complex<double>",
}
# The headers of CuPy with types that C++ does not have.
_HEADERS = {"f16": "float16", "bf16": "bfloat16", "c64": "complex", "c128": "complex"}
# What C++ computes in a wider type: rounded or cut after every operation, as libraries of arrays do.
_NARROW = frozenset("s8 u8 s16 u16 f16 bf16".split())
_EXACT = frozenset("select maximum minimum clamp square read prelude convert arange and or xor".split())
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
_PLAIN = re.compile(r"[\w.:\- +/]*")  # of comments: nothing that ends a text or continues a line


@dataclass(slots=True)
class Row:
    """How the threads of a kernel share the rows of a loop: ``width`` threads a row, rows ``together`` in a block."""

    columns: int = 1
    rows: int = 1
    width: int = 1
    together: int = 1

    def set(self, loop: tuple[int, ...]) -> None:
        """For a loop: as many threads as elements, rounded up to what reductions take."""
        *outer, self.columns = loop
        self.rows = prod(outer)
        self.width = (
            1 << (self.columns - 1).bit_length() if self.columns <= _WARP else -(-self.columns // _WARP) * _WARP
        )
        self.together = _SMALL_BLOCK // self.width if self.width <= _WARP else 1


_WARP = 32  # threads that exchange numbers without memory
_SMALL_BLOCK = 128  # threads, of several short rows


class KernelRenderer(Renderer):
    """The macros of C++."""

    shared = ()

    def __init__(self, folder: str, beside: Renderer) -> None:
        self.row = Row()
        self.preamble: dict[str, None] = {}  # the constants with the functions that the current kernel calls
        self.shared_functions: dict[str, str] = {}  # of the prelude's kernels: the constant with their C++
        super().__init__(folder, beside.namespace, beside=beside)

    def own_globals(self) -> dict[str, Any]:
        return {"ctypes": CTYPES, "row": self.row, "device": self.device, "shared_function": self.shared_function}

    def own_filters(self) -> dict[str, Any]:
        return {"ctype": self.ctype}

    def ctype(self, element_type: ElementType) -> str:
        """``float``."""
        return CTYPES[element_type.name]

    def device(self, constant: str, function: str) -> str:
        """The name of a function whose C++ is in a constant of the prelude."""
        self.used_prelude[constant] = self.preamble[constant] = None
        return function

    def shared_function(self, function: str) -> str:
        """The name of a function that computes what a kernel of the prelude does."""
        self.shared_functions[function] = function.upper()
        self.preamble[function.upper()] = None
        return function

    def render(self, node: Node, operands: Sequence[Expression]) -> Expression:
        text = super().render(node, operands)
        if node.type.name in _NARROW and node.opcode not in _EXACT:
            return Expression(self.macros["cast"][0](self.ctype(node.type), text), UNARY)
        return text

    def typed_literal(self, value: np.ndarray, element_type: ElementType) -> Expression:
        """A constant of exactly its type."""
        text = self._literal(value, element_type)
        level = UNARY if text.startswith("-") else PRIMARY if text.endswith(")") else ATOM
        return Expression(text, level)

    def _literal(self, value: np.ndarray, element_type: ElementType) -> str:
        kind = element_type.name
        if kind == "pred":
            return self.statement("truth", bool(value))
        if element_type.is_integral:
            return self.statement("whole_number", kind, int(value))
        if element_type.is_complex:
            part = {"c64": "f32", "c128": "f64"}[kind]
            return self.statement("complex_number", kind, *(self._real(x, part) for x in (value.real, value.imag)))
        return self._real(value, kind)

    def _real(self, value: np.ndarray, kind: str) -> str:
        if np.isnan(float(value)):
            return self.statement("not_a_number", kind)
        if np.isinf(float(value)):
            return self.statement("infinite", kind, "-" if value < 0 else "")
        digits = number(value, "")
        return self.statement("real_number", kind, digits if re.search("[.e]", digits) else f"{digits}.0")

    def weak_literal(self, value: np.ndarray) -> Expression:
        """C++ has no weak types: only literals of unknown type would end here."""
        raise AssertionError("a kernel has typed constants only")


class KernelWriter(FunctionWriter):
    """Writes the function of one kernel."""

    renderer: KernelRenderer

    def __init__(
        self,
        kernel: Kernel,
        renderer: KernelRenderer,
        names: Names,
        annotate: str,
        constants: ModuleConstants,
        source_names: SourceNames,
    ) -> None:
        super().__init__(kernel.function, renderer, names, annotate, constants, source_names)
        self.kernel = kernel
        self.control_flow: KernelLoops = KernelLoops(self)  # type: ignore[assignment]
        self.results = tree_nodes(kernel.function.results)
        self.written_names: list[str] = []  # what results are called in memory, apart from variables that become them
        self.plan.named.update(self.results)
        self.plan.named.update(kernel.reductions)  # all threads come by them: not inside of `?:`
        self.plan.named.update(n for n in self.plan.nodes if n.opcode == "read" and self.plan.uses.get(n, 0) > 1)

    def name_arguments(self, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """Name what is read and what is written."""
        if not self.kernel.has_loop:  # what a loop carries has names of its own
            self.texts.update((n, Expression(self.names.fresh(w))) for n, w in zip(self.results, outputs, strict=True))
        for node, wanted in zip(self.function.parameters, inputs, strict=True):
            self.texts[node] = Expression(self.names.fresh(wanted))

    def definition(self, node: Node, name: str, value: Expression) -> str:
        is_new = node not in self.texts or (node in self.results and self.kernel.by_rows)
        if not is_new:
            return self.renderer.statement("write_result", name, value)
        return self.renderer.statement("define_value", self.renderer.ctype(node.type), name, value)

    def folded(self, node: Node) -> Expression:
        return self.renderer.render(node, [self.text(operand) for operand in node.operands])

    def _name(self, node: Node) -> Expression:
        if node.opcode == "read":
            return Expression(self.names.fresh(f"{self.texts[node.operands[0]]}_here"))
        return Expression(self.names.fresh(self.wanted_name(node)))  # C++ declares a name once

    def _taken(self, node: Node) -> int:
        return super()._taken(node) + len(self.renderer.ctype(node.type)) + len(" ;")

    def write(self) -> None:
        self.region(self.graph.root)
        apart = self.kernel.by_rows or self.kernel.has_loop
        names = [self.names.fresh(f"{self.texts[node]}_out") if apart else self.texts[node] for node in self.results]
        self.written_names += names
        for node, output, name in zip(self.results, self.kernel.outputs, names, strict=True):
            if not apart:
                continue
            macro = "write_element" if output.shape == self.kernel.loop else "write_of_row"
            self.line(self.renderer.statement(macro if self.kernel.by_rows else "write_result", name, self.texts[node]))

    def texts_of_lines(self) -> list[str]:
        """The lines of C++, source places behind them."""
        needs_index = any(node.opcode == "read" or "places" in node.parameters for node in self.plan.nodes)
        needs_index &= not self.kernel.by_rows
        first = [self.renderer.statement("number_of_element")] if needs_index else []
        return first + ["    " * (line.indent - 1) + self._commented(line) for line in self.lines]

    def _commented(self, line: Line) -> str:
        comment = line.comment if _PLAIN.fullmatch(line.comment) else ""
        return self.renderer.statement("commented", line.text, comment)


def carried_names(writer: FunctionWriter, node: Node) -> Sequence[str]:
    """What the author calls the values that the loop of a node carries; empty where nobody knows."""
    kernel: Kernel | None = node.parameters.get("kernel")
    loop = node if kernel is None else tree_nodes(kernel.function.results)[0].operands[0]
    origin, count = writer.graph.origins.get(node), len(loop.results)
    is_known = origin is not None and origin.opcode == "while"
    found = writer.source_names.functions.carried(origin, count) if is_known and origin is not None else None
    return found or [""] * count


class KernelLoops:
    """Writes loops in kernels: what they carry are variables of the thread."""

    def __init__(self, writer: KernelWriter) -> None:
        self.writer = writer

    def loop(self, node: Node) -> None:
        """The loop, from the initial values to the end of the body."""
        writer, loop = self.writer, node.parameters["loop"]
        parts = writer.items.get(node, {})
        for k, (carry, wanted) in enumerate(zip(loop.carries, carried_names(writer, node), strict=True)):
            item = parts.get(k)
            name = Expression(writer.names.fresh(wanted or writer.wanted_name(carry.following)))
            self._define(carry.parameter, name, writer.text(carry.initial), node)
            writer.texts[carry.parameter] = name
            if item is not None:
                writer.texts[item] = name
        counter = Expression(writer.names.fresh("step"))
        writer.texts[loop.counter] = counter
        writer.line(writer.renderer.statement("for_range", counter, loop.start, loop.stop, loop.step))
        writer.indent += 1
        self._move(writer.region(loop.region, loop).moves)
        writer.indent -= 1
        writer.line(writer.renderer.statement("end_of_loop"))

    def _define(self, like: Node, name: str, value: Expression, node: Node | None = None) -> None:
        renderer = self.writer.renderer
        self.writer.line(renderer.statement("define_value", renderer.ctype(like.type), name, value), node)

    def _move(self, moves: Sequence[Carry]) -> None:
        """What takes its next value when everything has been computed from the last."""
        writer = self.writer
        pairs = [(c.following, writer.texts[c.parameter]) for c in moves if c.following is not None]
        values = [writer.text(following) for following, _ in pairs]
        if len(pairs) > 1:
            for k, (following, name) in enumerate(pairs):
                value, values[k] = values[k], Expression(writer.names.fresh(f"next_{name}"))
                self._define(following, values[k], value)
        for (_, name), value in zip(pairs, values, strict=True):
            writer.line(writer.renderer.statement("write_result", name, value))


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

    def name_kernels(self, writer: FunctionWriter, module_names: Names) -> None:
        """Name the kernels that a function calls after their results, before the function is written."""
        for node in writer.plan.nodes:
            if node.opcode != "kernel":
                continue
            last = writer.items[node][max(writer.items[node])] if node.results else node
            wanted = writer.plan.user_names.get(last) or base_name(last, writer.graph)
            if node.parameters["kernel"].has_loop:
                wanted = self._named_as_carried(writer, node) or "loop"
            name = module_names.fresh(f"{identifier(wanted)}_kernel")
            writer.renderer.kernel_names[node.parameters["kernel"]] = name
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
        """Write the kernels that a written function calls."""
        for node in writer.plan.nodes:
            if node.opcode == "kernel":
                self.texts.append(self._text(node, writer, constants))

    def _text(self, node: Node, caller: FunctionWriter, constants: ModuleConstants) -> str:
        assert self.target.kernels is not None
        if self.renderer is None:
            self.renderer = KernelRenderer(self.target.kernels.folder, self.caller_renderer)
        kernel: Kernel = node.parameters["kernel"]
        self.renderer.preamble.clear()
        words = set(_WORDS)
        if kernel.by_rows:
            words |= {"row", "column", "inside"}
        if _kinds(kernel) & {"f64", "c64", "c128"}:
            words |= _DOUBLE_WORDS
        writer = KernelWriter(kernel, self.renderer, Names(words), self.annotate, constants, self.source_names)
        parts = caller.items.get(node, {})
        outputs = [_plain(caller, parts[k] if node.results else node) for k in range(len(kernel.outputs))]
        operands = [_plain(caller, operand) for operand in node.operands]
        given = {*outputs, *carried_names(caller, node)} if kernel.has_loop else set(outputs)
        operands = [
            _before(caller, operand, name) if name in given else name
            for operand, name in zip(node.operands, operands, strict=True)
        ]
        self.renderer.row.set(kernel.loop or (1,))
        writer.name_arguments(operands, outputs)
        writer.write()
        if kernel.by_rows:
            return self._of_rows(writer)
        return self.caller_renderer.statement(
            "elementwise_kernel",
            self.caller_renderer.kernel_names[kernel],
            self._declared(writer, kernel.function.parameters, [writer.texts[n] for n in kernel.function.parameters]),
            self._declared(writer, writer.results, writer.written_names),
            writer.texts_of_lines(),
            list(self.renderer.preamble),
        )

    def _of_rows(self, writer: KernelWriter) -> str:
        """The declaration of a kernel whose threads compute rows together."""
        kernel, renderer = writer.kernel, writer.renderer
        self.caller_renderer.used_prelude["RowKernel"] = None
        pairs: list[tuple[Node, str, bool]] = [(n, writer.texts[n], False) for n in kernel.function.parameters]
        pairs += [(node, name, True) for node, name in zip(writer.results, writer.written_names, strict=True)]
        return self.caller_renderer.statement(
            "row_kernel",
            self.caller_renderer.kernel_names[kernel],
            sorted({_HEADERS[kind] for kind in _kinds(kernel) if kind in _HEADERS}),
            [renderer.statement("pointer", renderer.ctype(node.type), name, result) for node, name, result in pairs],
            renderer.row,
            writer.texts_of_lines(),
            list(renderer.preamble),
            [(output.shape, self.caller_renderer.dtype(output.type)) for output in kernel.outputs],
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
