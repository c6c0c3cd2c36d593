"""The arrays that one block function computes, and how it works through its blocks a few rows at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from ...templates.prelude.tiles import TILE_BYTES
from ...transpile.array.node import Node, Region
from ...transpile.array.scalars import is_known_on_host
from .cuts import Cuts
from .nodes import name_of, shape_of
from .tracing import Key, Letter, Letters, Trace

COMBINED_BY = {
    "sum": "add",
    "mean": "add",
    "prod": "multiply",
    "max": "maximum",
    "min": "minimum",
    "any": "logical_or",
    "all": "logical_and",
}
MUCH = 16  # times as large as an argument
INNER = 4  # arrays of what it makes that a function of the prelude may hold meanwhile
WHOLE_ELEMENTS = 1 << 15  # computed anew for every few rows, at most


@dataclass(slots=True)
class Root:
    """An array that a block function computes, or the part of one that it sums up."""

    node: Node
    letters: Letters
    summed: tuple[int, ...] = ()  # the axes of the partial results that are left to be combined


@dataclass(slots=True)
class Group:
    """The arrays that one block function computes."""

    region: Region
    roots: list[Root] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Tiles:
    """The rows of a block that a call takes: their axis in each source (None where there is none), and for each result
    the axis along which the rows are joined, or NumPy's function that combines them. ``rows`` are the most for a call,
    where more would make too much of little."""

    letter: Letter
    cut: tuple[int | None, ...]
    joined: tuple[int | str, ...]
    rows: int | None


def tiles(group: Group, trace: Trace, cuts: Cuts) -> Tiles | None:
    """Rows along the first axis that is cut; None where too much would be computed again for all of them, and for
    products: those that sum up the blocks along an axis, and those that have nothing to compute before."""
    if any(cuts.forms[root.node] == "product" for root in group.roots) or _is_plain_product(group, trace):
        return None
    sources = list(trace.sources.values())
    for letter in (letter for letter in group.roots[0].letters if letter.of is not None):
        cut = tuple(
            source.letters.index(letter) if letter in source.letters and not is_plain_number(source.node) else None
            for source in sources
        )
        if any(axis is not None for axis in cut):
            break
    else:
        return None
    again = [node for node, key in trace.order if letter.of not in key]
    if any(node.results or "branches" in node.parameters for node in again):
        return None
    if sum(prod(shape_of(node)) for node in again) > WHOLE_ELEMENTS:
        return None
    joined = tuple(_joined(root, letter, cuts) for root in group.roots)
    if None in joined:
        return None
    return Tiles(letter, cut, tuple(way for way in joined if way is not None), _most_rows(trace, letter, cuts))


def _most_rows(trace: Trace, letter: Letter, cuts: Cuts) -> int | None:
    """Where what a block function makes of its rows is much larger than they are: as many as fit into the cache."""
    given, made = (
        max((block_bytes(node, key, cuts) for node, key in places if letter.of in key), default=0)
        for places in (trace.sources, trace.order)
    )
    assert letter.of is not None
    node, axis = letter.of[0]
    if made <= max(TILE_BYTES, MUCH * given):
        return None
    return max(1, TILE_BYTES // INNER * cuts.length(node, axis) // made)


def _is_plain_product(group: Group, trace: Trace) -> bool:
    """Of arrays as they lie there: BLAS goes through them in blocks of its own."""
    product = group.roots[0].node
    before = [node for node, _ in trace.order if node is not product]
    is_alone = len(group.roots) == 1 and product.opcode == "matmul"
    return is_alone and all(node.opcode == "transpose" and node.ndim == 2 for node in before)


def _joined(root: Root, letter: Letter, cuts: Cuts) -> int | str | None:
    form, axis = cuts.forms[root.node], root.letters.index(letter)
    is_summed = axis in root.summed if form == "tree" else axis < len(root.letters) - root.node.ndim
    if form == "block" or not is_summed:
        return axis
    element_type = root.node.type
    if element_type.is_floating and element_type.bits < 32:
        return None  # every sum of sums would round
    return COMBINED_BY[root.node.opcode if form == "tree" else "sum"]


def in_one_chunk(trace: Trace, cuts: Cuts) -> str:
    """What has no form in chunks and along which axes, as in ``one chunk: sort along axis 0``; nothing mostly."""
    found: dict[str, None] = {}
    for place in trace.order:
        for operand in trace.operands[place]:
            source = trace.sources.get(operand)
            if source is None:
                continue
            flags = cuts.flags[source.node]
            axes = [k for k, letter in enumerate(source.letters) if flags[k] and letter.of is None]
            if axes:
                many = "axes" if len(axes) > 1 else "axis"
                found[f"{name_of(place[0])} along {many} {', '.join(map(str, axes))}"] = None
    return f"one chunk: {', '.join(found)}" if found else ""


def partial_shape(root: Root, cuts: Cuts) -> tuple[int, ...]:
    """The shape of an array of parts."""
    node = root.node
    form = cuts.forms[node]
    if form == "tree":
        return tuple(1 if axis in root.summed else n for axis, n in enumerate(node.operands[0].shape))
    return (1,) * (len(root.letters) - node.ndim) + node.shape


def block_bytes(node: Node, key: Key, cuts: Cuts) -> int:
    """Of what a block function makes of a node."""
    if node.element_type is None:
        return 0
    sizes = [
        min(size, cuts.lengths.get(of[0], size)) if of is not None else size
        for size, of in zip(node.shape, key, strict=False)
    ]
    return int(prod(sizes)) * node.element_type.dtype.itemsize


def is_plain_number(node: Node) -> bool:
    """Written as a number in ``main``."""
    return node.is_python_int or node.is_literal or is_known_on_host(node)
