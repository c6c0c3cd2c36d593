"""sort and topk."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from xla2py.tests.operations.case import Case, case, shape_text
from xla2py.tests.operations.values import FLOATS, INTEGERS, PRED, Array, dtype, numbers
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES

SORTABLE = tuple(name for name in PRED + INTEGERS + FLOATS if ELEMENT_TYPES[name].bits > 1)


def comparator(direction: str, *names: str, kind: str = "") -> str:
    """Compare the first operand only."""
    label = f"{direction.lower()}_{'_'.join(names)}{kind.lower()}"
    lines = [
        f"{side}{k} = {name}[] parameter({2 * k + at})" for k, name in enumerate(names) for at, side in enumerate("xy")
    ]
    type_ = f", type={kind}" if kind else ""
    return f"{label} {{ {'  '.join(lines)}  ROOT r = pred[] compare(x0, y0), direction={direction}{type_} }}"


def sort(operands: list[Array], names: list[str], callee: str, dimension: int, stable: bool = True) -> Case:
    shapes = [f"{name}{shape_text(x)[shape_text(x).index('[') :]}" for name, x in zip(names, operands, strict=True)]
    result = shapes[0] if len(shapes) == 1 else f"({', '.join(shapes)})"
    given = ", ".join(f"p{k}" for k in range(len(operands)))
    body = (
        f"r = {result} sort({given}), dimensions={{{dimension}}}, is_stable={str(stable).lower()}, "
        f"to_apply={callee.split()[0]}"
    )
    oracle = in_order(callee) if operands[0].dtype in TWO_BITS else None
    return case("sort", body, *operands, callees=[callee], oracle=oracle)


TWO_BITS = {dtype("s2"), dtype("u2")}  # XLA on the CPU leaves these unsorted


def in_order(callee: str) -> Callable[[Array], Array]:
    step = 1 if "LT" in callee else -1
    return lambda x: np.sort(x.astype(np.int8))[::step].astype(x.dtype)


SPECIALS = np.float32([3, -0.0, np.nan, 0, -np.inf, 1, -np.nan, np.inf, -1, 0, -0.0, np.nan])


def sorts() -> Iterator[Case]:
    for name in SORTABLE:
        for direction in ("LT", "GT"):
            yield sort([numbers(name, 11)], [name], comparator(direction, name), 0)
    for sizes, dimension in [((3, 5), 0), ((3, 5), 1), ((2, 3, 4), 1), ((0,), 0), ((1,), 0), ((3, 0), 1), ((0, 3), 1)]:
        yield sort([numbers("f32", *sizes)], ["f32"], comparator("LT", "f32"), dimension)
    for direction in ("LT", "GT"):
        yield sort([SPECIALS], ["f32"], comparator(direction, "f32", kind="TOTALORDER"), 0)
    key, index = numbers("s32", 4, 40) % np.int32(7), np.arange(160, dtype=np.int32).reshape(4, 40)
    for direction in ("LT", "GT"):
        for dimension in (0, 1):
            yield sort([key, index], ["s32", "s32"], comparator(direction, "s32", "s32"), dimension)
    values = numbers("bf16", 4, 40)
    yield sort([key, values, index], ["s32", "bf16", "s32"], comparator("LT", "s32", "bf16", "s32"), 1)
    yield sort([values.astype(np.float32), index], ["f32", "s32"], comparator("GT", "f32", "s32"), 1)
    unique = np.random.default_rng(0).permutation(40).astype(np.int32)
    yield sort([unique], ["s32"], comparator("LT", "s32"), 0, stable=False)


def other_comparators() -> Iterator[Case]:
    x, y = numbers("s32", 60) % np.int32(5), numbers("f32", 60)
    index = np.arange(60, dtype=np.int32)
    two_keys = """two_keys {
      a = s32[] parameter(0)
      b = s32[] parameter(1)
      c = f32[] parameter(2)
      d = f32[] parameter(3)
      i = s32[] parameter(4)
      j = s32[] parameter(5)
      less = pred[] compare(a, b), direction=LT
      same = pred[] compare(a, b), direction=EQ
      greater = pred[] compare(c, d), direction=GT
      tie = pred[] and(same, greater)
      ROOT r = pred[] or(less, tie)
    }"""
    body = "r = (s32[60], f32[60], s32[60]) sort(p0, p1, p2), dimensions={0}, is_stable=true, to_apply=two_keys"
    yield case("sort", body, x, y, index, callees=[two_keys])
    by_magnitude = """by_magnitude {
      a = s32[] parameter(0)
      b = s32[] parameter(1)
      i = s32[] parameter(2)
      j = s32[] parameter(3)
      m = s32[] abs(a)
      n = s32[] abs(b)
      ROOT r = pred[] compare(m, n), direction=LT
    }"""
    body = "r = (s32[60], s32[60]) sort(p0, p1), dimensions={0}, is_stable=true, to_apply=by_magnitude"
    yield case("sort", body, numbers("s32", 60), index, callees=[by_magnitude])
    by_second = """by_second {
      a = s32[] parameter(0)
      b = s32[] parameter(1)
      c = f32[] parameter(2)
      d = f32[] parameter(3)
      ROOT r = pred[] compare(c, d), direction=LT
    }"""
    body = "r = (s32[60], f32[60]) sort(p0, p1), dimensions={0}, is_stable=true, to_apply=by_second"
    yield case("sort", body, index, y, callees=[by_second])
    swapped = """swapped {
      a = s32[] parameter(0)
      b = s32[] parameter(1)
      ROOT r = pred[] compare(b, a), direction=LT
    }"""
    yield case("sort", "r = s32[60] sort(p0), dimensions={0}, is_stable=true, to_apply=swapped", x, callees=[swapped])
    bits = """total_order_bits {
      a = f32[] parameter(0)
      b = f32[] parameter(1)
      zero = s32[] constant(0)
      top = s32[] constant(2147483647)
      i = s32[] bitcast-convert(a)
      negative = pred[] compare(i, zero), direction=LT
      flipped = s32[] subtract(top, i)
      c = s32[] select(negative, flipped, i)
      j = s32[] bitcast-convert(b)
      other = pred[] compare(j, zero), direction=LT
      turned = s32[] subtract(top, j)
      d = s32[] select(other, turned, j)
      ROOT r = pred[] compare(c, d), direction=LT
    }"""
    body = "r = f32[12] sort(p0), dimensions={0}, is_stable=true, to_apply=total_order_bits"
    yield case("sort", body, SPECIALS, callees=[bits])
    modulus = """by_remainder {
      a = s32[] parameter(0)
      b = s32[] parameter(1)
      n = s32[] constant(7)
      i = s32[] remainder(a, n)
      j = s32[] remainder(b, n)
      ROOT r = pred[] compare(i, j), direction=LT
    }"""
    body = "r = s32[3,40] sort(p0), dimensions={1}, is_stable=true, to_apply=by_remainder"
    yield case("sort", body, np.abs(numbers("s32", 3, 40)), callees=[modulus])


def top_k() -> Iterator[Case]:
    """Judged by sorting: ties go to the lower index."""

    def oracle(k: int, largest: bool):
        def pick(x: Array) -> tuple[Array, Array]:
            wide = x.astype(np.float64)
            order = np.argsort(-wide if largest else wide, axis=-1, kind="stable")[..., :k]
            return np.take_along_axis(x, order, -1), order.astype(np.int32)

        return pick

    for name in ("f32", "f64", "bf16", "f16", "s32", "s8", "u8", "u32"):
        for k, largest in [(1, True), (3, True), (3, False), (7, True)]:
            x = numbers(name, 2, 7)
            body = f"r = ({name}[2,{k}], s32[2,{k}]) topk(p0), k={k}, largest={str(largest).lower()}"
            yield case("topk", body, x, oracle=oracle(k, largest))
    yield case("topk", "r = (f32[2], s32[2]) topk(p0), k=2, largest=true", numbers("f32", 5), oracle=oracle(2, True))
    yield case("topk", "r = (f32[0], s32[0]) topk(p0), k=0, largest=true", numbers("f32", 5), oracle=oracle(0, True))
    equal = np.float32([[1, 2, 2, 1, 2]])
    yield case("topk", "r = (f32[1,4], s32[1,4]) topk(p0), k=4, largest=true", equal, oracle=oracle(4, True))


def cases() -> Iterator[Case]:
    yield from sorts()
    yield from other_comparators()
    yield from top_k()
