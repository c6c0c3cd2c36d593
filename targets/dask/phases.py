"""A program for larger-than-memory arrays: ``main`` joins blocks, block functions compute them.

Every array that ``main`` handles is computed from others by one block function; arrays that are ready at the same
time and cut alike share one, so that what they are computed from is read once. What is needed later is computed again
from ``main``'s arguments, which are read again rather than held.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

from ...transpile.array.node import Graph, Node, PreludeName, Region, Slot
from ...transpile.array.program import Function, Loop, Program, tree_nodes
from ...transpile.array.scalars import is_known_on_host
from ...transpile.array.traversal import nested_roots
from ...transpile.hlo.element_types import PRED
from .along import form_in_chunks
from .cuts import LEAVES, ON_ARRAYS, Cuts, is_argument, shape_of, window_axis
from .groups import Group, Root, Tiles, in_one_chunk, is_plain_number, partial_shape, tiles
from .links import contracted
from .products import PRODUCTS
from .spelling import NAMES, Spelling, contracts, size_of_axis
from .tracing import Copier, Letter, Letters, Trace, with_leading_units
from .windows import windows_of

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
        self.needs: dict[Node, list[Node]] = {}  # for each array of main: those it needs
        self.made: dict[Node, Node] = {}
        self.blocks: list[Function] = []

    def arranged(self) -> Program:
        """The program with ``main`` rewritten, and its block functions."""
        levels = self.levels()
        position = {node: at for at, node in enumerate(self.cuts.classes.nodes)}
        groups = self.groups(levels)
        steps: list[tuple[tuple[int, int], Node | Group]] = []
        for group in groups:
            first = group.roots[0].node
            steps.append(((levels[first], position[first]), group))
        steps += [((levels[node], position[node]), node) for node in self.needs if not self._is_computed(node)]
        for _, step in sorted(steps, key=lambda step: step[0]):
            if isinstance(step, Group):
                self._write_group(step)
            else:
                self._write(step)
        self.function.results = self._mapped(self.function.results)
        if self.function.effect is not None:
            self.function.effect = self.made.get(self.function.effect, self.function.effect)
        self.graph.region, self.graph.instruction, self.graph.number = self.graph.root, None, None
        return Program(self.program.module, [*self.program.functions[:-1], *self.blocks, self.function])

    # -- what main has to handle

    def _collect(self, wanted: Iterable[Node]) -> None:
        waiting = list(wanted)
        while waiting:
            node = waiting.pop()
            if node not in self.needs:
                self.needs[node] = self._needed(node)
                waiting += self.needs[node]

    def _needed(self, node: Node) -> list[Node]:
        """The arrays of main that an array of main is made from."""
        after = node.parameters.get("after")
        before = [after] if after is not None else []
        if not self._is_computed(node):
            return [*node.operands, *nested_roots(node), *before]
        trace = Trace(self.cuts, node.region)
        self._follow(trace, self._root(node, trace))
        return [source.node for source in trace.sources.values()]

    def _is_computed(self, node: Node) -> bool:
        """By a block function."""
        form = self.cuts.forms[node]
        if form in ("native", *ON_ARRAYS, "windows") or node.opcode in LEAVES:
            return False
        if node.opcode == "item":
            source = node.operands[0]
            return not (source.opcode in ("parameter", "item") or self.cuts.forms[source] in ON_ARRAYS)
        return not (node.is_python_int or is_known_on_host(node) or node.opcode == "integer")

    def levels(self) -> dict[Node, int]:
        """For each array of main, how many arrays of main it has to wait for, one after the other."""
        if not self.needs:
            effects = [self.function.effect] if self.function.effect is not None else []
            self._collect([*tree_nodes(self.function.results), *effects])
        levels: dict[Node, int] = {}
        for node in self.cuts.classes.nodes:
            if node in self.needs:
                levels[node] = max((levels[other] + 1 for other in self.needs[node]), default=0)
        return levels

    def groups(self, levels: dict[Node, int]) -> list[Group]:
        """What is ready at the same time and cut alike is computed together."""
        groups: dict[object, Group] = {}
        for node in self.cuts.classes.nodes:
            if node in self.needs and self._is_computed(node):
                root = self._root(node, Trace(self.cuts, node.region))
                key: object = (levels[node], node.region, frozenset(letter.of for letter in root.letters if letter.of))
                if self.cuts.forms[node] == "product":
                    key = node
                groups.setdefault(key, Group(node.region)).roots.append(root)
        return sorted(groups.values(), key=lambda group: levels[group.roots[0].node])

    def traced(self, group: Group) -> Trace:
        """What the roots of a group are computed from; they get their letters in it."""
        trace = Trace(self.cuts, group.region)
        group.roots = [self._root(root.node, trace) for root in group.roots]
        for root in group.roots:
            self._follow(trace, root)
        return trace

    # -- block functions

    def _root(self, node: Node, trace: Trace) -> Root:
        form = self.cuts.forms[node]
        if form == "tree":
            (operand,) = node.operands
            axes = tuple(node.parameters["axes"])
            letters = trace.own_letters(operand)
            return Root(node, letters, axes)
        if form == "partial":
            summed = dict.fromkeys(self._summed(node, trace).values())
            return Root(node, (*summed, *trace.own_letters(node)), (0,))
        return Root(node, trace.own_letters(node))

    def _summed(self, node: Node, trace: Trace) -> dict[tuple[int, int], Letter]:
        """The letters of the cut axes that a product sums over, by the place of the operand and its axis."""
        flags, classes = self.cuts.flags, self.cuts.classes
        first, second = node.operands
        counts = Counter(classes.of(node, axis) for axis, flag in enumerate(flags[node]) if flag)
        found: dict[tuple[int, int], Letter] = {}
        for left, right in contracted(node):
            if flags[first][left] or flags[second][right]:
                of = classes.of(first, left)
                found[0, left] = found[1, right] = trace.cut_letter(first, left, counts[of])
                counts[of] += 1
        return found

    def _operands(self, root: Root, trace: Trace) -> list[tuple[Node, Letters]]:
        """What the last sum or product of a block function is of."""
        node = root.node
        if self.cuts.forms[node] == "tree":
            return [(node.operands[0], root.letters)]
        summed, own = self._summed(node, trace), root.letters[len(root.letters) - node.ndim :]
        found = []
        for place, (operand, link) in enumerate(zip(node.operands, self.cuts.classes.links[node], strict=True)):
            letters = [summed.get((place, axis), Letter()) for axis in range(len(link))]
            for axis, target in enumerate(link):
                if target is not None and shape_of(operand)[axis] == node.shape[target]:
                    letters[axis] = own[target]
            found.append((operand, tuple(letters)))
        return found

    def _follow(self, trace: Trace, root: Root) -> None:
        if self.cuts.forms[root.node] == "block":
            trace.follow(root.node, root.letters)
            return
        for operand, letters in self._operands(root, trace):
            trace.follow(operand, letters, is_root=False)

    def _write_group(self, group: Group) -> None:
        trace = self.traced(group)
        roots = group.roots
        nodes = tuple(root.node for root in roots)
        block = Function(self.function.computation, Graph(), block_of=nodes, origin=self.graph)
        copier = Copier(trace, block, self.graph)
        copier.copy()
        results = [self._result(root, trace, copier) for root in roots]
        block.results = results[0] if len(results) == 1 else tuple(results)
        block.sources = tuple(source.node for source in trace.sources.values())
        block.note = in_one_chunk(trace, self.cuts)
        self.blocks.append(block)
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
            for operand, letters in self._operands(root, trace)
        )
        if form == "tree":
            opcode = "sum" if node.opcode == "mean" else node.opcode
            shape = tuple(1 if axis in root.summed else n for axis, n in enumerate(operands[0].shape))
            return graph.add(opcode, operands, shape, node.element_type, **{**node.parameters, "keepdims": True})
        product = graph.add(node.opcode, operands, node.shape, node.element_type, **node.parameters)
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
        way = ("in_files" if sums else "pieces") if itself else "read"
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
        parts = self.graph.add(
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
        return self.graph.add(
            "blockwise" if item is None else "block_item", operands, shape, node.element_type, pinned=True,
            index=index, new_axes=new_axes, adjust=adjust, stands_for=node, item=item, several=False,
            is_part=self.cuts.forms[node] not in ("block", "product"), **call.parameters(index),
        )  # fmt: skip

    def _finish(self, root: Root, call: Node) -> None:
        """Combine the parts of a sum; the node that main has for the root."""
        node, made = root.node, call
        form = self.cuts.forms[node]
        if form not in ("block", "product"):
            opcode = "sum" if node.opcode in PRODUCTS or node.opcode == "mean" else node.opcode
            axes = root.summed if form == "tree" else tuple(range(call.ndim - node.ndim))
            keepdims = bool(form == "tree" and node.parameters.get("keepdims"))
            made = self.graph.add(
                "combine", (call,), node.shape, node.element_type, pinned=True, method=opcode, axes=axes,
                keepdims=keepdims, stands_for=node if node.opcode != "mean" else None,
            )  # fmt: skip
            if node.opcode == "mean":
                count = 1
                for axis in root.summed:
                    count *= node.operands[0].shape[axis]
                count_node = self.graph.literal(count, node.type)
                made = self.graph.add("divide", (made, count_node), node.shape, node.type, stands_for=node)
        if node in self.graph.results:
            self.graph.results.setdefault(made, self.graph.results[node])
        self.made[node] = made

    def _given(self, node: Node, region: Region, way: str = "read") -> Node:
        """What main has for a node. An argument that is cut is read anew wherever it is needed (``read``), or by the
        tasks that need it (``pieces``); so are large arrays that are computed where they are needed by tasks that take
        one block after the other (``in_files``)."""
        made, is_cut = self.made.get(node, node), self.cuts.is_cut(node)
        if made is node and not (is_argument(node) and is_cut):
            return node
        self.graph.region, self.graph.instruction = region, None
        if made is node:
            return self.graph.add("read", (node,), node.shape, node.element_type, pinned=True, way=way)
        if way == "in_files" and is_cut and prod(node.shape) * node.type.dtype.itemsize > HELD_BYTES:
            return self.graph.add(
                "prelude", (made,), node.shape, node.element_type,
                function="in_files", arguments=(Slot(0),), keywords={},
            )  # fmt: skip
        return made

    def _write(self, node: Node) -> None:
        """A node that main keeps, over what main has for its operands."""
        if node.opcode == "parameter" or (node.opcode == "item" and is_argument(node)):
            return
        if self.cuts.forms[node] == "windows":
            self.made[node] = self._read_by_tasks(node)
            return
        if self.cuts.forms[node] == "lazy":
            self.made[node] = self._in_chunks(node)
            return
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
        made = self.graph.add(
            node.opcode, operands, node.shape, node.element_type, python_int=node.is_python_int,
            interval=node.interval, results=node.results,
            pinned=bool(node.results) or node.stands_alone, **parameters,
        )  # fmt: skip
        if node in self.graph.results:
            self.graph.results.setdefault(made, self.graph.results[node])
        self.made[node] = made

    def _in_chunks(self, node: Node) -> Node:
        """The function of lazy arrays that does what a node does."""
        form = form_in_chunks(node)
        assert form is not None
        operands = tuple(
            x if k < form.reads and is_argument(x) and self.cuts.is_cut(x) else self._given(x, node.region)
            for k, x in enumerate(node.operands)
        )
        arguments, keywords = form.call(node)
        self.graph.region, self.graph.instruction = node.region, self.graph.origins.get(node)
        made = self.graph.add(
            "prelude", operands, node.shape, node.element_type, results=node.results, pinned=True,
            function=form.function, arguments=arguments, keywords=keywords, stands_for=node,
        )  # fmt: skip
        if node in self.graph.results:
            self.graph.results.setdefault(made, self.graph.results[node])
        return made

    def _read_by_tasks(self, node: Node) -> Node:
        """What goes by windows, which tasks read themselves."""
        first, *others = node.operands
        axis, windows = window_axis(node, self.cuts), windows_of(node)
        assert axis is not None and windows is not None
        x = first if is_argument(first) else self._given(first, node.region)
        keywords = {
            "axis": axis,
            "size": windows.size(axis),
            "length": self.cuts.length(node, axis),
            "shape": node.shape,
        }
        keywords |= {"padding": windows.padding, **node.parameters["keywords"]}
        operands = (x, *(self._given(other, node.region) for other in others))
        self.graph.region, self.graph.instruction = node.region, self.graph.origins.get(node)
        return self.graph.add(
            "prelude", operands, node.shape, node.element_type, pinned=True, function="in_windows",
            arguments=(PreludeName(node.parameters["function"]), *node.parameters["arguments"]), keywords=keywords,
            stands_for=node,
        )  # fmt: skip

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
