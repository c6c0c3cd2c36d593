"""LAPACK's routines, as JAX calls them: of LAPACK on the CPU, of cuSOLVER and hipSOLVER and the like on GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..builder import Transpose, XlaBuilder, XlaOp
from ..element_types import ELEMENT_TYPES, S32, ElementType
from ..shapes import ArrayShape
from .call import Call, CustomCall
from .fields import ConfigError, Field, flag, integer, letter
from .signatures import results_of, spelled

_TYPES = {
    "s": ("f32", "f32", "c64"),
    "d": ("f64", "f64", "c128"),
    "c": ("c64", "f32", "c64"),
    "z": ("c128", "f64", "c128"),
}
_HERMITIAN_NAMES = {"sy": "he", "or": "un"}
_TRANSPOSES = {"N": Transpose.NO_TRANSPOSE, "T": Transpose.TRANSPOSE, "C": Transpose.ADJOINT}

FACTOR = "T[*,n,n] -> T[*,n,n] s32[*]"
LU = "T[*,m,n] -> T[*,m,n] s32[*,min(m,n)] s32[*]"
QR = "T[*,m,n] -> T[*,m,n] T[*,min(m,n)]"
QR_PIVOTED = "T[*,m,n] s32[*,n] -> T[*,m,n] s32[*,n] T[*,min(m,n)]"
COLUMNS_OF_Q = "T[*,m,n] T[*,k] -> T[*,m,n]"
TIMES_Q = "T[*,r,k] T[*,k] T[*,m,n] -> T[*,m,n]"
HERMITIAN = "T[*,n,n] -> T[*,n,n] R[*,n] s32[*]"
_SINGULAR = "T[*,m,n] -> T[*,m,n] R[*,min(m,n)] T[*,m,p] T[*,q,n] s32[*]"
_EIGEN_REAL = "F[*,n,n] -> F[*,n] F[*,n] C[*,n,n] C[*,n,n] s32[*]"
_EIGEN_COMPLEX = "Z[*,n,n] -> Z[*,n] Z[*,n,n] Z[*,n,n] s32[*]"
_SCHUR_REAL = "F[*,n,n] -> F[*,n,n] F[*,n,n] F[*,n] F[*,n] s32[*] s32[*]"
_SCHUR_COMPLEX = "Z[*,n,n] -> Z[*,n,n] Z[*,n,n] Z[*,n] s32[*] s32[*]"
TRIDIAGONAL = "T[*,n,n] -> T[*,n,n] R[*,n] R[*,n-1] T[*,n-1] s32[*]"
_HESSENBERG = "T[*,n,n] -> T[*,n,n] T[*,n-1] s32[*]"
BANDS = "T[*,n] T[*,n] T[*,n] T[*,n,k] ->"


def _columns(call: Call) -> None:
    m, n, k = (call.sizes[name] for name in "mnk")
    if not k <= n <= m:
        raise ConfigError(f"needs k <= n <= m for its sizes, not m = {m}, n = {n}, k = {k}")


def _factor_of_product(call: Call) -> None:
    rows, k, size = call.sizes["r"], call.sizes["k"], call.sizes["m" if call["left"] else "n"]
    if rows != size or k > rows:
        raise ConfigError(f"cannot multiply {k} reflectors of {rows} elements with {size}")


def _vectors(call: Call) -> None:
    """Check that the sizes of singular vectors match the mode; without vectors, either size is valid."""
    m, n = call.sizes["m"], call.sizes["n"]
    least = min(m, n)
    allowed = {"A": [(m, n)], "S": [(least, least)], "N": [(m, n), (least, least)]}[call["mode"]]
    if (call.sizes["p"], call.sizes["q"]) not in allowed:
        raise ConfigError(f"gives {allowed[0][0]} and {allowed[0][1]} vectors with the mode {call['mode']}")


def _rows_and_columns(call: Call) -> None:
    low, high, n = call["low"], call["high"], call.sizes["n"]
    if not (1 <= low <= high <= n) and not (n == 0 and low == 1 and high == 0):
        raise ConfigError(f"needs 1 <= low <= high <= {n}, not {low} and {high}")


def _solve(b: XlaBuilder, call: Call, a: XlaOp, right: XlaOp) -> XlaOp:
    transpose = _TRANSPOSES[call["trans_x"]]
    left_side, lower, unit = call["side"] == "L", call["uplo"] == "L", call["diag"] == "U"
    return b.triangular_solve(a, right, left_side, lower, unit, transpose)


def _factor_of_one(b: XlaBuilder, call: Call, a: XlaOp) -> XlaOp:
    """Return the Cholesky factor of matrices of one element, its root, and info."""
    element = b.reshape(a, call.result(1).dimensions)
    return b.tuple([b.sqrt(a), b.convert_element_type(b.le(element, b.zero(a.array_shape.element_type)), S32)])


def _lu_of_one(b: XlaBuilder, call: Call, a: XlaOp) -> XlaOp:
    """Return the LU factorisation of matrices of one element: these, no exchange of rows, and info."""
    pivots = b.broadcast(b.constant(1, S32), call.result(1).dimensions)
    element = b.reshape(a, call.result(2).dimensions)
    return b.tuple([a, pivots, b.convert_element_type(b.eq(element, b.zero(a.array_shape.element_type)), S32)])


_UPLO: Mapping[str, Field] = {"uplo": letter("LU")}
_SIDES = {"left": flag(), "transpose": flag()}
_BOTH_SIDES = {"compute_left": letter("NV"), "compute_right": letter("NV")}
_SCHUR = {"mode": letter("NV"), "sort": letter("N")}

# By LAPACK's names; ``sy`` and ``or`` become ``he`` and ``un`` for complex numbers.
_ROUTINES: dict[str, CustomCall] = {
    "trsm": CustomCall(
        ("T[*,n,n] T[*,r,c] -> T[*,r,c]",),
        _solve,
        config={"side": letter("LR"), "uplo": letter("LU"), "trans_x": letter("NTC"), "diag": letter("NU")},
    ),
    "potrf": CustomCall((FACTOR,), rule="potrf", config=_UPLO, of_one=_factor_of_one),
    "getrf": CustomCall((LU,), rule="getrf", of_one=_lu_of_one),
    "geqrf": CustomCall((QR,), rule="geqrf"),
    "geqp3": CustomCall((QR_PIVOTED,), rule="geqp3"),
    "orgqr": CustomCall((COLUMNS_OF_Q,), rule="orgqr", check=_columns),
    "ormqr": CustomCall((TIMES_Q,), rule="ormqr", config=_SIDES, check=_factor_of_product),
    "syevd": CustomCall((HERMITIAN,), rule="syevd", config={"mode": letter("NV"), **_UPLO}),
    "gesdd": CustomCall((_SINGULAR,), rule="gesdd", config={"mode": letter("ASN")}, check=_vectors),
    "gesvd": CustomCall((_SINGULAR,), rule="gesdd", config={"mode": letter("ASN")}, check=_vectors),
    "geev": CustomCall((_EIGEN_REAL, _EIGEN_COMPLEX), rule="geev", config=_BOTH_SIDES),
    "gees": CustomCall((_SCHUR_REAL, _SCHUR_COMPLEX), rule="gees", config=_SCHUR),
    "sytrd": CustomCall((TRIDIAGONAL,), rule="sytrd", config=_UPLO),
    "gehrd": CustomCall(
        (_HESSENBERG,), rule="gehrd", config={"low": integer(), "high": integer()}, check=_rows_and_columns
    ),
    "gtsv": CustomCall((f"{BANDS} T[*,n] T[*,n] T[*,n] T[*,n,k] s32[*]",), rule="gtsv"),
}


# jaxlib's own routine, after LAPACK's xLAGTS, for inverse iteration.
PERTURBED = CustomCall((f"{BANDS} T[*,n,k]",), rule="gtsv_perturbed", by_columns=True)


def lapack_results(
    routine: str, operands: Sequence[tuple[tuple[int, ...], ElementType | None]], config: Mapping[str, Any]
) -> list[tuple[tuple[int, ...], ElementType]]:
    """Return the sizes and element types of a routine's results for operands of these sizes and types.

    Raises ConfigError if the routine does not take such operands.
    """
    shapes = [ArrayShape(own, sizes) for sizes, own in operands if own is not None]
    sizes: dict[str, int] = {}
    if routine == "gesdd":
        rows, columns = shapes[0].dimensions[-2:]
        least = min(rows, columns)
        sizes = dict(zip("pq", (least, least) if config.get("mode", "S") == "S" else (rows, columns), strict=True))
    found = results_of(_ROUTINES[routine].signatures, shapes, sizes)
    return [(shape.dimensions, shape.element_type) for shape in found]


def lapack_name(routine: str, element_type: ElementType) -> str:
    """Return the target of a routine for an element type: ``lapack_cheevd_ffi`` for ``syevd`` and c64."""
    code = next(code for code, (name, *_) in _TYPES.items() if name == element_type.name)
    if element_type.is_complex:
        routine = _HERMITIAN_NAMES.get(routine[:2], routine[:2]) + routine[2:]
    return f"lapack_{code}{routine}_ffi"


def lapack_calls() -> Iterator[tuple[str, CustomCall]]:
    """Yield a row for each routine and element type: ``lapack_spotrf_ffi``, .."""
    yield "tridiagonal_solve_perturbed_ffi", replace(PERTURBED, runs_on_cpu=True)
    for routine, row in _ROUTINES.items():
        for element_type, real, complex_type in _TYPES.values():
            own, other = ("F", "Z") if element_type == real else ("Z", "F")
            letters = {"T": element_type, own: element_type, "R": real, "C": complex_type}
            signatures = tuple(spelled(s, letters.items()) for s in row.signatures if f"{other}[" not in s)
            yield (
                lapack_name(routine, ELEMENT_TYPES[element_type]),
                replace(row, signatures=signatures, forms=row.signatures, by_columns=True, runs_on_cpu=True),
            )
