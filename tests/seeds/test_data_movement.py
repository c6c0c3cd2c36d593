"""Worked examples of the operation semantics: shape, slices, scatter."""

import numpy as np

from xla2py.tests.seeds.examples import example, proven

A = np.float32([0, 1, 2, 3, 4])
B = np.float32([[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]])


MOVES = [
    example(
        "dynamic-slice clamps every index, the first too",
        """b = f32[4,3] parameter(0)
        row = s32[] parameter(1)
        column = s32[] parameter(2)
        ROOT r = f32[2,2] dynamic-slice(b, row, column), dynamic_slice_sizes={2,2}""",
        (B, np.int32(-5), np.int32(7)),
        np.float32([[1, 2], [4, 5]]),
    ),
    example(
        "dynamic-update-slice clamps every index",
        """b = f32[4,3] parameter(0)
        u = f32[3,2] parameter(1)
        row = s32[] constant(9)
        column = s32[] constant(-9)
        ROOT r = f32[4,3] dynamic-update-slice(b, u, row, column)""",
        (B, np.float32([[12, 13], [14, 15], [16, 17]])),
        np.float32([[0, 1, 2], [12, 13, 5], [14, 15, 8], [16, 17, 11]]),
    ),
    example(
        "reverse: index i becomes N - 1 - i",
        "b = f32[4,3] parameter(0)\nROOT r = f32[4,3] reverse(b), dimensions={0}",
        (B,),
        np.float32([[9, 10, 11], [6, 7, 8], [3, 4, 5], [0, 1, 2]]),
    ),
    example(
        "pad by nothing does nothing",
        "b = f32[4,3] parameter(0)\nz = f32[] constant(9)\nROOT r = f32[4,3] pad(b, z), padding=0_0_0x0_0_0",
        (B,),
        B,
    ),
    example(
        "pad: interior first, then a negative edge removes from the padded operand",
        "a = f32[5] parameter(0)\nz = f32[] constant(9)\nROOT r = f32[8] pad(a, z), padding=-2_1_1",
        (A,),
        np.float32([1, 9, 2, 9, 3, 9, 4, 9]),
    ),
    example(
        "get-tuple-element",
        """v = f32[10] iota(), iota_dimension=0
        s = s32[] constant(5)
        t = (f32[10], s32[]) tuple(v, s)
        ROOT r = s32[] get-tuple-element(t), index=1""",
        (),
        np.int32(5),
    ),
    example(
        "tuple",
        """v = f32[10] iota(), iota_dimension=0
        s = s32[] constant(5)
        ROOT t = (f32[10], s32[]) tuple(v, s)""",
        (),
        (np.float32([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), np.int32(5)),
    ),
]

BITS = [
    example(
        "bitcast-convert f32[10] to f16[10,2]",
        "x = f32[10] parameter(0)\nROOT r = f16[10,2] bitcast-convert(x)",
        (np.arange(10, dtype=np.float32),),
        np.arange(10, dtype=np.float32).view(np.float16).reshape(10, 2),
    ),
    example(
        "bitcast-convert f32[] to f16[2]",
        "x = f32[] parameter(0)\nROOT r = f16[2] bitcast-convert(x)",
        (np.float32(1),),
        np.float16([0, 1.875]),  # 0x3f800000
    ),
    example(
        "bitcast-convert s32 to f32",
        "x = s32[2] parameter(0)\nROOT r = f32[2] bitcast-convert(x)",
        (np.int32([0x3F800000, 0x40490FDB]),),
        np.float32([1, np.pi]),
    ),
    example(
        "bitcast-convert: one s32 becomes four s8",
        "x = s32[1] parameter(0)\nROOT r = s8[1,4] bitcast-convert(x)",
        (np.int32([0x04030201]),),
        np.int8([[1, 2, 3, 4]]),
    ),
]

SCATTERS = [
    example(
        "scatter: the combiner takes the current value first, then the update",
        """x = f32[4] constant({10, 20, 30, 40})
        i = s32[2] constant({1, 3})
        u = f32[2] constant({1, 2})
        ROOT r = f32[4] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},
          scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=minus""",
        (),
        np.float32([10, 19, 30, 38]),
        "minus { old = f32[] parameter(0)  new = f32[] parameter(1)  ROOT z = f32[] subtract(old, new) }",
    ),
]

test_worked_examples = proven(MOVES + BITS + SCATTERS)
