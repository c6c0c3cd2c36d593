"""The container of MLIR's bytecode: sections, strings, dialects, tables of attributes and types, operations.

Source: https://mlir.llvm.org/docs/BytecodeFormat, versions 0 to 6. How a dialect encodes its attributes and types
is in :mod:`.encodings`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..dataclass import dataclass
from ..errors import UsageError
from ..hlo.source import Diagnostic, SourceText, Span
from .program import UNKNOWN, Argument, Location, Operation, Region, Value
from .properties import PROPERTIES, VERSIONED

MAGIC = b"ML\xefR"
_NEWEST = 6
_WITH_DIALECT_VERSIONS, _LAZY, _WITH_USE_ORDERS, _ELIDED_LOCATIONS, _WITH_PROPERTIES = 1, 2, 3, 4, 5
_STRINGS, _DIALECTS, _ATTRIBUTES, _OFFSETS, _OPERATIONS, _PROPERTIES = 0, 1, 2, 3, 4, 8
_HAS_ATTRIBUTES, _HAS_RESULTS, _HAS_OPERANDS, _HAS_SUCCESSORS = 1, 2, 4, 8
_HAS_REGIONS, _HAS_USE_ORDERS, _HAS_PROPERTIES = 16, 32, 64
_DEEPEST = 64  # regions in regions


class Stream:
    """Bytes that are read one after the other. Raises ``UsageError`` (XP431) where they end too early."""

    def __init__(self, content: memoryview, name: str, base: int = 0) -> None:
        self.content = content
        self.name = name
        self.base = base
        self.position = 0

    @property
    def is_empty(self) -> bool:
        return self.position >= len(self.content)

    def error(self, message: str) -> UsageError:
        """XP431 at the place of the stream."""
        text = f"this is no StableHLO bytecode that can be read: {message}, at byte {self.base + self.position}"
        return UsageError(Diagnostic("XP431", text, None, SourceText("", self.name)))

    def byte(self) -> int:
        if self.position >= len(self.content):
            raise self.error("it ends too early")
        self.position += 1
        return self.content[self.position - 1]

    def bytes(self, count: int) -> memoryview:
        """So many bytes, in place."""
        start = self.position
        if count < 0 or start + count > len(self.content):
            raise self.error("it ends too early")
        self.position = start + count
        return self.content[start : self.position]

    def part(self, count: int) -> Stream:
        """A stream of the next bytes."""
        start = self.position
        return Stream(self.bytes(count), self.name, self.base + start)

    def number(self) -> int:
        """A number in as many bytes as the zeros at the low end of the first say."""
        first = self.byte()
        if first & 1:
            return first >> 1
        if first == 0:
            return int.from_bytes(self.bytes(8), "little")
        more = (first & -first).bit_length() - 1
        self.position -= 1
        return int.from_bytes(self.bytes(more + 1), "little") >> (more + 1)

    def signed(self) -> int:
        """A number whose sign is its lowest bit."""
        value = self.number()
        return (value >> 1) ^ -(value & 1)

    def flagged(self) -> tuple[int, bool]:
        """A number above a flag."""
        value = self.number()
        return value >> 1, bool(value & 1)

    def count(self) -> int:
        """How many things follow, each of a byte or more."""
        value = self.number()
        if value > len(self.content) - self.position:
            raise self.error(f"it does not hold {value} more parts")
        return value

    def text(self) -> str:
        """A text up to a null."""
        start = self.position
        rest = bytes(self.content[start:])
        end = rest.find(0)
        if end < 0:
            raise self.error("a text is never closed")
        self.position = start + end + 1
        return rest[:end].decode("utf-8", "replace")

    def section(self) -> tuple[int, Stream]:
        """The kind and the content of a section."""
        kind = self.byte()
        length = self.number()
        if kind & 128:
            alignment = self.number()
            while alignment and (self.base + self.position) % alignment:
                self.byte()
        return kind & 127, self.part(length)


@dataclass(slots=True)
class Entry:
    """One attribute or type: its dialect, and its bytes, of which it is a text where they are not ``encoded``."""

    dialect: str
    stream: Stream
    is_encoded: bool


class Decoder:
    """What a dialect's encodings read: numbers of the entry, and other entries by their numbers."""

    def __init__(self, file: BytecodeFile, stream: Stream) -> None:
        self.file = file
        self.stream = stream
        self.missing: list[tuple[bool, int]] = []

    def string(self) -> str:
        """A string of the file."""
        return self.file.string(self.stream.number(), self.stream)

    def attribute(self) -> Any:
        """Another attribute; None as long as it is not read yet."""
        return self._entry(is_type=False, number=self.stream.number())

    def type(self) -> Any:
        """A type; None as long as it is not read yet."""
        return self._entry(is_type=True, number=self.stream.number())

    def optional_attribute(self) -> Any:
        """An attribute, or None."""
        number, is_there = self.stream.flagged()
        return self._entry(is_type=False, number=number) if is_there else None

    def listed(self, read: Callable[[], Any]) -> tuple[Any, ...]:
        """So many of what ``read`` reads."""
        return tuple(read() for _ in range(self.stream.count()))

    def signed_numbers(self) -> tuple[int, ...]:
        return self.listed(self.stream.signed)

    def _entry(self, *, is_type: bool, number: int) -> Any:
        key = (is_type, number)
        if key not in self.file.known:
            self.missing.append(key)
        return self.file.known.get(key)


Decode = Callable[[Decoder, str, bool], Any]  # the value of an encoded entry of a dialect, a type or not
Parse = Callable[[str, bool], Any]  # the value of an entry that is a text


class BytecodeFile:
    """The tables of a file and the operations at its top."""

    def __init__(self, content: bytes, name: str, decode: Decode, parse: Parse) -> None:
        self.name = name
        self.decode, self.parse = decode, parse
        self.known: dict[tuple[bool, int], Any] = {}
        stream = Stream(memoryview(content), name)
        if bytes(stream.bytes(len(MAGIC))) != MAGIC:
            raise stream.error("it does not begin as such")
        self.version = stream.number()
        if self.version > _NEWEST:
            raise stream.error(f"its format has version {self.version}, and the newest that is known is {_NEWEST}")
        self.producer = stream.text()
        sections: dict[int, Stream] = {}
        while not stream.is_empty:
            kind, section = stream.section()
            sections[kind] = section
        needed = (_STRINGS, _DIALECTS, _ATTRIBUTES, _OFFSETS, _OPERATIONS)
        if any(kind not in sections for kind in needed):
            raise stream.error("a section is missing")
        self.strings = list(_strings(sections[_STRINGS]))
        self.dialects, self.operation_names = self._dialects(sections[_DIALECTS])
        self.entries = self._entries(sections[_OFFSETS], sections[_ATTRIBUTES])
        self.properties = list(_parts(sections[_PROPERTIES])) if _PROPERTIES in sections else []
        self.body = sections[_OPERATIONS]

    def string(self, number: int, stream: Stream) -> str:
        if number >= len(self.strings):
            raise stream.error(f"there is no string {number}")
        return self.strings[number]

    def _dialects(self, stream: Stream) -> tuple[list[str], list[str]]:
        """The names of dialects and of operations."""
        dialects: list[str] = []
        for _ in range(stream.count()):
            if self.version < _WITH_DIALECT_VERSIONS:
                dialects.append(self.string(stream.number(), stream))
                continue
            number, has_version = stream.flagged()
            dialects.append(self.string(number, stream))
            if has_version:
                stream.section()
        if self.version >= _ELIDED_LOCATIONS:
            stream.number()  # of operations
        names: list[str] = []
        while not stream.is_empty:
            dialect = self._dialect(dialects, stream)
            for _ in range(stream.count()):
                number = stream.flagged()[0] if self.version >= _WITH_PROPERTIES else stream.number()
                names.append(f"{dialect}.{self.string(number, stream)}")
        return dialects, names

    def _dialect(self, dialects: list[str], stream: Stream) -> str:
        number = stream.number()
        if number >= len(dialects):
            raise stream.error(f"there is no dialect {number}")
        return dialects[number]

    def _entries(self, offsets: Stream, content: Stream) -> dict[tuple[bool, int], Entry]:
        """Where each attribute and type stands."""
        counts = [offsets.number(), offsets.number()]
        entries: dict[tuple[bool, int], Entry] = {}
        for is_type, count in enumerate(counts):
            number = 0
            while number < count:
                dialect = self._dialect(self.dialects, offsets)
                for _ in range(offsets.count()):
                    size, is_encoded = offsets.flagged()
                    entries[bool(is_type), number] = Entry(dialect, content.part(size), is_encoded)
                    number += 1
        return entries

    def value(self, number: int, *, is_type: bool, stream: Stream) -> Any:
        """An attribute or a type, those first that it is made of, without recursion."""
        key = (is_type, number)
        if key in self.known:
            return self.known[key]
        waiting, opened = [key], set[tuple[bool, int]]()
        while waiting:
            each = waiting[-1]
            if each in self.known:
                waiting.pop()
                continue
            entry = self.entries.get(each)
            if entry is None:
                raise stream.error(f"there is no {'type' if each[0] else 'attribute'} {each[1]}")
            entry.stream.position = 0
            decoder = Decoder(self, entry.stream)
            value = self._decoded(decoder, entry, each[0])
            if not decoder.missing:
                self.known[each] = value
                waiting.pop()
            elif each in opened:
                raise entry.stream.error("an attribute is a part of itself")
            else:
                opened.add(each)
                waiting += decoder.missing
        return self.known[key]

    def _decoded(self, decoder: Decoder, entry: Entry, is_type: bool) -> Any:
        if not entry.is_encoded:
            return self.parse(entry.stream.text(), is_type)
        return self.decode(decoder, entry.dialect, is_type)

    def operations(self) -> list[Operation]:
        """The operations at the top of the file."""
        return _Body(self).top()


def _strings(stream: Stream) -> Iterator[str]:
    sizes = [stream.number() for _ in range(stream.count())]
    for size in reversed(sizes):
        yield bytes(stream.bytes(size)[:-1]).decode("utf-8", "replace")


def _parts(stream: Stream) -> Iterator[Stream]:
    """The properties of operations, each behind its size."""
    for _ in range(stream.count()):
        yield stream.part(stream.number())


class _Body:
    """Reads operations. Values have numbers in the region that is isolated around them."""

    def __init__(self, file: BytecodeFile) -> None:
        self.file = file
        self.values: list[Value | None] = []
        self.next = 0
        self.depth = 0

    def top(self) -> list[Operation]:
        region = Region()
        self._block(self.file.body, region)
        return region.operations

    def _block(self, stream: Stream, region: Region) -> None:
        count, has_arguments = stream.flagged()
        if has_arguments:
            self._arguments(stream, region)
        for _ in range(count):
            region.operations.append(self._operation(stream))

    def _arguments(self, stream: Stream, region: Region) -> None:
        for _ in range(stream.count()):
            has_location = True
            if self.file.version >= _ELIDED_LOCATIONS:
                number, has_location = stream.flagged()
            else:
                number = stream.number()
            value = Argument(self.file.value(number, is_type=True, stream=stream))
            if has_location:
                value.location = self._location(stream)
            region.arguments.append(value)
        self._define(region.arguments, self.next, stream)
        self.next += len(region.arguments)
        if self.file.version >= _WITH_USE_ORDERS and stream.byte():
            self._pass_use_orders(stream, len(region.arguments))

    def _define(self, values: Sequence[Value], first: int, stream: Stream) -> None:
        """Let values have the numbers from one on, which the regions of their operation do not see yet."""
        if first + len(values) > len(self.values):
            raise stream.error("a region defines more values than it says")
        self.values[first : first + len(values)] = values

    def _pass_use_orders(self, stream: Stream, count: int) -> None:
        for _ in range(stream.count() if count > 1 else 1):
            if count > 1:
                stream.number()
            uses, _ = stream.flagged()
            for _ in range(min(uses, len(stream.content))):
                stream.number()

    def _operation(self, stream: Stream) -> Operation:
        file = self.file
        number = stream.number()
        if number >= len(file.operation_names):
            raise stream.error(f"there is no operation {number}")
        mask = stream.byte()
        location = self._location(stream)
        attributes = file.value(stream.number(), is_type=False, stream=stream) if mask & _HAS_ATTRIBUTES else {}
        attributes = dict(attributes) if isinstance(attributes, dict) else {}
        if mask & _HAS_PROPERTIES:
            attributes |= self._properties(file.operation_names[number], stream)
        types = [stream.number() for _ in range(stream.count())] if mask & _HAS_RESULTS else []
        results = [Value(file.value(each, is_type=True, stream=stream)) for each in types]
        operands = [self._operand(stream) for _ in range(stream.count())] if mask & _HAS_OPERANDS else []
        if mask & _HAS_SUCCESSORS:
            raise stream.error("jumps between blocks are not read")
        if mask & _HAS_USE_ORDERS:
            self._pass_use_orders(stream, len(results))
        first, self.next = self.next, self.next + len(results)
        regions = self._regions(stream) if mask & _HAS_REGIONS else ()
        made = Operation(file.operation_names[number], operands, results, attributes, regions, location, Span(0, 0))
        self._define(results, first, stream)
        return made

    def _location(self, stream: Stream) -> Location:
        found = self.file.value(stream.number(), is_type=False, stream=stream)
        return found if isinstance(found, Location) else UNKNOWN

    def _properties(self, name: str, stream: Stream) -> dict[str, Any]:
        """The properties that are attributes of an operation, of those whose form is known."""
        number = stream.number()
        if number >= len(self.file.properties):
            raise stream.error(f"there are no properties {number}")
        if name not in PROPERTIES and name.rpartition("_v")[0] in VERSIONED:
            raise stream.error(f"the operation {name} has a later version than those that are known")
        own = self.file.properties[number]
        own.position = 0
        found: dict[str, Any] = {}
        for key, is_optional in PROPERTIES.get(name, ()):
            if own.is_empty:
                break
            index, is_there = own.flagged() if is_optional else (own.number(), True)
            if is_there:
                found[key] = self.file.value(index, is_type=False, stream=own)
        return found

    def _operand(self, stream: Stream) -> Value:
        number = stream.number()
        value = self.values[number] if number < len(self.values) else None
        if value is None:
            raise stream.error(f"there is no value {number} before it is used")
        return value

    def _regions(self, stream: Stream) -> list[Region]:
        regions: list[Region] = []
        count, is_isolated = stream.flagged()
        self.depth += 1
        if self.depth > _DEEPEST:
            raise stream.error(f"nested more than {_DEEPEST} levels deep")
        if is_isolated and self.file.version >= _LAZY:
            _, stream = stream.section()
        for _ in range(min(count, len(stream.content))):
            with self._values_of(is_isolated=is_isolated):
                regions.append(self._region(stream))
        self.depth -= 1
        return regions

    @contextmanager
    def _values_of(self, *, is_isolated: bool) -> Iterator[None]:
        outer, following, count = self.values, self.next, len(self.values)
        if is_isolated:
            self.values = []
        self.next = len(self.values)
        yield
        self.values, self.next = outer, following
        del self.values[count:]

    def _region(self, stream: Stream) -> Region:
        region = Region()
        blocks = stream.number()
        if not blocks:
            return region
        if blocks > 1:
            raise stream.error("jumps between blocks are not read")
        self.values += [None] * stream.count()
        self._block(stream, region)
        return region
