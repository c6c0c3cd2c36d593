"""Shardy's attributes as XLA hands them on in HLO: words beside instructions and in the header."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ..hlo.attributes import Raw
from ..hlo.lexer import escape
from ..hlo.shardings import Mesh, parse_shardings
from .program import Program, Unread

_MESH = re.compile(r"#sdy\.mesh<\[([^\]]*)\](?:,\s*device_ids=\[([\d,\s]*)\])?>")


def meshes_of(program: Program) -> dict[str, str]:
    """The meshes of a program in Shardy's spelling, by name."""
    found: dict[str, str] = {}
    for operation in program.operations:
        mesh = operation.attributes.get("mesh")
        if operation.name == "sdy.mesh" and isinstance(mesh, Unread) and _MESH.fullmatch(mesh.text):
            found[str(operation.attributes.get("sym_name"))] = mesh.text
    return found


def spelled(meshes: Mapping[str, str]) -> str:
    """Meshes as HLO's header lists them."""
    return ", ".join(f"{name} = {text}" for name, text in meshes.items())


def meshes_in_header(program: Program) -> Raw | None:
    """The meshes as HLO's header has them; None without any."""
    meshes = meshes_of(program)
    return Raw(f"{{xla.sdy.meshes={{{spelled(meshes)}}}}}") if meshes else None


def marks(attributes: Mapping[str, Any], meshes: Mapping[str, Mesh]) -> dict[str, Raw]:
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


def tiled(sharding: str, meshes: Mapping[str, Mesh]) -> str | None:
    """A sharding in HLO's spelling, ``{devices=[4,1]<=[4]}``; None where its mesh is not known, or numbers the devices
    in an order of its own.
    """
    found = parse_shardings(sharding, meshes)
    if not found or any(np.diff(found[0].mesh.devices.ravel()) != 1):
        return None
    mesh, dimensions = found[0].mesh, found[0].dimensions
    axes = list(zip(mesh.axes, mesh.devices.shape, strict=True))
    sizes = dict(axes)
    used = [axis for dimension in dimensions for axis in dimension]
    if not used or prod(sizes[axis] for axis in used) == 1:
        return "{replicated}"
    others = [name for name in mesh.axes if name not in used]
    tiles = list(map(found[0].shard_count, range(len(dimensions))))
    rest = prod(sizes[name] for name in others)
    tiles += [rest] if rest > 1 else []
    order = _order(axes, [*used, *others])
    last = " last_tile_dim_replicate" if rest > 1 else ""
    return f"{{devices=[{','.join(map(str, tiles))}]<={order}{last}}}"


def _order(axes: Sequence[tuple[str, int]], wanted: Sequence[str]) -> str:
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
