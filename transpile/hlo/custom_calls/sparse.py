"""Products with sparse matrices, as ``jax.experimental.sparse`` calls them on the CPU."""

from __future__ import annotations

from ..builder import GatherDimensionNumbers, ScatterDimensionNumbers, XlaBuilder, XlaOp
from ..element_types import S32
from .call import Call, CustomCall
from .fields import ConfigError


def _add(a: XlaOp, c: XlaOp) -> XlaOp:
    return a + c


def _check_rows(call: Call) -> None:
    if call.sizes["p"] != call.sizes["n"] + 1:
        raise ConfigError(f"needs where each of {call.sizes['n']} rows begins, and where the last one ends")


def _csr_product(b: XlaBuilder, call: Call, values: XlaOp, begins: XlaOp, columns: XlaOp, dense: XlaOp) -> XlaOp:
    """Define the product. Elements of a row are added in order; elements behind the last row are ignored."""
    count, rows = call.sizes["e"], call.sizes["n"]
    vector = call.sizes.get("k")
    kept = [] if vector is None else [vector]
    into = ScatterDimensionNumbers((), (0,), (0,), 1)
    ends = b.reshape(b.slice_in_dim(begins, 1, rows + 1, 1, 0), [rows, 1])
    none, one = b.zero(S32), b.one(S32)
    ended = b.scatter(b.broadcast(none, [count]), ends, b.broadcast(one, [rows]), _add, into)
    row = b.reduce_window(ended, none, _add, [count], [1], [(max(count - 1, 0), 0)])
    window = (1,) if kept else ()
    numbers = GatherDimensionNumbers(window, (0,), (0,), 1)
    picked = b.gather(dense, b.reshape(columns, [count, 1]), numbers, [1, *kept])
    products = b.mul(b.broadcast_in_dim(values, [count, *kept], [0]), picked)
    zeros = b.broadcast(b.zero(values.array_shape.element_type), [rows, *kept])
    into = ScatterDimensionNumbers(window, (0,), (0,), 1)
    return b.scatter(zeros, b.reshape(row, [count, 1]), products, _add, into)


SPARSE: dict[str, CustomCall] = {
    "cpu_csr_sparse_dense_ffi": CustomCall(
        ("A[e] s32[p] s32[e] A[m] -> A[n]", "A[e] s32[p] s32[e] A[m,k] -> A[n,k]"), _csr_product, check=_check_rows
    ),
}
