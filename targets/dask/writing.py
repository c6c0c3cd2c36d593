"""A program for larger-than-memory arrays: ``main`` joins blocks, block functions compute them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import prod
from typing import Any

from ...transpile.array.graph import Graph
from ...transpile.array.node import Node, Region, Slot
from ...transpile.array.program import Function, Loop, Program
from ...transpile.hlo.element_types import PRED
from .alike import what_it_does
from .calls import CALLS
from .cuts import LEAVES, Cuts
from .groups import Group, Root, Tiles, in_one_chunk, is_plain_number, partial_shape, tiles
from .nodes import is_argument
from .phases import Phases
from .products import is_product
from .spelling import NAMES, Spelling, contracts, size_of_axis
from .stepping import steps_block
from .steps import start_of
from .tracing import Copier, Trace, with_leading_units

HELD_BYTES = 1 << 20  # of an array that tasks may share in memory


@dataclass(frozen=True, slots=True)
class _Call:
    """How a block function is applied to arrays."""

    function: Function
    indices: tuple[str | None, ...]
    by_rows: Tiles | None
    sums: bool  # what the blocks along an axis give
    joins: bool  # the blocks along an axis that it needs whole

    def parameters(self, index: str) -> dict[str, Any]:
        """Of a node with results of an index."""
        return {
            "function": self.function,
            "indices": self.indices,
            "tiles": self.by_rows,
            "sums": self.sums,
            "contracts": self.joins and contracts(index, self.indices),
        }


class Arrangement:
    """Makes ``main`` of an entry function whose cuts are known."""

    def __init__(self, program: Program, cuts: Cuts) -> None:
        self.program = program
        self.cuts = cuts
        self.function = program.entry
        self.graph = self.function.graph
        self.phases = Phases(self.function, cuts)
        self.made: dict[Node, Node] = {}
        self.blocks: dict[Hashable, Function] = {}  # by what they do

    def arranged(self) -> Program:
        """The program with ``main`` rewritten, and its block functions."""
        levels, is_computed = self.phases.levels, self.phases.is_computed
        position = {node: at for at, node in enumerate(self.cuts.classes.nodes)}
        steps: list[tuple[tuple[int, int], Node | Group]] = []
        for group in self.phases.groups():
            first = group.roots[0].node
            steps.append(((levels[first], position[first]), group))
        steps += [((levels[node], position[node]), node) for node in levels if not is_computed(node)]
        for _, step in sorted(steps, key=lambda step: step[0]):
            if isinstance(step, Group):
                self._write_group(step)
            else:
                self._write(step)
        self.function.results = self._mapped(self.function.results)
        if self.function.effect is not None:
            self.function.effect = self.made.get(self.function.effect, self.function.effect)
        self.graph.region, self.graph.instruction, self.graph.number = self.graph.root, None, None
        return Program(self.program.module, [*self.program.functions[:-1], *self.blocks.values(), self.function])

    # -- block functions

    def _write_group(self, group: Group) -> None:
        trace = self.phases.traced(group)
        roots = group.roots
        nodes = tuple(root.node for root in roots)
        block = Function(self.function.computation, Graph(), block_of=nodes, origin=self.graph)
        copier = Copier(trace, block, self.graph)
        copier.copy()
        results = [self._result(root, trace, copier) for root in roots]
        block.results = results[0] if len(results) == 1 else tuple(results)
        block.sources = tuple(source.node for source in trace.sources.values())
        block.note = in_one_chunk(trace, self.cuts)
        block = self.blocks.setdefault(what_it_does(block), block)
        self._call(group, roots, trace, block)

    def _result(self, root: Root, trace: Trace, copier: Copier) -> Node:
        """The last steps of a block function: its part of a sum."""
        graph, node = copier.graph, root.node
        form = self.cuts.forms[node]
        if form == "block":
            return copier.made[node, tuple(letter.of for letter in root.letters)]
        graph.region, graph.instruction = graph.root, self.graph.origins.get(node)
        operands = tuple(
            copier.made[operand, tuple(letter.of for letter in letters)]
            for operand, letters in self.phases.operands(root, trace)
        )
        if form == "tree":
            opcode = "sum" if node.opcode == "mean" else node.opcode
            shape = tuple(1 if axis in root.summed else n for axis, n in enumerate(operands[0].shape))
            return graph.typed(opcode, operands, shape, node.element_type, **{**node.parameters, "keepdims": True})
        product = graph.typed(node.opcode, operands, node.shape, node.element_type, **node.parameters)
        return with_leading_units(graph, product, len(root.letters) - node.ndim)

    # -- main

    def _call(self, group: Group, roots: list[Root], trace: Trace, block: Function) -> None:
        """The node that applies a block function, and what is left to do with its results."""
        spelling = Spelling()
        cut = [letter for letter in roots[0].letters if letter.of is not None]
        spelling.text(roots[0].letters if len(roots) == 1 else cut)
        sources = list(trace.sources.values())
        given = [source for source in sources if not is_plain_number(source.node)]
        spelling.sizes_only = len({letter for source in given for letter in source.letters}) > len(NAMES) - 10
        indices = tuple(
            None if is_plain_number(s.node) else spelling.of_source(s.letters, s.node.shape) for s in sources
        )
        by_rows = tiles(group, trace, self.cuts)
        sums = self.cuts.forms[roots[0].node] == "product"
        itself = (sums or by_rows is not None) and not block.note
        is_recut = any(s.node.opcode == "reshape" and self.cuts.forms[s.node] == "native" for s in sources)
        way = "read" if is_recut or not itself else "in_files" if sums else "pieces"  # what is read can be cut again
        operands = tuple(self._given(source.node, group.region, way) for source in sources)
        known: dict[str, int] = {}
        for source, index in zip(sources, indices, strict=True):
            known.update(zip(index or "", source.node.shape, strict=False))
        self.graph.region = group.region
        call = _Call(block, indices, by_rows, sums, joins=not itself)
        if len(roots) == 1:
            self._finish(roots[0], self._block_node(roots[0], spelling, known, call, operands))
            return
        index = spelling.text(cut)
        self.graph.instruction = None
        parts = self.graph.typed(
            "blockwise", operands, (), PRED, pinned=True, index=index, new_axes={}, adjust={}, several=True,
            **call.parameters(index),
        )  # fmt: skip
        for k, root in enumerate(roots):
            own = Spelling(dict(zip(cut, index, strict=True)))
            item = _Call(block, (index,), None, sums=False, joins=True)
            node = self._block_node(root, own, dict.fromkeys(index, 0), item, (parts,), item=k)
            self._finish(root, node)

    def _block_node(
        self,
        root: Root,
        spelling: Spelling,
        known: dict[str, int],
        call: _Call,
        operands: tuple[Node, ...],
        item: int | None = None,
    ) -> Node:
        node = root.node
        index = spelling.text(root.letters)
        summed = [index[axis] for axis in root.summed if axis < len(index)]
        if self.cuts.forms[node] == "partial":
            summed = list(index[: len(index) - node.ndim])
        shape = partial_shape(root, self.cuts)
        new_axes = {c: size_of_axis(node, shape, axis) for axis, c in enumerate(index) if c not in known}
        adjust = {c: 1 for c in summed if c not in new_axes}
        self.graph.instruction = self.graph.origins.get(node)
        return self.graph.typed(
            "blockwise" if item is None else "block_item", operands, shape, node.element_type, pinned=True,
            index=index, new_axes=new_axes, adjust=adjust, stands_for=node, item=item, several=False,
            is_part=self.cuts.forms[node] not in ("block", "product"), **call.parameters(index),
        )  # fmt: skip

    def _finish(self, root: Root, call: Node) -> None:
        """Combine the parts of a sum; the node that main has for the root."""
        node, made = root.node, call
        form = self.cuts.forms[node]
        if form not in ("block", "product"):
            opcode = "sum" if is_product(node) or node.opcode == "mean" else node.opcode
            axes = root.summed if form == "tree" else tuple(range(call.ndim - node.ndim))
            keepdims = bool(form == "tree" and node.parameters.get("keepdims"))
            made = self.graph.typed(
                "combine", (call,), node.shape, node.element_type, pinned=True, method=opcode, axes=axes,
                keepdims=keepdims, stands_for=node if node.opcode != "mean" else None,
            )  # fmt: skip
            if node.opcode == "mean":
                count = 1
                for axis in root.summed:
                    count *= node.operands[0].shape[axis]
                count_node = self.graph.literal(count, node.type)
                made = self.graph.typed("divide", (made, count_node), node.shape, node.type, stands_for=node)
        if node in self.graph.results:
            self.graph.results.setdefault(made, self.graph.results[node])
        self.made[node] = made

    def _given(self, node: Node, region: Region, way: str = "read") -> Node:
        """What main has for a node. An argument that is cut is read anew wherever it is needed (``read``), or by the
        tasks that need it (``pieces``); so are large arrays that are computed where they are needed by tasks that take
        one block after the other (``in_files``), or kept for later phases while tasks can read files."""
        made, is_cut = self.made.get(node, node), self.cuts.is_cut(node)
        if made is node and not (is_argument(node) and is_cut):
            return node
        self.graph.region, self.graph.instruction = region, None
        if made is node:
            return self.graph.typed("read", (node,), node.shape, node.element_type, pinned=True, way=way)
        to_file = way == "in_files" or (way == "pieces" and node in self.phases.kept)
        if to_file and is_cut and prod(node.shape) * node.type.dtype.itemsize > HELD_BYTES:
            return self.graph.typed(
                "prelude", (made,), node.shape, node.element_type,
                function="in_files", arguments=(Slot(0),), keywords={},
            )  # fmt: skip
        return made

    def _write(self, node: Node) -> None:
        """A node that main keeps, over what main has for its operands."""
        if node.opcode == "parameter" or (node.opcode == "item" and is_argument(node)):
            return
        if self.cuts.forms[node] in CALLS:
            self._write_call(node)
            return
        if self.cuts.forms[node] == "steps":
            self._write_steps(node)
            return
        if node.opcode == "item" and self.cuts.forms[node.operands[0]] == "steps":
            return  # written with its loop
        operands = tuple(self._given(operand, node.region) for operand in node.operands)
        parameters = dict(node.parameters)
        if "after" in parameters:
            parameters["after"] = self.made.get(parameters["after"], parameters["after"])
        if node.opcode == "loop":
            self._update_loop(parameters["loop"], operands)
        for branch in parameters.get("branches", ()):
            branch.results = [self._given(result, branch.region) for result in branch.results]
        if node.opcode in LEAVES | {"broadcast_to"} and node.opcode != "parameter" and self.cuts.is_cut(node):
            parameters["chunks"] = self.cuts.block_shape(node)
        elif operands == node.operands and parameters == node.parameters:
            return
        self.graph.region, self.graph.instruction = node.region, self.graph.origins.get(node)
        made = self.graph.typed(
            node.opcode, operands, node.shape, node.element_type, python_int=node.is_python_int,
            interval=node.interval, results=node.results,
            pinned=bool(node.results) or node.stands_alone, **parameters,
        )  # fmt: skip
        if node in self.graph.results:
            self.graph.results.setdefault(made, self.graph.results[node])
        self.made[node] = made

    def _write_call(self, node: Node) -> None:
        """The function of lazy arrays that does what a node does."""
        call = CALLS[self.cuts.forms[node]](node, self.cuts)
        operands = tuple(
            x
            if k < call.reads and is_argument(x) and self.cuts.is_cut(x)
            else self._given(x, node.region, "in_files" if k < call.reads and call.take_files else "read")
            for k, x in enumerate(node.operands)
        )
        self.graph.region, self.graph.instruction = node.region, self.graph.origins.get(node)
        made = self.graph.typed(
            "prelude", operands, node.shape, node.element_type, results=node.results, pinned=True,
            function=call.function, arguments=call.arguments, keywords=call.keywords, stands_for=node,
        )  # fmt: skip
        if node in self.graph.results:
            self.graph.results.setdefault(made, self.graph.results[node])
        self.made[node] = made

    def _write_steps(self, node: Node) -> None:
        """A loop of which a task does a chunk: the block function, and the call that goes on from chunk to chunk."""
        steps = self.cuts.classes.steps[node]
        block = steps_block(node, self.phases, self.function.computation, self.graph)
        self.blocks[node] = block.function
        operands = [
            *(self._given(start_of(carry), node.region) for carry in steps.carried),
            *(self._in_steps(source.node) for source in block.rows),
            *(self._given(source.node, node.region) for source in block.whole),
        ]
        self.graph.region, self.graph.instruction = node.region, self.graph.origins.get(node)
        for p in (carry.parameter for carry in steps.written):
            chunks = self.cuts.block_shape(p)
            operands.append(self.graph.typed("empty", (), p.shape, p.element_type, pinned=True, chunks=chunks))
        ordered = [*steps.carried, *steps.written]
        types = tuple((carry.parameter.shape, carry.parameter.element_type) for carry in ordered)
        several = len(types) > 1
        shape, element_type = ((), None) if several else types[0]
        made = self.graph.typed(
            "prelude", tuple(operands), shape, element_type, results=types if several else (), pinned=True,
            function="in_steps", arguments=(block.function,), keywords=block.keywords(steps), stands_for=node,
            carry=ordered[0],
        )  # fmt: skip
        for k, carry in enumerate(steps.loop.carries):
            for item in self.cuts.classes.items(node, k):
                self.graph.instruction = self.graph.origins.get(item)
                part = self.graph.typed(
                    "item", (made,), item.shape, item.element_type, interval=item.interval,
                    index=ordered.index(carry), carry=carry,
                    begins=ordered.index(carry) + (len(block.rows) + len(block.whole)) * (carry in steps.written),
                ) if several else made  # fmt: skip
                if item in self.graph.results:
                    self.graph.results.setdefault(part, self.graph.results[item])
                self.made[item] = part

    def _in_steps(self, node: Node) -> Node:
        """What tasks read themselves as they come to it."""
        return node if is_argument(node) and self.cuts.is_cut(node) else self._given(node, node.region)

    def _update_loop(self, loop: Loop, initials: tuple[Node, ...]) -> None:
        for carry, initial in zip(loop.carries, initials, strict=True):
            carry.initial = initial
            if carry.following is not None:
                carry.following = self._given(carry.following, loop.region)
        for store in loop.stores:
            store.value = self._given(store.value, loop.region)
            store.indices = tuple(self.made.get(index, index) for index in store.indices)
        if loop.condition is not None:
            loop.condition = self.made.get(loop.condition, loop.condition)

    def _mapped(self, tree: object) -> object:
        if isinstance(tree, tuple):
            return tuple(self._mapped(part) for part in tree)
        return self._given(tree, self.graph.root) if isinstance(tree, Node) else tree
