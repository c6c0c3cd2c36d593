"""Operations that move elements and compute nothing, and the leaves of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from xla2py.tests.operations.case import EXACT, Case, case, shape_text
from xla2py.tests.operations.values import ALL, COMPLEXES, Array, dtype, few, numbers
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES, from_dtype
from xla2py.transpile.hlo.indexing import from_buffer, to_buffer
from xla2py.transpile.hlo.shapes import ArrayShape, Layout


def braces(values: object) -> str:
    return "{" + ",".join(map(str, values)) + "}"  # type: ignore[call-overload]


def leaves() -> Iterator[Case]:
    for name in ALL:
        x = numbers(name, 2, 3)
        yield case("parameter", f"r = ({name}[2,3], {name}[2,3]) tuple(p0, p0)", x, oracle=lambda x: (x, x))
        for literal in (few(name), numbers(name, 2, 3), numbers(name, 1)[0], numbers(name, 2, 0)):
            judge = {"oracle": (lambda value: lambda: value)(literal)} if ELEMENT_TYPES[name].bits == 1 else {}
            body = f"r = {shape_text(literal)} constant({literal_text(literal)})"
            yield case("constant", body, element_type=name, budget=EXACT, **judge)
        if name in ("pred", "f8e8m0fnu"):  # the latter has no zero to start from
            continue
        for dimension in (0, 1, 2):
            oracle = (
                {"oracle": (lambda d, n: lambda: _iota(d, n))(dimension, name)} if ELEMENT_TYPES[name].bits < 8 else {}
            )
            yield case("iota", f"r = {name}[5,1,12] iota(), iota_dimension={dimension}", element_type=name, **oracle)
    for shape in ("f32[0]", "f32[1]", "s32[70000]", "f16[2050]", "s8[300]", "u8[2,300]"):
        dimension = shape.count(",")
        yield case("iota", f"r = {shape} iota(), iota_dimension={dimension}", element_type=shape.split("[")[0])


def _iota(dimension: int, name: str) -> Array:
    """Counting modulo the width of the type; a float beyond its range is what conversion makes of it."""
    counted = np.indices((5, 1, 12))[dimension]
    if ELEMENT_TYPES[name].is_integral:
        counted = counted % (1 << ELEMENT_TYPES[name].bits)
    return counted.astype(np.int8 if ELEMENT_TYPES[name].is_integral else np.float32).astype(dtype(name))


def literal_text(array: Array) -> str:
    """The literal that HLO text writes for an array."""
    if array.ndim:
        return "{ " + ", ".join(literal_text(part) for part in array) + " }"
    element_type = from_dtype(array.dtype)
    if element_type.is_complex:
        value = complex(array)
        return f"({_number(value.real)}, {_number(value.imag)})"
    if element_type.is_floating:
        return _number(float(array))
    return str(bool(array)).lower() if array.dtype == bool else str(int(array))


def _number(value: float) -> str:
    return repr(value) if np.isfinite(value) else "nan" if value != value else "inf" if value > 0 else "-inf"


# -- one judge for every element type: NumPy. XLA judges the variants below.

MOVES: list[tuple[str, str, tuple[tuple[int, ...], ...], Callable[..., Array]]] = [
    ("broadcast", "[3,2,4] broadcast(p0), dimensions={2,0}", ((4, 3),), lambda x: np.repeat(x.T[:, None], 2, 1)),
    ("reshape", "[4,3] reshape(p0)", ((2, 6),), lambda x: x.reshape(4, 3)),
    ("transpose", "[4,2,3] transpose(p0), dimensions={2,0,1}", ((2, 3, 4),), lambda x: x.transpose(2, 0, 1)),
    ("reverse", "[2,3,4] reverse(p0), dimensions={0,2}", ((2, 3, 4),), lambda x: x[::-1, :, ::-1]),
    (
        "shuffle",
        "[2,3,4] shuffle(p0), dimensions={2,0}, mode=rotate, shifts={-1,3}",
        ((2, 3, 4),),
        lambda x: np.roll(x, (1, -3), axis=(2, 0)),
    ),
    ("copy", "[2,3] copy(p0)", ((2, 3),), lambda x: x),
    ("slice", "[2,2] slice(p0), slice={[1:4:2], [2:4]}", ((5, 4),), lambda x: x[1:4:2, 2:4]),
    ("concatenate", "[2,5] concatenate(p0, p1), dimensions={1}", ((2, 3), (2, 2)), lambda *xs: np.concatenate(xs, 1)),
    ("bitcast", "[3,2]{0,1} bitcast(p0)", ((2, 3),), lambda x: x.T),
    ("pad", "[4,5] pad(p0, p1), padding=1_0_1x-1_1_1", ((2, 3), ()), lambda x, v: _pad(x, v)),
    ("opt-barrier", "[2,3] opt-barrier(p0)", ((2, 3),), lambda x: x),
]


def _pad(x: Array, value: Array) -> Array:
    result = np.full((4, 6), value, x.dtype)
    result[1::2, 0:5:2] = x
    return result[:, 1:]


def every_type() -> Iterator[Case]:
    for name in ALL:
        for opcode, text, shapes, oracle in MOVES:
            operands = [numbers(name, *sizes, seed=k) for k, sizes in enumerate(shapes)]
            yield case(opcode, f"r = {name}{text}", *operands, oracle=oracle, budget=EXACT)


# -- variants


def broadcasts() -> Iterator[Case]:
    for source, result, dimensions in [
        ((), (), ()),
        ((), (2, 3), ()),
        ((3,), (3,), (0,)),
        ((3,), (3, 4), (0,)),
        ((3,), (4, 3), (1,)),
        ((2, 3), (2, 4, 3), (0, 2)),
        ((2, 3), (3, 4, 2), (2, 0)),
        ((1, 3), (1, 3, 2), (0, 1)),
        ((2, 1, 3), (5, 2, 1, 3), (1, 2, 3)),
        ((0,), (0, 3), (0,)),
        ((3,), (0, 3), (1,)),
        ((1,), (1,), (0,)),
    ]:
        body = f"r = f32[{','.join(map(str, result))}] broadcast(p0), dimensions={braces(dimensions)}"
        yield case("broadcast", body, numbers("f32", *source))


def reshapes() -> Iterator[Case]:
    for source, result in [
        ((), (1, 1)),
        ((1, 1), ()),
        ((6,), (2, 3)),
        ((2, 3, 4), (4, 6)),
        ((2, 3), (1, 2, 1, 3, 1)),
        ((1, 2, 1, 3), (3, 2)),
        ((0, 3), (5, 0, 2)),
        ((24,), (24,)),
    ]:
        body = f"r = s32[{','.join(map(str, result))}] reshape(p0)"
        yield case("reshape", body, numbers("s32", *source))


def permutations() -> Iterator[Case]:
    for sizes, order in [((2, 3), (1, 0)), ((2, 3), (0, 1)), ((), ()), ((4,), (0,)), ((2, 0, 3), (2, 1, 0))]:
        result = ",".join(str(sizes[d]) for d in order)
        yield case("transpose", f"r = f32[{result}] transpose(p0), dimensions={braces(order)}", numbers("f32", *sizes))
    for order in [(0, 1, 2, 3), (3, 2, 1, 0), (0, 2, 1, 3), (2, 3, 0, 1), (1, 0, 3, 2)]:
        result = ",".join(str((2, 3, 4, 5)[d]) for d in order)
        body = f"r = f32[{result}] transpose(p0), dimensions={braces(order)}"
        yield case("transpose", body, numbers("f32", 2, 3, 4, 5))
    for sizes, dimensions in [
        ((5,), (0,)),
        ((2, 3), (1,)),
        ((2, 3), ()),
        ((2, 1, 3), (0, 1, 2)),
        ((0, 3), (0, 1)),
        ((), ()),
    ]:
        x = numbers("f32", *sizes)
        yield case("reverse", f"r = {shape_text(x)} reverse(p0), dimensions={braces(dimensions)}", x)


def slices() -> Iterator[Case]:
    for sizes, text, result in [
        ((5,), "[0:5]", "5"),
        ((5,), "[4:5]", "1"),
        ((5,), "[2:2]", "0"),
        ((5,), "[5:5]", "0"),
        ((7,), "[1:7:3]", "2"),
        ((7,), "[0:7:10]", "1"),
        ((2, 3, 4), "[0:2], [1:2], [0:4:3]", "2,1,2"),
        ((0, 3), "[0:0], [1:3]", "0,2"),
        ((), "", ""),
    ]:
        yield case("slice", f"r = f32[{result}] slice(p0), slice={{{text}}}", numbers("f32", *sizes))


def concatenations() -> Iterator[Case]:
    for shapes, dimension, result in [
        (((3,),), 0, "3"),
        (((3,), (0,), (2,)), 0, "5"),
        (((2, 3), (4, 3), (1, 3)), 0, "7,3"),
        (((2, 1, 3), (2, 2, 3)), 1, "2,3,3"),
        (((0, 2), (0, 3)), 1, "0,5"),
    ]:
        operands = [numbers("f32", *sizes, seed=k) for k, sizes in enumerate(shapes)]
        names = ", ".join(f"p{k}" for k in range(len(shapes)))
        yield case("concatenate", f"r = f32[{result}] concatenate({names}), dimensions={{{dimension}}}", *operands)
    x = numbers("s32", 2, 3)
    yield case("concatenate", "r = s32[6,3] concatenate(p0, p0, p0), dimensions={0}", x)


def pads() -> Iterator[Case]:
    for sizes, padding, result in [
        ((3,), "0_0", "3"),
        ((3,), "1_2", "6"),
        ((3,), "-1_0", "2"),
        ((3,), "0_-1", "2"),
        ((3,), "-1_-2", "0"),
        ((2,), "-3_3", "2"),
        ((2,), "2_-3", "1"),
        ((3,), "0_0_2", "7"),
        ((3,), "1_-2_1", "4"),
        ((3,), "-2_3_1", "6"),
        ((2, 3), "1_0_0x0_1_1", "3,6"),
        ((2, 3), "-1_1x1_-1", "2,3"),
        ((0,), "2_1", "3"),
        ((0, 2), "0_2_3x1_0", "2,3"),
        ((1,), "0_0_5", "1"),
        ((), "", ""),
    ]:
        padding = f", padding={padding}" if padding else ", padding="
        x = numbers("f32", *sizes)
        if sizes:
            yield case("pad", f"r = f32[{result}] pad(p0, p1){padding}", x, np.float32(9))


def dynamic_slices() -> Iterator[Case]:
    x = numbers("f32", 5, 4)
    for name in ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64"):
        low, high = (0 if name[0] == "u" else -100), 100
        for start in (low, 0, 2, 4, high):
            starts = [np.array(start, dtype(name)), np.array(1, dtype(name))]
            body = "r = f32[2,3] dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,3}"
            yield case("dynamic-slice", body, x, *starts)
            update = numbers("f32", 2, 3, seed=9)
            yield case("dynamic-update-slice", "r = f32[5,4] dynamic-update-slice(p0, p1, p2, p3)", x, update, *starts)
    huge = np.uint32(2**32 - 1)
    yield case("dynamic-slice", "r = f32[1,4] dynamic-slice(p0, p1, p2), dynamic_slice_sizes={1,4}", x, huge, huge)
    i = np.int32(3)
    yield case("dynamic-slice", "r = f32[0,4] dynamic-slice(p0, p1, p1), dynamic_slice_sizes={0,4}", x, i)
    yield case("dynamic-slice", "r = f32[5,4] dynamic-slice(p0, p1, p1), dynamic_slice_sizes={5,4}", x, i)
    yield case("dynamic-slice", "r = f32[] dynamic-slice(p0), dynamic_slice_sizes={}", np.float32(3))
    legacy = "r = f32[2,2] dynamic-slice(p0, p1), dynamic_slice_sizes={2,2}"
    for start in ([1, 2], [-4, 9]):
        first, second = (min(max(s, 0), n - 2) for s, n in zip(start, (5, 4), strict=True))
        part = x[first : first + 2, second : second + 2]
        yield case("dynamic-slice", legacy, x, np.int32(start), oracle=(lambda value: lambda *_: value)(part))
    yield case("dynamic-update-slice", "r = f32[5,4] dynamic-update-slice(p0, p1, p2, p2)", x, x[:0], i)
    yield case("dynamic-update-slice", "r = f32[5,4] dynamic-update-slice(p0, p1, p2, p2)", x, -x, i)
    yield case("dynamic-update-slice", "r = f32[] dynamic-update-slice(p0, p1)", np.float32(3), np.float32(4))
    for name in ALL:
        x, update = numbers(name, 4, 3), numbers(name, 2, 1, seed=4)
        expected = x.copy()
        expected[1:3, 2:] = update
        starts = np.int32(1), np.int32(2)
        shape = f"{name}[4,3]"
        body = f"r = {shape} dynamic-update-slice(p0, p1, p2, p3)"
        yield case("dynamic-update-slice", body, x, update, *starts, oracle=(lambda value: lambda *_: value)(expected))
        body = f"r = {name}[2,1] dynamic-slice(p0, p1, p2), dynamic_slice_sizes={{2,1}}"
        yield case("dynamic-slice", body, x, *starts, oracle=lambda x, *_: x[1:3, 2:])


def bitcasts() -> Iterator[Case]:
    """Judged by the buffer itself: XLA on the CPU takes no bitcast from text."""
    for source, result in [
        (((2, 3), (1, 0)), ((3, 2), (1, 0))),
        (((2, 3), (0, 1)), ((2, 3), (1, 0))),
        (((2, 3, 4), (2, 1, 0)), ((4, 2, 3), (0, 2, 1))),
        (((2, 3, 4), (0, 2, 1)), ((24,), (0,))),
        (((6, 4), (0, 1)), ((4, 6), (0, 1))),
        (((1, 5), (1, 0)), ((5, 1, 1), (0, 1, 2))),
        (((), ()), ((1,), (0,))),
        (((0, 3), (1, 0)), ((3, 0), (1, 0))),
        (((16, 256), (1, 0), (8, 128)), ((2, 2, 8, 128), (3, 2, 1, 0))),
        (((3, 5), (1, 0), (2, 2)), ((1, 3, 5), (2, 1, 0), (2, 2))),
    ]:
        before, after = (
            ArrayShape(ELEMENT_TYPES["f32"], sizes, layout=Layout(order, tuple(tiles)))
            for sizes, order, *tiles in (source, result)
        )
        x = numbers("f32", *before.dimensions)
        body = f"c = {before} copy(p0)\nr = {after} bitcast(c)"
        oracle = (lambda a, b: lambda x: from_buffer(to_buffer(x, a), b))(before, after)
        yield case("bitcast", body, x, oracle=oracle)
    x = numbers("f32", 2, 3)
    yield case("bitcast", "r = s32[2,3] bitcast(p0)", x, oracle=lambda x: x.view(np.int32))


def layouts_do_not_matter() -> Iterator[Case]:
    x = numbers("f32", 2, 3)
    yield case("copy", "c = f32[2,3]{0,1} copy(p0)\nr = f32[2,3]{1,0} add(c, p0)", x, oracle=lambda x: x + x)
    yield case("copy", "r = f32[] copy(p0)", np.float32(3))
    yield case("copy", "r = f32[0,2] copy(p0)", numbers("f32", 0, 2))


def tuples() -> Iterator[Case]:
    x, y = numbers("f32", 2, 3), numbers("s32", 4)
    yield case("tuple", "r = (f32[2,3], s32[4]) tuple(p0, p1)", x, y)
    yield case("tuple", "t = (s32[4]) tuple(p1)\nr = (f32[2,3], (s32[4])) tuple(p0, t)", x, y)
    yield case("tuple", "e = () tuple()\nr = (f32[2,3], ()) tuple(p0, e)", x)
    body = "t = (f32[2,3], s32[4]) tuple(p0, p1)\nr = s32[4] get-tuple-element(t), index=1"
    yield case("get-tuple-element", body, x, y)
    body = """t = (s32[4]) tuple(p1)
    u = (f32[2,3], (s32[4])) tuple(p0, t)
    v = (s32[4]) get-tuple-element(u), index=1
    w = s32[4] get-tuple-element(v), index=0
    r = s32[4] add(w, w)"""
    yield case("get-tuple-element", body, x, y)
    for name in COMPLEXES:
        yield case("tuple", f"r = ({name}[3], {name}[3]) tuple(p0, p0)", numbers(name, 3))


def cases() -> Iterator[Case]:
    yield from leaves()
    yield from every_type()
    yield from broadcasts()
    yield from reshapes()
    yield from permutations()
    yield from slices()
    yield from concatenations()
    yield from pads()
    yield from dynamic_slices()
    yield from bitcasts()
    yield from layouts_do_not_matter()
    yield from tuples()
