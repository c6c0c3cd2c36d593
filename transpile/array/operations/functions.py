"""The rows of functions that are called by name: those of the prelude, and those of the array library, ``np.hypot``.

The row of a function is in a file ``rows.toml`` beside it: ``softmax = { shape = "like 0", names = ["weights"] }``.
``shape`` is one of

- a signature as NumPy's generalised ufuncs have: ``(),()->()`` is element-wise, ``(n,n),(n,m)->(n,m)`` works on
  the last axes and broadcasts those before them. A size that only results have is the smaller of the first operand's
  last two;
- ``like 0``: the shape of an operand; ``argument 1``: the sizes in an argument of the call;
- ``count 1``: one axis, whose size is an argument; ``last axis 1``: the shape of the first operand with an argument
  as the size of its last axis;
- ``elementwise``: the shape of all operands, broadcast; ``matmul``; ``einsum``: by the third argument;
  ``reduction``: by the keywords ``axis`` and ``keepdims``; or another word of ``function_shapes.py``;
- ``given``: by the code that makes the call.

``type`` is ``same`` (as the operands), ``real`` or ``complex`` (the corresponding type), the name of an element type,
``argument 1`` (the type in an argument, by default that of the first operand), a word of ``function_shapes.py``, or
``given``. For a function with several results, ``type`` is a list, and ``shape`` may be one. ``results`` replaces both
if one word gives them together, as for functions that take one array or several and return as many. ``names`` are the
default names of the results (by default, those of a prelude function among the arguments), ``axes`` is a word for the
axis map if ``shape`` does not give it (:data:`WORDS`), ``discontinuous``, ``takes_arrays``, ``passes_on``,
``read_only``, ``moves``, ``quiet`` and ``blocks_fusion`` are traits.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from ...hlo.element_types import C64, C128, ELEMENT_TYPES, F64, ElementType
from ..node import PreludeName
from ..operation import AxesRule, AxisMap, Operand, Operation, Parameters, ResultsRule, Shape, ShapeRule, TypeRule
from . import axes
from .function_shapes import RESULTS, SHAPES, TYPES, argument
from .inference import broadcast, broadcast_shapes, common_type, real_type, reduced_shape, type_of_first
from .parameters import ANY
from .products import einsum_shape, matmul_axes, matmul_shape
from .rows import flags
from .windows import convolved_axes, window_axes


def _padded(node: Any) -> list[AxisMap]:
    """Return axis maps of ``pad``: axes without padding and without gaps between their elements are mapped."""
    padding, interior = node.parameters["arguments"][2], node.parameters["keywords"].get("interior")
    gaps = interior or (0,) * node.ndim
    whole = [tuple(ends) != (0, 0) or gap != 0 for ends, gap in zip(padding, gaps, strict=True)]
    return [tuple(None if needed else axis for axis, needed in enumerate(whole)), ()]


def _of_second(node: Any) -> list[AxisMap]:
    """Return axis maps of the second operand only; each element needs the whole first operand, such as a random state
    or a table.
    """
    first, second = node.operands
    return [(None,) * first.ndim, tuple(range(second.ndim))]


def _bitcast(node: Any) -> list[AxisMap]:
    """Return the axis map of a bitcast, whose last axis may appear or disappear."""
    shared = min(node.ndim, node.operands[0].ndim)
    return [tuple(axis if axis < shared else None for axis in range(node.operands[0].ndim))]


def _right_sides(node: Any) -> list[AxisMap]:
    """Return axis maps of triangular solves: right sides share the matrix and are independent of each other."""
    matrix, sides = axes.matrices(node)
    free = node.ndim - 1
    return [matrix, tuple(free if axis == free else place for axis, place in enumerate(sides))]


def _features(node: Any) -> list[AxisMap]:
    """Return axis maps of batch normalisation with known statistics, whose other operands are vectors along one
    axis.
    """
    axis = node.parameters["keywords"].get("axis", -1) % node.ndim
    return [tuple(range(node.ndim)), *((axis,) for _ in node.operands[1:])]


def _updated(node: Any) -> list[AxisMap]:
    """Return axis maps of a dynamic update: axes that the update covers as a whole are mapped."""
    x, update, *starts = node.operands
    own = tuple(axis if size == update.shape[axis] else None for axis, size in enumerate(x.shape))
    return [own, own, *((None,) * start.ndim for start in starts)]


def _folded(node: Any) -> list[AxisMap]:
    """Return axis maps of a reduction of several arrays by one function."""
    gone = node.parameters["arguments"][-1]
    return [axes.without(operand.ndim, gone) if operand.ndim else () for operand in node.operands]


def _along_argument(place: int) -> AxesRule:
    """Return a rule that maps all axes except the one in an argument of the call."""
    return lambda node: axes.all_but(node, node.parameters["arguments"][place])


# The rules for axis maps, by the words that rows use.
WORDS: dict[str, Callable[[Any], list[AxisMap]]] = {
    "padded": _padded,
    "of second": _of_second,
    "bitcast": _bitcast,
    "right sides": _right_sides,
    "last axis": axes.rows,
    "features": _features,
    "updated": _updated,
    "folded": _folded,
    "along keyword": lambda node: axes.all_but(node, node.parameters["keywords"].get("axis", 0)),
    "along argument 1": _along_argument(1),
    "along last argument": _along_argument(-1),
    "convolution": convolved_axes,
    "windows": window_axes,
}

_ROOT = Path(__file__).parents[3]

_CALL = {"function": ANY, "arguments": ANY, "keywords": ANY}

_GIVEN = "given"

IN_CHUNKS = "_in_chunks"  # suffix of functions that do the same work chunk by chunk

# The row of calls of which nothing is known: functions of the user's, and functions without a row.
UNKNOWN = Operation("prelude", ("*operands",), _CALL, axes=axes.nothing, is_costly=True)


def function_row(opcode: str, parameters: Parameters) -> Operation:
    """Return the row of a call by name, of opcode ``prelude`` or ``library``; ``UNKNOWN`` for a function without
    one.
    """
    function = parameters["function"]
    rows = _library() if opcode == "library" else _prelude()
    if not isinstance(function, str):
        return UNKNOWN
    row = rows.get(function) or _row_in_chunks(function)
    return row if row.default_names else _named_after(row, parameters["arguments"], rows)


def _named_after(row: Operation, arguments: Sequence[Any], rows: Mapping[str, Operation]) -> Operation:
    """Return the row with the default names of the first prelude function among the arguments, which the function
    applies.
    """
    applied = (rows[each.name] for each in arguments if isinstance(each, PreludeName) and each.name in rows)
    return replace(row, default_names=next(applied, row).default_names)


def _row_in_chunks(function: str) -> Operation:
    """Return the row of a function that works chunk by chunk: ``UNKNOWN`` with the default names of the function
    without the suffix.
    """
    row = _prelude().get(function.removesuffix(IN_CHUNKS), UNKNOWN)
    return replace(UNKNOWN, default_names=row.default_names)


def rows_of(path: Path, opcode: str) -> dict[str, Operation]:
    """Return the rows that a file declares. Raises ValueError if a row is malformed."""
    with path.open("rb") as file:
        return {name: _row(opcode, row) for name, row in tomllib.load(file).items()}


_FOLDERS: dict[Path, None] = {}  # of the targets' preludes


def declare_prelude(folder: Path) -> None:
    """Register the ``rows.toml`` of a prelude folder, if it has one; rows of the shared prelude take precedence."""
    _FOLDERS[folder] = None


def _prelude() -> Mapping[str, Operation]:
    return _rows(tuple(_FOLDERS))


@cache
def _rows(folders: tuple[Path, ...]) -> Mapping[str, Operation]:
    rows: dict[str, Operation] = {}
    for path in (folder / "rows.toml" for folder in (*sorted(folders), _ROOT / "templates" / "prelude")):
        rows.update(rows_of(path, "prelude") if path.exists() else {})
    return rows


@cache
def _library() -> Mapping[str, Operation]:
    return rows_of(Path(__file__).with_name("library.toml"), "library")


def _row(opcode: str, declared: Mapping[str, Any]) -> Operation:
    rules = _together(declared["results"]) if "results" in declared else _apart(declared)
    word = declared.get("shape", "")
    maps = WORDS[declared["axes"]] if "axes" in declared else _axes_rule(word)
    return Operation(
        opcode,
        ("*operands",),
        _CALL,
        axes=maps,
        shares_axes="axes" in declared,
        default_names=tuple(declared.get("names", ())),
        is_elementwise=word == "elementwise" or _is_elementwise(word),
        is_reduction=word == "reduction",
        is_costly=opcode == "prelude",
        allocates=opcode == "library",  # a prelude function may return its argument
        **rules,
        **flags(word for word, value in declared.items() if value is True),
    )


def _apart(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rules of a row with separate words for shape and element type."""
    word, types = declared["shape"], declared.get("type", "same")
    if isinstance(types, list):
        return {"results": _results_rule(word, types)}
    by_promotion = types == "same" and (word == "elementwise" or _is_elementwise(word))
    return {"shape": _shape_rule(word), "element_type": common_type if by_promotion else _type_rule(types)}


def _together(word: str) -> dict[str, Any]:
    """Return the rules of a row whose word ``results`` gives shapes and types together, of one array or of several."""
    rule = RESULTS[word]

    def shape(operands: Sequence[Operand], parameters: Parameters) -> Shape | None:
        found = rule(operands, parameters)
        return None if isinstance(found, list) else found[0]

    def element_type(operands: Sequence[Operand], parameters: Parameters) -> ElementType | None:
        found = rule(operands, parameters)
        return None if isinstance(found, list) else found[1]

    def results(operands: Sequence[Operand], parameters: Parameters) -> tuple[Any, ...] | None:
        found = rule(operands, parameters)
        return tuple(found) if isinstance(found, list) else None

    return {"shape": shape, "element_type": element_type, "results": results}


# -- words for shapes


def _is_elementwise(word: str | list[str]) -> bool:
    return isinstance(word, str) and "->" in word and not set(word) - set("(),->")


def _shape_rule(word: str) -> ShapeRule | None:
    if word == _GIVEN:
        return None
    if word == "elementwise" or _is_elementwise(word):
        return broadcast
    if "->" in word:
        signature = Signature(word)
        return lambda operands, parameters: signature.shapes(operands)[0]
    if word in _SHAPES:
        return _SHAPES[word]
    kind, _, number = word.rpartition(" ")
    return _PLACED[kind](int(number))


def _reduction(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    shape, keywords = operands[0].shape, parameters["keywords"]
    axis = keywords.get("axis")
    given = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    folded = [each % len(shape) for each in given]
    return reduced_shape(shape, folded, bool(keywords.get("keepdims")))


def _einsum(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    return einsum_shape(operands, {"subscripts": parameters["arguments"][2]})


_SHAPES: dict[str, ShapeRule] = {"matmul": matmul_shape, "einsum": _einsum, "reduction": _reduction, **SHAPES}

_PLACED: dict[str, Callable[[int], ShapeRule]] = {
    "like": lambda number: lambda operands, parameters: operands[number].shape,
    "argument": lambda number: lambda operands, parameters: tuple(parameters["arguments"][number]),
    "count": lambda number: lambda operands, parameters: (parameters["arguments"][number],),
    "last axis": lambda number: lambda operands, parameters: (*operands[0].shape[:-1], parameters["arguments"][number]),
}

_GROUP = re.compile(r"\(([^)]*)\)")


def _names(group: str) -> tuple[str, ...]:
    return tuple(name for name in group.split(",") if name)


class Signature:
    """A signature of a generalised ufunc: the names of the last axes of each operand and of each result."""

    def __init__(self, text: str) -> None:
        operands, results = text.split("->")
        self.operands = [_names(group) for group in _GROUP.findall(operands)]
        self.results = [_names(group) for group in _GROUP.findall(results)]

    def shapes(self, operands: Sequence[Operand]) -> list[Shape]:
        """Return the shapes of the results. Raises ValueError if the shapes of the operands do not fit."""
        sizes: dict[str, int] = {}
        batch: Shape = ()
        for operand, names in zip(operands, self.operands, strict=True):
            first = len(operand.shape) - len(names)
            for name, size in zip(names, operand.shape[first:], strict=True):
                if sizes.setdefault(name, size) != size:
                    raise ValueError(f"axes {name} have {sizes[name]} and {size} elements")
            batch = broadcast_shapes(batch, operand.shape[:first])
        least = min(sizes.values(), default=0)
        return [(*batch, *(sizes.get(name, least) for name in names)) for names in self.results]

    def axes(self, node: Any) -> list[AxisMap]:
        """Return axis maps of the batch axes, those before the axes that the signature names."""
        return [axes.leading(len(o.shape), len(names)) for o, names in zip(node.operands, self.operands, strict=True)]


# -- words for element types


def _type_rule(word: str) -> TypeRule | None:
    if word == _GIVEN:
        return None
    if word in _TYPES:
        return _TYPES[word]
    if word.startswith("argument "):
        number = int(word.removeprefix("argument "))
        return lambda operands, parameters: argument(parameters, number, None) or type_of_first(operands, parameters)
    element_type = ELEMENT_TYPES[word]
    return lambda operands, parameters: element_type


def _complex(operands: Sequence[Operand], parameters: Parameters) -> ElementType:
    return C128 if operands[0].element_type is F64 else C64


_TYPES: dict[str, TypeRule] = {"same": type_of_first, "real": real_type, "complex": _complex, **TYPES}


def _results_rule(word: str | list[str], types: Sequence[str]) -> ResultsRule | None:
    """Return the rule for several results; None unless the row gives all of their shapes and types. One shape may hold
    for all.
    """
    type_rules = [rule for rule in map(_type_rule, types) if rule is not None]
    shape_rules = _shape_rules(word, len(types))
    if len(type_rules) < len(types) or shape_rules is None:
        return None
    shapes_of, rules = shape_rules, type_rules

    def results(operands: Sequence[Operand], parameters: Parameters) -> tuple[tuple[Shape, Any], ...]:
        found = [rule(operands, parameters) for rule in rules]
        return tuple(zip(shapes_of(operands, parameters), found, strict=True))

    return results


def _shape_rules(
    word: str | list[str], count: int
) -> Callable[[Sequence[Operand], Parameters], Sequence[Shape]] | None:
    """Return the rule for the shapes of several results: by a signature, by one word for all, or by a word for each."""
    if isinstance(word, str) and "->" in word:
        signature = Signature(word)
        return lambda operands, parameters: signature.shapes(operands)
    words = word if isinstance(word, list) else [word] * count
    rules = [rule for rule in map(_shape_rule, words) if rule is not None]
    if not rules:
        return None

    def shapes(operands: Sequence[Operand], parameters: Parameters) -> list[Shape]:
        found = [rule(operands, parameters) for rule in rules]
        return [shape for shape in found if shape is not None]

    return shapes


# -- axis maps


def _axes_rule(word: str | list[str]) -> Callable[[Any], list[AxisMap]]:
    if word == "elementwise" or _is_elementwise(word):
        return axes.elementwise
    if isinstance(word, str) and "->" in word:
        return Signature(word).axes
    return matmul_axes if word == "matmul" else axes.nothing
