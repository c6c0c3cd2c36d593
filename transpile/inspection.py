"""Inspection of a program: signature, operations, arithmetic, memory.

Arithmetic is counted as XLA's ``HloCostAnalysis`` does (a multiply-add is two operations, any element-wise operation
one). Memory is that of a program run instruction by instruction, as emitted NumPy runs, where reshapes, broadcasts,
transposes and slices are views.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping

from .dataclass import dataclass
from .hlo.attributes import ConvolutionDimensionNumbers, Raw, Window
from .hlo.device_groups import device_count, device_groups, device_pairs
from .hlo.ir import Computation, HloModule, Instruction
from .hlo.opcodes import OPCODES
from .hlo.shapes import ArrayShape, Shape, leaves


def _opcodes(names: str) -> frozenset[str]:
    return frozenset(OPCODES[name].opcode for name in names.split())


# results that share the memory of their operands
VIEWS = _opcodes(
    "add-dependency after-all bitcast broadcast domain get-tuple-element opt-barrier reshape reverse slice transpose "
    "tuple all-gather-done all-reduce-done async-done async-update collective-permute-done copy-done"
)
# instructions that do no arithmetic of their own and move no data
FREE = _opcodes("parameter constant tuple get-tuple-element bitcast after-all opt-barrier")
FFT_FLOPS = 5  # times n log2 n


@dataclass(frozen=True, slots=True)
class Inspection:
    """The facts about a module; sizes in bytes.

    ``peak_memory`` includes the parameters. ``uncounted_loops`` have an unknown trip count and count once in the sums.
    """

    parameters: tuple[tuple[str, Shape], ...]
    result: Shape
    opcodes: Mapping[str, int]
    flops: int
    bytes_moved: int
    parameter_bytes: int
    result_bytes: int
    constant_bytes: int
    peak_memory: int
    uncounted_loops: int


def inspect(module: HloModule) -> Inspection:
    """Return the costs of a verified module. Opcodes are ordered by frequency."""
    costs: dict[Computation, _Cost] = {}
    for computation in module.computations:
        costs[computation] = _cost(computation, costs)
    instructions = list(module.instructions())
    counted = Counter(instruction.opcode for instruction in instructions)
    parameters = module.entry.parameters
    parameter_bytes = sum(byte_size(parameter.shape) for parameter in parameters)
    total = costs[module.entry]
    return Inspection(
        parameters=tuple((parameter.name, parameter.shape) for parameter in parameters),
        result=module.entry.root.shape,
        opcodes=dict(sorted(counted.items(), key=lambda item: (-item[1], item[0]))),
        flops=total.flops,
        bytes_moved=total.bytes_moved,
        parameter_bytes=parameter_bytes,
        result_bytes=byte_size(module.entry.root.shape),
        constant_bytes=sum(byte_size(i.shape) for i in instructions if i.opcode == "constant"),
        peak_memory=parameter_bytes + total.peak_memory,
        uncounted_loops=sum(i.opcode == "while" and trip_count(i) is None for i in instructions),
    )


@dataclass(frozen=True, slots=True)
class Collective:
    """The network traffic of a collective in an emitted module: the most bytes that a device sends to others, and the
    number of rounds, each of which waits for the one before.
    """

    instruction: Instruction
    devices: int  # of the largest group, or in any pair
    sent: int
    rounds: int


def collectives(module: HloModule) -> list[Collective]:
    """Return the traffic of each collective of a verified module, in the order of the text."""
    found = []
    for instruction in module.instructions():
        kind = instruction.opcode.removesuffix("-start")
        if kind in SENT and device_count(module) > 1:
            devices = _devices(instruction, module)
            parts = [SENT[kind](byte_size(operand.shape), devices) for operand in instruction.operands]
            sent, rounds = sum(sent for sent, _ in parts), max(rounds for _, rounds in parts)
            found.append(Collective(instruction, devices, sent, rounds))
    return found


def _devices(instruction: Instruction, module: HloModule) -> int:
    counts = module.replica_count, module.num_partitions
    if "source_target_pairs" in instruction.attributes:
        return len({device for pair in device_pairs(instruction, *counts) for device in pair})
    return max(map(len, device_groups(instruction, *counts)))


def _all_reduced(size: int, devices: int) -> tuple[int, int]:
    from ..templates.prelude.replica import KEPT_BYTES

    if size <= KEPT_BYTES or devices == 1:
        return _to_each(size, devices)
    return 2 * size * (devices - 1) // devices, 2


def _to_each(size: int, devices: int) -> tuple[int, int]:
    return size * (devices - 1), min(1, devices - 1)


def _to_first(size: int, devices: int) -> tuple[int, int]:
    return size * min(1, devices - 1), min(1, devices - 1)


def _shared_out(size: int, devices: int) -> tuple[int, int]:
    return size * (devices - 1) // devices, min(1, devices - 1)


# (bytes that a device sends, rounds) by the bytes of an operand and the number of devices of a group
SENT: Mapping[str, Callable[[int, int], tuple[int, int]]] = {
    "all-reduce": _all_reduced,
    "all-gather": _to_each,
    "reduce-scatter": _shared_out,
    "all-to-all": _shared_out,
    "collective-broadcast": _to_each,
    "collective-reduce": _to_first,
    "collective-permute": lambda size, _: (size, 1),
}


def byte_size(shape: Shape) -> int:
    """Return the bytes of all arrays in a shape as NumPy stores them: elements narrower than a byte take one."""
    return sum(
        leaf.size * leaf.element_type.dtype.itemsize for _, leaf in leaves(shape) if isinstance(leaf, ArrayShape)
    )


def trip_count(loop: Instruction) -> int | None:
    """Return the trip count of a while loop, from XLA's note or from a counter with constant bounds; None if
    unknown.
    """
    config = loop.attributes.get("backend_config")
    if isinstance(config, Raw):
        noted = re.search(r'"known_trip_count"\s*:\s*\{\s*"n"\s*:\s*"?(\d+)', config.text)
        if noted:
            return int(noted[1])
    return _counted(loop)


def _counted(loop: Instruction) -> int | None:
    """Return the trip count of ``for (i = start; i < limit; i += step)`` in a loop whose carry is a tuple; None for
    other loops.
    """
    test, body, start = loop["condition"].root, loop["body"].root, loop.operands[0]
    if test.opcode != "compare" or test["direction"] != "LT" or body.opcode != "tuple" or start.opcode != "tuple":
        return None
    counter, limit = test.operands
    if counter.opcode != "get-tuple-element" or counter.operands[0].opcode != "parameter":
        return None
    index = counter["index"]
    update = body.operands[index]
    if update.opcode != "add":
        return None
    previous, step = update.operands
    is_same_counter = previous.opcode == "get-tuple-element" and previous["index"] == index
    values = [_integer(i) for i in (start.operands[index], limit, step)]
    if not is_same_counter or None in values:
        return None
    first, last, by = (value for value in values if value is not None)
    return max(0, math.ceil((last - first) / by)) if by > 0 else None


def _integer(instruction: Instruction) -> int | None:
    shape = instruction.shape
    is_integer = isinstance(shape, ArrayShape) and shape.is_scalar and shape.element_type.is_integral
    return int(instruction["literal"]) if is_integer and instruction.opcode == "constant" else None


@dataclass(frozen=True, slots=True)
class _Cost:
    """The cost of one run of a computation; the peak excludes its parameters, which the caller holds."""

    flops: int
    bytes_moved: int
    peak_memory: int


_Costs = Mapping[Computation, _Cost]


def _cost(computation: Computation, costs: _Costs) -> _Cost:
    flops = moved = 0
    for instruction in computation.instructions:
        inner = [costs[called] for called in instruction.called]
        count = COUNTS.get(instruction.opcode)
        if count is not None:
            flops += count(instruction, costs)
        elif instruction.opcode in REPEATS:
            flops += REPEATS[instruction.opcode](instruction) * sum(cost.flops for cost in inner)
        elif instruction.opcode not in VIEWS | FREE | COPIES:
            flops += _elements(instruction)
        if instruction.opcode == "while":
            moved += _repeats(instruction) * sum(cost.bytes_moved for cost in inner)
        elif instruction.opcode in BODIES:
            moved += max((cost.bytes_moved for cost in inner), default=0)
        elif instruction.opcode not in VIEWS | FREE:
            moved += byte_size(instruction.shape) + sum(byte_size(operand.shape) for operand in instruction.operands)
    return _Cost(flops, moved, _peak_memory(computation, costs))


def _elements(instruction: Instruction) -> int:
    """Return the number of elements of the (largest) result."""
    return max((leaf.size for _, leaf in leaves(instruction.shape) if isinstance(leaf, ArrayShape)), default=0)


def _operand_elements(instruction: Instruction) -> int:
    return _elements(instruction.operands[0]) if instruction.operands else 0


def _repeats(loop: Instruction) -> int:
    count = trip_count(loop)
    return 1 if count is None else count


def _window_size(instruction: Instruction) -> int:
    window: Window = instruction["window"]
    return math.prod(dimension.size for dimension in window)


def _dot(instruction: Instruction, _: _Costs) -> int:
    lhs = instruction.operands[0].array_shape
    contracted: tuple[int, ...] = instruction["lhs_contracting_dims"]
    return 2 * _elements(instruction) * math.prod(lhs.dimensions[d] for d in contracted)


def _convolution(instruction: Instruction, _: _Costs) -> int:
    kernel = instruction.operands[1].array_shape
    numbers: ConvolutionDimensionNumbers = instruction["dim_labels"]
    taps = math.prod(kernel.dimensions[d] for d in numbers.kernel_spatial)
    return 2 * _elements(instruction) * taps * kernel.dimensions[numbers.kernel_input_feature]


def _fft(instruction: Instruction, _: _Costs) -> int:
    lengths: tuple[int, ...] = instruction["fft_length"]
    return (
        FFT_FLOPS * max(_elements(instruction), _operand_elements(instruction)) * (math.prod(lengths) - 1).bit_length()
    )


def _triangular_solve(instruction: Instruction, _: _Costs) -> int:
    return _elements(instruction) * instruction.operands[0].array_shape.dimensions[-1]


def _sort(instruction: Instruction, costs: _Costs) -> int:
    elements = _operand_elements(instruction)
    return elements * max(elements - 1, 0).bit_length() * costs[instruction["to_apply"]].flops


def _conditional(instruction: Instruction, costs: _Costs) -> int:
    return max((costs[branch].flops for branch in instruction.called), default=0)


# opcode -> arithmetic operations, if not one per element of the result
COUNTS: dict[str, Callable[[Instruction, _Costs], int]] = {
    "dot": _dot,
    "convolution": _convolution,
    "fft": _fft,
    "cholesky": lambda instruction, _: _elements(instruction) * instruction.array_shape.dimensions[-1] // 3,
    "triangular-solve": _triangular_solve,
    "sort": _sort,
    "conditional": _conditional,
}
# opcode -> how often the called computations run
REPEATS: dict[str, Callable[[Instruction], int]] = {
    "while": _repeats,
    "call": lambda _: 1,
    "fusion": lambda _: 1,
    "async-start": lambda _: 1,
    "custom-call": lambda _: 1,
    "map": _elements,
    "reduce": lambda i: max(_operand_elements(i) - _elements(i), 0),
    "reduce-window": lambda i: _elements(i) * max(_window_size(i) - 1, 0),
    "select-and-scatter": lambda i: _elements(i.operands[1]) * _window_size(i),
    "scatter": lambda i: _elements(i.operands[-1]),
    "scan": _operand_elements,
    "all-reduce": _elements,
    "all-reduce-start": _elements,
    "collective-reduce": _elements,
    "reduce-scatter": _operand_elements,
}
# opcodes that move data without computing
COPIES = _opcodes(
    "copy copy-start concatenate pad dynamic-slice dynamic-update-slice gather iota dynamic-reshape "
    "get-dimension-size set-dimension-size replica-id partition-id all-gather all-gather-start all-to-all "
    "ragged-all-to-all collective-broadcast collective-permute collective-permute-start "
    "send send-done recv recv-done infeed outfeed"
)
# opcodes whose traffic is that of the computation they run
BODIES = _opcodes("call fusion conditional async-start")


def _peak_memory(computation: Computation, costs: _Costs) -> int:
    """Return the most bytes that are live at once while a computation runs, excluding its parameters.

    A value is live from its instruction to the last use of it or of a view of it; the result is live to the end.
    """
    owners: dict[Instruction, frozenset[Instruction]] = {}
    last_use: dict[Instruction, int] = {}
    for at, instruction in enumerate(computation.instructions):
        owners[instruction] = _owners(instruction, owners)
        for operand in instruction.operands:
            last_use.update(dict.fromkeys(owners[operand], at))
    last_use.update(dict.fromkeys(owners[computation.root], len(computation.instructions)))
    dying: dict[int, int] = {}
    alive = peak = 0
    for at, instruction in enumerate(computation.instructions):
        inner = max((costs[called].peak_memory for called in instruction.called), default=0)
        peak = max(peak, alive + inner)  # the called computation allocates the result
        if instruction in owners[instruction] and instruction.opcode != "parameter":
            size = byte_size(instruction.shape)
            alive += size
            end = max(last_use.get(instruction, at), at)
            dying[end] = dying.get(end, 0) + size
        peak = max(peak, alive)
        alive -= dying.pop(at, 0)
    return peak


def _owners(instruction: Instruction, owners: Mapping[Instruction, frozenset[Instruction]]) -> frozenset[Instruction]:
    """Return the instructions that own the memory of a value: itself, or the owners of the operands that it is a view
    of.
    """
    if instruction.opcode == "get-tuple-element" and instruction.operands[0].opcode == "tuple":
        return owners[instruction.operands[0].operands[instruction["index"]]]
    if instruction.opcode in VIEWS:
        return frozenset().union(*(owners[operand] for operand in instruction.operands))
    return frozenset({instruction})
