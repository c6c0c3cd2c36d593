"""The array dialect as text for people to read: ``%2 = f32[4,8] add(%0, %1)``.

Values are numbered in the order in which they are printed, so equal functions give equal texts whatever passes ran
before. Constants are printed at their uses. Bodies of loops and branches are indented below their node, with their
carried values, stores into stacked outputs and results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..hlo.element_types import ElementType
from .node import Constant, ForeignName, HostName, Node, PreludeName, Region, Slot, Ufunc, literal_value
from .program import Branch, Function, Loop, Program, Tree, roots
from .traversal import topological

_CALLS = frozenset(("prelude", "library", "call"))
_SHOWN_OTHERWISE = frozenset("function arguments keywords loop branches effect after".split())  # parameters of nodes
_LARGEST_PRINTED = 8  # elements of a constant array


def print_program(program: Program) -> str:
    """Return the text of all functions of a program, callees first."""
    return "\n".join(print_function(function) for function in program.functions)


def print_function(function: Function) -> str:
    """Return the text of one function: its parameters, one line per node, its results."""
    return "\n".join(_Printer(function).lines) + "\n"


class _Printer:
    def __init__(self, function: Function) -> None:
        self.lines: list[str] = []
        self.names: dict[Node, str] = {}
        self.members: dict[Region, list[Node]] = {}
        for node in topological(roots(function)):
            self.members.setdefault(node.region, []).append(node)
        parameters = ", ".join(f"{self.name(node)}: {type_text(node)}" for node in function.parameters)
        self.line(0, f"function {function.name}({parameters})")
        self.region(1, function.graph.root)
        self.line(1, f"return {self.tree(function.results)}")

    def line(self, indent: int, text: str) -> None:
        self.lines.append("  " * indent + text)

    def name(self, node: Node) -> str:
        """Return ``%3``, numbered by first appearance, or the text of a constant."""
        if node.opcode == "literal":
            return f"{node.element_type} {literal_value(node)[()]!s}"
        if node.opcode == "integer":
            return str(node.parameters["value"])
        return self.names.setdefault(node, f"%{len(self.names)}")

    def several(self, nodes: Iterable[Node]) -> str:
        return ", ".join(self.name(node) for node in nodes)

    def tree(self, tree: Tree) -> str:
        if isinstance(tree, tuple | list):
            return f"({', '.join(self.tree(part) for part in tree)})"
        return "token" if tree is None else self.name(tree)

    def region(self, indent: int, region: Region, condition: Node | None = None) -> None:
        """Add the lines of a region's nodes; the nodes of a loop's condition come first."""
        first = set(topological([condition])) if condition is not None else set()
        members = [
            node for node in self.members.get(region, []) if not node.operation.is_atom or node.opcode == "retype"
        ]
        for node in members:
            if node in first:
                self.node(indent, node)
        if condition is not None:
            self.line(indent, f"while {self.name(condition)}")
        for node in members:
            if node not in first:
                self.node(indent, node)

    def node(self, indent: int, node: Node) -> None:
        called = f"{node.opcode} {self.called(node)}" if node.opcode in _CALLS else node.opcode
        inside = ", ".join(self.arguments(node))
        bounds = f"  in {node.interval[0]}..{node.interval[1]}" if node.interval is not None else ""
        self.line(indent, f"{self.name(node)} = {type_text(node)} {called}({inside}){bounds}")
        if node.opcode == "loop":
            self.loop(indent + 1, node.parameters["loop"])
        for number, branch in enumerate(node.parameters.get("branches", ())):
            self.branch(indent + 1, number, branch)

    def called(self, node: Node) -> str:
        return self.setting(node.parameters["function"])

    def arguments(self, node: Node) -> Iterator[str]:
        """Yield the texts of the operands, then of the parameters; for a call by name, its arguments in order."""
        operands = [self.name(operand) for operand in node.operands]
        if node.opcode in ("prelude", "library"):
            for argument in node.parameters["arguments"]:
                yield self.setting(argument, operands)
            for key, value in node.parameters["keywords"].items():
                yield f"{key}={self.setting(value, operands)}"
        else:
            yield from operands
        for key, value in sorted(node.parameters.items()):
            if key == "index" and isinstance(value, tuple):
                yield f"index=[{self.index(value, operands)}]"
            elif key not in _SHOWN_OTHERWISE:
                yield f"{key}={self.setting(value)}"
        after = node.parameters.get("after")
        if after is not None:
            yield f"after {self.name(after)}"

    def loop(self, indent: int, loop: Loop) -> None:
        if loop.counter is not None:
            start, stop = map(self.name, loop.bounds) if loop.bounds is not None else (loop.start, loop.stop)
            self.line(indent, f"for {self.name(loop.counter)} in range({start}, {stop}, {loop.step})")
        for carry in loop.carries:
            parameter = carry.parameter
            initial = self.name(carry.initial)
            self.line(indent, f"carry {self.name(parameter)}: {type_text(parameter)} = {initial}")
        self.region(indent, loop.region, loop.condition)
        for store in loop.stores:
            index = self.index(store.index, ["", "", *(self.name(node) for node in store.indices)])
            self.line(indent, f"store {self.name(store.carry.parameter)}[{index}] = {self.name(store.value)}")
        for carry in loop.carries:
            if carry.following is not None:
                self.line(indent, f"next {self.name(carry.parameter)} = {self.name(carry.following)}")

    def branch(self, indent: int, number: int, branch: Branch) -> None:
        self.line(indent, f"branch {number}")
        self.region(indent + 1, branch.region)
        self.line(indent + 1, f"give {self.several(branch.results)}".rstrip())

    def index(self, index: tuple[Any, ...], operands: Sequence[str]) -> str:
        """Return the text between the brackets of an index."""
        return ", ".join(self.index_item(item, operands) for item in index)

    def index_item(self, item: Any, operands: Sequence[str]) -> str:
        if not isinstance(item, tuple):
            return self.setting(item, operands)
        if isinstance(item[0], Slot):
            start = self.setting(item[0], operands)
            return f"{start}:{start} + {item[1]}"
        start, stop, step = ("" if part is None else str(part) for part in item)
        return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"

    def setting(self, value: Any, operands: Sequence[str] = ()) -> str:
        """Return the text of a node's parameter, or of an argument that may refer to its operands."""
        if isinstance(value, tuple | list):
            return f"({', '.join(self.setting(part, operands) for part in value)})"
        if isinstance(value, Constant):
            return _constant_text(value)
        if isinstance(value, Slot):
            return operands[value.index]
        if isinstance(value, Ufunc):
            return value.opcode
        if isinstance(value, HostName | PreludeName | Function):
            return value.name
        if isinstance(value, ForeignName):
            return f"{value.module}:{value.name}"
        return str(value) if isinstance(value, str | ElementType) else repr(value)


def type_text(node: Node) -> str:
    """Return ``f32[4,8]``, ``int`` for a Python int, ``(f32[2], s32[])`` for several results, ``token`` for none."""
    if node.is_python_int:
        return "int"
    if node.results:
        return f"({', '.join(_array_text(element_type, shape) for shape, element_type in node.results)})"
    if node.element_type is None:
        return "tuple" if "count" in node.parameters else "token"
    return _array_text(node.element_type, node.shape)


def _array_text(element_type: ElementType, shape: tuple[int, ...]) -> str:
    return f"{element_type}[{','.join(map(str, shape))}]"


def _constant_text(constant: Constant) -> str:
    array = constant.array
    return str(array.tolist()) if array.size <= _LARGEST_PRINTED else f"{array.size} elements"
