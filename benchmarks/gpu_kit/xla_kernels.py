"""The kernels that XLA makes of the common programs on a GPU: how many it launches, and what they read and write."""

from __future__ import annotations

import jax

import xla2py
from xla2py.benchmarks.gpu_kit.device import Device, Record
from xla2py.tests.ladder.costed_programs import PROGRAMS
from xla2py.transpile.hlo.ir import Computation, Instruction
from xla2py.transpile.inspection import byte_size, trip_count

NO_KERNELS = frozenset("after-all bitcast constant get-tuple-element parameter partition-id replica-id tuple".split())


def xla_kernels(device: Device, name: str) -> Record:
    """Return the launches and bytes of a program of docs/cupy.md, with products in float32, as ``jax.jit`` compiles it
    for this device.
    """
    function, arguments = PROGRAMS[name]
    with jax.default_device(device.of_jax()), jax.default_matmul_precision("highest"):
        compiled = jax.jit(function).lower(*arguments).compile()
    launches, moved = kernels_of(xla2py.load(compiled.as_text()).entry)
    return {"launches": launches, "bytes": moved}


def kernels_of(computation: Computation) -> tuple[int, int]:
    """Return what a compiled computation launches, and the bytes that it reads and writes: each instruction is a kernel
    or a call of a library, which reads its operands once. The room that a library works in does not count.
    """
    counted = list(map(_counted, computation.instructions))
    return sum(launches for launches, _ in counted), sum(moved for _, moved in counted)


def _counted(instruction: Instruction) -> tuple[int, int]:
    if instruction.opcode in NO_KERNELS:
        return 0, 0
    if instruction.opcode == "while":
        rounds = trip_count(instruction) or 1
        launches, moved = kernels_of(instruction["body"])
        return rounds * launches, rounds * moved
    if instruction.opcode in ("call", "async-start"):
        return kernels_of(instruction.called[0])
    written = instruction.element_shapes
    if instruction.opcode == "custom-call" and len(written) > 1:
        written = written[:-1]  # the last is the room
    shapes = (*written, *(operand.shape for operand in dict.fromkeys(instruction.operands)))
    return 1, sum(map(byte_size, shapes))
