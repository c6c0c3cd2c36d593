"""Programs whose arguments have axes of any size: the names of these, and the program at numbers.

JAX's exports say the names in the assertions that they make of sizes. At numbers all sizes follow from those of the
arguments, in the order of the program; a function is one of its own for each shapes and sizes that it is called with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np

from ..errors import OpenSizes, UsageError
from ..hlo.lexer import quote
from ..hlo.opcodes import OPCODES
from ..hlo.shape_inference import infer_shape
from ..hlo.shape_rules import common
from ..hlo.shapes import UNBOUNDED, ArrayShape
from ..hlo.source import Diagnostic, HloSyntaxError, HloVerificationError, SourceText
from .attributes import integers
from .broadcasts import BROADCASTS
from .preparation import functions_of
from .program import UNKNOWN, Argument, Operation, Program, Symbol, Value, cloned, walk
from .rows import ROWS, AttributeValueError, convolution
from .translation import callee_name
from .types import array_shape

ASSERTION = "shape_assertion"
_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
_SPECIFIED = re.compile(r"specification '([^']*)' for dimension \S+ \(= \{(\d{1,3})\}\)", re.ASCII)
_COMPARED = re.compile(r"dimension size \S+ \(= \{(\d{1,3})\}\) and the specification '([^']*)'", re.ASCII)
_PLACE = re.compile(r"\{(\d{1,3})\}", re.ASCII)
_LONGEST_NUMBERS = 16  # axes whose sizes a constant says
_DEEPEST = 100  # calls within calls
_HINT = (
    "the assertions of sizes that jax.export writes name them; or write it again with numbers, or read the "
    "jax.export.Exported that this came from with xla2py.from_jax(exported)"
)
Constants = dict[Value, Any]  # the arrays that values always are
Axis = tuple[Value, int]


def is_open(type_: Any) -> TypeGuard[ArrayShape]:
    """Tell whether a type is an array with an axis of any size; a bound is enough."""
    return isinstance(type_, ArrayShape) and UNBOUNDED in type_.dimensions


def put_sizes(main: Operation, sizes: Mapping[str, int] | None, source: SourceText) -> bool:
    """Give the arguments of a function the sizes of their names; tell whether there were any to give.

    Raises ``UsageError`` (XP425): where an axis has no name, and ``OpenSizes`` where there are no numbers for them.
    """
    arguments = main.regions[0].arguments if main.regions else []
    shapes = {k: each.type for k, each in enumerate(arguments) if is_open(each.type)}
    names = names_of(main) if shapes else {}
    opened = {
        (k, axis): names.get((arguments[k], axis), "")
        for k, shape in shapes.items()
        for axis, size in enumerate(shape.dimensions)
        if size == UNBOUNDED
    }
    _require_names(opened, arguments, source)
    numbers = sizes or {}
    if not set(opened.values()) <= set(numbers):
        first = _left_open(next(iter(shapes)), arguments, source, _ANY_SIZE)
        raise OpenSizes(list(dict.fromkeys(opened.values())), first)
    for k, shape in shapes.items():
        own = (numbers[opened[k, axis]] if (k, axis) in opened else n for axis, n in enumerate(shape.dimensions))
        arguments[k].type = array_shape(shape.element_type, tuple(own), shape.dynamic)
    return bool(shapes)


_ANY_SIZE = "emit makes a module for any size of it; inspect and run take a number of each: --sizes NAME=N"


def _left_open(k: int, arguments: Sequence[Argument], source: SourceText, hint: str | None = None) -> Diagnostic:
    message = f"the sizes of arguments are left open: argument {k + 1} is {arguments[k].type}"
    return Diagnostic("XP425", message, arguments[k].span, source, hint)


def _require_names(opened: Mapping[tuple[int, int], str], arguments: Sequence[Argument], source: SourceText) -> None:
    """Raise where an axis has no name, or a size of several."""
    nameless = list(dict.fromkeys(k for (k, _), name in opened.items() if not name))
    if nameless:
        first, *others = nameless
        rest = (_left_open(k, arguments, source) for k in others)
        raise UsageError(_left_open(first, arguments, source, _HINT), *rest)
    for (k, _), name in opened.items():
        if not _NAME.fullmatch(name):
            message = f"an argument has an axis of size {name}, which needs a name of its own"
            hint = "take 2*n as axes of 2 and n, and reshape it in the function; or write it with numbers for one size"
            raise UsageError(Diagnostic("XP425", message, arguments[k].span, source, hint))


def names_of(main: Operation) -> dict[Axis, str]:
    """The size of each axis of arguments, as the assertions of a function call it."""
    measured: dict[Value, Axis] = {}
    found: dict[Axis, str] = {}
    for operation in walk(main.regions[0].operations):
        if operation.name == "stablehlo.get_dimension_size" and operation.operands and operation.results:
            dimension = operation.attributes.get("dimension", operation.attributes.get("dim"))
            measured[operation.results[0]] = (operation.operands[0], dimension if isinstance(dimension, int) else -1)
        elif is_assertion(operation):
            message = _message(operation)
            pairs = [(name, place) for name, place in _SPECIFIED.findall(message)]
            pairs += [(name, place) for place, name in _COMPARED.findall(message)]
            for name, place in pairs:
                value = [*operation.operands[1:], None][min(int(place), len(operation.operands) - 1)]
                if value in measured:
                    found.setdefault(measured[value], name)
    return found


def is_assertion(operation: Operation) -> bool:
    """Tell whether an operation is JAX's assertion of a size."""
    return operation.name == "stablehlo.custom_call" and _target(operation) == ASSERTION


def _target(operation: Operation) -> str:
    target = operation.attributes.get("call_target_name", operation.attributes.get("symbol", ""))
    return target.name if isinstance(target, Symbol) else str(target)


def _message(operation: Operation) -> str:
    return str(operation.attributes.get("error_message", ""))


def holds(operation: Operation, known: Constants, source: SourceText) -> bool:
    """Tell whether an assertion holds; False where that is not known. Raises ``UsageError`` (XP425) if it does not."""
    condition, *numbers = map(known.get, operation.operands)
    if condition is None:
        return False
    if not np.all(condition):
        said = _message(operation).partition(" Using the following")[0]
        said = _PLACE.sub(lambda place: str([*numbers, "?"][min(int(place[1]), len(numbers))]), said)
        raise UsageError(Diagnostic("XP425", said or "an assertion of sizes does not hold", operation.span, source))
    return True


def overflows(operation: Operation, operands: Sequence[Any]) -> bool:
    """Tell whether a signed number that an operation makes of two is larger than its type: then it is no size."""
    compute = _ARITHMETIC.get(operation.name)
    if compute is None or any(not _is_number(each) or each.dtype.kind != "i" for each in operands):
        return False
    bounds = np.iinfo(operands[0].dtype)
    return not bounds.min <= compute(*map(int, operands)) <= bounds.max


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "stablehlo.add": int.__add__,
    "stablehlo.multiply": int.__mul__,
    "stablehlo.subtract": int.__sub__,
}
Simplify = Callable[[Operation, "Refiner"], Constants]


class Refiner:
    """Works out the types of a program whose arguments have sizes."""

    def __init__(self, program: Program, source: SourceText, simplify: Simplify) -> None:
        self.program = program
        self.source = source
        self.simplify = simplify
        self.functions = functions_of(program)
        self.made: dict[Any, tuple[Operation, Constants]] = {}
        self.count: dict[str, int] = {}
        self.depth = 0

    def run(self, main: Operation) -> None:
        """Refine a function and all that it calls, which take the place of what the program has."""
        self.simplify(main, self)
        others = [each for each in self.program.operations if each.name != "func.func"]
        self.program.operations[:] = [*others, main, *(each for each, _ in self.made.values())]

    def refine(self, operation: Operation, known: Constants) -> None:
        """Give the results of an operation their types, and its regions those of what they are given."""
        rule = _OWN.get(operation.name)
        if operation.name == "stablehlo.custom_call":
            rule = _TARGETS.get(_target(operation), _shapes_in_operands)
        if rule is not None:
            rule(self, operation, known)
        for number, value in enumerate(operation.results):
            if is_open(value.type) and operation.name not in BRANCHES:
                value.type = self._inferred(operation, number, value.type, known)

    def branches(self, operation: Operation) -> None:
        """The types of a branch are those of what it hands back."""
        for value, returned in zip(operation.results, operation.regions[0].returned, strict=False):
            value.type = returned.type if is_open(value.type) else value.type

    def _inferred(self, operation: Operation, number: int, declared: ArrayShape, known: Constants) -> ArrayShape:
        try:
            sizes = _sizes(operation, number, known)
        except (AttributeValueError, HloVerificationError, ValueError, IndexError, TypeError):
            sizes = None  # what is wrong is said where it is translated
        if sizes is None or len(sizes) != declared.rank or any(size < 0 for size in sizes):
            message = f"the sizes that {quote(operation.name)} gives do not follow from those of the arguments"
            raise UsageError(Diagnostic("XP425", message, operation.span, self.source))
        return array_shape(declared.element_type, tuple(sizes))

    def called(self, operation: Operation, known: Constants) -> None:
        """Call the function of these types, in which the numbers that are known are constants."""
        name = callee_name(operation)
        callee = self.functions.get(name or "")
        if callee is None or not callee.regions or len(callee.regions[0].arguments) != len(operation.operands):
            return  # what is wrong is said where it is translated
        if not self.depth:
            _named_as(operation.operands, callee.regions[0].arguments)
        numbers = {k: known[value] for k, value in enumerate(operation.operands) if _is_number(known.get(value))}
        operation.operands = [value for k, value in enumerate(operation.operands) if k not in numbers]
        key = (name, tuple(value.type for value in operation.operands), tuple((k, int(numbers[k])) for k in numbers))
        if key not in self.made:
            self.made[key] = self._specialised(key, cloned(callee), numbers, operation)
        own, constants = self.made[key]
        operation.name, operation.attributes = "func.call", {"callee": Symbol(str(own.attributes["sym_name"]))}
        for value, returned in zip(operation.results, own.regions[0].returned, strict=False):
            value.type = returned.type
            if returned in constants:
                known[value] = constants[returned]

    def _specialised(
        self, key: Any, function: Operation, numbers: Mapping[int, Any], operation: Operation
    ) -> tuple[Operation, Constants]:
        if self.depth >= _DEEPEST:
            message = f"calls are nested more than {_DEEPEST} deep"
            raise HloSyntaxError(Diagnostic("XP118", message, operation.span, self.source))
        region = function.regions[0]
        region.operations[:0] = [
            Operation("stablehlo.constant", [], [region.arguments[k]], {"value": number}, [], None, function.span)
            for k, number in numbers.items()
        ]
        region.arguments = [argument for k, argument in enumerate(region.arguments) if k not in numbers]
        for argument, type_ in zip(region.arguments, key[1], strict=True):
            argument.type = type_
        self.count[key[0]] = count = self.count.get(key[0], 0) + 1
        name = key[0] if count == 1 else f"{key[0]}_{count}"
        while name in self.functions and count > 1:
            name += "_"
        function.attributes = {**function.attributes, "sym_name": name}
        self.depth += 1
        constants = self.simplify(function, self)
        self.depth -= 1
        return function, constants


def _named_as(values: Sequence[Value], arguments: Sequence[Argument]) -> None:
    """Arguments without a name have that of the function which an export wraps."""
    for value, argument in zip(values, arguments, strict=True):
        if isinstance(value, Argument) and value.location in (None, "unknown", UNKNOWN):
            value.location = argument.location


def _is_number(constant: Any) -> bool:
    return isinstance(constant, np.ndarray) and not constant.ndim and constant.dtype.kind in "iub"


def _carried(refiner: Refiner, operation: Operation, known: Constants) -> None:
    """What a loop carries stays as it is given."""
    types = [value.type for value in operation.operands]
    several: list[Sequence[Value]] = [operation.results, *(region.arguments for region in operation.regions)]
    for values in several:
        for value, type_ in zip(values, types, strict=False):
            value.type = type_


def _shapes_in_operands(refiner: Refiner, operation: Operation, known: Constants) -> None:
    """A custom call may take the shapes of its results as operands."""
    places = integers(operation.attributes.get("indices_of_shape_operands")) or ()
    if not places or any(not 0 <= k < len(operation.operands) for k in places):
        return
    for value, place in zip(operation.results, places, strict=False):
        sizes = integers(known.get(operation.operands[place]))
        if sizes is not None and isinstance(value.type, ArrayShape) and len(sizes) == value.type.rank:
            value.type = array_shape(value.type.element_type, sizes)
    own = {key: value for key, value in operation.attributes.items() if key != "indices_of_shape_operands"}
    if isinstance(layouts := own.get("operand_layouts"), tuple):
        own["operand_layouts"] = tuple(layout for k, layout in enumerate(layouts) if k not in places)
    operands = [value for k, value in enumerate(operation.operands) if k not in places]
    operation.operands, operation.attributes = operands, own


def _become(operation: Operation, name: str, count: int, attributes: dict[str, Any]) -> None:
    operation.name, operation.operands, operation.attributes = name, operation.operands[:count], attributes


def _reduce_window(refiner: Refiner, operation: Operation, known: Constants) -> None:
    """``stablehlo.dynamic_reduce_window``: its windows are the last five operands, its reducer is a function."""
    count = len(operation.results)
    found = [known.get(value) for value in operation.operands[2 * count :]]
    reducer = refiner.functions.get(callee_name(operation) or "")
    if reducer is None or any(not isinstance(each, np.ndarray) for each in found) or len(found) != len(_WINDOW):
        return
    region = cloned(reducer).regions[0]
    last = region.operations[-1]
    last.name = "stablehlo.return"
    operation.regions = [region]
    _become(operation, "stablehlo.reduce_window", 2 * count, dict(zip(_WINDOW, found, strict=True)))


_WINDOW = ("window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding")


def _random_bits(refiner: Refiner, operation: Operation, known: Constants) -> None:
    """``stablehlo.dynamic_rng_bit_generator``: the second operand is the shape of the bits."""
    sizes = integers(known.get(operation.operands[1]))
    bits = operation.results[1]
    if sizes is not None and isinstance(bits.type, ArrayShape):
        bits.type = array_shape(bits.type.element_type, sizes)
        algorithm = operation.attributes.get("rng_algorithm")
        _become(operation, "stablehlo.rng_bit_generator", 1, {"rng_algorithm": algorithm})


def _top_k(refiner: Refiner, operation: Operation, known: Constants) -> None:
    """``stablehlo.dynamic_top_k``: the second operand is how many."""
    count = known.get(operation.operands[1])
    if count is not None:
        _become(operation, "chlo.top_k", 1, {"k": int(count)})


_Rule = Callable[[Refiner, Operation, Constants], None]
_OWN: dict[str, _Rule] = {
    "stablehlo.while": _carried,
    "func.call": Refiner.called,
    "stablehlo.composite": Refiner.called,
}
_TARGETS: dict[str, _Rule] = {
    ASSERTION: lambda refiner, operation, known: None,
    "stablehlo.dynamic_reduce_window": _reduce_window,
    "stablehlo.dynamic_rng_bit_generator": _random_bits,
    "stablehlo.dynamic_top_k": _top_k,
}
BRANCHES = frozenset(("stablehlo.if", "stablehlo.case"))


# -- the sizes of one result


def _sizes(operation: Operation, number: int, known: Constants) -> Any:
    """The sizes of a result of operands that have theirs; None where they do not follow."""
    name = operation.name
    shapes: Any = [value.type for value in operation.operands]
    rule = _SIZES.get(name)
    if rule is not None:
        return rule(operation, shapes, [known.get(value) for value in operation.operands])
    row = ROWS.get(name)
    is_alike = name in _ALIKE or name in BROADCASTS or name.startswith("chlo.")
    if is_alike or (row is not None and (OPCODES[row.opcode].is_elementwise or operation.regions)):
        widest = max((shape for shape in shapes if isinstance(shape, ArrayShape)), key=lambda shape: shape.rank)
        return shapes[number].dimensions if len(operation.results) > 1 else widest.dimensions
    if row is None:
        return None
    found: Any = infer_shape(row.opcode, shapes, row.read(operation.attributes))
    parts = getattr(found, "elements", (found,))
    return parts[number].dimensions if parts[number] is not None else None


def _of_operand(place: int) -> Any:
    def rule(operation: Operation, shapes: Any, constants: Any) -> Any:
        return _numbers(constants[place])

    return rule


def _numbers(constant: Any) -> Any:
    found = integers(constant)
    return found if found is not None and len(found) <= _LONGEST_NUMBERS else None


def _reduced(operation: Operation, shapes: Any, constants: Any) -> Any:
    left_out = integers(operation.attributes.get("dimensions")) or ()
    return [size for axis, size in enumerate(shapes[0].dimensions) if axis not in left_out]


def _windows(operation: Operation, shapes: Any, constants: Any) -> Any:
    window = ROWS["stablehlo.reduce_window"].read(operation.attributes)["window"]
    return common.window_output(common.Operation("reduce-window", tuple(shapes), {}), shapes[0], window).dimensions


def _dot(operation: Operation, shapes: Any, constants: Any) -> Any:
    attributes = ROWS["stablehlo.dot_general"].read(operation.attributes)
    left, right = (replace(shape, element_type=shapes[0].element_type) for shape in shapes)
    found: Any = infer_shape("dot", (left, right), attributes)
    return found.dimensions


def _convolution(operation: Operation, shapes: Any, constants: Any) -> Any:
    attributes = dict(operation.attributes)
    if operation.name.endswith("dynamic_conv"):
        attributes["padding"] = constants[2]
    found: Any = infer_shape("convolution", shapes[:2], convolution(attributes, shapes[1]))
    return found.dimensions


def _gathered(operation: Operation, shapes: Any, constants: Any) -> Any:
    attributes = {**operation.attributes, "slice_sizes": constants[2]}
    found: Any = infer_shape("gather", shapes[:2], ROWS["stablehlo.gather"].read(attributes))
    return found.dimensions


def _padded(operation: Operation, shapes: Any, constants: Any) -> Any:
    rows = zip(shapes[0].dimensions, *(each.tolist() for each in constants[2:]), strict=True)
    return [low + size + high + max(size - 1, 0) * between for size, low, high, between in rows]


def _sliced(operation: Operation, shapes: Any, constants: Any) -> Any:
    rows = zip(*(each.tolist() for each in constants[1:]), strict=True)
    return [max(0, -(-(limit - start) // stride)) for start, limit, stride in rows]


_SIZES: dict[str, Any] = {
    "stablehlo.dynamic_broadcast_in_dim": _of_operand(1),
    "stablehlo.dynamic_reshape": _of_operand(1),
    "stablehlo.dynamic_iota": _of_operand(0),
    "stablehlo.dynamic_pad": _padded,
    "stablehlo.real_dynamic_slice": _sliced,
    "stablehlo.dynamic_gather": _gathered,
    "stablehlo.dynamic_conv": _convolution,
    "stablehlo.convolution": _convolution,
    "stablehlo.dot_general": _dot,
    "stablehlo.reduce": _reduced,
    "stablehlo.reduce_window": _windows,
    "stablehlo.triangular_solve": lambda operation, shapes, constants: shapes[1].dimensions,
}
_ALIKE = frozenset(
    f"stablehlo.{name}" for name in "reverse cholesky dynamic_update_slice optimization_barrier all_reduce".split()
) | {"sdy.sharding_constraint", "stablehlo.exponential", "stablehlo.log", "stablehlo.log_plus_one", "stablehlo.sqrt"}
