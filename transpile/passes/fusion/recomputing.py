"""Cheap values that a later kernel needs too are recomputed there, so that no array of them is written and read.

The gradient of an activation needs the activation's input: a product or two instead of an array.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

from ...array.node import Node
from ...kernels.index_maps import ANYWHERE, Map, identity
from ...kernels.operations import is_generated
from .reading import read_by
from .regions import FusedRegion, RegionFinder

_MOST_AGAIN = 8  # operations
_MOST_ELSEWHERE = 3  # operations, in another loop
_SMALL = 16  # arrays with this many times fewer elements than the loop cost it nothing


def compute_again(finder: RegionFinder, found: Sequence[FusedRegion]) -> list[FusedRegion]:
    """Let regions that become kernels recompute the values they would read from others, if that is cheap and they read
    no more arrays than before. Return the regions that still have outputs.
    """
    kernels = frozenset(region for region in found if not region.is_loop_body)
    for region in finder.regions:
        is_changed = False
        for output in region.outputs:
            members, needed = _computed_of(region, output)
            readers = _readers(finder, output, kernels) - {region} if members else set()
            places = {reader: _places(finder, reader, members) for reader in readers}
            if not places or not all(
                at is not None and _is_small(region, reader, at) and _is_no_more(finder, region, reader, needed)
                for reader, at in places.items()
            ):
                continue
            is_changed = True
            needed = {node for node in needed if any(node not in reader.at for reader in places)}
            finder.read_outside.update(needed)
            for own in {finder.region_of[node] for node in needed if node in finder.region_of}:
                finder.close(own)  # it now outputs what the recomputation reads
            for reader, at in places.items():
                reader.at.update(at or {})
                finder.close(reader)
        if is_changed:
            finder.close(region)
    return [region for region in found if region.outputs]


def _readers(finder: RegionFinder, output: Node, kernels: frozenset[FusedRegion]) -> set[FusedRegion]:
    """The regions that read a result, if all of them are ``kernels``; else none."""
    found: set[FusedRegion] = set()
    if output in finder.read_outside:
        return found
    for node, _ in finder.readers.get(output, []):
        region = finder.region_of.get(node)
        if region is None or region not in kernels or region.body is not output.region:
            return set()
        found.add(region)
    return found


def _places(finder: RegionFinder, reader: FusedRegion, members: set[Node]) -> dict[Node, Map] | None:
    """Where in a region's loop the operations that make a result are computed; None if one is needed at several places,
    for only a part of the elements, or at a place other than where the region already computes it.
    """
    reads = [(node, *read) for node in reader.nodes for read in finder.read_by(node, reader.at[node])]
    found: dict[Node, Map] = {}
    waiting = [(source, at) for _, source, at in reads if source in members]
    while waiting:
        node, at = waiting.pop()
        if found.setdefault(node, at) != at or reader.at.get(node, at) != at:
            return None
        for source, place in finder.read_by(node, at):
            if source in members:
                waiting.append((source, place))
            elif reader.at.get(source, place) != place:
                return None
    is_in_part = any(node in reader.pieces or node.operation.joins for node, source, _ in reads if source in members)
    return None if is_in_part or ANYWHERE in found.values() else found


def _is_small(region: FusedRegion, reader: FusedRegion, members: Collection[Node]) -> bool:
    """Whether the operations are few enough, where another loop evaluates them more often or in another order."""
    return len(members) <= (_MOST_AGAIN if reader.loop == region.loop else _MOST_ELSEWHERE)


def _computed_of(region: FusedRegion, output: Node) -> tuple[set[Node], set[Node]]:
    """The cheap operations of a region that make a result, and the nodes these read; none if they are too many."""
    members: set[Node] = set()
    needed: set[Node] = set()
    waiting = [output]
    while waiting and len(members) <= _MOST_AGAIN:
        node = waiting.pop()
        if node in members or is_generated(node) or node.is_literal:
            continue
        if region.at.get(node) != identity(region.loop) or node in region.pieces or not _is_cheap(node):
            needed.add(node)
            continue
        members.add(node)
        waiting += [source for source, _ in read_by(node, identity(node.shape), reduced=False)]
    return (set(), set()) if waiting else (members, needed)


def _is_cheap(node: Node) -> bool:
    operation = node.operation
    return operation.is_elementwise and not operation.is_costly and not operation.joins and bool(node.operands)


def _is_no_more(finder: RegionFinder, region: FusedRegion, reader: FusedRegion, needed: set[Node]) -> bool:
    """Whether a region would read no more arrays as large as its loop than before, and everything it would read is
    available.
    """
    for node in needed:
        is_inside = finder.region_of.get(node) is region and node not in region.outputs
        if is_inside and not _is_of_each_line(region, node):
            return False
    large = [node for node in needed if prod(node.shape) * _SMALL > prod(reader.loop)]
    return sum(node not in reader.inputs and node not in reader.at for node in large) <= 1


def _is_of_each_line(region: FusedRegion, node: Node) -> bool:
    """Whether a node has one element per line that a region reduces, which the region can output as well."""
    lines = prod(size for axis, size in enumerate(region.loop) if axis not in region.axes)
    is_along = any(index.axis in region.axes for index in region.at[node])
    return bool(region.axes) and not is_along and prod(node.shape) == lines and lines * _SMALL <= prod(region.loop)
