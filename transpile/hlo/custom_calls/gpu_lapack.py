"""The functions that JAX calls on GPUs and TPUs in place of LAPACK's routines, defined by these routines.

Their attributes are ``lower`` or ``full_matrices`` where LAPACK has letters, and some return a result in another form.
XLA expands some of those for TPUs on every device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..builder import S32, XlaBuilder, XlaOp
from ..element_types import ELEMENT_TYPES
from ..layouts import make_shape
from ..shapes import ArrayShape, Layout, Shape, TupleShape
from .call import Call, CustomCall
from .fields import ANYTHING, TEXT, ConfigError, Field, Kind, flag
from .lapack import (
    BANDS,
    COLUMNS_OF_Q,
    FACTOR,
    HERMITIAN,
    LU,
    PERTURBED,
    QR,
    QR_PIVOTED,
    TIMES_Q,
    TRIDIAGONAL,
    lapack_name,
)

_SINGULAR_V = ("T[*,m,n] -> T[*,m,n] R[*,min(m,n)] T[*,m,p] T[*,n,q] s32[*]",)
_SINGULAR = (
    "T[*,m,n] -> T[*,m,n] R[*,min(m,n)] T[*,m,p] T[*,q,n] s32[*]",
    "T[*,m,n] -> T[*,m,n] R[*,min(m,n)] T[*,q,n] T[*,m,p] s32[*]",
    "T[*,m,n] -> T[*,m,n] R[*,min(m,n)] T[] T[] s32[*]",
)
_EIGEN = ("T[*,n,n] -> T[*,n,n] C[*,n] T[*,n,n] T[*,n,n] s32[*]",)
_EIGEN_REAL = ("F[*,n,n] -> F[*,n] F[*,n] C[*,n,n] C[*,n,n] s32[*]",)
_EIGEN_COMPLEX = ("Z[*,n,n] -> Z[*,n] Z[*,n,n] Z[*,n,n] s32[*]",)


def lapack_call(
    b: XlaBuilder, routine: str, operands: tuple[XlaOp, ...], results: list[ArrayShape], **config: str | bool
) -> XlaOp:
    """Call LAPACK's routine for the element type of the first operand."""
    batch = max(operand.array_shape.rank for operand in operands) - 2
    code = ", ".join(f"{name} = {_attribute(value)}" for name, value in config.items())
    shapes: list[Shape] = [_column_major(shape, batch) for shape in results]
    return b.custom_call(
        lapack_name(routine, operands[0].array_shape.element_type),
        operands,
        shapes[0] if len(shapes) == 1 else TupleShape(tuple(shapes)),
        f"{{{code}}}",
        operand_shapes_with_layout=[_column_major(operand.array_shape, batch) for operand in operands],
        api_version="API_VERSION_TYPED_FFI",
    )


def _attribute(value: str | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{ord(value)} : ui8"


def _column_major(shape: ArrayShape, batch: int) -> ArrayShape:
    """Return the shape with LAPACK's layout: matrices behind the batch dimensions are column-major."""
    order = list(reversed(range(shape.rank)))
    if shape.rank == batch + 2:
        order[:2] = order[1], order[0]
    return ArrayShape(shape.element_type, shape.dimensions, layout=Layout(tuple(order)))


def _same(routine: str, config: Callable[[Call], dict[str, Any]] = lambda call: {}) -> Callable[..., XlaOp]:
    """Return the definition by LAPACK's routine with the same results."""

    def definition(b: XlaBuilder, call: Call, *operands: XlaOp) -> XlaOp:
        results = [call.result(k) for k in range(len(call.instruction.element_shapes))]
        return lapack_call(b, routine, operands, results, **config(call))

    return definition


def _triangle(call: Call) -> dict[str, Any]:
    return {"uplo": "L" if call["lower"] else "U"}


def _cholesky(b: XlaBuilder, call: Call, a: XlaOp) -> XlaOp:
    """Define XLA's own call, which has scratch memory before info."""
    factor, scratch, info = (call.result(k) for k in range(3))
    made = lapack_call(b, "potrf", (a,), [factor, info], **_triangle(call))
    zeros = b.broadcast(b.zero(scratch.element_type), scratch.dimensions)
    return b.tuple([made[0], zeros, made[1]])


# The fill mode in the C structure is the triangle that is given: lower and upper are 0 and 1 in cuBLAS, 122 and 121
# in hipBLAS.
_TRIANGLES = {"\0": "L", "\1": "U", "z": "L", "y": "U"}


def _check_struct(call: Call) -> None:
    """Check the C structure of 32-bit integers: element type, triangle, batch, size, scratch memory."""
    if call[TEXT][4:5] not in _TRIANGLES:
        raise ConfigError("has a configuration that does not tell which triangle is given")


def _eigh_from_struct(b: XlaBuilder, call: Call, a: XlaOp) -> XlaOp:
    """Define the call of older versions, whose configuration is a C structure."""
    results = [call.result(k) for k in range(3)]
    made = lapack_call(b, "syevd", (a,), results, mode="V", uplo=_TRIANGLES[call[TEXT][4]])
    return call.with_scratch(b, *(made[k] for k in range(3)))


def _tridiagonal_solve(b: XlaBuilder, call: Call, *operands: XlaOp) -> XlaOp:
    info = make_shape(S32, operands[0].array_shape.dimensions[:-1])
    return lapack_call(b, "gtsv", operands, [*(operand.array_shape for operand in operands), info])[3]


# -- singular values


def _singular(b: XlaBuilder, call: Call, a: XlaOp) -> tuple[XlaOp, XlaOp, XlaOp, XlaOp]:
    """Return singular values, U, V^H and info, with all vectors or as many as singular values."""
    values, info = call.result(1), call.result(4)
    *batch, m, n = a.array_shape.dimensions
    u, v = (m, n) if call["full_matrices"] else (min(m, n), min(m, n))
    element_type = a.array_shape.element_type
    shapes = [
        a.array_shape,
        values,
        make_shape(element_type, [*batch, m, u]),
        make_shape(element_type, [*batch, v, n]),
        info,
    ]
    made = lapack_call(b, "gesdd", (a,), shapes, mode="A" if call["full_matrices"] else "S")
    return made[1], made[2], made[3], made[4]


def _svd(b: XlaBuilder, call: Call, a: XlaOp) -> XlaOp:
    """Define the SVD. If ``transposed``, the library works on the transposed matrix and returns V^H before U."""
    values, u, vh, info = _singular(b, call, a)
    if not call["compute_uv"]:
        u, vh = (b.broadcast(b.zero(u.array_shape.element_type), call.result(k).dimensions) for k in (2, 3))
    vectors = [vh, u] if call["transposed"] else [u, vh]
    return b.tuple([a, values, *vectors, info])


def _svd_by_rotations(b: XlaBuilder, call: Call, a: XlaOp) -> XlaOp:
    """Define the Jacobi and the polar method, which return V in place of V^H; vectors are computed even if not
    requested.
    """
    values, u, vh, info = _singular(b, call, a)
    return b.tuple([a, values, u, _adjoint(b, vh), info])


def _adjoint(b: XlaBuilder, x: XlaOp) -> XlaOp:
    rank = x.array_shape.rank
    turned = b.transpose(x, [*range(rank - 2), rank - 1, rank - 2])
    return b.conj(turned) if x.array_shape.element_type.is_complex else turned


# -- eigenvalues


def _eigen(b: XlaBuilder, call: Call, a: XlaOp) -> tuple[XlaOp, list[XlaOp], XlaOp, XlaOp, XlaOp]:
    """Return the results of ``geev`` as a tuple, the eigenvalues (real and imaginary parts of a real matrix), both
    kinds of vectors, and info.
    """
    shape = a.array_shape
    *batch, n, _ = shape.dimensions
    made_of = shape.element_type if shape.element_type.is_complex else ELEMENT_TYPES[f"c{2 * shape.element_type.bits}"]
    parts = 1 if shape.element_type.is_complex else 2
    vectors = make_shape(made_of, [*batch, n, n])
    shapes = [*[make_shape(shape.element_type, [*batch, n])] * parts, vectors, vectors, make_shape(S32, batch)]
    sides = {f"compute_{side}": "V" if call[side] else "N" for side in ("left", "right")}
    made = lapack_call(b, "geev", (a,), shapes, **sides)
    values = [made[k] for k in range(parts)]
    return made, values, made[parts], made[parts + 1], made[parts + 2]


def _eigen_hybrid(b: XlaBuilder, call: Call, a: XlaOp) -> XlaOp:
    return _eigen(b, call, a)[0]


def _eigen_packed(b: XlaBuilder, call: Call, a: XlaOp) -> XlaOp:
    """Define eigenvectors of a real matrix as real numbers: the real part of a conjugate pair, then its imaginary
    part.
    """
    _, values, left, right, info = _eigen(b, call, a)
    if len(values) == 1:
        return b.tuple([a, values[0], left, right, info])
    sizes = left.array_shape.dimensions
    axes = [*range(len(sizes) - 2), len(sizes) - 1]
    is_second = b.broadcast_in_dim(b.lt(values[1], 0.0), sizes, axes)
    packed = [b.select(is_second, b.neg(b.imag(side)), b.real(side)) for side in (left, right)]
    return b.tuple([a, b.complex(values[0], values[1]), *packed, info])


_LOWER: dict[str, Field] = {"lower": flag()}
_TIMES_Q: dict[str, Field] = {"left": flag(), "transpose": flag()}
_SIDES: dict[str, Field] = {"left": flag(), "right": flag()}
_BY_ROTATIONS: dict[str, Field] = {"full_matrices": flag(), "compute_uv": flag()}
_HYBRID: dict[str, Field] = {**_SIDES, "magma": ANYTHING}


_EIGH_OF_MEMORY = CustomCall(
    (f"{HERMITIAN} T[s]",), _eigh_from_struct, config={TEXT: Field(Kind.WORD)}, check=_check_struct
)

# By name without the prefix ``cu`` or ``hip``.
_ROUTINES: dict[str, CustomCall] = {
    "solver_potrf_ffi": CustomCall((FACTOR,), _same("potrf", _triangle), config=_LOWER),
    "solver_getrf_ffi": CustomCall((LU,), _same("getrf")),
    "blas_getrf_batched_ffi": CustomCall((LU,), _same("getrf")),
    "solver_geqrf_ffi": CustomCall((QR,), _same("geqrf")),
    "blas_geqrf_batched_ffi": CustomCall((QR,), _same("geqrf")),
    "hybrid_geqp3": CustomCall((QR_PIVOTED,), _same("geqp3"), config={"magma": ANYTHING}),
    "solver_orgqr_ffi": CustomCall((COLUMNS_OF_Q,), _same("orgqr")),
    "solver_ormqr_ffi": CustomCall(
        (TIMES_Q,), _same("ormqr", lambda call: {name: call[name] for name in _TIMES_Q}), config=_TIMES_Q
    ),
    "solver_syevd_ffi": CustomCall(
        (HERMITIAN,),
        _same("syevd", lambda call: {"mode": "V", **_triangle(call)}),
        config={**_LOWER, "algorithm": ANYTHING},
    ),
    "solver_syevd": _EIGH_OF_MEMORY,
    "solver_syevj": _EIGH_OF_MEMORY,
    "solver_sytrd_ffi": CustomCall((TRIDIAGONAL,), _same("sytrd", _triangle), config=_LOWER),
    "solver_gesvd_ffi": CustomCall(_SINGULAR, _svd, config={**_BY_ROTATIONS, "transposed": flag(False)}),
    "solver_gesdd_ffi": CustomCall(_SINGULAR, _svd, config={**_BY_ROTATIONS, "transposed": flag(False)}),
    "solver_gesvdj_ffi": CustomCall(_SINGULAR_V, _svd_by_rotations, config=_BY_ROTATIONS),
    "solver_gesvdp_ffi": CustomCall(_SINGULAR_V, _svd_by_rotations, config=_BY_ROTATIONS),
    "solver_geev_ffi": CustomCall(_EIGEN, _eigen_packed, config=_SIDES),
    "hybrid_eig_real": CustomCall(_EIGEN_REAL, _eigen_hybrid, config=_HYBRID),
    "hybrid_eig_comp": CustomCall(_EIGEN_COMPLEX, _eigen_hybrid, config=_HYBRID),
    "_tridiagonal_solve_perturbed": PERTURBED,
    "sparse_gtsv2_ffi": CustomCall((f"{BANDS} T[*,n,k]",), _tridiagonal_solve),
}


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


# Under their names on CUDA and on ROCm, then XLA's own calls: of cuSOLVER, and of factorisations on TPUs.
GPU_LAPACK: dict[str, CustomCall] = {
    **{f"{library}{name}": row for name, row in _ROUTINES.items() for library in ("cu", "hip")},
    "__cusolver$cholesky": CustomCall(("T[*,n,n] -> T[*,n,n] A[s] s32[*]",), _cholesky, config={"lower": flag(False)}),
    "Qr": CustomCall(("T[*,m,n] -> T[*,m,n] T[*,min(m,n)]",), rule="geqrf", runs_on_cpu=True),
    "ProductOfElementaryHouseholderReflectors": CustomCall(
        ("T[*,m,n] T[*,k] -> T[*,m,n]",), rule="orgqr", check=_columns, runs_on_cpu=True
    ),
    "Eigh": CustomCall(("T[*,n,n] -> T[*,n,n] R[*,n]",), _eigh, config={TEXT: Field(Kind.WORD)}, runs_on_cpu=True),
    "LuDecomposition": CustomCall(("T[*,m,n] -> T[*,m,n] s32[*,min(m,n)] s32[*,m]",), _lu),
}
