"""A table of bodies of loops, each of which is compiled as a whole in both precisions and gives what XLA gives."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")

import xla2py
from xla2py.templates.prelude import householder, lapack
from xla2py.templates.prelude.ordering import top_k
from xla2py.tests.recording.lazy_jax import jax
from xla2py.tests.targets.numba_prelude import numba_prelude
from xla2py.tests.targets.numpy_fast import assert_as_in_xla
from xla2py.tests.whole import crossed
from xla2py.transpile.compilation import compile
from xla2py.transpile.compilation.stages import kernels_in
from xla2py.transpile.options import Options
from xla2py.transpile.passes.fusion.compiled_loops import uncompiled_loops
from xla2py.transpile.target import load_target

jnp, lax = jax.numpy, jax.lax
ordering, small_matrices, small_transforms = map(numba_prelude, ("ordering", "small_matrices", "small_transforms"))
RNG = np.random.default_rng(5)


def symmetric(size: int) -> np.ndarray:
    x = RNG.normal(size=(size, size))
    return x @ x.T + size * np.eye(size)


def correlated(x: Any, kernel: Any, padding: Any) -> Any:
    return lax.conv_general_dilated(x[None, None], kernel[None, None], (1,) * x.ndim, padding)[0, 0]


VECTOR, MATRIX, SQUARE, SYMMETRIC = RNG.normal(size=8), RNG.normal(size=(6, 7)), RNG.normal(size=(5, 5)), symmetric(4)
KEY = lambda k: jax.random.fold_in(jax.random.key(1), k)  # noqa: E731

# What a loop begins with, and the next value by the last one and the number of the round.
BODIES = {
    "diagonal": (SQUARE, lambda x, k: x * 0.9 + jnp.diagonal(x) * 0.01),
    "diagonal of a matrix that is made": (SQUARE, lambda x, k: x * 0.9 + jnp.diag(jnp.diagonal(x)) * 0.01),
    "edges": (VECTOR, lambda x, k: jnp.pad(x, 2, mode="edge")[1:9] * 0.9 + x.sum() * 0.01),
    "trace": (SQUARE, lambda x, k: x * 0.9 + jnp.trace(x) * 0.01),
    "slogdet": (SYMMETRIC, lambda x, k: x * 0.9 + jnp.linalg.slogdet(x)[1] * 0.01),
    "det": (SYMMETRIC, lambda x, k: x * 0.9 + jnp.linalg.det(x) * 1e-4),
    "small det": (SYMMETRIC[:2, :2], lambda x, k: x * 0.9 + jnp.linalg.det(x) * 1e-4),
    "gradient of slogdet": (SYMMETRIC, lambda x, k: x * 0.9 + jax.grad(lambda x: jnp.linalg.slogdet(x)[1])(x) * 0.1),
    "inv": (SYMMETRIC, lambda x, k: (jnp.linalg.inv(x) + x) * 0.5),
    "solve": (SYMMETRIC, lambda x, k: x * 0.5 + jnp.linalg.solve(x, x[0] * k) * 0.01),
    "solve each": (RNG.normal(size=(3, 4, 4)), lambda x, k: x * 0.5 + jnp.linalg.solve(x, x) * 0.1),
    "cholesky": (SYMMETRIC, lambda x, k: jnp.linalg.cholesky(x) @ jnp.linalg.cholesky(x).T),
    "larger cholesky": (symmetric(40), lambda x, k: jnp.linalg.cholesky(x) @ jnp.linalg.cholesky(x).T),
    "qr": (SQUARE, lambda x, k: jnp.linalg.qr(x)[1] * 0.9 + jnp.linalg.qr(x)[0] * 0.1),
    "tall qr": (RNG.normal(size=(6, 3)), lambda x, k: jnp.linalg.qr(x)[0] + x @ jnp.linalg.qr(x)[1] * 0.01),
    "eigh": (SYMMETRIC, lambda x, k: x * 0.9 + (jnp.linalg.eigh(x)[1] ** 2).sum(0) * jnp.linalg.eigh(x)[0] * 0.01),
    "eigvalsh": (SYMMETRIC, lambda x, k: x * 0.9 + jnp.linalg.eigvalsh(x) * 0.01),
    "svd": (SQUARE, lambda x, k: x * 0.9 + jnp.abs(jnp.linalg.svd(x)[2]) * jnp.linalg.svd(x)[1] * 0.01),
    "singular values": (SQUARE, lambda x, k: x * 0.9 + jnp.linalg.svd(x, compute_uv=False) * 0.01),
    "pinv": (SYMMETRIC, lambda x, k: x * 0.9 + jnp.linalg.pinv(x) * 0.01),
    "expm": (SQUARE * 0.3, lambda x, k: jax.scipy.linalg.expm(x) * 0.2),
    "tridiagonal": (VECTOR, lambda x, k: x * 0.5 + lax.linalg.tridiagonal_solve(
        jnp.ones_like(x).at[0].set(0), jnp.ones_like(x) * 4, jnp.ones_like(x).at[-1].set(0), x[:, None])[:, 0]),
    "median": (VECTOR, lambda x, k: x * 0.9 + jnp.median(x)),
    "medians of rows": (MATRIX, lambda x, k: x * 0.9 + jnp.median(x, axis=1)[:, None]),
    "percentile": (VECTOR, lambda x, k: x * 0.9 + jnp.percentile(x, 30)),
    "nanmean": (VECTOR, lambda x, k: x * 0.9 + jnp.nanmean(x)),
    "argsort": (VECTOR, lambda x, k: x[jnp.argsort(x)] * 0.9 + jnp.arange(8)),
    "argsort of rows": (MATRIX, lambda x, k: x * 0.9 + jnp.argsort(jnp.round(x), axis=1)),
    "top_k": (VECTOR, lambda x, k: x * 0.9 + lax.top_k(x, 3)[0].sum() + lax.top_k(x, 3)[1][0]),
    "smallest": (VECTOR, lambda x, k: x * 0.9 - lax.top_k(-x, 2)[0].sum()),
    "interp": (VECTOR, lambda x, k: x * 0.9 + jnp.interp(x, jnp.arange(5.0), jnp.arange(5.0) ** 2)),
    "searchsorted": (VECTOR, lambda x, k: x * 0.9 + jnp.searchsorted(jnp.arange(5.0, dtype=x.dtype), x)),
    "one searched": (VECTOR, lambda x, k: x * 0.9 + jnp.searchsorted(jnp.sort(x), x[k], side="right")),
    "wrap": (MATRIX, lambda x, k: x * 0.5 + 0.1 * jnp.pad(x, 1, mode="wrap")[2:, 1:-1]),
    "edge": (MATRIX, lambda x, k: x * 0.5 + 0.1 * jnp.pad(x, 1, mode="edge")[2:, 1:-1]),
    "convolve": (VECTOR, lambda x, k: jnp.convolve(x, jnp.array([0.2, 0.5, 0.3], x.dtype), mode="same")),
    "two axes": (MATRIX, lambda x, k: correlated(x, jnp.full((3, 3), 0.1, x.dtype), "SAME")),
    "uneven": (MATRIX, lambda x, k: correlated(x, x[:4, :2] * 0.02, [(1, 2), (0, 1)])),
    "filter": (MATRIX, lambda x, k: correlated(x, jnp.arange(8, dtype=x.dtype).reshape(4, 2) * 0.02, [(1, 2), (0, 1)])),
    "fft": (VECTOR, lambda x, k: jnp.fft.ifft(jnp.fft.fft(x) * 0.5).real + x * 0.1),
    "rfft": (RNG.normal(size=(2, 15)), lambda x, k: jnp.fft.irfft(jnp.fft.rfft(x) * 0.5, 15) + x * 0.1),
    "fft2": (MATRIX, lambda x, k: jnp.fft.ifft2(jnp.fft.fft2(x) * 0.5).real + x * 0.1),
    "part": (RNG.normal(size=20), lambda x, k: x * 0.9 + lax.dynamic_slice(x, (k,), (4,)).sum()),
    "rows": (RNG.normal(size=(9, 5)), lambda x, k: lax.dynamic_update_slice(
        x, lax.dynamic_slice(x, (k, 0), (2, 5)) * 0.5, (k + 1, 0))),
    "window": (RNG.normal(size=(6, 7)), lambda x, k: lax.dynamic_update_slice(
        x, lax.dynamic_slice(x, (jnp.argmax(x[0]), 2 * k - 3), (3, 2)) * 0.5, (k - 2, jnp.argmin(x[:, 1])))),
    "permutation": (VECTOR, lambda x, k: jax.random.permutation(KEY(k), x) * 0.9),
    "normal": (VECTOR, lambda x, k: x * 0.9 + jax.random.normal(KEY(k), (8,), x.dtype)),
    "uniform": (VECTOR, lambda x, k: x * 0.9 + jax.random.uniform(KEY(k), (8,), x.dtype)),
    "categorical": (VECTOR, lambda x, k: x * 0.9 + jax.random.categorical(KEY(k), x)),
    "cross": (VECTOR[:3], lambda x, k: x * 0.9 + jnp.cross(x, jnp.array([0, 0, 1], x.dtype)) * 0.1),
    "polyval": (VECTOR, lambda x, k: 0.1 * jnp.polyval(jnp.array([1, 2, 3], x.dtype), x)),
    "bincount": (VECTOR, lambda x, k: x * 0.9 + jnp.bincount(jnp.clip(jnp.abs(x).astype(int), 0, 7), length=8)),
    "histogram": (VECTOR, lambda x, k: x * 0.9 + jnp.histogram(x, bins=8, range=(-3, 3))[0]),
    "any of rows": (MATRIX, lambda x, k: jnp.where((x > 1).any(1, keepdims=True), x * 0.5, x + 0.1)),
    "all of columns": (MATRIX, lambda x, k: jnp.where((x < 1).all(0), x * 1.1, x * 0.5)),
    "product": (SQUARE, lambda x, k: x @ x.T * 0.1),
    "products": (RNG.normal(size=(3, 4, 4)), lambda x, k: 0.2 * x @ x + 0.5 * x),
    "gate": (RNG.normal(size=(2, 3, 4)), lambda x, k: jnp.moveaxis(
        jnp.tensordot(x, x[:, :2, k % 2], (0, 1)), 2, 0) * 0.2),
    "axes": (RNG.normal(size=(3, 10, 9)), lambda x, k:
        x * 0.5 + 0.01 * jnp.einsum("abc,dbe->dea", x, x)[:, None, :, 0]),
    "two axes summed": (RNG.normal(size=(3, 4, 5)), lambda x, k:
        x * 0.5 + 0.01 * jnp.einsum("abc,bcd->ad", x, x[0, :, :, None])[..., None]),
    "each": (RNG.normal(size=(9, 3, 4)), lambda x, k: x * 0.5 + 0.01 * jnp.einsum("abc,abd->acd", x, x)[:, :3]),
    "vector": (SQUARE, lambda x, k: x * 0.9 + x @ x[0] * 0.01 + x[1] @ x * 0.01 + x[2] @ x[3] * 0.01),
    "sigmoid": (VECTOR, lambda x, k: jax.nn.sigmoid(x) - x),
    "normal cdf": (VECTOR, lambda x, k: jax.scipy.stats.norm.cdf(x) - 0.5 * x),
    "branches": (VECTOR, lambda x, k: lax.switch(k % 3, [jnp.sin, jnp.sort, lambda x: x * jnp.median(x)], x)),
    "nested": (SYMMETRIC, lambda x, k: lax.fori_loop(0, 5, lambda i, y: y + jnp.trace(y) * 0.01 * i, x) * 0.5),
    "numbers": (SQUARE, lambda x, k: x * 0.9 + 0.1 * (
        jnp.stack([x[k % 5, 0], jnp.sin(x[1, 1]), k.astype(x.dtype) * 0.1, jnp.asarray(0.3, x.dtype), x[2, 2]]) * x
    ).sum(-1)[:, None]),
}  # fmt: skip


@pytest.mark.parametrize(("name", "is_double"), crossed(BODIES, [False, True]))
def test_a_loop_of_this_body_is_compiled(name, is_double):
    start, body = BODIES[name]
    program = lambda x: lax.fori_loop(0, 6, lambda k, x: body(x, k).astype(x.dtype), x)  # noqa: E731
    with jax.enable_x64(is_double):
        x = start.astype(np.float64 if is_double else np.float32)
        module = xla2py.from_jax(program, x)
        assert not list(left(module))
        made = xla2py.emit(module, style="fast", format=False, checks=False)
        assert_as_in_xla(made, program, (x,), 1e-9 if is_double else 1e-4)


def left(module: Any) -> Any:
    """What of a module's loops is not compiled."""
    target = load_target("numpy")
    program = compile(module, target, Options(style="fast")).program
    kernels = kernels_in("fast", target)
    assert kernels is not None
    return [each for function in program.functions for each in uncompiled_loops(function, kernels)]


# -- functions of the prelude that such loops call

MATRICES = {
    "symmetric": symmetric(5),
    "singular": np.ones((4, 4)),
    "zero": np.zeros((3, 3)),
    "one": np.full((1, 1), -2.0),
    "missing": np.where(np.eye(3) > 0, np.nan, 1.0),
    "infinite": np.where(np.eye(3) > 0, np.inf, 1.0),
    "general": RNG.normal(size=(6, 6)),
}
# Factors of "singular" are those of what rounding left.
PLAIN = [a for name, a in MATRICES.items() if np.isfinite(a).all() and name != "singular"]
SHAPES = [*PLAIN, RNG.normal(size=(6, 3)), RNG.normal(size=(3, 6))]


def same(made: Any, expected: Any) -> None:
    for one, other in zip(made, expected, strict=True):
        np.testing.assert_allclose(one, other, 1e-9, 1e-9)


@pytest.mark.parametrize("kind", MATRICES)
def test_functions_of_matrices_are_those_of_the_shared_prelude(kind):
    a = MATRICES[kind]
    symmetrical = (a + a.T) / 2
    same(small_matrices.small_eigvalsh(symmetrical), lapack.eigvalsh(symmetrical))
    same(small_matrices.small_eigvalsh(np.triu(a), False), lapack.eigvalsh(np.triu(a), lower=False))
    with np.errstate(all="ignore"):
        if np.isfinite(a).all():
            same(small_matrices.small_slogdet(a), np.linalg.slogdet(a))
        else:
            assert not np.isfinite(small_matrices.small_slogdet(a)[1])


@pytest.mark.parametrize("a", SHAPES, ids=lambda a: str(a.shape))
def test_factors_are_those_of_the_shared_prelude(a):
    with np.errstate(all="ignore"):
        reflectors, tau = householder.geqrf(a)
        same(small_matrices.small_geqrf(a), (reflectors, tau))
        if a.shape[0] >= a.shape[1]:
            same([small_matrices.small_orgqr(reflectors.copy(), tau)], [householder.orgqr(reflectors, tau)])
        same(small_matrices.small_getrf(a), lapack.getrf(a))
    same([small_matrices.small_svdvals(a)], [lapack.svdvals(a)])


def test_permutations_are_those_of_the_shared_prelude():
    for pivots in ([0, 1, 2], [3, 3, 2], [5, -1, 1]):
        given = np.array(pivots, np.int32)
        same([small_matrices.small_permutation(given, 4)], [lapack.pivots_to_permutation(given, 4)])


@pytest.mark.parametrize("length", [1, 2, 3, 8, 12, 15, 35, 64, 100, 169])
def test_short_transforms_are_the_library_s(length):
    x = RNG.normal(size=(3, length)) + 1j * RNG.normal(size=(3, length))
    same(small_transforms.small_fft(x, -1), np.fft.fft(x))
    same(small_transforms.small_fft(x, 1), np.fft.ifft(x))
    half = np.fft.rfft(x.real)
    same(small_transforms.small_rfft(x.real, length // 2 + 1, np.complex128), half)
    same(
        small_transforms.small_irfft(x[:, : length // 2 + 1], length, np.float64),
        np.fft.irfft(x[:, : length // 2 + 1], length),
    )
    square = x.reshape(3, 1, length)
    same(small_transforms.small_fft2(square, -1), np.fft.fft2(square))


def test_places_in_order_and_the_first_of_float64():
    x = np.array([[3, -0.0, np.nan, 0.0, 3, -np.inf, np.inf, -1], [1, 1, 0, 0, np.nan, np.nan, 2, 2.0]])
    assert np.array_equal(ordering.small_argsort(x, np.int32), np.argsort(x, axis=-1, kind="stable"))
    for k in (1, 3, 8):
        for largest in (True, False):
            made, expected = ordering.small_top_k(x, k, largest), top_k(x, k, largest)
            assert all(one.tobytes() == other.tobytes() for one, other in zip(made, expected, strict=True))
