"""Results that stand one after the other in a list, in the tree that is returned: ``"layers": new_layers``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..hlo.ir import Built
from .chains import Scaled
from .result_trees import Spread, quoted

_ITEM = re.compile(r"(\w+)\[(\d+)\](.*)", re.ASCII)
_NUMBERED = re.compile(r"([\w/~ -]*?)(0|[1-9]\d*)([/~ -][\w/~ -]*)?", re.ASCII)
_LEAST = 4

_Group = tuple[str, str, str, str]  # a list, what stands behind its items, and around the numbers of the keys
Run = tuple[str, str, range]  # a list, what stands behind each of its items, and the numbers of these


def with_runs(tree: Any, lists: Mapping[str, int]) -> Any:
    """Return a tree of texts in which what has the items of a list says so once; ``lists`` have a length each."""
    if not lists:
        return tree
    if isinstance(tree, Built):
        return replace(tree, parts=tuple(with_runs(part, lists) for part in tree.parts))
    if isinstance(tree, dict):
        return dict(_of_dict({key: with_runs(part, lists) for key, part in tree.items()}, lists))
    if isinstance(tree, list | tuple):
        found = [*_of_sequence([with_runs(part, lists) for part in tree], lists)]
        if isinstance(tree, list) and len(found) == 1 and isinstance(found[0], str) and found[0].startswith("*"):
            return _alone(found[0])
        return type(tree)(found)
    return tree


def _alone(spread: str) -> str:
    """A list of nothing but the items that are spread."""
    inner = spread[1:]
    return f"[{inner[1:-1]}]" if inner.startswith("(") else inner


def _of_sequence(parts: Sequence[Any], lists: Mapping[str, int]) -> Iterator[Any]:
    for run, members in _runs(parts, lists):
        if run is None or len(members) < _LEAST:
            yield from members
            continue
        yield f"*{_items(run, lists)}"


def _items(run: Run, lists: Mapping[str, int]) -> str:
    name, behind, numbers = run
    if numbers.step < 0:
        first = str(numbers[0]) if numbers[0] < lists[name] - 1 else ""
        part = f"{name}[{first}:{numbers[-1] - 1 if numbers[-1] else ''}:-1]"
    else:
        end = numbers[-1] + 1
        begin, end_text = str(numbers[0] or ""), "" if end == lists[name] else str(end)
        part = name if not begin and not end_text else f"{name}[{begin}:{end_text}]"
    return f"(each{behind} for each in {part})" if behind else part


def _of_dict(tree: dict[Any, Any], lists: Mapping[str, int]) -> Iterator[tuple[Any, Any]]:
    """The items of a dict; those whose keys count as their values do together, where the first of them stands."""
    groups: dict[_Group, dict[int, tuple[str, int]]] = {}
    group_of: dict[str, _Group] = {}
    for key, part in tree.items():
        word = _NUMBERED.fullmatch(key) if isinstance(key, str) else None
        item = _ITEM.fullmatch(part) if isinstance(part, str) else None
        if word is not None and item is not None and item[1] in lists:
            group_of[key] = (item[1], item[3], word[1], word[3] or "")
            groups.setdefault(group_of[key], {})[int(item[2])] = key, int(word[2])
    texts = {group: text for group, own in groups.items() if (text := _counted(group, own))}
    written: set[_Group] = set()
    for key, part in tree.items():
        group = group_of.get(key)
        if group is None or group not in texts:
            yield key, part
        elif group not in written:
            written.add(group)
            yield Spread(texts[group]), None


def _counted(group: _Group, keys: Mapping[int, tuple[str, int]]) -> str:
    """``{f"block_{i}": blocks[i] for i in range(12)}``; empty where the numbers are no such range."""
    (name, behind, before, after), numbers = group, sorted(keys)
    if len(numbers) < _LEAST or numbers != list(range(numbers[0], numbers[-1] + 1)):
        return ""
    first, second = keys[numbers[0]][1], keys[numbers[1]][1]
    scaled = Scaled(second - first, first - (second - first) * numbers[0])
    if scaled.factor < 1 or any(scaled.factor * number + scaled.added != keys[number][1] for number in numbers):
        return ""
    begin = f"{numbers[0]}, " if numbers[0] else ""
    counted = "{" + scaled.text("i") + "}"
    key = f"f{quoted(before + counted + after)}"
    return f"{{{key}: {name}[i]{behind} for i in range({begin}{numbers[-1] + 1})}}"


def _runs(parts: Sequence[Any], lists: Mapping[str, int]) -> Iterator[tuple[Run | None, list[Any]]]:
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
