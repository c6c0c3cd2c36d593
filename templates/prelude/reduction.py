"""Reductions by any function, maps and scans.

Source: the operation-semantics seed, Reduce and Map; XLA CPU where the seed leaves a
choice.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np


def fold_axes(
    operands: Any, inits: Any, combine: Callable[..., Any], axes: Sequence[int]
) -> Any:
    """Return ``inits`` combined once with all elements along ``axes``, in order, by an
    associative function.

    ``operands`` and ``inits`` are one array each or tuples; ``combine(*left, *right)``
    is a function of arrays and returns as many. Neighbours are combined in pairs, then
    the pairs. One element alone stays as it is.
    """
    several = isinstance(operands, tuple)
    operands, inits = (operands, inits) if several else ((operands,), (inits,))
    shape = operands[0].shape
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    result_shape, n = [shape[axis] for axis in kept], prod(shape[axis] for axis in axes)
    totals = [x.transpose(*axes, *kept).reshape(n, *result_shape) for x in operands]
    if n == 1:
        totals = [x.copy() for x in totals]
    else:
        starts = [
            np.full((1, *result_shape), init, x.dtype)
            for x, init in zip(operands, inits, strict=True)
        ]
        totals = [np.concatenate(pair) for pair in zip(starts, totals, strict=True)]
    while len(totals[0]) > 1:
        even = len(totals[0]) // 2 * 2
        pairs = combine(*(x[0:even:2] for x in totals), *(x[1:even:2] for x in totals))
        pairs = pairs if isinstance(pairs, tuple) else (pairs,)
        totals = [
            np.concatenate([pair, x[even:]])
            for pair, x in zip(pairs, totals, strict=True)
        ]
    return tuple(total[0] for total in totals) if several else totals[0][0]


def map_elements(function: Callable[..., Any], *operands: np.ndarray) -> np.ndarray:
    """Return ``function`` of the arrays, in their shape even if the result is a
    constant.
    """
    return np.broadcast_to(function(*operands), operands[0].shape)


def scan(
    step: Callable[..., tuple[Any, ...]],
    inputs: Sequence[np.ndarray],
    carries: Sequence[np.ndarray],
    *,
    axis: int = 0,
    reverse: bool = False,
) -> tuple[np.ndarray, ...]:
    """Return the outputs of ``step`` stacked along ``axis``, then the last carries.

    ``step(*slices, *carries)`` returns its outputs and the next carries, for the slices
    of ``inputs`` along ``axis`` from the first to the last (from the last if
    ``reverse``).
    """
    n, count = inputs[0].shape[axis], len(carries)
    if n == 0:  # one step on zeros tells the shapes and types of the outputs
        zeros = [np.zeros(np.moveaxis(x, axis, 0).shape[1:], x.dtype) for x in inputs]
        results = step(*zeros, *carries)
        empty = [np.asarray(y)[None][:0] for y in results[: len(results) - count]]
        return (*(np.moveaxis(y, 0, axis) for y in empty), *carries)
    outputs: list[tuple[np.ndarray, ...]] = []
    for i in reversed(range(n)) if reverse else range(n):
        results = step(*(x.take(i, axis) for x in inputs), *carries)
        split = len(results) - count
        outputs.append(results[:split])
        carries = results[split:]
    if reverse:
        outputs.reverse()
    stacked = [np.stack(column, axis) for column in zip(*outputs, strict=True)]
    return (*stacked, *carries)
