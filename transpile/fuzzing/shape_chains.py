"""Chains of shape operations with unit axes and permutations, mixed with element-wise operations and reductions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from random import Random

from .program import (
    EXACT,
    MOST_ELEMENTS,
    Body,
    ProgramBuilder,
    RandomProgram,
    Value,
    braces,
    is_float,
    is_integer,
    largest,
    limits,
)

TYPES = ["f32", "f32", "f32", "s32", "s32", "pred", "bf16", "f64", "u8", "s64", "f16", "c64"]
SIZES = [1, 1, 2, 3, 3, 4, 5]


Steps = Mapping[str, tuple[Callable[[Body], None], int]]  # each with its weight


def shape_chain(name: str, random: Random, steps: Steps | None = None) -> RandomProgram:
    """Return a program of 3 to 16 instructions on one to three parameters, from :data:`STEPS` or other steps."""
    steps = steps or STEPS
    program = ProgramBuilder(name, random)
    body = program.entry
    for _ in range(random.randint(1, 3)):
        program.array_input(random.choice(TYPES), random_dimensions(random))
    target = random.randint(3, 16)
    names, weights = list(steps), [weight for _, weight in steps.values()]
    for _ in range(4 * target):
        steps[random.choices(names, weights)[0]][0](body)
        if len(body.values) >= target:
            break
    sinks = [value for value in body.values if value.name not in body.used]
    others = [value for value in body.values if value.name in body.used]
    results = sinks[-4:] + (random.sample(others, 1) if others and random.random() < 0.2 else [])
    as_tuple = len(results) > 1 or random.random() < 0.3
    return program.build(results, as_tuple)


def random_dimensions(random: Random, most_dimensions: int = 4) -> tuple[int, ...]:
    """Return small sizes, many of them 1 and few of them 0."""
    sizes = [random.choice(SIZES) for _ in range(random.randint(0, most_dimensions))]
    if sizes and random.random() < 0.03:
        sizes[random.randrange(len(sizes))] = 0
    return tuple(sizes)


# -- element-wise


def unary(body: Body) -> None:
    value = body.any_value()
    opcodes = {"copy": True, "negate": value.type not in ("pred", "u8"), "abs": value.type not in ("pred", "u8", "c64")}
    opcodes |= {"sign": is_float(value.type), "floor": is_float(value.type), "not": value.type in ("pred", "s32", "u8")}
    opcode = body.random.choice([name for name, fits in opcodes.items() if fits])
    bound = largest(value.type) if opcode in ("not", "negate") and is_integer(value.type) else value.bound
    body.add(opcode, [value], value.type, value.dimensions, bound)


BOUNDS: dict[str, Callable[[float, float], float]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "maximum": max,
    "minimum": max,
    "and": lambda a, b: a + b,
    "or": lambda a, b: a + b,
    "xor": lambda a, b: a + b,
}


def binary_opcodes(element_type: str) -> list[str]:
    if element_type == "pred":
        return ["and", "or", "xor"]
    if element_type == "c64":
        return ["add", "subtract", "multiply"]
    return list(BOUNDS)[:5] if is_float(element_type) else list(BOUNDS)


def binary(body: Body) -> None:
    left = body.any_value()
    right = body.partner(left)
    if body.random.random() < 0.5:
        left, right = right, left
    opcode = body.random.choice(binary_opcodes(left.type))
    bound = BOUNDS[opcode](left.bound, right.bound) * (2 if left.type == "c64" else 1)
    if opcode == "subtract" and left.type.startswith("u"):
        bound = largest(left.type)
    if left.type in EXACT and bound > EXACT[left.type]:
        return
    body.add(opcode, [left, right], left.type, left.dimensions, bound)


def compare(body: Body) -> None:
    left = body.any_value()
    directions = ["EQ", "NE"] if left.type == "c64" else ["EQ", "NE", "LT", "LE", "GT", "GE"]
    attributes = f"direction={body.random.choice(directions)}"
    body.add("compare", [left, body.partner(left)], "pred", left.dimensions, 1, attributes)


def select(body: Body) -> None:
    value = body.any_value()
    other = body.partner(value)
    chosen = body.pick(lambda v: v.type == "pred" and v.dimensions in (value.dimensions, ()))
    if chosen is not None:
        body.add("select", [chosen, value, other], value.type, value.dimensions, max(value.bound, other.bound))


def clamp(body: Body) -> None:
    value = body.pick(lambda v: v.type not in ("pred", "c64"))
    if value is None:
        return
    low, high = body.small_constant(value.type, -3, 0), body.small_constant(value.type, 1, 5)
    body.add("clamp", [low, value, high], value.type, value.dimensions, max(low.bound, high.bound))


def convert(body: Body) -> None:
    value = body.any_value()
    targets = [t for t in sorted(set(TYPES)) if t != value.type and (t != "pred") and value.type != "c64"]
    targets = [t for t in targets if value.bound <= largest(t) / 2]
    if targets:
        target = body.random.choice(targets)
        wraps = target == "u8" and value.type != "pred"
        if wraps and is_float(value.type):
            return  # a negative float saturates, which the family scalars tests
        body.add("convert", [value], target, value.dimensions, largest(target) if wraps else value.bound)


# -- shape


def broadcast(body: Body) -> None:
    value = body.pick(lambda v: v.rank < 5)
    if value is None:
        return
    rank = body.random.randint(value.rank, 5)
    places = body.random.sample(range(rank), value.rank)
    if body.random.random() < 0.85:
        places.sort()
    sizes = [body.random.choice(SIZES) for _ in range(rank)]
    for place, size in zip(places, value.dimensions, strict=True):
        sizes[place] = size
    if _fits(sizes):
        body.add("broadcast", [value], value.type, sizes, value.bound, f"dimensions={braces(places)}")


def reshape(body: Body) -> None:
    value = body.any_value()
    sizes = [size for size in value.dimensions if size != 1 or body.random.random() < 0.3]
    if not value.size:
        sizes = list(value.dimensions)
    kind = body.random.random()
    if kind < 0.3 and len(sizes) > 1:
        at = body.random.randrange(len(sizes) - 1)
        sizes[at : at + 2] = [sizes[at] * sizes[at + 1]]
    elif kind < 0.6 and value.size:
        splittable = [(i, d) for i, size in enumerate(sizes) for d in range(2, size) if size % d == 0]
        if splittable:
            at, factor = body.random.choice(splittable)
            sizes[at : at + 1] = [factor, sizes[at] // factor]
    for _ in range(body.random.choice([0, 0, 1, 2])):
        sizes.insert(body.random.randint(0, len(sizes)), 1)
    if value.size == math.prod(sizes):
        body.add("reshape", [value], value.type, sizes, value.bound)


def transpose(body: Body) -> None:
    value = body.pick(lambda v: v.rank > 1) or body.any_value()
    order = body.random.sample(range(value.rank), value.rank)
    sizes = [value.dimensions[axis] for axis in order]
    body.add("transpose", [value], value.type, sizes, value.bound, f"dimensions={braces(order)}")


def slice_(body: Body) -> None:
    value = body.pick(lambda v: v.rank > 0)
    if value is None:
        return
    sizes, parts = [], []
    for size in value.dimensions:
        start, limit, stride = 0, size, 1
        if size and body.random.random() < 0.6:
            start = body.random.randrange(size)
            limit = body.random.randint(min(start + 1, size), size)
            stride = body.random.choice([1, 1, 2, 3])
        sizes.append(-(-(limit - start) // stride))
        parts.append(
            f"[{start}:{limit}:{stride}]" if stride > 1 or body.random.random() < 0.5 else f"[{start}:{limit}]"
        )
    body.add("slice", [value], value.type, sizes, value.bound, f"slice={{{', '.join(parts)}}}")


def dynamic_slice(body: Body) -> None:
    value = body.pick(lambda v: v.rank > 0)
    if value is None:
        return
    sizes = [body.random.randint(0 if size == 0 else 1, size) for size in value.dimensions]
    starts = [body.constant("s32", str(body.random.randint(-2, size + 2)), 8) for size in value.dimensions]
    attributes = f"dynamic_slice_sizes={braces(sizes)}"
    body.add("dynamic-slice", [value, *starts], value.type, sizes, value.bound, attributes)


def reverse(body: Body) -> None:
    value = body.pick(lambda v: v.rank > 0)
    if value is not None:
        axes = sorted(body.random.sample(range(value.rank), body.random.randint(1, value.rank)))
        body.add("reverse", [value], value.type, value.dimensions, value.bound, f"dimensions={braces(axes)}")


def pad(body: Body) -> None:
    value = body.pick(lambda v: v.rank > 0)
    if value is None:
        return
    sizes, parts = [], []
    for size in value.dimensions:
        interior = body.random.choice([0, 0, 0, 1, 2])
        low, high = body.random.choice([-1, 0, 0, 1, 2]), body.random.choice([-1, 0, 0, 1, 2])
        spread = size + max(size - 1, 0) * interior
        if spread + low + high < 0:
            low = high = 0
        sizes.append(spread + low + high)
        parts.append(f"{low}_{high}" + (f"_{interior}" if interior else ""))
    if _fits(sizes):
        filler = body.small_constant(value.type)
        bound = max(value.bound, filler.bound)
        body.add("pad", [value, filler], value.type, sizes, bound, f"padding={'x'.join(parts)}")


def concatenate(body: Body) -> None:
    first = body.pick(lambda v: v.rank > 0)
    if first is None:
        return
    axis = body.random.randrange(first.rank)

    def rest(value: Value) -> tuple[int, ...]:
        return value.dimensions[:axis] + value.dimensions[axis + 1 :]

    fitting = [v for v in body.values if v.type == first.type and v.rank == first.rank and rest(v) == rest(first)]
    parts = [first, *body.random.choices(fitting, k=body.random.randint(0, 2))]
    if body.random.random() < 0.2:
        parts.append(body.splat(first.type, first.dimensions))
    body.random.shuffle(parts)
    sizes = list(first.dimensions)
    sizes[axis] = sum(part.dimensions[axis] for part in parts)
    if _fits(sizes):
        bound = max(part.bound for part in parts)
        body.add("concatenate", parts, first.type, sizes, bound, f"dimensions={{{axis}}}")


def iota(body: Body) -> None:
    like = body.pick(lambda v: v.rank > 0)
    if like is not None:
        axis = body.random.randrange(like.rank)
        element_type = body.random.choice(["s32", "f32", "s64"])
        body.add("iota", [], element_type, like.dimensions, 400, f"iota_dimension={axis}")


def reduce(body: Body) -> None:
    value = body.pick(lambda v: v.rank > 0 and v.type != "c64")
    if value is None:
        return
    axes = sorted(body.random.sample(range(value.rank), body.random.randint(1, value.rank)))
    opcodes = ["and", "or"] if value.type == "pred" else ["add", "add", "maximum", "minimum", "multiply"]
    opcode = body.random.choice(opcodes)
    terms = math.prod(value.dimensions[axis] for axis in axes)
    start = reduction_start(body, value, opcode, terms)
    bound = value.bound
    if opcode == "add":
        bound = value.bound * terms + start.bound
    elif opcode == "multiply":
        bound = power(max(value.bound, 1), terms) * start.bound
    else:
        bound = max(value.bound, start.bound) if terms else float("inf")
    if value.type in EXACT and bound > EXACT[value.type]:
        return
    sizes = [size for axis, size in enumerate(value.dimensions) if axis not in axes]
    attributes = f"dimensions={braces(axes)}, to_apply={body.program.combiner(opcode, value.type)}"
    body.add("reduce", [value, start], value.type, sizes, bound, attributes)


def power(bound: float, exponent: int) -> float:
    """Return a power of a bound; infinity if Python would raise an OverflowError."""
    return math.inf if exponent * math.log2(bound) > 1000 else bound**exponent


def reduction_start(body: Body, value: Value, opcode: str, terms: int) -> Value:
    """Return an initial value: the identity, or sometimes another one if the operand is a parameter.

    XLA counts another one twice if it merges or splits reductions, and drops it from a reduction of unit axes.
    """
    element_type = value.type
    is_argument = body is body.program.entry and value.name.startswith("p")
    if terms != 1 and is_argument and body.random.random() < 0.5:
        return body.small_constant(element_type)
    if opcode in IDENTITIES:
        return body.constant(element_type, IDENTITIES[opcode], 1)
    if element_type == "pred":
        return body.constant("pred", "true" if opcode == "and" else "false", 1)
    low, high = ("-inf", "inf") if is_float(element_type) else limits(element_type)
    return body.constant(element_type, low if opcode == "maximum" else high, 0)


IDENTITIES = {"add": "0", "multiply": "1"}


def dot(body: Body) -> None:
    left = body.pick(lambda v: v.rank > 0 and v.type in ("f32", "s32", "f64"))
    if left is None:
        return
    axis = body.random.randrange(left.rank)
    right = body.pick(lambda v: v.type == left.type and left.dimensions[axis] in v.dimensions)
    if right is None:
        return
    other = body.random.choice([i for i, size in enumerate(right.dimensions) if size == left.dimensions[axis]])
    sizes = [s for i, s in enumerate(left.dimensions) if i != axis] + [
        s for i, s in enumerate(right.dimensions) if i != other
    ]
    bound = left.bound * right.bound * max(1, left.dimensions[axis])
    if bound > largest(left.type) or not _fits(sizes) or len(sizes) > 5:
        return
    attributes = f"lhs_contracting_dims={{{axis}}}, rhs_contracting_dims={{{other}}}"
    body.add("dot", [left, right], left.type, sizes, bound, attributes)


def call(body: Body) -> None:
    def write(arguments: list[Value], result: Value, name: str) -> None:
        body.add("call", arguments, result.type, result.dimensions, result.bound, f"to_apply={name}")

    add_call(body, write)


def add_call(body: Body, write: Callable[[list[Value], Value, str], None]) -> None:
    """Add a computation of a few other steps; ``write(arguments, result, computation)`` adds its call."""
    arguments = [body.any_value(), body.any_value()]
    callee = body.program.body(body.program.unique("function"))
    for value in arguments:
        callee.array_parameter(value.type, value.dimensions, value.bound)
    for step in body.random.choices([binary, broadcast, transpose, reshape, select, reduce], k=3):
        step(callee)
    result = callee.values[-1]
    callee.result_shape_and_root([result], [result.shape], as_tuple=False)
    write(arguments, result, body.program.finish(callee))


STEPS: dict[str, tuple[Callable[[Body], None], int]] = {
    "unary": (unary, 2),
    "binary": (binary, 5),
    "compare": (compare, 2),
    "select": (select, 2),
    "clamp": (clamp, 1),
    "convert": (convert, 2),
    "broadcast": (broadcast, 5),
    "reshape": (reshape, 5),
    "transpose": (transpose, 4),
    "slice": (slice_, 3),
    "dynamic_slice": (dynamic_slice, 1),
    "reverse": (reverse, 2),
    "pad": (pad, 2),
    "concatenate": (concatenate, 3),
    "iota": (iota, 1),
    "reduce": (reduce, 4),
    "dot": (dot, 1),
    "call": (call, 1),
}


def _fits(sizes: list[int]) -> bool:
    return math.prod(sizes) <= MOST_ELEMENTS
