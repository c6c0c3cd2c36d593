"""Writes ``main`` of a program in chunks: the node that replaces each array, and the block functions that it calls."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

from ....transpile.array.graph import Graph
from ....transpile.array.node import Node, Region, Slot
from ....transpile.array.program import Function, Loop, roots
from ....transpile.array.structure import structure
from ....transpile.array.traversal import topological
from ....transpile.dataclass import dataclass
from ..planning.chunks import Chunks
from ..planning.nodes import is_argument

HELD_BYTES = 1 << 20  # at most, of an array that tasks share in memory


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a prelude function on lazy arrays.

    Its tasks read the first ``reads`` operands themselves if these are cut arguments of ``main``; if they
    ``take_files``, computed ones in files.
    """

    function: str
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    reads: int
    take_files: bool = False


class MainWriter:
    """Rewrites an entry function to ``main`` over chunks, a node at a time.

    ``made`` has the nodes of ``main`` that replace nodes. ``kept`` are the arrays that several levels of phases need,
    and ``in_pieces`` those of which tasks take a few rows at a time.
    """

    def __init__(
        self, function: Function, chunks: Chunks, kept: frozenset[Node], in_pieces: frozenset[Node] = frozenset()
    ) -> None:
        self.function, self.graph = function, function.graph
        self.chunks, self.kept, self.in_pieces = chunks, kept, in_pieces
        self.made: dict[Node, Node] = {}
        self.block_functions: dict[Hashable, Function] = {}  # by the key of equivalence_key

    @contextmanager
    def at(self, region: Region, origin: Node | None = None) -> Iterator[Graph]:
        """Enter the graph of ``main`` for new nodes in a region, with the origin of another node."""
        instruction = self.graph.origins.get(origin) if origin is not None else None
        with self.graph.inside(region), self.graph.coming_from(instruction):
            yield self.graph

    def note(self, node: Node, made: Node) -> None:
        """Record that ``main`` has another node in place of this one."""
        self.graph.record_replacement(node, made)
        self.made[node] = made

    def is_read(self, node: Node) -> bool:
        """Return whether a node is an argument that is read in chunks."""
        return is_argument(node) and self.chunks.is_cut(node)

    def given(self, node: Node, region: Region, way: str = "read") -> Node:
        """Return the node of ``main`` that replaces a node, as an operand.

        An argument that is cut is read anew wherever it is needed (``way`` is ``read``), or by the tasks that need it
        (``pieces``). Large computed arrays are stored in files for tasks that take one block after the other
        (``in_files``), or if later phases need them and tasks can read files.
        """
        made = self.made.get(node, node)
        if made is node:
            if not self.is_read(node):
                return node
            with self.at(region) as graph:
                return graph.typed("read", (node,), node.shape, node.element_type, pinned=True, way=way)
        to_file = way == "in_files" or (way == "pieces" and node in self.kept)
        if not to_file or not self.chunks.is_cut(node) or not self._is_large(node):
            return made
        with self.at(region) as graph:
            return graph.typed(
                "prelude", (made,), node.shape, node.element_type,
                function="in_files", arguments=(Slot(0),), keywords={},
            )  # fmt: skip

    def _is_large(self, node: Node) -> bool:
        return prod(self.chunks.classes.planned_shape(node)) * node.type.dtype.itemsize > HELD_BYTES

    def block_function(self, function: Function) -> Function:
        """Return a block function, or an earlier one that computes the same."""
        return self.block_functions.setdefault(equivalence_key(function), function)

    def call(self, node: Node, call: Call) -> None:
        """Replace a node by a call of a prelude function."""
        operands = tuple(
            x
            if k < call.reads and self.is_read(x)
            else self.given(x, node.region, "in_files" if k < call.reads and call.take_files else "read")
            for k, x in enumerate(node.operands)
        )
        with self.at(node.region, node) as graph:
            made = graph.typed(
                "prelude", operands, node.shape, node.element_type, results=node.results, pinned=True,
                function=call.function, arguments=call.arguments, keywords=call.keywords, stands_for=node,
            )  # fmt: skip
        self.note(node, made)

    def rewrite(self, node: Node) -> None:
        """Keep a node, with the replacements of its operands and of the nodes that its bodies read."""
        if node.opcode == "parameter" or (node.opcode == "item" and is_argument(node)):
            return
        operands = tuple(self.given(operand, node.region) for operand in node.operands)
        parameters = dict(node.parameters)
        if "after" in parameters:
            parameters["after"] = self.made.get(parameters["after"], parameters["after"])
        if node.opcode == "loop":
            self._update_loop(parameters["loop"], operands)
        for branch in parameters.get("branches", ()):
            branch.results = [self.given(result, branch.region) for result in branch.results]
            branch.effect = self._effect(branch.effect)
        if (node.operation.is_source or node.opcode == "broadcast_to") and self.chunks.is_cut(node):
            parameters["chunks"] = self.chunks.block_shape(node)
        elif operands == node.operands and parameters == node.parameters:
            return
        with self.at(node.region, node) as graph:
            made = graph.typed(
                node.opcode, operands, node.shape, node.element_type, python_int=node.is_python_int,
                interval=node.interval, results=node.results,
                pinned=bool(node.results) or node.stands_alone, **parameters,
            )  # fmt: skip
        self.note(node, made)

    def _update_loop(self, loop: Loop, initials: tuple[Node, ...]) -> None:
        for carry, initial in zip(loop.carries, initials, strict=True):
            carry.initial = initial
            if carry.following is not None:
                carry.following = self.given(carry.following, loop.region)
        for store in loop.stores:
            store.value = self.given(store.value, loop.region)
            store.indices = tuple(self.made.get(index, index) for index in store.indices)
        if loop.condition is not None:
            loop.condition = self.made.get(loop.condition, loop.condition)
        if loop.bounds is not None:
            start, stop = loop.bounds
            loop.bounds = self.made.get(start, start), self.made.get(stop, stop)
        loop.effect = self._effect(loop.effect)

    def _effect(self, last: Node | None) -> Node | None:
        """Return the replacement of the last side effect of a body."""
        return self.made.get(last, last) if last is not None else None

    def finish(self) -> None:
        """Replace the results of ``main``."""
        self.function.results = self._mapped(self.function.results)
        self.function.effect = self._effect(self.function.effect)

    def _mapped(self, tree: object) -> object:
        if isinstance(tree, tuple):
            return tuple(self._mapped(part) for part in tree)
        return self.given(tree, self.graph.root) if isinstance(tree, Node) else tree


# -- block functions that do the same


def equivalence_key(function: Function) -> Hashable:
    """Return a key that is equal for functions that compute the same from arguments of the same types; the function
    itself if that is unknown.

    For products, the key does not depend on sizes, since they are written alike for all.
    """
    parameters = {*function.parameters}
    nodes = [node for node in topological(roots(function)) if node not in parameters]
    if any(node.stands_alone for node in nodes):
        return function
    any_size = all(node.operation.is_product for node in nodes)

    def form(node: Node) -> Hashable:
        shape = tuple(min(size, 2) for size in node.shape) if any_size else node.shape
        return shape, node.element_type, node.is_python_int, node.interval, node.results

    return structure(function, form), function.note
