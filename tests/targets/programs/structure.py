"""Constants, and operations that move elements about."""

from __future__ import annotations

from xla2py.tests.targets.programs.program import program, several

_ALONG = "collapsed_slice_dims={{{0}}}, start_index_map={{{0}}}, index_vector_dim=1"  # an axis, of gather

BY_TWO_INDICES = program(
    "elements by two indices",
    """x = f32[5,6,2] parameter(0)
    i = s32[3] parameter(1)
    j = s32[3] parameter(2)
    rows = s32[3,1] reshape(i)
    columns = s32[3,1] reshape(j)
    places = s32[3,2] concatenate(rows, columns), dimensions={1}
    taken = f32[3,2] gather(x, places), offset_dims={1}, collapsed_slice_dims={0,1}, start_index_map={0,1}, $REST""",
    REST="index_vector_dim=1, slice_sizes={1,1,2}",
)

PROGRAMS = [
    several(
        f"structure {kind}",
        """x = $K[4,6] parameter(0)
        y = $K[6] parameter(1)
        z = $K[] parameter(2)
        c = $K[] constant($C)""",
        "$K[6,4] transpose(x), dimensions={1,0}",
        "$K[3,8] reshape(x)",
        "$K[2,2,6] reshape(x)",
        "$K[24] reshape(x)",
        "$K[1,4,1,6] reshape(x)",
        "$K[4,6] reverse(x), dimensions={0,1}",
        "$K[2,3] slice(x), slice={[1:4:2], [0:6:2]}",
        "$K[1,6] slice(x), slice={[2:3], [0:6]}",
        "$K[4,6,2] broadcast(x), dimensions={0,1}",
        "$K[4,6] broadcast(y), dimensions={1}",
        "$K[3] broadcast(z), dimensions={}",
        "$K[8,6] concatenate(x, x), dimensions={0}",
        "$K[6,8] pad(x, c), padding=1_1x0_2",
        "$K[4,5] pad(x, c), padding=-1_1x-2_1",
        "$K[4,7] pad(x, c), padding=0_0x1_0",
        K=kind,
        C=filling,
    )
    for kind, filling in (
        ("f32", "-inf"),
        ("f64", "0"),
        ("s8", "3"),
        ("pred", "true"),
        ("c64", "(1, -2)"),
        ("bf16", "0.5"),
    )
] + [
    program(
        "permutations of three dimensions",
        """x = f32[2,3,4] parameter(0)
        a = f32[2,4,3] transpose(x), dimensions={0,2,1}
        b = f32[4,2,3] transpose(x), dimensions={2,0,1}
        c = f32[4,2,3] exponential(b)
        d = f32[8,3] reshape(c)
        e = f32[2,4,3] sine(a)
        f = f32[2,12] reshape(e)
        all = (f32[2,4,3], f32[4,2,3], f32[8,3], f32[2,12]) tuple(a, b, d, f)""",
    ),
    program(
        "stacks, some of them of constants",
        """x = f32[] parameter(0)
        y = f32[3] parameter(1)
        two = f32[] constant(2)
        a = f32[1] reshape(x)
        b = f32[1] reshape(two)
        c = f32[2] concatenate(a, b), dimensions={0}
        d = f32[1,3] reshape(y)
        e = f32[2,3] concatenate(d, d), dimensions={0}
        f = f32[1,3] broadcast(two), dimensions={}
        g = f32[2,3] concatenate(d, f), dimensions={0}
        all = (f32[2], f32[2,3], f32[2,3]) tuple(c, e, g)""",
    ),
    several(
        "iotas",
        "x = f32[2,4] parameter(0)",
        "s32[2,4] iota(), iota_dimension=1",
        "f32[2,4] iota(), iota_dimension=0",
        "u8[5] iota(), iota_dimension=0",
        "f16[5] iota(), iota_dimension=0",
        "c64[3] iota(), iota_dimension=0",
        "f32[2,4] add(x, x)",
    ),
    program(
        "constants of every size",
        """x = f32[12] parameter(0)
        small = f32[3] constant({1, -2.5, inf})
        middling = f32[12] constant({0, 1, 2, 3, 4, 5, 6, 7, 8, nan, -inf, 0.1})
        large = s32[80] constant({$LARGE})
        narrow = bf16[70] constant({$NARROW})
        flags = pred[9] constant({1, 0, 0, 1, 1, 0, 1, 0, 1})
        limits = u64[2] constant({0, 18446744073709551615})
        bounds = u64[9] constant({0, 18446744073709551615, 2, 3, 4, 5, 6, 7, 8})
        y = f32[12] add(x, middling)
        z = f32[12] multiply(y, middling)
        some = (f32[12], f32[12], f32[3], pred[9]) tuple(y, z, small, flags)
        more = (s32[80], bf16[70], u64[2], u64[9]) tuple(large, narrow, limits, bounds)
        all = ((f32[12], f32[12], f32[3], pred[9]), (s32[80], bf16[70], u64[2], u64[9])) tuple(some, more)""",
        LARGE=", ".join(str(k * k) for k in range(80)),
        NARROW=", ".join(str(k / 4) for k in range(70)),
    ),
    program(
        "results that no array goes into",
        """x = f32[] parameter(0)
        one = f32[] constant(1)
        flag = pred[] constant(true)
        half = bf16[] constant(0.5)
        filled = bf16[2,2] broadcast(half), dimensions={}
        e = f32[] exponential(one)
        y = f32[] multiply(x, e)
        all = (f32[], pred[], bf16[2,2], f32[], f32[]) tuple(one, flag, filled, e, y)""",
    ),
    program(
        "arguments in tuples",
        """t = (f32[3], (s32[2,2], pred[])) parameter(0)
        x = f32[4] parameter(1)
        a = f32[3] get-tuple-element(t), index=0
        u = (s32[2,2], pred[]) get-tuple-element(t), index=1
        b = s32[2,2] get-tuple-element(u), index=0
        c = pred[] get-tuple-element(u), index=1
        d = s32[2,2] add(b, b)
        e = f32[3] negate(a)
        f = (s32[2,2], f32[3]) tuple(d, e)
        all = (f32[4], (s32[2,2], f32[3]), pred[]) tuple(x, f, c)""",
    ),
    program(
        "empty arrays",
        """x = f32[0,3] parameter(0)
        y = f32[2] parameter(1)
        zero = f32[] constant(0)
        a = f32[0,3] exponential(x)
        b = f32[3] reduce(x, zero), dimensions={0}, to_apply=sum_f32
        c = f32[0] reduce(x, zero), dimensions={1}, to_apply=sum_f32
        d = f32[0] slice(y), slice={[1:1]}
        e = f32[0,6] concatenate(x, a), dimensions={1}
        all = (f32[0,3], f32[3], f32[0], f32[0], f32[0,6]) tuple(a, b, c, d, e)""",
    ),
    program(
        "rows by index",
        """x = f32[5,3] parameter(0)
        i = s32[4] parameter(1)
        j = u8[4] parameter(2)
        a = f32[4,3] gather(x, i), $ROWS
        b = f32[5,4] gather(x, j), $COLUMNS
        k = s32[2] constant({4, 0})
        c = f32[2,3] gather(x, k), $ROWS
        n = s32[5] iota(), iota_dimension=0
        d = f32[5,3] gather(x, n), $ROWS
        all = (f32[4,3], f32[5,4], f32[2,3], f32[5,3]) tuple(a, b, c, d)""",
        ROWS=f"offset_dims={{1}}, {_ALONG.format(0)}, slice_sizes={{1,3}}",
        COLUMNS=f"offset_dims={{0}}, {_ALONG.format(1)}, slice_sizes={{5,1}}",
    ),
]
