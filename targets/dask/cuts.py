"""Which axes are cut into chunks, how long these are, and what that makes of every operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod

from ...transpile.array.node import Node
from ...transpile.array.program import Branch, Function, Loop, roots
from ...transpile.array.scalars import is_known_on_host
from ...transpile.array.traversal import body_and_captured, topological
from .along import Form, cut_alike, form_in_chunks, may_be_cut
from .links import axes_of_its_call, contracted, links
from .matrices import cut_tiles, square_axes
from .nodes import shape_of
from .products import cut_product, is_product, product_of
from .scatters import is_scatter
from .steps import Steps, steps_of
from .windows import Windows, moving_axes, windows_of

Axis = tuple[Node, int]

SHORTEST_PIECE = 4096  # bytes of a chunk that should lie together
# Of results. malloc hands the memory of smaller arrays out again; the first few larger ones have fresh pages, which the
# system clears first: that can take as long as twenty operations.
REUSED_BYTES = 31 << 20
LEAVES = frozenset("parameter arange tri eye array full zeros ones empty".split())
TREES = frozenset("sum mean prod max min any all".split())
ON_ARRAYS = ("driver", "once", "lazy", "steps")  # forms of what gives arrays of main


def _always(node: Node) -> bool:
    return True


def _is_filled(node: Node) -> bool:
    return 0 not in node.operands[0].shape


# What dask.array does itself along an axis that is cut, and when.
NATIVE: dict[str, Callable[[Node], bool]] = {
    **dict.fromkeys(("roll", "concatenate", "stack", "cumsum", "cumprod", "broadcast_to"), _always),
    **dict.fromkeys(("argmax", "argmin", "bitwise_reduce", "diagonal", "reshape"), _is_filled),
    "setitem": lambda node: not is_scatter(node) and all(is_known_on_host(index) for index in node.operands[2:]),
    "getitem": lambda node: all(is_known_on_host(index) for index in node.operands[1:]),
    "pad": lambda node: _is_filled(node) and node.operands[1].is_literal,
}


class Classes:
    """Axes that have to be cut alike, as sets."""

    def __init__(self, function: Function, memory: int | None = None) -> None:
        needed = topological(roots(function))
        loops: list[Loop] = [node.parameters["loop"] for node in needed if node.opcode == "loop"]
        # What a loop only writes is not needed by its body, but cut all the same.
        carried = dict.fromkeys(carry.parameter for loop in loops for carry in loop.carries)
        self.nodes = list(carried | dict.fromkeys(needed))
        self.links = {node: links(node) for node in self.nodes}
        self._parents: dict[Axis, Axis] = {}
        self._items: dict[tuple[Node, int], list[Node]] = {}
        self.steps = {node: found for node in self.nodes if (found := _steps(node, memory)) is not None}
        for node in self.nodes:
            if node.opcode == "item":
                self._items.setdefault((node.operands[0], node.parameters["index"]), []).append(node)
        for node in self.nodes:
            for operand, link in zip(node.operands, self.links[node], strict=True):
                for axis, place in enumerate(link):
                    if place is not None and shape_of(operand)[axis] == shape_of(node)[place] != 1:
                        self._join((operand, axis), (node, place))
            for windows in windows_of(node):
                like, place = windows.like(node)
                if like.shape[place] == node.operands[0].shape[windows.axis] != 1:
                    self._join((node.operands[0], windows.axis), (like, place))
            for (k, axis), place in may_be_cut(node).items():
                if place is not None and shape_of(node.operands[k])[axis] == shape_of(node)[place]:
                    self._join((node.operands[k], axis), (node, place))
            for (k, axis), *others in cut_alike(node):
                for other, place in others:
                    self._join((node.operands[k], axis), (node.operands[other], place))
            for place in square_axes(node).values():
                self._join((node.operands[0], node.ndim - 1), (node, place))
            for left, right in contracted(node):
                self._join((node.operands[0], left), (node.operands[1], right))
            if node.opcode == "loop":
                self._join_carries(node)
            if node in self.steps:
                along = list(self.steps[node].axes)
                for axes in pairwise(along):
                    self._join(*axes)
            for branch in node.parameters.get("branches", ()):
                self._join_results(node, branch)

    def _join_carries(self, node: Node) -> None:
        loop: Loop = node.parameters["loop"]
        for k, carry in enumerate(loop.carries):
            ends = [carry.initial, *([carry.following] if carry.following is not None else []), *self.items(node, k)]
            for axis in range(carry.parameter.ndim):
                for end in ends:
                    self._join((carry.parameter, axis), (end, axis))

    def _join_results(self, node: Node, branch: Branch) -> None:
        for k, result in enumerate(branch.results):
            for item in self.items(node, k):
                for axis in range(item.ndim):
                    self._join((item, axis), (result, axis))

    def items(self, node: Node, index: int) -> list[Node]:
        """The nodes that read a result of a node."""
        return self._items.get((node, index), [])

    def of(self, node: Node, axis: int) -> Axis:
        """The axis that stands for all that are cut like this one."""
        found = (node, axis)
        while found in self._parents:
            found = self._parents[found]
        return found

    def _join(self, left: Axis, right: Axis) -> None:
        left, right = self.of(*left), self.of(*right)
        if left != right:
            self._parents[right] = left


@dataclass(slots=True)
class Cuts:
    """What is cut in one function.

    ``lengths`` has the length of chunks for each class that is cut; ``flags`` says for each node which of its axes
    come in several chunks, ``forms`` how the node is written: ``block`` (in a block function), ``tree`` and
    ``partial`` (in one, up to the last sum), ``product`` (in one that is called for a chunk of what is summed over at
    a time), ``windows`` (by tasks that read what they need themselves), ``native`` (as dask.array's
    own), ``lazy`` (by a function of arrays in chunks), ``steps`` (a loop of which a task does a chunk), ``driver`` (a
    loop or branch of ``main`` itself), ``once`` (called while ``main`` runs).
    """

    classes: Classes
    lengths: Mapping[Axis, int]
    flags: dict[Node, tuple[bool, ...]] = field(default_factory=dict)
    forms: dict[Node, str] = field(default_factory=dict)

    def is_cut(self, node: Node) -> bool:
        return any(self.flags[node])

    def unmet(self, node: Node) -> set[tuple[int, int]]:
        """The operands and their axes that are cut and not linked."""
        rows = zip(node.operands, self.classes.links[node], strict=True)
        axes = ((k, axis, place) for k, (_, link) in enumerate(rows) for axis, place in enumerate(link))
        return {(k, axis) for k, axis, place in axes if place is None and self.flags[node.operands[k]][axis]}

    def form_in_chunks(self, node: Node) -> Form | None:
        """That of a node whose form is ``lazy``."""
        return form_in_chunks(node, self.unmet(node))

    def length(self, node: Node, axis: int) -> int:
        """How long the longest chunk of an axis is."""
        size = shape_of(node)[axis]
        return min(size, self.lengths.get(self.classes.of(node, axis), size)) if self.flags[node][axis] else size

    def planned(self, node: Node, axis: int) -> bool:
        return shape_of(node)[axis] > 1 and self.classes.of(node, axis) in self.lengths

    def chunks(self, node: Node) -> tuple[int, ...]:
        """The lengths of chunks along each axis, -1 for a whole one."""
        return tuple(self.length(node, axis) if flag else -1 for axis, flag in enumerate(self.flags[node]))

    def block_shape(self, node: Node) -> tuple[int, ...]:
        return tuple(self.length(node, axis) for axis in range(len(shape_of(node))))


def cut(classes: Classes, lengths: Mapping[Axis, int]) -> Cuts:
    """Follow the cuts from the arrays that a function starts from to all others."""
    made = Cuts(classes, lengths)
    for node in classes.nodes:
        made.flags[node] = (False,) * len(shape_of(node))
    changed = True
    while changed:  # loops hand cuts round
        changed = False
        for node in classes.nodes:
            flags, form = _followed(node, made)
            changed |= flags != made.flags[node]
            made.flags[node], made.forms[node] = flags, form
    return made


def _followed(node: Node, made: Cuts) -> tuple[tuple[bool, ...], str]:
    classes = made.classes
    own = made.flags[node]
    if node.opcode in LEAVES:
        carried = "argument" not in node.parameters and node.opcode == "parameter"
        return (own if carried else tuple(made.planned(node, axis) for axis in range(node.ndim))), "block"
    if "effect" in node.parameters:
        return own, "once"
    if node.opcode == "item":
        source = node.operands[0]
        if source.opcode in ("loop", "conditional") and made.forms.get(source) in ("driver", "steps"):
            return own, "block"
        shared = axes_of_its_call(node)
        return (*made.flags[source][:shared], *own[shared:]), "block"
    if node.opcode in ("loop", "conditional"):
        return own, _followed_control(node, made)
    flags, unmet = list(own), made.unmet(node)
    for operand, link in zip(node.operands, classes.links[node], strict=True):
        for axis, place in enumerate(link):
            if place is not None and made.flags[operand][axis]:
                flags[place] = True
    if node.opcode == "broadcast_to":
        flags = [flag or made.planned(node, axis) for axis, flag in enumerate(flags)]
    form = _form(node, made, flags, unmet)
    windows = windows_in_chunks(node, made)
    if windows:
        form = "windows"
    for one in windows:
        flags[one.result] = flags[one.result] or (made.planned(node, one.result) and not one.is_summed)
    if form == "lazy":
        chosen = form_in_chunks(node, unmet)
        if chosen is not None and chosen.is_sized:
            flags = [flag or made.planned(node, axis) for axis, flag in enumerate(flags)]
        for given in unmet:
            place = may_be_cut(node)[given]
            if place is not None:
                flags[place] = True
    if form == "native" and node.opcode != "broadcast_to":
        linked = {place for link in classes.links[node] for place in link}
        flags = [flags[axis] or (axis not in linked and size > 1) for axis, size in enumerate(node.shape)]
    return tuple(flags), form


def _form(node: Node, made: Cuts, flags: list[bool], unmet: set[tuple[int, int]]) -> str:
    if node.opcode == "broadcast_to":
        return "native" if any(flags) else "block"
    if node.opcode == "reshape" and (unmet or sum(flags) > 1) and _is_filled(node):
        return "native"
    if not unmet:
        return "block"
    only_summed = unmet <= {(k, pair[k]) for pair in contracted(node) for k in (0, 1)}
    if any(flags) and only_summed and product_of(node) is not None:
        return "product"
    if node.opcode in TREES:
        return "tree"
    if form_in_chunks(node, unmet) is not None:
        return "lazy"
    if is_product(node) and only_summed and not any(flags):
        return "partial"
    if node.opcode in NATIVE and NATIVE[node.opcode](node):
        return "native"
    return "block"


def _followed_control(node: Node, made: Cuts) -> str:
    """A loop or branch on cut arrays is one of ``main``, if not one whose steps go through them; its values take over
    their cuts."""
    inside = _inside(node)
    if made.forms.get(node) != "driver" and _followed_steps(node, made, inside):
        return "steps"
    driver = made.forms.get(node) == "driver" or any(made.is_cut(part) for part in (*node.operands, *inside))
    if not driver:
        return "block"
    values: list[tuple[Node, list[Node]]] = []
    if node.opcode == "loop":
        loop: Loop = node.parameters["loop"]
        for k, carry in enumerate(loop.carries):
            following = [carry.following] if carry.following is not None else []
            values.append((carry.initial, [carry.parameter, *made.classes.items(node, k)]))
            values += [(source, [carry.parameter, *made.classes.items(node, k)]) for source in following]
    for branch in node.parameters.get("branches", ()):
        values += [(result, made.classes.items(node, k)) for k, result in enumerate(branch.results)]
    for source, targets in values:
        for target in targets:
            made.flags[target] = tuple(a or b for a, b in zip(made.flags[target], made.flags[source], strict=True))
    return "driver"


def _steps(node: Node, memory: int | None) -> Steps | None:
    return steps_of(node, *body_and_captured(node), memory) if node.opcode == "loop" else None


def _followed_steps(node: Node, made: Cuts, inside: list[Node]) -> bool:
    """Whether a loop goes through what is cut of all that it reads, and does so in chunks; what it writes is cut so."""
    steps = made.classes.steps.get(node)
    if steps is None or not any(made.planned(part, axis) for part, axis in steps.axes):
        return False
    written = {carry.parameter for carry in steps.written}
    whole = [carry.initial for carry in steps.carried] + [part for part in inside if part not in steps.read]
    if any(made.is_cut(part) for part in whole if part not in written):
        return False
    if any(flag and k != axis for part, axis in steps.read.items() for k, flag in enumerate(made.flags[part])):
        return False
    for carry, axis in steps.written.items():
        flags = tuple(k == axis for k in range(carry.parameter.ndim))
        for target in (carry.parameter, *made.classes.items(node, steps.loop.carries.index(carry))):
            made.flags[target] = flags
    return True


def _inside(node: Node) -> list[Node]:
    body, captured = body_and_captured(node)
    return [*body, *captured]


def windows_in_chunks(node: Node, made: Cuts) -> list[Windows]:
    """The windows along axes that are cut, where these can be read on their own."""
    unmet = made.unmet(node)
    return [one for one in windows_of(node) if (0, one.axis) in unmet or (one.is_summed and (1, one.kernel) in unmet)]


# -- how long chunks are


def measured(classes: Classes, forced: int | None, target: int, reused: Collection[Node] = ()) -> dict[Axis, int]:
    """The classes to cut and the lengths of their chunks; windows are cut where what they are of is, and half a
    spectrum like the whole of one."""
    lengths = _lengths(classes, forced, target, reused)
    for node in classes.nodes:
        for (k, axis), place in may_be_cut(node).items():
            of = classes.of(node.operands[k], axis)
            if place is not None and of in lengths:
                lengths.setdefault(classes.of(node, place), lengths[of])
        for windows in windows_of(node):
            key, of = classes.of(*windows.like(node)), classes.of(node.operands[0], windows.axis)
            if of in lengths:
                lengths.setdefault(key, windows.length(lengths[of]))
    return lengths


def _lengths(classes: Classes, forced: int | None, target: int, reused: Collection[Node]) -> dict[Axis, int]:
    """Cut until no array has more than ``target`` bytes in a block, and those that are ``reused`` no more than
    REUSED_BYTES: an axis that nothing needs whole before one that something does, one of many arrays that are too large
    before one of few, then the longest. ``forced`` cuts every axis that nothing needs whole into chunks of so many
    elements instead.
    """
    needs, held = _needs(classes), _held(classes)
    sizes: dict[Axis, int] = {}
    for node in classes.nodes:
        for axis, size in enumerate(shape_of(node)):
            if size > 1:
                sizes[classes.of(node, axis)] = size
    if forced is not None:
        return {key: min(forced, size) for key, size in sizes.items() if forced < size and not needs.get(key, 0) > 1}
    lengths: dict[Axis, int] = {}
    for node in classes.nodes:
        cut_product(classes, sizes, lengths, node, target)
        cut_tiles(classes, sizes, lengths, node, target)
    lengths = {key: length for key, length in lengths.items() if key not in held}
    while True:
        too_large = _too_large(classes, lengths, target, reused, held)
        if not too_large:
            return lengths
        largest = max(too_large, key=lambda node: too_large[node])
        excess = too_large[largest]
        keys = [classes.of(largest, axis) for axis, size in enumerate(shape_of(largest)) if size > 1]
        open_keys = [key for key in dict.fromkeys(keys) if lengths.get(key, sizes[key]) > 1 and key not in held]
        if not open_keys:
            return lengths
        costs = {key: needs.get(key, 0) + _scattering(classes, lengths, largest, key, excess) for key in open_keys}
        shares = Counter(key for node in too_large for key in {classes.of(node, k) for k in range(node.ndim)})
        best = min(open_keys, key=lambda key: (costs[key], -shares[key], -lengths.get(key, sizes[key])))
        now = lengths.get(best, sizes[best])
        lengths[best] = _round(max(1, min(now - 1, int(now / excess ** (1 / keys.count(best))))))


def _scattering(classes: Classes, lengths: Mapping[Axis, int], node: Node, key: Axis, excess: float) -> int:
    """2 where chunks along an axis would lie in many short pieces in a file."""
    shape = [min(size, lengths.get(classes.of(node, axis), size)) for axis, size in enumerate(node.shape)]
    first = next(axis for axis, size in enumerate(shape) if size > 1)
    last = max(axis for axis in range(node.ndim) if classes.of(node, axis) == key)
    piece = prod(shape[last:]) / excess * node.type.dtype.itemsize
    return 0 if last == first or piece >= SHORTEST_PIECE else 2


def _round(length: int) -> int:
    """Down to a multiple of a power of two, by at most an eighth."""
    unit: int = 1 << max(0, length.bit_length() - 4)
    return length - length % unit


def _too_large(
    classes: Classes, lengths: Mapping[Axis, int], target: int, reused: Collection[Node], held: Collection[Axis]
) -> dict[Node, float]:
    """The arrays whose blocks are too large, and by which factor."""
    found: dict[Node, float] = {}
    for node in classes.nodes:
        if node.element_type is None or node.is_python_int:
            continue
        shape = [min(size, lengths.get(classes.of(node, axis), size)) for axis, size in enumerate(node.shape)]
        allowed = min(target, REUSED_BYTES) if node in reused else target
        excess = prod(shape) * node.element_type.dtype.itemsize / allowed
        if excess > 1 and any(size > 1 and classes.of(node, k) not in held for k, size in enumerate(shape)):
            found[node] = excess
    return found


def _held(classes: Classes) -> set[Axis]:
    """What the steps of loops that go through arrays need whole: all but the axes along which they go."""
    found: set[Axis] = set()
    for node, steps in classes.steps.items():
        along = set(steps.axes)
        parts = [*_inside(node), *(carry.parameter for carry in steps.loop.carries)]
        places = ((part, axis) for part in parts for axis, size in enumerate(shape_of(part)) if size > 1)
        found |= {classes.of(*place) for place in places if place not in along}
    return found - {classes.of(*place) for steps in classes.steps.values() for place in steps.axes}


def _needs(classes: Classes) -> dict[Axis, int]:
    """How badly each class is needed whole: 1 for what has a form in chunks, 2 for what has none."""
    found = dict.fromkeys(_held(classes), 2)
    own_positions = frozenset(node for steps in classes.steps.values() for node in steps.reads)
    for node in classes.nodes:
        if node.opcode == "item":
            continue  # its call says what it needs
        if node in own_positions or node in classes.steps:
            continue
        along, moving = may_be_cut(node), moving_axes(node)
        for k, (operand, link) in enumerate(zip(node.operands, classes.links[node], strict=True)):
            for axis, place in enumerate(link):
                if place is None and shape_of(operand)[axis] > 1:
                    in_pieces = (k, axis) in along or (k, axis) in moving
                    weight = 1 if in_pieces or node.opcode in TREES | NATIVE.keys() or is_product(node) else 2
                    key = classes.of(operand, axis)
                    found[key] = max(found.get(key, 0), weight)
    return found
