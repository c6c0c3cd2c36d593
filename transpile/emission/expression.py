"""Texts of expressions, rendered by macros.

Precedence levels, weakest first (Python's grammar): 2 conditional, 3 or, 4 and, 5 not, 6 comparison, 7 ``|``, 8 ``^``,
9 ``&``, 10 shift, 11 ``+ -``, 12 ``* / // % @``, 13 unary, 14 ``**``, 16 call, index and attribute, 17 atom.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from ..array.kernel import Kernel
from ..array.node import Constant, ForeignName, Node, PreludeName, Slot, Ufunc
from ..array.program import Function
from ..array.scalars import is_scalar_expression
from ..hlo.element_types import ElementType
from ..hlo.ir import Instruction
from .literals import number

WIDTH = 88  # columns, black's

PRIMARY = 16
ATOM = 17
UNARY = 13
SUM = 11

TEMPLATES = Path(__file__).resolve().parent.parent.parent / "templates"


class Expression(str):
    """Final text of an expression and how tightly it binds."""

    level: int

    def __new__(cls, text: str, level: int = ATOM) -> Expression:
        made = super().__new__(cls, text)
        made.level = level
        return made


class CompiledTemplates(jinja2.BytecodeCache):
    """Templates compiled once for all renderers of this process: globals differ from one to the next, code does not."""

    def __init__(self) -> None:
        self.codes: dict[tuple[str, str], Any] = {}

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        bucket.code = self.codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        self.codes[bucket.key, bucket.checksum] = bucket.code


COMPILED = CompiledTemplates()


class Renderer:
    """The macros of one target: its own folder first, then the shared ones."""

    shared: tuple[str, ...] = ("array",)  # folders of macros below the target's own

    def __init__(
        self,
        folder: str,
        namespace: str,
        scalars: str = "",
        *,
        parenthesise_all: bool = False,
        beside: Renderer | None = None,
    ) -> None:
        """``beside``: a renderer of the same module, whose names this one shares."""
        self.namespace = namespace
        self.scalars = scalars or namespace  # what has the dtypes, inf and nan
        self.parenthesise_all = parenthesise_all
        self.function_names: dict[Function, str] = beside.function_names if beside else {}
        self.kernel_names: dict[Kernel, str] = beside.kernel_names if beside else {}
        self.used_prelude: dict[str, None] = beside.used_prelude if beside else {}
        self.foreign_names: dict[ForeignName, str] = beside.foreign_names if beside else {}
        self.shared_channels: set[int | Instruction] = set()  # that several calls of collectives share
        self.resumable: set[Node] = set()  # loops that can go on from a snapshot
        self.used_extension_types = False
        self.environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader([str(TEMPLATES)]),
            bytecode_cache=COMPILED,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            autoescape=False,
        )
        self.environment.globals.update(
            xp=namespace,
            scalars=self.scalars,
            index=self.index,
            arguments=self.arguments,
            literal=lambda item: self.argument(item, ()),
            shared_channels=self.shared_channels,
            called_function=self.called_function,
            function_name=self.function_names.__getitem__,
            kernel_name=self.kernel_names.__getitem__,
            as_array=self.as_array,
            **self.own_globals(),
        )
        self.environment.tests["scalar_expression"] = is_scalar_expression
        self.environment.filters.update(
            p=self.parenthesised,
            p_bits=self.parenthesised_bits,
            dtype=self.dtype,
            shape=shape_text,
            sizes=sizes_text,
            nested=lambda constant: nested_text(constant, self.scalars),
            widths=widths_text,
            axes=axes_text,
            axes_keyword=axes_keyword,
            combined_axes=combined_axes,
            axis_keyword=axis_keyword,
            one_axis_keyword=one_axis_keyword,
            sum_dtype=self.sum_dtype,
            from_end=lambda axis, node: axis_from_end(axis, node.operands[0].ndim),
            contracted=contracted_axes,
            quoted=quoted,
            swaps_last_two=swaps_last_two,
            merges_or_splits=merges_or_splits,
            **self.own_filters(),
        )
        self.macros: dict[str, tuple[Callable[..., str], int]] = {}
        for part in (*self.shared, folder):
            for path in sorted((TEMPLATES / part).glob("*.j2")):
                self._load(f"{part}/{path.name}")

    def own_globals(self) -> dict[str, Any]:
        """What the macros of some renderers call besides."""
        return {}

    def own_filters(self) -> dict[str, Any]:
        """The filters that only these macros use."""
        return {}

    def _load(self, name: str) -> None:
        module = self.environment.get_template(name).module
        levels = getattr(module, "levels", {})
        for key, macro in vars(module).items():
            if callable(macro) and not key.startswith("_"):
                self.macros[key.rstrip("_")] = (macro, levels.get(key, PRIMARY))

    def has(self, opcode: str) -> bool:
        return opcode.replace("-", "_") in self.macros

    def render(self, node: Node, operands: Sequence[Expression]) -> Expression:
        """The text of a node over the texts of its operands."""
        if node.is_python_int and node.opcode == "retype":
            return operands[0]
        macro, level = self.macros[node.opcode.replace("-", "_")]
        return Expression(macro(node, *operands), level)

    def statement(self, name: str, *arguments: Any) -> str:
        """One line of a statement, by its macro."""
        return self.macros[name][0](*arguments)

    def as_array(self, node: Node, text: Expression) -> Expression:
        """A node where only an array will do: some libraries must make one of a scalar first."""
        array = self.statement("as_array", node, text)
        return text if array == text else Expression(array, PRIMARY)

    # -- filters

    def parenthesised(self, text: str, level: int) -> str:
        if getattr(text, "level", ATOM) >= (ATOM if self.parenthesise_all else level):
            return text
        return f"({text})"

    def parenthesised_bits(self, text: str, level: int) -> str:
        """Among ``& | ^`` everything but the same operator is parenthesised: few know these levels by heart."""
        own = getattr(text, "level", ATOM)
        return self.parenthesised(text, level if own <= 9 else UNARY)

    def dtype(self, element_type: ElementType) -> str:
        """``np.float32``, or ``ml_dtypes.bfloat16`` for what NumPy does not have."""
        name = element_type.dtype.name
        if element_type.is_extension:
            self.used_extension_types = True
            return f"ml_dtypes.{name}"
        return f"{self.scalars}.{'bool_' if name == 'bool' else name}"

    def typed_literal(self, value: np.ndarray, element_type: ElementType) -> Expression:
        """A NumPy scalar: ``np.float32(0.5)``."""
        return Expression(f"{self.dtype(element_type)}({number(value, self.scalars)})", PRIMARY)

    def weak_literal(self, value: np.ndarray) -> Expression:
        """A bare number beside an array, whose dtype it takes."""
        text = number(value, self.scalars)
        return Expression(text, SUM if " " in text else UNARY if text.startswith("-") else ATOM)

    def sum_dtype(self, node: Node) -> str:
        """NumPy widens sums of small integers; HLO does not."""
        element_type = node.type
        if element_type.is_integral and element_type.bits < 64 and not node.parameters.get("plain"):
            return f"dtype={self.dtype(element_type)}"
        return ""

    def foreign_imports(self) -> Iterator[str]:
        """The import statements of the user's own functions, under other names where theirs are taken."""
        for function, name in self.foreign_names.items():
            renamed = "" if name == function.name else f" as {name}"
            yield f"from {function.module} import {function.name}{renamed}"

    # -- what macros call

    def index(self, node: Node, operands: Sequence[str]) -> str:
        """The inside of the brackets of static or dynamic indexing."""
        return index_text(node.parameters["index"], operands, node.operands[0].ndim)

    def called_function(self, function: str | ForeignName) -> str:
        """The name of a prelude function, or of one of the user's own."""
        if isinstance(function, ForeignName):
            return self.foreign_names[function]
        self.used_prelude[function] = None
        return function

    def arguments(self, node: Node, operands: Sequence[str]) -> str:
        """Arguments of a call, keywords last."""
        parts = [self.argument(item, operands) for item in node.parameters["arguments"]]
        parts += [f"{key}={self.argument(value, operands)}" for key, value in node.parameters["keywords"].items()]
        return ", ".join(parts)

    def argument(self, item: Any, operands: Sequence[str]) -> str:
        """One static or dynamic argument. Only values of our own making reach the text; strings are quoted."""
        if isinstance(item, Slot):
            return str(operands[item.index])
        if isinstance(item, Ufunc):
            return f"{self.scalars}.{UFUNCS[item.opcode]}"
        if isinstance(item, Function):
            return self.function_names[item]
        if isinstance(item, PreludeName):
            self.used_prelude[item.name] = None
            return item.name
        if isinstance(item, ElementType):
            return self.dtype(item)
        if isinstance(item, Constant):
            return number(item.array, self.scalars)
        if isinstance(item, tuple | list):
            inner = ", ".join(self.argument(part, operands) for part in item)
            return f"({inner},)" if len(item) == 1 else f"({inner})"
        if isinstance(item, str):
            return quoted(item)
        assert item is None or isinstance(item, bool | int | float), f"no text for the argument {item!r}"
        return repr(item)


UFUNCS = {
    "add": "add",
    "multiply": "multiply",
    "maximum": "maximum",
    "minimum": "minimum",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "less": "less",
    "less-equal": "less_equal",
    "greater": "greater",
    "greater-equal": "greater_equal",
}


def quoted(text: str) -> str:
    """A string literal in black's quotes; every character that is not plain ASCII is escaped."""
    body = text.encode("unicode_escape").decode("ascii").replace('"', '\\"')
    return f'"{body}"'


def index_text(index: Sequence[Any], operands: Sequence[str], ndim: int) -> str:
    """``:, None``, ``..., 0``, ``i, 1:``: trailing whole axes are left out, long leading ones become ``...``."""
    items = list(index)
    while items and items[-1] == ":" and len(items) > 1 and any(item != ":" for item in items[:-1]):
        items.pop()
    leading = 0
    while leading < len(items) and items[leading] == ":":
        leading += 1
    consumed = sum(item is not None for item in items)
    texts = [_item_text(item, operands) for item in items[leading:]]
    if leading > 1 and consumed == ndim:
        return ", ".join(["...", *texts])
    if leading >= 1 and consumed == ndim and items[-1] is None and len(texts) == 1:
        return ", ".join(["...", *texts]) if leading > 1 else ", ".join([":", *texts])
    return ", ".join([":"] * leading + texts)


def _item_text(item: Any, operands: Sequence[str]) -> str:
    if isinstance(item, Slot):
        return operands[item.index]
    if isinstance(item, tuple):
        if isinstance(item[0], Slot):
            start, size = operands[item[0].index], item[1]
            simple = start.isidentifier() or start.isdigit()
            space = "" if simple else " "
            if start.isdigit():
                return f"{start}:{int(start) + size}"
            return f"{start}{space or ' '}: {start} + {size}"
        start, stop, step = ("" if part is None else str(part) for part in item)
        return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"
    return str(item)


def shape_text(shape: Sequence[int]) -> str:
    """As an argument: ``8`` or ``(4, 8)``."""
    return str(shape[0]) if len(shape) == 1 else f"({', '.join(map(str, shape))})"


def sizes_text(shape: Sequence[int]) -> str:
    """As the arguments of ``reshape``: ``4, 8``; ``()`` for a scalar."""
    return ", ".join(map(str, shape)) if shape else "()"


def widths_text(widths: Sequence[tuple[int, int]]) -> str:
    if len(set(widths)) == 1:
        low, high = widths[0]
        return str(low) if low == high else f"({low}, {high})"
    return f"({', '.join(f'({low}, {high})' for low, high in widths)})"


def axis_from_end(axis: int, ndim: int) -> int:
    """The last axis of several is -1, as people write it."""
    return -1 if axis == ndim - 1 and ndim > 1 else axis


def axes_text(axes: Sequence[int]) -> str:
    return str(axes[0]) if len(axes) == 1 else f"({', '.join(map(str, axes))})"


def axes_keyword(node: Node) -> str:
    """``axis=-1``, ``axis=(0, 2)``, or nothing where all axes are reduced."""
    axes, ndim = node.parameters["axes"], node.operands[0].ndim
    if len(axes) == ndim:
        return ""
    if len(axes) == 1:
        return f"axis={axis_from_end(axes[0], ndim)}"
    return f"axis={axes_text(axes)}"


def combined_axes(node: Node) -> str:
    """``axis=0`` of the parts of a sum; nothing where all axes are summed."""
    axes = node.parameters["axes"]
    return "" if len(axes) == node.operands[0].ndim else f"axis={axes_text(axes)}"


def one_axis_keyword(node: Node) -> str:
    """``axis=-1``; nothing where there is no other axis."""
    axis, ndim = node.parameters["axis"], node.operands[0].ndim
    return f"axis={axis_from_end(axis, ndim)}" if ndim > 1 else ""


def axis_keyword(axis: int) -> str:
    """`` , axis=1`` behind a list of arrays; nothing for the first axis."""
    return f", axis={axis}" if axis else ""


def contracted_axes(axes: tuple[tuple[int, ...], tuple[int, ...]], node: Node) -> str:
    """The ``axes`` of ``tensordot``: a count where the last axes meet the first."""
    left, right = axes
    count, ndim = len(left), node.operands[0].ndim
    if left == tuple(range(ndim - count, ndim)) and right == tuple(range(count)):
        return str(count)
    if count == 1:
        return f"({left[0]}, {right[0]})"
    return f"({axes_text(left)}, {axes_text(right)})"


def swaps_last_two(axes: Sequence[int]) -> bool:
    n = len(axes)
    return n > 2 and tuple(axes) == (*range(n - 2), n - 1, n - 2)


def merges_or_splits(shape: Sequence[int], source: Sequence[int]) -> bool:
    """A reshape in which every axis comes from a run of axes, or a run of axes from one."""
    wanted, given = ([size for size in sizes if size != 1] for sizes in (shape, source))
    if 0 in wanted:
        return True
    k = n = 0
    while n < len(given):
        merged, split = 1, 1
        left, right = given[n], wanted[k]
        while left != right:
            if left < right:
                n, merged = n + 1, merged + 1
                left *= given[n]
            else:
                k, split = k + 1, split + 1
                right *= wanted[k]
        if merged > 1 and split > 1:
            return False
        n, k = n + 1, k + 1
    return True


def nested_text(constant: Constant, namespace: str) -> str:
    """A nested list of numbers."""
    array = constant.array
    if array.ndim == 0:
        return number(array, namespace)
    return _nested(array, namespace)


def _nested(array: np.ndarray, namespace: str) -> str:
    if array.ndim == 1:
        return f"[{', '.join(number(item, namespace) for item in array)}]"
    return f"[{', '.join(_nested(row, namespace) for row in array)}]"
