"""Sorts: CUB's radix sort, the k largest elements, and the candidates that TPUs select for ``approx_top_k``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..builder import XlaBuilder, XlaOp
from .call import Call, CustomCall
from .fields import ANYTHING, ConfigError, flag, integer, word

_KEYS_AND_VALUES = ("A[*] -> A[*] u8[s]", "A[*] B[*] -> A[*] B[*] u8[s]")


def _radix_sort(b: XlaBuilder, call: Call, *arrays: XlaOp) -> XlaOp:
    """Define a stable sort by the first operand along the minor dimension; floats are ordered as in NumPy."""
    keys = arrays[0].array_shape
    if not keys.rank or keys.element_type.is_complex:
        raise ConfigError("sorts real numbers along a dimension")
    layout = call.instruction.operands[0].array_shape.layout
    axis = layout.minor_to_major[0] if layout is not None else keys.rank - 1

    def before(inner: XlaBuilder, a: XlaOp, c: XlaOp) -> XlaOp:
        first, second = (c, a) if call["descending"] else (a, c)
        if not keys.element_type.is_floating:
            return inner.lt(first, second)
        return inner.lt_total_order(_number(inner, first), _number(inner, second))

    comparator = XlaBuilder("comparator")
    shapes = [array.array_shape for array in arrays for _ in range(2)]
    scalars = [comparator.parameter(k, f"{shape.element_type}[]") for k, shape in enumerate(shapes)]
    order = comparator.build_computation(before(comparator, *scalars[:2]))
    made = b.sort(list(arrays), order, axis, is_stable=True)
    return call.with_scratch(b, *([made] if len(arrays) == 1 else [made[k] for k in range(len(arrays))]))


def _number(b: XlaBuilder, x: XlaOp) -> XlaOp:
    """Replace all zeros by one zero and all NaNs by one NaN."""
    element_type = x.array_shape.element_type
    plain = b.select(b.eq(x, 0.0), b.zero(element_type), x)
    return b.select(b.ne(x, x), b.constant(np.nan, element_type), plain)


def _top_k(b: XlaBuilder, call: Call, x: XlaOp) -> XlaOp:
    """Define values and indices of the k largest along the last dimension."""
    if call["k"] not in (None, call.sizes["k"]) or call.sizes["k"] > call.sizes["n"]:
        raise ConfigError(f"cannot take {call.sizes['k']} of {call.sizes['n']} elements")
    return b.top_k(x, call.sizes["k"], call["largest"])


def _partial_reduce(b: XlaBuilder, call: Call, *operands: XlaOp) -> XlaOp:
    """Return the first elements in the comparator's order: XLA's own form on other devices, which misses none of the
    best.

    Operands are arrays, and a padding value for each, which TPUs use to fill groups of elements.
    """
    arrays, axis, sizes = operands[: len(operands) // 2], call["reduction_dim"], call.result().dimensions
    comparators = call.instruction["called_computations"]
    if len(operands) % 2 or len(comparators) != 1:
        raise ConfigError("needs a number for each array, and a comparator")
    if not 0 <= axis < len(sizes):
        raise ConfigError(f"cannot reduce dimension {axis} of {len(sizes)}")
    made = b.sort(list(arrays), comparators[0], axis)
    ordered = [made] if len(arrays) == 1 else [made[k] for k in range(len(arrays))]
    return b.tuple([b.slice_in_dim(array, 0, sizes[axis], 1, axis) for array in ordered])


_TOP_K = CustomCall(
    ("A[*,n] -> A[*,k] s32[*,k]",), _top_k, config={"k": integer(None), "largest": flag(True), "is_stable": flag(False)}
)
# PARTIAL leaves the order of NaNs open; XLA's function for the CPU orders them in either case.
_ORDER = {"order": word("TOTAL", "TOTAL", "PARTIAL")}
_RADIX_SORT = CustomCall(_KEYS_AND_VALUES, _radix_sort, config={"descending": flag(False)})
ORDERS: dict[str, CustomCall] = {
    "TopK": replace(_TOP_K, runs_on_cpu=True, config={**_TOP_K.config, **_ORDER}),
    "mhlo.topk": _TOP_K,
    "PartialReduce": CustomCall(
        ("A[?] ... -> A[?] ...",),
        _partial_reduce,
        config={
            "reduction_dim": integer(),
            "to_apply_type": word("comparator", "comparator"),
            **dict.fromkeys(("log2_reduction", "top_k", "recall_target"), ANYTHING),
        },
    ),
    "__cub$DeviceRadixSort": _RADIX_SORT,
    "__cub$DeviceRadixSortUnassignedScratchSize": _RADIX_SORT,
}
