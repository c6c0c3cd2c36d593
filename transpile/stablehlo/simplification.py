"""What every reader of a program would do at once: nothing that changes a value.

XLA does the same on its way from StableHLO to HLO: constants stand on the right, what a loop never changes is not
carried, an operation that gives its operand is none, arithmetic on constants is done. A rule is a function of one
operation; it gives the values that take the place of its results, changes the operation, or does neither.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from ..hlo.shapes import ArrayShape
from ..hlo.source import SourceText
from .attributes import integers
from .custom_calls import written
from .expansions import NAMES
from .folding import FOLDED, folded
from .forms import takes
from .program import Operation, Program, Region, Type, Value, walk
from .rows import ROWS, AttributeValueError
from .sizes import BRANCHES, Refiner, holds, is_assertion
from .static_forms import STATIC_FORMS

_MOST_FOLDED = 65536  # elements

_COMMUTATIVE = frozenset(f"stablehlo.{name}" for name in ("add", "and", "maximum", "minimum", "multiply", "or", "xor"))
_MIRRORED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "EQ": "EQ", "NE": "NE"}
_WITH_DECOMPOSITION = frozenset(f"chlo.{name}" for name in (*NAMES, "erf", "tan", "top_k"))
_OF_CHLO = re.compile(r"\{(?:k = (\d{1,9}) : i64)?\}", re.ASCII)
_EFFECTS = frozenset(f"stablehlo.{name}" for name in "custom_call infeed outfeed send recv return rng".split())

Replacement = Sequence[Value] | None  # of the results; None where the operation stays


def simplified(program: Program, source: SourceText) -> None:
    """Simplify all functions of a program."""
    for function in program.operations:
        if function.name == "func.func" and function.regions:
            _Simplifier(function.regions[0], source).run()


def at_sizes(program: Program, main: Operation, source: SourceText) -> None:
    """Simplify a program whose arguments have sizes, with all sizes that follow from these.

    Raises ``UsageError`` (XP425) where one does not, and where an assertion of sizes does not hold.
    """

    def simplify(function: Operation, refiner: Refiner) -> dict[Value, Any]:
        simplifier = _Simplifier(function.regions[0], source, refiner)
        simplifier.run()
        return simplifier.constants

    Refiner(program, source, simplify).run(main)


class _Simplifier:
    """Simplifies one function."""

    def __init__(self, region: Region, source: SourceText, refiner: Refiner | None = None) -> None:
        self.region = region
        self.source = source
        self.refiner = refiner
        self.made: dict[Value, Operation] = {}
        self.constants: dict[Value, Any] = {}
        self.folded: dict[tuple[int, ...], tuple[Any, Any]] = {}  # beside each array what its key names, which stays
        self.replaced: dict[Value, Value] = {}

    @cached_property
    def uses(self) -> Counter[Value]:
        """How often each value is an operand."""
        return Counter(chain.from_iterable(operation.operands for operation in walk(self.region.operations)))

    def run(self) -> None:
        self.in_region(self.region)
        if self.replaced:
            for operation in walk(self.region.operations):
                operation.operands = [self.final(value) for value in operation.operands]
        _remove_unused(self.region, set())

    def final(self, value: Value) -> Value:
        """What stands in the place of a value."""
        while value in self.replaced:
            value = self.replaced[value]
        return value

    def in_region(self, region: Region) -> None:
        """Simplify operations in order, those that they hold before them."""
        kept: list[Operation] = []
        waiting = region.operations[::-1]
        while waiting:
            operation = waiting.pop()
            if not self.replaced.keys().isdisjoint(operation.operands):
                operation.operands = [self.final(value) for value in operation.operands]
            if self.refiner is not None:
                self.refiner.refine(operation, self.constants)
            if operation.regions:
                if (branch := self.only_branch(operation)) is not None:
                    self.replaced.update(zip(operation.results, branch.returned, strict=False))
                    waiting += branch.operations[-2::-1]
                    continue
                self.in_regions(operation)
            replacement = self.rewritten(operation)
            if replacement is not None:
                self.replaced.update(zip(operation.results, replacement, strict=True))
                continue
            for result in operation.results:
                self.made[result] = operation
            if operation.name == "stablehlo.constant" and operation.results:
                self.constants[operation.results[0]] = operation.attributes.get("value")
            kept.append(operation)
        region.operations = kept

    def in_regions(self, operation: Operation) -> None:
        """Simplify what an operation holds; of a loop before and after that what it carries."""
        is_loop = operation.name == "stablehlo.while"
        if is_loop:
            self.without_invariants(operation)
        for inner in operation.regions:
            self.in_region(inner)
        if self.refiner is not None and operation.name in BRANCHES:
            self.refiner.branches(operation)
        if is_loop:
            self.without_invariants(operation)

    def rewritten(self, operation: Operation) -> Replacement:
        """Apply rules until none changes the operation."""
        for _ in range(8):
            name, attributes, operands = operation.name, operation.attributes, operation.operands
            for step in _STEPS.get(name, ()):
                found = step(self, operation)
                if found is not None:
                    return found
            if operation.name == name and operation.attributes is attributes and operation.operands is operands:
                break
        return None

    # -- constants

    def constant(self, value: Value) -> Any:
        """The array that a value always is; None where that is not known."""
        return self.constants.get(value)

    def is_all(self, value: Value, number: int) -> bool:
        """Tell whether a value is one number everywhere."""
        array = self.constants.get(value)
        return array is not None and _is_splat(array) and bool(array.ravel()[0] == number)

    def is_splat(self, value: Value) -> bool:
        """Tell whether a value is known to be one number everywhere."""
        return _is_splat(self.constant(value))

    def fold(self, operation: Operation) -> None:
        """Make an operation on constants the constant that it gives. Operations that are alike are worked out once."""
        operands: list[Any] = []
        for value in operation.operands:
            if value not in self.constants:
                return
            operands.append(self.constants[value])
        (result,) = operation.results
        alike = (operation.name, operation.attributes, result.type, *operands)
        key = tuple(map(id, alike))
        if key not in self.folded:
            self.folded[key] = self._folded(operation, operands, result.type), alike
        if (array := self.folded[key][0]) is not None:
            self.become_constant(operation, array)

    def _folded(self, operation: Operation, operands: Sequence[Any], shape: Type) -> Any:
        if not isinstance(shape, ArrayShape) or shape.dynamic or shape.size < 0:
            return None
        if not all(isinstance(operand, np.ndarray) for operand in operands):
            return None
        is_small = shape.size <= _MOST_FOLDED or all(map(_is_splat, operands))
        return folded(operation, operands, shape) if is_small else None

    def become_constant(self, operation: Operation, value: Any) -> None:
        """Change an operation to a constant."""
        operation.name, operation.operands, operation.attributes = "stablehlo.constant", [], {"value": value}

    # -- branches and loops

    def only_branch(self, operation: Operation) -> Region | None:
        """The branch that is always taken; None where that depends on something."""
        if operation.name not in ("stablehlo.if", "stablehlo.case") or not operation.regions:
            return None
        index = self.constant(operation.operands[0])
        if index is None or index.ndim:
            return None
        number = int(index) if operation.name.endswith("case") else int(not index)
        count = len(operation.regions)
        branch = operation.regions[number if 0 <= number < count else count - 1]
        return branch if branch.operations and len(branch.returned) == len(operation.results) else None

    def flatten(self, operation: Operation, dimension: int) -> None:
        """Take in what an operand joins along the same dimension, where nothing else needs it."""
        operands: list[Value] = []
        for value in operation.operands:
            inner = self.made.get(value)
            is_joined = inner is not None and inner.name == operation.name and self.uses.get(value) == 1
            if inner is not None and is_joined and _dimension_of(inner) == dimension:
                operands += inner.operands
            else:
                operands.append(value)
        if len(operands) > len(operation.operands):
            operation.operands = operands

    def without_invariants(self, loop: Operation) -> None:
        """What the body hands back as it was, is seen from outside instead."""
        if len(loop.regions) != 2 or not loop.regions[1].operations:
            return
        condition, body = loop.regions
        last = body.operations[-1]
        returned = [self.final(value) for value in last.operands]
        if not len(returned) == len(loop.operands) == len(body.arguments) == len(condition.arguments):
            return
        kept = [k for k, value in enumerate(returned) if value not in (body.arguments[k], loop.operands[k])]
        if len(kept) == len(returned):
            return
        for k in range(len(returned)):
            if k not in kept:
                for value in (condition.arguments[k], body.arguments[k], loop.results[k]):
                    self.replaced[value] = loop.operands[k]
        last.operands = [returned[k] for k in kept]
        loop.operands = [loop.operands[k] for k in kept]
        loop.results = [loop.results[k] for k in kept]
        for region in loop.regions:
            region.arguments = [region.arguments[k] for k in kept]


def _is_splat(array: Any) -> bool:
    """Tell whether an array is one number everywhere, as far as that costs nothing to see."""
    return isinstance(array, np.ndarray) and array.size > 0 and (array.size == 1 or not any(array.strides))


# -- rules


def _type(value: Value) -> ArrayShape | None:
    return value.type if isinstance(value.type, ArrayShape) else None


def _noop(simplifier: _Simplifier, operation: Operation) -> Replacement:
    """The operand, where it has the type of the result."""
    return operation.operands[:1] if operation.operands[0].type == operation.results[0].type else None


def _number_noop(number: int, *, of_floats: bool = True) -> Callable[[_Simplifier, Operation], Replacement]:
    """The left operand, where the right one is this number."""

    def rule(simplifier: _Simplifier, operation: Operation) -> Replacement:
        left, right = operation.operands
        shape = _type(right)
        if shape is None or not simplifier.is_all(right, number) or shape.element_type.name == "pred":
            return None
        return [left] if of_floats or shape.element_type.is_integral else None

    return rule


def _bits(of_zeros: int, of_ones: int) -> Callable[[_Simplifier, Operation], Replacement]:
    """The operand by its number where the right one has all bits clear, and where it has all bits set."""

    def rule(simplifier: _Simplifier, operation: Operation) -> Replacement:
        array = simplifier.constant(operation.operands[1])
        if not _is_splat(array):
            return None
        number = array.ravel()[0]
        if not number:
            return [operation.operands[of_zeros]]
        is_full = number == (True if array.dtype == bool else ~array.dtype.type(0))
        return [operation.operands[of_ones]] if is_full else None

    return rule


def _multiply(simplifier: _Simplifier, operation: Operation) -> Replacement:
    left, right = operation.operands
    if right not in simplifier.constants:
        return None
    shape = _type(right)
    if shape is not None and shape.element_type.is_integral and simplifier.is_all(right, 0):
        return [right]
    return [left] if simplifier.is_all(right, 1) else None


def _constants_right(simplifier: _Simplifier, operation: Operation) -> None:
    """The constant of a pair stands on the right."""
    left, right = operation.operands
    if left in simplifier.constants and right not in simplifier.constants:
        operation.operands = [right, left]


def _static_form(simplifier: _Simplifier, operation: Operation) -> None:
    STATIC_FORMS[operation.name](operation, [simplifier.constant(value) for value in operation.operands])


def _reduce(simplifier: _Simplifier, operation: Operation) -> Replacement:
    """What is combined along no dimension stays as it is."""
    is_same = integers(operation.attributes.get("dimensions")) == ()
    return operation.operands[: len(operation.results)] if is_same else None


def _subtract(simplifier: _Simplifier, operation: Operation) -> Replacement:
    left, right = operation.operands
    shape = _type(left)
    if left is right and shape is not None and shape.element_type.is_integral and not shape.is_dynamic:
        simplifier.become_constant(operation, np.broadcast_to(shape.element_type.dtype.type(0), shape.dimensions))
        return None
    return [left] if simplifier.is_all(right, 0) else None


def _compare(simplifier: _Simplifier, operation: Operation) -> Replacement:
    left, right = operation.operands
    shape = _type(left)
    direction = _direction(operation)
    if shape is None or direction is None or shape.element_type.is_floating or shape.element_type.is_complex:
        return None
    if left is right and not shape.is_dynamic:
        number = np.bool_(direction in ("EQ", "GE", "LE"))
        simplifier.become_constant(operation, np.broadcast_to(number, shape.dimensions))
        return None
    if shape.element_type.name != "pred" and simplifier.constant(left) is not None:
        if simplifier.constant(right) is None:
            operation.operands = [right, left]
            operation.attributes = _with_direction(operation.attributes, _MIRRORED[direction])
        return None
    if shape.element_type.name == "pred":
        wanted = {"NE": 0, "EQ": 1}.get(direction)
        return [left] if wanted is not None and simplifier.is_all(right, wanted) else None
    return None


def _direction(operation: Operation) -> str | None:
    try:
        return str(ROWS["stablehlo.compare"].read(operation.attributes)["direction"])
    except AttributeValueError:
        return None


def _with_direction(attributes: dict[str, Any], direction: str) -> dict[str, Any]:
    words = attributes.get("words", ())
    kind = attributes.get("compare_type", words[1] if len(words) > 1 else None)
    return {"comparison_direction": direction, **({"compare_type": kind} if kind is not None else {})}


def _select(simplifier: _Simplifier, operation: Operation) -> Replacement:
    predicate, yes, no = operation.operands
    if yes is no:
        return [yes]
    array = simplifier.constant(predicate)
    if _is_splat(array):
        return [yes if array.ravel()[0] else no]
    inner = simplifier.made.get(predicate)
    if inner is not None and inner.name == "stablehlo.not":
        operation.operands = [inner.operands[0], no, yes]
    return None


def _broadcast(simplifier: _Simplifier, operation: Operation) -> Replacement:
    given, result = _type(operation.operands[0]), _type(operation.results[0])
    key = "broadcast_dimensions" if "broadcast_dimensions" in operation.attributes else "dims"
    dimensions = integers(operation.attributes.get(key))
    if given is None or result is None or dimensions is None or len(dimensions) != given.rank:
        return None
    if given == result and dimensions == tuple(range(given.rank)):
        return operation.operands
    if given.size == result.size and given.size and not given.dynamic and not result.dynamic:
        if list(dimensions) == sorted(dimensions):
            operation.name, operation.attributes = "stablehlo.reshape", {}
        elif given.rank == result.rank and sorted(dimensions) == list(range(given.rank)):
            inverse = [0] * given.rank
            for k, dimension in enumerate(dimensions):
                inverse[dimension] = k
            operation.name, operation.attributes = "stablehlo.transpose", {"permutation": tuple(inverse)}
        return None
    inner = simplifier.made.get(operation.operands[0])
    if inner is not None and inner.name == "stablehlo.broadcast_in_dim":
        own = integers(inner.attributes.get("broadcast_dimensions", inner.attributes.get("dims")))
        if own is not None and all(0 <= d < len(dimensions) for d in own):
            operation.operands = inner.operands
            operation.attributes = {"broadcast_dimensions": tuple(dimensions[d] for d in own)}
    return None


def _reshape(simplifier: _Simplifier, operation: Operation) -> Replacement:
    inner = simplifier.made.get(operation.operands[0])
    if inner is not None and inner.name == "stablehlo.reshape":
        operation.operands = inner.operands
    return _noop(simplifier, operation)


def _transpose(simplifier: _Simplifier, operation: Operation) -> Replacement:
    order = integers(operation.attributes.get("permutation", operation.attributes.get("dims")))
    given = _type(operation.operands[0])
    if order is None or given is None or sorted(order) != list(range(given.rank)):
        return None
    if order == tuple(range(given.rank)):
        return operation.operands
    inner = simplifier.made.get(operation.operands[0])
    if inner is not None and inner.name == "stablehlo.transpose":
        own = integers(inner.attributes.get("permutation", inner.attributes.get("dims")))
        if own is not None and sorted(own) == sorted(order):
            operation.operands = inner.operands
            operation.attributes = {"permutation": tuple(own[d] for d in order)}
            return None
    moved = [d for d in order if given.dimensions[d] != 1]
    if moved == sorted(moved) and not given.dynamic:
        operation.name, operation.attributes = "stablehlo.reshape", {}
    return None


def _concatenate(simplifier: _Simplifier, operation: Operation) -> Replacement:
    dimension = _dimension_of(operation)
    shapes = [_type(value) for value in operation.operands]
    if not isinstance(dimension, int) or any(shape is None or not 0 <= dimension < shape.rank for shape in shapes):
        return None
    parts = [
        value
        for value, shape in zip(operation.operands, shapes, strict=True)
        if shape is not None and (shape.dimensions[dimension] or shape.dynamic)
    ]
    if 0 < len(parts) < len(operation.operands):
        operation.operands = parts
    simplifier.flatten(operation, dimension)
    return _noop(simplifier, operation) if len(operation.operands) == 1 else None


def _dimension_of(operation: Operation) -> Any:
    return operation.attributes.get("dimension", operation.attributes.get("dim"))


def _slice(simplifier: _Simplifier, operation: Operation) -> Replacement:
    """A part of one of the arrays that are joined is a part of that."""
    inner = simplifier.made.get(operation.operands[0])
    dimension = _dimension_of(inner) if inner is not None and inner.name == "stablehlo.concatenate" else None
    if inner is None or not isinstance(dimension, int):
        return _noop(simplifier, operation)
    try:
        rows = list(ROWS[operation.name].read(operation.attributes)["slice"])
    except AttributeValueError:
        return None
    offset = 0
    for value in inner.operands:
        shape = _type(value)
        if shape is None or shape.is_dynamic or not 0 <= dimension < shape.rank == len(rows):
            return None
        end = offset + shape.dimensions[dimension]
        if offset <= rows[dimension].start < rows[dimension].limit <= end:
            simplifier.uses[operation.operands[0]] -= 1
            operation.operands = [value]
            starts, limits = [row.start for row in rows], [row.limit for row in rows]
            starts[dimension] -= offset
            limits[dimension] -= offset
            operation.attributes = {
                "start_indices": tuple(starts),
                "limit_indices": tuple(limits),
                "strides": tuple(row.stride for row in rows),
            }
            return _noop(simplifier, operation)
        offset = end
    return _noop(simplifier, operation)


def _square(simplifier: _Simplifier, operation: Operation) -> Replacement:
    """A real number by itself."""
    shape = _type(operation.operands[0])
    if shape is not None and not shape.element_type.is_complex:
        operation.name, operation.operands = "stablehlo.multiply", [operation.operands[0]] * 2
    return None


def _reverse(simplifier: _Simplifier, operation: Operation) -> Replacement:
    """Dimensions of one element are the same in both orders."""
    shape = _type(operation.operands[0])
    dimensions = integers(operation.attributes.get("dimensions", operation.attributes.get("dims")))
    if shape is None or dimensions is None or any(not 0 <= d < shape.rank for d in dimensions):
        return None
    is_same = all(shape.dimensions[d] == 1 for d in dimensions) or 0 in shape.dimensions
    return operation.operands if is_same or simplifier.is_splat(operation.operands[0]) else None


def _part_of_complex(index: int) -> Callable[[_Simplifier, Operation], Replacement]:
    def rule(simplifier: _Simplifier, operation: Operation) -> Replacement:
        inner = simplifier.made.get(operation.operands[0])
        return [inner.operands[index]] if inner is not None and inner.name == "stablehlo.complex" else None

    return rule


def _complex(simplifier: _Simplifier, operation: Operation) -> Replacement:
    parts = [simplifier.made.get(value) for value in operation.operands]
    names = [part.name if part is not None else "" for part in parts]
    if names == ["stablehlo.real", "stablehlo.imag"]:
        (left,), (right,) = (part.operands for part in parts if part is not None)
        return [left] if left is right else None
    return None


def _pad(simplifier: _Simplifier, operation: Operation) -> Replacement:
    keys = (("edge_padding_low", "low"), ("edge_padding_high", "high"), ("interior_padding", "interior"))
    found = [integers(operation.attributes.get(a, operation.attributes.get(b))) for a, b in keys]
    return _noop(simplifier, operation) if all(each is not None and not any(each) for each in found) else None


def _iota(simplifier: _Simplifier, operation: Operation) -> Replacement:
    shape = _type(operation.results[0])
    dimension = operation.attributes.get("iota_dimension", operation.attributes.get("dim", 0))
    if shape is None or shape.dynamic or not isinstance(dimension, int) or not 0 <= dimension < shape.rank:
        return None
    if shape.dimensions[dimension] == 1:
        zero = shape.element_type.dtype.type(0)
        simplifier.become_constant(operation, np.broadcast_to(zero, shape.dimensions))
    return None


def _dynamic_slice(simplifier: _Simplifier, operation: Operation) -> Replacement:
    """A slice that begins at constants has its place."""
    given = _type(operation.operands[0])
    sizes = integers(operation.attributes.get("slice_sizes", operation.attributes.get("sizes")))
    starts = [simplifier.constant(value) for value in operation.operands[1:]]
    if given is None or given.dynamic or sizes is None or any(start is None for start in starts):
        return None
    if not len(starts) == given.rank == len(sizes):
        return None
    places = [
        min(max(int(start), 0), size - part) for start, size, part in zip(starts, given.dimensions, sizes, strict=True)
    ]
    limits = tuple(place + part for place, part in zip(places, sizes, strict=True))
    operation.name, operation.operands = "stablehlo.slice", operation.operands[:1]
    operation.attributes = {
        "start_indices": tuple(places),
        "limit_indices": limits,
        "strides": (1,) * given.rank,
    }
    return _noop(simplifier, operation)


def _dynamic_update_slice(simplifier: _Simplifier, operation: Operation) -> Replacement:
    operand, update, *starts = operation.operands
    shape = _type(update)
    if shape is not None and not shape.dynamic and 0 in shape.dimensions:
        return [operand]
    is_whole = operand.type == update.type and all(simplifier.is_all(start, 0) for start in starts)
    return [update] if is_whole else None


def _dimension_size(simplifier: _Simplifier, operation: Operation) -> Replacement:
    shape, result = _type(operation.operands[0]), _type(operation.results[0])
    dimension = operation.attributes.get("dimension", operation.attributes.get("dim"))
    if shape is None or result is None or not isinstance(dimension, int) or not 0 <= dimension < shape.rank:
        return None
    if shape.dimensions[dimension] >= 0 and not any(shape.dynamic[dimension : dimension + 1]):
        size = np.array(shape.dimensions[dimension], result.element_type.dtype)
        simplifier.become_constant(operation, size)
    return None


def _tuple_element(simplifier: _Simplifier, operation: Operation) -> Replacement:
    inner = simplifier.made.get(operation.operands[0])
    words = operation.attributes.get("words", ((0,),))
    index = operation.attributes.get("index", words[0][0] if words and words[0] else 0)
    if inner is None or inner.name != "stablehlo.tuple" or not isinstance(index, int):
        return None
    return [inner.operands[index]] if 0 <= index < len(inner.operands) else None


def _assertion(simplifier: _Simplifier, operation: Operation) -> Replacement:
    """Nothing is left of an assertion of sizes that holds."""
    return [] if is_assertion(operation) and holds(operation, simplifier.constants, simplifier.source) else None


def _recomposed(simplifier: _Simplifier, operation: Operation) -> None:
    """An operation of CHLO that was exported with a decomposition is that operation again."""
    words = operation.attributes.get("words", ("",))
    name = operation.attributes.get("name", words[0])
    given = _OF_CHLO.fullmatch(written(operation.attributes.get("composite_attributes", {})))
    if name not in _WITH_DECOMPOSITION or given is None or operation.attributes.get("version") != 1:
        return
    if not operation.regions and takes(name, len(operation.operands), len(operation.results)):
        operation.name, operation.attributes = name, {"k": int(given[1])} if given[1] else {}


_RULES: dict[str, Callable[[_Simplifier, Operation], Replacement]] = {
    "stablehlo.composite": _recomposed,
    "stablehlo.custom_call": _assertion,
    "stablehlo.add": _number_noop(0),
    "stablehlo.subtract": _subtract,
    "stablehlo.multiply": _multiply,
    "stablehlo.and": _bits(of_zeros=1, of_ones=0),
    "stablehlo.or": _bits(of_zeros=0, of_ones=1),
    "stablehlo.xor": _number_noop(0, of_floats=False),
    "stablehlo.compare": _compare,
    "stablehlo.select": _select,
    "stablehlo.convert": _noop,
    "stablehlo.reduce": _reduce,
    "stablehlo.reshape": _reshape,
    "stablehlo.slice": _slice,
    "stablehlo.reverse": _reverse,
    "chlo.square": _square,
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.transpose": _transpose,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.complex": _complex,
    "stablehlo.real": _part_of_complex(0),
    "stablehlo.imag": _part_of_complex(1),
    "stablehlo.pad": _pad,
    "stablehlo.iota": _iota,
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.dynamic_update_slice": _dynamic_update_slice,
    "stablehlo.get_dimension_size": _dimension_size,
    "stablehlo.get_tuple_element": _tuple_element,
}
_STEPS: dict[str, list[Callable[[_Simplifier, Operation], Replacement]]] = {}
for _names, _step in (
    (_COMMUTATIVE, _constants_right),
    (STATIC_FORMS, _static_form),
    *(((name,), rule) for name, rule in _RULES.items()),
    ((f"stablehlo.{name}" for name in FOLDED), _Simplifier.fold),
):
    for _name in _names:
        _STEPS.setdefault(_name, []).append(_step)


# -- what nothing needs


def _remove_unused(region: Region, needed: set[Value]) -> None:
    """Take away operations whose results nothing needs, and which do nothing else. ``needed`` is what comes behind."""
    kept: list[Operation] = []
    for operation in reversed(region.operations):
        if needed.isdisjoint(operation.results) and _is_pure(operation):
            continue
        kept.append(operation)
        needed.update(operation.operands)
        for inner in operation.regions:
            _remove_unused(inner, needed)
    region.operations = kept[::-1]


def _is_pure(operation: Operation) -> bool:
    return _has_no_effect(operation.name) and all(
        each.name.endswith(".return") or _has_no_effect(each.name)
        for region in operation.regions
        for each in walk(region.operations)
    )


def _has_no_effect(name: str) -> bool:
    return name.startswith(("stablehlo.", "chlo.")) and name not in _EFFECTS
