"""The LAPACK custom calls: jaxlib's own kernels are the judge."""

import numpy as np
import pytest

from xla2py.templates.prelude import householder, lapack
from xla2py.tests.recording.lazy_jax import jax

pytestmark = pytest.mark.filterwarnings("error")
rng = np.random.default_rng(29)
LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
TOLERANCE = {"f": 2e-4, "d": 1e-11, "F": 2e-4, "D": 1e-11}


def random(shape, dtype):
    parts = rng.standard_normal((2, *shape))
    return (parts[0] + (1j * parts[1] if np.dtype(dtype).kind == "c" else 0)).astype(dtype)


def hermitian(shape, dtype, shift=0):
    a = random(shape, dtype)
    return (a + a.conj().mT + shift * np.eye(shape[-1])).astype(dtype)


def column_major(array, batch_ndim):
    order = list(range(array.ndim))
    return (*order[:-2], order[-1], order[-2]) if array.ndim == batch_ndim + 2 else tuple(order)


def jaxlibs(name, operands, results, batch_ndim=1, **attributes):
    """What jaxlib's function of that name gives; ``results`` have the shapes and dtypes it returns."""
    kinds = [(result.shape, result.dtype) for result in results]
    given, made = ([column_major(array, batch_ndim) for array in arrays] for arrays in (operands, results))

    def call(*operands):
        from jaxlib import lapack as kernels

        kernels._lapack.initialize()
        structs = [jax.ShapeDtypeStruct(*kind) for kind in kinds]
        return jax.ffi.ffi_call(name, structs, input_layouts=given, output_layouts=made)(*operands, **attributes)

    with jax.enable_x64(True):
        return list(jax.jit(call)(*operands))


def kernel(routine, operands, results, batch_ndim=1, **attributes):
    """jaxlib's kernel on the operands."""
    codes = {name: np.uint8(ord(value)) if isinstance(value, str) else value for name, value in attributes.items()}
    name = f"lapack_{LETTERS[operands[0].dtype.name]}{routine}_ffi"
    return jaxlibs(name, operands, results, batch_ndim, **codes)


def assert_close(ours, theirs, scale=1.0):
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine.dtype, mine.shape) == (other.dtype, other.shape)
        if mine.dtype.kind in "fc":
            tolerance = TOLERANCE[mine.dtype.char] * scale
            np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(mine, other)


def in_order(values):
    """Eigenvalues sorted, rounding aside."""
    return np.take_along_axis(values, np.lexsort((values.imag.round(3), values.real.round(3)), axis=-1), -1)


# ---------------------------------------------------------------- systems and factors
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_potrf(dtype, uplo):
    a = hermitian((3, 4, 4), dtype, shift=20)
    a[1, 2, 2] = -1
    ours = lapack.potrf(a, uplo=uplo)
    factor, info = kernel("potrf", [a], ours, uplo=uplo)
    np.testing.assert_array_equal(ours[1] == 0, info == 0)
    assert_close([ours[0][::2]], [factor[::2]])
    assert np.isnan(ours[0][1]).any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 4, 4), (2, 5, 3), (2, 3, 5), (1, 1, 1), (0, 2, 2)])
def test_getrf(dtype, shape):
    a = random(shape, dtype)
    ours = lapack.getrf(a)
    assert_close(ours, kernel("getrf", [a], ours))


@pytest.mark.parametrize("shape", [(70, 70), (80, 40), (40, 80)])
def test_getrf_in_blocks(shape):
    a = random(shape, np.float64)
    ours = lapack.getrf(a)
    assert_close(ours, kernel("getrf", [a], ours, batch_ndim=0), scale=100)


def test_getrf_of_a_singular_matrix():
    a = np.float32([[[1, 2, 3], [2, 4, 6], [1, 0, 1]], [[0, 0, 0], [0, 1, 0], [0, 0, 2]]])
    ours = lapack.getrf(a)
    assert_close(ours, kernel("getrf", [a], ours))
    assert ours[2].tolist() == [3, 1]


def test_pivots_to_permutation():
    pivots = np.stack([rng.integers(k, 7, 3) for k in range(5)], -1).astype(np.int32)
    expected = jax.jit(lambda pivots: jax.lax.linalg.lu_pivots_to_permutation(pivots, 7))(pivots)
    ours = lapack.pivots_to_permutation(pivots, 7)
    assert ours.dtype == np.int32
    np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 6, 3), (1, 1, 2), (2, 2, 1)])
def test_gtsv(dtype, shape):
    lower, diagonal, upper = (random(shape[:2], dtype) for _ in range(3))
    diagonal[0, : shape[1] // 2] *= dtype(0.01)  # needs exchanges
    b = random(shape, dtype)
    ours = lapack.gtsv(lower, diagonal, upper, b)
    theirs = kernel("gtsv", [lower, diagonal, upper, b], ours)
    assert_close(ours[3:], theirs[3:], scale=100)


def test_gtsv_of_a_singular_matrix():
    zeros, b = np.zeros((1, 3)), np.ones((1, 3, 1))
    assert lapack.gtsv(zeros, zeros, zeros, b)[4] == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 6])
@pytest.mark.parametrize("kind", ["any", "zeros", "eigenvalue", "tiny"])
def test_gtsv_perturbed(dtype, n, kind):
    lower, diagonal, upper = (random((2, n), dtype) for _ in range(3))
    b = random((2, n, 3), dtype)
    if kind == "zeros":
        diagonal[:] = 0
    if kind == "eigenvalue":
        lower[:] = upper[:] = -1
        diagonal[:] = 2 * np.cos(np.pi / (n + 1))
    if kind == "tiny":
        lower[:, n // 2 :] = 0
        diagonal[:, n // 2] = 0
        diagonal *= dtype(1e-30)
    ours = lapack.gtsv_perturbed(lower, diagonal, upper, b)
    assert np.isfinite(ours).all()
    (theirs,) = jaxlibs("tridiagonal_solve_perturbed_ffi", [lower, diagonal, upper, b], [b])
    size = np.abs(theirs).max()
    assert_close([ours / size], [theirs / size], scale=100)


# ---------------------------------------------------------------- eigenvalues and singular values
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_syevd(dtype, uplo):
    a = hermitian((2, 4, 4), dtype)
    ours = lapack.syevd(a, uplo=uplo)
    theirs = kernel("heevd" if np.dtype(dtype).kind == "c" else "syevd", [a], ours, mode="V", uplo=uplo)
    assert_close(ours[1:], theirs[1:])
    vectors, values, _ = ours
    assert_close([a @ vectors], [vectors * values[..., None, :]], scale=10)


def test_what_is_not_finite_fails_alone():
    a = hermitian((2, 3, 3), np.float32)
    a[1, 0, 0] = np.nan
    for results in (lapack.syevd(a), lapack.gesdd(a)[1:], lapack.geev(a), lapack.gees(a)):
        *arrays, info = results
        assert info.tolist() == [0, 1]
        assert all(np.isfinite(array[0]).all() for array in arrays)
        assert np.isnan(arrays[0][1]).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 5, 3), (2, 3, 5), (1, 4, 4)])
@pytest.mark.parametrize("mode", ["A", "S", "N"])
@pytest.mark.parametrize("routine", ["gesdd", "gesvd"])
def test_gesdd(dtype, shape, mode, routine):
    a = random(shape, dtype)
    ours = lapack.gesdd(a, mode=mode)
    theirs = kernel(routine, [a], ours, mode=mode)
    assert_close(ours[1::3], theirs[1::3])
    if mode != "N":
        _, values, u, vh, _ = ours
        least = min(shape[1:])
        assert_close([u[..., :least] * values[:, None] @ vh[..., :least, :]], [a])


@pytest.mark.parametrize("dtype", DTYPES)
def test_geev(dtype):
    a = random((3, 5, 5), dtype)
    *parts, left, right, info = lapack.geev(a)
    theirs = kernel("geev", [a], (*parts, left, right, info), compute_left="V", compute_right="V")
    assert info.tolist() == [0, 0, 0]
    values = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
    expected = theirs[0] if len(parts) == 1 else theirs[0] + 1j * theirs[1]
    assert_close([in_order(values)], [in_order(expected)], scale=10)
    assert_close([a @ right], [right * values[:, None]], scale=10)
    assert_close([left.conj().mT @ a], [values[..., None] * left.conj().mT], scale=10)
    for vectors in (left, right):
        assert_close([np.linalg.norm(vectors, axis=-2)], [np.ones_like(parts[0].real)])
    assert not lapack.geev(a, compute_left="N")[-3].any()
    assert not lapack.geev(a, compute_right="N")[-2].any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 6])
def test_gees(dtype, n):
    a = random((3, n, n), dtype)
    form, vectors, *eigenvalues, none_sorted, info = lapack.gees(a)
    theirs = kernel("gees", [a], (form, vectors, *eigenvalues, none_sorted, info), mode="V", sort="N")
    values, expected = (
        parts[0] + 1j * parts[1] if len(parts) == 2 else parts[0] for parts in (eigenvalues, theirs[2:-2])
    )
    assert_close([in_order(values)], [in_order(expected)], scale=20)
    identity = np.broadcast_to(np.eye(n, dtype=dtype), a.shape)
    assert_close([vectors @ form @ vectors.conj().mT, vectors @ vectors.conj().mT], [a, identity], scale=10)
    assert not np.tril(form, -2).any()
    subdiagonal = np.diagonal(form, -1, -2, -1)
    if np.dtype(dtype).kind == "c":
        assert not subdiagonal.any()
    else:
        assert not (subdiagonal[:, 1:] * subdiagonal[:, :-1]).any()
        diagonal = np.diagonal(form, 0, -2, -1)
        np.testing.assert_allclose((np.diff(diagonal) * (subdiagonal != 0)), 0, atol=1e-4)


def test_gees_of_a_defective_matrix():
    a = np.array([[[2.0, 1, 0], [0, 2, 1], [0, 0, 2]], [[0, 0, 0], [1, 0, 0], [0, 1, 0]]])
    form, vectors, *_ = lapack.gees(a)
    np.testing.assert_allclose(vectors @ form @ vectors.mT, a, atol=1e-6)
    np.testing.assert_allclose(np.diagonal(form, 0, -2, -1), [[2, 2, 2], [0, 0, 0]], atol=1e-4)


# ---------------------------------------------------------------- reflectors
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 5, 3), (2, 3, 5), (1, 4, 4), (1, 1, 1)])
def test_geqrf_and_orgqr(dtype, shape):
    a = random(shape, dtype)
    ours = householder.geqrf(a)
    assert_close(ours, kernel("geqrf", [a], ours))
    packed, tau = ours
    least = min(shape[1:])
    q = [householder.orgqr(packed[..., :least], tau)]
    routine = "ungqr" if np.dtype(dtype).kind == "c" else "orgqr"
    assert_close(q, kernel(routine, [packed[..., :least].copy(), tau], q))
    assert_close([q[0] @ np.triu(packed[..., :least, :])], [a])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
def test_ormqr(dtype, left, transpose):
    packed, tau = householder.geqrf(random((2, 5, 3), dtype))
    c = random((2, 5, 2) if left else (2, 2, 5), dtype)
    ours = [householder.ormqr(packed, tau, c, left=left, transpose=transpose)]
    routine = "unmqr" if np.dtype(dtype).kind == "c" else "ormqr"
    assert_close(ours, kernel(routine, [packed.copy(), tau, c], ours, left=left, transpose=transpose))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 5, 3), (2, 3, 5), (1, 4, 4)])
@pytest.mark.parametrize("pinned", [[], [2], [1, 2]])
def test_geqp3(dtype, shape, pinned):
    a = random(shape, dtype)
    pivots = np.zeros((shape[0], shape[2]), np.int32)
    pivots[0, pinned] = 1  # the other matrix of the batch has none
    ours = householder.geqp3(a, pivots)
    assert_close(ours, kernel("geqp3", [a, pivots], ours))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n, low, high", [(5, 1, 5), (5, 2, 4), (2, 1, 2), (1, 1, 1)])
def test_gehrd(dtype, n, low, high):
    a = random((2, n, n), dtype)
    if high < n:
        a[..., low:, : low - 1] = a[..., high:, :high] = 0
        a = np.triu(a) + np.tril(a, -1) * (np.arange(n) >= low - 1) * (np.arange(n)[:, None] < high)
        a = a.astype(dtype)
    ours = householder.gehrd(a, low=low, high=high)
    assert_close(ours, kernel("gehrd", [a], ours, low=np.int32(low), high=np.int32(high)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("uplo", ["L", "U"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_sytrd(dtype, uplo, n):
    a = hermitian((2, n, n), dtype)
    ours = householder.sytrd(a, uplo=uplo)
    routine = "hetrd" if np.dtype(dtype).kind == "c" else "sytrd"
    assert_close(ours, kernel(routine, [a], ours, uplo=uplo))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("uplo", ["L", "U"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_imaginary_parts_of_a_hermitian_diagonal_are_not_read(dtype, uplo, n):
    """LAPACK reads one triangle, and of the diagonal its real part."""
    a = random((2, n, n), dtype)
    ours = householder.sytrd(a, uplo=uplo)
    assert_close(ours, kernel("hetrd", [a], ours, uplo=uplo))
    ours = lapack.syevd(a, uplo=uplo)
    assert_close(ours[1:], kernel("heevd", [a], ours, mode="V", uplo=uplo)[1:])
    a = a @ a.conj().mT + (20 + 3j) * np.eye(n, dtype=dtype)
    ours = lapack.potrf(a, uplo=uplo)
    assert_close(ours, kernel("potrf", [a], ours, uplo=uplo))


def test_solve_of_regular_matrices_is_the_librarys():
    a = rng.normal(size=(5, 5)).astype(np.float32)
    for b in (a[0], a[:, :3], a[:, :0]):
        np.testing.assert_array_equal(lapack.solve(a, b), np.linalg.solve(a, b))


def test_transposed_equations_are_the_librarys_or_those_of_the_factors():
    a = rng.normal(size=(5, 5))
    for b in (a[0], a[:, :3], a[:, :0]):
        np.testing.assert_array_equal(lapack.solve_transposed(a, b), np.linalg.solve(a.T, b))
    singular, infinite, b = a.copy(), a.copy(), rng.normal(size=(5, 2))
    singular[3], infinite[1, 2] = singular[0] / 2, np.inf
    for spoilt in (singular, infinite, np.zeros((5, 5)), np.full((5, 5), np.nan)):
        with np.errstate(all="ignore"):
            lu, pivots, _ = lapack.getrf(spoilt)
            half = lapack.triangular_solve(lu.T, b, lower=True)
            order = lapack.pivots_to_permutation(pivots - 1, 5)
            wanted = lapack.triangular_solve(lu.T, half, unit_diagonal=True)[np.argsort(order)]
        found = lapack.solve_transposed(spoilt, b)
        assert not np.isfinite(found).all()
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_solve_of_infinite_matrices_is_not_the_librarys():
    a, b = random((4, 4), np.float64), random((4, 2), np.float64)
    a[0, 0], a[1, 0] = np.inf, -np.inf
    with np.errstate(all="ignore"):
        assert np.isnan(lapack.solve(a, b)).all()


def test_each_matrix_is_solved_by_itself():
    a, b = rng.normal(size=(3, 4, 4)), rng.normal(size=(3, 4, 2))
    np.testing.assert_array_equal(lapack.solve_each(a, b), np.linalg.solve(a, b))
    a[1, 2] = 0
    found = lapack.solve_each(a, b)
    np.testing.assert_array_equal(found, [lapack.solve(*each) for each in zip(a, b, strict=True)])
    assert not np.isfinite(found[1]).all() and np.isfinite(found[::2]).all()
    assert lapack.solve_each(a[:0], b[:0]).shape == (0, 4, 2)


@pytest.mark.parametrize("spoilt", ["singular", "nan", "inf"])
def test_solve_of_other_matrices_is_that_of_the_factors(spoilt):
    a, b = rng.normal(size=(4, 4)), rng.normal(size=(4, 2))
    if spoilt == "singular":
        a[2] = 0
    else:
        a[1, 2] = float(spoilt)
    with np.errstate(all="ignore"):
        found, wanted = lapack.solve(a, b), lapack.solve_by_factors(a, b)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert spoilt == "inf" or not np.isfinite(found).all()
    b[0, 0] = np.nan  # the other column stays
    a = rng.normal(size=(4, 4))
    found = lapack.solve(a, b)
    assert np.isfinite(found[:, 1]).all() and not np.isfinite(found[:, 0]).all()
