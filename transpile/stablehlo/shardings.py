"""Shardy's attributes as XLA hands them on in HLO: words beside instructions and in the header."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from ..hlo.attributes import Raw
from ..hlo.lexer import escape
from .program import Program, Unread

_MESH = re.compile(r"#sdy\.mesh<\[([^\]]*)\](?:,\s*device_ids=\[([\d,\s]*)\])?>")
_AXIS = re.compile(r'"([^"]*)"\s*=\s*(\d{1,9})')
_SHARDING = re.compile(r"<@([\w.\-]+),\s*\[([^\]]*)\]")
_DIMENSION = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r'"([^"]*)"')

Mesh = Sequence[tuple[str, int]]  # axes and their sizes


def meshes_of(program: Program) -> dict[str, str]:
    """The meshes of a program in Shardy's spelling, by name."""
    found: dict[str, str] = {}
    for operation in program.operations:
        mesh = operation.attributes.get("mesh")
        if operation.name == "sdy.mesh" and isinstance(mesh, Unread) and _MESH.fullmatch(mesh.text):
            found[str(operation.attributes.get("sym_name"))] = mesh.text
    return found


def meshes_in_header(program: Program) -> Raw | None:
    """The meshes as HLO's header has them; None without any."""
    listed = [f"{name} = {text}" for name, text in meshes_of(program).items()]
    return Raw(f"{{xla.sdy.meshes={{{', '.join(listed)}}}}}") if listed else None


def marks(attributes: Mapping[str, Any], meshes: Mapping[str, str]) -> dict[str, Raw]:
    """What front ends and partitioners say of an instruction or an argument."""
    words = attributes.get("mhlo.frontend_attributes")
    texts = {key: value for key, value in words.items() if isinstance(value, str)} if isinstance(words, dict) else {}
    found: dict[str, Raw] = {}
    for key, own in (("sdy.sharding", "xla.sdy.sharding"), ("sdy.sharding_rule", "xla.sdy.sharding_rule")):
        value = attributes.get(key)
        if isinstance(value, Unread) and "<" in value.text:
            texts[own] = value.text
            tiles = tiled(value.text, meshes) if key == "sdy.sharding" else None
            if tiles is not None:
                found["sharding"] = Raw(tiles)
    if texts:
        listed = ",".join(f'{key}="{escape(value)}"' for key, value in sorted(texts.items()))
        found["frontend_attributes"] = Raw(f"{{{listed}}}")
    sharding = attributes.get("mhlo.sharding")
    if isinstance(sharding, str) and sharding.startswith("{"):
        found["sharding"] = Raw(sharding)
    return found


def tiled(sharding: str, meshes: Mapping[str, str]) -> str | None:
    """A sharding in HLO's spelling, ``{devices=[4,1]<=[4]}``; None where its mesh is not known."""
    found = _SHARDING.search(sharding)
    mesh = _MESH.fullmatch(meshes.get(found[1], "")) if found is not None else None
    if found is None or mesh is None or mesh[2]:
        return None
    axes = [(name, int(size)) for name, size in _AXIS.findall(mesh[1])]
    sizes = dict(axes)
    dimensions = [_NAME.findall(each) for each in _DIMENSION.findall(found[2])]
    used = [axis for dimension in dimensions for axis in dimension]
    if any(axis not in sizes for axis in used):
        return None
    if not used or prod(sizes[axis] for axis in used) == 1:
        return "{replicated}"
    others = [name for name, _ in axes if name not in used]
    tiles = [prod(sizes[axis] for axis in dimension) for dimension in dimensions]
    rest = prod(sizes[name] for name in others)
    tiles += [rest] if rest > 1 else []
    order = _order(axes, [*used, *others])
    last = " last_tile_dim_replicate" if rest > 1 else ""
    return f"{{devices=[{','.join(map(str, tiles))}]<={order}{last}}}"


def _order(axes: Mesh, wanted: Sequence[str]) -> str:
    """The devices in the order of the wanted axes: ``[8]``, ``[2,4]T(1,0)``; axes that stay together are one."""
    names, sizes = [name for name, size in axes if size > 1], dict(axes)
    groups: list[list[str]] = []
    for name in (name for name in wanted if sizes[name] > 1):
        if groups and names.index(groups[-1][-1]) + 1 == names.index(name):
            groups[-1].append(name)
        else:
            groups.append([name])
    places = sorted(range(len(groups)), key=lambda k: names.index(groups[k][0]))
    reshaped = [prod(sizes[name] for name in groups[k]) for k in places]
    shape = f"[{','.join(map(str, reshaped))}]"
    return shape if len(groups) < 2 else f"{shape}T({','.join(str(places.index(k)) for k in range(len(groups)))})"
