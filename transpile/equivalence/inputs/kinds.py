"""Campaigns of inputs: ordinary ones, edge values, ties, large ranges; each suits the use of a parameter in the
program.

An index stays in range and a random key stays bits in every campaign: only parameters without restrictions change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np

from ...hlo.carriers import Array
from ...hlo.element_types import ElementType, Kind
from ...hlo.ir import Computation, HloModule
from ..verdicts.tolerances import longest_sum
from .domains import Domain, Form, parameter_domains
from .generate import limits, make_inputs

Extremes = frozenset[str]  # names of the infinities, NaN and limits that a program may be given

ALL: Extremes = frozenset(("inf", "-inf", "nan", "max", "min"))
Change = Callable[[Array, ElementType, Domain, Extremes, np.random.Generator], Array]

EDGE_SHARE = 0.15  # of elements that become edge values


def campaign_inputs(module: HloModule, campaign: str, seed: int) -> list[Array]:
    """Return arrays for the entry's parameters, with tuples flattened in order; the same for the same campaign and
    seed.
    """
    return changed_inputs(module, make_inputs(module, seed), campaign, seed)


def changed_inputs(module: HloModule, given: Sequence[Array], campaign: str, seed: int) -> list[Array]:
    """Return the arrays of a campaign for the entry's parameters, made from ordinary ones."""
    change = CAMPAIGNS[campaign]
    extremes = extremes_for(module)
    arrays = []
    for number, (array, (shape, domain)) in enumerate(zip(given, parameter_domains(module), strict=True)):
        generator = np.random.default_rng([seed, number, 1])
        arrays.append(change(array, shape.element_type, domain, extremes, generator))
    return arrays


def extremes_for(module: HloModule) -> Extremes:
    """Return the extreme values on which two correct libraries agree.

    If a sum overflows, its result depends on the order of its terms, which HLO leaves open. Some loops of a convolution
    multiply the zeros of the padding, others leave them out; a batch norm scales before or after it subtracts the mean.
    A comparison that is false for every NaN sorts NaN anywhere.
    """
    allowed = ALL if longest_sum(module.instructions()) == 1 else frozenset(("inf", "nan"))
    for instruction in module.instructions():
        if instruction.opcode in ("convolution", "batch-norm-grad", "batch-norm-inference", "batch-norm-training"):
            allowed = frozenset()
        elif instruction.opcode == "sort" and not _is_total(instruction["to_apply"]):
            allowed -= {"nan"}
    return allowed


def _is_total(comparator: Computation) -> bool:
    return all(i["type"] == "TOTALORDER" for i in comparator.instructions if i.opcode == "compare")


def ordinary(
    array: Array, element_type: ElementType, domain: Domain, extremes: Extremes, _: np.random.Generator
) -> Array:
    """Return inputs as :func:`.generate.make_inputs` draws them."""
    return array


def edge(
    array: Array, element_type: ElementType, domain: Domain, extremes: Extremes, generator: np.random.Generator
) -> Array:
    """Return inputs with some elements replaced by signed zeros, subnormals, infinities, NaN or the type's limits."""
    if domain.form is not Form.ANY or element_type.kind is Kind.PRED:
        return array
    mask = generator.uniform(size=array.shape) < EDGE_SHARE
    chosen = generator.choice(edge_values(element_type, extremes), array.shape)
    return np.where(mask, chosen, array).astype(array.dtype)


def edge_values(element_type: ElementType, extremes: Extremes = ALL) -> Array:
    """Return the edge values of a type: zeros, subnormals, limits and ``extremes``."""
    if element_type.is_integral:
        return np.array([*limits(element_type), 0], object).astype(element_type.dtype)
    info = ml_dtypes.finfo(element_type.real.dtype)
    numbers = [0.0, -0.0, float(info.smallest_subnormal)]
    if not element_type.is_complex:  # libraries differ in the arithmetic of complex infinities
        named = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan, "max": float(info.max), "min": float(info.min)}
        numbers += [number for name, number in named.items() if name in extremes]
    with np.errstate(all="ignore"):
        return np.array(numbers).astype(element_type.dtype)


def ties(
    array: Array, element_type: ElementType, domain: Domain, extremes: Extremes, generator: np.random.Generator
) -> Array:
    """Return inputs with only a few different elements, so that sorts, maxima and segments meet equal keys."""
    if domain.is_unique or domain.form not in (Form.ANY, Form.RANGE) or not array.size:
        return array
    few = generator.choice(array.ravel(), 3)
    chosen = generator.choice(few, array.shape).astype(array.dtype)
    return np.sort(chosen, axis=None).reshape(array.shape) if domain.is_sorted else chosen


def large(
    array: Array, element_type: ElementType, domain: Domain, extremes: Extremes, generator: np.random.Generator
) -> Array:
    """Return floats of every magnitude whose cube is finite, and integers of the whole range."""
    if domain.form is not Form.ANY or element_type.kind is Kind.PRED:
        return array
    if element_type.is_integral:
        low, high = limits(element_type)
        dtype = np.int64 if low < 0 else np.uint64
        numbers: Array = generator.integers(low, high, array.shape, dtype, endpoint=True).astype(array.dtype)
        return numbers
    info = ml_dtypes.finfo(element_type.real.dtype)
    most = max(0.0, np.log2(float(info.max)) / 3 - 2)
    scale = 2.0 ** generator.uniform(-most, most, array.shape)
    wide = np.complex128 if element_type.is_complex else np.float64
    scaled: Array = (array.astype(wide) * scale).astype(array.dtype)
    return scaled


CAMPAIGNS: dict[str, Change] = {"ordinary": ordinary, "edge": edge, "ties": ties, "large": large}
