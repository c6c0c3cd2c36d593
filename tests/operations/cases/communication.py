"""What one replica can do alone, and custom calls that have a meaning of their own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from xla2py.tests.operations.case import Case, case
from xla2py.tests.operations.values import Array, numbers

MORE = """more {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = pred[] compare(x, y), direction=GT, type=TOTALORDER
}"""


def identifiers() -> Iterator[Case]:
    yield case("replica-id", "r = u32[] replica-id()", element_type="u32", oracle=lambda: np.uint32(0))
    yield case("partition-id", "r = u32[] partition-id()", element_type="u32", oracle=lambda: np.uint32(0))


def custom_calls() -> Iterator[Case]:
    x = numbers("f32", 2, 3)
    for target in (
        "Sharding",
        "SPMDFullToShardShape",
        "SPMDShardToFullShape",
        "MoveToHost",
        "MoveToDevice",
        "annotate_device_placement",
    ):
        body = f'r = f32[2,3] custom-call(p0), custom_call_target="{target}"'
        yield case("custom-call", body, x, oracle=lambda x: x)
    yield case(
        "custom-call",
        'r = (f32[2,2], s32[2,2]) custom-call(p0), custom_call_target="TopK", called_computations={more}',
        x,
        callees=[MORE],
        oracle=top_two,
    )


def top_two(x: Array) -> tuple[Array, Array]:
    order = np.argsort(-x, axis=-1, kind="stable")[:, :2]
    return np.take_along_axis(x, order, -1), order.astype(np.int32)


def cases() -> Iterator[Case]:
    yield from identifiers()
    yield from custom_calls()
