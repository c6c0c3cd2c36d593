"""Matrix products with the accumulation rules of HLO, where NumPy's own are too slow,
too narrow or missing.

Source: the operation-semantics seed, Dot and DotGeneral; RaggedDot and ScaledDot as JAX
defines them.
"""

from collections.abc import Sequence
from functools import partial
from itertools import product
from math import prod
from typing import Any

import numpy as np

from .precision import working_dtype

Axes = Sequence[int]


def matmul(a: np.ndarray, b: np.ndarray, dtype: Any = None) -> np.ndarray:
    """Return ``a`` [.., m, k] @ ``b`` [.., k, n] in ``dtype`` (``a``'s by default).

    Integers wrap at the width of the result, predicates are or-ed, narrow floats are
    accumulated in float32.
    """
    dtype = np.dtype(dtype or a.dtype)
    work = working_dtype(dtype)
    if work.kind == "b":
        result: np.ndarray = matmul(a.astype(np.float32), b.astype(np.float32)) != 0
        return result
    if work.kind in "iu":
        return integer_matmul(a, b, work).astype(dtype, copy=False)
    work = np.result_type(work, working_dtype(a.dtype), working_dtype(b.dtype))
    result = a.astype(work, copy=False) @ b.astype(work, copy=False)
    return result.astype(dtype, copy=False)


def integer_matmul(a: np.ndarray, b: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return ``a`` [.., m, k] @ ``b`` [.., k, n] of integers modulo the width of
    ``dtype``, by exact products of floats: of 16-bit limbs in float64, which holds sums
    up to 2**53.
    """
    if a.dtype.itemsize == b.dtype.itemsize == 1:
        return byte_matmul(a, b, dtype)
    left = [(shift, part.astype(np.float64)) for shift, part in limbs(a)]
    right = [(shift, part.astype(np.float64)) for shift, part in limbs(b)]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    result = np.zeros((*batch, a.shape[-2], b.shape[-1]), np.int64)
    step = 1 << 20
    for (low, x), (high, y) in product(left, right):
        if low + high < 8 * dtype.itemsize:
            for k in range(0, a.shape[-1], step):
                exact = np.matmul(x[..., k : k + step], y[..., k : k + step, :])
                result += exact.astype(np.int64) << (low + high)
    return result.astype(dtype, copy=False)


def byte_matmul(a: np.ndarray, b: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return ``integer_matmul`` of bytes, in float32, which holds sums up to 2**24: of
    1024 products if both are signed.
    """
    step = 256 << (a.dtype.kind + b.dtype.kind).count("i")
    wide = np.int64 if dtype.itemsize > 4 else np.int32
    total: np.ndarray = matmul_in_float32(a[..., :step], b[..., :step, :]).astype(wide)
    for k in range(step, a.shape[-1], step):
        part = matmul_in_float32(a[..., k : k + step], b[..., k : k + step, :])
        total += part.astype(wide)
    return total.astype(dtype, copy=False)


def matmul_in_float32(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return ``a`` @ ``b`` in float32."""
    result: np.ndarray = np.matmul(a.astype(np.float32), b.astype(np.float32))
    return result


def limbs(x: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Return pairs (shift, part) such that ``x`` is the sum of part << shift; parts
    have 16 bits, the last one the sign.
    """
    top = max(0, 8 * x.dtype.itemsize - 16)
    lower = [(shift, (x >> shift) & 0xFFFF) for shift in range(0, top, 16)]
    return [*lower, (top, x >> top if top else x)]


def dot_general(
    a: np.ndarray,
    b: np.ndarray,
    *,
    contracting: tuple[Axes, Axes] = ((1,), (0,)),
    batch: tuple[Axes, Axes] = ((), ()),
    dtype: Any = None,
) -> np.ndarray:
    """Return the product summed over pairs of ``contracting`` axes: [*batch, *other
    axes of a, *other axes of b] in ``dtype``.
    """
    (contract_a, contract_b), (batch_a, batch_b) = contracting, batch
    free_a = [axis for axis in range(a.ndim) if axis not in (*contract_a, *batch_a)]
    free_b = [axis for axis in range(b.ndim) if axis not in (*contract_b, *batch_b)]
    sizes = [a.shape[axis] for axis in batch_a]
    k = prod(a.shape[axis] for axis in contract_a)
    rows = [a.shape[axis] for axis in free_a]
    columns = [b.shape[axis] for axis in free_b]
    left = a.transpose(*batch_a, *free_a, *contract_a)
    left = left.reshape((*sizes, prod(rows), k))
    right = b.transpose(*batch_b, *contract_b, *free_b)
    right = right.reshape((*sizes, k, prod(columns)))
    return matmul(left, right, dtype).reshape((*sizes, *rows, *columns))


def ragged_dot(
    a: np.ndarray,
    b: np.ndarray,
    group_sizes: np.ndarray,
    *,
    ragged_axis: int = 0,
    group_axis: int = 0,
    contracting: tuple[Axes, Axes] = ((1,), (1,)),
    batch: tuple[Axes, Axes] = ((), ()),
    dtype: Any = None,
) -> np.ndarray:
    """Return ``dot_general`` of groups of consecutive positions along ``ragged_axis``
    of ``a``, ``group_sizes`` [.., g] long.

    If the ragged axis is free, group i is multiplied by slice i of ``b`` along
    ``group_axis``, and positions in no group give 0. If it is contracting, there is one
    product for each group, stacked first. If it is a batch axis, groups make no
    difference. Leading axes of ``group_sizes`` are the batch axes, then the axes of the
    same kind before the ragged one.
    """
    (contract_a, contract_b), (batch_a, batch_b) = contracting, batch
    if ragged_axis in batch_a:
        return dot_general(a, b, contracting=contracting, batch=batch, dtype=dtype)
    n = a.shape[ragged_axis]
    if ragged_axis in contract_a:
        place = list(contract_a).index(ragged_axis) + 1
        axes_a = [*batch_a, *contract_a[:place]]
        axes_b = [*batch_b, *contract_b[:place]]
        multiply = partial(dot_general, contracting=contracting, batch=batch)
        products = []
        for rows, inside in ragged_groups(group_sizes, n, len(axes_a)):
            x = zero_outside(a.take(rows, ragged_axis), inside, axes_a)
            y = zero_outside(b.take(rows, axes_b[-1]), inside, axes_b)
            products.append(multiply(x, y, dtype=dtype))
        return np.stack(products)
    free_a = [axis for axis in range(a.ndim) if axis not in (*contract_a, *batch_a)]
    bound_b = (*contract_b, *batch_b, group_axis)
    sizes = [a.shape[axis] for axis in (*batch_a, *free_a)]
    sizes += [size for axis, size in enumerate(b.shape) if axis not in bound_b]
    result = np.zeros(sizes, dtype or a.dtype)
    ragged = len(batch_a) + free_a.index(ragged_axis)
    contract_b = [axis - (axis > group_axis) for axis in contract_b]
    batch_b = [axis - (axis > group_axis) for axis in batch_b]
    contracting, batch = (contract_a, contract_b), (batch_a, batch_b)
    groups = ragged_groups(group_sizes, n, ragged + 1)
    for group, (rows, inside) in enumerate(groups):
        x, y = a.take(rows, ragged_axis), b.take(group, group_axis)
        part = dot_general(x, y, contracting=contracting, batch=batch, dtype=dtype)
        part = zero_outside(part, inside, range(ragged + 1))
        result[(slice(None),) * ragged + (rows,)] += part
    return result


def ragged_groups(
    group_sizes: np.ndarray, n: int, ndim: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return for each group the rows, of ``n``, that it needs, and a mask [.., rows] of
    ``ndim`` axes of the rows in the group.
    """
    ends = np.cumsum(group_sizes, axis=-1)
    starts = ends - group_sizes
    inside = (starts[..., None] <= np.arange(n)) & (np.arange(n) < ends[..., None])
    groups = []
    for mask in np.moveaxis(inside, -2, 0):
        rows = np.flatnonzero(mask.any(axis=tuple(range(mask.ndim - 1))))
        mask = mask[..., rows]
        groups.append((rows, mask.reshape((1,) * (ndim - mask.ndim) + mask.shape)))
    return groups


def zero_outside(x: np.ndarray, inside: np.ndarray, axes: Axes) -> np.ndarray:
    """Return ``x`` where ``inside`` is true, and 0 elsewhere. The dimensions of
    ``inside`` lie along ``axes`` of ``x``.
    """
    mask = inside.reshape(inside.shape + (1,) * (x.ndim - inside.ndim))
    mask = np.moveaxis(mask, range(len(axes)), axes)
    return np.where(mask, x, np.zeros((), x.dtype))


def scaled_dot(
    a: np.ndarray,
    b: np.ndarray,
    a_scale: np.ndarray,
    b_scale: np.ndarray | None = None,
    *,
    contracting: tuple[Axes, Axes] = ((1,), (0,)),
    batch: tuple[Axes, Axes] = ((), ()),
    dtype: Any = np.float32,
) -> np.ndarray:
    """Return ``dot_general`` of block-scaled operands: each scale stands for a block of
    n / (its own size) positions.
    """
    left = block_scaled(a, a_scale)
    right = b.astype(np.float32) if b_scale is None else block_scaled(b, b_scale)
    return dot_general(left, right, contracting=contracting, batch=batch, dtype=dtype)


def block_scaled(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return ``x`` times ``scale`` in float32. The axes of ``scale`` are shorter by
    whole factors and are repeated.
    """
    wide = scale.astype(np.float32)
    for axis, (n, blocks) in enumerate(zip(x.shape, scale.shape, strict=True)):
        wide = wide.repeat(n // max(blocks, 1), axis)
    return x.astype(np.float32) * wide
