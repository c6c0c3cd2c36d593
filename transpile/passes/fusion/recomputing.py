"""Cheap values that a later kernel needs, too: it computes them again, and no array of them is written and read.

The gradient of an activation needs what the activation was computed of: a product or two in place of an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...array.node import Node
from ...kernels.index_maps import identity
from .reading import is_generated, read_by
from .regions import FusedRegion, RegionFinder

_MOST_AGAIN = 8  # operations
_SMALL = 16  # arrays of so many times fewer elements than a loop has cost it nothing


def compute_again(finder: RegionFinder, regions: Sequence[FusedRegion]) -> list[FusedRegion]:
    """Let regions compute what earlier ones of the same loop would give them, if that is cheap and they read no more
    arrays than before. Return those that give anything still.
    """
    alike: dict[object, set[FusedRegion]] = {}
    for region in regions:
        if not region.is_round:
            alike.setdefault((region.body, region.loop), set()).add(region)
    for region in regions:
        beside = alike.get((region.body, region.loop), set())
        is_changed = False
        for output in region.outputs:
            members, needed = _computed_of(region, output)
            readers = _readers(finder, output, beside) - {region} if members else set()
            if not readers or not all(
                _is_no_more(region, other, needed) and _reads_as_it_goes(finder, other, members) for other in readers
            ):
                continue
            is_changed = True
            finder.read_outside.update(needed)
            for reader in readers:
                reader.at.update(dict.fromkeys(members, identity(reader.loop)))
                finder.close(reader)
        if is_changed:
            finder.close(region)
    return [region for region in regions if region.outputs]


def _readers(finder: RegionFinder, output: Node, alike: set[FusedRegion]) -> set[FusedRegion]:
    """Return the regions that read a result, if they are all ``alike``; else none."""
    found: set[FusedRegion] = set()
    if output in finder.read_outside:
        return found
    for node, _ in finder.readers.get(output, []):
        region = finder.region_of.get(node)
        if region is None or region not in alike:
            return set()
        found.add(region)
    return found


def _reads_as_it_goes(finder: RegionFinder, region: FusedRegion, members: set[Node]) -> bool:
    """Tell whether a region reads none of these values at another place than its loop is at."""
    for node in region.nodes:
        for source, at in finder.read_by(node, region.at[node]):
            if source in members and (at != identity(region.loop) or node in region.pieces or node.operation.joins):
                return False
    return True


def _computed_of(region: FusedRegion, output: Node) -> tuple[set[Node], set[Node]]:
    """Return the cheap operations of a region that make a result, and what these read; none where they are many."""
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


def _is_no_more(region: FusedRegion, reader: FusedRegion, needed: set[Node]) -> bool:
    """Tell whether a region reads no more arrays as large as its loop than before, and all that it reads are there."""
    if not all(node not in region.at or node in region.outputs or _is_of_each_line(region, node) for node in needed):
        return False
    large = [node for node in needed if prod(node.shape) * _SMALL > prod(reader.loop)]
    return sum(node not in reader.inputs and node not in reader.at for node in large) <= 1


def _is_of_each_line(region: FusedRegion, node: Node) -> bool:
    """Tell whether a region has a number for each line that it reduces, which it can give as well."""
    lines = prod(size for axis, size in enumerate(region.loop) if axis not in region.axes)
    is_along = any(index.axis in region.axes for index in region.at[node])
    return bool(region.axes) and not is_along and prod(node.shape) == lines and lines * _SMALL <= prod(region.loop)
