"""The ReplicaId section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import check, check_on_replicas, s32
from xla2py.transpile.hlo.builder import (
    S32,
    XlaBuilder,
)


def test_replica_ids_count_the_replicas() -> None:
    rows = [(s32(i * 100),) for i in range(3)]
    check_on_replicas(lambda b, x: x + b.convert_element_type(b.replica_id(), S32), rows, [s32(0), s32(101), s32(202)])


def test_ids_are_u32_scalars() -> None:
    b = XlaBuilder("ids")
    assert [str(op.shape) for op in (b.replica_id(), b.partition_id())] == ["u32[]", "u32[]"]


def test_on_one_replica() -> None:
    check(lambda b: b.replica_id(), expected=np.array(0, np.uint32))
