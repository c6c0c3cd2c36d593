"""Evaluation of expressions of the prelude from facts about their names.

Only the pure functions in the tables here are executed, on values that xla2py made itself.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from .lattice import (
    Array,
    Callback,
    Fact,
    Known,
    OneOf,
    Several,
    alternatives,
    as_tuple,
    bind,
    elements_of,
    joined,
    truth,
    tuple_of,
)

MOST_CASES = 144  # combinations of alternatives that an expression is evaluated for
LARGEST = 64  # elements of sequences, and bits of numbers
OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
FUNCTIONS = frozenset("abs all any bool enumerate int len list max min range reversed sorted sum tuple zip".split())
OF_LIBRARY: dict[str, Callable[..., Any]] = {
    "dtype": np.dtype,
    "result_type": np.result_type,
    "can_cast": np.can_cast,
    "issubdtype": np.issubdtype,
}
OF_SAME_DTYPE = frozenset(("ascontiguousarray", "broadcast_to", "flip", "moveaxis", "take_along_axis"))
OF_WORDS = frozenset(("endswith", "index", "partition", "replace", "split", "startswith", "strip"))
OF_DTYPES = frozenset(("itemsize", "kind", "name"))
LIBRARIES = frozenset(("np", "cp"))
FAILURES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class Evaluator:
    """An evaluator of expressions; ``constants`` and ``functions`` are those of the prelude that it may use."""

    def __init__(self, constants: Mapping[str, Fact], functions: Mapping[str, Callable[..., Any]]) -> None:
        self.constants = constants
        self.functions = functions

    def of(self, node: ast.expr, names: Mapping[str, Fact]) -> Fact:
        """Return the fact about an expression, evaluated for each combination of its names' alternatives."""
        cases = {name: names[name] for name in _names_in(node) if isinstance(names.get(name), OneOf)}
        several = [alternatives(fact) for fact in cases.values()]
        if not cases or math.prod(map(len, several)) > MOST_CASES:
            return self._of(node, names)
        return joined(*(self._of(node, {**names, **dict(zip(cases, case, strict=True))}) for case in product(*several)))

    def _of(self, node: ast.expr, names: Mapping[str, Fact]) -> Fact:
        rule = _RULES.get(type(node))
        if rule is None:
            return None
        try:
            fact = rule(self, node, names)
        except FAILURES:
            return None
        return None if isinstance(fact, Known) and _is_large(fact.value) else fact

    def values(self, nodes: list[ast.expr], names: Mapping[str, Fact]) -> list[Any] | None:
        """Return the values of expressions, including starred ones, if all are known, else None."""
        facts = self.elements(nodes, names)
        if facts is None or not all(isinstance(fact, Known) for fact in facts):
            return None
        return [fact.value for fact in facts if isinstance(fact, Known)]

    def elements(self, nodes: list[ast.expr], names: Mapping[str, Fact]) -> list[Fact] | None:
        """Return the fact about each element, or None if the number of elements is unknown."""
        found: list[Fact] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                parts = elements_of(as_tuple(self._of(node.value, names)))
                if parts is None:
                    return None
                found += parts
            else:
                found.append(self._of(node, names))
        return found


@lru_cache(maxsize=8192)
def _names_in(node: ast.expr) -> tuple[str, ...]:
    """Return the names that an expression mentions."""
    return tuple(part.id for part in ast.walk(node) if isinstance(part, ast.Name))


def _is_large(value: Any) -> bool:
    if isinstance(value, int):
        return value.bit_length() > LARGEST
    return isinstance(value, tuple | list | str) and len(value) > LARGEST


def _tuple(evaluator: Evaluator, node: ast.Tuple, names: Mapping[str, Fact]) -> Fact:
    elements = evaluator.elements(node.elts, names)
    return None if elements is None else tuple_of(elements)


def _list(evaluator: Evaluator, node: ast.List, names: Mapping[str, Fact]) -> Fact:
    values = evaluator.values(node.elts, names)
    return None if values is None else Known(values)


def _binary(evaluator: Evaluator, node: ast.BinOp, names: Mapping[str, Fact]) -> Fact:
    left, right = evaluator._of(node.left, names), evaluator._of(node.right, names)
    if isinstance(node.op, ast.Mult) and isinstance(right, Known) and not _is_short(left, right.value):
        return None
    if isinstance(node.op, ast.Add) and (isinstance(left, Several) or isinstance(right, Several)):
        parts = elements_of(left), elements_of(right)
        return None if None in parts else tuple_of([*(parts[0] or ()), *(parts[1] or ())])
    if not isinstance(left, Known) or not isinstance(right, Known) or type(node.op) not in OPERATORS:
        return None
    if isinstance(node.op, ast.LShift) and right.value > LARGEST:
        return None
    return Known(OPERATORS[type(node.op)](left.value, right.value))


def _is_short(fact: Fact, count: Any) -> bool:
    """Return whether a sequence that is repeated ``count`` times stays short."""
    is_sequence = isinstance(fact, Known) and isinstance(fact.value, tuple | list | str)
    return not is_sequence or (isinstance(count, int) and count <= LARGEST)


def _unary(evaluator: Evaluator, node: ast.UnaryOp, names: Mapping[str, Fact]) -> Fact:
    fact = evaluator._of(node.operand, names)
    if isinstance(node.op, ast.Not):
        known = truth(fact)
        return None if known is None else Known(not known)
    if isinstance(fact, Known) and type(node.op) in OPERATORS:
        return Known(OPERATORS[type(node.op)](fact.value))
    return None


def _boolean(evaluator: Evaluator, node: ast.BoolOp, names: Mapping[str, Fact]) -> Fact:
    ends_with = isinstance(node.op, ast.Or)
    last: Fact = None
    for value in node.values:
        last = evaluator._of(value, names)
        known = truth(last)
        if known is ends_with:
            return last
        if known is None:
            return None
    return last


def _choice(evaluator: Evaluator, node: ast.IfExp, names: Mapping[str, Fact]) -> Fact:
    known = truth(evaluator._of(node.test, names))
    if known is None:
        return joined(evaluator._of(node.body, names), evaluator._of(node.orelse, names))
    return evaluator._of(node.body if known else node.orelse, names)


def _compare(evaluator: Evaluator, node: ast.Compare, names: Mapping[str, Fact]) -> Fact:
    facts = [evaluator._of(part, names) for part in (node.left, *node.comparators)]
    is_of_none = len(facts) == 2 and facts[1] == Known(None)
    if is_of_none and isinstance(facts[0], Several | Array | Callback):
        return Known(isinstance(node.ops[0], ast.IsNot | ast.NotEq))
    results = []
    for op, left, right in zip(node.ops, facts, facts[1:], strict=False):
        if not isinstance(left, Known) or not isinstance(right, Known):
            return None
        results.append(OPERATORS[type(op)](left.value, right.value))
    return Known(all(results))


def _attribute(evaluator: Evaluator, node: ast.Attribute, names: Mapping[str, Fact]) -> Fact:
    if isinstance(node.value, ast.Name) and node.value.id in LIBRARIES and node.value.id not in names:
        found = getattr(np, node.attr, None)
        return Known(found) if isinstance(found, type) and issubclass(found, np.generic) else None
    fact = evaluator._of(node.value, names)
    if isinstance(fact, Array):
        return attribute_of(fact, node.attr)
    if isinstance(fact, Known) and isinstance(fact.value, np.dtype) and node.attr in OF_DTYPES:
        return Known(getattr(fact.value, node.attr))
    return None


def _subscript(evaluator: Evaluator, node: ast.Subscript, names: Mapping[str, Fact]) -> Fact:
    fact = evaluator._of(node.value, names)
    if isinstance(fact, Array):
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return indexed(fact, evaluator.elements(items, names))
    index = evaluator._of(node.slice, names)
    if not isinstance(index, Known):
        return None
    if isinstance(fact, Several):
        found = fact.elements[index.value]
        return tuple_of(found) if isinstance(found, tuple) else found
    return Known(fact.value[index.value]) if isinstance(fact, Known) else None


def _slice(evaluator: Evaluator, node: ast.Slice, names: Mapping[str, Fact]) -> Fact:
    parts = [
        Known(None) if part is None else evaluator._of(part, names) for part in (node.lower, node.upper, node.step)
    ]
    values = [part.value for part in parts if isinstance(part, Known)]
    return Known(slice(*values)) if len(values) == 3 else None


def _call(evaluator: Evaluator, node: ast.Call, names: Mapping[str, Fact]) -> Fact:
    function = node.func
    if isinstance(function, ast.Name):
        return _called(evaluator, node, function.id, names)
    if not isinstance(function, ast.Attribute):
        return None
    of_library = isinstance(function.value, ast.Name) and function.value.id in LIBRARIES
    if of_library and function.attr in OF_LIBRARY:
        return _applied(evaluator, node, OF_LIBRARY[function.attr], names)
    if of_library and function.attr == "pad":
        return padded(*(evaluator._of(part, names) for part in node.args[:2]))
    if of_library and function.attr in OF_SAME_DTYPE:
        first = evaluator._of(node.args[0], names)
        return Array(first.dtype, None) if isinstance(first, Array) else None
    fact = evaluator._of(function.value, names)
    if isinstance(fact, Array):
        return result_of_method(fact, function.attr, [evaluator._of(part, names) for part in node.args])
    if isinstance(fact, Known) and isinstance(fact.value, str) and function.attr in OF_WORDS:
        return _applied(evaluator, node, getattr(fact.value, function.attr), names)
    return None


def _called(evaluator: Evaluator, node: ast.Call, name: str, names: Mapping[str, Fact]) -> Fact:
    if name in names:
        return None
    first = evaluator._of(node.args[0], names) if node.args else None
    if name == "isinstance" and first is not None:
        return _is_instance(first, ast.unparse(node.args[1]))
    if name == "pad":
        return padded(first, None)
    if name == "len":
        parts = elements_of(as_tuple(first))
        if parts is not None:
            return Known(len(parts))
        is_sized = isinstance(first, Array) and first.shape and first.shape[0] is not None
        return Known(first.shape[0]) if is_sized else None  # type: ignore[union-attr,index]
    if name == "map" and len(node.args) == 2 and isinstance(node.args[0], ast.Name):
        known = evaluator.values(node.args[1:], names)
        word = node.args[0].id
        mapped = getattr(builtins, word) if word in FUNCTIONS else evaluator.functions.get(word)
        return None if known is None or mapped is None else Known(tuple(map(mapped, *known)))
    if name == "prod":
        return _applied(evaluator, node, math.prod, names)
    if name in FUNCTIONS:
        return _applied(evaluator, node, getattr(builtins, name), names)
    return _applied(evaluator, node, evaluator.functions[name], names) if name in evaluator.functions else None


_KINDS: dict[str, Callable[[Fact], bool]] = {
    "tuple": lambda fact: elements_of(fact) is not None,
    "np.ufunc": lambda fact: isinstance(fact, Callback) and fact.is_ufunc,
    "np.ndarray": lambda fact: isinstance(fact, Array),
}


def _is_instance(fact: Fact, kind: str) -> Fact:
    return Known(_KINDS[kind](fact)) if kind in _KINDS else None


def _applied(evaluator: Evaluator, node: ast.Call, function: Callable[..., Any], names: Mapping[str, Fact]) -> Fact:
    """Return the fact about a pure function of known values."""
    arguments = evaluator.values(node.args, names)
    keywords = {word.arg: evaluator._of(word.value, names) for word in node.keywords if word.arg is not None}
    if arguments is None or not all(isinstance(fact, Known) for fact in keywords.values()):
        return None
    if len(keywords) < len(node.keywords) or any(isinstance(part, range) and len(part) > LARGEST for part in arguments):
        return None
    result = function(*arguments, **{k: fact.value for k, fact in keywords.items() if isinstance(fact, Known)})
    return Known(tuple(result) if isinstance(result, Iterator) else result)


def _comprehension(evaluator: Evaluator, node: ast.ListComp | ast.GeneratorExp, names: Mapping[str, Fact]) -> Fact:
    """Return the fact about a comprehension over a known sequence."""
    (generator,) = node.generators
    iterated = elements_of(as_tuple(evaluator._of(generator.iter, names)))
    if iterated is None or len(iterated) > LARGEST:
        return None
    found = []
    for item in iterated:
        inner = dict(names)
        bind(generator.target, item, inner)
        tests = [truth(evaluator._of(test, inner)) for test in generator.ifs]
        if None in tests:
            return None
        if all(tests):
            found.append(evaluator._of(node.elt, inner))
    whole = tuple_of(found)
    is_list = isinstance(node, ast.ListComp) and isinstance(whole, Known)
    return Known(list(whole.value)) if is_list else whole  # type: ignore[union-attr]


_RULES: dict[type, Callable[..., Fact]] = {
    ast.Constant: lambda _, node, names: Known(node.value),
    ast.Name: lambda evaluator, node, names: names[node.id] if node.id in names else evaluator.constants.get(node.id),
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.IfExp: _choice,
    ast.Compare: _compare,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Call: _call,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
}

# -- arrays: attributes, parts, results of methods


def attribute_of(array: Array, name: str) -> Fact:
    """Return the fact about an attribute of an array."""
    shape = array.shape
    if name in ("dtype", "itemsize") and array.dtype is not None:
        return Known(array.dtype if name == "dtype" else array.dtype.itemsize)
    if shape is None:
        return None
    if name == "shape":
        return tuple_of([None if n is None else Known(n) for n in shape])
    if name == "ndim":
        return Known(len(shape))
    if name == "size" and None not in shape:
        return Known(math.prod(n for n in shape if n is not None))
    if name == "T":
        return Array(array.dtype, shape[::-1])
    return Array(array.dtype, (*shape[:-2], *shape[:-3:-1])) if name == "mT" else None


def indexed(array: Array, facts: list[Fact] | None) -> Array:
    """Return the fact about an array indexed by whole axes, numbers and new axes, given facts about these items."""
    if facts is None or array.shape is None:
        return Array(array.dtype, None)
    left, shape = list(array.shape), list[int | None]()
    if Known(...) in facts:
        places = sum(fact != Known(None) for fact in facts) - 1
        k = facts.index(Known(...))
        facts[k : k + 1] = [Known(slice(None))] * (len(left) - places)
    for fact in facts:
        if not isinstance(fact, Known) or not isinstance(fact.value, slice | int | None):
            return Array(array.dtype, None)
        if fact.value is None:
            shape.append(1)
            continue
        size = left.pop(0)
        if isinstance(fact.value, slice):
            shape.append(None if size is None else len(range(*fact.value.indices(size))))
    return Array(array.dtype, (*shape, *left))


def padded(array: Fact, widths: Fact) -> Fact:
    """Return the fact about a padded array; its sizes are unknown if the widths are."""
    if not isinstance(array, Array) or array.shape is None:
        return None
    by = [sum(pair) for pair in widths.value] if isinstance(widths, Known) else [None] * len(array.shape)
    shape = tuple(None if n is None or k is None else n + k for n, k in zip(array.shape, by, strict=True))
    return Array(array.dtype, shape)


def result_of_method(array: Array, name: str, arguments: Sequence[Fact]) -> Fact:
    """Return the fact about the result of an array's method, given facts about the arguments."""
    first = arguments[0] if arguments else None
    if name in ("copy", "conj"):
        return array
    if name == "astype" and arguments:
        return Array(np.dtype(first.value) if isinstance(first, Known) else None, array.shape)
    if name == "transpose":
        if len(arguments) == 1 and isinstance(first, Known) and array.shape is not None:
            return Array(array.dtype, tuple(array.shape[axis] for axis in first.value))
        return Array(array.dtype, None if array.shape is None else (None,) * len(array.shape))
    return Array(array.dtype, None) if name == "reshape" else None
