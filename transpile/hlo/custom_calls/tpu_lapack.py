"""XLA's own matrix factorisations: JAX calls them on TPUs, and XLA expands some of them on every device."""

from __future__ import annotations

from ..builder import S32, XlaBuilder, XlaOp
from ..layouts import make_shape
from .call import Call, CustomCall
from .fields import TEXT, ConfigError, Field, Kind
from .gpu_lapack import lapack_call


def _columns(call: Call) -> None:
    if not call.sizes["k"] <= call.sizes["n"] <= call.sizes["m"]:
        raise ConfigError("needs at least as many rows as columns, and no more reflectors than columns")


def _eigh(b: XlaBuilder, call: Call, a: XlaOp) -> XlaOp:
    """Define the symmetric eigenproblem. The text has four fields: lower triangle, ascending eigenvalues, most sweeps,
    tolerance.
    """
    flags = call[TEXT].split(",")[:2]
    if len(flags) != 2 or {*flags} - {"0", "1"}:
        raise ConfigError(f"cannot read its configuration {call[TEXT]!r}")
    info = make_shape(S32, a.array_shape.dimensions[:-2])
    shapes = [call.result(0), call.result(1), info]
    made = lapack_call(b, "syevd", (a,), shapes, mode="V", uplo="L" if flags[0] == "1" else "U")
    return b.tuple([made[0], made[1]])


def _lu(b: XlaBuilder, call: Call, a: XlaOp) -> XlaOp:
    """Define LU, whose pivots count from 0, while LAPACK's count from 1."""
    factors, rows, order = (call.result(k) for k in range(3))
    made = lapack_call(b, "getrf", (a,), [factors, rows, make_shape(S32, rows.dimensions[:-1])])
    exchanged = b.sub(made[1], 1)
    return b.tuple([made[0], exchanged, b.custom_call("cu_lu_pivots_to_permutation", (exchanged,), order)])


TPU_LAPACK: dict[str, CustomCall] = {
    "Qr": CustomCall(("T[*,m,n] -> T[*,m,n] T[*,min(m,n)]",), rule="geqrf", runs_on_cpu=True),
    "ProductOfElementaryHouseholderReflectors": CustomCall(
        ("T[*,m,n] T[*,k] -> T[*,m,n]",), rule="orgqr", check=_columns, runs_on_cpu=True
    ),
    "Eigh": CustomCall(("T[*,n,n] -> T[*,n,n] R[*,n]",), _eigh, config={TEXT: Field(Kind.WORD)}, runs_on_cpu=True),
    "LuDecomposition": CustomCall(("T[*,m,n] -> T[*,m,n] s32[*,min(m,n)] s32[*,m]",), _lu),
}
