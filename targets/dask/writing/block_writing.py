"""Writes a phase of block functions: the function, its call in ``main``, and the combination of partial sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ....transpile.array.graph import Graph
from ....transpile.array.node import Node
from ....transpile.array.program import Function
from ....transpile.dataclass import dataclass
from ....transpile.hlo.element_types import PRED
from ..planning.block_phases import BlockPhase, Tiles
from ..planning.nodes import is_plain_number
from ..planning.strategy import Root
from .copying import Copier
from .main_writer import MainWriter
from .tracing import Index, key_of

CHARACTERS = "ijklmnopqrstuvwxyzabcdefghABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class BlockCall:
    """The application of a block function to arrays.

    It ``sums`` the results of blocks along an axis, or ``joins`` the blocks of an axis that it needs whole.
    """

    function: Function
    indices: tuple[str | None, ...]
    tiles: Tiles | None
    sums: bool
    joins: bool

    def parameters(self, index: str) -> dict[str, Any]:
        """Return the parameters of a node that applies the block function, for results with an index."""
        return {
            "function": self.function,
            "indices": self.indices,
            "tiles": self.tiles,
            "sums": self.sums,
            "contracts": self.joins and contracts(index, self.indices),
        }


def write_blocks(phase: BlockPhase, main: MainWriter) -> None:
    """Add the block function of a phase, the node that applies it, and the nodes that finish its results."""
    if phase.is_transpose:
        return main.rewrite(phase.first)
    function = main.block_function(_block_function(phase, main))
    roots, sources = phase.roots, list(phase.trace.sources.values())
    index, cut = BlockwiseIndex(), [symbol for symbol in roots[0].index if symbol.is_cut]
    index.text(roots[0].index if len(roots) == 1 else cut)
    arrays = [source for source in sources if not is_plain_number(source.node)]
    index.sizes_only = len({symbol for source in arrays for symbol in source.index}) > len(CHARACTERS) - 10
    indices = tuple(
        None if is_plain_number(source.node) else index.of_source(source.index, source.node.shape) for source in sources
    )
    takes_one_by_one = phase.takes_pieces or (phase.accumulates and not phase.note)
    way = "read" if not takes_one_by_one else "in_files" if phase.accumulates else "pieces"
    operands = tuple(main.given(source.node, phase.region, way) for source in sources)
    known = {
        c: n for x, own in zip(sources, indices, strict=True) for c, n in zip(own or "", x.node.shape, strict=False)
    }
    call = BlockCall(function, indices, phase.tiles, phase.accumulates, joins=not takes_one_by_one)
    if len(roots) == 1:
        _finish(roots[0], _applied(roots[0], index, known, call, operands, main), main)
        return
    shared = index.text(cut)
    with main.at(phase.region) as graph:
        parts = graph.typed(
            "blockwise", operands, (), PRED, pinned=True, index=shared, new_axes={}, adjust={}, several=True,
            **call.parameters(shared),
        )  # fmt: skip
    for k, root in enumerate(roots):
        own = BlockwiseIndex(dict(zip(cut, shared, strict=True)))
        item = BlockCall(function, (shared,), None, sums=False, joins=True)
        _finish(root, _applied(root, own, dict.fromkeys(shared, 0), item, (parts,), main, item=k), main)


def _block_function(phase: BlockPhase, main: MainWriter) -> Function:
    nodes = tuple(root.node for root in phase.roots)
    block = Function(main.function.computation, Graph(), block_of=nodes, origin=main.graph, note=phase.note)
    copier = Copier(phase.trace, block, main.graph)
    copier.copy()
    results = []
    for root in phase.roots:
        given = root.strategy.operands(root, phase.trace)
        operands = tuple(copier.made[operand, key_of(index)] for operand, index in given)
        with block.graph.coming_as(root.node, main.graph):
            results.append(root.strategy.last_step(root, block.graph, operands))
    block.results = results[0] if len(results) == 1 else tuple(results)
    block.sources = tuple(source.node for source in phase.trace.sources.values())
    return block


def _applied(
    root: Root,
    blockwise: BlockwiseIndex,
    known: dict[str, int],
    call: BlockCall,
    operands: tuple[Node, ...],
    main: MainWriter,
    item: int | None = None,
) -> Node:
    """Return the array of all blocks of a root: the application of a block function, or an item of one with several
    results.
    """
    node, index = root.node, blockwise.text(root.index)
    shape = root.strategy.part_shape(root)
    new_axes = {c: size_of_axis(node, shape, axis) for axis, c in enumerate(index) if c not in known}
    adjust = {index[axis]: 1 for axis in root.summed if axis < len(index) and index[axis] not in new_axes}
    with main.at(node.region, node) as graph:
        return graph.typed(
            "blockwise" if item is None else "block_item", operands, shape, node.element_type, pinned=True,
            index=index, new_axes=new_axes, adjust=adjust, stands_for=node, item=item, several=False,
            is_part=root.strategy.gives_parts, **call.parameters(index),
        )  # fmt: skip


def _finish(root: Root, parts: Node, main: MainWriter) -> None:
    with main.at(root.node.region, root.node) as graph:
        main.note(root.node, root.strategy.combined(root, graph, parts))


# -- index symbols of arrays as characters


class BlockwiseIndex:
    """Assigns characters to index symbols, in order of appearance.

    There are too few characters for the axes of very many arrays: with ``sizes_only``, axes of the same size that are
    needed whole share a character.
    """

    def __init__(self, characters: Mapping[Any, str] | None = None) -> None:
        self.characters: dict[object, str] = dict(characters or {})
        self.sizes_only = False

    def text(self, symbols: Iterable[object]) -> str:
        """Return a character for each symbol."""
        return "".join(self.characters.setdefault(symbol, CHARACTERS[len(self.characters)]) for symbol in symbols)

    def of_source(self, index: Index, shape: tuple[int, ...]) -> str:
        """Return the characters of a source of the block function."""
        if not self.sizes_only:
            return self.text(index)
        keys: list[object] = []
        for symbol, size in zip(index, shape, strict=True):
            shared = (size, sum(isinstance(key, tuple) and key[0] == size for key in keys))
            keys.append(symbol if symbol.is_cut or symbol in self.characters else shared)
        return self.text(keys)


def contracts(index: str, indices: tuple[str | None, ...]) -> bool:
    """Return whether an operand has a character that the result lacks."""
    return any(c not in index for text in indices for c in text or "")


def size_of_axis(node: Node, shape: tuple[int, ...], axis: int) -> int | None:
    """Return the size of a new axis; None if it is known only at run time."""
    if node.opcode == "prelude" and node.parameters["function"] == "crop":
        return None if node.parameters["arguments"][1][axis] is not None else shape[axis]
    return shape[axis]
