"""Whether programs give what they should: examples, operations, collectives over NCCL."""

from __future__ import annotations

import contextlib
import socket
from typing import Any

import numpy as np

import xla2py
from xla2py.benchmarks.gpu_kit.device import Device, Record
from xla2py.tests.ladder.samples import CHAOTIC, sample
from xla2py.tests.operations.case import Case, module
from xla2py.tests.operations.runner import judge, leaf_count
from xla2py.tests.replicas.programs import SeveralDevices, entry
from xla2py.tests.test_examples import LOWER, inputs
from xla2py.transpile.equivalence.verdicts.comparison import compare, flatten
from xla2py.transpile.equivalence.verdicts.tolerances import budget_for
from xla2py.transpile.errors import UnsupportedError

STYLES = ("readable", "fast")
EXAMPLES = [f"{name}, {stage}, {style}" for name in LOWER.NAMES for stage in LOWER.STAGES for style in STYLES]


def example(device: Device, item: str) -> Record:
    """Tell whether an example agrees with NumPy, its graph too, and with the device forbidden to wait."""
    name, stage, style = item.split(", ")
    program = xla2py.load(LOWER.hlo_file(name, stage))
    arguments = [array.copy() for array in inputs(name)]
    expected = [x for _, x in flatten(xla2py.emit(program, format=False).load().main(*arguments))]
    emitted = xla2py.emit(program, "cupy", style=style, format=False)

    def wrong(found: list[np.ndarray]) -> str:
        if name in CHAOTIC and all((x != y).mean() < 0.002 for x, y in zip(expected, found, strict=True)):
            return ""
        leaves = compare(expected, found, budget_for(program))
        return "".join([str(leaf) for leaf in leaves if not leaf.status.is_good][:1])[:300]

    first = wrong(device.run(emitted, arguments))
    record: Record = {"agrees": not first, "graph": "", "waits": "", "error": first}
    with contextlib.suppress(UnsupportedError):
        replay = device.run(
            xla2py.emit(program, "cupy", style=style, format=False, graph=True), arguments, function="replay"
        )
        record["graph"] = wrong(replay) or "agrees"
    return record | {"waits": "" if device.is_twin else _waits(emitted, device.given(arguments))}


def _waits(emitted: Any, given: list[Any]) -> str:
    """Return what CuPy says when the host may not wait, or nothing where the host never does."""
    import cupyx

    main = emitted.load().main
    main(*given)  # compiles
    try:
        with cupyx.allow_synchronize(False):
            main(*given)
    except cupyx.DeviceSynchronized as error:
        return str(error)[:80] or "waits"
    return ""


SAMPLE = 40  # cases of each opcode


def operation(device: Device, opcode: str) -> Record:
    """Return how many of its cases agree with XLA on the CPU, or with a definition."""
    cases = sample(opcode, 2 if device.is_twin else SAMPLE)
    record: Record = {"cases": len(cases), "wrong": 0, "first": ""}
    for one, expected, results in zip(cases, judge(cases), _together(device, cases), strict=True):
        if isinstance(results, Exception):
            wrong = [f"{type(results).__name__}: {results}"]
        else:
            leaves = compare(expected, results, one.budget)
            wrong = [str(leaf) for leaf in leaves if not leaf.status.is_good]
        record["wrong"] += bool(wrong)
        if wrong and not record["first"]:
            record["first"] = f"{one}: {wrong[0]}"[:300]
    return record


def _together(device: Device, cases: list[Case]) -> list[Any]:
    """Return what each case gives, or the exception it ends in; all run in one module unless that fails."""
    try:
        return _run(device, cases)
    except Exception as error:
        if len(cases) == 1 or device.is_lost():
            return [error] * len(cases)
        return [result for one in cases for result in _together(device, [one])]


def _run(device: Device, cases: list[Case]) -> list[Any]:
    emitted = xla2py.emit(module(cases, *(one.body for one in cases)), "cupy", format=False)
    leaves = iter(device.run(emitted, [array for one in cases for array in one.inputs]))
    return [[next(leaves) for _ in range(leaf_count(one.body))] for one in cases]


WORLD = {
    "all-reduce": "replica_groups={}, to_apply=add",
    "all-to-all": "replica_groups={}, dimensions={0}",
    "collective-permute": "source_target_pairs={{0,0}}",
}


def world(device: Device, opcode: str) -> Record:
    """A collective of one process, over the NCCL that is installed; the twin has one of its own below CuPy."""
    one = SeveralDevices(opcode, entry(f"ROOT r = f32[4,8] {opcode}(x), {WORLD[opcode]}"))
    arguments = one.inputs()[0]
    emitted = xla2py.emit(one.module(), "cupy")
    with device.nccl() as distributed, device.active():
        comm = distributed.init_process_group(1, 0, port=free_port())
        try:
            made = emitted.load()
            result = made.Replicas(made.replica, made.Group, 1, 1).run_nccl(comm, device.given(arguments))
            (found,) = device.taken(result)
        finally:
            comm.stop()  # its server would not let this process end
    return {"agrees": bool((found == arguments[0]).all())}


def free_port() -> int:
    """A port of this machine that nobody listens to."""
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])
