"""Scalars, literals and converts of every element type, on values where types differ: limits, NaN, -0, halves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from ..hlo.element_types import ELEMENT_TYPES, ElementType, Kind
from .program import Body, ProgramBuilder, RandomProgram, Value

TYPES = sorted(set(ELEMENT_TYPES) - {"s1", "u1"})

# Operations with the same result, to the last bit, in every correct implementation.
EXACT_OPCODES: dict[Kind, tuple[str, ...]] = {
    Kind.PRED: ("not", "and", "or", "xor", "add", "multiply", "maximum", "minimum"),
    Kind.SIGNED: (
        *("abs", "negate", "sign", "not", "popcnt", "count-leading-zeros", "add", "subtract", "multiply", "divide"),
        *("remainder", "power", "maximum", "minimum", "and", "or", "xor"),
        *("shift-left", "shift-right-logical", "shift-right-arithmetic"),
    ),
    Kind.FLOAT: (
        *("abs", "negate", "sign", "floor", "ceil", "round-nearest-even", "round-nearest-afz", "sqrt"),
        *("add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "is-finite"),
    ),
    Kind.COMPLEX: ("negate", "add", "subtract", "real", "imag"),
}
EXACT_OPCODES[Kind.UNSIGNED] = tuple(o for o in EXACT_OPCODES[Kind.SIGNED] if o not in ("abs", "negate", "sign"))

# Operations that may differ in the last digits.
ROUNDED_OPCODES: dict[Kind, tuple[str, ...]] = {
    Kind.FLOAT: (
        *("cbrt", "cosine", "erf", "exponential", "exponential-minus-one", "log", "log-plus-one", "logistic", "rsqrt"),
        *("sine", "tan", "tanh", "atan2", "power"),
    ),
    Kind.COMPLEX: (
        *("abs", "multiply", "divide", "cosine", "sine", "exponential", "log", "sqrt", "tanh", "rsqrt"),
        *("exponential-minus-one", "log-plus-one", "sign"),
    ),
}
BINARY = {
    *("add", "subtract", "multiply", "divide", "remainder", "power", "maximum", "minimum", "and", "or", "xor"),
    *("shift-left", "shift-right-logical", "shift-right-arithmetic", "atan2"),
}


def scalars(name: str, random: Random) -> RandomProgram:
    """Return a program of 4 to 10 independent expressions, each of one to three operations."""
    program = ProgramBuilder(name, random)
    steps = random.choices(list(STEPS), [weight for _, weight in STEPS.values()], k=random.randint(4, 10))
    results = [STEPS[step][0](program.entry) for step in steps]
    rounded = frozenset(i for i, step in enumerate(steps) if step == "rounded")
    return program.build(results, rounded=rounded, is_fixed=True)


def interesting_values(element_type: ElementType) -> np.ndarray:
    """Return values of a type at its limits and where rounding goes either way, as an array of its dtype.

    Subnormals of float32, float64 and bfloat16 are left out, since XLA on the CPU flushes them.
    """
    dtype = element_type.dtype
    if element_type.kind is Kind.PRED:
        return np.array([False, True])
    if element_type.is_integral:
        low = -(2 ** (element_type.bits - 1)) if element_type.is_signed else 0
        high = low + 2**element_type.bits - 1
        integers = {low, low + 1, -2, -1, 0, 1, 2, 3, 7, high // 3, high - 1, high}
        return np.array(sorted(n for n in integers if low <= n <= high), dtype=object).astype(dtype)
    if element_type.is_complex:
        parts = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0]
        return np.array([complex(a, b) for a in parts for b in parts], dtype)
    numbers = [0.0, -0.0, 0.25, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, 0.1, 1 / 3, 5.7, -100.0, 127.5, 300.0]
    numbers += [2.0**31, -(2.0**31), 2.0**63, 1e10, -1e30, 65504.0, 448.0, np.inf, -np.inf, np.nan]
    with np.errstate(all="ignore"):
        return np.array(numbers).astype(dtype)


def literal_text(array: np.ndarray) -> str:
    """Return the array as an HLO literal, with enough digits to read it back exactly."""
    if array.ndim:
        return "{" + ", ".join(literal_text(part) for part in array) + "}"
    if array.dtype == bool:
        return "true" if array else "false"
    if np.iscomplexobj(array):
        return f"({literal_text(np.array(array.real))}, {literal_text(np.array(array.imag))})"
    if array.dtype.kind in "iu" or "int" in array.dtype.name:
        return str(int(array))
    number = float(array)
    return "nan" if np.isnan(number) else str(number)  # Python's shortest text of a double is exact for all types


def literal(body: Body, element_type: str, dimensions: Sequence[int]) -> Value:
    """Add a constant of interesting values."""
    values = _draw(body, interesting_values(ELEMENT_TYPES[element_type]), dimensions)
    return body.constant(element_type, literal_text(values), 0, dimensions)


def argument(body: Body, element_type: str, dimensions: Sequence[int], pool: np.ndarray | None = None) -> Value:
    """Add a parameter of interesting values, or of values from the pool."""
    pool = interesting_values(ELEMENT_TYPES[element_type]) if pool is None else pool
    body.program.inputs.append(_draw(body, pool, dimensions))
    return body.array_parameter(element_type, dimensions, 0)


def _draw(body: Body, pool: np.ndarray, dimensions: Sequence[int]) -> np.ndarray:
    return pool[body.program.numbers.integers(0, len(pool), size=tuple(dimensions))]


FOLDED_WRONGLY = {"f8e8m0fnu", "f4e2m1fn", "c64", "c128"}  # XLA folds constants of, and converts to, these wrongly


def operand(body: Body, element_type: str, dimensions: Sequence[int]) -> Value:
    """Add a parameter, or a constant if XLA folds constants of the type correctly."""
    may_fold = element_type not in FOLDED_WRONGLY
    return (literal if may_fold and body.random.random() < 0.3 else argument)(body, element_type, dimensions)


def random_dimensions(random: Random) -> tuple[int, ...]:
    return random.choice([(), (), (9,), (9,), (1,), (2, 4), (0,), (30,)])


# -- steps


def constant_step(body: Body) -> Value:
    value = literal(body, body.random.choice(TYPES), random_dimensions(body.random))
    return body.add("copy", [value], value.type, value.dimensions, 0) if body.random.random() < 0.3 else value


def convert_step(body: Body) -> Value:
    source, target, last = body.random.sample(TYPES, 3)
    keeps_sign = source in ("s2", "s4") and target in ("u2", "u4")  # in constants that XLA folds, wrongly
    value = (argument if keeps_sign or target in FOLDED_WRONGLY else operand)(
        body, source, random_dimensions(body.random)
    )
    result = body.add("convert", [value], convertible(source, target), value.dimensions, 0)
    skips_middle = ELEMENT_TYPES[source].is_integral and ELEMENT_TYPES[last].is_integral  # by XLA, wrongly
    if body.random.random() < 0.3 and last not in FOLDED_WRONGLY and not skips_middle:
        result = body.add("convert", [result], convertible(result.type, last), value.dimensions, 0)
    return result


def convertible(source: str, target: str) -> str:
    """Return the target, or another type if XLA's conversion is wrong."""
    if ELEMENT_TYPES[source].is_complex and target == "pred":
        return "f32"  # XLA aborts
    if source == "f4e2m1fn" and ELEMENT_TYPES[target].is_integral:
        return "f16"  # XLA saturates to f4's largest number, not the integer type's
    return target


def elementwise(body: Body, table: dict[Kind, tuple[str, ...]]) -> Value:
    element_type = body.random.choice([t for t in TYPES if ELEMENT_TYPES[t].kind in table])
    kind = ELEMENT_TYPES[element_type].kind
    opcode = body.random.choice(table[kind])
    if opcode == "popcnt" and element_type in ("s2", "s4"):
        opcode = "not"  # XLA counts the bits of the sign-extended byte
    dimensions = random_dimensions(body.random)
    pool = operand_pool(opcode, ELEMENT_TYPES[element_type])
    operands = [argument(body, element_type, dimensions, None if opcode == "power" else pool)]
    if opcode in BINARY:
        operands.append(argument(body, element_type, dimensions, pool))
    result = ELEMENT_TYPES[element_type]
    result_type = "pred" if opcode == "is-finite" else element_type
    if result.is_complex and opcode in ("abs", "real", "imag"):
        result_type = result.real.name
    return body.add(opcode, operands, result_type, dimensions, 0)


def operand_pool(opcode: str, element_type: ElementType) -> np.ndarray:
    """Return the values of an operand: all interesting ones for which XLA's results are meaningful."""
    values = interesting_values(element_type)
    if opcode == "power" and element_type.is_integral:  # XLA reads only the lowest six bits of the exponent
        return values[(values.astype(np.float64) >= -8) & (values.astype(np.float64) < 64)]
    if opcode == "power" and element_type.name == "f8e8m0fnu":  # small results are subnormal in float32: flushed
        return values[values.astype(np.float32) < 16]
    if element_type.is_complex and opcode in ROUNDED_OPCODES[Kind.COMPLEX]:  # no branch cuts, no x / 0
        values = values[(values.real != 0) & (values.imag != 0)]
    return values


def compare_step(body: Body) -> Value:
    element_type = body.random.choice(TYPES)
    kind = ELEMENT_TYPES[element_type].kind
    direction = body.random.choice(["EQ", "NE"] if kind is Kind.COMPLEX else ["EQ", "NE", "LT", "LE", "GT", "GE"])
    dimensions = random_dimensions(body.random)
    attributes = f"direction={direction}"
    take = operand
    if kind is Kind.FLOAT and body.random.random() < 0.3:
        attributes += ", type=TOTALORDER"
        take = argument  # XLA folds it as if NaN were unordered
    operands = [take(body, element_type, dimensions), take(body, element_type, dimensions)]
    return body.add("compare", operands, "pred", dimensions, 0, attributes)


def clamp_step(body: Body) -> Value:
    element_type = body.random.choice([t for t in TYPES if not ELEMENT_TYPES[t].is_complex])
    dimensions = random_dimensions(body.random)
    limits = body.random.choice([(), dimensions])
    draw = argument if element_type == "s2" else operand  # XLA treats a constant of -1 as the largest number
    operands = [draw(body, element_type, shape) for shape in (limits, dimensions, limits)]
    return body.add("clamp", operands, element_type, dimensions, 0)


def select_step(body: Body) -> Value:
    element_type = body.random.choice(TYPES)
    dimensions = random_dimensions(body.random)
    flags = operand(body, "pred", body.random.choice([(), dimensions]))
    operands = [flags, operand(body, element_type, dimensions), operand(body, element_type, dimensions)]
    return body.add("select", operands, element_type, dimensions, 0)


def bitcast_convert_step(body: Body) -> Value:
    """Add a bitcast to a type whose width divides the operand's, or is a multiple of it."""
    castable = [t for t in TYPES if t != "pred" and not ELEMENT_TYPES[t].is_complex]
    source, target = body.random.choice(castable), body.random.choice(castable)
    wide, narrow = ELEMENT_TYPES[source].bits, ELEMENT_TYPES[target].bits
    dimensions = list(random_dimensions(body.random))
    if narrow > wide:
        value = operand(body, source, [*dimensions, narrow // wide])
        return body.add("bitcast-convert", [value], target, dimensions, 0)
    value = argument(body, source, dimensions)  # XLA folds casts to types of less than a byte wrongly
    if narrow < wide:
        dimensions.append(wide // narrow)
    return body.add("bitcast-convert", [value], target, dimensions, 0)


def reduce_precision_step(body: Body) -> Value:
    element_type = body.random.choice(["f64", "f32", "f16", "bf16"])
    value = operand(body, element_type, random_dimensions(body.random))
    attributes = f"exponent_bits={body.random.randint(2, 11)}, mantissa_bits={body.random.randint(1, 30)}"
    return body.add("reduce-precision", [value], element_type, value.dimensions, 0, attributes)


def complex_step(body: Body) -> Value:
    """Add a complex number from two reals, and perhaps one of its parts."""
    real_type, complex_type = body.random.choice([("f32", "c64"), ("f64", "c128")])
    dimensions = random_dimensions(body.random)
    parts = [operand(body, real_type, dimensions), operand(body, real_type, dimensions)]
    value = body.add("complex", parts, complex_type, dimensions, 0)
    if body.random.random() < 0.5:
        return value
    return body.add(body.random.choice(["real", "imag"]), [value], real_type, dimensions, 0)


STEPS: dict[str, tuple[Callable[[Body], Any], int]] = {
    "constant": (constant_step, 2),
    "convert": (convert_step, 5),
    "exact": (lambda body: elementwise(body, EXACT_OPCODES), 6),
    "rounded": (lambda body: elementwise(body, ROUNDED_OPCODES), 2),
    "compare": (compare_step, 2),
    "clamp": (clamp_step, 1),
    "select": (select_step, 1),
    "bitcast-convert": (bitcast_convert_step, 1),
    "reduce-precision": (reduce_precision_step, 1),
    "complex": (complex_step, 1),
}
