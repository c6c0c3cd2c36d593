"""dot, ragged-dot, scaled-dot, convolution."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from xla2py.tests.operations.case import Case, case, result_shape, shape_text
from xla2py.tests.operations.values import COMPLEXES, FLOATS, INTEGERS, Array, dtype, numbers
from xla2py.transpile.equivalence.verdicts.comparison import Budget
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES

NUMERIC = tuple(name for name in INTEGERS + FLOATS + COMPLEXES if ELEMENT_TYPES[name].bits > 1)


def braces(values: tuple[int, ...]) -> str:
    return "{" + ",".join(map(str, values)) + "}"


def dot(
    left: Array,
    right: Array,
    result: str,
    batch: tuple[tuple[int, ...], tuple[int, ...]] = ((), ()),
    contracting: tuple[tuple[int, ...], tuple[int, ...]] = ((1,), (0,)),
    more: str = "",
) -> Case:
    """``result`` is an element type: the sizes follow."""
    sizes = [left.shape[d] for d in batch[0]]
    for array, side in ((left, 0), (right, 1)):
        sizes += [size for d, size in enumerate(array.shape) if d not in batch[side] + contracting[side]]
    attributes = []
    if batch[0]:
        attributes.append(f"lhs_batch_dims={braces(batch[0])}, rhs_batch_dims={braces(batch[1])}")
    attributes.append(f"lhs_contracting_dims={braces(contracting[0])}, rhs_contracting_dims={braces(contracting[1])}")
    shape = f"{result}[{','.join(map(str, sizes))}]"
    body = f"r = {shape} dot(p0, p1), {', '.join(attributes)}{more}"
    terms = int(np.prod([left.shape[d] for d in contracting[0]], initial=1))
    reference = in_s32(body, left, right) if left.dtype in NARROW else None
    return case("dot", body, left, right, budget=Budget(terms=max(1, terms)), reference=reference)


NARROW = {dtype(name) for name in ("s2", "u2", "s4", "u4")}


def in_s32(body: str, left: Array, right: Array) -> str:
    """The same in s32, wrapped at the end: XLA on the CPU contracts no narrower integers."""
    operation = body.replace("p0, p1", "a, b").partition("[")[2]
    return "\n".join(
        [
            f"a = {shape_text(left.astype(np.int32))} convert(p0)",
            f"b = {shape_text(right.astype(np.int32))} convert(p1)",
            f"c = s32[{operation}",
            f"r = {result_shape(body)} convert(c)",
        ]
    )


def dots() -> Iterator[Case]:
    for name in NUMERIC:
        yield dot(numbers(name, 3, 5), numbers(name, 5, 2, seed=1), name)
    for left, right, result in [
        ("s8", "s8", "s32"),
        ("u8", "u8", "u32"),
        ("s16", "s16", "s32"),
        ("s32", "s32", "s64"),
        ("s4", "s4", "s32"),
        ("bf16", "bf16", "f32"),
        ("f16", "f16", "f32"),
        ("f8e4m3fn", "f8e5m2", "f32"),
        ("f8e4m3fn", "f8e4m3fn", "bf16"),
        ("bf16", "f32", "f32"),
        ("f32", "f32", "f64"),
        ("f32", "f32", "s32"),
        ("bf16", "bf16", "s16"),
        ("f64", "f64", "f32"),
        ("f32", "f32", "bf16"),
        ("c64", "c64", "f64"),
    ]:
        yield dot(numbers(left, 3, 5), numbers(right, 5, 2, seed=1), result)
    for sizes, batch, contracting in [
        (((3, 5), (5, 2)), ((), ()), ((1,), (0,))),
        (((3, 3, 2), (2, 3, 4)), ((1,), (1,)), ((2,), (0,))),
        (((2, 3, 4), (4, 3, 5)), ((), ()), ((1, 2), (1, 0))),
        (((2, 8, 3, 4), (2, 8, 5, 4)), ((0,), (0,)), ((1, 3), (1, 3))),
    ]:
        left, right = (numbers("pred", *shape, seed=seed) for seed, shape in enumerate(sizes))
        yield dot(left, right, "pred", batch, contracting)
    big = np.full((2, 300), 100, np.int8)
    yield dot(big, big.T.copy(), "s32")
    yield dot(np.full((2, 3), 2**30, np.int32), np.full((3, 2), 5, np.int32), "s32")  # wraps
    exact = np.full((1, 1), 2**53 + 1, np.int64)
    yield dot(exact, np.ones((1, 1), np.int64), "s64")  # not through floats
    f = lambda *sizes: numbers("f32", *sizes)  # noqa: E731
    yield dot(f(4), numbers("f32", 4, seed=1), "f32", contracting=((0,), (0,)))
    yield dot(f(3, 4), numbers("f32", 4, seed=1), "f32")
    yield dot(f(4), f(4, 3), "f32", contracting=((0,), (0,)))
    yield dot(f(4), f(3, 4), "f32", contracting=((0,), (1,)))
    yield dot(f(4, 3), f(4, 2), "f32", contracting=((0,), (0,)))
    yield dot(f(3, 4), f(2, 4), "f32", contracting=((1,), (1,)))
    yield dot(f(3), f(2), "f32", contracting=((), ()))
    yield dot(f(), f(2, 3), "f32", contracting=((), ()))
    yield dot(f(2, 3), f(4, 5), "f32", contracting=((), ()))
    yield dot(f(2, 3, 4), f(4, 5), "f32", contracting=((2,), (0,)))
    yield dot(f(2, 3, 4), f(3, 4, 5), "f32", contracting=((1, 2), (0, 1)))
    yield dot(f(2, 3, 4), f(4, 3, 5), "f32", contracting=((1, 2), (1, 0)))
    yield dot(f(2, 3, 4), f(2, 4, 5), "f32", ((0,), (0,)), ((2,), (1,)))
    yield dot(f(2, 3, 4), f(2, 5, 4), "f32", ((0,), (0,)), ((2,), (2,)))
    yield dot(f(3, 2, 4), f(4, 2, 5), "f32", ((1,), (1,)), ((2,), (0,)))
    yield dot(f(2, 3, 4), f(2, 3, 4), "f32", ((0, 1), (0, 1)), ((2,), (2,)))
    yield dot(f(2, 3, 4), f(3, 2, 4), "f32", ((0, 1), (1, 0)), ((2,), (2,)))
    yield dot(f(2, 3, 4, 5), f(2, 3, 5, 6), "f32", ((0, 1), (0, 1)), ((3,), (2,)))
    yield dot(f(2, 3), f(2, 3), "f32", ((0, 1), (0, 1)), ((), ()))
    yield dot(f(2, 3), f(2, 4), "f32", ((0,), (0,)), ((), ()))
    yield dot(f(2, 8, 3, 4), f(2, 8, 5, 4), "f32", ((0,), (0,)), ((1, 3), (1, 3)))
    for left, right in [((3, 0), (0, 2)), ((0, 3), (3, 2)), ((3, 4), (4, 0)), ((1, 1), (1, 1))]:
        yield dot(f(*left), f(*right), "f32")
    yield dot(f(3, 4), f(4, 2), "f32", more=", operand_precision={highest,highest}")
    yield dot(numbers("bf16", 3, 4), numbers("bf16", 4, 2), "f32", more=", algorithm=dot_bf16_bf16_f32")
    yield dot(np.float32([[np.inf, 1], [np.nan, 0]]), np.float32([[0, 1], [1, 1]]), "f32")


def ragged_dots() -> Iterator[Case]:
    """Rows, contracted columns or batches in groups of given sizes; judged group by group."""
    groups = np.int32([2, 0, 3])
    x, w = numbers("f32", 5, 4), numbers("f32", 3, 4, 2, seed=1)

    def rows(x: Array, w: Array, sizes: Array) -> Array:
        ends = np.cumsum(sizes)
        result = np.zeros((len(x), w.shape[2]), np.float32)
        for g, (end, size) in enumerate(zip(ends, sizes, strict=True)):
            result[end - size : end] = x[end - size : end] @ w[g]
        return result

    attributes = "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}"
    yield case("ragged-dot", f"r = f32[5,2] ragged-dot(p0, p1, p2), {attributes}", x, w, groups, oracle=rows)
    short = np.int32([1, 0, 2])
    yield case("ragged-dot", f"r = f32[5,2] ragged-dot(p0, p1, p2), {attributes}", x, w, short, oracle=rows)

    def contracted(x: Array, w: Array, sizes: Array) -> Array:
        ends = np.cumsum(sizes)
        return np.stack([x[:, e - s : e] @ w[e - s : e] for e, s in zip(ends, sizes, strict=True)])

    attributes = "lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={1}"
    y = numbers("f32", 5, 2, seed=2)
    body = f"r = f32[3,4,2] ragged-dot(p0, p1, p2), {attributes}"
    yield case("ragged-dot", body, np.ascontiguousarray(x.T), y, groups, oracle=contracted)

    attributes = "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"
    batch, other = numbers("f32", 5, 3, 4), numbers("f32", 5, 4, 2)
    body = f"r = f32[5,3,2] ragged-dot(p0, p1, p2), {attributes}, lhs_ragged_dims={{0}}"
    yield case("ragged-dot", body, batch, other, groups, oracle=lambda x, y, sizes: x @ y)


def scaled_dots() -> Iterator[Case]:
    """Each operand is multiplied by its scales, one for a block of elements, and contracted in float32."""

    def blocks(scale: Array, shape: tuple[int, ...]) -> Array:
        wide = scale.astype(np.float32)
        for axis, size in enumerate(shape):
            wide = np.repeat(wide, size // wide.shape[axis], axis)
        return wide

    def oracle(x: Array, y: Array, sx: Array, sy: Array) -> Array:
        left = x.astype(np.float32) * blocks(sx, x.shape)
        right = y.astype(np.float32) * blocks(sy, y.shape)
        return left @ right

    for name, scale in [("f8e4m3fn", "f8e8m0fnu"), ("f8e5m2", "f8e8m0fnu"), ("f4e2m1fn", "f8e4m3fn"), ("bf16", "bf16")]:
        x, y = numbers(name, 4, 64), numbers(name, 64, 3, seed=1)
        sx = np.float32([[1, 2], [0.5, 4], [1, 1], [2, 8]]).astype(dtype(scale))
        sy = np.float32([[1, 4, 0.5], [2, 1, 2]]).astype(dtype(scale))
        body = "r = f32[4,3] scaled-dot(p0, p1, p2, p3), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
        yield case("scaled-dot", body, x, y, sx, sy, oracle=oracle, budget=Budget(terms=64))
    # XLA's first order of operands: each with its scale behind it.
    body = "r = f32[4,3] scaled-dot(p0, p2, p1, p3), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    yield case("scaled-dot", body, x, y, sx, sy, oracle=oracle, budget=Budget(terms=64))


# -- convolution

CONVOLUTIONS: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], str, str, str]] = [
    ((2, 9, 3), (3, 3, 4), (2, 7, 4), "size=3", "b0f_0io->b0f", ""),
    ((2, 9, 3), (3, 3, 4), (2, 9, 4), "size=3 pad=1_1", "b0f_0io->b0f", ""),
    ((2, 9, 3), (3, 3, 4), (2, 4, 4), "size=3 stride=2", "b0f_0io->b0f", ""),
    ((2, 9, 3), (3, 3, 4), (2, 5, 4), "size=3 rhs_dilate=2", "b0f_0io->b0f", ""),
    ((2, 9, 3), (3, 3, 4), (2, 15, 4), "size=3 lhs_dilate=2", "b0f_0io->b0f", ""),
    ((2, 9, 3), (3, 3, 4), (2, 7, 4), "size=3 rhs_reversal=1", "b0f_0io->b0f", ""),
    ((2, 9, 3), (3, 3, 4), (2, 5, 4), "size=3 pad=-1_-1", "b0f_0io->b0f", ""),
    ((2, 9, 3), (3, 3, 4), (2, 7, 4), "size=3 stride=3 pad=2_4 lhs_dilate=2 rhs_dilate=2", "b0f_0io->b0f", ""),
    ((2, 6, 7, 3), (3, 2, 3, 4), (2, 4, 6, 4), "size=3x2", "b01f_01io->b01f", ""),
    ((2, 3, 6, 7), (4, 3, 3, 2), (2, 4, 4, 6), "size=3x2", "bf01_oi01->bf01", ""),
    ((6, 7, 3, 2), (4, 3, 3, 2), (4, 6, 2, 4), "size=3x2", "01fb_oi01->01bf", ""),
    ((2, 6, 7, 3), (2, 3, 3, 4), (2, 4, 6, 4), "size=3x2", "b01f_10io->b01f", ""),
    ((2, 6, 7, 3), (3, 2, 3, 4), (2, 3, 7, 4), "size=3x2 stride=2x1 pad=1_1x1_0", "b01f_01io->b01f", ""),
    ((2, 6, 7, 4), (3, 2, 2, 6), (2, 4, 6, 6), "size=3x2", "b01f_01io->b01f", ", feature_group_count=2"),
    ((2, 6, 7, 4), (3, 2, 1, 8), (2, 4, 6, 8), "size=3x2", "b01f_01io->b01f", ", feature_group_count=4"),
    ((4, 6, 7, 3), (3, 2, 3, 6), (2, 4, 6, 6), "size=3x2", "b01f_01io->b01f", ", batch_group_count=2"),
    ((1, 4, 5, 6, 2), (2, 3, 2, 2, 3), (1, 3, 3, 5, 3), "size=2x3x2", "b012f_012io->b012f", ""),
    ((5, 3), (3, 4), (5, 4), "", "bf_io->bf", ""),
    ((0, 9, 3), (3, 3, 4), (0, 7, 4), "size=3", "b0f_0io->b0f", ""),
    ((2, 2, 3), (3, 3, 4), (1, 0, 4), "size=3", "b0f_0io->b0f", ", batch_group_count=2"),
    ((2, 2, 3), (3, 3, 4), (2, 0, 4), "size=3", "b0f_0io->b0f", ""),
    ((1, 1, 1), (1, 1, 1), (1, 1, 1), "size=1", "b0f_0io->b0f", ""),
]


def convolution(x: Array, k: Array, result: str, window: str, labels: str, more: str) -> Case:
    size = f"window={{{window}}}, " if window else ""
    body = f"r = {result} convolution(p0, p1), {size}dim_labels={labels}{more}"
    reference = in_s32(body, x, k) if x.dtype in NARROW else None
    return case("convolution", body, x, k, budget=Budget(terms=64), reference=reference)


def convolutions() -> Iterator[Case]:
    for image, kernel, result, window, labels, more in CONVOLUTIONS:
        x, k = numbers("f32", *image), numbers("f32", *kernel, seed=1)
        yield convolution(x, k, shape_text(np.empty(result, np.float32)), window, labels, more)
    for name in NUMERIC:
        x, k = numbers(name, 2, 6, 3), numbers(name, 3, 3, 4, seed=1)
        yield convolution(x, k, f"{name}[2,6,4]", "size=3 pad=1_1", "b0f_0io->b0f", "")
    for left, right, result in [("s8", "s8", "s32"), ("bf16", "bf16", "f32"), ("f16", "f16", "f32")]:
        x, k = numbers(left, 2, 6, 3), numbers(right, 3, 3, 4, seed=1)
        yield convolution(x, k, f"{result}[2,6,4]", "size=3 pad=1_1", "b0f_0io->b0f", "")


def cases() -> Iterator[Case]:
    yield from dots()
    yield from ragged_dots()
    yield from scaled_dots()
    yield from convolutions()
