"""How the threads of a CUDA kernel share the lines of its loop."""

from __future__ import annotations

from ....transpile.array.program import tree_nodes
from ....transpile.dataclass import dataclass
from ....transpile.hlo.element_types import ElementType
from ....transpile.kernels.kernel import Kernel
from ....transpile.kernels.lines import Lines
from ....transpile.kernels.phases import Phases, everything, nothing, phases

_WARP = 32  # threads that exchange numbers in registers
_SMALL_BLOCK = 128  # threads
_LARGEST_BLOCK = 1024  # threads
_MANY_BLOCKS = 512  # enough to occupy a device with small blocks
_MANY_ROWS = 1024  # enough to occupy a device with one thread a row
_MORE_ROWS = 1 << 14  # enough to occupy a device with a part of a warp a row
_MOST_KEPT = 32  # registers for elements and running reductions
_AT_ONCE, _NARROW_AT_ONCE = 4, 8  # adjacent elements of one read, and those of 16-bit floats
_SHORT_SHARE, _LONGEST_SHARE = 8, 16  # elements of a line that a thread keeps in registers in registers
_SHARE = 12  # elements of a row that a thread keeps if a part of a warp has the row


@dataclass(frozen=True, slots=True)
class Launch:
    """How threads share lines: ``width`` threads a line, ``together`` lines a block, ``parts`` blocks a line.

    A thread keeps ``each`` elements of its line in registers, or none if that is 0; ``neighbours`` of these are
    adjacent, and are one read and write if ``in_groups``. If ``in_loops``, a thread loops over its share of the line;
    otherwise it has one element. If ``sizes_are_free``, the kernel works for any length and number of lines.
    """

    lines: Lines
    width: int
    together: int
    each: int
    in_loops: bool
    parts: int = 1
    sizes_are_free: bool = False
    neighbours: int = 1
    in_groups: bool = False

    @property
    def threads(self) -> int:
        return self.width * self.together

    @property
    def bounds(self) -> tuple[int, ...]:
        """The arguments of ``__launch_bounds__``: the threads of a block and, if threads keep elements, the least
        number of resident blocks, so that the compiler does not spill registers.
        """
        return (self.threads, -(-_LARGEST_BLOCK // self.threads)) if self.each > 1 else (self.threads,)

    @property
    def blocks(self) -> int:
        return -(-self.lines.count // self.together)

    @property
    def grid(self) -> tuple[int, ...]:
        """The size of the grid: the blocks, and the blocks that share a line if there are several."""
        return (self.blocks, self.parts) if self.parts > 1 else (self.blocks,)

    @property
    def has_spare_lines(self) -> bool:
        """Whether the last block may have fewer lines than the others."""
        return self.together > 1 if self.sizes_are_free else self.lines.count % self.together != 0

    @property
    def has_spare_threads(self) -> bool:
        """Whether there are threads without an element. In loops there are none: a thread without a line repeats the
        last line.
        """
        return not self.in_loops and (self.width != self.lines.length or self.has_spare_lines)


def launched(kernel: Kernel) -> tuple[Launch, Phases]:
    """Return the launch of a kernel that computes by lines, and the phases of its loops."""
    lines = kernel.lines
    assert lines is not None
    found = phases(kernel, everything)
    registers = _MOST_KEPT - len(kernel.reductions)
    most = max(registers, 0) // max(found.words, 1)  # elements that a thread can keep
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
    """Return the launch and the phases of a kernel for lines of any length: the threads of a block loop over
    each line.
    """
    assert kernel.lines is not None
    together = 1 if kernel.lines.are_rows else _WARP
    width = _SMALL_BLOCK if kernel.lines.are_rows else _LARGEST_BLOCK // _WARP
    return Launch(kernel.lines, width, together, 0, in_loops=True, sizes_are_free=True), phases(kernel, nothing)


def _short_rows(lines: Lines) -> Launch:
    """Return a launch of one thread for each element, with several short rows in a block or one row of up to 1024
    elements.
    """
    if lines.length > _WARP or lines.count == 1:
        return Launch(lines, _in_warps(lines.length), 1, 1, in_loops=False)
    width = _power(lines.length)
    return Launch(lines, width, _SMALL_BLOCK // width, 1, in_loops=False)


def _at_once(kernel: Kernel) -> int:
    """Return how many adjacent elements one read takes.

    The compiler vectorizes reads of 32-bit and 64-bit numbers. 16-bit floats are C++ classes, which it does not: these
    are read as explicit groups, if rows are contiguous.
    """
    types = {node.type for node in (*kernel.function.parameters, *kernel.outputs)}
    narrow = {each for each in types if is_narrow_float(each)}
    if not all(each.bits in (32, 64) and not each.is_complex for each in types - narrow):
        return 1
    assert kernel.lines is not None
    return _AT_ONCE if not narrow else _NARROW_AT_ONCE if len(kernel.lines.stretches) <= 2 else 1


def is_narrow_float(element_type: ElementType) -> bool:
    """Return whether an element type is a 16-bit float, which is a C++ class."""
    return element_type.is_floating and element_type.bits == 16


def _of_rows(lines: Lines, most: int, at_once: int) -> tuple[int, int, int]:
    """Return (width, together, neighbours) of rows: a warp or a part of one for each row whose elements its threads can
    keep, with several rows in a block; a block for each longer row.
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
    """Return how many threads of a warp share a row: as few as can keep it in short shares of whole groups, if there
    are enough rows to occupy a device.
    """
    sizes = [n for n in (_WARP // 4, _WARP // 2) if lines.length % (n * _AT_ONCE) == 0 and lines.length <= n * _SHARE]
    return sizes[0] if sizes and lines.count >= _MORE_ROWS else _WARP


def _of_columns(lines: Lines) -> tuple[int, int]:
    """Return (width, together) of columns: adjacent threads have adjacent columns; the rows of long columns are divided
    among groups of threads.
    """
    if lines.length <= _LONGEST_SHARE:
        return 1, _SMALL_BLOCK
    together = min(_power(lines.count), _WARP)
    is_small = lines.count >= _MANY_BLOCKS * together or lines.length <= _SMALL_BLOCK
    return (2 * _SMALL_BLOCK if is_small else _LARGEST_BLOCK) // together, together


def _power(count: int) -> int:
    """Return the least power of two that is not below a number."""
    return 1 << (count - 1).bit_length()


def _in_warps(threads: int) -> int:
    return -(-threads // _WARP) * _WARP
