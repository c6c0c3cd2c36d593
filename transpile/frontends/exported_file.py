"""What ``jax.export.Exported.serialize`` writes: a FlatBuffer with StableHLO, and the trees that its function takes.

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
# PyTreeDef, and what its kinds are
_KIND, _CHILDREN, _KEYS, _CLASS = 0, 1, 2, 3
_LEAF, _NONE, _TUPLE, _LIST, _DICT = range(5)
_DEEPEST = 64  # levels of a tree
_BYTECODE = b"ML\xefR"
_OFFSET = 4  # bytes of an offset, and of the length of a vector
_VTABLE_HEAD = 4  # bytes: its own size and the table's
_FIELD = 2  # bytes of a field's place in a vtable


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


# -- the wire format of FlatBuffers, read in place


@dataclass(frozen=True, slots=True)
class Table:
    """One table. All its readers raise ``UsageError`` (XP720) where the bytes are none."""

    message: memoryview
    start: int

    def number(self, field: int, size: int = 1) -> int:
        """A number of so many bytes, without a sign; 0 where there is none."""
        at = self._place(field)
        return _integer(self.message, at, size) if at else 0

    def bytes(self, field: int) -> memoryview:
        """The bytes of a string or of a vector of bytes; empty where there is none."""
        start, count = self._vector(field, 1)
        return self.message[start : start + count]

    def text(self, field: int) -> str:
        """A string."""
        return _text(self.bytes(field))

    def numbers(self, field: int, size: int) -> tuple[int, ...]:
        """A vector of numbers of so many bytes each."""
        start, count = self._vector(field, size)
        return tuple(_integer(self.message, start + size * k, size) for k in range(count))

    def tables(self, field: int) -> Iterator[Table]:
        """A vector of tables."""
        return (Table(self.message, place) for place in self._elements(field))

    def texts(self, field: int) -> tuple[str, ...]:
        """A vector of strings."""
        return tuple(_text(_sized(self.message, place)) for place in self._elements(field))

    def table(self, field: int) -> Table | None:
        """One table, None where there is none."""
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
        """The places that the offsets of a vector lead to."""
        start, count = self._vector(field, _OFFSET)
        places = (start + _OFFSET * k for k in range(count))
        return [place + _integer(self.message, place, _OFFSET) for place in places]


def root(message: memoryview) -> Table:
    """The table that a message is. Raises ``UsageError`` (XP720) where it has no place for one."""
    return Table(message, _integer(message, 0, _OFFSET))


def malformed(place: int) -> UsageError:
    """XP720: bytes that are not the message they should be."""
    return UsageError(Diagnostic("XP720", f"this is not a valid FlatBuffer: nothing can be read at byte {place}"))


def _integer(message: memoryview, at: int, size: int, *, signed: bool = False) -> int:
    if at < 0 or at + size > len(message):
        raise malformed(at)
    return int.from_bytes(message[at : at + size], "little", signed=signed)


def _sized(message: memoryview, at: int) -> memoryview:
    """The bytes behind their count."""
    count = _integer(message, at, _OFFSET)
    if at + _OFFSET + count > len(message):
        raise malformed(at)
    return message[at + _OFFSET : at + _OFFSET + count]


def _text(content: memoryview) -> str:
    return bytes(content).decode("utf-8", "replace")
