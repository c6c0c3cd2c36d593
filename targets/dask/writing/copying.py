"""Copies traced nodes into the graph of a block function."""

from __future__ import annotations

from dataclasses import replace

from ....transpile.array.graph import Graph
from ....transpile.array.in_place import copy_updated_carries
from ....transpile.array.node import Node, Region
from ....transpile.array.program import Branch, Carry, Function, Loop, Store
from ....transpile.array.traversal import body_and_captured, is_inside, nested_roots, topological
from .tracing import Key, Trace


class Copier:
    """Copies traced nodes into the graph of a block function."""

    def __init__(self, trace: Trace, function: Function, origin: Graph) -> None:
        self.trace = trace
        self.function = function
        self.graph = function.graph
        self.origin = origin
        self.made: dict[tuple[Node, Key], Node] = {}
        self.regions: dict[Region, Region] = {trace.region: self.graph.root}

    def copy(self) -> None:
        """Copy every traced node, with parameters for the sources."""
        for place, source in self.trace.sources.items():
            node = source.node
            parameter = self.graph.parameter(
                node.shape,
                node.element_type,
                self.graph.root,
                argument=len(self.function.parameters),
                python_int=node.is_python_int,
                interval=node.interval,
            )
            self.function.parameters.append(parameter)
            self.function.cut[parameter] = tuple(symbol.is_cut for symbol in source.index)
            self.made[place] = parameter
        for node, key in self.trace.order:
            operands = tuple(self.made[place] for place in self.trace.operands[node, key][: len(node.operands)])
            outer = {place[0]: self.made[place] for place in self.trace.operands[node, key][len(node.operands) :]}
            made = self.made[node, key] = self.node(node, operands, outer, key)
            self.function.cut[made] = tuple(of is not None for of in key)

    def node(self, node: Node, operands: tuple[Node, ...], outer: dict[Node, Node], key: Key = ()) -> Node:
        """Return a copy of a node with other operands. ``outer`` has the copies of nodes that its bodies read from
        outside.
        """
        parameters = dict(node.parameters)
        if node.opcode == "loop":
            parameters["loop"] = self.loop(node.parameters["loop"], operands, outer)
        elif node.opcode == "conditional":
            parameters["branches"] = tuple(self._branch(branch, outer) for branch in node.parameters["branches"])
        shape = node.shape
        if node.opcode == "reshape" and any(key):
            shape, operands = self._reshaped(node, operands, key)
        region = self.regions.get(node.region, self.graph.root)
        with self.graph.inside(region), self.graph.coming_as(node, self.origin):
            if node.opcode == "loop":
                copy_updated_carries(self.graph, parameters["loop"])
                operands = tuple(carry.initial for carry in parameters["loop"].carries)
            made = self.graph.typed(
                node.opcode,
                operands,
                shape,
                node.element_type,
                python_int=node.is_python_int,
                interval=node.interval,
                results=node.results,
                pinned=node.stands_alone,
                **parameters,
            )
        return self.graph.valued(made, node, self.origin)

    def _reshaped(self, node: Node, operands: tuple[Node, ...], key: Key) -> tuple[tuple[int, ...], tuple[Node, ...]]:
        """Return the shape of a reshaped block, with -1 along each cut axis, and the operands of the copy.

        The operands are the block, and its lengths along all cut axes but the last, which NumPy infers.
        """
        shape = tuple(-1 if of is not None else size for of, size in zip(key, node.shape, strict=True))
        (axis_map,) = self.trace.chunks.classes.axis_maps[node]
        cut = [axis for axis, size in enumerate(shape) if size == -1]
        lengths = [self._length(operands[0], axis_map.index(axis)) for axis in cut[:-1]]
        return shape, (*operands, *lengths)

    def _length(self, block: Node, axis: int) -> Node:
        """Return the length of a block along an axis."""
        return self.graph.typed("length", (block,), python_int=True, axis=axis)

    def _home(self, region: Region) -> Region:
        """Return the copy of a region of a body; the root for regions outside of the traced one."""
        if region not in self.regions:
            parent = self.regions.get(region.parent, self.graph.root) if region.parent is not None else self.graph.root
            self.regions[region] = parent.child(region.kind)
        return self.regions[region]

    def number(self, loop: Loop, counter: Node) -> Node:
        """Return the number of an iteration, for a loop with a copied counter."""
        return counter

    def index(self, store: Store, made: dict[Node, Node]) -> tuple[Node, ...]:
        """Return the indices of the copy of a store."""
        return tuple(made[index] for index in store.indices)

    def loop(self, loop: Loop, initials: tuple[Node, ...], outer: dict[Node, Node]) -> Loop:
        """Return a copy of a loop with other initial values. ``outer`` has the copies of nodes that it reads from
        outside.
        """
        region = self._home(loop.region)
        made = dict(outer)
        carries = []
        for carry, initial in zip(loop.carries, initials, strict=True):
            p = carry.parameter
            made[p] = self.graph.parameter(
                p.shape, p.element_type, region, python_int=p.is_python_int, interval=p.interval, **p.parameters
            )
            carries.append(Carry(initial, made[p], element=carry.element))
        counter = None
        if loop.counter is not None:
            c = loop.counter
            counter = self.graph.parameter(
                c.shape, c.element_type, region, python_int=c.is_python_int, interval=c.interval, **c.parameters
            )
            made[c] = self.number(loop, counter)
        roots = [carry.following for carry in loop.carries if carry.following is not None]
        roots += [part for store in loop.stores for part in (store.value, *store.indices)]
        roots += [loop.condition] if loop.condition is not None else []
        roots += loop.bounds or ()
        self._body(roots, [loop.region], made)
        for carry, old in zip(carries, loop.carries, strict=True):
            carry.following = made[old.following] if old.following is not None else None
        stores = [
            Store(
                carries[loop.carries.index(store.carry)],
                store.index,
                self.index(store, made),
                made[store.value],
                made[store.carry.parameter],
            )
            for store in loop.stores
        ]
        condition = made[loop.condition] if loop.condition is not None else None
        bounds = (made[loop.bounds[0]], made[loop.bounds[1]]) if loop.bounds is not None else None
        return replace(
            loop, region=region, carries=carries, stores=stores, condition=condition, counter=counter, bounds=bounds
        )

    def _branch(self, branch: Branch, outer: dict[Node, Node]) -> Branch:
        made = dict(outer)
        region = self._home(branch.region)
        self._body(branch.results, [branch.region], made)
        return Branch(region, [made[result] for result in branch.results])

    def _body(self, roots: list[Node], regions: list[Region], made: dict[Node, Node]) -> None:
        for node in topological(roots):
            if node in made:
                continue
            inside = any(is_inside(node.region, region) for region in regions)
            if not inside and not node.is_literal and node.opcode != "integer":
                continue
            for region in reversed(list(node.region.path())):
                if any(is_inside(region, outer) for outer in regions):
                    self._home(region)
            if node.opcode == "parameter":
                continue  # a parameter of an inner loop, which copies it
            if any(is_inside(node.region, inner) for inner in _inner_regions(roots, regions)):
                continue  # copied with the loop or branch that it belongs to
            operands = tuple(made[operand] for operand in node.operands)
            inner = {part: made[part] for part in body_and_captured(node)[1]} if nested_roots(node) else {}
            made[node] = self.node(node, operands, inner)


def _inner_regions(roots: list[Node], regions: list[Region]) -> list[Region]:
    """Return the bodies of loops and branches inside the given bodies."""
    found = []
    for node in topological(roots):
        if not any(is_inside(node.region, region) for region in regions):
            continue
        if node.opcode == "loop":
            found.append(node.parameters["loop"].region)
        for branch in node.parameters.get("branches", ()):
            found.append(branch.region)
    return found
