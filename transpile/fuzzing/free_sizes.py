"""Random programs with free sizes: the same program at any sizes, drawn by seed.

Each dimension of a value is an expression of the names, as text: draws depend on these, never on numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import field
from random import Random
from typing import TypeVar

from ..dataclass import dataclass
from ..frontends.witnesses import Assignment
from ..hlo.builder import XlaBuilder
from ..hlo.builder.op import XlaOp
from ..hlo.ir import HloModule

Chosen = TypeVar("Chosen")
NAMES = ("N", "M", "K")
_MOST_STEPS = 8
_BEYOND = 20  # a position that only long axes have
_UNARY = ("tanh", "neg", "abs", "sin", "floor", "sign", "logistic")
_BINARY = ("add", "sub", "mul", "max", "min")


@dataclass(frozen=True, slots=True)
class Value:
    """An array of a program, with its dimensions as expressions: names, numbers, ``N - 1``."""

    op: XlaOp
    dimensions: tuple[str, ...]


class NotPossible(Exception):
    """There is no value for a step."""


@dataclass(slots=True)
class Drawing:
    """A program that is drawn at some sizes; ``values`` are the arrays so far, ``size`` has the number of each
    expression.
    """

    random: Random
    builder: XlaBuilder
    size: dict[str, int]
    values: list[Value] = field(default_factory=list)

    def value(self, *, least_rank: int = 0) -> Value:
        """Return one of the last values. Raises ``NotPossible`` if none has so many dimensions."""
        return self._chosen([value for value in self.values if len(value.dimensions) >= least_rank][-4:])

    def _chosen(self, possible: list[Chosen]) -> Chosen:
        if not possible:
            raise NotPossible
        return self.random.choice(possible)

    def derived(self, expression: str, number: int) -> str:
        """Record an expression as a new dimension, with its number at these sizes, and return it."""
        self.size[expression] = number
        return expression

    def named_axis(self) -> tuple[Value, int]:
        """Return a value and one of its axes whose size is a name. Raises ``NotPossible`` if there is none."""
        value = self.value(least_rank=1)
        return value, self._chosen([axis for axis, size in enumerate(value.dimensions) if size.isidentifier()])


Step = Callable[[Drawing], Value]


def names_of(seed: int) -> tuple[str, ...]:
    """Return the names of the free sizes in the program of a seed: one to three."""
    return NAMES[: Random(seed).randint(1, len(NAMES))]


def program_at(seed: int, sizes: Assignment) -> HloModule:
    """Return the program of a seed at some sizes. Raises ``XlaToPythonError`` for sizes that are too small."""
    random, names = Random(seed), names_of(seed)
    random.random()
    drawing = Drawing(random, XlaBuilder(f"any_size_{seed}"), {**sizes, **{str(k): k for k in range(9)}})
    used = list(names)
    for number in range(random.randint(1, 3)):
        dimensions = tuple(random.choice([*names, "3"]) for _ in range(random.randint(1, 3)))
        used = [name for name in used if name not in dimensions]
        _parameter(drawing, number, dimensions)
    if used:  # every name is the size of an argument
        _parameter(drawing, len(drawing.values), tuple(used))
    for _ in range(random.randint(2, _MOST_STEPS)):
        with suppress(NotPossible):
            drawing.values.append(random.choice(STEPS)(drawing))
    return drawing.builder.build(drawing.values[-1].op)


def _parameter(drawing: Drawing, number: int, dimensions: tuple[str, ...]) -> None:
    shape = f"f32[{','.join(str(drawing.size[each]) for each in dimensions)}]"
    drawing.values.append(Value(drawing.builder.parameter(number, shape, f"x{number}"), dimensions))


# -- steps


def _unary(drawing: Drawing) -> Value:
    value, name = drawing.value(), drawing.random.choice(_UNARY)
    return Value(getattr(drawing.builder, name)(value.op), value.dimensions)


def _binary(drawing: Drawing) -> Value:
    """Add a binary operation on two values, one of them broadcast along axes that it lacks."""
    value, name = drawing.value(), drawing.random.choice(_BINARY)
    for other in drawing.values:
        axes = list(_places(other.dimensions, value.dimensions))
        if other is not value and len(axes) == len(other.dimensions):
            stretched = drawing.builder.broadcast_in_dim(other.op, _sizes(drawing, value.dimensions), axes)
            return Value(getattr(drawing.builder, name)(value.op, stretched), value.dimensions)
    raise NotPossible


def _places(dimensions: tuple[str, ...], within: tuple[str, ...]) -> Iterator[int]:
    """Yield the positions of some dimensions among others, in order; fewer if not all are there."""
    place = 0
    for dimension in dimensions:
        if dimension not in within[place:]:
            return
        place = within.index(dimension, place) + 1
        yield place - 1


def _sizes(drawing: Drawing, dimensions: tuple[str, ...]) -> list[int]:
    return [drawing.size[dimension] for dimension in dimensions]


def _scaled(drawing: Drawing) -> Value:
    """Add a value multiplied by a number that follows from a size."""
    value = drawing.value(least_rank=1)
    number = max(drawing.size[drawing.random.choice(value.dimensions)], 1)  # a size of 0 has no elements to scale
    factor = drawing.random.choice((float(number), 1 / number, number**-0.5, 2.5))
    return Value(drawing.builder.mul(value.op, drawing.builder.constant(factor)), value.dimensions)


def _transposed(drawing: Drawing) -> Value:
    value = drawing.value(least_rank=2)
    order = drawing.random.sample(range(len(value.dimensions)), len(value.dimensions))
    return Value(drawing.builder.transpose(value.op, order), tuple(value.dimensions[k] for k in order))


def _reversed(drawing: Drawing) -> Value:
    value = drawing.value(least_rank=1)
    return Value(drawing.builder.rev(value.op, [drawing.random.randrange(len(value.dimensions))]), value.dimensions)


def _sliced(drawing: Drawing) -> Value:
    value, axis = drawing.named_axis()
    name = value.dimensions[axis]
    n = drawing.size[name]
    forms = {
        f"{name} - 1": (1, n, 1),
        f"{name} - 2": (0, n - 2, 1),
        f"{name} // 2": (0, n // 2, 1),
        f"{name} - {name} // 2": (n // 2, n, 1),
        f"({name} + 1) // 2": (0, n, 2),
        "2": (0, 2, 1),
    }
    expression = drawing.random.choice(list(forms))
    start, limit, stride = forms[expression]
    drawing.derived(expression, len(range(start, limit, stride)))
    return _changed(value, axis, expression, drawing.builder.slice_in_dim(value.op, start, limit, stride, axis))


def _changed(value: Value, axis: int, expression: str, op: XlaOp) -> Value:
    return Value(op, (*value.dimensions[:axis], expression, *value.dimensions[axis + 1 :]))


def _padded(drawing: Drawing) -> Value:
    value, axis = drawing.named_axis()
    low, high = drawing.random.choice(((1, 0), (0, 2), (1, 1)))
    name = value.dimensions[axis]
    expression = drawing.derived(f"{name} + {low + high}", drawing.size[name] + low + high)
    return _changed(
        value, axis, expression, drawing.builder.pad_in_dim(value.op, drawing.builder.constant(0.0), axis, low, high)
    )


def _concatenated(drawing: Drawing) -> Value:
    value, axis = drawing.named_axis()
    name = value.dimensions[axis]
    expression = drawing.derived(f"2 * {name}", 2 * drawing.size[name])
    other = drawing.builder.neg(value.op)
    return _changed(value, axis, expression, drawing.builder.concat_in_dim([value.op, other], axis))


def _merged(drawing: Drawing) -> Value:
    """Add a reshape that merges two axes whose sizes are names or numbers."""
    value = drawing.value(least_rank=2)
    axis = drawing.random.randrange(len(value.dimensions) - 1)
    one, other = value.dimensions[axis : axis + 2]
    if not (one.isalnum() and other.isalnum()):
        raise NotPossible
    expression = drawing.derived(f"{one} * {other}", drawing.size[one] * drawing.size[other])
    dimensions = (*value.dimensions[:axis], expression, *value.dimensions[axis + 2 :])
    return Value(drawing.builder.reshape(value.op, _sizes(drawing, dimensions)), dimensions)


def _reducer(name: str) -> XlaBuilder:
    """Return the computation of a binary operation on scalars."""
    builder = XlaBuilder(name)
    getattr(builder, name)(builder.parameter(0, "f32[]"), builder.parameter(1, "f32[]"))
    return builder


def _reduced(drawing: Drawing) -> Value:
    value = drawing.value(least_rank=1)
    axis = drawing.random.randrange(len(value.dimensions))
    b, kind = drawing.builder, drawing.random.choice(("sum", "max", "mean"))
    start = b.constant(float("-inf") if kind == "max" else 0.0)
    total = b.reduce(value.op, start, _reducer("max" if kind == "max" else "add"), [axis])
    if kind == "mean":
        total = b.div(total, b.constant(float(drawing.size[value.dimensions[axis]])))
    return Value(total, (*value.dimensions[:axis], *value.dimensions[axis + 1 :]))


def _counted(drawing: Drawing) -> Value:
    """Add an operation on a value and the positions along one of its axes."""
    value = drawing.value(least_rank=1)
    axis = drawing.random.randrange(len(value.dimensions))
    b, n = drawing.builder, drawing.size[value.dimensions[axis]]
    sizes = _sizes(drawing, value.dimensions)
    positions = b.broadcast_in_dim(b.iota("s32", n), sizes, [axis])
    if drawing.random.random() < 0.5:
        return Value(b.add(value.op, b.convert_element_type(positions, "f32")), value.dimensions)
    chosen = b.lt(positions, b.constant(drawing.random.choice((n // 2, n - 1, 2, _BEYOND))))
    return Value(b.select(chosen, value.op, b.neg(value.op)), value.dimensions)


def _multiplied(drawing: Drawing) -> Value:
    """Add the product of two matrices or vectors with a common size."""
    value = drawing.value(least_rank=1)
    for other in drawing.values:
        are_matrices = max(len(value.dimensions), len(other.dimensions)) <= 2
        if are_matrices and value.dimensions[-1:] == other.dimensions[:1]:
            dimensions = (*value.dimensions[:-1], *other.dimensions[1:])
            return Value(drawing.builder.dot(value.op, other.op), dimensions)
    raise NotPossible


def _summed_up(drawing: Drawing) -> Value:
    """Add the running sum along an axis."""
    value = drawing.value(least_rank=1)
    axis, b = drawing.random.randrange(len(value.dimensions)), drawing.builder
    windows, padding = [1] * len(value.dimensions), [(0, 0)] * len(value.dimensions)
    windows[axis] = drawing.size[value.dimensions[axis]]
    padding[axis] = (windows[axis] - 1, 0)
    op = b.reduce_window(value.op, b.constant(0.0), _reducer("add"), windows, None, padding)
    return Value(op, value.dimensions)


STEPS: tuple[Step, ...] = (
    _unary,
    _binary,
    _binary,
    _scaled,
    _transposed,
    _reversed,
    _sliced,
    _sliced,
    _padded,
    _concatenated,
    _merged,
    _reduced,
    _counted,
    _multiplied,
    _summed_up,
)
