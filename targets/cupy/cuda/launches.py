"""How the threads of a CUDA kernel share the lines of its loop."""

from __future__ import annotations

from ....transpile.array.program import tree_nodes
from ....transpile.dataclass import dataclass
from ....transpile.hlo.element_types import ElementType
from ....transpile.kernels.kernel import Kernel
from ....transpile.kernels.lines import Lines
from ....transpile.kernels.phases import Phases, everything, nothing, phases

_WARP = 32  # threads that exchange numbers without memory
_SMALL_BLOCK = 128  # threads, of several short lines
_LARGEST_BLOCK = 1024  # threads
_MANY_BLOCKS = 512  # that keep a device busy also if they are small
_MANY_ROWS = 1024  # of which a thread each is enough threads
_MORE_ROWS = 1 << 14  # of which a part of a warp each is
_MOST_KEPT = 32  # registers, of elements and of what is reduced
_AT_ONCE, _NARROW_AT_ONCE = 4, 8  # neighbouring elements that a thread reads at once, also of floats of two bytes
_SHORT_SHARE, _LONGEST_SHARE = 8, 16  # elements of a line that a thread keeps
_SHARE = 12  # elements of a row of a part of a warp


@dataclass(frozen=True, slots=True)
class Launch:
    """``width`` threads share a line, ``together`` lines a block; each keeps ``each`` elements, or none if that is 0.

    ``in_loops`` tells whether threads go over their shares in loops; otherwise each has one element. Of what they keep,
    ``neighbours`` lie beside each other. Where ``in_groups``, these are all, and are read and written as one. Where
    ``sizes_are_free``, lines may be of any length and count.
    """

    lines: Lines
    width: int
    together: int
    each: int
    in_loops: bool
    parts: int = 1  # of a line, each for a block
    sizes_are_free: bool = False
    neighbours: int = 1
    in_groups: bool = False

    @property
    def threads(self) -> int:
        return self.width * self.together

    @property
    def bounds(self) -> tuple[int, ...]:
        """Return what the compiler is told of a block: its threads and, where they keep elements, how many blocks are
        to run together, so that it does not save registers by memory.
        """
        return (self.threads, -(-_LARGEST_BLOCK // self.threads)) if self.each > 1 else (self.threads,)

    @property
    def blocks(self) -> int:
        return -(-self.lines.count // self.together)

    @property
    def grid(self) -> tuple[int, ...]:
        """Return the number of blocks, and of those that share their lines."""
        return (self.blocks, self.parts) if self.parts > 1 else (self.blocks,)

    @property
    def has_spare_lines(self) -> bool:
        """The last block may have fewer lines than the others."""
        return self.together > 1 if self.sizes_are_free else self.lines.count % self.together != 0

    @property
    def has_spare_threads(self) -> bool:
        """Tell whether threads have no element. In loops, those without a line do what those of the last do."""
        return not self.in_loops and (self.width != self.lines.length or self.has_spare_lines)


def launched(kernel: Kernel) -> tuple[Launch, Phases]:
    """The threads of a kernel that computes by lines, and their loops."""
    lines = kernel.lines
    assert lines is not None
    found = phases(kernel, everything)
    registers = _MOST_KEPT - len(kernel.reductions)
    most = max(registers, 0) // max(found.words, 1)  # elements of a thread
    are_many = lines.are_rows and lines.length <= _LONGEST_SHARE and lines.count >= _MANY_ROWS
    if are_many and kernel.of_lines.issuperset(tree_nodes(kernel.function.results)):
        each, found = (lines.length, found) if lines.length <= most else (0, phases(kernel, nothing))
        return Launch(lines, 1, _SMALL_BLOCK, each, in_loops=True), found
    if lines.are_rows and (lines.length <= _WARP or (lines.length <= _LARGEST_BLOCK and not most)):
        return _short_rows(lines), found
    at_once = _at_once(kernel)
    width, together, neighbours = _of_rows(lines, most or 1, at_once) if lines.are_rows else (*_of_columns(lines), 1)
    in_groups = at_once == _NARROW_AT_ONCE and neighbours > 1
    each = -(-lines.length // (width * neighbours)) * neighbours
    if in_groups and each > neighbours:
        width, together, neighbours = _of_rows(lines, most or 1, 1)
        in_groups, each = False, -(-lines.length // width)
    if each > _LONGEST_SHARE or kernel.parts > 1 or not 0 < each * found.words <= registers:
        each, neighbours, in_groups, found = 0, 1, False, phases(kernel, nothing)
    launch = Launch(lines, width, together, each, True, kernel.parts, neighbours=neighbours, in_groups=in_groups)
    return launch, found


def launched_at_any_size(kernel: Kernel) -> tuple[Launch, Phases]:
    """The threads of a kernel whose lines may be of any length: those of a block go over each line in loops."""
    assert kernel.lines is not None
    together = 1 if kernel.lines.are_rows else _WARP
    width = _SMALL_BLOCK if kernel.lines.are_rows else _LARGEST_BLOCK // _WARP
    return Launch(kernel.lines, width, together, 0, in_loops=True, sizes_are_free=True), phases(kernel, nothing)


def _short_rows(lines: Lines) -> Launch:
    """A thread for each element; several rows in a block, or one that is all there is."""
    if lines.length > _WARP or lines.count == 1:
        return Launch(lines, _in_warps(lines.length), 1, 1, in_loops=False)
    width = _power(lines.length)
    return Launch(lines, width, _SMALL_BLOCK // width, 1, in_loops=False)


def _at_once(kernel: Kernel) -> int:
    """Return how many neighbours are read at once. The compiler joins the reads of numbers of 32 and 64 bits. Floats of
    two bytes are classes of C++, whose reads it does not join: they are read in groups, of rows that lie behind each
    other.
    """
    types = {node.type for node in (*kernel.function.parameters, *kernel.outputs)}
    narrow = {each for each in types if is_narrow_float(each)}
    if not all(each.bits in (32, 64) and not each.is_complex for each in types - narrow):
        return 1
    assert kernel.lines is not None
    return _AT_ONCE if not narrow else _NARROW_AT_ONCE if len(kernel.lines.stretches) <= 2 else 1


def is_narrow_float(element_type: ElementType) -> bool:
    """Tell whether numbers are floats of two bytes, which are classes of C++."""
    return element_type.is_floating and element_type.bits == 16


def _of_rows(lines: Lines, most: int, at_once: int) -> tuple[int, int, int]:
    """A warp for each row, or a part of one, where its threads can keep all of it, several in a block; else a block for
    each row. Threads read neighbours at once where rows are as long as some of them.
    """
    width = _part_of_warp(lines)
    most_at_once = min(most, at_once, lines.length // width)
    sizes = (n for n in (2, 4, 8) if n <= most_at_once and lines.length % n == 0)
    neighbours = max(sizes, default=1)
    longest = min(most, _LONGEST_SHARE) // neighbours * neighbours if at_once <= _AT_ONCE else neighbours
    if lines.length <= width * longest:
        full = _SMALL_BLOCK // width
        rest = full if lines.count > _MANY_ROWS else 1  # the last of many blocks may have fewer rows
        together = next((n for n in (full, full // 2) if lines.count % n == 0), rest)
        return width, together, neighbours
    share = _SHORT_SHARE if lines.length <= _SHORT_SHARE * _LARGEST_BLOCK else _LONGEST_SHARE
    share = min(share // neighbours * neighbours, longest)
    return min(_in_warps(-(-lines.length // share)), _LARGEST_BLOCK), 1, neighbours


def _part_of_warp(lines: Lines) -> int:
    """Return how many threads of a warp share a row: as few as can have it in short shares of whole groups, if the rows
    of all warps keep a device busy.
    """
    sizes = [n for n in (_WARP // 4, _WARP // 2) if lines.length % (n * _AT_ONCE) == 0 and lines.length <= n * _SHARE]
    return sizes[0] if sizes and lines.count >= _MORE_ROWS else _WARP


def _of_columns(lines: Lines) -> tuple[int, int]:
    """Neighbouring threads have neighbouring columns; of long ones, several groups of rows."""
    if lines.length <= _LONGEST_SHARE:
        return 1, _SMALL_BLOCK
    together = min(_power(lines.count), _WARP)
    is_small = lines.count >= _MANY_BLOCKS * together or lines.length <= _SMALL_BLOCK
    return (2 * _SMALL_BLOCK if is_small else _LARGEST_BLOCK) // together, together


def _power(count: int) -> int:
    """The power of two that is not below a number."""
    return 1 << (count - 1).bit_length()


def _in_warps(threads: int) -> int:
    return -(-threads // _WARP) * _WARP
