"""The format of ``jax.export.Exported.serialize``: a FlatBuffer with StableHLO, and the pytrees of its function.

Field numbers are those of JAX's serialization.fbs, to which versions only add; neither JAX nor its reader is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from mmap import mmap

from ..dataclass import dataclass
from ..errors import Diagnostic, UsageError
from ..hlo.ir import ResultTree, Trees

# Exported
_IN_TREE, _OUT_TREE, _PLATFORMS, _PROGRAM, _KEPT = 2, 4, 9, 13, 15
# PyTreeDef, and its kinds
_KIND, _CHILDREN, _KEYS, _CLASS = 0, 1, 2, 3
_LEAF, _NONE, _TUPLE, _LIST, _DICT = range(5)
_DEEPEST = 64  # levels of a tree
_BYTECODE = b"ML\xefR"
_OFFSET = 4  # bytes of an offset, and of the length of a vector
_VTABLE_HEAD = 4  # bytes: its own size and the table's
_FIELD = 2  # bytes of a field's offset in a vtable


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A program as StableHLO bytecode, the platforms it was exported for, and its function's trees."""

    program: memoryview
    platforms: tuple[str, ...]
    trees: Trees


def is_exported(content: bytes | mmap) -> bool:
    """Return whether bytes are a FlatBuffer with StableHLO bytecode in the field of an export."""
    try:
        return root(memoryview(content)).bytes(_PROGRAM)[: len(_BYTECODE)] == _BYTECODE
    except UsageError:
        return False


def read_exported(content: bytes) -> ExportedFile:
    """Return the parts of an export. Raises ``UsageError`` (XP720) if its trees are invalid."""
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
    """One PyTreeDef. Shared parts count against the size of the file each time, which bounds the work."""

    def __init__(self, table: Table | None, size: int) -> None:
        if table is None:
            raise malformed(0)
        self.table = table
        self.left = size
        self.notes: dict[str, None] = {}

    def depths(self) -> list[int]:
        """Return the length of each leaf's path from the argument of the call: trees are of (arguments, keywords)."""
        return [depth - 2 for depth in self._depths(self.table, 0)]

    def tree(self) -> ResultTree:
        """Return the tree with the numbers of its leaves; an object becomes the tuple of its parts, with a note in
        ``notes``.
        """
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


# -- the wire format of FlatBuffers, read in place


@dataclass(frozen=True, slots=True)
class Table:
    """One table. All its methods raise ``UsageError`` (XP720) for invalid bytes."""

    message: memoryview
    start: int

    def number(self, field: int, size: int = 1) -> int:
        """Return an unsigned number of ``size`` bytes; 0 if the field is absent."""
        at = self._place(field)
        return _integer(self.message, at, size) if at else 0

    def bytes(self, field: int) -> memoryview:
        """Return the bytes of a string or of a vector of bytes; empty if the field is absent."""
        start, count = self._vector(field, 1)
        return self.message[start : start + count]

    def text(self, field: int) -> str:
        """Return a string."""
        return _text(self.bytes(field))

    def numbers(self, field: int, size: int) -> tuple[int, ...]:
        """Return a vector of numbers of ``size`` bytes each."""
        start, count = self._vector(field, size)
        return tuple(_integer(self.message, start + size * k, size) for k in range(count))

    def tables(self, field: int) -> Iterator[Table]:
        """Return an iterator over a vector of tables."""
        return (Table(self.message, place) for place in self._elements(field))

    def texts(self, field: int) -> tuple[str, ...]:
        """Return a vector of strings."""
        return tuple(_text(_sized(self.message, place)) for place in self._elements(field))

    def table(self, field: int) -> Table | None:
        """Return one table; None if the field is absent."""
        at = self._place(field)
        return Table(self.message, at + _integer(self.message, at, _OFFSET)) if at else None

    def _place(self, field: int) -> int:
        """Return the offset of a field's value, or 0 if the table lacks the field."""
        distance = _integer(self.message, self.start, _OFFSET, signed=True)
        vtable, entry = self.start - distance, _VTABLE_HEAD + _FIELD * field
        if _integer(self.message, vtable, _FIELD) < entry + _FIELD:
            return 0
        offset = _integer(self.message, vtable + entry, _FIELD)
        return self.start + offset if offset else 0

    def _vector(self, field: int, size: int) -> tuple[int, int]:
        """Return the offset of a vector's first element, and the number of elements."""
        at = self._place(field)
        if not at:
            return 0, 0
        start = at + _integer(self.message, at, _OFFSET)
        count = _integer(self.message, start, _OFFSET)
        if start + _OFFSET + count * size > len(self.message):
            raise malformed(start)
        return start + _OFFSET, count

    def _elements(self, field: int) -> list[int]:
        """Return the targets of the offsets in a vector."""
        start, count = self._vector(field, _OFFSET)
        places = (start + _OFFSET * k for k in range(count))
        return [place + _integer(self.message, place, _OFFSET) for place in places]


def root(message: memoryview) -> Table:
    """Return the root table of a message. Raises ``UsageError`` (XP720) if the message is too short."""
    return Table(message, _integer(message, 0, _OFFSET))


def malformed(place: int) -> UsageError:
    """Return the error XP720: bytes that are not a valid message."""
    return UsageError(Diagnostic("XP720", f"this is not a valid FlatBuffer: nothing can be read at byte {place}"))


def _integer(message: memoryview, at: int, size: int, *, signed: bool = False) -> int:
    if at < 0 or at + size > len(message):
        raise malformed(at)
    return int.from_bytes(message[at : at + size], "little", signed=signed)


def _sized(message: memoryview, at: int) -> memoryview:
    """Return the bytes behind their length."""
    count = _integer(message, at, _OFFSET)
    if at + _OFFSET + count > len(message):
        raise malformed(at)
    return message[at + _OFFSET : at + _OFFSET + count]


def _text(content: memoryview) -> str:
    return bytes(content).decode("utf-8", "replace")
