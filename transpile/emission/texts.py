"""Texts of indices, shapes, axes, constants and lists of devices: filters of the macros."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..array.node import Constant, Node, Slot
from .literals import number

LONGEST_LISTED = 32  # numbers that are written as a list
_MOST_PATTERNS = 4  # pairs in a repeated pattern
_NAMES = "ijkmnpqrstuvw"
_WIDE = "\u1100"  # the first letter that may take two columns


def quoted(text: str, kept: Container[str] = ()) -> str:
    """Return a string literal in black's quotes, which need less escaping, without three in a row; of other than plain
    ASCII, only the characters ``kept`` are unescaped.
    """
    quote = "'" if text.count('"') > text.count("'") and '"""' not in text else '"'
    escaped = "".join(c if c in kept else c.encode("unicode_escape").decode("ascii") for c in text)
    body = escaped.replace(quote, f"\\{quote}")
    return f"{quote}{body}{quote}"


def quoted_key(key: Any) -> str:
    """Return a key of a dict, a number, a string or a tuple of strings, as a literal; its letters stay unescaped."""
    if isinstance(key, tuple):
        return f"({', '.join(map(quoted_key, key))}{',' if len(key) == 1 else ''})"
    if isinstance(key, int):
        return str(key)
    return quoted(key, [c for c in key if "\x7f" < c < _WIDE and c.isalpha()])


def index_text(index: Sequence[Any], operands: Sequence[str], ndim: int, shown: Sequence[str] = ()) -> str:
    """Return ``:, None``, ``..., 0``, ``i, 1:``: trailing whole axes are left out, several leading ones become ``...``.

    ``shown`` are the final texts of the operands, if the operands are holes.
    """
    items = list(index)
    while items and items[-1] == ":" and len(items) > 1 and any(item != ":" for item in items[:-1]):
        items.pop()
    leading = 0
    while leading < len(items) and items[leading] == ":":
        leading += 1
    consumed = sum(item is not None for item in items)
    texts = [_item_text(item, operands, shown or operands) for item in items[leading:]]
    if leading > 1 and consumed == ndim:
        return ", ".join(["...", *texts])
    if leading >= 1 and consumed == ndim and items[-1] is None and len(texts) == 1:
        return ", ".join(["...", *texts]) if leading > 1 else ", ".join([":", *texts])
    return ", ".join([":"] * leading + texts)


_FEW = 8  # elements up to which each may have its own meaning, such as a position and a quaternion
_NEAR = 2  # elements between the bound of a slice and the end from which it is counted


def last_from_the_end(index: Sequence[Any], operands: Sequence[str], shape: Sequence[int]) -> list[Any]:
    """Return the index of an array with -1 for the last of more than a few elements, and ``:-1`` for those before."""
    sizes = iter(shape)
    found = []
    for item in index:
        size = next(sizes, 0) if item is not None else 0
        if size > _FEW and isinstance(item, tuple):
            item = _near_the_end(item, size)
        elif size > _FEW and (operands[item.index] if isinstance(item, Slot) else str(item)) == str(size - 1):
            item = -1
        found.append(item)
    return found


def _near_the_end(item: tuple[Any, ...], size: int) -> tuple[Any, ...]:
    """Return ``1:-1`` for a slice of all elements but one at each end, ``-2:`` for the last two."""
    start, stop, step = (*item, None)[:3]
    if isinstance(start, Slot) or isinstance(stop, Slot) or step is not None:
        return item
    if stop is None:
        return (start - size if start is not None and start >= size - _NEAR else start, None, None)
    is_near = size - _NEAR <= stop < size and 2 * ((start or 0) + _NEAR) < size
    return (start, stop - size, None) if is_near else item


def _item_text(item: Any, operands: Sequence[str], shown: Sequence[str]) -> str:
    if isinstance(item, Slot):
        return operands[item.index]
    if isinstance(item, tuple) and len(item) == 2:
        start, known, size = operands[item[0].index], shown[item[0].index], item[1]
        return f"{known}:{int(known) + size}" if known.isdigit() else f"{start} : {start} + {size}"
    if isinstance(item, tuple):
        start, stop, step = ("" if part is None else _item_text(part, operands, shown) for part in item)
        is_long = any(isinstance(part, Slot) and not _is_simple(shown[part.index]) for part in item)
        if is_long:
            steps = (f" : {step}" if stop else f": {step}") if step else ""
            return f"{start} : {stop}{steps}".strip() if stop else f"{start} :{steps}".strip()
        return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"
    return str(item)


def _is_simple(bound: str) -> bool:
    """Return whether a bound of a slice needs no spaces around the colon."""
    return bound.isidentifier() or bound.isdigit()


def shape_text(shape: Sequence[int]) -> str:
    """Return a shape, or axes, as an argument: ``8`` or ``(4, 8)``."""
    return str(shape[0]) if len(shape) == 1 else f"({', '.join(map(str, shape))})"


def sizes_text(shape: Sequence[int], lengths: Sequence[str] = ()) -> str:
    """Return sizes as the arguments of ``reshape``: ``4, 8``; ``()`` for a scalar.

    Sizes of -1 are replaced by ``lengths``, as far as there are any.
    """
    given = iter(lengths)
    return ", ".join(str(size) if size != -1 else next(given, "-1") for size in shape) or "()"


def widths_text(widths: Sequence[tuple[int, int]]) -> str:
    if len(set(widths)) == 1:
        low, high = widths[0]
        return str(low) if low == high else f"({low}, {high})"
    return f"({', '.join(f'({low}, {high})' for low, high in widths)})"


def axis_from_end(axis: int, ndim: int) -> int:
    """Return -1 for the last of several axes, else the axis."""
    return -1 if axis == ndim - 1 and ndim > 1 else axis


def axes_keyword(node: Node) -> str:
    """Return ``axis=-1``, ``axis=(0, 2)``, or an empty string if all axes are reduced."""
    axes, ndim = node.parameters["axes"], node.operands[0].ndim
    if len(axes) == ndim:
        return ""
    if len(axes) == 1:
        return f"axis={axis_from_end(axes[0], ndim)}"
    return f"axis={shape_text(axes)}"


def combined_axes(node: Node) -> str:
    """Return ``axis=0`` for the parts of a sum, or an empty string if all axes are summed."""
    axes = node.parameters["axes"]
    return "" if len(axes) == node.operands[0].ndim else f"axis={shape_text(axes)}"


def one_axis_keyword(node: Node) -> str:
    """Return ``axis=-1``, or an empty string if there is no other axis."""
    axis, ndim = node.parameters["axis"], node.operands[0].ndim
    return f"axis={axis_from_end(axis, ndim)}" if ndim > 1 else ""


def diagonal_of(node: Node) -> str:
    """Return the arguments that select a diagonal; an empty string for the main diagonal of a matrix."""
    offset, axes = node.parameters["offset"], node.parameters["axes"]
    return ", ".join([*([str(offset)] if offset else []), *(f"{name}={axis}" for name, axis in axes.items())])


def axis_keyword(axis: int) -> str:
    """Return ``, axis=1`` for an argument behind a list of arrays, or an empty string for the first axis."""
    return f", axis={axis}" if axis else ""


def contracted_axes(axes: tuple[tuple[int, ...], tuple[int, ...]], node: Node) -> str:
    """Return the ``axes`` of ``tensordot``: a count if the last axes are contracted with the first."""
    left, right = axes
    count, ndim = len(left), node.operands[0].ndim
    if left == tuple(range(ndim - count, ndim)) and right == tuple(range(count)):
        return str(count)
    if count == 1:
        return f"({left[0]}, {right[0]})"
    return f"({shape_text(left)}, {shape_text(right)})"


def swaps_last_two(axes: Sequence[int]) -> bool:
    n = len(axes)
    return n > 2 and tuple(axes) == (*range(n - 2), n - 1, n - 2)


def merges_or_splits(shape: Sequence[int], source: Sequence[int]) -> bool:
    """Return whether a reshape only merges runs of axes into one, or splits one into a run."""
    wanted, given = ([size for size in sizes if size != 1] for sizes in (shape, source))
    if 0 in wanted:
        return True
    k = n = 0
    while n < len(given):
        merged, split = 1, 1
        left, right = given[n], wanted[k]
        while left != right:
            if left < right:
                n, merged = n + 1, merged + 1
                left *= given[n]
            else:
                k, split = k + 1, split + 1
                right *= wanted[k]
        if merged > 1 and split > 1:
            return False
        n, k = n + 1, k + 1
    return True


def nested_text(constant: Constant, namespace: str) -> str:
    """Return a constant as a nested list of numbers."""
    array = constant.array
    if array.ndim == 0:
        return number(array, namespace)
    return _nested(array, namespace)


def _nested(array: np.ndarray, namespace: str) -> str:
    if array.ndim == 1:
        return f"[{', '.join(number(item, namespace) for item in array)}]"
    return f"[{', '.join(_nested(row, namespace) for row in array)}]"


class Counter(NamedTuple):
    """The loop ``for name in range(0, length * step, step)``."""

    name: str
    step: int
    length: int


class CountedGroups(NamedTuple):
    """Groups that begin at ``start`` plus the counters of ``groups``; their members add the counters of ``members``."""

    start: int
    groups: tuple[Counter, ...]
    members: tuple[Counter, ...]


class CountedPairs(NamedTuple):
    """The ``pattern`` of pairs, shifted by each of the ``repeats``; or a ring, which sends to the member ``turn``
    further.
    """

    repeats: tuple[Counter, ...]
    pattern: tuple[tuple[int, int], ...]
    ring: Counter | None = None
    turn: int = 0


def counted_groups(groups: Sequence[Sequence[int]]) -> CountedGroups | None:
    """Return the loops over groups of equal size, or None if the groups are few or irregular."""
    if sum(map(len, groups)) <= LONGEST_LISTED or not groups[0]:
        return None
    first = [number - groups[0][0] for number in groups[0]]
    if any([number - group[0] for number in group] != first for group in groups):
        return None
    starts, members = _digits([group[0] - groups[0][0] for group in groups]), _digits(first)
    if starts is None or not members or len(starts) + len(members) > len(_NAMES):
        return None
    counters = tuple(Counter(name, *digit) for name, digit in zip(_NAMES, starts + members, strict=False))
    return CountedGroups(groups[0][0], counters[: len(starts)], counters[len(starts) :])


def counted_pairs(pairs: Sequence[tuple[int, int]]) -> CountedPairs | None:
    """Return the loops over pairs of (source, target), or None if the pairs are few or irregular."""
    if 2 * len(pairs) <= LONGEST_LISTED:
        return None
    period = next(p for p in range(1, len(pairs) + 1) if len(pairs) % p == 0 and _repeats(pairs, p))
    step = pairs[period][0] - pairs[0][0] if period < len(pairs) else 0
    repeats = (Counter(_NAMES[0], step, len(pairs) // period),) if step else ()
    pattern = tuple(pairs[:period])
    if repeats and period <= _MOST_PATTERNS:
        return CountedPairs(repeats, pattern)
    if period < 2:
        return None
    step, length = pattern[1][0] - pattern[0][0], period * (pattern[1][0] - pattern[0][0])
    ring, turn = Counter(_NAMES[len(repeats)], step, period), pattern[0][1]
    is_ring = step > 0 and all(
        (source, target) == (k * step, (k * step + turn) % length) for k, (source, target) in enumerate(pattern)
    )
    return CountedPairs(repeats, pattern, ring, turn) if is_ring else None


def _repeats(pairs: Sequence[tuple[int, int]], period: int) -> bool:
    """Return whether each pair is the one ``period`` before with both ends shifted by one constant."""
    if period == len(pairs):
        return True
    step = pairs[period][0] - pairs[0][0]
    return step > 0 and all(
        (source + step, target + step) == after for (source, target), after in zip(pairs, pairs[period:], strict=False)
    )


def _digits(numbers: Sequence[int]) -> list[tuple[int, int]] | None:
    """Return the (step, count) of nested counters that produce the numbers, the outermost first, or None."""
    if len(numbers) == 1:
        return []
    step = numbers[1]
    count = next((k for k, number in enumerate(numbers) if number != k * step), len(numbers))
    outer = numbers[::count]
    follows = all(number == outer[k // count] + k % count * step for k, number in enumerate(numbers))
    if step <= 0 or len(numbers) % count or not follows:
        return None
    rest = _digits(outer)
    return None if rest is None else [*rest, (step, count)]
