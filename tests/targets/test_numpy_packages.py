"""What SciPy computes for modules for NumPy: the values of the shared functions, and of XLA."""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy is not installed")


import xla2py
from xla2py.templates.numpy.prelude.factors import cholesky_by_lapack, solve_by_lapack, triangular_solve_by_blas
from xla2py.templates.prelude.lapack import solve
from xla2py.templates.prelude.linalg import cholesky, triangular_solve
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.transpile.emission.module.header import edges_of
from xla2py.transpile.errors import UsageError

RNG = np.random.default_rng(8)
KINDS = {"f4": 2e-4, "f8": 1e-11, "c8": 2e-4, "c16": 1e-11}


def matrix(kind: str, *shape: int) -> np.ndarray:
    numbers = RNG.normal(size=shape) + (1j * RNG.normal(size=shape) if kind[0] == "c" else 0)
    return numbers.astype(kind)


def positive(kind: str, size: int) -> np.ndarray:
    x = matrix(kind, size, size)
    return (x @ x.conj().T + size * np.eye(size)).astype(kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lower", [True, False])
def test_factors_read_one_triangle(kind, lower):
    a = positive(kind, 40)
    a[np.triu_indices(40, 1) if lower else np.tril_indices(40, -1)] = 7
    before = a.copy()
    np.testing.assert_allclose(cholesky_by_lapack(a, lower), cholesky(a, lower), KINDS[kind], KINDS[kind])
    np.testing.assert_allclose(cholesky_by_lapack(a.T.copy().T, lower), cholesky(a, lower), KINDS[kind], KINDS[kind])
    assert np.array_equal(a, before)


def test_what_is_not_positive_definite_has_factors_of_nan():
    for number in (-1, 0, np.nan, np.inf):
        a = positive("f4", 20)
        a[13, 13] = number
        for lower in (True, False):
            assert (np.isnan(cholesky_by_lapack(a, lower)) == np.isnan(cholesky(a, lower))).all()
    assert (np.isnan(cholesky_by_lapack(np.full((3, 3), np.nan, np.float32))) == np.tri(3)).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("lower", [True, False])
def test_triangles_in_rows_and_in_columns_are_solved(kind, order, lower):
    for side_order in "CF":
        for unit_diagonal in (True, False):
            a = np.asarray(matrix(kind, 24, 24) / 20 + 2 * np.eye(24), dtype=kind, order=order)
            b = np.asarray(matrix(kind, 24, 24)[:, :9], order=side_order)
            ways = {"lower": lower, "unit_diagonal": unit_diagonal}
            made, expected = triangular_solve_by_blas(a, b, **ways), triangular_solve(a, b, **ways)
            assert (made.dtype, made.shape) == (expected.dtype, expected.shape)
            np.testing.assert_allclose(made, expected, KINDS[kind], KINDS[kind])


def test_singular_triangles_and_numbers_that_are_not_finite_are_those_of_the_shared_function():
    for row, column, number in ((3, 3, 0), (5, 2, np.inf), (7, 7, np.nan), (2, 5, np.nan)):
        a, b = np.eye(9, dtype=np.float32) + 1, np.ones((9, 4), np.float32)
        a[row, column] = number
        with np.errstate(all="ignore"):
            made, expected = triangular_solve_by_blas(a, b, lower=True), triangular_solve(a, b, lower=True)
        assert np.array_equal(made, expected, equal_nan=True)
    b[2, 3] = np.inf
    with np.errstate(all="ignore"):
        made = triangular_solve_by_blas(np.eye(9, dtype=np.float32), b)
        assert np.array_equal(made, triangular_solve(np.eye(9, dtype=np.float32), b), equal_nan=True)


@pytest.mark.parametrize("kind", KINDS)
def test_equations_are_solved_and_singular_ones_give_what_elimination_gives(kind):
    a, b = matrix(kind, 30, 30) + 8 * np.eye(30).astype(kind), matrix(kind, 30, 4)
    for right in (b, b[:, 0]):
        np.testing.assert_allclose(solve_by_lapack(a, right), solve(a, right), KINDS[kind] * 10, KINDS[kind] * 10)
    a[4] = a[5] = 0
    with np.errstate(all="ignore"):
        assert np.array_equal(np.isfinite(solve_by_lapack(a, b)), np.isfinite(solve(a, b)))


def computed(x, z, a, b):
    transforms = [
        *(jnp.fft.fft(z), jnp.fft.ifft2(z), jnp.fft.fftn(z.reshape(8, 25, 64))),
        *(jnp.fft.rfft(x), jnp.fft.rfft2(x), jnp.fft.irfft(z), jnp.fft.irfft(z, 63), jnp.fft.irfft2(z, (200, 21))),
    ]
    factor = jnp.linalg.cholesky(a)
    return (
        *transforms,
        factor,
        jax.scipy.linalg.solve_triangular(factor, b, lower=True, trans=1),
        jnp.linalg.solve(a, b),
    )


def arguments():
    z = matrix("c8", 200, 64)
    return matrix("f4", 64, 64), z, positive("f4", 64), matrix("f4", 64, 5)


@pytest.mark.parametrize("options", [{"allow": ["scipy"]}, {"style": "fast"}], ids=str)
def test_modules_that_may_import_scipy_give_what_xla_gives(options):
    if "style" in options:
        pytest.importorskip("numba", reason="Numba is not installed")
    given = arguments()
    module = xla2py.emit(xla2py.from_jax(computed, *given), debug=True, **options)
    for text in ("scipy.fft.fft(", "scipy.fft.ifft2(", "scipy.fft.fftn(", "axes=(-3, -2, -1)", ", 63)"):
        assert text in module.source
    for text in ("np.fft", " cholesky(", " solve("):
        assert text not in module.source.partition("def check_arguments")[0]
    made = module.load(keep_compiled=False).main(*given)
    for leaf, expected in zip(made, jax.jit(computed)(*given), strict=True):
        assert (leaf.dtype, leaf.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(leaf, expected, rtol=2e-3, atol=2e-3)


def test_scipy_is_imported_where_it_is_allowed_alone():
    given = arguments()
    module = xla2py.from_jax(computed, *given)
    assert "scipy" not in xla2py.emit(module).source
    allowed = xla2py.emit(module, allow=("scipy",)).source
    assert "import scipy.fft\n" in allowed
    assert "--allow scipy" in allowed
    assert "import scipy" not in xla2py.emit(xla2py.from_jax(jnp.fft.fft, given[1][0]), allow=("scipy",)).source


@pytest.mark.parametrize(("target", "name"), [("numpy", "numba"), ("dask", "scipy")])
def test_packages_that_a_target_has_no_use_for_are_refused(target, name):
    with pytest.raises(UsageError) as caught:
        xla2py.emit("ENTRY main { x = f32[4] parameter(0)  ROOT y = f32[4] negate(x) }", target=target, allow=(name,))
    assert caught.value.diagnostics[0].code == "XP416"


POINTS = np.array(
    [*(0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2, -2, 0.5, -0.5, 13, -12, 1e30, -1e30), *RNG.normal(size=50)]
)


def special_functions(x, y):
    special = jax.scipy.special
    return (
        *(special.erf(x), special.erfc(x), special.erfinv(x), special.entr(x)),
        *(special.i0e(x), special.i1e(x), special.xlogy(x, y), special.xlog1py(x, y)),
        *(special.ndtri(x), special.ndtri(abs(x)), special.erfcx(x)),
    )


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_special_functions_are_those_of_scipy_where_they_give_the_same(kind):
    x, y = POINTS.astype(kind), POINTS[::-1].astype(kind)
    with jax.enable_x64(kind == "f8"):
        module = xla2py.from_jax(special_functions, x, y)
        expected = jax.jit(special_functions)(x, y)
    generated = xla2py.emit(module, allow=("scipy",), debug=True)
    for name in ("erf", "erfc", "erfinv", "entr", "i0e", "i1e", "xlogy", "xlog1py", "ndtri", "erfcx"):
        assert f"scipy.special.{name}(" in generated.source
    assert "\ndef erf" not in generated.source
    for leaf, wanted in zip(generated.load().main(x, y), expected, strict=True):
        assert leaf.dtype == wanted.dtype
        np.testing.assert_allclose(leaf, wanted, rtol=1e-5 if kind == "f4" else 1e-12, atol=1e-37)


def test_the_normal_distribution_is_that_of_scipy():
    cdf = jax.scipy.stats.norm.cdf
    generated = xla2py.emit(xla2py.from_jax(cdf, POINTS.astype("f4")), allow=("scipy",))
    assert "return scipy.special.ndtr(x)" in generated.source
    made, wanted = generated.load().main(POINTS.astype("f4")), cdf(POINTS.astype("f4"))
    np.testing.assert_allclose(made, wanted, rtol=1e-5, atol=1e-37)


SINGULAR = {"gammaln": 1, "digamma": 1, "gammainc": 2, "gammaincc": 2, "betainc": 3, "zeta": 2}


@pytest.mark.parametrize("name", SINGULAR)
def test_special_functions_that_differ_at_singularities_are_those_of_scipy_where_the_library_decides(name):
    count = SINGULAR[name]
    function = getattr(jax.scipy.special, name)
    given = [RNG.uniform(1.1 if k == 0 else 0.1, 4 if k < 2 else 0.9, 40).astype("f4") for k in range(count)]
    module = xla2py.from_jax(function, *given)
    assert "scipy" not in xla2py.emit(module, allow=("scipy",)).source.partition("import numpy")[2]
    generated = xla2py.emit(module, allow=("scipy",), edge_cases="library", debug=True)
    assert f"scipy.special.{name}(" in generated.source
    assert edges_of(generated.source) == ("singularities",)
    np.testing.assert_allclose(generated.load().main(*given), function(*given), rtol=1e-3, atol=1e-5)
