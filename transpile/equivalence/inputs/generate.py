"""Generated inputs that suit a program, and statistics of any array."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dataclass import dataclass
from ...emission.places import main_of
from ...hlo.carriers import Array
from ...hlo.element_types import ElementType, Kind
from ...hlo.ir import HloModule
from ...hlo.shapes import ArrayShape, Shape, TupleShape
from .domains import Domain, Form, parameter_domains


def make_inputs(module: HloModule, seed: int = 0) -> list[Array]:
    """Return arrays for the entry's parameters, with tuples flattened in order; the same for the same seed.

    Indices are in range, labels below the number of classes, loop bounds small, matrices to factor positive definite,
    random keys full of bits; other floats are normal(0, 1), other integers small. Dynamic dimensions have their upper
    bound. Edge values are those of a campaign (:mod:`.kinds`).
    """
    inputs = []
    for number, (shape, domain) in enumerate(parameter_domains(module)):
        generator = np.random.default_rng([seed, number])
        inputs.append(_DRAW[domain.form](shape, domain, generator))
    return inputs


def _any(shape: ArrayShape, domain: Domain, generator: np.random.Generator) -> Array:
    element_type = shape.element_type
    if element_type.kind is Kind.PRED:
        return generator.integers(0, 2, shape.dimensions).astype(bool)
    if element_type.is_integral:
        low, high = limits(element_type)
        return _cast(generator.integers(max(low, -5), min(high, 9) + 1, shape.dimensions), element_type)
    if element_type.name == "f8e8m0fnu":  # powers of two, without sign and zero
        return _cast(2.0 ** generator.integers(-2, 3, shape.dimensions), element_type)
    return _cast(_normal(shape, generator), element_type)


def _range(shape: ArrayShape, domain: Domain, generator: np.random.Generator) -> Array:
    element_type = shape.element_type
    if element_type.kind is Kind.PRED:
        return _any(shape, domain, generator)
    if not element_type.is_integral:
        return _cast(generator.uniform(domain.low, domain.high, shape.dimensions), element_type)
    smallest, largest = limits(element_type)
    low = max(int(np.ceil(domain.low)), smallest)
    high = min(max(int(domain.high), low), largest)
    if domain.is_unique and high - low + 1 >= shape.size:
        values = (low + generator.permutation(high - low + 1)[: shape.size]).reshape(shape.dimensions)
    else:
        values = generator.integers(low, high, shape.dimensions, endpoint=True)
    if domain.is_sorted:
        values = np.sort(values, axis=None).reshape(shape.dimensions)
    return _cast(values, element_type)


def _bits(shape: ArrayShape, domain: Domain, generator: np.random.Generator) -> Array:
    if not shape.element_type.is_integral:
        return _any(shape, domain, generator)
    low, high = limits(shape.element_type)
    dtype = np.int64 if low < 0 else np.uint64
    return _cast(generator.integers(low, high, shape.dimensions, dtype, endpoint=True), shape.element_type)


def _positive_definite(shape: ArrayShape, domain: Domain, generator: np.random.Generator) -> Array:
    if shape.rank < 2:
        return _any(shape, domain, generator)
    factor = _normal(shape, generator)
    size = shape.dimensions[-1]
    matrix = factor @ factor.conj().mT / max(size, 1) + np.eye(shape.dimensions[-2], size)
    return _cast(matrix, shape.element_type)


def _triangular(shape: ArrayShape, domain: Domain, generator: np.random.Generator) -> Array:
    if shape.rank < 2:
        return _any(shape, domain, generator)
    rows, columns = shape.dimensions[-2:]
    matrix = _normal(shape, generator) / max(columns, 1) + 2 * np.eye(rows, columns)
    return _cast(matrix, shape.element_type)


_DRAW: dict[Form, Callable[[ArrayShape, Domain, np.random.Generator], Array]] = {
    Form.ANY: _any,
    Form.RANGE: _range,
    Form.BITS: _bits,
    Form.POSITIVE_DEFINITE: _positive_definite,
    Form.TRIANGULAR: _triangular,
}


def _normal(shape: ArrayShape, generator: np.random.Generator) -> Array:
    values = generator.normal(size=shape.dimensions)
    return values + 1j * generator.normal(size=shape.dimensions) if shape.element_type.is_complex else values


def _cast(values: Array | np.number[Any], element_type: ElementType) -> Array:
    return np.asarray(values).astype(element_type.dtype)


def limits(element_type: ElementType) -> tuple[int, int]:
    """Return the smallest and the largest number of an integer type."""
    low = -(2 ** (element_type.bits - 1)) if element_type.is_signed else 0
    return low, low + 2**element_type.bits - 1


def parameter_names(source: str) -> list[str]:
    """Return the names of the parameters of ``main`` in an emitted module's source."""
    return [argument.arg for argument in main_of(ast.parse(source)).args.args]


def nest(shapes: Sequence[Shape], arrays: Sequence[Array]) -> list[Any]:
    """Return the arguments of ``main`` from flat arrays: tuples as Python tuples, tokens as ``None``."""
    waiting = iter(arrays)

    def value(shape: Shape) -> Any:
        if isinstance(shape, TupleShape):  # the parser allows 100 levels
            return tuple(value(element) for element in shape.elements)
        return next(waiting) if isinstance(shape, ArrayShape) else None

    return [value(shape) for shape in shapes]


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of an array; ``minimum``, ``maximum``, ``mean`` are those of its finite elements, None if it
    has none.
    """

    dtype: str
    shape: tuple[int, ...]
    minimum: float | None
    maximum: float | None
    mean: float | None
    zeros: int
    nans: int
    infinities: int

    def __str__(self) -> str:
        text = f"{self.dtype}{list(self.shape)}"
        if self.mean is not None:
            text += f": {self.minimum:.4g} to {self.maximum:.4g}, mean {self.mean:.4g}"
        counts = (("zeros", self.zeros), ("NaN", self.nans), ("inf", self.infinities))
        return text + "".join(f", {count} {name}" for name, count in counts if count)


def describe(array: Array) -> Statistics:
    """Return the statistics of an array of any element type, for complex numbers of their modulus."""
    values = (abs(array) if np.iscomplexobj(array) else array).astype(np.float64)
    finite = values[np.isfinite(values)]
    minimum, maximum, mean = (finite.min(), finite.max(), finite.mean()) if finite.size else (None, None, None)
    return Statistics(
        array.dtype.name,
        array.shape,
        minimum,
        maximum,
        mean,
        zeros=int((values == 0).sum()),
        nans=int(np.isnan(values).sum()),
        infinities=int(np.isinf(values).sum()),
    )
