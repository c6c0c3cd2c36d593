"""reduce, reduce-window, select-and-scatter, map, scan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from xla2py.tests.operations.case import Case, case, shape_text
from xla2py.tests.operations.values import COMPLEXES, FLOATS, INTEGERS, Array, dtype, numbers
from xla2py.transpile.equivalence.verdicts.comparison import Budget
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES

ORDERED = tuple(name for name in INTEGERS + FLOATS if ELEMENT_TYPES[name].bits > 1)
NUMERIC = ORDERED + COMPLEXES


def combiner(operation: str, name: str) -> str:
    label = f"{operation}_{name}"
    return f"{label} {{ x = {name}[] parameter(0)  y = {name}[] parameter(1)  ROOT z = {name}[] {operation}(x, y) }}"


def initial(operation: str, name: str) -> Array:
    """The identity of a combiner."""
    kind = ELEMENT_TYPES[name]
    if operation in ("add", "or", "xor"):
        return np.zeros((), kind.dtype)
    if operation == "multiply":
        return np.ones((), kind.dtype)
    if name == "pred":
        return np.bool_(operation in ("and", "minimum"))
    if operation == "and":
        return np.array(-1 if kind.is_signed else 2**kind.bits - 1, object).astype(kind.dtype)
    values = numbers(name, 200)
    return (values.min() if operation == "maximum" else values.max()).astype(kind.dtype)


def braces(values: Any) -> str:
    return "{" + ",".join(map(str, values)) + "}"


def reduce(operation: str, operand: Array, name: str, dimensions: tuple[int, ...], init: Array | None = None) -> Case:
    kept = [size for d, size in enumerate(operand.shape) if d not in dimensions]
    callee = combiner(operation, name)
    shape = f"{name}[{','.join(map(str, kept))}]"
    body = f"r = {shape} reduce(p0, p1), dimensions={braces(dimensions)}, to_apply={callee.split()[0]}"
    terms = max(1, operand.size // max(1, int(np.prod(kept))))
    init = initial(operation, name) if init is None else init
    return case("reduce", body, operand, init, callees=[callee], budget=Budget(terms=terms))


def reductions() -> Iterator[Case]:
    for name in NUMERIC:
        for operation in ("add", "multiply", *(("maximum", "minimum") if name in ORDERED else ())):
            yield reduce(operation, numbers(name, 4, 6), name, (1,))
    for name in ("pred", *(n for n in INTEGERS if ELEMENT_TYPES[n].bits > 1)):
        for operation in ("and", "or", "xor"):
            yield reduce(operation, numbers(name, 4, 6), name, (0,))
    for operation in ("add", "multiply", "maximum", "minimum"):
        yield reduce(operation, numbers("pred", 4, 6), "pred", (0,))
    for sizes, dimensions in [
        ((5,), (0,)),
        ((2, 3, 4), (0,)),
        ((2, 3, 4), (0, 2)),
        ((2, 3, 4), (2, 0)),
        ((2, 3, 4), (0, 1, 2)),
        ((2, 3, 4), ()),
        ((0, 3), (0,)),
        ((0, 3), (1,)),
        ((3, 0), (1,)),
        ((1, 3), (0,)),
        ((3, 1), (0, 1)),
        ((), ()),
    ]:
        for operation in ("add", "maximum", "multiply"):
            yield reduce(operation, numbers("f32", *sizes), "f32", dimensions)
        yield reduce("minimum", numbers("s32", *sizes), "s32", dimensions)
    # any initial value takes part, once
    for operation, init in [("add", 10), ("multiply", 2), ("maximum", 1), ("minimum", -1)]:
        for name in ("f32", "s32", "bf16"):
            yield reduce(operation, numbers(name, 4, 6), name, (1,), np.array(init).astype(dtype(name)))
    # wrap-around and accumulation in float32
    for name in ("s8", "u8", "s4", "s16"):
        yield reduce("add", np.full((3, 300), 5).astype(dtype(name)), name, (1,))
    plus = combiner("add", "s4")
    alike = "k = s4[] constant(3)\nx = s4[3,5] broadcast(k), dimensions={}"
    body = f"{alike}\nr = s4[3] reduce(x, p0), dimensions={{1}}, to_apply={plus.split()[0]}"
    yield case("reduce", body, np.array(1).astype(dtype("s4")), callees=[plus])
    for name in ("bf16", "f16", "f8e4m3fn", "f8e5m2"):
        yield reduce("add", np.full((3, 300), 0.25).astype(dtype(name)), name, (1,))
    specials = np.float32([[1, np.nan, 3], [np.inf, -np.inf, 0], [-0.0, 0.0, -0.0], [np.inf, 1, 2]])
    for operation in ("add", "maximum", "minimum", "multiply"):
        yield reduce(operation, specials, "f32", (1,))


def other_combiners() -> Iterator[Case]:
    x = numbers("f32", 3, 5)
    turned = "turned { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] add(y, x) }"
    yield case(
        "reduce", "r = f32[3] reduce(p0, p1), dimensions={1}, to_apply=turned", x, np.float32(0), callees=[turned]
    )
    first = "first { ROOT x = f32[] parameter(0)  y = f32[] parameter(1) }"
    yield case("reduce", "r = f32[3] reduce(p0, p1), dimensions={1}, to_apply=first", x, np.float32(7), callees=[first])
    norm = """norm {
      x = f32[] parameter(0)
      y = f32[] parameter(1)
      a = f32[] multiply(x, x)
      b = f32[] multiply(y, y)
      c = f32[] add(a, b)
      ROOT r = f32[] sqrt(c)
    }"""
    yield case("reduce", "r = f32[3] reduce(p0, p1), dimensions={1}, to_apply=norm", x, np.float32(0), callees=[norm])
    for direction in ("GT", "GE", "LT", "LE"):
        pick = f"""pick_{direction} {{
          v = f32[] parameter(0)
          i = s32[] parameter(1)
          w = f32[] parameter(2)
          j = s32[] parameter(3)
          better = pred[] compare(v, w), direction={direction}
          unordered = pred[] compare(v, v), direction=NE
          first = pred[] or(better, unordered)
          same = pred[] compare(v, w), direction=EQ
          lower = pred[] compare(i, j), direction=LT
          tie = pred[] and(same, lower)
          mine = pred[] or(first, tie)
          value = f32[] select(first, v, w)
          index = s32[] select(mine, i, j)
          ROOT r = (f32[], s32[]) tuple(value, index)
        }}"""
        body = f"""i = s32[3,5] iota(), iota_dimension=1
        none = s32[] constant(0)
        r = (f32[3], s32[3]) reduce(p0, i, p1, none), dimensions={{1}}, to_apply=pick_{direction}"""
        init = np.float32(-np.inf if direction[0] == "G" else np.inf)
        yield case("reduce", body, np.round(x), init, callees=[pick])
    both = """sum_and_product {
      a = f32[] parameter(0)
      b = s32[] parameter(1)
      c = f32[] parameter(2)
      d = s32[] parameter(3)
      s = f32[] add(a, c)
      p = s32[] multiply(b, d)
      ROOT r = (f32[], s32[]) tuple(s, p)
    }"""
    body = "r = (f32[5], s32[5]) reduce(p0, p1, p2, p3), dimensions={0}, to_apply=sum_and_product"
    yield case("reduce", body, x, numbers("s32", 3, 5), np.float32(0), np.int32(1), callees=[both])


# -- windows


def window(operation: str, operand: Array, name: str, result: tuple[int, ...], text: str, init: Any = None) -> Case:
    callee = combiner(operation, name)
    shape = shape_text(np.empty(result, operand.dtype))
    body = f"r = {shape} reduce-window(p0, p1), window={{{text}}}, to_apply={callee.split()[0]}"
    init = initial(operation, name) if init is None else np.array(init, operand.dtype)
    return case("reduce-window", body, operand, init, callees=[callee], budget=Budget(terms=16))


WINDOWS: list[tuple[tuple[int, ...], tuple[int, ...], str]] = [
    ((8,), (6,), "size=3"),
    ((8,), (4,), "size=2 stride=2"),
    ((8,), (3,), "size=2 stride=3"),
    ((8,), (8,), "size=3 pad=1_1"),
    ((8,), (9,), "size=3 stride=1 pad=3_0"),
    ((8,), (5,), "size=3 pad=-1_0"),
    ((8,), (4,), "size=3 rhs_dilate=2"),
    ((8,), (13,), "size=3 lhs_dilate=2"),
    ((8,), (4,), "size=5 stride=3 pad=2_3 lhs_dilate=2 rhs_dilate=2"),
    ((8,), (8,), "size=8 pad=7_0"),
    ((8,), (8,), "size=8 pad=0_7"),
    ((8,), (8,), "size=1"),
    ((8,), (0,), "size=9"),
    ((8,), (1,), "size=8"),
    ((0,), (2,), "size=2 pad=1_2"),
    ((4, 6), (2, 2), "size=2x3 stride=2x3"),
    ((4, 6), (3, 4), "size=2x3"),
    ((4, 6), (4, 6), "size=3x3 pad=1_1x1_1"),
    ((4, 6), (4, 6), "size=1x6 pad=0_0x5_0"),
    ((2, 4, 6, 3), (2, 2, 3, 3), "size=1x2x2x1 stride=1x2x2x1"),
    ((4, 6), (6, 3), "size=2x2 stride=1x2 pad=1_2x0_0 lhs_dilate=1x1 rhs_dilate=1x1"),
]


def windows() -> Iterator[Case]:
    for sizes, result, text in WINDOWS:
        for operation in ("add", "maximum"):
            yield window(operation, numbers("f32", *sizes), "f32", result, text)
        yield window("minimum", numbers("s32", *sizes), "s32", result, text)
    for name in NUMERIC:
        yield window("add", numbers(name, 6), name, (3,), "size=3 stride=2 pad=1_1")
        if name in ORDERED:
            yield window("maximum", numbers(name, 6), name, (3,), "size=3 stride=2 pad=1_1")
    yield window("or", numbers("pred", 6), "pred", (6,), "size=2 pad=1_0")
    yield window("multiply", numbers("f32", 6), "f32", (6,), "size=6 pad=5_0")
    yield window("add", numbers("f32", 6), "f32", (6,), "size=6 pad=5_0", 3)
    two = """two_sums {
      a = f32[] parameter(0)
      b = s32[] parameter(1)
      c = f32[] parameter(2)
      d = s32[] parameter(3)
      s = f32[] add(a, c)
      t = s32[] maximum(b, d)
      ROOT r = (f32[], s32[]) tuple(s, t)
    }"""
    body = "r = (f32[3], s32[3]) reduce-window(p0, p1, p2, p3), window={size=2 stride=2}, to_apply=two_sums"
    operands = numbers("f32", 6), numbers("s32", 6), np.float32(0), np.int32(-100)
    yield case("reduce-window", body, *operands, callees=[two])


def selections() -> Iterator[Case]:
    for name, directions in [("f32", ("GE", "LE", "GT")), ("s32", ("GE",)), ("bf16", ("GE",))]:
        add = combiner("add", name)
        for direction in directions:
            select = (
                f"select_{direction}_{name} {{ x = {name}[] parameter(0)  y = {name}[] parameter(1)  "
                f"ROOT z = pred[] compare(x, y), direction={direction} }}"
            )
            for sizes, source, text in [
                ((8,), (4,), "size=2 stride=2"),
                ((8,), (6,), "size=3"),
                ((8,), (4,), "size=3 stride=2 pad=1_0"),
                ((4, 6), (2, 2), "size=2x3 stride=2x3"),
                ((4, 6), (3, 3), "size=2x2 stride=1x2"),
                ((4, 6), (4, 6), "size=3x3 pad=1_1x1_1"),
                ((2, 4, 6), (2, 2, 3), "size=1x2x2 stride=1x2x2"),
            ]:
                operand, given = numbers(name, *sizes), numbers(name, *source, seed=1)
                body = (
                    f"r = {shape_text(operand)} select-and-scatter(p0, p1, p2), window={{{text}}}, "
                    f"select=select_{direction}_{name}, scatter=add_{name}"
                )
                zero = np.zeros((), operand.dtype)
                yield case("select-and-scatter", body, operand, given, zero, callees=[select, add])
    select = "ge { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = pred[] compare(x, y), direction=GE }"
    body = "r = f32[8] select-and-scatter(p0, p1, p2), window={size=2 stride=2}, select=ge, scatter=multiply_f32"
    operands = numbers("f32", 8), numbers("f32", 4), np.float32(3)
    yield case("select-and-scatter", body, *operands, callees=[select, combiner("multiply", "f32")])


# -- map and scan


def maps() -> Iterator[Case]:
    scale = "scale { x = f32[] parameter(0)  k = f32[] constant(3)  ROOT r = f32[] multiply(x, k) }"
    above = "above { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = pred[] compare(x, y), direction=GT }"
    count = "count { x = f32[] parameter(0)  ROOT r = s32[] convert(x) }"
    fixed = "fixed { x = f32[] parameter(0)  ROOT r = f32[] constant(3) }"
    x, y = numbers("f32", 3, 4), numbers("f32", 3, 4, seed=1)
    yield case("map", "r = f32[3,4] map(p0), dimensions={0,1}, to_apply=scale", x, callees=[scale])
    yield case("map", "r = pred[3,4] map(p0, p1), dimensions={0,1}, to_apply=above", x, y, callees=[above])
    yield case("map", "r = s32[3,4] map(p0), dimensions={0,1}, to_apply=count", x, callees=[count])
    yield case("map", "r = f32[3,4] map(p0), dimensions={0,1}, to_apply=fixed", x, callees=[fixed])
    yield case("map", "r = f32[] map(p0), dimensions={}, to_apply=scale", np.float32(2), callees=[scale])
    yield case("map", "r = f32[0] map(p0), dimensions={0}, to_apply=scale", numbers("f32", 0), callees=[scale])
    for name in NUMERIC:
        square = f"square_{name} {{ x = {name}[] parameter(0)  ROOT r = {name}[] multiply(x, x) }}"
        yield case(
            "map",
            f"r = {name}[5] map(p0), dimensions={{0}}, to_apply=square_{name}",
            numbers(name, 5),
            callees=[square],
        )


def scans() -> Iterator[Case]:
    running = """running {
      x = f32[] parameter(0)
      c = f32[] parameter(1)
      s = f32[] add(x, c)
      ROOT r = (f32[], f32[]) tuple(s, s)
    }"""
    for reverse in ("false", "true"):
        body = (
            f"r = (f32[5], f32[]) scan(p0, p1), dimensions={{0}}, num_carries=1, is_reverse={reverse}, to_apply=running"
        )
        yield case("scan", body, numbers("f32", 5), np.float32(1), callees=[running])
    rows = """rows {
      x = f32[3] parameter(0)
      i = s32[] parameter(1)
      c = f32[3] parameter(2)
      s = f32[3] add(x, c)
      f = f32[] convert(i)
      b = f32[3] broadcast(f), dimensions={}
      m = f32[3] multiply(s, b)
      ROOT r = (f32[3], f32[3]) tuple(m, s)
    }"""
    body = "r = (f32[4,3], f32[3]) scan(p0, p1, p2), dimensions={0}, num_carries=1, to_apply=rows"
    yield case("scan", body, numbers("f32", 4, 3), numbers("s32", 4), numbers("f32", 3), callees=[rows])
    operands = numbers("f32", 0, 3), numbers("s32", 0), numbers("f32", 3)
    yield case("scan", body.replace("[4", "[0"), *operands, callees=[rows], oracle=lambda x, i, c: (x, c))


def cases() -> Iterator[Case]:
    yield from scans()
    yield from reductions()
    yield from other_combiners()
    yield from windows()
    yield from selections()
    yield from maps()
