"""Runs kernels in plain Python on NumPy's scalars: what a kernel means, whatever language it is written in.

Elements are computed one by one, and lines one after the other, in the order of the array. That is slow: it is for
tests, beside the text that a target writes and the library that it is written for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import count
from math import prod
from typing import Any

import numpy as np

from xla2py.templates.prelude.keys import random_bits_at
from xla2py.tests.kernels.scalars import quotient_of, scalar_of
from xla2py.transpile.array.node import Node, Region
from xla2py.transpile.array.program import Branch, Loop, tree_nodes
from xla2py.transpile.array.traversal import topological
from xla2py.transpile.kernels.index_maps import Offset
from xla2py.transpile.kernels.kernel import Kernel
from xla2py.transpile.kernels.lines import Lines
from xla2py.transpile.kernels.operations import RUNNING, is_backwards, kernel_operation, start_value
from xla2py.transpile.kernels.scalars import SCALARS

Array = np.ndarray[Any, np.dtype[Any]]
Values = dict[Node, Any]


def element_of(lines: Lines, line: int, along: int) -> int:
    """Return the offset, in the array, of element ``along`` of a line."""
    places = ((along if part.is_reduced else line, part) for part in lines.stretches)
    return sum(number // part.behind % part.size * part.stride for number, part in places)


def _is_of_any_shape(kernel: Kernel) -> bool:
    """Return whether no element depends on its position: the kernel may run on arrays of another shape."""
    asks = {"at", "places", "tests"}
    nodes = topological(tree_nodes(kernel.function.results))
    return kernel.lines is None and not kernel.whole and all(asks.isdisjoint(node.parameters) for node in nodes)


class Interpreter:
    """One kernel on arrays in the order of its parameters, of their shapes, or of another where that is no matter.

    Raises IndexError where a kernel reads beside an array, and ValueError for an array of another shape.
    """

    def __init__(self, kernel: Kernel, arrays: Sequence[Any]) -> None:
        self.kernel = kernel
        self.arrays: dict[Node, Array] = {}
        self.loop, self.shapes = kernel.loop, kernel.shapes
        given = {parameter: np.asarray(x) for parameter, x in zip(kernel.function.parameters, arrays, strict=True)}
        if _is_of_any_shape(kernel):
            self.loop = next((given[parameter].shape for parameter in given if parameter.shape), self.loop)
            self.shapes = [self.loop] * len(self.shapes)
        for parameter, array in given.items():
            wanted = self.loop if parameter.shape == kernel.loop else parameter.shape
            if array.shape != wanted:
                raise ValueError(f"{parameter!r} is of {wanted}, not {array.shape}")
            self.arrays[parameter] = array.reshape(-1)
        self.nodes: dict[Region, list[Node]] = {}
        for node in topological(tree_nodes(kernel.function.results)):
            self.nodes.setdefault(node.region, []).append(node)
        self.results = tree_nodes(kernel.function.results)

    def run(self) -> list[Array]:
        """The results, in the shapes in which the kernel stores them."""
        return [array for array, _ in self.some(range(self.count))]

    @property
    def count(self) -> int:
        """The number of lines, or of elements of a kernel without lines."""
        return self.kernel.lines.count if self.kernel.lines is not None else prod(self.loop)

    def some(self, numbers: Iterable[int]) -> list[tuple[Array, Array]]:
        """The results, and for each which of its elements are there, for some of the lines or elements; sums are of
        all elements."""
        if self.kernel.rows is not None:
            with np.errstate(all="ignore"):
                sums = self._sums()
            return [(sums, np.ones_like(sums, np.bool_))]
        made = [
            (np.zeros(prod(shape), node.type.dtype), np.zeros(prod(shape), np.bool_))
            for node, shape in zip(self.results, self.shapes, strict=True)
        ]
        with np.errstate(all="ignore"):
            for number in numbers:
                written = self._element(number) if self.kernel.lines is None else self._line(number)
                for (array, is_there), places in zip(made, written, strict=True):
                    for place, value in places:
                        array[place], is_there[place] = value, True
        return [
            (array.reshape(shape), is_there.reshape(shape))
            for (array, is_there), shape in zip(made, self.shapes, strict=True)
        ]

    def _element(self, at: int) -> list[list[tuple[int, Any]]]:
        values: Values = {}
        self._compute(self.kernel.function.graph.root, at, values)
        return [[(at, values[node])] for node in self.results]

    def _sums(self) -> Array:
        """The table to whose rows the rows of the result are added."""
        (result,), (shape,), rows = self.results, self.shapes, self.kernel.rows
        assert rows is not None
        width = prod(shape[1:])
        table = np.zeros((shape[0], width), result.type.dtype)
        for at in range(self.count):
            (((_, value),),) = self._element(at)
            row, column = int(self.arrays[rows][at // width]), at % width
            if 0 <= row < shape[0]:
                table[row, column] += value
        return table.reshape(shape)

    def _line(self, line: int) -> list[list[tuple[int, Any]]]:
        """All elements of a line together, operation by operation: a reduction needs every one."""
        kernel, lines = self.kernel, self.kernel.lines
        assert lines is not None
        places = [element_of(lines, line, along) for along in range(lines.length)]
        values: list[Values] = [{} for _ in places]
        length = -(-len(places) // kernel.parts)
        parts = [values[start : start + length] for start in range(0, len(places), length)]
        parts += [[] for _ in range(kernel.parts - len(parts))]  # short of elements: the last ones have none
        folded: dict[Node, list[Any]] = {}  # what each part gives
        for node in self.nodes[kernel.function.graph.root]:
            if node in kernel.reductions:
                folded[node] = [self._folded(node, part) for part in parts]
                for own in values:
                    own[node] = folded[node][0]
            elif node.opcode in RUNNING:
                ordered = values[::-1] if is_backwards(node) else values
                for number, own in enumerate(ordered, 1):
                    own[node] = self._folded(node, ordered[:number])
            else:
                for at, own in zip(places, values, strict=True):
                    own[node] = self._value(node, at, own)
        return [
            [(at, own[node]) for at, own in zip(places, values, strict=True)]
            if node not in kernel.of_lines
            else [
                (line * kernel.parts + part, value)
                for part, value in enumerate(folded[node] if kernel.parts > 1 else [values[0][node]])
            ]
            for node in self.results
        ]

    def _folded(self, node: Node, part: list[Values]) -> Any:
        row, (x, *bounds) = kernel_operation(node), node.operands
        assert row is not None
        part = part[slice(*(int(part[0][bound]) for bound in bounds))] if bounds else part
        fold, numbers = SCALARS[row.folds], [own[x] for own in part]
        start = [start_value(node.opcode, node.type)[()]] if bounds or node.opcode in ("sum", "prod") else []
        return reduce(lambda a, b: node.type.dtype.type(fold(a, b)), [*start, *numbers])

    def _compute(self, region: Region, at: int, values: Values) -> None:
        for node in self.nodes.get(region, ()):
            if node not in values:
                values[node] = self._value(node, at, values)

    def _value(self, node: Node, at: int, values: Values) -> Any:
        rule = _RULES.get(node.opcode)
        if rule is not None:
            return rule(self, node, at, values)
        return scalar_of(node, [values[operand] for operand in node.operands])

    # -- operations about the loop

    def _parameter(self, node: Node, at: int, values: Values) -> Any:
        if node not in self.arrays or node in self.kernel.whole:
            return values.get(node)
        return self.arrays[node][at if node.shape == self.kernel.loop else 0]

    def _literal(self, node: Node, at: int, values: Values) -> Any:
        return node.parameters["constant"].array[()]

    def _read(self, node: Node, at: int, values: Values) -> Any:
        array, place = self.arrays[node.operands[0]], place_of(node.parameters["at"], at)
        if not 0 <= place < len(array):
            raise IndexError(f"{node!r} reads place {place} of {len(array)}")
        return array[place]

    def _draw(self, node: Node, at: int, values: Values) -> Any:
        place = np.asarray(place_of(node.parameters["at"], at), np.uint64)
        return random_bits_at(self.arrays[node.operands[0]], place)

    def _gather(self, node: Node, at: int, values: Values) -> Any:
        array, *indices = node.operands
        if node.opcode == "guarded_gather":
            which, fill, *indices = indices
            if not values[which]:
                return values[fill]
        place = place_of(node.parameters["at"], at)
        place += sum(int(values[i]) * stride for i, stride in zip(indices, node.parameters["strides"], strict=True))
        if not 0 <= place < len(self.arrays[array]):
            raise IndexError(f"{node!r} reads place {place} of {len(self.arrays[array])}")
        return self.arrays[array][place]

    def _index(self, node: Node, at: int, values: Values) -> Any:
        row, *column = (place_of(offset, at) for offset in node.parameters["places"])
        if node.opcode == "arange":
            return node.type.dtype.type(row)
        behind = column[0] - node.parameters["diagonal"]
        return node.type.dtype.type(behind <= row if node.opcode == "tri" else behind == row)

    def _quotient(self, node: Node, at: int, values: Values) -> Any:
        return quotient_of(node, values[node.operands[0]])

    def _conditional(self, node: Node, at: int, values: Values) -> Any:
        branches: tuple[Branch, ...] = node.parameters["branches"]
        tests = node.parameters["tests"]
        chosen = next(
            (
                branch
                for branch, test in zip(branches, tests, strict=False)
                if all(each.bound.start <= place_of(each.place, at) < each.bound.stop for each in test)
            ),
            branches[-1],
        )
        inside = dict(values)  # what a branch computes is known in it alone
        self._compute(chosen.region, at, inside)
        return inside[chosen.results[0]]

    def _loop(self, node: Node, at: int, values: Values) -> Any:
        loop: Loop = node.parameters["loop"]
        carried = [values[carry.initial] for carry in loop.carries]
        rounds = range(loop.start, loop.stop, loop.step) if loop.counter is not None else count()
        for counter in rounds:
            inside = dict(values)
            inside |= {carry.parameter: value for carry, value in zip(loop.carries, carried, strict=True)}
            if loop.counter is not None:
                inside[loop.counter] = counter
            self._compute(loop.region, at, inside)
            if loop.condition is not None and not inside[loop.condition]:
                break
            carried = [inside[carry.following] for carry in loop.carries if carry.following is not None]
        return carried

    def _item(self, node: Node, at: int, values: Values) -> Any:
        return values[node.operands[0]][node.parameters["index"]]


def place_of(offset: Offset, at: int) -> int:
    """The place in an array that an element of the loop asks for."""
    parts = ((at // term.divisor, term) for term in offset.terms)
    return offset.start + sum(
        (part if term.modulus is None else part % term.modulus) * term.factor for part, term in parts
    )


_RULES = {
    "parameter": Interpreter._parameter,
    "literal": Interpreter._literal,
    "read": Interpreter._read,
    "draw": Interpreter._draw,
    **dict.fromkeys(("gather", "guarded_gather"), Interpreter._gather),
    **dict.fromkeys(("arange", "tri", "eye"), Interpreter._index),
    **dict.fromkeys(("mean", "var", "std"), Interpreter._quotient),
    "conditional": Interpreter._conditional,
    "loop": Interpreter._loop,
    "item": Interpreter._item,
}
