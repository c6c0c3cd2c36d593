"""Rewriting a program by rules: functions of one operation, of the operations in order, to no end.

A rule gives the values that take the place of an operation's results, changes the operation, or does neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from ..hlo.shapes import ArrayShape
from ..hlo.source import SourceText
from .broadcasts import BROADCASTS, broadcasting
from .dense import compact
from .expansions import NAMES, expand
from .folding import folded
from .program import Operation, Region, Type, Value, walk
from .sizes import BRANCHES, Refiner, overflows

_MOST_ROUNDS = 8
_MOST_FOLDED = 65536  # elements
_EFFECTS = frozenset(f"stablehlo.{name}" for name in "infeed outfeed send recv return rng".split())

Replacement = Sequence[Value] | None  # of the results; None where the operation stays
Rule = Callable[["Simplifier", Operation], Replacement]


class Simplifier:
    """Simplifies one function by the rules for operations of each name, in order."""

    def __init__(
        self, region: Region, source: SourceText, rules: Mapping[str, Sequence[Rule]], refiner: Refiner | None = None
    ) -> None:
        self.region = region
        self.source = source
        self.rules = rules
        self.refiner = refiner
        self.kept: list[Operation] = []  # of the region at hand
        self.made: dict[Value, Operation] = {}
        self.constants: dict[Value, Any] = {}
        self.folded: dict[tuple[int, ...], tuple[Any, Any]] = {}  # beside each array what its key names, which stays
        self.replaced: dict[Value, Value] = {}
        self.turned: dict[Value, tuple[Value, tuple[int, ...]]] = {}  # transposes that became reshapes

    @cached_property
    def uses(self) -> Counter[Value]:
        """How often each value is an operand."""
        return Counter(chain.from_iterable(operation.operands for operation in walk(self.region.operations)))

    def run(self) -> None:
        self.in_region(self.region)
        if self.replaced:
            for operation in walk(self.region.operations):
                self.update(operation)
        _remove_unused(self.region, set())

    def final(self, value: Value) -> Value:
        """Return the value that replaces this one, or this one itself."""
        while value in self.replaced:
            value = self.replaced[value]
        return value

    def update(self, operation: Operation) -> None:
        """Let an operation take what replaces its operands."""
        if not self.replaced.keys().isdisjoint(operation.operands):
            operation.operands = [self.final(value) for value in operation.operands]

    def in_region(self, region: Region) -> None:
        """Simplify operations in order, those that they hold before them."""
        outer, self.kept = self.kept, []
        waiting = region.operations[::-1]
        while waiting:
            operation = waiting.pop()
            if self.replaced:
                self.update(operation)
            if self.refiner is not None:
                self.refiner.refine(operation, self.constants)
            if operation.regions:
                if (branch := self.only_branch(operation)) is not None:
                    self.replaced.update(zip(operation.results, branch.returned, strict=False))
                    waiting += branch.operations[-2::-1]
                    continue
                self.in_regions(operation)
                if self.never_runs(operation):
                    self.replaced.update(zip(operation.results, operation.operands, strict=False))
                    continue
            replacement = self.rewritten(operation) if operation.name in self.rules else None
            if replacement is not None:
                self.replaced.update(zip(operation.results, replacement, strict=True))
            elif operation.name in _WRITTEN_OUT and (parts := _written_out(operation, self.source)) is not None:
                waiting += parts[::-1]
            else:
                self.keep(operation)
        region.operations, self.kept = self.kept, outer

    def keep(self, operation: Operation) -> None:
        """Let an operation stand behind those that are kept already."""
        for result in operation.results:
            self.made[result] = operation
        value = operation.attributes.get("value") if operation.name == "stablehlo.constant" else None
        if isinstance(value, np.ndarray):
            self.constants[operation.results[0]] = small = compact(value)
            if small is not value:
                operation.attributes = {**operation.attributes, "value": small}
        self.kept.append(operation)

    def insert(
        self, origin: Operation, name: str, operands: Sequence[Value], shape: ArrayShape, attributes: dict[str, Any]
    ) -> Value:
        """The value of a new operation that stands before the one that it comes from."""
        made = Operation(f"stablehlo.{name}", operands, [Value(shape)], attributes, [], origin.location, origin.span)
        replacement = self.rewritten(made)
        if replacement is not None:
            return replacement[0]
        self.keep(made)
        return made.results[0]

    def in_regions(self, operation: Operation) -> None:
        """Simplify what an operation holds; of a loop before and after that what it carries."""
        is_loop = operation.name == "stablehlo.while"
        if is_loop:
            self.without_invariants(operation)
        for _ in range(_MOST_ROUNDS):
            for inner in operation.regions:
                self.in_region(inner)
            if not is_loop or not self.without_invariants(operation):
                break
        if self.refiner is not None and operation.name in BRANCHES:
            self.refiner.branches(operation)

    def rewritten(self, operation: Operation) -> Replacement:
        """Apply rules until none changes the operation."""
        for _ in range(_MOST_ROUNDS):
            name, attributes, operands = operation.name, operation.attributes, operation.operands
            for step in self.rules.get(name, ()):
                found = step(self, operation)
                if found is not None:
                    return found
                if operation.name != name:
                    break
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
        return array is not None and is_splat_array(array) and bool(array.flat[0] == number)

    def is_same(self, left: Value, right: Value) -> bool:
        """Tell whether two values are one, or equal constants."""
        if left is right:
            return True
        arrays = self.constant(left), self.constant(right)
        if arrays[0] is None or arrays[1] is None or left.type != right.type:
            return False
        if all(map(is_splat_array, arrays)):
            return all(array.ravel()[:1].tobytes() == arrays[0].ravel()[:1].tobytes() for array in arrays)
        return arrays[0].size <= _MOST_FOLDED and bool(arrays[0].tobytes() == arrays[1].tobytes())

    def fold(self, operation: Operation) -> None:
        """Make an operation on constants the constant that it gives. Operations that are alike are worked out once."""
        operands: list[Any] = []
        for value in operation.operands:
            if value not in self.constants:
                return
            operands.append(self.constants[value])
        if self.refiner is not None and overflows(operation, operands):
            return
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
        is_small = shape.size <= _MOST_FOLDED or all(map(is_splat_array, operands))
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

    def never_runs(self, loop: Operation) -> bool:
        """Tell whether an operation is a loop whose condition is always false."""
        returned = loop.regions[0].returned if loop.name == "stablehlo.while" else ()
        return len(returned) == 1 and self.is_all(self.final(returned[0]), 0)

    def without_invariants(self, loop: Operation) -> bool:
        """What the body hands back as it was, is seen from outside instead. Tells whether there was any."""
        if len(loop.regions) != 2 or not loop.regions[1].operations:
            return False
        condition, body = loop.regions
        last = body.operations[-1]
        returned = [self.final(value) for value in last.operands]
        if not len(returned) == len(loop.operands) == len(body.arguments) == len(condition.arguments):
            return False
        kept = [
            k
            for k, value in enumerate(returned)
            if value is not body.arguments[k] and not self.is_same(value, loop.operands[k])
        ]
        if len(kept) == len(returned):
            return False
        for k in range(len(returned)):
            if k not in kept:
                for value in (condition.arguments[k], body.arguments[k], loop.results[k]):
                    self.replaced[value] = loop.operands[k]
        last.operands = [returned[k] for k in kept]
        loop.operands = [loop.operands[k] for k in kept]
        loop.results = [loop.results[k] for k in kept]
        for region in loop.regions:
            region.arguments = [region.arguments[k] for k in kept]
        return True


def is_splat_array(array: Any) -> bool:
    """Tell whether an array is one number everywhere, as far as that costs nothing to see."""
    return isinstance(array, np.ndarray) and array.size > 0 and (array.size == 1 or not any(array.strides))


def is_empty(value: Value) -> bool:
    """Tell whether a value is an array without elements."""
    shape = value.type
    return isinstance(shape, ArrayShape) and 0 in shape.dimensions and not shape.is_dynamic


def dimension_of(operation: Operation) -> Any:
    return operation.attributes.get("dimension", operation.attributes.get("dim"))


def _written_out(operation: Operation, source: SourceText) -> Sequence[Operation] | None:
    """The operations that take the place of one which HLO does not have; None where it stays."""
    return broadcasting(operation, source) or expand(operation)


_WRITTEN_OUT = BROADCASTS.keys() | {f"{dialect}.{name}" for name in NAMES for dialect in ("chlo", "stablehlo")}


# -- what nothing needs


def _remove_unused(region: Region, needed: set[Value]) -> None:
    """Take away operations whose results nothing needs, and which do nothing else. ``needed`` is what comes behind."""
    kept: list[Operation] = []
    for operation in reversed(region.operations):
        if needed.isdisjoint(operation.results) and _is_pure(operation):
            continue
        if operation.regions:
            for inner in operation.regions:
                _remove_unused(inner, needed)
        kept.append(operation)
        needed.update(operation.operands)
    region.operations = kept[::-1]


def _is_pure(operation: Operation) -> bool:
    return _has_no_effect(operation) and all(
        each.name.endswith(".return") or _has_no_effect(each)
        for region in operation.regions
        for each in walk(region.operations)
    )


def _has_no_effect(operation: Operation) -> bool:
    name = operation.name
    if name == "stablehlo.custom_call":
        return operation.attributes.get("has_side_effect") is not True
    return name.startswith(("stablehlo.", "chlo.")) and name not in _EFFECTS
