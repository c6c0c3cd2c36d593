"""Results that stand one after the other in a list, in the tree that is returned: ``"layers": new_layers``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...hlo.ir import Built
from ..trees.result_trees import Spread, display, quoted
from .rerolled_loops import LEAST_CALLS, numbered, scaled_numbers

_ITEM = re.compile(r"(\w+)\[(\d+)\](.*)", re.ASCII)
# Texts that count may differ in integers and strings, but not in the digits of floats.
_COUNTED = re.compile(r"(?<![\w.])(?<!e[-+])\d+(?![\w.])|\"[^\"]*\"|'[^']*'", re.ASCII)
_OF_LIST = re.compile(r"(?<![\w.])(\w+)\[$", re.ASCII)
_COUNTER = re.compile(r"\bi\b", re.ASCII)

Run = tuple[str, str, range]  # a list, what stands behind each of its items, and the numbers of these
Lists = Mapping[str, int]  # with the length of each


def with_runs(tree: Any, lists: Lists) -> Any:
    """Return a tree of texts in which those that only differ in the number of items of a list are said once."""
    if not lists:
        return tree
    if isinstance(tree, Built):
        return replace(tree, parts=tuple(with_runs(part, lists) for part in tree.parts))
    if isinstance(tree, dict):
        return dict(_of_dict({key: with_runs(part, lists) for key, part in tree.items()}, lists))
    if isinstance(tree, list | tuple):
        found = _of_sequence([with_runs(part, lists) for part in tree], lists)
        if isinstance(tree, list) and len(found) == 1 and isinstance(found[0], str) and found[0].startswith("*"):
            return _alone(found[0])
        return type(tree)(found)
    return tree


def _alone(spread: str) -> str:
    """A list of nothing but the items that are spread."""
    inner = spread[1:]
    return f"[{inner[1:-1]}]" if inner.startswith("(") else inner


def _of_sequence(parts: Sequence[Any], lists: Lists) -> list[Any]:
    found: list[Any] = []
    for run, members in _runs(parts, lists):
        found += members if run is None or len(members) < LEAST_CALLS else [f"*{_items(run, lists)}"]
    if len(found) == len(parts) >= LEAST_CALLS:
        counted = _counted([display(part, outermost=False) for part in parts], lists)
        if counted is not None:
            text, numbers = counted
            return [f"*({text} for i in {_range(numbers)})"]
    return found


def _items(run: Run, lists: Lists) -> str:
    name, behind, numbers = run
    if numbers.step < 0:
        first = str(numbers[0]) if numbers[0] < lists[name] - 1 else ""
        part = f"{name}[{first}:{numbers[-1] - 1 if numbers[-1] else ''}:-1]"
    else:
        end = numbers[-1] + 1
        begin, end_text = str(numbers[0] or ""), "" if end == lists[name] else str(end)
        part = name if not begin and not end_text else f"{name}[{begin}:{end_text}]"
    return f"(each{behind} for each in {part})" if behind else part


def _of_dict(tree: dict[Any, Any], lists: Lists) -> Iterator[tuple[Any, Any]]:
    """The items of a dict; those whose keys count as their values do together, where the first of them stands."""
    groups: dict[Any, list[tuple[int, str, str]]] = {}  # by what they share: numbers, keys and texts
    for key, part in tree.items():
        counted = numbered([key]) if isinstance(key, str) else None
        if counted is not None:
            text = display(part, outermost=False)
            groups.setdefault((counted[0], *_COUNTED.split(text)), []).append((counted[1][0], key, text))
    spread: dict[str, str] = {}
    for (around, *_), members in groups.items():
        own = _comprehension(around, sorted(members), lists) if len(members) >= LEAST_CALLS else ""
        spread.update((key, own) for _, key, _ in members if own)
    written: set[str] = set()
    for key, part in tree.items():
        if key not in spread:
            yield key, part
        elif spread[key] not in written:
            written.add(spread[key])
            yield Spread(spread[key]), None


def _comprehension(around: tuple[str, str], members: Sequence[tuple[int, str, str]], lists: Lists) -> str:
    """``{f"block_{i}": blocks[i] for i in range(12)}``; empty where the numbers are no such range."""
    counted = _counted([text for _, _, text in members], lists)
    scaled = scaled_numbers([number for number, _, _ in members], counted[1]) if counted is not None else None
    if counted is None or scaled is None:
        return ""
    key = f"f{quoted(around[0] + '{' + scaled.text('i') + '}' + around[1])}"
    return f"{{{key}: {counted[0]} for i in {_range(counted[1])}}}"


def _range(numbers: range) -> str:
    return f"range({f'{numbers[0]}, ' if numbers[0] else ''}{numbers[-1] + 1})"


def _counted(texts: Sequence[str], lists: Lists) -> tuple[str, range] | None:
    """The text that texts are for the numbers ``i`` of a range, which are those of the items of a list in them."""
    gaps = _COUNTED.split(texts[0])
    if any(_COUNTED.split(text) != gaps for text in texts) or _COUNTER.search(texts[0]):
        return None
    columns = [*zip(*map(_COUNTED.findall, texts), strict=True)]
    found = (_of_list(gap, column, lists) for gap, column in zip(gaps, columns, strict=False))
    numbers = next(filter(None, found), None)
    if numbers is None:
        return None
    text = gaps[0]
    for column, gap in zip(columns, gaps[1:], strict=True):
        token = _token(column, numbers)
        if token is None:
            return None
        is_index = text.endswith("[") and gap.startswith("]")
        text += (token if is_index or " " not in token or token == column[0] else f"({token})") + gap
    return text, numbers


def _of_list(before: str, column: Sequence[str], lists: Lists) -> range | None:
    """The numbers of a column, which are those of the items of a list one after the other."""
    name = _OF_LIST.search(before)
    if name is None or name[1] not in lists or not all(map(str.isdigit, column)):
        return None
    numbers = range(int(column[0]), int(column[0]) + len(column))
    return numbers if [*map(int, column)] == [*numbers] else None


def _token(column: Sequence[str], numbers: range) -> str | None:
    """Write the tokens that stand in one place of the texts by the number ``i``; None where that fails."""
    if len(set(column)) == 1:
        return column[0]
    if all(map(str.isdigit, column)):
        scaled = scaled_numbers([*map(int, column)], numbers)
        return scaled and scaled.text("i")
    is_text = all(token[0] in "\"'" for token in column)
    counted = numbered([token[1:-1] for token in column]) if is_text else None
    scaled = scaled_numbers(counted[1], numbers) if counted is not None else None
    if counted is None or scaled is None:
        return None
    return f"f{quoted(counted[0][0] + '{' + scaled.text('i') + '}' + counted[0][1])}"


def _runs(parts: Sequence[Any], lists: Lists) -> Iterator[tuple[Run | None, list[Any]]]:
    """The parts in groups: the items of a list one after the other, in either direction, or one part."""
    found = [_ITEM.fullmatch(part) if isinstance(part, str) else None for part in parts]
    words = [(each[1], each[3], int(each[2])) if each is not None and each[1] in lists else None for each in found]
    k = 0
    while k < len(parts):
        own, end, step = words[k], k + 1, 0
        while own is not None and end < len(parts) and (other := words[end]) is not None and other[:2] == own[:2]:
            now = other[2] - words[end - 1][2]  # type: ignore[index]
            if abs(now) != 1 or (step and now != step):
                break
            step, end = now, end + 1
        run = None if own is None or not step else (own[0], own[1], range(own[2], own[2] + step * (end - k), step))
        yield run, list(parts[k:end])
        k = end
