"""Powers of integers that are written out by squaring, and powers of one."""

import numpy as np

from xla2py.tests.passes.raising import EXACT, STAYS, cases, entry
from xla2py.tests.recording.lazy_jax import jnp

A, B = np.indices((9, 12)).reshape(2, -1).astype(np.int32)
A, B = A - 4, np.concatenate([B[:-6], np.int32([-1, 64, 65, 63, 31, 128])])


def by_squaring(bits=6, kind="s32", first="both"):
    """``a ** b`` by some of the lowest bits of ``b``."""
    lines = [f"n{k} = {kind}[] constant({k})" for k in (0, 1)]
    lines += [f"c{k} = {kind}[108] broadcast(n{k}), dimensions={{}}" for k in (0, 1)]
    lines += ["is_zero = pred[108] compare(a, c0), direction=EQ", "is_not = pred[108] compare(b, c0), direction=NE"]
    lines += ["both = pred[108] and(is_zero, is_not)", f"p0 = {kind}[108] select({first}, c0, c1)"]
    base, rest = "a", "b"
    for k in range(bits):
        lines += [
            f"bit{k} = {kind}[108] and({rest}, c1)",
            f"is{k} = pred[108] compare(bit{k}, c0), direction=NE",
            f"m{k} = {kind}[108] multiply(p{k}, {base})",
            f"p{k + 1} = {kind}[108] select(is{k}, m{k}, p{k})",
        ]
        if k < bits - 1:
            lines += [
                f"a{k} = {kind}[108] multiply({base}, {base})",
                f"b{k} = {kind}[108] shift-right-logical({rest}, c1)",
            ]
            base, rest = f"a{k}", f"b{k}"
    return entry(f"a = {kind}[108] parameter(0)", f"b = {kind}[108] parameter(1)", *lines)


POWER = "return np.where((a == 0) & (b != 0), 0, a ** (b & 63))"
test_powers = cases("powers", A, B, budget=EXACT)(
    (by_squaring(), POWER),
    (by_squaring(kind="u32"), (A.view(np.uint32), B.view(np.uint32)), POWER),
    (by_squaring(kind="s8"), (A.astype(np.int8), B.astype(np.int8)), POWER),
    (by_squaring(bits=3), STAYS),
    (by_squaring(first="is_zero"), STAYS),
)

test_powers_of_numbers = cases("powers", B, budget=EXACT)(
    *((lambda b, base=base: jnp.int32(base) ** b, f"return {base} ** (b & 63)") for base in (2, 3, 10, 4)),
    (lambda b: jnp.int32(-2) ** b, "return (-2) ** (b & 63)"),
    (lambda b: jnp.int32(-1) ** b, "return np.where(b & 1 != 0, np.int32(-1), np.int32(1))"),
    (lambda b: jnp.uint8(2) ** b.astype(jnp.uint8), "return 2 ** (b.astype(np.uint8) & 63)"),
    (lambda b: jnp.int32(2) ** (b & 7), "return 2 ** (b & 7)"),
    lambda b: jnp.int32(0) ** b,
    lambda b: jnp.uint8(7) ** b.astype(jnp.uint8),  # of which a square is 1
)

X = np.float32([0, -0.0, 1, -2.5, np.inf, -np.inf, np.nan])


def of_number(number):
    return entry(
        "x = f32[7] parameter(0)",
        f"n = f32[] constant({number})",
        "ns = f32[7] broadcast(n), dimensions={}",
        "p = f32[7] power(ns, x)",
    )


test_powers_of_one = cases("powers", X, budget=EXACT)(
    (of_number(1), "return np.ones(7, dtype=np.float32)"), (of_number(2), STAYS), (of_number(-1), STAYS)
)
