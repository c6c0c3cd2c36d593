"""How Shardy encodes its attributes in bytecode, as the texts that it prints for them.

Source: ``sdy/ir/bytecode.td`` of Shardy; the codes never change once they are given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .bytecode import Decoder
from .program import Symbol, Unread

Read = Callable[[Decoder], Any]
WRAPPED = ("#sdy.sharding_per_value<", "#sdy<manual_axes", "#sdy.sharding")  # what an operation's own text leaves out


def bare(attribute: Unread) -> Unread:
    """An attribute of an operation as the operation's own text has it: ``{"a"}`` of ``#sdy<manual_axes{"a"}>``."""
    for prefix in WRAPPED:
        if attribute.text.startswith(prefix):
            rest = attribute.text.removeprefix(prefix)
            return Unread(rest if prefix.endswith("sharding") else rest.removesuffix(">"))
    return attribute


def _texts(decoder: Decoder) -> list[str]:
    """The texts of a list of attributes."""
    found = decoder.listed(decoder.attribute)
    return [each.text if isinstance(each, Unread) else f'"{each}"' for each in found if each is not None]


def _braces(parts: Iterable[str]) -> str:
    return f"{{{', '.join(parts)}}}"


def _manual_axes(decoder: Decoder) -> Unread:
    return Unread(f"#sdy<manual_axes{_braces(_texts(decoder))}>")


def _mesh_axis(decoder: Decoder) -> Unread:
    name, size = decoder.string(), decoder.stream.signed()
    return Unread(f'"{name}"={size}')


def _mesh(decoder: Decoder) -> Unread:
    axes, devices = _texts(decoder), decoder.signed_numbers()
    if not axes and len(devices) == 1:
        return Unread(f"#sdy.mesh<maximal_device_id={devices[0]}>")
    listed = f", device_ids=[{', '.join(map(str, devices))}]" if devices else ""
    return Unread(f"#sdy.mesh<[{', '.join(axes)}]{listed}>")


def _part_of_axis(decoder: Decoder) -> Unread:
    before, size = decoder.stream.signed(), decoder.stream.signed()
    return Unread(f":({before}){size}")


def _axis(decoder: Decoder) -> Unread:
    name, part = decoder.string(), decoder.optional_attribute()
    return Unread(f'"{name}"{part.text if isinstance(part, Unread) else ""}')


def _dimension(decoder: Decoder) -> Unread:
    axes, is_closed = _texts(decoder), bool(decoder.stream.byte())
    priority, is_given = decoder.stream.flagged()
    return Unread(_braces([*axes, *([] if is_closed else ["?"])]) + (f"p{priority}" if is_given else ""))


def _sharding(*lists: str) -> Read:
    """A sharding with so many lists of axes behind its dimensions."""

    def read(decoder: Decoder) -> Unread:
        mesh, dimensions = decoder.attribute(), _texts(decoder)
        more = [(name, _texts(decoder)) for name in lists]
        told = "".join(f", {name}={_braces(axes)}" for name, axes in more if axes)
        of = f"@{mesh.name}" if isinstance(mesh, Symbol) else str(getattr(mesh, "text", "")).removeprefix("#sdy.")
        return Unread(f"#sdy.sharding<{of}, [{', '.join(dimensions)}]{told}>")

    return read


def _per_value(decoder: Decoder) -> Unread:
    shardings = [text.removeprefix("#sdy.sharding") for text in _texts(decoder)]
    return Unread(f"#sdy.sharding_per_value<[{', '.join(shardings)}]>")


def _factor(number: int) -> str:
    """The letter of a factor: ``i`` to ``z``, then ``z_1``."""
    last = ord("z") - ord("i")
    return chr(ord("i") + number) if number <= last else f"z_{number - last}"


def _dimension_mapping(decoder: Decoder) -> Unread:
    return Unread("".join(map(_factor, decoder.signed_numbers())))


def _tensor_mapping(decoder: Decoder) -> Unread:
    return Unread(f"[{', '.join(_texts(decoder))}]")


def _rule(decoder: Decoder) -> Unread:
    sizes = decoder.signed_numbers()
    operands, results = (", ".join(_texts(decoder)) for _ in range(2))
    kinds = [(kind, decoder.signed_numbers()) for kind in _KINDS_OF_FACTORS]
    told = "".join(f" {kind}={_braces(map(_factor, numbers))}" for kind, numbers in kinds if numbers)
    listed = _braces(f"{_factor(k)}={size}" for k, size in enumerate(sizes))
    custom = ", custom" if decoder.stream.byte() else ""
    return Unread(f"#sdy.op_sharding_rule<({operands})->({results}) {listed}{told}{custom}>")


_KINDS_OF_FACTORS = ("reduction", "need_replication", "permutation", "blocked_propagation")
ATTRIBUTES: Mapping[int, Read] = {
    0: _manual_axes,
    1: _mesh_axis,
    2: _mesh,
    3: _part_of_axis,
    4: _axis,
    5: _dimension,
    6: _sharding("replicated"),
    7: _per_value,
    8: _dimension_mapping,
    9: _tensor_mapping,
    10: _rule,
    15: _sharding("replicated", "unreduced"),
    16: _per_value,
}
