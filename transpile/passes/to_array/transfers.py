"""Lowers send and recv: between devices, of a device to itself, and with the host.

A recv takes its data at its -done; a send is done where it starts. Source: the operation-semantics seed, Recv and Send.
"""

from __future__ import annotations

from collections import Counter

from ...array.node import DevicePairs
from ...array.traversal import is_inside
from ...array.value import Value
from ...hlo.device_groups import Pairs, device_count, device_noun
from ...hlo.ir import HloModule, Instruction
from ...hlo.shapes import ArrayShape, leaves
from ...hlo.source import Diagnostic, UnsupportedError
from ...hlo.transfers import transfer_pairs, transfers
from .control import flattened, nothing, unflattened
from .lowering import FunctionLowering, Lowered, lowers


def _channel(instruction: Instruction) -> int:
    return int(instruction["channel_id"] or 0)


def _pairs(lowering: FunctionLowering, instruction: Instruction) -> Pairs:
    """Return the (sender, receiver) pairs of a channel. Raises UnsupportedError XP361 if the channel has only one end,
    or invalid pairs.
    """
    module = lowering.module.module
    ends = transfers(module).get(_channel(instruction), {})
    if len(ends) < 2:
        found = next(iter(ends), None)
        has = "neither send nor recv" if found is None else f"a {found} and no {'recv' if found == 'send' else 'send'}"
        message = f"channel {_channel(instruction)} has {has}"
        hint = "for a transfer with the host, say is_host_transfer=true"
        raise UnsupportedError(Diagnostic("XP361", message, instruction.span, hint=hint))
    pairs = transfer_pairs(ends["send"], ends["recv"], module.replica_count, module.num_partitions)
    fault = _fault(pairs, module)
    if fault:
        raise UnsupportedError(Diagnostic("XP361", f"channel {_channel(instruction)} {fault}", instruction.span))
    return pairs


def _fault(pairs: Pairs, module: HloModule) -> str:
    """Return the error in the pairs of a channel, or ""."""
    noun, count = device_noun(module), device_count(module)
    highest = max((device for pair in pairs for device in pair), default=0)
    if highest >= count:
        return f"names {noun} {highest} of {count}"
    for devices, does in zip(zip(*pairs, strict=True), ("sends from", "sends to"), strict=False):
        device, times = Counter(devices).most_common(1)[0]
        if times > 1:
            return f"{does} {noun} {device} {times} times"
    return ""


@lowers("send")
def send(lowering: FunctionLowering, instruction: Instruction, data: Lowered, token: Lowered) -> Lowered:
    nodes = tuple(lowering.plain(value) for value in flattened(data))
    channel = _channel(instruction)
    if instruction["is_host_transfer"]:
        lowering.effect("to_host", nodes, [], channel=channel)
        return nothing(lowering, instruction.shape)
    pairs = _pairs(lowering, instruction)
    if device_count(lowering.module.module) == 1:
        lowering.sent.setdefault(channel, []).append(data)
    else:
        for node in nodes:
            lowering.effect("send", (node,), [], channel=channel, pairs=DevicePairs(pairs))
    return nothing(lowering, instruction.shape)


@lowers("recv")
def recv(lowering: FunctionLowering, instruction: Instruction, token: Lowered) -> Lowered:
    if not instruction["is_host_transfer"]:
        _pairs(lowering, instruction)
    return nothing(lowering, instruction.shape)


@lowers("send-done")
def send_done(lowering: FunctionLowering, instruction: Instruction, context: Lowered) -> Lowered:
    return None


@lowers("recv-done")
def recv_done(lowering: FunctionLowering, instruction: Instruction, context: Lowered) -> Lowered:
    (first,) = instruction.operands
    if first.opcode != "recv":  # the context is a loop-carried value
        first = instruction
    channel, data = _channel(first), instruction.element_shapes[0]
    shapes = [leaf for _, leaf in leaves(data) if isinstance(leaf, ArrayShape)]
    if first["is_host_transfer"]:
        values = lowering.effect("from_host", (), shapes, channel=channel) if shapes else ()
        return unflattened(data, iter(values)), None
    if device_count(lowering.module.module) == 1:
        return _own(lowering, instruction, channel), None
    pairs = _pairs(lowering, first)
    parameters = {"channel": channel, "pairs": DevicePairs(pairs)}
    received: list[Value] = []
    for shape in shapes:
        zeros = Value.repeated(lowering.graph.literal(0, shape.element_type), shape.dimensions)
        received += lowering.effect("recv", (lowering.plain(zeros),), [shape], **parameters)
    return unflattened(data, iter(received)), None


def _own(lowering: FunctionLowering, instruction: Instruction, channel: int) -> Lowered:
    """Return the value that the only device has sent to itself. Raises UnsupportedError XP361 if nothing was sent."""
    waiting = lowering.sent.get(channel)
    sent = waiting.pop(0) if waiting else None
    here = lowering.graph.region
    if sent is None or not all(is_inside(here, value.node.region) for value in flattened(sent)):
        message = f"on channel {channel} nothing is sent before {instruction.name}"
        raise UnsupportedError(Diagnostic("XP361", message, instruction.span))
    return sent
