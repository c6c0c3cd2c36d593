"""convert, bitcast-convert, reduce-precision: every pair of element types."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from xla2py.tests.operations.case import EXACT, Case, case, shape_text
from xla2py.tests.operations.definitions import wrapped
from xla2py.tests.operations.values import ALL, COMPLEXES, WIDE_FLOATS, Array, dtype, edges, numbers
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES, from_dtype

ONE_BIT = ("s1", "u1")


def conversions() -> Iterator[Case]:
    """One case a source type: a tuple of its conversions to all types."""
    targets = [name for name in ALL if name not in ONE_BIT]
    for source in targets:
        values = edges(source)
        # a complex number to a real type, and what XLA itself calls undefined, are left to their own tests
        into = [name for name in targets if (source not in COMPLEXES or name in COMPLEXES) and _wanted(source, name)]
        if source == "f64":  # below 2**-127 XLA gives NaN, ml_dtypes the smallest number
            into.remove("f8e8m0fnu")
            yield case("convert", "r = f8e8m0fnu[9] convert(p0)", numbers("f64", 9) + 8, budget=EXACT)
        shapes = ", ".join(f"{name}[{len(values)}]" for name in into)
        root = f"r = ({shapes}) tuple({', '.join(f'r{k}' for k in range(len(into)))})"
        lines = [f"r{k} = {name}[{len(values)}] convert({{}})" for k, name in enumerate(into)]
        body = "\n".join([*lines, root])
        # XLA on the CPU saturates a 4-bit float against integer limits rounded to that float: let it start from f32
        reference = f"w = f32[16] convert(p0)\n{body.format(*['w'] * len(into))}" if source == "f4e2m1fn" else None
        yield case("convert", body.format(*["p0"] * len(into)), values, reference=reference, budget=EXACT)
    for sizes in [(), (0,), (1,), (2, 0), (1, 3, 1)]:
        shape = ",".join(map(str, sizes))
        yield case("convert", f"r = s32[{shape}] convert(p0)", numbers("f32", *sizes))
    for name in COMPLEXES:
        values = numbers(name, 12)
        yield case("convert", "r = f32[12] convert(p0)", values, oracle=lambda x: x.real.astype(np.float32))


def _wanted(source: str, target: str) -> bool:
    """All pairs but those of narrow floats with narrow floats or integers, of which XLA compiles slowly: a quarter."""
    narrow = [ELEMENT_TYPES[name].is_floating and ELEMENT_TYPES[name].bits <= 8 for name in (source, target)]
    if not narrow[1] or source in ("s8", "pred", *WIDE_FLOATS):
        return True
    return (ALL.index(source) + ALL.index(target)) % 4 == 0


def one_bit_conversions() -> Iterator[Case]:
    """XLA on the CPU knows no s1 and u1; from and to them, by definition."""
    for name in ONE_BIT:
        values = edges(name)
        for target in ("pred", "s8", "u32", "f32", "bf16", "c64", *ONE_BIT):
            body = f"r = {target}[{len(values)}] convert(p0)"
            yield case("convert", body, values, oracle=_by_python(target))
        for source in ("pred", "s8", "u8", "s32"):
            body = f"r = {name}[{len(edges(source))}] convert(p0)"
            yield case("convert", body, edges(source), element_type=name, oracle=_by_python(name))


def _by_python(target: str):
    element_type = ELEMENT_TYPES[target]

    def convert(operand: Array) -> Array:
        values = [int(value) for value in operand]
        if element_type.is_integral:
            return wrapped(values, element_type)
        return np.array(values).astype(element_type.dtype)

    return convert


def bitcast_conversions() -> Iterator[Case]:
    plain = [name for name in ALL if name not in ("pred", *ONE_BIT) and name not in COMPLEXES]
    for source in plain:
        for target in plain:
            source_bits, target_bits = ELEMENT_TYPES[source].bits, ELEMENT_TYPES[target].bits
            ratio = max(source_bits, target_bits) // min(source_bits, target_bits)
            wider = target_bits > source_bits
            values = edges(source)
            if wider:
                values = values[: len(values) // ratio * ratio].reshape(-1, ratio)
                if not len(values):
                    values = np.resize(edges(source), (3, ratio))
                sizes: tuple[int, ...] = values.shape[:-1]
            else:
                sizes = values.shape if ratio == 1 else (*values.shape, ratio)
            body = f"r = {target}[{','.join(map(str, sizes))}] bitcast-convert(p0)"
            yield case("bitcast-convert", body, values, oracle=_bits(target, sizes), budget=EXACT)
    for sizes, result in [((), "u32[]"), ((0,), "f32[0]"), ((2, 3), "s32[2,3]"), ((2,), "f16[2,2]"), ((), "s8[4]")]:
        yield case("bitcast-convert", f"r = {result} bitcast-convert(p0)", numbers("f32", *sizes))


def _bits(target: str, sizes: tuple[int, ...]):
    """Reinterpret the bits; elements below a byte are packed, low bits first."""

    def convert(operand: Array) -> Array:
        source, result = from_dtype(operand.dtype), ELEMENT_TYPES[target]
        raw = np.unpackbits(operand.reshape(-1, 1).view(np.uint8), axis=1, bitorder="little")[:, : source.bits]
        raw = raw.reshape(-1, result.bits)
        padded = np.pad(raw, [(0, 0), (0, result.dtype.itemsize * 8 - result.bits)])
        return np.packbits(padded, axis=1, bitorder="little").view(result.dtype).reshape(sizes)

    return convert


def reduced_precision() -> Iterator[Case]:
    for name in WIDE_FLOATS:
        values = np.concatenate([edges(name), numbers(name, 50), numbers(name, 50) * dtype(name).type(0.7)])
        for exponent, mantissa in [(8, 23), (5, 10), (8, 7), (4, 3), (5, 2), (2, 1), (1, 0), (3, 0), (11, 52), (8, 3)]:
            # Without a mantissa NaN becomes an infinity: in XLA where it is a constant, and in StableHLO.
            given = values if mantissa else values[values == values]
            body = f"r = {shape_text(given)} reduce-precision(p0), exponent_bits={exponent}, mantissa_bits={mantissa}"
            yield case("reduce-precision", body, given, budget=EXACT)
    for sizes in [(), (0,), (2, 1)]:
        shape = ",".join(map(str, sizes))
        body = f"r = f32[{shape}] reduce-precision(p0), exponent_bits=5, mantissa_bits=10"
        yield case("reduce-precision", body, numbers("f32", *sizes))


def cases() -> Iterator[Case]:
    yield from conversions()
    yield from one_bit_conversions()
    yield from bitcast_conversions()
    yield from reduced_precision()
