"""The text of expressions, rendered by macros."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from ..array.node import Constant, DeviceGroups, DevicePairs, ForeignName, HostName, Node, PreludeName, Slot, Ufunc
from ..array.program import Function
from ..array.scalars import is_scalar_expression
from ..array.traversal import is_place
from ..hlo.element_types import S64, U64, ElementType
from ..hlo.ir import Instruction
from ..kernels.kernel import Kernel
from ..python.grammar import ATOM, PRIMARY, SIGN, SUM
from ..python.templates import Expression, Hole, template
from ..target import TEMPLATES
from .layout import Layout
from .literals import number
from .macros import COMPILED, Macros, loader
from .texts import (
    axes_keyword,
    axis_from_end,
    axis_keyword,
    combined_axes,
    contracted_axes,
    counted_groups,
    counted_pairs,
    diagonal_of,
    index_text,
    last_from_the_end,
    merges_or_splits,
    nested_text,
    one_axis_keyword,
    quoted,
    shape_text,
    sizes_text,
    swaps_last_two,
    widths_text,
)
from .trees.argument_groups import Groups, given_texts, parts_of_objects

USUAL = Layout()
OWN = "own"  # the prefix of a target's own macros in templates


class Renderer:
    """The macros of one target: its own folder first, then the shared ones."""

    shared: tuple[str, ...] = ("array",)  # folders of macros below the target's own
    elements_are_numbers = True  # whether ``x[0]`` is a number, not a view
    owns_carried_arrays = False  # whether every loop is written to begin with arrays of its own
    combines_in_place = True  # ``x[i] += y``

    def __init__(
        self, folder: Path, namespace: str, scalars: str = "", *, layout: Layout = USUAL, beside: Renderer | None = None
    ) -> None:
        """``folder`` has the own macros; ``beside`` is a renderer of the same module, whose names and layout this one
        shares.
        """
        self.folder = folder
        self.namespace = namespace
        self.scalars = scalars or namespace  # the module that has the dtypes, inf and nan
        self.layout: Layout = beside.layout if beside else layout
        self.sizes_are_free: bool = self.layout.sizes_are_free
        self.function_names: dict[Function, str] = beside.function_names if beside else {}
        self.kernel_names: dict[Kernel, str] = beside.kernel_names if beside else {}
        self.used_prelude: dict[str, None] = beside.used_prelude if beside else {}
        self.prelude_calls: dict[str, dict[Node, None]] = {}  # function: the nodes written as its calls
        self.foreign_names: dict[ForeignName, str] = beside.foreign_names if beside else {}
        self.shared_channels: set[int | Instruction] = set()  # shared by several calls of collectives
        self.named_devices: dict[DeviceGroups | DevicePairs, str] = {}  # the constants that list groups and pairs
        self.of_any_shape: set[Function] = beside.of_any_shape if beside else set()  # whose numbers may be arrays
        self.named_results: dict[Function, Any] = {}  # the classes of functions with many results
        self.argument_groups: Groups = {}  # the objects that functions take in place of their parts
        self.stored_rows: dict[Node, list[str]] = {}  # kernel call: the rows that its results are stored in, if any
        self.resumable: set[Node] = set()  # loops that can go on from a snapshot
        self.environment = jinja2.Environment(
            loader=jinja2.ChoiceLoader([jinja2.PrefixLoader({OWN: loader(folder)}), loader(TEMPLATES)]),
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
            index_item=self.index_item,
            arguments=self.arguments,
            literal=lambda item: self.argument(item, ()),
            device_list=self.device_list,
            shared_channels=self.shared_channels,
            called_function=self.called_function,
            function_name=self.function_names.__getitem__,
            kernel_name=self.kernel_names.__getitem__,
            stored_rows=self.stored_rows,
            as_array=self.as_array,
            call_arguments=self.call_arguments,
            sizes_are_free=self.sizes_are_free,
            line_length=self.layout.line_length,
            **self.own_globals(),
        )
        self.environment.tests["scalar_expression"] = is_scalar_expression
        self.environment.filters.update(
            dtype=self.dtype,
            shape=shape_text,
            elements=prod,
            sizes=sizes_text,
            nested=lambda constant: nested_text(constant, self.scalars),
            widths=widths_text,
            axes=shape_text,
            axes_keyword=axes_keyword,
            combined_axes=combined_axes,
            axis_keyword=axis_keyword,
            one_axis_keyword=one_axis_keyword,
            sum_dtype=self.sum_dtype,
            from_end=lambda axis, node: axis_from_end(axis, node.operands[0].ndim),
            contracted=contracted_axes,
            diagonal_of=diagonal_of,
            quoted=quoted,
            swaps_last_two=swaps_last_two,
            merges_or_splits=merges_or_splits,
            **self.own_filters(),
        )
        self.macros = Macros(self.environment, [*(TEMPLATES / part for part in self.shared), folder])
        self._depth = 0  # macros that are being run
        self._operators: dict[str, bool] = {}

    def own_globals(self) -> dict[str, Any]:
        """Return additional globals of this renderer's macros."""
        return {}

    def own_filters(self) -> dict[str, Any]:
        """Return additional filters of this renderer's macros."""
        return {}

    def macro_of(self, node: Node) -> str:
        """Return the name of the macro that writes a node.

        That is the opcode's, except for remainders of integers, and for rows of the operation table that name a
        function.
        """
        if node.is_python_int and (own := f"integer_{node.opcode}") in self.macros:
            return own
        name = "modulo" if node.opcode == "remainder" and node.type.is_integral else node.opcode.replace("-", "_")
        return "library_function" if node.operation.function and name not in self.macros else name

    def render(self, node: Node, operands: Sequence[Expression]) -> Expression:
        """Return the text of a node, given the texts of its operands."""
        if node.is_python_int and node.opcode == "retype":
            return operands[0]
        return self.expression("array_of" if self.lists(node) else self.macro_of(node), node, *operands)

    def lists(self, node: Node) -> bool:
        """Return whether a node is a stack of numbers that the library takes as a list."""
        return node.opcode == "stack" and node.ndim == 1 and "array_of" in self.macros

    def number_macro(self, node: Node, function: Function) -> str:
        """Return the macro that writes an operation on numbers alone as Python's, or "".

        Selects are ``a if mask else b``: either both numbers are Python's or none is, as the result is one of them.
        Calls of ufuncs on numbers take ten times as long, but keep their types: all others are of one type.
        """
        name = f"number_{node.opcode}"
        if node.ndim or name not in self.macros or function in self.of_any_shape:
            return ""
        if node.opcode == "select":
            return name if len({value.is_python_int for value in node.operands[1:]}) == 1 else ""
        is_real = node.type.is_floating or (node.type.is_integral and node.opcode != "abs")  # which warns of integers
        are_numbers = all(each.element_type is node.type and not each.is_python_int for each in node.operands)
        return name if is_real and are_numbers and not node.type.is_extension else ""

    def is_bounded_place(self, node: Node, users: Sequence[Node | None]) -> bool:
        """Tell whether Python bounds a number that is only read as a place in arrays, whatever its type is then."""
        if node.ndim or node.element_type is None or not node.type.is_integral or not users:
            return False
        return f"place_{node.opcode}" in self.macros and all(user and is_place(node, user) for user in users)

    def is_operator(self, node: Node) -> bool:
        """Return whether a node is written with a Python operator."""
        name = self.macro_of(node)
        if name not in self._operators:
            holes = [Hole.at(0, number, Expression("x")) for number in range(len(node.operands))]
            self._operators[name] = self.expression(name, node, *holes).level < PRIMARY
        return self._operators[name]

    def expression(self, name: str, *arguments: Any) -> Expression:
        """Return the expression that a macro writes; its operands are the expressions among the arguments."""
        text, operands = self._rendered(name, arguments)
        return template(text).expression(self._depth, operands)

    def store(self, target: str, index: str, text: str, value: Node, items: Sequence[Any], shape: Sequence[int]) -> str:
        """Return the statement that writes a value into an array of this shape, at an index with these ``items``."""
        return self.statement("store", target, index, text)

    def statement(self, name: str, *arguments: Any) -> str:
        """Return a line of a statement, or another text, as written by its macro."""
        text, operands = self._rendered(name, arguments)
        return template(text).statement(self._depth, operands) if operands and text else text

    def _rendered(self, name: str, arguments: Sequence[Any]) -> tuple[str, list[Expression]]:
        """Return the text that a macro writes with holes for its operands, and the operands."""
        operands: list[Expression] = []
        given = self._with_holes(arguments, operands)
        self._depth += 1
        text = self.macros[name](*given)
        self._depth -= 1
        return text, operands

    def _with_holes(self, arguments: Sequence[Any], operands: list[Expression]) -> list[Any]:
        """Return the arguments with each expression replaced by a hole; the expressions are added to ``operands``."""
        given: list[Any] = []
        for argument in arguments:
            if isinstance(argument, Expression):
                given.append(Hole.at(self._depth, len(operands), argument))
                operands.append(argument)
            elif type(argument) is list or type(argument) is tuple:
                given.append(type(argument)(self._with_holes(argument, operands)))
            else:
                given.append(argument)
        return given

    def as_array(self, node: Node, text: Expression) -> Expression:
        """Return the text of a node where an array is required: some libraries must convert a scalar first."""
        return self.expression("as_array", node, text)

    def begun(self, node: Node, text: Expression) -> Expression:
        """Return the text of a loop's initial value."""
        return text

    def held(self, node: Node, text: Expression) -> Expression:
        """Return the text of a value that is assigned to a name."""
        return text

    def stored_value(self, node: Node, text: Expression) -> Expression:
        """Return the text of a value that is written into an array."""
        return text

    # -- filters

    def dtype(self, element_type: ElementType) -> str:
        """Return the dtype's text: ``np.float32``, or ``ml_dtypes.bfloat16`` for a type that NumPy lacks."""
        name = element_type.dtype.name
        if element_type.is_extension:
            return f"ml_dtypes.{name}"
        return self.statement("dtype", name)

    def typed_literal(self, value: np.ndarray, element_type: ElementType) -> Expression:
        """Return a scalar of the library: ``np.float32(0.5)``."""
        text = self.statement("typed_number", number(value, self.scalars), self.dtype(element_type))
        return Expression(text, PRIMARY)

    def weak_literal(self, value: np.ndarray) -> Expression:
        """Return a bare number beside an array, whose dtype it takes."""
        text = number(value, self.scalars)
        return Expression(text, SUM if " " in text else SIGN if text.startswith("-") else ATOM)

    def sum_dtype(self, node: Node) -> str:
        """Return the ``dtype`` keyword of a sum that NumPy would widen, or an empty string.

        NumPy widens sums of small integers to 64 bits, signed or unsigned like the operand; HLO does not.
        """
        element_type = node.type
        widened = U64 if node.operands[0].type.is_unsigned else S64
        if element_type.is_integral and element_type is not widened and not node.parameters.get("plain"):
            return f"dtype={self.dtype(element_type)}"
        return ""

    def foreign_imports(self) -> Iterator[str]:
        """Yield the import statements of the user's own functions, renamed where their names are taken."""
        for function, name in self.foreign_names.items():
            renamed = "" if name == function.name else f" as {name}"
            yield f"from {function.module} import {function.name}{renamed}"

    # -- functions that macros call

    def index(self, node: Node, operands: Sequence[str]) -> str:
        """Return the text inside the brackets of static or dynamic indexing."""
        indices = [
            self.index_item(operand, text) for operand, text in zip(node.operands[1:], operands[1:], strict=True)
        ]
        shown = [operand.text if isinstance(operand, Expression) else operand for operand in operands]
        return self.index_of(node.parameters["index"], [*operands[:1], *indices], node.operands[0].shape, shown)

    def index_item(self, node: Node, text: str) -> str:
        """Return a node as an index: some libraries need a number on the host."""
        return self.statement("index_item", node, text)

    def index_of(
        self, index: Sequence[Any], operands: Sequence[str], shape: Sequence[int], shown: Sequence[str] = ()
    ) -> str:
        """Return the text inside the brackets for an array of a shape; whole axes at the end are left out.

        ``shown`` are the final texts of the operands, if the operands are holes.
        """
        ndim = len(shape)
        if not self.sizes_are_free:
            index = last_from_the_end(index, operands, shape)
        is_partial = ndim > 1 and (index[-1] == ":" or sum(item is not None for item in index) < ndim)
        text = index_text(index, operands, ndim, shown)
        return self.statement("index", text, is_partial and not text.startswith("...") and set(index) != {":"})

    def called_function(self, function: str | ForeignName) -> str:
        """Return the name of a prelude function, which is recorded as used, or of one of the user's own functions."""
        if isinstance(function, ForeignName):
            return self.foreign_names[function]
        self.used_prelude[function] = None
        return function

    def arguments(self, node: Node, operands: Sequence[str]) -> str:
        """Return the text of the arguments of a call, keywords last."""
        if node.opcode == "prelude" and isinstance(node.parameters["function"], str):
            self.prelude_calls.setdefault(node.parameters["function"], {})[node] = None
        parts = [self.argument(item, operands) for item in node.parameters["arguments"]]
        parts += [f"{key}={self.argument(value, operands)}" for key, value in node.parameters["keywords"].items()]
        return ", ".join(parts)

    def call_arguments(self, node: Node, operands: Sequence[Expression]) -> list[str]:
        """Return the texts of the arguments of a call of one of the program's functions."""
        texts = [self.as_array(*pair) for pair in zip(node.operands, operands, strict=True)]
        return given_texts(self.argument_groups.get(node.parameters["function"], ()), texts, self.field_names)

    def parts_of_objects(self, node: Node) -> Collection[int]:
        """Return the numbers of a call's operands that its function takes as parts of objects that calls gave."""
        is_call = node.opcode == "call" and node.parameters["function"] in self.argument_groups
        return parts_of_objects(self.argument_groups[node.parameters["function"]]) if is_call else ()

    def field_names(self, function: Function) -> Sequence[str]:
        """Return the names of the results of a function that returns an object, including those of nested objects."""
        steps: Sequence[str] = self.named_results[function].steps
        return steps

    def argument(self, item: Any, operands: Sequence[str]) -> str:
        """Return the text of one static or dynamic argument. Only known types reach the text; strings are quoted."""
        if isinstance(item, Slot):
            return str(operands[item.index])
        if isinstance(item, Ufunc):
            return f"{self.scalars}.{UFUNCS[item.opcode]}"
        if isinstance(item, Function):
            return self.function_names[item]
        if isinstance(item, HostName):
            return item.name
        if isinstance(item, PreludeName):
            self.used_prelude[item.name] = None
            return item.name
        if isinstance(item, ElementType):
            return self.dtype(item)
        if isinstance(item, Constant):
            return number(item.array, self.scalars)
        if isinstance(item, DeviceGroups | DevicePairs):
            return self.named_devices.get(item) or self.device_list(item)
        if isinstance(item, tuple | list):
            inner = ", ".join(self.argument(part, operands) for part in item)
            return f"({inner},)" if len(item) == 1 else f"({inner})"
        if isinstance(item, str):
            return quoted(item)
        assert item is None or isinstance(item, bool | int | float), f"no text for the argument {item!r}"
        return repr(item)

    def device_list(self, item: DeviceGroups | DevicePairs) -> str:
        """Return groups or pairs of devices as a list, or as loops that produce it."""
        if isinstance(item, DeviceGroups):
            groups = counted_groups(item.lists)
            return self.argument(item.lists, ()) if groups is None else self.statement("device_groups", groups)
        pairs = counted_pairs(item.lists)
        return self.argument(item.lists, ()) if pairs is None else self.statement("device_pairs", pairs)


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
    "logaddexp": "logaddexp",
}
