"""Random numbers: bit for bit where the algorithm is fixed, by their properties where it is not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from xla2py.tests.operations.case import Case, case
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES

STATES = {"rng_three_fry": (2,), "rng_philox": (2, 3), "rng_default": (2, 3)}


def bit_generators() -> Iterator[Case]:
    """Bits of floats and signed integers are asked of XLA as those of the unsigned type."""
    for algorithm, lengths in STATES.items():
        for length in lengths:
            state = np.arange(5, 5 + length, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            names = ("u4", "u8", "u16", "s8", "s16", "s32", "s64", "bf16", "f16", "f32", "f64", "u32", "u64")
            for name in names if algorithm != "rng_default" else names[-2:]:
                bits = f"u{ELEMENT_TYPES[name].bits}"
                for sizes in ["3,5", ""] if name in ("u32", "u64") else ["7"]:
                    body = f"r = (u64[{length}], {name}[{sizes}]) rng-bit-generator(p0), algorithm={algorithm}"
                    reference = None
                    if bits != name:
                        drawn = f"(u64[{length}], {bits}[{sizes}])"
                        reference = f"""g = {drawn} rng-bit-generator(p0), algorithm={algorithm}
                        s = u64[{length}] get-tuple-element(g), index=0
                        b = {bits}[{sizes}] get-tuple-element(g), index=1
                        c = {name}[{sizes}] bitcast-convert(b)
                        r = (u64[{length}], {name}[{sizes}]) tuple(s, c)"""
                    yield case("rng-bit-generator", body, state, element_type=name, reference=reference)
    empty = "r = (u64[2], u32[0]) rng-bit-generator(p0), algorithm=rng_three_fry"
    yield case("rng-bit-generator", empty, np.arange(2, dtype=np.uint64), element_type="u32")
    full = np.full(2, 2**64 - 1, np.uint64)  # the counter wraps
    for algorithm in ("rng_three_fry", "rng_philox"):
        body = f"r = (u64[2], u32[9]) rng-bit-generator(p0), algorithm={algorithm}"
        yield case("rng-bit-generator", body, full, element_type="u32")


def distributions() -> Iterator[Case]:
    """All values in range, and the mean where it belongs: 0 false, 1 true."""
    all_true = "all { x = pred[] parameter(0)  y = pred[] parameter(1)  ROOT z = pred[] and(x, y) }"
    total = "total { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] add(x, y) }"
    mean = """w = f32[4096] convert(x)
    zero = f32[] constant(0)
    n = f32[] constant(4096)
    s = f32[] reduce(w, zero), dimensions={0}, to_apply=total
    m = f32[] divide(s, n)
    centre = f32[] constant(%s)
    away = f32[] subtract(m, centre)
    distance = f32[] abs(away)
    near = f32[] constant(0.25)
    ok = pred[] compare(distance, near), direction=LT"""
    for name in ("f64", "f32", "f16", "bf16", "s64", "u64", "s32", "u32", "s8", "u8", "s16", "u16"):
        centre = 5.0 if ELEMENT_TYPES[name].is_floating else 4.5
        body = f"""low = {name}[] constant(2)
        high = {name}[] constant(8)
        x = {name}[4096] rng(low, high), distribution=rng_uniform
        lows = {name}[4096] broadcast(low), dimensions={{}}
        highs = {name}[4096] broadcast(high), dimensions={{}}
        above = pred[4096] compare(x, lows), direction=GE
        below = pred[4096] compare(x, highs), direction=LT
        inside = pred[4096] and(above, below)
        yes = pred[] constant(true)
        every = pred[] reduce(inside, yes), dimensions={{0}}, to_apply=all
        {mean % centre}
        r = pred[] and(every, ok)"""
        yield case("rng", body, element_type=name, callees=[all_true, total], oracle=lambda: np.bool_(True))
    for name in ("f64", "f32", "f16", "bf16"):
        body = f"""mu = {name}[] constant(3)
        sigma = {name}[] constant(2)
        x = {name}[4096] rng(mu, sigma), distribution=rng_normal
        {mean % 3.0}
        yes = pred[] constant(true)
        r = pred[] and(ok, yes)"""
        yield case("rng", body, element_type=name, callees=[total], oracle=lambda: np.bool_(True))
    shape = """low = f32[] constant(0)
    high = f32[] constant(1)
    x = f32[0,3] rng(low, high), distribution=rng_uniform
    r = f32[0,3] negate(x)"""
    yield case("rng", shape, element_type="f32", oracle=lambda: np.zeros((0, 3), np.float32))


def states() -> Iterator[Case]:
    """The state moves on by delta from one instruction to the next."""
    body = """a = u64[2] rng-get-and-update-state(), delta=16
    b = u64[2] rng-get-and-update-state(), delta=16, control-predecessors={a}
    r = u64[2] subtract(b, a)"""
    expected = np.array([16, 0], np.uint64)
    yield case("rng-get-and-update-state", body, element_type="u64", oracle=lambda: expected)


def cases() -> Iterator[Case]:
    yield from bit_generators()
    yield from distributions()
    yield from states()
