"""Worked examples of the operation semantics: shape, slices, gather, scatter."""

import numpy as np
import pytest

from xla2py.tests.seeds.examples import SUM, check_emitted, check_xla, example

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

GRID = np.arange(16 * 11, dtype=np.float32).reshape(16, 11)
FIVE = np.int64([[0, 0], [8, 5], [3, 1], [2, 4], [7, 3]])
TWENTY = np.stack([np.arange(20).reshape(4, 5) % 9, np.arange(20).reshape(4, 5) % 6], -1)
ROWS = np.int64([[[0], [15], [3], [3], [7]]] * 4)
BLOCK = np.arange(2 * 3 * 4 * 3 * 2 * 2, dtype=np.float32).reshape(2, 3, 4, 3, 2, 2)
ORDINALS = np.arange(6 * 7).reshape(6, 7) % 16

GATHERS = [
    example(
        "gather: five slices of [8,6] from [16,11]",
        """x = f32[16,11] parameter(0)
        i = s64[5,2] parameter(1)
        ROOT r = f32[5,8,6] gather(x, i), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0,1},
          index_vector_dim=1, slice_sizes={8,6}""",
        (GRID, FIVE),
        np.stack([GRID[x : x + 8, y : y + 6] for x, y in FIVE]),
    ),
    example(
        "gather: slices for a [4,5] grid of positions",
        """x = f32[16,11] parameter(0)
        i = s64[4,5,2] parameter(1)
        ROOT r = f32[4,5,8,6] gather(x, i), offset_dims={2,3}, collapsed_slice_dims={}, start_index_map={0,1},
          index_vector_dim=2, slice_sizes={8,6}""",
        (GRID, TWENTY),
        np.stack([[GRID[x : x + 8, y : y + 6] for x, y in row] for row in TWENTY]),
    ),
    example(
        "gather: gather_nd picks whole rows",
        """x = f32[16,11] parameter(0)
        i = s64[4,5,1] parameter(1)
        ROOT r = f32[4,5,11] gather(x, i), offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0},
          index_vector_dim=2, slice_sizes={1,11}""",
        (GRID, ROWS),
        GRID[ROWS[:, :, 0]],
    ),
    example(
        "gather: index_vector_dim 2 reads [6,7] as [6,7,1]",
        """x = f32[16,11] parameter(0)
        i = s64[6,7] parameter(1)
        ROOT r = f32[6,7,11] gather(x, i), offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0},
          index_vector_dim=2, slice_sizes={1,11}""",
        (GRID, ORDINALS),
        GRID[ORDINALS],
    ),
    example(
        "gather: with 0 and 2 of 6 collapsed, the offset dimensions are 1, 3, 4, 5",
        """x = f32[2,3,4,3,2,2] parameter(0)
        i = s64[5,2] parameter(1)
        ROOT r = f32[5,3,3,2,2] gather(x, i), offset_dims={1,2,3,4}, collapsed_slice_dims={0,2},
          start_index_map={0,2}, index_vector_dim=1, slice_sizes={1,3,1,3,2,2}""",
        (BLOCK, np.int64([[0, 0], [1, 3], [0, 2], [1, 1], [1, 0]])),
        np.stack([BLOCK[a, :, b] for a, b in [(0, 0), (1, 3), (0, 2), (1, 1), (1, 0)]]),
    ),
    example(
        "scatter: the inverse of gathering slices, overlaps added",
        """x = f32[16,11] parameter(0)
        i = s64[5,2] parameter(1)
        u = f32[5,8,6] parameter(2)
        ROOT r = f32[16,11] scatter(x, i, u), update_window_dims={1,2}, inserted_window_dims={},
          scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=sum""",
        (np.zeros((16, 11), np.float32), FIVE, np.ones((5, 8, 6), np.float32)),
        sum(np.pad(np.ones((8, 6), np.float32), [(x, 8 - x), (y, 5 - y)]) for x, y in FIVE),
        SUM,
    ),
    example(
        "scatter: with 0 and 2 of 6 inserted, the window dimensions are 1, 3, 4, 5",
        """x = f32[2,3,4,3,2,2] parameter(0)
        i = s64[1,2] constant({{1, 3}})
        u = f32[1,3,3,2,2] parameter(1)
        ROOT r = f32[2,3,4,3,2,2] scatter(x, i, u), update_window_dims={1,2,3,4}, inserted_window_dims={0,2},
          scatter_dims_to_operand_dims={0,2}, index_vector_dim=1, to_apply=sum""",
        (BLOCK, np.ones((1, 3, 3, 2, 2), np.float32)),
        BLOCK + np.float32(np.indices(BLOCK.shape)[0] == 1) * np.float32(np.indices(BLOCK.shape)[2] == 3),
        SUM,
    ),
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

EXAMPLES = MOVES + BITS + GATHERS


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: case.name)
def test_emitted(case):
    check_emitted(case)


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: case.name)
def test_xla_agrees(case):
    check_xla(case)
