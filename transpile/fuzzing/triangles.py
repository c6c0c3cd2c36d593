"""Loops between the counters of outer loops, with arrays updated in place and masks of positions.

Scientists write factorisations, sweeps and dynamic programs in this way. Bounds may be out of range, intervals may be
empty, old values may be read after a change, and elements that a mask excludes may be NaN.
"""

from __future__ import annotations

from random import Random

from ..dataclass import dataclass
from .loops import fitted, pack, tree_shape, unpack
from .program import Body, ProgramBuilder, RandomProgram, Value, braces

TYPES = ["f32", "f32", "f32", "f64", "s32"]
DIRECTIONS = ["LT", "LT", "LE", "GT", "GE", "GE", "EQ", "NE"]
NEUTRAL = {"add": "0", "maximum": "-8", "minimum": "8", "multiply": "1"}


def triangles(name: str, random: Random) -> RandomProgram:
    """Return a program of one or two loop nests over a matrix, a vector and a number."""
    program = ProgramBuilder(name, random)
    kind, n = random.choice(TYPES), random.choice([2, 4, 5, 6, 8])
    arrays = [program.array_input(kind, dimensions, 3) for dimensions in ((n, n), (n,), ())]
    only_read = [program.array_input(kind, dimensions, 3) for dimensions in ((n, n), (n,))]
    has_nan = kind != "s32" and random.random() < 0.4
    if has_nan:
        for number in range(random.randint(3, 4), 5):
            program.inputs[number][random.randrange(n)] = float("nan")
    for _ in range(random.randint(1, 2)):
        arrays = add_nest(Round(program.entry, n, kind, has_nan, [], arrays, only_read), random.choice([1, 2, 2, 3]))
    return program.build(arrays, is_fixed=True)


@dataclass(frozen=True)
class Round:
    """The body of a loop under construction: its counters, the arrays that it changes (newest last) and those that it
    only reads.
    """

    body: Body
    n: int
    kind: str
    has_nan: bool
    counters: list[Value]
    changed: list[Value]
    only_read: list[Value]

    @property
    def random(self) -> Random:
        return self.body.random

    def at_hand(self, rank: int) -> list[Value]:
        """Return the arrays of a rank; the newest states of changed arrays are twice as likely."""
        newest = self.changed[-3:]
        return [value for value in self.changed + newest + self.only_read if value.rank == rank]

    def place(self) -> Value:
        """Return a counter, or one near to it or mirrored, which may be out of range."""
        if not self.counters:
            return self.number(self.random.randrange(self.n))
        counter, kind = self.random.choice(self.counters), self.random.random()
        if kind < 0.5:
            return counter
        if kind < 0.7:
            return self.of_two("subtract", self.number(self.n - 1), counter)
        if kind < 0.8 and len(self.counters) > 1:
            return self.of_two(self.random.choice(["add", "subtract"]), *self.random.sample(self.counters, 2))
        return self.of_two("add", counter, self.number(self.random.choice([-1, -1, 1, 1, -2, 2])))

    def number(self, number: int) -> Value:
        return self.body.constant("s32", str(number), abs(number))

    def of_two(self, opcode: str, a: Value, b: Value) -> Value:
        return self.body.add(opcode, [a, b], "s32", (), 64)


def add_nest(outer: Round, depth: int) -> list[Value]:
    """Add a loop with nested loops, and return its arrays after the loop."""
    start, limit = bounds(outer)
    carried = [start, limit, *outer.counters, *outer.changed[-3:], *outer.only_read]
    program, tree, count = outer.body.program, list(range(len(carried))), len(outer.counters)
    shapes = [value.shape for value in carried]
    shape = tree_shape(tree, shapes)
    condition = program.body(program.unique("condition"))
    counter, end = unpack(condition, condition.parameter(shape), tree, carried)[:2]
    condition.add("compare", [counter, end], "pred", (), 1, "direction=LT")
    condition.result_shape_and_root([condition.values[-1]], ["pred[]"], as_tuple=False)
    names = f"condition={program.finish(condition)}"
    body = program.body(program.unique("body"))
    own = unpack(body, body.parameter(shape), tree, carried)
    split = 2 + count
    inner = Round(
        body, outer.n, outer.kind, outer.has_nan, [own[0], *own[2:split]], own[split : split + 3], own[split + 3 :]
    )
    for _ in range(outer.random.randint(0 if depth > 1 else 1, 2)):
        change(inner)
    if depth > 1:
        inner.changed.extend(add_nest(inner, depth - 1))
        if outer.random.random() < 0.5:
            change(inner)
    following = inner.of_two("add", own[0], inner.number(1))
    pack(body, tree, [following, *own[1:split], *inner.changed[-3:], *inner.only_read], shapes, as_root=True)
    names += f", body={program.finish(body)}"
    result = outer.body.instruction(shape, "while", [pack(outer.body, tree, carried, shapes)], names)
    return unpack(outer.body, result, tree, carried)[split : split + 3]


def bounds(outer: Round) -> tuple[Value, Value]:
    """Return the start and limit of a loop: often at a counter, sometimes out of range."""
    random, whole = outer.random, (outer.number(0), outer.number(outer.n))
    if not outer.counters:
        first = random.choice([0, 0, 1])
        return outer.number(first), outer.number(outer.n - random.choice([0, 0, 0, 1, first]))
    place = outer.place()
    beyond = outer.of_two("add", place, outer.number(random.choice([1, 1, 2, 3])))
    return random.choice([whole, (whole[0], place), (place, whole[1]), (beyond, whole[1]), (place, beyond)])


def change(round: Round) -> None:
    """Change the matrix, the vector or the number."""
    matrix, vector, number = round.changed[-3:]
    kind = round.random.random()
    if kind < 0.4:
        matrix = put(round, matrix, number_of(round, 2), [round.place(), round.place()], (1, 1))
    elif kind < 0.6:
        turn = round.random.choice([1, -1])  # for a row or a column
        places, shape = [round.place(), round.number(0)][::turn], (1, round.n)[::turn]
        matrix = put(round, matrix, line_of(round, 2), places, shape)
    elif kind < 0.75:
        vector = put(round, vector, number_of(round, 2), [round.place()], (1,))
    elif kind < 0.9:
        chosen = [mask(round), line_of(round, 2), vector]
        vector = round.body.add("select", chosen, round.kind, (round.n,), 8)
    else:
        number = fitted(round.body, number_of(round, 3))
    round.changed.extend([matrix, vector, number])


def put(round: Round, array: Value, part: Value, places: list[Value], shape: tuple[int, ...]) -> Value:
    """Return the array with a number, a row or a column written at positions."""
    part = round.body.add("reshape", [fitted(round.body, part)], round.kind, shape, 8)
    return round.body.add("dynamic-update-slice", [array, part, *places], round.kind, array.dimensions, 8)


def number_of(round: Round, depth: int) -> Value:
    """Return a number: an element of an array, a reduced line, or a combination of two numbers."""
    random, body = round.random, round.body
    kind = random.random() if depth else random.random() * 0.45
    if kind < 0.4:
        array = random.choice(round.at_hand(random.choice([1, 2, 2])))
        places, ones = [round.place() for _ in range(array.rank)], (1,) * array.rank
        part = body.add("dynamic-slice", [array, *places], round.kind, ones, 8, f"dynamic_slice_sizes={braces(ones)}")
        return body.add("reshape", [part], round.kind, (), 8)
    if kind < 0.45:
        return random.choice(round.at_hand(0))
    if kind < 0.75:
        return reduced(round, depth)
    opcode = random.choice(["add", "subtract", "multiply", "maximum", "minimum"])
    return fitted(
        body, body.add(opcode, [number_of(round, depth - 1), number_of(round, depth - 1)], round.kind, (), 128)
    )


def reduced(round: Round, depth: int) -> Value:
    """Return a line, perhaps with a mask, reduced to a number."""
    random, body = round.random, round.body
    opcode = random.choice(["add", "add", *NEUTRAL])
    neutral = body.constant(round.kind, NEUTRAL[opcode], 8)
    line = line_of(round, depth - 1)
    if opcode == "multiply":
        line = small(round, line)
    if random.random() < 0.7:
        other = neutral if random.random() < 0.8 else body.constant(round.kind, "2", 2)
        others = body.add("broadcast", [other], round.kind, (round.n,), 8, "dimensions={}")
        line = body.add("select", [mask(round), line, others], round.kind, (round.n,), 8)
    elif opcode == "add" and not round.has_nan:  # XLA treats the product with a mask as a selection
        flags = body.add("convert", [mask(round)], round.kind, (round.n,), 1)
        line = body.add("multiply", [line, flags], round.kind, (round.n,), 8)
    name = body.program.combiner(opcode, round.kind)
    return fitted(body, body.add("reduce", [line, neutral], round.kind, (), 1024, f"dimensions={{0}}, to_apply={name}"))


def small(round: Round, line: Value) -> Value:
    """Return a line clamped to -2 and 2, whose product is exact."""
    low, high = (round.body.constant(round.kind, number, 2) for number in ("-2", "2"))
    return round.body.add("clamp", [low, line, high], round.kind, (round.n,), 2)


def line_of(round: Round, depth: int) -> Value:
    """Return a row, a column, a vector, or a combination of two lines."""
    random, body, n = round.random, round.body, round.n
    kind = random.random() if depth > 0 else random.random() * 0.6
    if kind < 0.45:
        matrix, turn = random.choice(round.at_hand(2)), random.choice([1, -1])
        places, sizes = [round.place(), round.number(0)][::turn], (1, n)[::turn]
        attributes = f"dynamic_slice_sizes={braces(sizes)}"
        part = body.add("dynamic-slice", [matrix, *places], round.kind, sizes, 8, attributes)
        return body.add("reshape", [part], round.kind, (n,), 8)
    if kind < 0.6:
        return random.choice(round.at_hand(1))
    if kind < 0.75:
        number = number_of(round, depth - 1)
        return body.add("broadcast", [number], round.kind, (n,), 8, "dimensions={}")
    opcode = random.choice(["add", "subtract", "multiply", "maximum"])
    return fitted(body, body.add(opcode, [line_of(round, depth - 1), line_of(round, depth - 1)], round.kind, (n,), 128))


def mask(round: Round, depth: int = 1) -> Value:
    """Return the mask of positions below, above or at a place, or a combination of two masks."""
    random, body, n = round.random, round.body, round.n
    if depth and random.random() < 0.35:
        opcode = random.choice(["and", "and", "or"])
        return body.add(opcode, [mask(round, 0), mask(round, 0)], "pred", (n,), 1)
    positions = body.add("iota", [], "s32", (n,), n, "iota_dimension=0")
    place = body.add("broadcast", [round.place()], "s32", (n,), 64, "dimensions={}")
    pair = [positions, place][:: random.choice([1, 1, -1])]
    return body.add("compare", pair, "pred", (n,), 1, f"direction={random.choice(DIRECTIONS)}")
