"""While loops whose carries are permuted, duplicated, dead and nested in tuples, with zero, one or several trips."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from ..dataclass import dataclass
from . import shape_chains
from .program import EXACT, Body, ProgramBuilder, RandomProgram, Value, braces, largest

TYPES = ["f32", "f32", "s32", "s32", "u8", "pred", "f64", "bf16"]
CARRIED_BOUND = 8.0  # floats in a carry stay below this, so that any number of trips is exact
MOST_TRIPS = 5
STEPS = ["unary", "binary", "binary", "compare", "select", "transpose", "reverse", "reduce", "broadcast"]


def loop(name: str, random: Random) -> RandomProgram:
    """Return a program of one to three loops on two or three parameters."""
    program = ProgramBuilder(name, random)
    body = program.entry
    length = random.choice([1, 2, 3, 4])
    for _ in range(random.randint(1, 3)):
        dimensions = (length, *shape_chains.random_dimensions(random, 2)) if random.random() < 0.6 else ()
        program.array_input(random.choice(TYPES), dimensions)
    if random.random() < 0.4:
        program.array_input("s32", (), 3)
    for _ in range(random.randint(1, 3)):
        add_while(body, depth=random.choice([1, 1, 2]))
        if random.random() < 0.5:
            add_step(body)
    sinks = [value for value in body.values if value.name not in body.used]
    results = sinks[-8:] or [body.values[-1]]
    return program.build(results)


@dataclass(frozen=True)
class Counter:
    """The counter of a loop: it starts at ``start``, changes by ``step`` and stops after ``trips`` trips."""

    type: str
    start: int
    step: int
    trips: int

    @property
    def limit(self) -> int:
        return self.start + self.step * self.trips


def random_counter(random: Random) -> Counter:
    trips = random.choice([0, 1, 1, 2, 3, 4, MOST_TRIPS])
    step = random.choice([1, 1, 1, 1, 2, -1])
    start = random.choice([0, 0, 0, 1, 3]) if step > 0 else trips + random.choice([0, 2])
    return Counter(random.choice(["s32", "s32", "s32", "s64", "u32"]), start, step, trips)


def add_while(body: Body, depth: int) -> None:
    """Add a loop over some of the body's values; its results become values."""
    random = body.random
    counter = random_counter(random)
    start = body.constant(counter.type, str(counter.start), 16)
    usable = [value for value in body.values if value.type in TYPES or value.type == "s32"]
    carried = [fitted(body, value) for value in random.choices(usable, k=random.randint(0, 4))]
    numbers = [value for value in carried if not value.dimensions]
    if numbers and random.random() < 0.4:  # broadcast them to arrays of one shape
        dimensions = shape_chains.random_dimensions(random, 2)
        carried += [
            body.add("broadcast", [value], value.type, dimensions, value.bound, "dimensions={}") for value in numbers
        ]
    if random.random() < 0.6:
        stacked_type = random.choice(TYPES)
        dimensions = (max(1, abs(counter.limit) + 2), *shape_chains.random_dimensions(random, 1))
        carried.append(fitted(body, body.splat(stacked_type, dimensions)))
    place = random.randint(0, len(carried))
    initial = [*carried[:place], start, *carried[place:]]
    is_bare = len(initial) == 1 and random.random() < 0.5
    tree: Any = 0 if is_bare else random_tree(random, len(initial))
    shape = tree_shape(tree, [value.shape for value in initial])
    condition = loop_condition(body, shape, tree, initial, place, counter)
    step = loop_body(body, shape, tree, initial, place, counter, depth)
    operand = pack(body, tree, initial, [value.shape for value in initial])
    result = body.instruction(shape, "while", [operand], f"condition={condition}, body={step}")
    for value in unpack(body, result, tree, initial):
        if random.random() < 0.85:  # the others are dead results
            body.values.append(value)


def fitted(body: Body, value: Value) -> Value:
    """Return the value, clamped to the bound of carries."""
    if value.type not in EXACT or value.bound <= CARRIED_BOUND:
        return value
    low, high = body.constant(value.type, "-8", 8), body.constant(value.type, "8", 8)
    return body.add("clamp", [low, value, high], value.type, value.dimensions, CARRIED_BOUND)


def loop_condition(caller: Body, shape: str, tree: Any, initial: Sequence[Value], place: int, counter: Counter) -> str:
    """Return the name of a condition that holds for at most the counter's trips."""
    body = caller.program.body(caller.program.unique("condition"))
    values = unpack(body, body.parameter(shape), tree, initial)
    limit = body.constant(counter.type, str(counter.limit), 16)
    directions = ["NE", "LT", "LT", "LT"] if counter.step > 0 else ["NE", "GT"]
    if counter.step < 0 and counter.type == "u32":
        directions = ["NE"]  # XLA miscounts the trips of a loop that runs an unsigned counter down to GT
    operands = [values[place], limit]
    direction = body.random.choice(directions)
    if direction in ("LT", "GT") and body.random.random() < 0.3:
        operands.reverse()
        direction = {"LT": "GT", "GT": "LT"}[direction]
    root = body.add("compare", operands, "pred", (), 1, f"direction={direction}")
    flags = [value for value in values if value.type == "pred" and not value.dimensions]
    if flags and body.random.random() < 0.5:
        root = body.add("and", [root, body.random.choice(flags)], "pred", (), 1)
    body.result_shape_and_root([root], ["pred[]"], as_tuple=False)
    return body.program.finish(body)


def loop_body(
    caller: Body, shape: str, tree: Any, initial: Sequence[Value], place: int, counter: Counter, depth: int
) -> str:
    body = caller.program.body(caller.program.unique("body"))
    random = body.random
    carries = unpack(body, body.parameter(shape), tree, initial)
    body.values.extend(value for index, value in enumerate(carries) if index != place)
    number = carries[place]
    if body.values:
        for _ in range(random.randint(0, 3)):
            add_slice_at(body, number) if random.random() < 0.5 else add_step(body)
        if depth > 1 and random.random() < 0.7:
            add_while(body, depth - 1)
        elif random.random() < 0.2:
            add_conditional(body)
    following: list[Value] = []
    for index, carry in enumerate(carries):
        if index == place:
            one = body.constant(counter.type, str(abs(counter.step)), 2)
            opcode = "add" if counter.step > 0 else "subtract"
            following.append(body.add(opcode, [number, one], counter.type, (), 16))
        else:
            following.append(next_value(body, carry, carries, number))
    pack(body, tree, following, [value.shape for value in initial], as_root=True)
    return body.program.finish(body)


def next_value(body: Body, carry: Value, carries: Sequence[Value], number: Value | None) -> Value:
    """Return the next value of a carry: itself, another one, a computed value, or itself with row ``number``
    replaced.
    """
    random = body.random
    alike = [value for value in body.values if (value.type, value.dimensions) == (carry.type, carry.dimensions)]
    kind = random.random()
    if kind < 0.15:
        return carry
    if kind < 0.45:
        others = [value for value in carries if (value.type, value.dimensions) == (carry.type, carry.dimensions)]
        return random.choice(others)
    if kind < 0.7 and carry.dimensions and all(carry.dimensions):
        row_shape = (1, *carry.dimensions[1:])
        rows = [v for v in body.values if v.type == carry.type and v.dimensions in (row_shape, row_shape[1:])]
        row = fitted(body, random.choice(rows) if rows else body.splat(carry.type, row_shape))
        if row.dimensions != row_shape:
            row = body.add("reshape", [row], row.type, row_shape, row.bound)
        place = number or zero(body, "s32")
        starts = [place, *(zero(body, place.type) for _ in carry.dimensions[1:])]
        bound = max(row.bound, carry.bound)
        return body.add("dynamic-update-slice", [carry, row, *starts], carry.type, carry.dimensions, bound)
    left = random.choice(alike or [carry])
    right = random.choice(alike) if alike and random.random() < 0.6 else body.splat(carry.type, carry.dimensions)
    opcode = random.choice([name for name in shape_chains.binary_opcodes(carry.type) if name != "multiply"])
    bound = shape_chains.BOUNDS[opcode](left.bound, right.bound)
    if carry.type.startswith("u"):
        bound = largest(carry.type)
    return fitted(body, body.add(opcode, [left, right], carry.type, carry.dimensions, bound))


def zero(body: Body, element_type: str) -> Value:
    return body.constant(element_type, "0", 0)


def add_step(body: Body) -> None:
    """Add one element-wise or shape operation on the body's values."""
    shape_chains.STEPS[body.random.choice(STEPS)][0](body)


def add_slice_at(body: Body, number: Value) -> None:
    """Add a read of one row of a value at the loop's counter: ``x[t]``."""
    value = body.pick(lambda v: v.rank > 0 and v.dimensions[0] > 0)
    if value is None:
        return
    starts = [number, *(zero(body, number.type) for _ in value.dimensions[1:])]
    sizes = (1, *value.dimensions[1:])
    attributes = f"dynamic_slice_sizes={braces(sizes)}"
    row = body.add("dynamic-slice", [value, *starts], value.type, sizes, value.bound, attributes)
    if body.random.random() < 0.7:
        body.add("reshape", [row], value.type, sizes[1:], value.bound)


def add_conditional(body: Body) -> None:
    """Add a conditional of two branches on one or two of the body's values."""
    flag = body.pick(lambda v: v.type == "pred" and not v.dimensions)
    values = body.random.choices(body.values, k=body.random.randint(1, 2))
    if flag is None:
        flag = body.small_constant("pred")
    shapes = [value.shape for value in values]
    tree = list(range(len(values)))
    shape = tree_shape(tree, shapes)
    branches = []
    for _ in range(2):
        branch = body.program.body(body.program.unique("branch"))
        carries = unpack(branch, branch.parameter(shape), tree, values)
        branch.values.extend(carries)
        results = [next_value(branch, carry, carries, None) for carry in carries]
        pack(branch, tree, results, shapes, as_root=True)
        branches.append(branch.program.finish(branch))
    operand = pack(body, tree, values, shapes)
    attributes = f"true_computation={branches[0]}, false_computation={branches[1]}"
    result = body.instruction(shape, "conditional", [flag, operand, operand], attributes)
    body.values.extend(unpack(body, result, tree, values))


# -- nested tuples: a tree is the index of a value, or a list of trees


def random_tree(random: Random, count: int) -> Any:
    """Return a list of the indices 0 to ``count`` - 1 in order, some of them grouped into lists."""
    tree: list[Any] = list(range(count))
    while len(tree) > 1 and random.random() < 0.25:
        start = random.randrange(len(tree) - 1)
        end = random.randint(start + 1, len(tree))
        tree[start:end] = [tree[start:end]]
    return tree


def tree_shape(tree: Any, shapes: Sequence[str]) -> str:
    return shapes[tree] if isinstance(tree, int) else f"({', '.join(tree_shape(part, shapes) for part in tree)})"


def pack(body: Body, tree: Any, values: Sequence[Value], shapes: Sequence[str], as_root: bool = False) -> str:
    """Add the tuples of a tree and return the name of the outermost one."""
    if isinstance(tree, int):
        if as_root:
            body.result_shape_and_root([values[tree]], [shapes[tree]], as_tuple=False)
        return values[tree].name
    parts = [pack(body, part, values, shapes) for part in tree]
    if as_root:
        body.result_shape_and_root(parts, [tree_shape(part, shapes) for part in tree], as_tuple=True)
        return body.name
    return body.instruction(tree_shape(tree, shapes), "tuple", parts)


def unpack(body: Body, name: str, tree: Any, like: Sequence[Value]) -> list[Value]:
    """Return every value of a tree from the tuple ``name``, in the order of their indices."""
    shapes = [value.shape for value in like]
    found: dict[int, Value] = {}
    stack = [(name, tree)]
    while stack:
        part, subtree = stack.pop()
        if isinstance(subtree, int):
            model = like[subtree]
            bound = CARRIED_BOUND if model.type in EXACT else largest(model.type)
            found[subtree] = Value(part, model.type, model.dimensions, bound)
            continue
        for index, child in enumerate(subtree):
            shape = tree_shape(child, shapes)
            stack.append((body.instruction(shape, "get-tuple-element", [part], f"index={index}"), child))
    body.used.difference_update(value.name for value in found.values())
    return [found[index] for index in range(len(like))]
