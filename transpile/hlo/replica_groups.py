"""``replica_groups`` in its three notations, expanded to lists of device ids.

``{{0,1},{2,3}}`` lists the groups; ``[2,2]<=[2,2]T(1,0)`` cuts a transposed iota into equal groups; and
``mesh['x'=2,'y'=2] {'x'}`` groups the devices of a named mesh along some of its axes.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .attributes import ReplicaGroups
from .lexer import Cursor, quote

_IOTA = re.compile(r"\[([\d,\s]*)\]\s*<=\s*\[([\d,\s]*)\](?:\s*T\s*\(([\d,\s]*)\))?")
_LIST = re.compile(r"\{\s*+(?:\{[\d,\s]*+\}\s*+,?+\s*+)*+\}")
_GROUP = re.compile(r"\{([\d,\s]*)\}")
_AXIS = re.compile(r"'([^']*)'\s*=\s*(\d{1,18})|\"([^\"]*)\"\s*=\s*(\d{1,18})")
_GROUP_AXIS = re.compile(r"(?:'([^']*)'|\"([^\"]*)\")(?:\s*:\s*\((\d{1,18})\)\s*(\d{1,18}))?")
_DEVICE_LIST = re.compile(r"[\d,\s]*")
_TRANSPOSED = re.compile(r"\[([\d,\s]*)\](?:\s*T\s*\(([\d,\s]*)\))?")

MAX_DEVICES = 1 << 20
_MAX_AXES = 32  # twice as many with sub-axes, which is NumPy's limit

Devices = npt.NDArray[np.int64]


def parse_replica_groups(cursor: Cursor) -> ReplicaGroups:
    """Parse the next ``replica_groups``. Raises ``HloSyntaxError`` XP123."""
    start = cursor.skip()
    if cursor.accept("mesh"):
        groups = _mesh_groups(cursor, start)
    elif match := cursor.match(_IOTA):
        count_and_size = _numbers(cursor, start, match[1])
        devices = _iota(cursor, start, _numbers(cursor, start, match[2]), match[3])
        if len(count_and_size) != 2 or math.prod(count_and_size) != devices.size:
            message = f"[{match[1]}] cannot hold {devices.size} devices as groups of equal size"
            raise cursor.error("XP123", message, start)
        groups = devices.reshape(count_and_size)
    elif match := cursor.match(_LIST):
        listed = tuple(tuple(_numbers(cursor, start, group)) for group in _GROUP.findall(match.group()[1:-1]))
        members = [member for group in listed for member in group]
        if len(set(members)) != len(members):
            raise cursor.error("XP123", "a device is in two replica groups", start)
        return ReplicaGroups(listed, match.group())
    else:
        cursor.unexpected("replica groups: `{{0,1},{2,3}}`, `[2,2]<=[4]` or `mesh['x'=2] {'x'}`")
    return ReplicaGroups(tuple(map(tuple, groups.tolist())), cursor.text[start : cursor.position])


def _numbers(cursor: Cursor, start: int, text: str) -> list[int]:
    parts = text.replace(",", " ").split()
    if any(len(part) > 18 for part in parts):
        raise cursor.error("XP123", "a device number or size has too many digits", start)
    return list(map(int, parts))


def _iota(cursor: Cursor, start: int, sizes: list[int], transposition: str | None) -> Devices:
    """Return device ids 0, 1, .. in the given shape, transposed."""
    if len(sizes) > _MAX_AXES or math.prod(sizes) > MAX_DEVICES:
        raise cursor.error("XP123", f"more than {MAX_DEVICES} devices or {_MAX_AXES} axes", start)
    devices = np.arange(math.prod(sizes), dtype=np.int64).reshape(sizes)
    if transposition is None:
        return devices
    order = _numbers(cursor, start, transposition)
    if sorted(order) != list(range(len(sizes))):
        raise cursor.error("XP123", f"T({transposition}) is not an order of {len(sizes)} dimensions", start)
    return devices.transpose(order)


def _mesh_groups(cursor: Cursor, start: int) -> Devices:
    axes = _mesh_axes(cursor)
    devices = _iota(cursor, start, list(axes.values()), None)
    if cursor.accept(","):
        cursor.expect("device_ids")
        cursor.expect("=")
        devices = _device_order(cursor, start, devices)
    chosen = _group_axes(cursor, axes)
    # Cut every mesh axis at the borders of the named sub-axes: each piece is then inside the groups or across them.
    pieces: list[tuple[str, int, int]] = []
    for name, size in axes.items():
        borders = sorted({1, size, *(border for axis, *ends in chosen if axis == name for border in ends)})
        if any(high % low for low, high in pairwise(borders)):
            raise cursor.error("XP123", f"the sub-axes of {quote(name)} overlap", start)
        pieces += [(name, low, high) for low, high in pairwise(borders)]
    if len(pieces) > 2 * _MAX_AXES:
        raise cursor.error("XP123", f"the groups cut the mesh into more than {2 * _MAX_AXES} axes", start)
    in_group = [
        index
        for axis, first, last in chosen
        for index, (name, low, high) in enumerate(pieces)
        if name == axis and first <= low and high <= last
    ]
    if len(set(in_group)) != len(in_group):
        raise cursor.error("XP123", "a mesh axis is named twice", start)
    across = [index for index in range(len(pieces)) if index not in in_group]
    sizes = [high // low for _, low, high in pieces]
    group_size = math.prod(sizes[index] for index in in_group)
    return devices.reshape(sizes).transpose(across + in_group).reshape(-1, group_size)


def _mesh_axes(cursor: Cursor) -> dict[str, int]:
    cursor.expect("[")
    axes: dict[str, int] = {}
    while not cursor.accept("]"):
        if axes:
            cursor.expect(",", "between mesh axes")
        match = cursor.match(_AXIS)
        if match is None:
            cursor.unexpected("a mesh axis such as 'x'=2")
        name, size = (match[1], match[2]) if match[2] else (match[3], match[4])
        if name in axes:
            raise cursor.error("XP123", f"the mesh has two axes {quote(name)}", match.start())
        if int(size) < 1:
            raise cursor.error("XP123", f"the mesh axis {quote(name)} is empty", match.start())
        axes[name] = int(size)
    return axes


def _device_order(cursor: Cursor, start: int, devices: Devices) -> Devices:
    cursor.expect("(")
    if match := cursor.match(_TRANSPOSED):
        order = _iota(cursor, start, _numbers(cursor, start, match[1]), match[2]).reshape(-1)
    else:
        listed = cursor.match(_DEVICE_LIST)
        order = np.array(_numbers(cursor, start, listed.group() if listed else ""), dtype=np.int64)
    cursor.expect(")", "after the device ids")
    if not np.array_equal(np.sort(order), np.arange(devices.size)):
        raise cursor.error("XP123", f"device_ids must name each of the {devices.size} devices once", start)
    return order.reshape(devices.shape)


def _group_axes(cursor: Cursor, axes: dict[str, int]) -> list[tuple[str, int, int]]:
    """Return the axes of a group, major first: (mesh axis, from, to), where 1..size is the whole axis."""
    cursor.expect("{", "before the axes of the groups")
    chosen: list[tuple[str, int, int]] = []
    while not cursor.accept("}"):
        if chosen:
            cursor.expect(",", "between axes")
        match = cursor.match(_GROUP_AXIS)
        if match is None:
            cursor.unexpected("a mesh axis such as 'x' or 'x':(1)2")
        name = match[1] if match[1] is not None else match[2]
        if name not in axes:
            raise cursor.error("XP123", f"the mesh has no axis {quote(name)}", match.start(), match.end())
        low, size = (int(match[3]), int(match[4])) if match[3] else (1, axes[name])
        if low < 1 or size < 1 or axes[name] % (low * size):
            message = f"{quote(match.group())} does not divide an axis of {axes[name]}"
            raise cursor.error("XP123", message, match.start(), match.end())
        chosen.append((name, low, low * size))
    return chosen
