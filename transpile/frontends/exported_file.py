"""What ``jax.export.Exported.serialize`` writes: a FlatBuffer with StableHLO, and the trees that its function takes.

Field numbers are those of JAX's serialization.fbs, to which versions only add; neither JAX nor its reader is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from mmap import mmap

from ..dataclass import dataclass
from ..errors import UsageError
from ..hlo.ir import ResultTree, Trees
from .flatbuffers import Table, malformed, root

# Exported
_IN_TREE, _OUT_TREE, _PLATFORMS, _PROGRAM, _KEPT = 2, 4, 9, 13, 15
# PyTreeDef, and what its kinds are
_KIND, _CHILDREN, _KEYS, _CLASS = 0, 1, 2, 3
_LEAF, _NONE, _TUPLE, _LIST, _DICT = range(5)
_DEEPEST = 64  # levels of a tree
_BYTECODE = b"ML\xefR"


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A program as StableHLO bytecode, the platforms it was exported for, and its function's trees."""

    program: memoryview
    platforms: tuple[str, ...]
    trees: Trees


def is_exported(content: bytes | mmap) -> bool:
    """Tell whether bytes are a FlatBuffer that has StableHLO bytecode where an export has it."""
    try:
        return root(memoryview(content)).bytes(_PROGRAM)[: len(_BYTECODE)] == _BYTECODE
    except UsageError:
        return False


def read_exported(content: bytes) -> ExportedFile:
    """The parts of an export. Raises ``UsageError`` (XP720) where its trees are none."""
    exported = root(memoryview(content))
    given, results = (_Definition(exported.table(field), len(content)) for field in (_IN_TREE, _OUT_TREE))
    kept = exported.numbers(_KEPT, 2)
    depths = given.depths()
    if kept and max(kept) >= len(depths):
        raise malformed(exported.start)
    tree = results.tree()
    trees = Trees(kept, frozenset(), tuple(depths[leaf] for leaf in kept), tree, tuple(results.notes))
    return ExportedFile(exported.bytes(_PROGRAM), exported.texts(_PLATFORMS), trees)


class _Definition:
    """One PyTreeDef; parts that several have in common are counted against the size of the file."""

    def __init__(self, table: Table | None, size: int) -> None:
        if table is None:
            raise malformed(0)
        self.table = table
        self.left = size
        self.notes: dict[str, None] = {}

    def depths(self) -> list[int]:
        """How many keys lead to each leaf from the argument of the call: trees are of (arguments, keywords)."""
        return [depth - 2 for depth in self._depths(self.table, 0)]

    def tree(self) -> ResultTree:
        """The tree with the numbers of its leaves; an object is the tuple of its parts, which ``notes`` tells."""
        return self._tree(self.table, count(), 0)

    def _children(self, table: Table, depth: int) -> list[Table]:
        children = list(table.tables(_CHILDREN))
        self.left -= 1 + len(children)
        if depth > _DEEPEST or self.left < 0:
            raise malformed(table.start)
        return children

    def _depths(self, table: Table, depth: int) -> Iterator[int]:
        if table.number(_KIND) == _LEAF:
            yield depth
        for child in self._children(table, depth):
            yield from self._depths(child, depth + 1)

    def _tree(self, table: Table, leaves: Iterator[int], depth: int) -> ResultTree:
        kind, children = table.number(_KIND), self._children(table, depth)
        if kind in (_LEAF, _NONE):
            return next(leaves) if kind == _LEAF else None
        parts = [self._tree(child, leaves, depth + 1) for child in children]
        if kind == _DICT:
            keys = table.texts(_KEYS)
            if len(keys) != len(parts):
                raise malformed(table.start)
            return dict(zip(keys, parts, strict=True))
        if kind > _DICT:
            self.notes[f"{table.text(_CLASS)} is returned as a plain tuple of its parts"] = None
        return parts if kind == _LIST else tuple(parts)
