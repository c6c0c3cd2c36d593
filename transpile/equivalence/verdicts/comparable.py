"""The programs that can be compared: those that are functions of arrays."""

from __future__ import annotations

from ...hlo.device_groups import device_count
from ...hlo.ir import HloModule, Instruction
from ...hlo.shapes import ArrayShape
from ..reference.xla_process import DEVICES


def no_plain_call(module: HloModule) -> str:
    """Return why a program cannot be compared, since it is not a function of arrays; "" if it is."""
    devices = device_count(module)
    host = sorted({i.opcode for i in module.instructions() if _is_of_host(i, devices)})
    if host:
        return f"the program talks to its host: {', '.join(host)}"
    return f"the program runs on {devices} devices, more than {DEVICES}" if devices > DEVICES else ""


def _is_of_host(instruction: Instruction, devices: int) -> bool:
    """Return whether an instruction communicates with the host; with several devices, ``send`` and ``recv`` need
    not.
    """
    if instruction.opcode in ("send", "recv"):
        return devices == 1 or bool(instruction.attributes.get("is_host_transfer"))
    return instruction.opcode in ("infeed", "outfeed")


def elements(module: HloModule) -> int:
    """Return the total number of elements of all instructions."""
    return sum(i.shape.size for i in module.instructions() if isinstance(i.shape, ArrayShape))
