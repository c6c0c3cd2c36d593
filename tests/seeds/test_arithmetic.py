"""Worked examples of the operation semantics: element-wise operations and dots."""

import numpy as np

from xla2py.tests.seeds.examples import example, proven

SELECTIONS = [
    example(
        "select between tuples, as XLA's builder writes it",
        """mask = pred[] parameter(0)
        a = s32[] constant(1)
        b = f32[2] constant({2, 3})
        c = s32[] constant(4)
        d = f32[2] constant({5, 6})
        first = s32[] select(mask, a, c)
        second = f32[2] select(mask, b, d)
        ROOT r = (s32[], f32[2]) tuple(first, second)""",
        (np.bool_(False),),
        (np.int32(4), np.float32([5, 6])),
    ),
]

ELEMENTWISE = [
    example(
        "sign keeps -0 and NaN",
        "x = f32[5] parameter(0)\nROOT r = f32[5] sign(x)",
        (np.float32([-3, -0.0, np.nan, 0, 3]),),
        np.float32([-1, -0.0, np.nan, 0, 1]),
    ),
    example(
        "sign: the bits of its zeros",
        "x = f32[2] parameter(0)\ns = f32[2] sign(x)\nROOT r = u32[2] bitcast-convert(s)",
        (np.float32([-0.0, 0]),),
        np.uint32([0x80000000, 0]),
    ),
    example(
        "remainder has the sign of the dividend and is smaller than the divisor",
        "x = f32[4] parameter(0)\ny = f32[4] parameter(1)\nROOT r = f32[4] remainder(x, y)",
        (np.float32([7, -7, 7, -7]), np.float32([3, 3, -3, -3])),
        np.float32([1, -1, 1, -1]),
    ),
    example(
        "round away from zero and to even",
        """x = f32[6] parameter(0)
        a = f32[6] round-nearest-afz(x)
        e = f32[6] round-nearest-even(x)
        ROOT r = (f32[6], f32[6]) tuple(a, e)""",
        (np.float32([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]),),
        (np.float32([-3, -2, -1, 1, 2, 3]), np.float32([-2, -2, -0.0, 0, 2, 2])),
    ),
    example(
        "reduce-precision to IEEE half",
        "x = f32[6] parameter(0)\nROOT r = f32[6] reduce-precision(x), exponent_bits=5, mantissa_bits=10",
        (np.float32([1.0004883, 1.0014648, 65519, 65520, -1e6, np.nan]),),
        np.float32([1, 1.0019531, 65504, np.inf, -np.inf, np.nan]),
    ),
    example(
        "reduce-precision wider than the type does nothing",
        "x = f32[2] parameter(0)\nROOT r = f32[2] reduce-precision(x), exponent_bits=11, mantissa_bits=52",
        (np.float32([0.1, 3e38]),),
        np.float32([0.1, 3e38]),
    ),
    example(
        "map",
        """a = f32[3] parameter(0)
        b = f32[3] parameter(1)
        c = f32[3] parameter(2)
        ROOT r = f32[3] map(a, b, c), dimensions={0}, to_apply=f""",
        (np.float32([1, 2, 3]), np.float32([10, 20, 30]), np.float32([2, 2, 2])),
        np.float32([12, 24, 36]),
        """f {
          x = f32[] parameter(0)
          y = f32[] parameter(1)
          z = f32[] parameter(2)
          s = f32[] multiply(x, z)
          ROOT r = f32[] add(s, y)
        }""",
    ),
]

DOTS = [
    example(
        "dot: matrix by vector",
        """x = f32[2,3] parameter(0)
        y = f32[3] parameter(1)
        ROOT r = f32[2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}""",
        (np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([1, 0, 2])),
        np.float32([7, 16]),
    ),
    example(
        "dot: matrix by matrix",
        """x = f32[2,3] parameter(0)
        y = f32[3,2] parameter(1)
        ROOT r = f32[2,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}""",
        (np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([[1, 0], [0, 1], [1, 1]])),
        np.float32([[4, 5], [10, 11]]),
    ),
]


test_worked_examples = proven(SELECTIONS + ELEMENTWISE + DOTS)
