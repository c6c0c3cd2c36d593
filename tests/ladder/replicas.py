"""Programs of several replicas that go up the ladder, in one process (``run_local``)."""

from __future__ import annotations

from xla2py.tests.replicas import programs
from xla2py.tests.replicas.programs import SeveralDevices
from xla2py.tests.replicas.test_definitions import PAIRS, RECV, SEND, TRANSFER

TABLES = (programs.grouped, programs.element_types, programs.reducers, programs.others, programs.control)
BROADCAST = programs.entry("ROOT r = f32[4,8] collective-broadcast(x), replica_groups={{2,0},{1,3}}")


def replicated() -> list[SeveralDevices]:
    """The collectives in all spellings of their groups; a broadcast, send and receive."""
    return [
        *(one for table in TABLES for one in table()),
        SeveralDevices("broadcast", BROADCAST),
        SeveralDevices("send and receive", TRANSFER.format(RECV.format(PAIRS) + SEND.format(PAIRS)), 3),
    ]


def opcodes() -> set[str]:
    """The operations in these programs."""
    return {instruction.opcode for one in replicated() for instruction in one.module().instructions()}
