"""What every reader of a program would do at once: nothing that changes a value.

XLA does the same on its way from StableHLO to HLO: constants stand on the right, what a loop never changes is not
carried, an operation that gives its operand is none, arithmetic on constants is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ..hlo.attributes import SliceDimension
from ..hlo.shapes import ArrayShape
from ..hlo.source import SourceText
from .attributes import attribute_of, integers
from .dense import splat
from .expansions import NAMES
from .folding import FOLDED
from .forms import takes
from .program import Operation, Program, Region, Unread, Value
from .rows import ROWS, AttributeValueError
from .simplifier import Replacement, Rule, Simplifier, dimension_of, is_empty, is_splat_array
from .sizes import Refiner, holds, is_assertion
from .static_forms import STATIC_FORMS
from .writer import array_of

_COMMUTATIVE = frozenset(f"stablehlo.{name}" for name in ("add", "and", "maximum", "minimum", "multiply", "or", "xor"))
_MIRRORED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "EQ": "EQ", "NE": "NE"}
_OF_COMPOSITES: dict[str, frozenset[str]] = {  # what operations of CHLO that have a decomposition are given
    **dict.fromkeys((f"chlo.{name}" for name in (*NAMES, "erf", "tan")), frozenset()),
    "chlo.top_k": frozenset(("k",)),
    "chlo.scan": frozenset("dimension is_associative is_reverse operandSegmentSizes resultSegmentSizes".split()),
}


# -- rules


def _type(value: Value) -> ArrayShape | None:
    return value.type if isinstance(value.type, ArrayShape) else None


def _integers(operation: Operation, name: str, short: str = "dims") -> tuple[int, ...] | None:
    """The integers of an attribute, which pretty text calls by its short name."""
    return integers(operation.attributes.get(name, operation.attributes.get(short)))


def _noop(simplifier: Simplifier, operation: Operation) -> Replacement:
    """The operand, where it has the type of the result."""
    return operation.operands[:1] if operation.operands[0].type == operation.results[0].type else None


def _plus_zero(simplifier: Simplifier, operation: Operation) -> Replacement:
    """The left operand, where the right one is 0."""
    left, right = operation.operands
    shape = _type(right)
    return [left] if shape is not None and not shape.element_type.is_complex and simplifier.is_all(right, 0) else None


def _or(simplifier: Simplifier, operation: Operation) -> Replacement:
    """The left operand, where the right one has all bits clear; the right one, where it has all bits set."""
    left, right = operation.operands
    array, shape = simplifier.constant(right), _type(right)
    if not is_splat_array(array) or shape is None or not (shape.element_type.is_integral or array.dtype == bool):
        return None
    number = array.flat[0]
    if not number:
        return [left]
    return [right] if number == (True if array.dtype == bool else ~array.dtype.type(0)) else None


def _constants_right(simplifier: Simplifier, operation: Operation) -> None:
    """The constant of a pair stands on the right."""
    left, right = operation.operands
    if left in simplifier.constants and right not in simplifier.constants:
        operation.operands = [right, left]


def _static_form(simplifier: Simplifier, operation: Operation) -> None:
    STATIC_FORMS[operation.name](operation, [simplifier.constant(value) for value in operation.operands])


def _reduce(simplifier: Simplifier, operation: Operation) -> Replacement:
    """A reduction along no dimension gives its operands, and one of an empty array gives the initial values."""
    firsts, shapes = operation.operands[len(operation.results) :], list(map(_type, operation.results))
    if integers(operation.attributes.get("dimensions")) == ():
        return operation.operands[: len(operation.results)]
    if operation.operands and is_empty(operation.operands[0]) and len(firsts) == len(shapes):
        pairs = [(a, shape) for a, shape in zip(firsts, shapes, strict=True) if shape is not None]
        dimensions: dict[str, Any] = {"broadcast_dimensions": ()}
        found = [simplifier.insert(operation, "broadcast_in_dim", [a], shape, dimensions) for a, shape in pairs]
        return found if len(found) == len(shapes) else None
    name = operation.attributes.get("applies") or _only_operation(operation.regions)
    compute = {"stablehlo.and": np.logical_and, "stablehlo.or": np.logical_or}.get(str(name))
    shape = _type(operation.results[0])
    if compute is not None and shape is not None and shape.element_type.name == "pred":
        arrays = [simplifier.constant(value) for value in operation.operands]
        if len(arrays) == 2 and all(map(is_splat_array, arrays)):
            number = compute(*(array.flat[0] for array in arrays))
            operation.regions = []
            simplifier.become_constant(operation, splat(number, shape))
    return None


def _only_operation(regions: Sequence[Region]) -> str | None:
    """The operation of a region that does nothing else."""
    operations = regions[0].operations if len(regions) == 1 else []
    is_whole = len(operations) == 2 and set(operations[0].operands) == set(regions[0].arguments)
    return operations[0].name if is_whole and [*regions[0].returned] == [*operations[0].results] else None


def _subtract(simplifier: Simplifier, operation: Operation) -> Replacement:
    left, right = operation.operands
    shape = _type(left)
    if left is right and shape is not None and shape.element_type.is_integral and not shape.is_dynamic:
        simplifier.become_constant(operation, splat(shape.element_type.dtype.type(0), shape))
        return None
    return _plus_zero(simplifier, operation)


def _compare(simplifier: Simplifier, operation: Operation) -> Replacement:
    left, right = operation.operands
    shape, direction, kind = _type(left), _direction(operation), _kind(operation.attributes)
    if shape is None or direction is None:
        return None
    truth = {"NE": 0, "EQ": 1}.get(direction) if shape.element_type.name == "pred" else None
    if truth is not None and simplifier.is_all(right, truth):
        return [left]
    if kind not in ("SIGNED", "UNSIGNED"):
        return None
    if left is right and not shape.is_dynamic:
        number = np.bool_(direction in ("EQ", "GE", "LE"))
        simplifier.become_constant(operation, splat(number, shape))
    elif left in simplifier.constants and right not in simplifier.constants:
        operation.operands = [right, left]
        operation.attributes = {"comparison_direction": _MIRRORED[direction], "compare_type": kind}
    return None


def _kind(attributes: dict[str, Any]) -> Any:
    words = attributes.get("words", ())
    return attributes.get("compare_type", words[1] if len(words) > 1 else None)


def _direction(operation: Operation) -> str | None:
    try:
        return str(ROWS["stablehlo.compare"].read(operation.attributes)["direction"])
    except AttributeValueError:
        return None


def _select(simplifier: Simplifier, operation: Operation) -> Replacement:
    predicate, yes, no = operation.operands
    if simplifier.is_same(yes, no):
        return [yes]
    array = simplifier.constant(predicate)
    if is_splat_array(array):
        return [yes if array.flat[0] else no]
    inner = simplifier.made.get(predicate)
    if inner is not None and inner.name == "stablehlo.not":
        operation.operands = [inner.operands[0], no, yes]
    elif inner is not None and inner.name == "stablehlo.broadcast_in_dim" and simplifier.uses.get(predicate) == 1:
        negation, shape = simplifier.made.get(inner.operands[0]), _type(predicate)
        if negation is not None and negation.name == "stablehlo.not" and shape is not None:
            wide = simplifier.insert(inner, "broadcast_in_dim", negation.operands, shape, inner.attributes)
            operation.operands = [wide, no, yes]
    return None


def _broadcast(simplifier: Simplifier, operation: Operation) -> Replacement:
    given, result = _type(operation.operands[0]), _type(operation.results[0])
    dimensions = _integers(operation, "broadcast_dimensions")
    if given is None or result is None or dimensions is None or len(dimensions) != given.rank:
        return None
    if given == result and dimensions == tuple(range(given.rank)):
        return operation.operands
    inner = simplifier.made.get(operation.operands[0])
    if inner is not None and inner.name == "stablehlo.broadcast_in_dim":
        own = _integers(inner, "broadcast_dimensions")
        if own is not None and all(0 <= d < len(dimensions) for d in own):
            operation.operands = inner.operands
            operation.attributes = {"broadcast_dimensions": tuple(dimensions[d] for d in own)}
            return None
    if given.size == result.size and given.size and not given.dynamic and not result.dynamic:
        if list(dimensions) == sorted(dimensions):
            operation.name, operation.attributes = "stablehlo.reshape", {}
        elif given.rank == result.rank and sorted(dimensions) == list(range(given.rank)):
            inverse = [0] * given.rank
            for k, dimension in enumerate(dimensions):
                inverse[dimension] = k
            operation.name, operation.attributes = "stablehlo.transpose", {"permutation": tuple(inverse)}
    return None


def _reshape(simplifier: Simplifier, operation: Operation) -> Replacement:
    inner = simplifier.made.get(operation.operands[0])
    if inner is not None and inner.name == "stablehlo.reshape":
        given, made = _type(inner.operands[0]), _type(inner.results[0])
        if given is not None and made is not None and given.size == made.size:  # an error stays to be told
            operation.operands = inner.operands
    return _noop(simplifier, operation)


def _transpose(simplifier: Simplifier, operation: Operation) -> Replacement:
    order = _integers(operation, "permutation")
    given = _type(operation.operands[0])
    if order is None or given is None or sorted(order) != list(range(given.rank)):
        return None
    if order == tuple(range(given.rank)):
        return operation.operands
    value = operation.operands[0]
    inner = simplifier.made.get(value)
    own = _integers(inner, "permutation") if inner is not None and inner.name == "stablehlo.transpose" else None
    if inner is not None and own is not None:
        value = inner.operands[0]
    elif value in simplifier.turned:
        value, own = simplifier.turned[value]
    if own is not None and sorted(own) == sorted(order):
        operation.operands = [value]
        operation.attributes = {"permutation": tuple(own[d] for d in order)}
        return None
    moved = [d for d in order if given.dimensions[d] != 1]
    if moved == sorted(moved) and not given.dynamic:
        simplifier.turned[operation.results[0]] = operation.operands[0], order
        operation.name, operation.attributes = "stablehlo.reshape", {}
    return None


def _slice(simplifier: Simplifier, operation: Operation) -> Replacement:
    """A part of arrays that are joined is one of those that it reaches into."""
    inner = simplifier.made.get(operation.operands[0])
    dimension = dimension_of(inner) if inner is not None and inner.name == "stablehlo.concatenate" else None
    if inner is None or not isinstance(dimension, int):
        return _noop(simplifier, operation)
    try:
        rows = list(ROWS[operation.name].read(operation.attributes)["slice"])
    except AttributeValueError:
        return None
    shapes = [shape for shape in map(_type, inner.operands) if shape is not None and not shape.is_dynamic]
    if len(shapes) < len(inner.operands) or any(not 0 <= dimension < shape.rank == len(rows) for shape in shapes):
        return None
    start, limit = rows[dimension].start, rows[dimension].limit
    ends = list(accumulate(shape.dimensions[dimension] for shape in shapes))
    first, last = sum(end <= start for end in ends), 1 + sum(end < limit for end in ends)
    parts = inner.operands[first:last]
    is_shared = len(parts) > 1 and simplifier.uses[operation.operands[0]] != 1
    if start >= limit or not parts or len(parts) == len(shapes) or is_shared:
        return _noop(simplifier, operation)
    offset = ends[first] - shapes[first].dimensions[dimension]
    simplifier.uses[operation.operands[0]] -= 1
    operation.operands = [_joined(simplifier, inner, parts, dimension)] if len(parts) > 1 else list(parts)
    rows[dimension] = SliceDimension(start - offset, limit - offset, rows[dimension].stride)
    operation.attributes = _rows_of_slice(rows)
    return _noop(simplifier, operation)


def _joined(simplifier: Simplifier, whole: Operation, parts: Sequence[Value], dimension: int) -> Value:
    """Some of the arrays that an operation joins."""
    shape = _shape_of_joined(parts, dimension)
    return simplifier.insert(whole, "concatenate", parts, shape, {"dimension": dimension})


def _shape_of_joined(parts: Sequence[Value], dimension: int) -> ArrayShape:
    shapes = [shape for shape in map(_type, parts) if shape is not None]
    sizes = list(shapes[0].dimensions)
    sizes[dimension] = sum(shape.dimensions[dimension] for shape in shapes)
    return array_of(shapes[0].element_type, sizes)


def _rows_of_slice(rows: Sequence[SliceDimension]) -> dict[str, Any]:
    keys = {"start_indices": "start", "limit_indices": "limit", "strides": "stride"}
    return {key: tuple(getattr(row, name) for row in rows) for key, name in keys.items()}


def _conjugate(simplifier: Simplifier, operation: Operation) -> Replacement:
    """Real numbers are their own."""
    shape = _type(operation.operands[0])
    return operation.operands if shape is not None and not shape.element_type.is_complex else None


def _square(simplifier: Simplifier, operation: Operation) -> Replacement:
    """A real number by itself."""
    shape = _type(operation.operands[0])
    if shape is not None and not shape.element_type.is_complex:
        operation.name, operation.operands = "stablehlo.multiply", [operation.operands[0]] * 2
    return None


def _part_of_complex(index: int) -> Rule:
    def rule(simplifier: Simplifier, operation: Operation) -> Replacement:
        inner = simplifier.made.get(operation.operands[0])
        return [inner.operands[index]] if inner is not None and inner.name == "stablehlo.complex" else None

    return rule


def _pad(simplifier: Simplifier, operation: Operation) -> Replacement:
    keys = (("edge_padding_low", "low"), ("edge_padding_high", "high"), ("interior_padding", "interior"))
    found = [_integers(operation, *key) for key in keys]
    if all(each is not None and not any(each) for each in found):
        return _noop(simplifier, operation)
    if is_empty(operation.operands[0]):
        operation.name, operation.operands = "stablehlo.broadcast_in_dim", operation.operands[1:]
        operation.attributes = {"broadcast_dimensions": ()}
    return None


def _iota(simplifier: Simplifier, operation: Operation) -> Replacement:
    """A line of numbers, which is repeated."""
    shape = _type(operation.results[0])
    dimension = operation.attributes.get("iota_dimension", operation.attributes.get("dim", 0))
    if shape is None or shape.dynamic or not isinstance(dimension, int) or not 0 <= dimension < shape.rank:
        return None
    if shape.rank > 1 and shape.dimensions[dimension] != 1:
        line = array_of(shape.element_type, shape.dimensions[dimension : dimension + 1])
        operation.operands = [simplifier.insert(operation, "iota", [], line, {"iota_dimension": 0})]
        operation.name, operation.attributes = "stablehlo.broadcast_in_dim", {"broadcast_dimensions": (int(dimension),)}
    elif shape.dimensions[dimension] == 1:
        zero = shape.element_type.dtype.type(0)
        simplifier.become_constant(operation, splat(zero, shape))
    return None


def _dimension_size(simplifier: Simplifier, operation: Operation) -> Replacement:
    shape, result = _type(operation.operands[0]), _type(operation.results[0])
    dimension = dimension_of(operation)
    if shape is None or result is None or not isinstance(dimension, int) or not 0 <= dimension < shape.rank:
        return None
    if shape.dimensions[dimension] >= 0 and not any(shape.dynamic[dimension : dimension + 1]):
        size = np.array(shape.dimensions[dimension], result.element_type.dtype)
        simplifier.become_constant(operation, size)
    return None


def _assertion(simplifier: Simplifier, operation: Operation) -> Replacement:
    """Nothing is left of an assertion of sizes that holds."""
    return [] if is_assertion(operation) and holds(operation, simplifier.constants, simplifier.source) else None


def _recomposed(simplifier: Simplifier, operation: Operation) -> None:
    """An operation of CHLO that was exported with a decomposition is that operation again."""
    words = operation.attributes.get("words", ("",))
    name = operation.attributes.get("name", words[0])
    given = operation.attributes.get("composite_attributes", {})
    given = attribute_of(given.text) if isinstance(given, Unread) else given
    if (
        not isinstance(given, dict)
        or _OF_COMPOSITES.get(name) != given.keys()
        or operation.attributes.get("version") != 1
    ):
        return
    if takes(name, len(operation.operands), len(operation.results), len(operation.regions)):
        operation.name, operation.attributes = name, given


_RULES: dict[str, Rule] = {
    "stablehlo.composite": _recomposed,
    "stablehlo.custom_call": _assertion,
    "stablehlo.add": _plus_zero,
    "stablehlo.subtract": _subtract,
    "stablehlo.or": _or,
    "stablehlo.compare": _compare,
    "stablehlo.select": _select,
    "stablehlo.convert": _noop,
    "stablehlo.reduce": _reduce,
    "stablehlo.reshape": _reshape,
    "stablehlo.slice": _slice,
    "chlo.conj": _conjugate,
    "chlo.square": _square,
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.transpose": _transpose,
    "stablehlo.real": _part_of_complex(0),
    "stablehlo.imag": _part_of_complex(1),
    "stablehlo.pad": _pad,
    "stablehlo.iota": _iota,
    "stablehlo.get_dimension_size": _dimension_size,
}
_STEPS: dict[str, list[Rule]] = {}
for _names, _step in (
    (_COMMUTATIVE, _constants_right),
    (STATIC_FORMS, _static_form),
    ((f"stablehlo.{name}" for name in FOLDED), Simplifier.fold),
    (("chlo.erf", "chlo.tan"), Simplifier.fold),
    *(((name,), rule) for name, rule in _RULES.items()),
):
    for _name in _names:
        _STEPS.setdefault(_name, []).append(_step)


def simplified(program: Program, source: SourceText) -> None:
    """Simplify all functions of a program."""
    for function in program.functions:
        if function.regions:
            Simplifier(function.regions[0], source, _STEPS).run()


def at_sizes(program: Program, main: Operation, source: SourceText) -> None:
    """Simplify a program whose arguments have sizes, with all sizes that follow from these.

    Raises ``UsageError`` (XP425) where one does not, and where an assertion of sizes does not hold.
    """

    def simplify(function: Operation, refiner: Refiner) -> dict[Value, Any]:
        simplifier = Simplifier(function.regions[0], source, _STEPS, refiner)
        simplifier.run()
        return simplifier.constants

    Refiner(program, source, simplify).run(main)
