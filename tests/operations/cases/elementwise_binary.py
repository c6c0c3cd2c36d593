"""Element-wise operations on two and three operands, and comparisons."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from xla2py.tests.operations.case import EXACT, Case, case, shape_text
from xla2py.tests.operations.definitions import integer_binary, stochastic_convert
from xla2py.tests.operations.values import (
    ALL,
    COMPLEXES,
    FLOATS,
    INTEGERS,
    PRED,
    WIDE_FLOATS,
    Array,
    dtype,
    few,
    numbers,
    pairs,
)
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES

NUMERIC = INTEGERS + FLOATS + COMPLEXES
ELEMENT_TYPES_OF: dict[str, tuple[str, ...]] = {
    "add": PRED + NUMERIC,
    "and": PRED + INTEGERS,
    "atan2": FLOATS,
    "divide": NUMERIC,
    "maximum": PRED + NUMERIC,
    "minimum": PRED + NUMERIC,
    "mulhi": INTEGERS,
    "multiply": PRED + NUMERIC,
    "or": PRED + INTEGERS,
    "power": NUMERIC,
    "remainder": INTEGERS + FLOATS,
    "shift-left": INTEGERS,
    "shift-right-arithmetic": INTEGERS,
    "shift-right-logical": INTEGERS,
    "subtract": NUMERIC,
    "xor": PRED + INTEGERS,
}
EXACT_ON_FLOATS = {"add", "divide", "maximum", "minimum", "multiply", "subtract"}
DIRECTIONS = ("EQ", "NE", "GE", "GT", "LE", "LT")


INTEGRAL = {dtype(name) for name in INTEGERS}


def binary(opcode: str, left: Array, right: Array) -> Case:
    one_bit = left.dtype in (dtype("s1"), dtype("u1"))
    # XLA on the CPU looks at the low six bits of an exponent only, and takes a large unsigned one for negative
    defined = one_bit or opcode == "mulhi" or (opcode == "power" and left.dtype in INTEGRAL)
    oracle = integer_binary(opcode) if defined else None
    exact = opcode in EXACT_ON_FLOATS and left.dtype.kind != "c"
    budget = {"budget": EXACT} if exact else {}
    return case(opcode, f"r = {shape_text(left)} {opcode}(p0, p1)", left, right, oracle=oracle, **budget)


def arithmetic() -> Iterator[Case]:
    for opcode, names in ELEMENT_TYPES_OF.items():
        for name in names:
            left, right = pairs(name)
            if opcode == "power" and name in COMPLEXES:  # powers of 0 are NaN in XLA where a logarithm is taken
                left, right = left[left != 0], right[left != 0]
            yield binary(opcode, left, right)
        for sizes in [(), (0,), (1,), (3, 0), (1, 4, 1)]:
            yield binary(opcode, numbers(names[-1], *sizes), numbers(names[-1], *sizes, seed=1))


def repeated_operand() -> Iterator[Case]:
    """The same operand twice, and a scalar spread over an array, on either side."""
    for opcode in ("add", "subtract", "multiply", "divide", "maximum", "power"):
        x, scalar = numbers("f32", 3, 4), np.float32(1.5)
        yield case(opcode, f"r = f32[3,4] {opcode}(p0, p0)", x)
        for order in ("p0, b", "b, p0"):
            body = f"b = f32[3,4] broadcast(p1), dimensions={{}}\nr = f32[3,4] {opcode}({order})"
            yield case(opcode, body, x, scalar)
        body = f"b = f32[3,4] broadcast(p1), dimensions={{0}}\nr = f32[3,4] {opcode}(p0, b)"
        yield case(opcode, body, x, numbers("f32", 3, seed=2))


def complex_numbers() -> Iterator[Case]:
    for real, name in (("f32", "c64"), ("f64", "c128")):
        left, right = pairs(real)
        yield case("complex", f"r = {name}[{len(left)}] complex(p0, p1)", left, right)
        for sizes in [(), (0,), (2, 3)]:
            shape = ",".join(map(str, sizes))
            yield case(
                "complex", f"r = {name}[{shape}] complex(p0, p1)", numbers(real, *sizes), numbers(real, *sizes, seed=1)
            )


def complex_angles() -> Iterator[Case]:
    for name in COMPLEXES:
        y, x = pairs(name)
        with np.errstate(divide="ignore", invalid="ignore"):
            quotient = (x + 1j * y) / np.sqrt(x * x + y * y)
        defined = np.isfinite(quotient) & ((quotient.real > 0) | (np.abs(quotient.imag) > 1e-3))  # not on a branch cut
        yield binary("atan2", y[defined], x[defined])


def comparisons() -> Iterator[Case]:
    for name in ALL:
        left, right = pairs(name)
        oracle = comparison if ELEMENT_TYPES[name].bits == 1 else None
        for direction in ("EQ", "NE") if name in COMPLEXES else DIRECTIONS:
            body = f"r = pred[{len(left)}] compare(p0, p1), direction={direction}"
            rest = {"oracle": oracle(direction)} if oracle else {}
            yield case("compare", body, left, right, **rest)
            if name in FLOATS:
                yield case("compare", f"{body}, type=TOTALORDER", left, right)
    x = numbers("s32", 3)
    yield case("compare", "r = pred[3] compare(p0, p0), direction=LT, type=SIGNED", x)
    yield case("compare", "r = pred[3] compare(p0, p0), direction=LE, type=UNSIGNED", numbers("u32", 3))
    yield case("compare", "r = pred[3] compare(p0, p0), direction=EQ, type=FLOAT", numbers("f32", 3))
    yield case("compare", "r = pred[] compare(p0, p1), direction=GT", np.int32(4), np.int32(3))
    yield case("compare", "r = pred[0,3] compare(p0, p0), direction=GT", numbers("f32", 0, 3))


def comparison(direction: str):
    compare = {
        "EQ": "equal",
        "NE": "not_equal",
        "GE": "greater_equal",
        "GT": "greater",
        "LE": "less_equal",
        "LT": "less",
    }
    return lambda left, right: getattr(np, compare[direction])(left.astype(np.int8), right.astype(np.int8))


def selections() -> Iterator[Case]:
    for name in ALL:
        values = few(name)
        mask = numbers("pred", len(values))
        shape = shape_text(values)
        rest = {"oracle": np.where} if ELEMENT_TYPES[name].bits == 1 else {}
        body = f"r = {shape} select(p0, p1, p2)"
        yield case("select", body, mask, values, values[::-1].copy(), element_type=name, **rest)
        yield case("select", body, np.bool_(False), values, values[::-1].copy(), element_type=name, **rest)
    yield case("select", "r = f32[0] select(p0, p1, p1)", numbers("pred", 0), numbers("f32", 0), element_type="f32")
    yield case(
        "select", "r = f32[] select(p0, p1, p2)", np.bool_(True), np.float32(1), np.float32(2), element_type="f32"
    )


def clamps() -> Iterator[Case]:
    for name in INTEGERS + FLOATS + COMPLEXES:
        if ELEMENT_TYPES[name].bits == 1:
            continue
        values = few(name)
        low, x, high = (np.tile(np.roll(values, shift), 3) for shift in (0, 3, 7))
        yield case("clamp", f"r = {shape_text(x)} clamp(p0, p1, p2)", low, x, high)
        bounds = numbers(name, 1)[0], numbers(name, 1, seed=5)[0]
        yield case(
            "clamp", f"r = {shape_text(values)} clamp(p0, p1, p2)", bounds[0], values, bounds[1], element_type=name
        )
    x = numbers("f32", 2, 3)
    yield case("clamp", "r = f32[2,3] clamp(p0, p1, p2)", np.float32(-1), x, x + np.float32(0.5), element_type="f32")
    yield case("clamp", "r = f32[0] clamp(p0, p1, p1)", np.float32(-1), numbers("f32", 0), element_type="f32")


def stochastic() -> Iterator[Case]:
    generator = np.random.default_rng(3)
    for name in WIDE_FLOATS:
        bits = ELEMENT_TYPES[name].bits
        x = np.concatenate([few(name), numbers(name, 40), (numbers(name, 40) * dtype(name).type(0.3))])
        random = generator.integers(0, 2**bits, len(x), dtype=np.uint64).astype(dtype(f"u{bits}"))
        for result in ("s8", "s16", "s32", "u8"):
            yield case(
                "stochastic-convert",
                f"r = {result}[{len(x)}] stochastic-convert(p0, p1)",
                x,
                random,
                oracle=stochastic_convert(ELEMENT_TYPES[result]),
            )


def cases() -> Iterator[Case]:
    yield from arithmetic()
    yield from repeated_operand()
    yield from complex_numbers()
    yield from complex_angles()
    yield from comparisons()
    yield from selections()
    yield from clamps()
    yield from stochastic()
