"""Programs of several replicas that go up the ladder, in one process (``run_local``)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from xla2py.tests.replicas import programs
from xla2py.tests.replicas.programs import SeveralDevices
from xla2py.tests.replicas.test_definitions import PAIRS, RAGGED, RECV, RUNS, SEND, TRANSFER

TABLES = (programs.grouped, programs.element_types, programs.reducers, programs.others, programs.control)
BROADCAST = programs.entry("ROOT r = f32[4,8] collective-broadcast(x), replica_groups={{2,0},{1,3}}")
REDUCE = programs.entry(
    "ROOT r = f32[4,8] collective-reduce(x), to_apply=add, replica_groups={{2,0},{1,3}}, has_dynamic_root=false"
)


def replicated() -> list[SeveralDevices]:
    """The collectives in all spellings of their groups; broadcast, reduction, rows of any number, send and receive."""
    return [
        *(one for table in TABLES for one in table()),
        SeveralDevices("broadcast", BROADCAST),
        SeveralDevices("reduce", REDUCE),
        *ragged(),
        SeveralDevices("send and receive", TRANSFER.format(RECV.format(PAIRS) + SEND.format(PAIRS)), 3),
    ]


def ragged() -> Iterator[SeveralDevices]:
    """Numbers of rows that differ, zero among them; each replica alone; no rows, no room, no runs; two runs for each
    member, of matrices.
    """
    yield SeveralDevices("ragged", RAGGED, 2, given=RUNS)
    alone = RAGGED.replace("{{0,1}}", "{{0},{1}}")
    yield SeveralDevices("ragged, alone", alone, 2, given=RUNS)
    for name, rows, room, count in [("no rows", 0, 5, 2), ("no room", 4, 0, 2), ("no runs", 4, 5, 0)]:
        text = RAGGED.replace("f32[4]", f"f32[{rows}]").replace("f32[5]", f"f32[{room}]")
        given = [np.arange(rows, dtype="f4"), np.arange(room, dtype="f4"), *[np.zeros(count, "i4")] * 4]
        yield SeveralDevices(f"ragged, {name}", text.replace("s32[2]", f"s32[{count}]"), 2, given=(given, given))
    text = RAGGED.replace("f32[4]", "bf16[6,3]").replace("f32[5]", "bf16[9,3]").replace("s32[2]", "s64[8]")
    text = text.replace("{{0,1}}", "{{2,0,1,3}}")
    rows = np.arange(18).reshape(6, 3)
    own = SeveralDevices("ragged matrices", text, 4).inputs()
    for device, arrays in enumerate(own):
        arrays[0] = (rows + 20 * device).astype(arrays[0].dtype)
        arrays[2:] = [np.int64(numbers) for numbers in runs(device)]
    yield SeveralDevices("ragged matrices", text, 4, given=tuple(own))


def runs(device: int) -> list[list[int]]:
    """Starts, sizes and places of two runs for each of four members, which have two rows of room for each sender."""
    first = [(device + member) % 3 for member in range(4)]
    sizes = [size for one in first for size in (one, 2 - one)]
    places = [2 * device + taken for one in first for taken in (0, one)]
    return [[(device + k) % 5 for k in range(8)], sizes, places, sizes]


def opcodes() -> list[str]:
    """The operations in these programs, once for each that has them."""
    return [opcode for one in replicated() for opcode in {i.opcode for i in one.module().instructions()}]
