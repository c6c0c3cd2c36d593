"""send and recv between devices: the pairs of devices of each channel, and the order of transfers.

Source: the operation-semantics seed, Recv and Send.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush

from .attributes import Raw
from .device_groups import Pairs, expanded
from .ir import Computation, HloModule, Instruction
from .source import Diagnostic, UnsupportedError

_TRANSFER_PAIRS = re.compile(r'_xla_send_recv_source_target_pairs\s*=\s*"?\{((?:\{\d+,\d+\},?\s*)*)\}')
_ONE_DEVICE = re.compile(r"\{maximal device=(\d+)\}")


def transfer_pairs(send: Instruction, recv: Instruction, replicas: int, partitions: int) -> Pairs:
    """Return the (source, target) devices of a channel.

    The pairs are those of ``_xla_send_recv_source_target_pairs``, or the devices in the shardings of send and recv;
    without either, every device sends to itself. The pairs name partitions if there are several, else replicas. Raises
    UnsupportedError XP361 if send and recv name different pairs.
    """
    named = [pairs for pairs in map(_named_pairs, (send, recv)) if pairs is not None]
    if named:
        if named[0] != named[-1]:
            message = f"{send.name} and {recv.name} are of one channel and name different pairs of source and target"
            raise UnsupportedError(Diagnostic("XP361", message, send.span))
        return expanded(named[0], replicas, partitions, partitions > 1)
    source, target = (_ONE_DEVICE.search(_text(instruction, "sharding")) for instruction in (send, recv))
    if source and target:
        return expanded(((int(source[1]), int(target[1])),), replicas, partitions, partitions > 1)
    return tuple((device, device) for device in range(replicas * partitions))


def _named_pairs(instruction: Instruction) -> Pairs | None:
    found = _TRANSFER_PAIRS.search(_text(instruction, "frontend_attributes"))
    return tuple((int(s), int(t)) for s, t in re.findall(r"\{(\d+),(\d+)\}", found[1])) if found else None


def _text(instruction: Instruction, attribute: str) -> str:
    value = instruction.attributes.get(attribute)
    return value.text if isinstance(value, Raw) else ""


def transfers(module: HloModule) -> dict[int, dict[str, Instruction]]:
    """Return every channel's ``send`` and ``recv`` between devices; the last of each if there are several."""
    found: dict[int, dict[str, Instruction]] = {}
    for instruction in module.instructions():
        if instruction.opcode in ("send", "recv") and not instruction["is_host_transfer"]:
            found.setdefault(int(instruction["channel_id"] or 0), {})[instruction.opcode] = instruction
    return found


def transfer_schedule(computation: Computation) -> Sequence[Instruction]:
    """Return the instructions in an order in which, on each channel, recv comes before send, and send before both
    dones.

    Otherwise the order of the text is kept. Raises UnsupportedError XP360 if there is no such order.
    """
    before = _before(computation)
    if not before:
        return computation.instructions
    places = {instruction: place for place, instruction in enumerate(computation.instructions)}
    sorter = TopologicalSorter({i: (*i.operands, *before.get(i, ())) for i in computation.instructions})
    try:
        sorter.prepare()
    except CycleError as error:
        raise _circle(error.args[1]) from None
    order: list[Instruction] = []
    ready: list[int] = []
    while sorter.is_active():
        for instruction in sorter.get_ready():
            heappush(ready, places[instruction])
        order.append(computation.instructions[heappop(ready)])
        sorter.done(order[-1])
    return order


def _circle(instructions: Sequence[Instruction]) -> UnsupportedError:
    last = next(i for i in instructions if i.opcode in ("send", "recv", "send-done", "recv-done"))
    message = f"the transfers wait for each other: {' before '.join(i.name for i in instructions)}"
    hint = "on a channel, recv comes before send, and send before recv-done and send-done"
    return UnsupportedError(Diagnostic("XP360", message, last.span, hint=hint))


def _before(computation: Computation) -> dict[Instruction, list[Instruction]]:
    """Return the instructions that each transfer of the computation must wait for, besides its operands."""
    channels: dict[int, dict[str, list[Instruction]]] = {}
    for instruction in computation.instructions:
        first = instruction.operands[0] if instruction.opcode in ("send-done", "recv-done") else instruction
        if first.opcode in ("send", "recv") and not first["is_host_transfer"]:
            channel = channels.setdefault(int(first["channel_id"] or 0), {})
            channel.setdefault(instruction.opcode, []).append(instruction)
    found: dict[Instruction, list[Instruction]] = {}
    for channel in channels.values():
        for later, earlier in (("send", "recv"), ("recv-done", "send"), ("send-done", "send")):
            # The k-th send of a channel belongs to its k-th recv.
            for instruction, needed in zip(channel.get(later, []), channel.get(earlier, []), strict=False):
                found.setdefault(instruction, []).append(needed)
    return found
