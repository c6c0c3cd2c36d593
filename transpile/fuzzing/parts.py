"""Parts of arrays that are read and written at computed positions: clamped, modulo, masked, of a maximum, or any."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random

from .program import ProgramBuilder, RandomProgram, Value, braces

TYPES = ["f32", "f32", "s32", "f64", "u8"]
SIZES = [2, 3, 4, 5, 6, 7, 9]
INDEX_TYPES = ["s32", "s32", "s32", "u32", "s64", "u8"]
MOST_SINKS = 4
BOUND = 2


def parts(name: str, random: Random) -> RandomProgram:
    """Return a program of 2 to 7 steps on one to three arrays, with one to four results."""
    program = ProgramBuilder(name, random)
    work = Parts(program, random)
    for _ in range(random.randint(2, 7)):
        random.choices(list(STEPS), list(STEPS.values()))[0](work)
    body = program.entry
    sinks = [value for value in work.values if value.name not in body.used]
    results = (sinks or work.values)[-MOST_SINKS:]
    return program.build(results, len(results) > 1 or random.random() < 0.3, is_fixed=True)


class Parts:
    """A program under construction: its arrays so far, all of one element type."""

    def __init__(self, program: ProgramBuilder, random: Random) -> None:
        self.program, self.random, self.body = program, random, program.entry
        self.type = random.choice(TYPES)
        sizes = [random.choice(SIZES) for _ in range(random.choice([1, 1, 2, 2, 2, 3]))]
        self.values = [program.array_input(self.type, sizes, BOUND) for _ in range(random.randint(1, 3))]

    def any(self, accepts: Callable[[Value], bool] = lambda value: value.rank > 0) -> Value:
        """Return an accepted array, or the first parameter if there is none; recent and unused arrays are more
        likely.
        """
        found = [value for value in self.values if accepts(value)] or self.values[:1]
        weights = [(k + 1) * (1 if value.name in self.body.used else 4) for k, value in enumerate(found)]
        return self.random.choices(found, weights)[0]

    def put(self, opcode: str, operands: Sequence[Value], dimensions: Sequence[int], attributes: str = "") -> Value:
        """Add an instruction whose result is one of the arrays, and return it."""
        bound = max(operand.bound for operand in operands[:2])
        value = self.body.add(opcode, operands, self.type, dimensions, bound, attributes)
        self.values.append(value)
        return value

    def window(self, x: Value) -> list[int]:
        """Return the sizes of a part of an array: one element, all, or some along each axis."""
        return [self.random.choice([1, n, self.random.randint(1, n)]) for n in x.dimensions]

    def part(self, x: Value, window: Sequence[int]) -> Value:
        """Add a part at computed positions, behind a barrier: XLA adds the positions of nested parts, and clamps only
        the sum.
        """
        sizes = f"dynamic_slice_sizes={braces(window)}"
        part = self.body.add("dynamic-slice", [x, *self.starts(x, window)], self.type, window, x.bound, sizes)
        return self.put("opt-barrier", [part], window)

    def starts(self, x: Value, window: Sequence[int]) -> list[Value]:
        """Return a position along each axis of an array, all of one type."""
        index_type = self.random.choice(INDEX_TYPES)
        counts = [n - size + 1 for n, size in zip(x.dimensions, window, strict=True)]
        return [self.place(index_type, count) for count in counts]

    def place(self, index_type: str, count: int, dimensions: Sequence[int] = ()) -> Value:
        """Return positions computed from new inputs. Except for the kind ``any`` they are mostly below ``count``."""
        given = self.program.array_input(index_type, dimensions, 12)
        kind = self.random.choice(list(PLACES))
        return PLACES[kind](self, given, count)

    def number(self, like: Value, number: int) -> Value:
        """Return a constant of the shape of positions."""
        scalar = self.body.constant(like.type, str(number), number)
        if not like.rank:
            return scalar
        return self.body.add("broadcast", [scalar], like.type, like.dimensions, number, "dimensions={}")

    def computed(self, opcode: str, operands: Sequence[Value], like: Value, attributes: str = "") -> Value:
        """Add an operation on positions."""
        element_type = "pred" if opcode == "compare" else like.type
        return self.body.add(opcode, operands, element_type, like.dimensions, 127, attributes)


# -- positions


def clamped(work: Parts, given: Value, count: int) -> Value:
    return work.computed("clamp", [work.number(given, 0), given, work.number(given, count - 1)], given)


def modulo(work: Parts, given: Value, count: int) -> Value:
    """Return the remainder of floor division, as ``%`` in JAX."""
    n, zero = work.number(given, count), work.number(given, 0)
    rest = work.computed("remainder", [given, n], given)
    below = work.computed("compare", [rest, zero], given, "direction=LT")
    return work.computed("select", [below, work.computed("add", [rest, n], given), rest], given)


def masked(work: Parts, given: Value, count: int) -> Value:
    mask = (1 << (count.bit_length() - 1)) - 1
    return work.computed("and", [given, work.number(given, mask)], given)


def scaled(work: Parts, given: Value, count: int) -> Value:
    """Return the start of one of several adjacent parts."""
    step = work.random.randint(1, count)
    place = modulo(work, given, -(-count // step))
    return work.computed("multiply", [place, work.number(given, step)], given)


def of_maximum(work: Parts, given: Value, count: int) -> Value:
    """Return the position of the first maximum of a new input; for arrays of positions, clamped ones."""
    if given.rank:
        return clamped(work, given, count)
    numbers = work.program.array_input("f32", [count], BOUND)
    positions = work.body.add("iota", [], "s32", [count], count, "iota_dimension=0")
    least, zero = work.body.constant("f32", "-inf", 0), work.body.constant("s32", "0", 0)
    larger = work.program.helper("larger", _LARGER)
    attributes = f"dimensions={{0}}, to_apply={larger}"
    both = work.body.instruction("(f32[], s32[])", "reduce", [numbers, positions, least, zero], attributes)
    place = work.body.add("get-tuple-element", [both], "s32", [], count, "index=1")
    return place if given.type == "s32" else work.computed("convert", [place], given)


_LARGER = """
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  above = pred[] compare(a, b), direction=GT
  same = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  is_first = pred[] and(same, before)
  is = pred[] or(above, is_first)
  c = f32[] select(is, a, b)
  k = s32[] select(is, i, j)
  ROOT r = (f32[], s32[]) tuple(c, k)
"""

PLACES: dict[str, Callable[[Parts, Value, int], Value]] = {
    "any": lambda work, given, count: given,
    "clamped": clamped,
    "modulo": modulo,
    "masked": masked,
    "scaled": scaled,
    "of_maximum": of_maximum,
}


# -- steps


def read(work: Parts) -> None:
    """Add a part, most often without its unit axes."""
    x = work.any()
    window = work.window(x)
    part = work.part(x, window)
    if work.random.random() < 0.6:
        work.put("reshape", [part], [n for n in window if n > 1])


def write(work: Parts) -> None:
    """Add a part of an array, written into one of the same rank. It is behind a barrier, since XLA may write into an
    array while it reads a part of it.
    """
    x = work.any()
    source = work.any(lambda value: value.rank == x.rank)
    if source.rank != x.rank:
        return
    window = [min(n, size) for n, size in zip(x.dimensions, work.window(source), strict=True)]
    stops = ", ".join(f"[0:{n}]" for n in window)
    update = work.body.add("slice", [source], work.type, window, source.bound, f"slice={{{stops}}}")
    update = work.put("opt-barrier", [update], window)
    work.put("dynamic-update-slice", [x, update, *work.starts(x, window)], x.dimensions)


def roll(work: Parts) -> None:
    """Add an array that is rolled by a computed number of positions."""
    x = work.any()
    axis = work.random.randrange(x.rank)
    twice = [n * 2 if k == axis else n for k, n in enumerate(x.dimensions)]
    both = work.body.add("concatenate", [x, x], work.type, twice, x.bound, f"dimensions={{{axis}}}")
    work.part(both, x.dimensions)


def gather(work: Parts) -> None:
    """Add a gather of rows along one axis."""
    x = work.any()
    axis, count = work.random.randrange(x.rank), work.random.choice(SIZES)
    places = work.place(work.random.choice(INDEX_TYPES), x.dimensions[axis], [count, 1])
    rest = [n for k, n in enumerate(x.dimensions) if k != axis]
    offsets = [k + (k >= axis) for k in range(len(rest))]
    slices = braces([1 if k == axis else n for k, n in enumerate(x.dimensions)])
    attributes = (
        f"offset_dims={braces(offsets)}, collapsed_slice_dims={{{axis}}}, start_index_map={{{axis}}}, "
        f"index_vector_dim=1, slice_sizes={slices}"
    )
    work.put("gather", [x, places], [*rest[:axis], count, *rest[axis:]], attributes)


def scatter(work: Parts) -> None:
    """Add a scatter of rows along the first axis, by a sum or an extreme."""
    x = work.any()
    rows = work.any(lambda value: value.dimensions[1:] == x.dimensions[1:] and value.rank == x.rank)
    places = work.place(work.random.choice(INDEX_TYPES), x.dimensions[0], [rows.dimensions[0], 1])
    combiner = work.program.combiner(work.random.choice(["add", "maximum", "minimum"]), work.type)
    attributes = (
        f"update_window_dims={braces(range(1, x.rank))}, inserted_window_dims={{0}}, "
        f"scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={combiner}"
    )
    if rows.dimensions[1:] == x.dimensions[1:]:
        value = work.body.add("scatter", [x, places, rows], work.type, x.dimensions, x.bound * 10, attributes)
        work.values.append(value)


def combine(work: Parts) -> None:
    """Add an operation on two arrays of one shape, or on one and itself."""
    x = work.any(lambda value: value.bound < 100)
    y = work.any(lambda value: value.dimensions == x.dimensions)
    if y.dimensions == x.dimensions and x.bound + y.bound < 100:
        opcode = work.random.choice(["add", "maximum", "minimum"])
        work.values.append(work.body.add(opcode, [x, y], work.type, x.dimensions, x.bound + y.bound))


def reduce(work: Parts) -> None:
    x = work.any()
    axis = work.random.randrange(x.rank)
    zero = work.body.constant(work.type, "0", 0)
    attributes = f"dimensions={{{axis}}}, to_apply={work.program.combiner('add', work.type)}"
    rest = [n for k, n in enumerate(x.dimensions) if k != axis]
    if x.bound * math.prod(x.dimensions) < 10_000:
        value = work.body.add("reduce", [x, zero], work.type, rest, x.bound * x.dimensions[axis], attributes)
        work.values.append(value)


STEPS: dict[Callable[[Parts], None], int] = {read: 5, write: 4, roll: 2, gather: 2, scatter: 2, combine: 2, reduce: 1}
