"""Shape and type rules of functions that are called by name, under the words that their rows use.

A rule for results returns ``(shape, element type)`` if the function returns one array, and a list of these if it
returns a tuple: some functions take one array or a tuple of arrays, and return as many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ...hlo.attributes import PaddingDimension
from ...hlo.element_types import ELEMENT_TYPES, S64, ElementType
from ...hlo.shapes import ArrayShape
from ..operation import Operand, Parameters, Shape, ShapeRule, TypeRule
from .indexing import taken_shape
from .inference import broadcast, reduced_shape
from .reductions import transformed_shape, transformed_type
from .windows import array_shape, convolved, sizes_of, window_places

ArrayType = tuple[Shape, "ElementType | None"]
Results = ArrayType | list[ArrayType]
Rule = Callable[[Sequence[Any], Parameters], Results]


def argument(parameters: Parameters, number: int, otherwise: Any) -> Any:
    """Return an argument of a call, or ``otherwise`` if the call has fewer."""
    arguments = parameters["arguments"]
    return arguments[number] if number < len(arguments) else otherwise


def _shapes(operands: Sequence[Operand]) -> list[ArrayShape]:
    return [array_shape(operand) for operand in operands]


# -- shapes: data movement


def _taken(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    values, index = operands
    return taken_shape(values.shape, index.shape, parameters["keywords"].get("axis", 0))


def _gathered(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    numbers = dict(parameters["keywords"])
    numbers.setdefault("index_vector_dim", len(operands[1].shape) - 1)
    return sizes_of("gather", _shapes(operands), {**numbers, "slice_sizes": parameters["arguments"][2]})


def _extended(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    """Return the shape of HLO's pad: widths may be negative, and elements may be spaced by interior padding."""
    ends = parameters["arguments"][2]
    gaps = parameters["keywords"].get("interior") or (0,) * len(ends)
    padding = tuple(PaddingDimension(low, high, gap) for (low, high), gap in zip(ends, gaps, strict=True))
    return sizes_of("pad", _shapes(operands), {"padding": padding})


def _padded(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    """Return the shape of ``np.pad``: one width for all sides, one pair for all axes, or a pair for each."""
    shape, given = operands[0].shape, parameters["arguments"][1]
    pair = (given, given) if isinstance(given, int) else given
    pairs = pair if pair and isinstance(pair[0], tuple) else (pair,) * len(shape)
    return tuple([size + low + high for size, (low, high) in zip(shape, pairs, strict=True)])


def _repeated(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    shape, count = operands[0].shape, parameters["arguments"][1]
    axis = parameters["keywords"].get("axis")
    if axis is None:
        return (prod(shape) * count,)
    return tuple([size * count if k == axis % len(shape) else size for k, size in enumerate(shape)])


def _tiled(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    shape, counts = operands[0].shape, parameters["arguments"][1]
    counts = counts if isinstance(counts, tuple) else (counts,)
    ndim = max(len(shape), len(counts))
    shape, counts = (1,) * (ndim - len(shape)) + shape, (1,) * (ndim - len(counts)) + counts
    return tuple([size * count for size, count in zip(shape, counts, strict=True)])


def _differences(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    shape, keywords = operands[0].shape, parameters["keywords"]
    axis, times = keywords.get("axis", -1) % len(shape), keywords.get("n", 1)
    return tuple([max(size - times, 0) if k == axis else size for k, size in enumerate(shape)])


def _with_diagonal(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    """Return the shape of ``np.diag`` of a vector: a square matrix."""
    (size,) = operands[0].shape
    return (size + abs(argument(parameters, 1, 0)),) * 2


def _kronecker(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    return tuple([one * other for one, other in zip(operands[0].shape, operands[1].shape, strict=True)])


def _bits(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    """Return the shape of a bitcast: between element types of different width, the last axis appears or disappears."""
    shape, own = operands[0].shape, operands[0].element_type
    assert own is not None
    old, new = own.bits, parameters["arguments"][1].bits
    if new < old:
        return (*shape, old // new)
    if old < new and shape[-1:] != (new // old,):
        raise ValueError(f"the last axis of {shape} does not hold elements of {new} bits in parts of {old}")
    return shape if old == new else shape[:-1]


# -- shapes: contractions, transforms


def _signal(operands: Sequence[Operand], parameters: Parameters, usual: str) -> Shape:
    (first,), (second,) = (operand.shape for operand in operands)
    longer, shorter = max(first, second), min(first, second)
    sizes = {"full": longer + shorter - 1, "same": longer, "valid": longer - shorter + 1}
    return (sizes[parameters["keywords"].get("mode", usual)],)


def _contraction(parameters: Parameters) -> dict[str, Any]:
    keywords = parameters["keywords"]
    contracting, batch = keywords["contracting"], keywords.get("batch", ((), ()))
    return {
        **dict(zip(("lhs_contracting_dims", "rhs_contracting_dims"), contracting, strict=True)),
        **dict(zip(("lhs_batch_dims", "rhs_batch_dims"), batch, strict=True)),
    }


def _ragged_dot(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    keywords = parameters["keywords"]
    groups = (keywords["group_axis"],) if "group_axis" in keywords else ()
    ragged = {"lhs_ragged_dims": (keywords["ragged_axis"],), "rhs_group_dims": groups}
    return sizes_of("ragged-dot", _shapes(operands), {**_contraction(parameters), **ragged})


def _transformed(operands: Sequence[Operand], parameters: Parameters) -> Shape:
    _, kind, lengths = parameters["arguments"]
    return transformed_shape(operands[0].shape, kind, lengths)


# -- shapes: reductions and counts


SHAPES: dict[str, ShapeRule] = {
    "taken": _taken,
    "picked": lambda operands, parameters: broadcast(operands[1:]),
    "gathered": _gathered,
    "extended": _extended,
    "padded": _padded,
    "repeated": _repeated,
    "tiled": _tiled,
    "differences": _differences,
    "with diagonal": _with_diagonal,
    "kronecker": _kronecker,
    "integral": lambda operands, parameters: operands[0].shape[:-1],
    "bits": _bits,
    "convolved signal": lambda operands, parameters: _signal(operands, parameters, "full"),
    "correlated signal": lambda operands, parameters: _signal(operands, parameters, "valid"),
    "scaled dot": lambda operands, parameters: sizes_of("dot", _shapes(operands[:2]), _contraction(parameters)),
    "ragged dot": _ragged_dot,
    "transformed": _transformed,
    "reduced": lambda operands, parameters: reduced_shape(operands[0].shape, parameters["arguments"][2]),
    "features": lambda operands, parameters: (operands[0].shape[parameters["keywords"].get("axis", -1)],),
    "counted": lambda operands, parameters: (parameters["keywords"]["minlength"],),
    "keys": lambda operands, parameters: (parameters["arguments"][1], 2),
    "state": lambda operands, parameters: (2,),
    "broadcast": broadcast,
    "windows": window_places,
    "convolution": convolved,
}


# -- element types


def _key_type(operands: Sequence[Operand], parameters: Parameters) -> ElementType:
    """Return the integer type that sorts as the floats do: of the same width, but s32 for 8-bit floats."""
    own = operands[0].element_type
    assert own is not None
    return ELEMENT_TYPES[f"s{own.bits if own.bits >= 16 else 32}"]


def _type_of_function(operands: Sequence[Operand], parameters: Parameters) -> ElementType | None:
    """Return the type of the result of the function that is the first argument."""
    own: ElementType | None = parameters["arguments"][0].results.element_type
    return own


def _keyword_type(operands: Sequence[Operand], parameters: Parameters) -> ElementType | None:
    """Return the type in the keyword ``dtype``, or that of the first operand."""
    own: ElementType | None = parameters["keywords"].get("dtype") or operands[0].element_type
    return own


TYPES: dict[str, TypeRule] = {
    "key": _key_type,
    "of function": _type_of_function,
    "transformed": lambda operands, parameters: transformed_type(operands[0].element_type, parameters["arguments"][1]),
    "keyword dtype": _keyword_type,
}


# -- results: one array or several


def _types(operands: Sequence[Operand], slots: Any) -> Results:
    """Return the types of the operands that an argument (a slot or a tuple of slots) names."""
    if isinstance(slots, tuple):
        return [(operands[slot.index].shape, operands[slot.index].element_type) for slot in slots]
    return operands[slots.index].shape, operands[slots.index].element_type


def _like_argument(number: int) -> Rule:
    return lambda operands, parameters: _types(operands, parameters["arguments"][number])


def _folded(operands: Sequence[Operand], parameters: Parameters) -> Results:
    """Return the types after a reduction of one or several arrays along the axes in the last argument."""
    arguments = parameters["arguments"]
    given = _types(operands, arguments[0])
    if isinstance(given, list):
        return [(reduced_shape(shape, arguments[-1]), own) for shape, own in given]
    return reduced_shape(given[0], arguments[-1]), given[1]


def _pooled(operands: Sequence[Operand], parameters: Parameters) -> Results:
    """Return the types after a window goes over one or several arrays."""
    given = _types(operands, parameters["arguments"][0])
    places = window_places(operands, parameters)
    return [(places, own) for _, own in given] if isinstance(given, list) else (places, given[1])


def _scanned(operands: Sequence[Operand], parameters: Parameters) -> Results:
    """Return the types of a scan: the outputs of its steps, stacked along an axis, then the final carries."""
    step, inputs, carries = parameters["arguments"]
    axis = parameters["keywords"].get("axis", 0)
    count = operands[inputs[0].index].shape[axis]
    results = step.results if isinstance(step.results, tuple) else (step.results,)
    outputs = results[: len(results) - len(carries)]
    stacked = [((*o.shape[:axis], count, *o.shape[axis:]), o.element_type) for o in outputs]
    last = [(operands[slot.index].shape, operands[slot.index].element_type) for slot in carries]
    return [*stacked, *last]


def _singular(operands: Sequence[Operand], parameters: Parameters) -> Results:
    """Return the types of left vectors, values and right vectors; the vectors are reduced or full."""
    (*batch, m, n), own = operands[0].shape, operands[0].element_type
    assert own is not None
    values = min(m, n)
    rows, columns = (m, n) if parameters["keywords"].get("full_matrices", True) else (values, values)
    return [((*batch, m, rows), own), ((*batch, values), own.real), ((*batch, columns, n), own)]


def _spectrum(operands: Sequence[Operand], parameters: Parameters) -> Results:
    """Return the type of one of the library's transforms: ``fft.irfftn(x, lengths, axes=axes)``."""
    name, shape = parameters["function"].removeprefix("fft."), operands[0].shape
    kind = next(each for each in ("irfft", "rfft", "ifft", "fft") if name.startswith(each))
    suffix = name.removeprefix(kind)
    rank = len(parameters["keywords"]["axes"]) if suffix == "n" else int(suffix or 1)
    own = (*shape[-rank:-1], 2 * (shape[-1] - 1) if kind == "irfft" else shape[-1])
    given = argument(parameters, 1, own)
    lengths = given if isinstance(given, tuple) else (given,)
    return transformed_shape(shape, kind, lengths), transformed_type(operands[0].element_type, kind)


def _grid(operands: Sequence[Operand], parameters: Parameters) -> Results:
    """Return the types of the coordinates of a grid, whose first two axes are exchanged unless indexed "ij"."""
    sizes = [size for operand in operands for size in operand.shape]
    if parameters["keywords"].get("indexing") != "ij":
        sizes[:2] = sizes[1::-1]
    return [(tuple(sizes), operand.element_type) for operand in operands]


def _triangle(operands: Sequence[Operand], parameters: Parameters) -> Results:
    """Return the types of the rows and columns of the elements of a triangle: ``np.triu_indices(n, k, m)``."""
    rows = argument(parameters, 0, 0)
    offset, columns = argument(parameters, 1, 0), argument(parameters, 2, rows)
    is_lower = parameters["function"] == "tril_indices"
    counts = (min(max(row + offset + is_lower, 0), columns) for row in range(rows))
    count = sum(counted if is_lower else columns - counted for counted in counts)
    return [((count,), S64)] * 2


def _lapack(operands: Sequence[Operand], parameters: Parameters) -> Results:
    """Return the types of the results of the LAPACK routine that the function is named after."""
    from ...hlo.custom_calls.lapack import lapack_results

    types = [(operand.shape, operand.element_type) for operand in operands]
    found: list[ArrayType] = [*lapack_results(parameters["function"], types, parameters["keywords"])]
    return found[0] if len(found) == 1 else found


RESULTS: dict[str, Rule] = {
    "like argument 0": _like_argument(0),
    "like argument 1": _like_argument(1),
    "folded": _folded,
    "pooled": _pooled,
    "scanned": _scanned,
    "singular": _singular,
    "spectrum": _spectrum,
    "grid": _grid,
    "triangle": _triangle,
    "lapack": _lapack,
}
