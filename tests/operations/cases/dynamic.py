"""Sizes known at run time only: set-dimension-size and what follows it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from xla2py.tests.operations.case import Case, case
from xla2py.tests.operations.values import ALL, numbers

SUM = "total { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] add(x, y) }"
LARGEST = "largest { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] maximum(x, y) }"


def sizes() -> Iterator[Case]:
    for name in ALL:
        x = numbers(name, 2, 3)
        body = "r = s32[] get-dimension-size(p0), dimensions={1}"
        yield case("get-dimension-size", body, x, oracle=lambda x: np.int32(3))
    yield case("get-dimension-size", "r = s32[] get-dimension-size(p0), dimensions={0}", numbers("f32", 0, 3))
    for size in (0, 1, 4, 5):
        body = """d = f32[<=5,2] set-dimension-size(p0, p1), dimensions={0}
        r = s32[] get-dimension-size(d), dimensions={0}"""
        for opcode in ("get-dimension-size", "set-dimension-size"):
            yield case(opcode, body, numbers("f32", 5, 2), np.int32(size))


def reductions() -> Iterator[Case]:
    for size in (0, 1, 3, 5):
        for sizes_, dimension, result in [((5,), 0, ""), ((5, 2), 0, "2"), ((2, 5), 1, "2")]:
            x = numbers("f32", *sizes_)
            bounds = ",".join(f"<={n}" if d == dimension else str(n) for d, n in enumerate(sizes_))
            for callee, init in ((SUM, 0), (LARGEST, -np.inf)):
                body = f"""d = f32[{bounds}] set-dimension-size(p0, p1), dimensions={{{dimension}}}
                i = f32[] constant({init})
                r = f32[{result}] reduce(d, i), dimensions={{{dimension}}}, to_apply={callee.split()[0]}"""
                yield case("set-dimension-size", body, x, np.int32(size), callees=[callee])


def elementwise() -> Iterator[Case]:
    """The size travels with the array through operations that keep it."""
    x, y = numbers("f32", 6), numbers("f32", 6, seed=1)
    for line in [
        "e = f32[<=6] negate(d)",
        "e = f32[<=6] add(d, d)",
        """k = f32[] constant(2)
        b = f32[<=6] broadcast(k), dimensions={}
        c = f32[<=6] set-dimension-size(b, p1), dimensions={0}
        e = f32[<=6] multiply(d, c)""",
        "c = f32[<=6] set-dimension-size(p2, p1), dimensions={0}\ne = f32[<=6] subtract(d, c)",
        "i = s32[<=6] convert(d)\ne = f32[<=6] convert(i)",
    ]:
        body = f"""d = f32[<=6] set-dimension-size(p0, p1), dimensions={{0}}
        {line}
        zero = f32[] constant(0)
        r = f32[] reduce(e, zero), dimensions={{0}}, to_apply=total"""
        if "p2" not in line:
            yield case("set-dimension-size", body, x, np.int32(4), callees=[SUM])
        else:
            yield case("set-dimension-size", body, x, np.int32(4), y, callees=[SUM])
    body = """d = f32[3,<=6] set-dimension-size(p0, p1), dimensions={1}
    t = f32[<=6,3] transpose(d), dimensions={1,0}
    zero = f32[] constant(0)
    r = f32[3] reduce(t, zero), dimensions={0}, to_apply=total"""
    yield case("set-dimension-size", body, numbers("f32", 3, 6), np.int32(4), callees=[SUM])
    body = """d = f32[3,<=6] set-dimension-size(p0, p1), dimensions={1}
    c = f32[<=6,2] set-dimension-size(p2, p1), dimensions={0}
    r = f32[3,2] dot(d, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}"""
    yield case("set-dimension-size", body, numbers("f32", 3, 6), np.int32(4), numbers("f32", 6, 2))


def reshapes() -> Iterator[Case]:
    """Rows of the dynamic columns; judged by definition."""

    def oracle(x, size, rows, columns):
        return x[: int(size)].reshape(int(rows), int(columns)).sum(1)

    body = """d = f32[<=8] set-dimension-size(p0, p1), dimensions={0}
    e = f32[2,<=4] dynamic-reshape(d, p2, p3)
    zero = f32[] constant(0)
    r = f32[2] reduce(e, zero), dimensions={1}, to_apply=total"""
    for size in (8, 6, 2, 0):
        inputs = numbers("f32", 8), np.int32(size), np.int32(2), np.int32(size // 2)
        yield case("dynamic-reshape", body, *inputs, callees=[SUM], oracle=oracle)


def cases() -> Iterator[Case]:
    yield from sizes()
    yield from reductions()
    yield from elementwise()
    yield from reshapes()
