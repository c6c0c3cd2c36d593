"""Reductions, contractions and what runs along an axis."""

from __future__ import annotations

import numpy as np

from xla2py.tests.targets.programs.program import COMPLEX, ELEMENT_TYPES, INTEGERS, Program, number, program, several


def _reductions(kind: str) -> Program:
    spoken = "sum product" if kind in COMPLEX else "every some" if kind == "pred" else "sum product largest least"
    neutral = {"sum": number(kind, 0), "product": number(kind, 1), "every": "true", "some": "false"}
    neutral |= dict(zip(("largest", "least"), _bounds(kind), strict=True))
    setup = [
        "x = $K[4,3,5] parameter(0)",
        *(f"{name}_start = $K[] constant({neutral[name]})" for name in spoken.split()),
    ]
    results = []
    for name in spoken.split():
        for dimensions, shape in (("2", "4,3"), ("0", "3,5"), ("0,2", "3"), ("0,1,2", "")):
            reduced = f"reduce(x, {name}_start), dimensions={{{dimensions}}}, to_apply={name}_$K"
            results.append(f"$K[{shape}] {reduced}")
    setup.append(f"other = $K[] constant({number(kind, 1)})")
    results.append(f"$K[3,5] reduce(x, other), dimensions={{0}}, to_apply={spoken.split()[0]}_$K")
    return several(f"reductions {kind}", "\n".join(setup), *results, K=kind)


def _bounds(kind: str) -> tuple[str, str]:
    """The values that lose against all others as a maximum and as a minimum."""
    if kind not in INTEGERS:
        return "-inf", "inf"
    limits = np.iinfo(kind.replace("s", "int").replace("u", "uint"))
    return str(limits.min), str(limits.max)


def _contractions(kind: str) -> Program:
    return several(
        f"contractions {kind}",
        """a = $K[4,5] parameter(0)
        b = $K[5,6] parameter(1)
        v = $K[5] parameter(2)
        s = $K[2,2,3,2] parameter(3)
        t = $K[2,2,3,2] parameter(4)
        u = $K[2,3] parameter(5)""",
        "$K[4,6] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "$K[4] dot(a, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "$K[6] dot(v, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        "$K[] dot(v, v), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        "$K[4,4] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
        "$K[5,5] dot(a, a), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        "$K[5,4,5] dot(v, a), lhs_contracting_dims={}, rhs_contracting_dims={}",
        "$K[2,2,3,3] dot(s, t), $BATCHES, lhs_contracting_dims={3}, rhs_contracting_dims={3}",
        "$K[2,3,3] dot(s, t), $BATCH, lhs_contracting_dims={1,3}, rhs_contracting_dims={1,3}",
        "$K[3,3] dot(s, t), lhs_contracting_dims={0,1,3}, rhs_contracting_dims={0,1,3}",
        "$K[2,2,3,3] dot(s, u), lhs_contracting_dims={3}, rhs_contracting_dims={0}",
        K=kind,
        BATCH="lhs_batch_dims={0}, rhs_batch_dims={0}",
        BATCHES="lhs_batch_dims={0,1}, rhs_batch_dims={0,1}",
    )


_ROW_INDEX = """
larger { a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  wins = pred[] compare(a, b), direction=GT
  nan = pred[] compare(a, a), direction=NE
  better = pred[] or(wins, nan)
  equal = pred[] compare(a, b), direction=EQ
  earlier = pred[] compare(i, j), direction=LT
  tie = pred[] and(equal, earlier)
  first = pred[] or(better, tie)
  value = f32[] select(better, a, b)
  index = s32[] select(first, i, j)
  ROOT both = (f32[], s32[]) tuple(value, index) }
"""
PROGRAMS = [
    *map(_reductions, ELEMENT_TYPES),
    *map(_contractions, ("s8", "s32", "u32", "s64", "bf16", "f16", "f32", "f64", "c64", "c128")),
    program(
        "softmax",
        """x = f32[4,3,5] parameter(0)
        lowest = f32[] constant(-inf)
        zero = f32[] constant(0)
        m = f32[4,3] reduce(x, lowest), dimensions={2}, to_apply=largest_f32
        b = f32[4,3,5] broadcast(m), dimensions={0,1}
        d = f32[4,3,5] subtract(x, b)
        e = f32[4,3,5] exponential(d)
        s = f32[4,3] reduce(e, zero), dimensions={2}, to_apply=sum_f32
        c = f32[4,3,5] broadcast(s), dimensions={0,1}
        softmax = f32[4,3,5] divide(e, c)""",
    ),
    program(
        "place of the largest",
        """x = f32[4,6] parameter(0)
        y = f32[7] parameter(1)
        lowest = f32[] constant(-inf)
        zero = s32[] constant(0)
        i = s32[4,6] iota(), iota_dimension=1
        j = s32[4,6] iota(), iota_dimension=0
        k = s32[7] iota(), iota_dimension=0
        a = (f32[4], s32[4]) reduce(x, i, lowest, zero), dimensions={1}, to_apply=larger
        b = (f32[6], s32[6]) reduce(x, j, lowest, zero), dimensions={0}, to_apply=larger
        c = (f32[], s32[]) reduce(y, k, lowest, zero), dimensions={0}, to_apply=larger
        all = ((f32[4], s32[4]), (f32[6], s32[6]), (f32[], s32[])) tuple(a, b, c)""",
        computations=_ROW_INDEX,
        special=True,
    ),
    *(
        several(
            f"running sums and products {kind}",
            "x = $K[4,6] parameter(0)\n zero = $K[] constant($ZERO)\n one = $K[] constant($ONE)",
            "$K[4,6] reduce-window(x, zero), window={size=1x6 pad=0_0x5_0}, to_apply=sum_$K",
            "$K[4,6] reduce-window(x, zero), window={size=4x1 pad=0_3x0_0}, to_apply=sum_$K",
            "$K[4,6] reduce-window(x, one), window={size=1x6 pad=0_0x5_0}, to_apply=product_$K",
            K=kind,
            ZERO=number(kind, 0),
            ONE=number(kind, 1),
        )
        for kind in ("s8", "s32", "bf16", "f32", "c64")
    ),
    program(
        "pooling in blocks",
        """x = f32[4,6] parameter(0)
        lowest = f32[] constant(-inf)
        zero = f32[] constant(0)
        a = f32[2,2] reduce-window(x, lowest), window={size=2x3 stride=2x3}, to_apply=largest_f32
        b = f32[2,2] reduce-window(x, zero), window={size=2x3 stride=2x3}, to_apply=sum_f32
        all = (f32[2,2], f32[2,2]) tuple(a, b)""",
    ),
]
