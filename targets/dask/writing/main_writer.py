"""Writes ``main`` of a program in chunks: what it has for each array, and the block functions that it calls."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

from ....transpile.array.graph import Graph, frozen
from ....transpile.array.node import Node, Region, Slot
from ....transpile.array.program import Function, Loop, roots
from ....transpile.array.traversal import topological
from ....transpile.dataclass import dataclass
from ..planning.chunks import Chunks
from ..planning.nodes import is_argument

HELD_BYTES = 1 << 20  # of an array that tasks may share in memory


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the prelude that takes and gives lazy arrays, with its arguments and keywords.

    Its tasks read so many of the first operands themselves as ``reads`` says, if these are arguments of ``main`` that
    come in several chunks; if they ``take_files``, others in files.
    """

    function: str
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    reads: int
    take_files: bool = False


class MainWriter:
    """Rewrites an entry function to ``main`` over chunks, a node at a time.

    ``made`` has what ``main`` has for a node, if it is another one, and ``kept`` are the arrays that are needed by
    several levels of phases, and ``in_pieces`` those of which tasks take a few rows at a time.
    """

    def __init__(
        self, function: Function, chunks: Chunks, kept: frozenset[Node], in_pieces: frozenset[Node] = frozenset()
    ) -> None:
        self.function, self.graph = function, function.graph
        self.chunks, self.kept, self.in_pieces = chunks, kept, in_pieces
        self.made: dict[Node, Node] = {}
        self.block_functions: dict[Hashable, Function] = {}  # by what they do

    @contextmanager
    def at(self, region: Region, origin: Node | None = None) -> Iterator[Graph]:
        """The graph of ``main``, for new nodes in a region that come from where another came from."""
        instruction = self.graph.origins.get(origin) if origin is not None else None
        with self.graph.inside(region), self.graph.coming_from(instruction):
            yield self.graph

    def note(self, node: Node, made: Node) -> None:
        """Let ``main`` have another node in the place of this one from now on."""
        self.graph.stand_in(node, made)
        self.made[node] = made

    def is_read(self, node: Node) -> bool:
        """Tell whether a node is an argument that is read in chunks."""
        return is_argument(node) and self.chunks.is_cut(node)

    def given(self, node: Node, region: Region, way: str = "read") -> Node:
        """Return what ``main`` has for a node.

        An argument in several chunks is read anew wherever it is needed (``read``), or by the tasks that need it
        (``pieces``); so are large arrays that are computed where they are needed by tasks that take one block after
        the other (``in_files``), or kept for later phases while tasks can read files.
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
        """A block function, or one before it that does the same."""
        return self.block_functions.setdefault(what_it_does(function), function)

    def call(self, node: Node, call: Call) -> None:
        """Let a function of the prelude do what a node does."""
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
        """Keep a node, over what ``main`` has for its operands and for what its bodies need."""
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
        """Return what ``main`` has for the last side effect of a body."""
        return self.made.get(last, last) if last is not None else None

    def finish(self) -> None:
        """Let ``main`` return what it has for its results."""
        self.function.results = self._mapped(self.function.results)
        self.function.effect = self._effect(self.function.effect)

    def _mapped(self, tree: object) -> object:
        if isinstance(tree, tuple):
            return tuple(self._mapped(part) for part in tree)
        return self.given(tree, self.graph.root) if isinstance(tree, Node) else tree


# -- block functions that do the same


def what_it_does(function: Function) -> Hashable:
    """A key that functions share which compute the same from arguments of the same types; the function itself where
    that is not clear.

    A product is written the same way for all sizes.
    """
    parameters = {node: k for k, node in enumerate(function.parameters)}
    nodes = [node for node in topological(roots(function)) if node not in parameters]
    if any(node.stands_alone for node in nodes):
        return function
    any_size = all(node.operation.is_product for node in nodes)

    def form(node: Node) -> Hashable:
        shape = tuple(min(size, 2) for size in node.shape) if any_size else node.shape
        return shape, node.element_type, node.is_python_int, node.interval, node.results

    place = parameters | {node: len(parameters) + k for k, node in enumerate(nodes)}
    steps = [
        (node.opcode, tuple(place[x] for x in node.operands), frozen(node.parameters), form(node)) for node in nodes
    ]
    results = tuple(place[node] for node in roots(function))
    return tuple(map(form, parameters)), tuple(steps), results, function.note
