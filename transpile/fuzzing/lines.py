"""Reductions along some axes of an array, with element-wise operations on all of it and broadcasts of the
reductions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random

from ..dataclass import dataclass
from .program import EXACT, Body, ProgramBuilder, RandomProgram, Value, braces, is_float, largest, limits
from .shape_chains import BOUNDS, binary_opcodes

TYPES = ["f32", "f32", "f32", "f32", "s32", "f64", "f16", "bf16", "u8", "s64"]
SIZES = [1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 32, 33, 40, 64]
MOST_ELEMENTS = 6000
MOST_SINKS = 4


@dataclass(frozen=True)
class Part:
    """A value that has some of the axes of the whole array, in any order."""

    value: Value
    axes: tuple[int, ...]


def lines(name: str, random: Random) -> RandomProgram:
    """Return a program of 4 to 24 steps on two to four parameters, with one to five results."""
    program = ProgramBuilder(name, random)
    work = Lines(program, random)
    for _ in range(random.randint(4, 24)):
        STEPS[random.choices(list(STEPS), [weight for _, weight in STEPS.values()])[0]][0](work)
    body = program.entry
    sinks = [value for value in body.values if value.name not in body.used]
    others = [value for value in body.values if value.name in body.used and not value.name.startswith("p")]
    results = sinks[-MOST_SINKS:] + random.sample(others, min(len(others), random.choice([0, 0, 1])))
    is_rounded = frozenset(range(len(results))) if work.is_rounded else frozenset()
    return program.build(results, len(results) > 1 or random.random() < 0.3, is_rounded, is_fixed=True)


class Lines:
    """A program under construction: the sizes of the whole array, and the parts so far.

    Half of the float32 and float64 programs compute with rounded numbers. Their comparisons use only parameters, so
    that no last digit decides about a result.
    """

    def __init__(self, program: ProgramBuilder, random: Random) -> None:
        self.random = random
        self.program = program
        self.body: Body = program.entry
        self.type = random.choice(TYPES)
        self.is_rounded = self.type in ("f32", "f64") and random.random() < 0.5
        self.sizes = self._sizes()
        everything = tuple(range(len(self.sizes)))
        self.inputs = [self._input(everything)]
        for _ in range(random.randint(1, 3)):
            axes = [axis for axis in everything if random.random() < 0.6]
            self.inputs.append(self._input(random.sample(axes, len(axes)) if random.random() < 0.3 else axes))
        self.parts = list(self.inputs)

    def _sizes(self) -> list[int]:
        while True:
            sizes = [self.random.choice(SIZES) for _ in range(self.random.choice([1, 2, 2, 2, 3, 3, 4]))]
            if math.prod(sizes) <= MOST_ELEMENTS:
                return sizes

    def _input(self, axes: Sequence[int]) -> Part:
        bound = 1 if self.type in ("f16", "bf16", "u8") else 2
        return Part(self.program.array_input(self.type, [self.sizes[axis] for axis in axes], bound), tuple(axes))

    def any(self) -> Part:
        """Return a random part; recent and unused ones are more likely."""
        weights = [(k + 1) * (1 if part.value.name in self.body.used else 4) for k, part in enumerate(self.parts)]
        return self.random.choices(self.parts, weights)[0]

    def put(self, value: Value, axes: Sequence[int]) -> Part:
        """Return a value as a part, and keep it for later steps if it has the type of the program."""
        part = Part(value, tuple(axes))
        if value.type == self.type:
            self.parts.append(part)
        return part

    def spread(self, part: Part, axes: Sequence[int]) -> Value:
        """Return the value of a part, broadcast to other axes."""
        if part.axes == tuple(axes):
            return part.value
        dimensions = [list(axes).index(axis) for axis in part.axes]
        sizes = [self.sizes[axis] for axis in axes]
        value = part.value
        return self.body.add("broadcast", [value], value.type, sizes, value.bound, f"dimensions={braces(dimensions)}")

    def together(self, *parts: Part) -> tuple[tuple[int, ...], list[Value]]:
        """Return the union of the axes of some parts, and their values broadcast to it."""
        widest = max(parts, key=lambda part: len(part.axes)).axes
        axes = (*widest, *sorted({axis for part in parts for axis in part.axes} - set(widest)))
        return axes, [self.spread(part, axes) for part in parts]

    def fits(self, bound: float, element_type: str) -> bool:
        """Return whether numbers up to a bound are exact, or need not be."""
        return self.is_rounded or element_type not in EXACT or bound <= EXACT[element_type]


def unary(work: Lines) -> None:
    part = work.any()
    smooth = ["exponential", "tanh", "logistic", "sine"] if work.is_rounded else []
    opcodes = ["negate", "abs", *smooth] if work.type != "u8" else ["not", "copy"]
    opcode, value = work.random.choice(opcodes), part.value
    if opcode == "exponential":
        value = work.body.add("tanh", [value], value.type, value.dimensions, 1)
    bound = {"exponential": 3.0, "tanh": 1.0, "logistic": 1.0, "sine": 1.0, "not": 255.0}.get(opcode, value.bound)
    work.put(work.body.add(opcode, [value], value.type, value.dimensions, bound), part.axes)


def binary(work: Lines) -> None:
    axes, (left, right) = work.together(work.any(), work.any())
    opcode = work.random.choice(binary_opcodes(left.type))
    bound = BOUNDS[opcode](left.bound, right.bound)
    if opcode == "subtract" and left.type == "u8":
        bound = largest("u8")
    if bound <= largest(left.type) and work.fits(bound, left.type):
        work.put(work.body.add(opcode, [left, right], left.type, left.dimensions, bound), axes)


def constant(work: Lines) -> None:
    part = work.any()
    value = part.value
    other = work.body.splat(value.type, value.dimensions)
    opcode = work.random.choice([name for name in ("add", "multiply", "maximum") if name in BOUNDS])
    bound = BOUNDS[opcode](value.bound, other.bound)
    if bound <= largest(value.type) and work.fits(bound, value.type):
        work.put(work.body.add(opcode, [value, other], value.type, value.dimensions, bound), part.axes)


def select(work: Lines) -> None:
    """Add a select by a comparison of a part of any rank, between values of any ranks."""
    asked = work.random.choice(work.inputs) if work.is_rounded else work.any()
    direction = work.random.choice(["EQ", "LT", "GE"])
    zero = work.body.splat(asked.value.type, asked.value.dimensions)
    test = work.body.add("compare", [asked.value, zero], "pred", asked.value.dimensions, 1, f"direction={direction}")
    axes, values = work.together(Part(test, asked.axes), work.any(), work.any())
    bound = max(values[1].bound, values[2].bound)
    work.put(work.body.add("select", values, values[1].type, values[1].dimensions, bound), axes)


def reduce(work: Lines) -> None:
    part = work.any()
    value, body = part.value, work.body
    if not part.axes:
        return
    count = work.random.randint(1, len(part.axes))
    places = sorted(work.random.sample(range(len(part.axes)), count))
    opcode = work.random.choice(["add", "add", "add", "maximum", "minimum"])
    terms = math.prod(value.dimensions[place] for place in places)
    start = _start(body, value, opcode)
    bound = value.bound * terms if opcode == "add" else value.bound
    if bound > largest(value.type) or not work.fits(bound, value.type):
        return
    kept = [k for k in range(len(part.axes)) if k not in places]
    attributes = f"dimensions={braces(places)}, to_apply={body.program.combiner(opcode, value.type)}"
    made = body.add("reduce", [value, start], value.type, [value.dimensions[k] for k in kept], bound, attributes)
    axes = [part.axes[k] for k in kept]
    if opcode == "add" and work.is_rounded and work.random.random() < 0.5:
        number = body.constant(value.type, str(terms), terms)
        divisor = body.add("broadcast", [number], value.type, made.dimensions, terms, "dimensions={}")
        made = body.add("divide", [made, divisor], value.type, made.dimensions, value.bound)
    work.put(made, axes)


def _start(body: Body, value: Value, opcode: str) -> Value:
    """Return the identity as the initial value: XLA counts any other once for each part of a long reduction."""
    if opcode == "add":
        return body.constant(value.type, "0", 0)
    low, high = ("-inf", "inf") if is_float(value.type) else limits(value.type)
    return body.constant(value.type, low if opcode == "maximum" else high, 0)


# The larger of two numbers (NaN is the largest) and its position; of equal ones the first.
_LARGER = """
  a = {type}[] parameter(0)
  i = s32[] parameter(1)
  b = {type}[] parameter(2)
  j = s32[] parameter(3)
  above = pred[] compare(a, b), direction=GT
  missing = pred[] compare(a, a), direction=NE
  first = pred[] or(above, missing)
  same = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  tie = pred[] and(same, before)
  chosen = pred[] or(first, tie)
  number = {type}[] select(first, a, b)
  place = s32[] select(chosen, i, j)
  ROOT r = ({type}[], s32[]) tuple(number, place)
"""


def largest_place(work: Lines) -> None:
    """Add the first position of the largest element along an axis."""
    part = work.any()
    if not part.axes or part.value.type not in ("f32", "s32"):
        return
    if work.is_rounded:
        part = work.inputs[0]
    value, body = part.value, work.body
    place = work.random.randrange(len(part.axes))
    sizes = [size for k, size in enumerate(value.dimensions) if k != place]
    found = f"({value.type}[{braces(sizes)[1:-1]}], s32[{braces(sizes)[1:-1]}])"
    numbers = body.add("iota", [], "s32", value.dimensions, value.size, f"iota_dimension={place}")
    low = "-inf" if is_float(value.type) else str(-(2**31))
    starts = [body.constant(value.type, low, 0), body.constant("s32", "0", 0)]
    called = body.program.helper(f"larger_{value.type}", _LARGER.format(type=value.type))
    both = body.instruction(found, "reduce", [value, numbers, *starts], f"dimensions={{{place}}}, to_apply={called}")
    body.add("get-tuple-element", [both], "s32", sizes, value.size, "index=1")


def _long_axis(work: Lines, value: Value) -> int | None:
    """Return an axis with several elements, or None."""
    places = [k for k, size in enumerate(value.dimensions) if size > 1]
    return work.random.choice(places) if places else None


def turned(work: Lines) -> None:
    """Add an array with the two ends of an axis exchanged."""
    part = work.any()
    value = part.value
    place = _long_axis(work, value)
    if place is None:
        return
    middle = work.random.randrange(1, value.dimensions[place])
    ends = [_cut(work, value, place, middle, value.dimensions[place]), _cut(work, value, place, 0, middle)]
    if work.random.random() < 0.4 and value.type != "u8":
        ends[0] = work.body.add("negate", ends[:1], value.type, ends[0].dimensions, value.bound)
    joined = work.body.add("concatenate", ends, value.type, value.dimensions, value.bound, f"dimensions={{{place}}}")
    work.put(joined, part.axes)


def shifted(work: Lines) -> None:
    """Add an array without the last elements of an axis, padded at the front."""
    part = work.any()
    value = part.value
    place = _long_axis(work, value)
    if place is None:
        return
    by = work.random.randrange(1, value.dimensions[place])
    cut = _cut(work, value, place, 0, value.dimensions[place] - by)
    filler = work.body.small_constant(value.type)
    padding = "x".join(f"{by if k == place else 0}_0" for k in range(value.rank))
    bound = max(value.bound, filler.bound)
    padded = work.body.add("pad", [cut, filler], value.type, value.dimensions, bound, f"padding={padding}")
    work.put(padded, part.axes)


def _cut(work: Lines, value: Value, place: int, start: int, stop: int) -> Value:
    bounds = [(start, stop) if k == place else (0, size) for k, size in enumerate(value.dimensions)]
    text = ", ".join(f"[{low}:{high}]" for low, high in bounds)
    return work.body.add(
        "slice", [value], value.type, [high - low for low, high in bounds], value.bound, f"slice={{{text}}}"
    )


def transposed(work: Lines) -> None:
    part = work.any()
    order = work.random.sample(range(len(part.axes)), len(part.axes))
    value = part.value
    sizes = [value.dimensions[k] for k in order]
    turned = work.body.add("transpose", [value], value.type, sizes, value.bound, f"dimensions={braces(order)}")
    work.put(turned, [part.axes[k] for k in order])


def there_and_back(work: Lines) -> None:
    """Add a unit axis, as ``keepdims`` does, and remove it."""
    part = work.any()
    value, sizes = part.value, list(part.value.dimensions)
    sizes.insert(work.random.randint(0, len(sizes)), 1)
    more = work.body.add("reshape", [value], value.type, sizes, value.bound)
    work.put(work.body.add("reshape", [more], value.type, value.dimensions, value.bound), part.axes)


STEPS: dict[str, tuple[Callable[[Lines], None], int]] = {
    "unary": (unary, 3),
    "binary": (binary, 8),
    "constant": (constant, 2),
    "select": (select, 4),
    "reduce": (reduce, 7),
    "largest_place": (largest_place, 1),
    "turned": (turned, 1),
    "shifted": (shifted, 1),
    "transposed": (transposed, 1),
    "there_and_back": (there_and_back, 1),
}
