"""Block functions: what computes one block of some arrays from blocks of others, as a function of its own.

A trace starts at the arrays wanted (the roots) and follows links back to what lies there already (the sources). It
gives every axis a letter: linked axes share one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ...transpile.array.graph import Graph
from ...transpile.array.in_place import own_changed
from ...transpile.array.node import Node, Region
from ...transpile.array.program import Branch, Carry, Function, Loop, Store
from ...transpile.array.traversal import body_and_captured, is_inside, nested_roots, topological
from ...transpile.array.value import FULL, NEW, getitem
from .cuts import LEAVES, ON_ARRAYS, Axis, Cuts
from .links import contracted, links
from .nodes import is_argument, shape_of


@dataclass(frozen=True, eq=False, slots=True)
class Letter:
    """An axis in the index of a block function. ``of`` is the class of an axis that is cut, with a count where one
    array has two axes of a class; None where the axis is whole."""

    of: tuple[Axis, int] | None = None


Letters = tuple[Letter, ...]
Key = tuple[Any, ...]


@dataclass(slots=True)
class Source:
    """An array that a block function is given, and the letters of its axes."""

    node: Node
    letters: Letters


@dataclass(slots=True)
class Trace:
    """The nodes of one block function, operands first, each seen through the letters of its axes."""

    cuts: Cuts
    region: Region
    letters: dict[tuple[Axis, int], Letter] = field(default_factory=dict)
    sources: dict[tuple[Node, Key], Source] = field(default_factory=dict)
    order: list[tuple[Node, Key]] = field(default_factory=list)
    operands: dict[tuple[Node, Key], list[tuple[Node, Key]]] = field(default_factory=dict)

    def cut_letter(self, node: Node, axis: int, count: int) -> Letter:
        """The letter of an axis in several chunks: the same for all axes of its class."""
        of = (self.cuts.classes.of(node, axis), count)
        return self.letters.setdefault(of, Letter(of))

    def own_letters(self, node: Node) -> Letters:
        """Letters for the axes of an array from which a trace starts."""
        seen: dict[Axis, int] = {}
        result = []
        for axis, is_cut in enumerate(self.cuts.flags[node]):
            if not is_cut:
                result.append(Letter())
                continue
            of = self.cuts.classes.of(node, axis)
            result.append(self.cut_letter(node, axis, seen.get(of, 0)))
            seen[of] = seen.get(of, 0) + 1
        return tuple(result)

    def follow(self, node: Node, letters: Letters, *, is_root: bool = True) -> tuple[Node, Key]:
        """Add a node and all that it is computed from; without recursion."""
        start = (node, _key(letters))
        stack: list[tuple[Node, Letters, bool, bool]] = [(node, letters, False, is_root)]
        while stack:
            node, letters, ready, root = stack.pop()
            place = (node, _key(letters))
            if ready:
                self.order.append(place)
                continue
            if place in self.operands or place in self.sources:
                continue
            if not root and self._is_source(node, letters):
                self.sources[place] = Source(node, letters)
                continue
            children = list(self._children(node, letters))
            self.operands[place] = [(child, _key(inner)) for child, inner in children]
            stack.append((node, letters, True, root))
            stack.extend((child, inner, False, False) for child, inner in reversed(children))
        return start

    def _is_source(self, node: Node, letters: Letters) -> bool:
        if node.opcode == "parameter":
            return True
        if node.is_literal or node.opcode == "integer":
            return False
        cuts = self.cuts
        if node.opcode == "item" and cuts.forms.get(node.operands[0]) in ON_ARRAYS:
            return True
        if node.opcode == "item" and node.operands[0].opcode == "parameter":
            return True
        if node.opcode == "item" and node.operands[0].opcode == "item" and is_argument(node):
            return True
        if cuts.forms[node] != "block":
            return True
        if node.results:
            return False
        if node.region is not self.region and not is_inside(self.region, node.region):
            return False  # inside a body that is copied as a whole
        flags = cuts.flags[node]
        if node.region is not self.region and not (any(flags) or node.opcode in LEAVES or node.is_python_int):
            return True  # what is cut is computed again in each step of a loop: all of it may not fit into memory
        asked = tuple(letter.of is not None for letter in letters)
        return flags != asked or (node.opcode in LEAVES and any(asked))

    def _children(self, node: Node, letters: Letters) -> Iterator[tuple[Node, Letters]]:
        rows = links(node)
        flags = self.cuts.flags
        summed: dict[tuple[int, int], Letter] = {}  # what a product sums over, by the place of the operand and its axis
        for left, right in contracted(node):
            if flags[node.operands[0]][left] == flags[node.operands[1]][right]:
                summed[0, left] = summed[1, right] = Letter()
        for k, (operand, link) in enumerate(zip(node.operands, rows, strict=True)):
            inner = tuple(
                summed.get((k, axis)) or Letter()
                if place is None or shape_of(operand)[axis] != shape_of(node)[place]
                else letters[place]
                for axis, place in enumerate(link)
            )
            yield operand, inner
        if node.opcode in ("loop", "conditional"):
            for outer in body_and_captured(node)[1]:
                yield outer, tuple(Letter() for _ in shape_of(outer))


def _key(letters: Letters) -> Key:
    return tuple(letter.of for letter in letters)


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
        """Parameters for the sources, then every traced node."""
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
            self.made[place] = parameter
        for node, key in self.trace.order:
            operands = tuple(self.made[place] for place in self.trace.operands[node, key][: len(node.operands)])
            outer = {place[0]: self.made[place] for place in self.trace.operands[node, key][len(node.operands) :]}
            self.made[node, key] = self.node(node, operands, outer, key)

    def node(self, node: Node, operands: tuple[Node, ...], outer: dict[Node, Node], key: Key = ()) -> Node:
        """A copy of a node over other operands."""
        parameters = dict(node.parameters)
        if node.opcode == "loop":
            parameters["loop"] = self.loop(node.parameters["loop"], operands, outer)
        elif node.opcode == "conditional":
            parameters["branches"] = tuple(self._branch(branch, outer) for branch in node.parameters["branches"])
        shape = node.shape
        if node.opcode == "reshape" and any(key):
            shape = tuple(-1 if of is not None else size for of, size in zip(key, shape, strict=True))
        self.graph.region = self.regions.get(node.region, self.graph.root)
        self.graph.instruction = self.origin.origins.get(node)
        if node.opcode == "loop":
            own_changed(self.graph, parameters["loop"])
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
        if node in self.origin.results:
            self.graph.results.setdefault(made, self.origin.results[node])
        return made

    def _home(self, region: Region) -> Region:
        """The copy of a region of a body; what was outside the function's own is its root."""
        if region not in self.regions:
            parent = self.regions.get(region.parent, self.graph.root) if region.parent is not None else self.graph.root
            self.regions[region] = parent.child(region.kind)
        return self.regions[region]

    def number(self, loop: Loop, counter: Node) -> Node:
        """The number of an iteration of a loop with a copied counter."""
        return counter

    def index(self, store: Store, made: dict[Node, Node]) -> tuple[Node, ...]:
        """Where the copy of a store writes."""
        return tuple(made[index] for index in store.indices)

    def loop(self, loop: Loop, initials: tuple[Node, ...], outer: dict[Node, Node]) -> Loop:
        """A copy of a loop over other initial values, and over what there is for what it reads from outside."""
        region = self._home(loop.region)
        made = dict(outer)
        carries = []
        for carry, initial in zip(loop.carries, initials, strict=True):
            p = carry.parameter
            made[p] = self.graph.parameter(
                p.shape, p.element_type, region, python_int=p.is_python_int, interval=p.interval, **p.parameters
            )
            carries.append(Carry(initial, made[p]))
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
        return replace(loop, region=region, carries=carries, stores=stores, condition=condition, counter=counter)

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
                continue  # of a loop further in, which makes it
            if any(is_inside(node.region, inner) for inner in _inner_regions(roots, regions)):
                continue  # copied with the loop or branch that it belongs to
            operands = tuple(made[operand] for operand in node.operands)
            inner = {part: made[part] for part in body_and_captured(node)[1]} if nested_roots(node) else {}
            made[node] = self.node(node, operands, inner)


def _inner_regions(roots: list[Node], regions: list[Region]) -> list[Region]:
    """The bodies of loops and branches inside some bodies."""
    found = []
    for node in topological(roots):
        if not any(is_inside(node.region, region) for region in regions):
            continue
        if node.opcode == "loop":
            found.append(node.parameters["loop"].region)
        for branch in node.parameters.get("branches", ()):
            found.append(branch.region)
    return found


def with_leading_units(graph: Graph, node: Node, count: int) -> Node:
    """New axes of one element in front."""
    return getitem(graph, node, [NEW] * count + [FULL] * node.ndim) if count else node
