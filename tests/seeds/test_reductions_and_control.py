"""Worked examples of the operation semantics: reductions, windows, sort, control flow."""

import numpy as np

import xla2py
from xla2py.tests.seeds.examples import LARGEST, SUM, example, proven

REDUCTIONS = [
    example(
        "variadic reduce: max and argmax, the later of equals",
        """v = f32[6] parameter(0)
        k = s32[6] iota(), iota_dimension=0
        lowest = f32[] constant(-inf)
        none = s32[] constant(-1)
        ROOT r = (f32[], s32[]) reduce(v, k, lowest, none), dimensions={0}, to_apply=f""",
        (np.float32([3, 9, -4, 7, 9, 1]),),
        (np.float32(9), np.int32(4)),
        """f {
          max = f32[] parameter(0)
          argmax = s32[] parameter(1)
          value = f32[] parameter(2)
          index = s32[] parameter(3)
          later = pred[] compare(value, max), direction=GE
          v = f32[] select(later, value, max)
          i = s32[] select(later, index, argmax)
          ROOT r = (f32[], s32[]) tuple(v, i)
        }""",
        refused_by_xla="the order of evaluation is open: XLA may keep the earlier of equals",
    )
]

TABLE = np.arange(24, dtype=np.float32).reshape(4, 6)[::-1].copy()

WINDOWS = [
    example(
        "reduce-window: the largest of each 2 by 3",
        """x = f32[4,6] parameter(0)
        lowest = f32[] constant(-3.40282347e+38)
        ROOT r = f32[2,2] reduce-window(x, lowest), window={size=2x3 stride=2x3}, to_apply=largest""",
        (TABLE,),
        np.float32([[20, 23], [8, 11]]),
        LARGEST,
    ),
    example(
        "select-and-scatter: two overlapping windows choose the 9 and add 2 + 6",
        """x = f32[4,5] constant({ {7, 2, 5, 3, 8}, {3, 8, 9, 3, 4}, {1, 5, 7, 5, 6}, {0, 6, 2, 10, 2} })
        source = f32[2,2] constant({ {2, 6}, {3, 1} })
        zero = f32[] constant(0)
        ROOT r = f32[4,5] select-and-scatter(x, source, zero), window={size=2x3 stride=2x2}, select=ge, scatter=sum""",
        (),
        np.float32([[0, 0, 0, 0, 0], [0, 0, 8, 0, 0], [0, 0, 3, 0, 0], [0, 0, 0, 1, 0]]),
        "ge { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = pred[] compare(x, y), direction=GE }",
        SUM,
    ),
    example(
        "sort of a matrix: each column for itself, and each row",
        """x = f32[2,3] constant({ {6, 2, 4}, {5, 3, 1} })
        columns = f32[2,3] sort(x), dimensions={0}, to_apply=less
        rows = f32[2,3] sort(x), dimensions={1}, to_apply=less
        ROOT r = (f32[2,3], f32[2,3]) tuple(columns, rows)""",
        (),
        (np.float32([[5, 2, 1], [6, 3, 4]]), np.float32([[2, 4, 6], [1, 3, 5]])),
        "less { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = pred[] compare(x, y), direction=LT }",
    ),
]

BRANCHES = [f"b{n} {{ x = f32[] parameter(0)  k = f32[] constant({n}0)  ROOT r = f32[] add(x, k) }}" for n in (1, 2, 3)]

CONTROL = (
    [
        example(
            f"conditional {taken}",
            """p = pred[] parameter(0)
        x = f32[] constant(1)
        y = f32[] constant(2)
        ROOT r = f32[] conditional(p, x, y), true_computation=b1, false_computation=b2""",
            (np.bool_(taken),),
            np.float32(11 if taken else 22),
            *BRANCHES,
        )
        for taken in (True, False)
    ]
    + [
        example(
            f"conditional: branch_index {index} of 3",
            """i = s32[] parameter(0)
        x = f32[] constant(1)
        ROOT r = f32[] conditional(i, x, x, x), branch_computations={b1, b2, b3}""",
            (np.int32(index),),
            np.float32(expected),
            *BRANCHES,
        )
        for index, expected in {0: 11, 1: 21, 2: 31, -1: 31, 3: 31}.items()
    ]
    + [
        example("call", "x = f32[] constant(5)\nROOT r = f32[] call(x), to_apply=b1", (), np.float32(15), *BRANCHES),
        example(
            "optimization barrier",
            """x = f32[] constant(5)
        y = s32[2] constant({1, 2})
        t = (f32[], s32[2]) tuple(x, y)
        ROOT r = (f32[], s32[2]) opt-barrier(t)""",
            (),
            (np.float32(5), np.int32([1, 2])),
        ),
        example(
            "after-all joins tokens",
            """x = f32[] constant(5)
        a = token[] after-all()
        b = token[] after-all()
        c = token[] after-all(a, b)
        ROOT r = f32[] add-dependency(x, c)""",
            (),
            np.float32(5),
            refused_by_xla="the StableHLO route has no add-dependency",
        ),
    ]
)

test_worked_examples = proven(REDUCTIONS + WINDOWS + CONTROL)


def test_one_branch_runs_and_the_other_may_never_end():
    result = run_text(
        """HloModule example
        always { x = f32[] parameter(0)  ROOT t = pred[] constant(true) }
        same { ROOT x = f32[] parameter(0) }
        forever { x = f32[] parameter(0)  ROOT r = f32[] while(x), condition=always, body=same }
        ENTRY main {
          p = pred[] parameter(0)
          x = f32[] parameter(1)
          ROOT r = f32[] conditional(p, x, x), true_computation=same, false_computation=forever
        }""",
        np.bool_(True),
        np.float32(7),
    )
    assert result == 7


def run_text(text: str, *inputs: np.ndarray) -> object:
    return xla2py.emit(text, target="numpy").load().main(*inputs)
