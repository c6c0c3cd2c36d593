"""Polynomials, convolutions, vector products, counts and determinants by NumPy's names: near-misses and values."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import EXACT, ROUNDED, assert_agrees, cases, entry, hlo, lacks, main, optimised
from xla2py.tests.recording.lazy_jax import jax, jnp

rng = np.random.default_rng(3)
P, X = rng.normal(size=4).astype(np.float32), np.array([0.5, -0.0, 2, np.inf, np.nan, -3], np.float32)
LONG, SHORT, EVEN = (rng.normal(size=n).astype(np.float32) for n in (9, 3, 4))
A, B = rng.normal(size=(2, 5, 3)).astype(np.float32)
COUNTED = np.array([3, 0, -2, 9, 10, 2**31 - 1, 3, -(2**31), 9], np.int32)

RAISED = [
    ("polynomials", lambda p, x: jnp.polyval(p, x), (P, X), "return np.polyval(p, x)"),
    ("polynomials", lambda p, x: jnp.polyval(p, x), (P[:1], X), "return np.polyval(p, x)"),
    (
        "polynomials",
        lambda p, x: (((x * 0 + p[0]) * x + p[1]) * x + p[2]) * x + p[3],
        (P[:4], X),
        "return np.polyval(p, x)",
    ),
    ("convolutions", lambda x, y: jnp.convolve(x, y), (LONG, SHORT), "return np.convolve(x, y)"),
    ("convolutions", lambda x, y: jnp.convolve(x, y), (SHORT, LONG), "return np.convolve(y, x)"),
    ("convolutions", lambda x, y: jnp.convolve(x, y, "same"), (LONG, EVEN), 'return np.convolve(x, y, mode="same")'),
    ("convolutions", lambda x, y: jnp.convolve(x, y, "same"), (LONG, SHORT), 'return np.convolve(x, y, mode="same")'),
    ("convolutions", lambda x, y: jnp.convolve(x, y, "valid"), (LONG, EVEN), 'return np.convolve(x, y, mode="valid")'),
    ("convolutions", lambda x, y: jnp.convolve(x, y)[2::3], (LONG, SHORT), "return np.convolve(x, y)[2::3]"),
    ("convolutions", lambda x, y: jnp.convolve(x, y)[4], (LONG, SHORT), "return np.convolve(x, y)[4]"),
    ("convolutions", lambda x, y: jnp.convolve(x, y)[None, 1:], (LONG, SHORT), "return np.convolve(x, y)[None, 1:]"),
    ("convolutions", lambda x, y: jnp.correlate(x, y), (LONG, EVEN), "return np.correlate(x, y)"),
    ("convolutions", lambda x, y: jnp.correlate(x, y, "full"), (LONG, EVEN), 'return np.correlate(x, y, mode="full")'),
    ("convolutions", lambda x, y: jnp.correlate(x, y, "same"), (LONG, EVEN), 'return np.correlate(x, y, mode="same")'),
    (
        "convolutions",
        lambda x, y: jax.grad(lambda y: jnp.convolve(x, y, "same") @ x)(y),
        (LONG, EVEN),
        "return np.correlate(np.pad(x, (2, 1)), x)[::-1]",
    ),
    (
        "convolutions",
        lambda x, y: jax.grad(lambda y: jnp.convolve(x, y, "valid") @ x[:6])(y),
        (LONG, EVEN),
        "return np.correlate(x, x[:6])[::-1]",
    ),
    ("crosses", lambda x, y: jnp.cross(x, y), (A, B), "return np.cross(x, y)"),
    ("crosses", lambda x, y: jnp.cross(x, y), (A[0], B[0]), "return np.cross(x, y)"),
    ("crosses", lambda x, y: jnp.cross(x, y), (np.stack([A, B]), np.stack([B, B])), "return np.cross(x, y)"),
    ("crosses", lambda x, y: jnp.cross(x, y), (A, B[0]), "return np.cross(x, y)"),
    (
        "crosses",
        lambda q, x: jax.vmap(jax.vmap(lambda q, x: jnp.cross(q[1:], x), (None, 0)), (0, None))(q, x),
        (rng.normal(size=(2, 4)).astype(np.float32), B),
        "return np.cross(q[:, None, 1:], x)",
    ),
    (
        "crosses",
        lambda x, y: jax.vmap(jnp.cross, out_axes=1)(x, jnp.stack([y, -y, y * 2], axis=1)),
        (A, B[:, 0]),
        "return np.cross(x, np.stack([y, -y, y * 2], axis=1)).T",
    ),
]


def padded(size: int, low: int, high: int) -> str:
    """A convolution of five numbers with three, between borders."""
    return entry(
        "x = f32[5] parameter(0)",
        "y = f32[3] parameter(1)",
        "u = f32[1,1,5] reshape(x)",
        "v = f32[1,1,3] reshape(y)",
        f"c = f32[1,1,{size}] convolution(u, v), window={{size=3 pad={low}_{high}}}, dim_labels=bf0_oi0->bf0",
        f"r = f32[{size}] reshape(c)",
    )


test_borders_of_convolutions = cases("convolutions", LONG[:5], SHORT)(
    (padded(6, 0, 3), "np.correlate(np.pad("),
    (padded(8, 5, 0), "np.correlate(np.pad("),
    (
        lambda x, y: jax.grad(lambda x: (jnp.convolve(x, y, "same") ** 2).sum())(x),
        (LONG, EVEN),
        'return np.correlate(np.pad(np.convolve(x, y, mode="same") * 2, (1, 2)), y)',
    ),
    (padded(4, 2, -1), lacks("np.correlate")),  # it leaves elements out
)


@pytest.mark.texts_of("0.10")
@pytest.mark.parametrize(("without", "function", "inputs", "expected"), RAISED)
def test_functions(without, function, inputs, expected):
    for form in (hlo, optimised):
        text = form(function, *inputs)
        assert main(text) == expected
        assert expected.split("(")[0] not in main(text, disable_passes=[without])
        assert_agrees(text, *inputs, without=without)


test_something_else = pytest.mark.texts_of(
    "0.10"
)(
    cases("polynomials", says=lacks)(
        (lambda p, x: ((p[0] * x + p[1]) * x + p[2]) * x + p[3], (P, X), "polyval"),  # 0 * inf is NaN
        (lambda p, x: (((0 * x + p[0]) * x + p[1]) * x + p[1]) * x + p[3], (P, X), "polyval"),
        (lambda p, x: (((0 * x + p[3]) * x + p[2]) * x + p[1]) * x + p[0], (P, X), "polyval"),
        (lambda p, x: ((0 * x + p[0]) * x + p[1]) * x + p[2], (P, X), "polyval"),
        (lambda p, x: ((0 * x + p[0]) * x + p[1]) * abs(x) + p[2], (P[:3], X), "polyval"),
        (lambda p, x: ((0 + x + p[0]) * x + p[1]) * x + p[2], (P[:3], X), "polyval"),
        (lambda x, y: convolved(x, y, [(2, 2)], rhs_dilation=(2,)), (LONG, SHORT), "np.co"),
        (lambda x, y: convolved(x, y, [(2, 2)], window_strides=(2,)), (LONG, SHORT), "np.co"),
        (lambda x, y: convolved(x, y, [(-1, 2)]), (LONG, SHORT), "np.co"),
        (lambda x, y: jnp.stack([x[:, 1] * y[:, 2] - x[:, 2] * y[:, 1]] * 3, -1), (A, B), "np.cross"),
        (lambda x, y: jnp.cross(x, y, axis=0), (A.T, B.T), "np.cross"),
        (lambda x, y: jnp.cross(x, y) + jnp.cross(x[::-1], y), (A[:, :2], B[:, :2]), "np.cross"),
        (lambda x, y: jnp.stack(list(jnp.cross(x, y).T)[::-1], -1), (A, B), "np.cross"),
        (lambda x, y: jnp.cross(jnp.stack([x, x, y]), jnp.stack([y, -x, x])), (A[0, 0], B[0, 0]), "np.cross"),
    )
)


def convolved(x, y, padding, window_strides=(1,), **settings):
    return jax.lax.conv_general_dilated(x[None, None], y[None, None], window_strides, padding, **settings)[0, 0]


@pytest.mark.parametrize("form", [hlo, optimised])
def test_counts(form):
    text = form(lambda x: jnp.bincount(x, length=10), COUNTED)
    assert main(text) == "return np.bincount(np.clip(x, 0, 10), minlength=11).astype(np.int32)[:-1]"
    assert_agrees(text, COUNTED, without="bincount", budget=EXACT)
    text = form(lambda x: jnp.bincount(jnp.clip(x, 0, 4), length=10), COUNTED)
    assert "np.bincount(" in main(text) and "minlength=10)" in main(text)
    assert_agrees(text, COUNTED, without="bincount", budget=EXACT)
    assert "bincount" not in xla2py.emit(text, "cupy").source + xla2py.emit(text, "dask").source
    text = form(lambda x: jnp.bincount((x > 2) * 2 + (x < 5), length=4), COUNTED)
    assert "np.clip(" not in main(text) and "minlength=4)" in main(text)
    assert_agrees(text, COUNTED, without="bincount", budget=EXACT)


@pytest.mark.parametrize("form", [hlo, optimised])
def test_counts_in_floats(form):
    """Where a float counts all of them one by one."""
    text = form(lambda x: jnp.zeros(10).at[jnp.clip(x, 0, 9)].add(1), COUNTED)
    assert main(text).startswith("return np.bincount(") and "minlength=10).astype(np.float32)" in main(text)
    assert_agrees(text, COUNTED, without="bincount", budget=EXACT)
    text = form(lambda x: jnp.zeros(10, jnp.bfloat16).at[jnp.clip(x, 0, 9)].add(1), COUNTED)
    assert "bincount" not in main(text)  # it counts to 256


def test_a_histogram_of_numbers_that_are_not_finite():
    x = np.array([*np.random.default_rng(0).normal(size=200), np.inf, -np.inf, np.nan, 0.0], np.float32)
    text = hlo(lambda x: jnp.histogram(x, 10, (-2, 2))[0], x)
    assert "counts = np.bincount(" in main(text) and "return counts.astype(np.float32)[1:-1]" in main(text)
    assert_agrees(text, x, without="bincount", budget=EXACT)


test_other_sums_at_places = cases("bincount", COUNTED, claims=[lacks("bincount")])(
    lambda x: jax.ops.segment_sum(jnp.ones(9, np.int32), x, 10),  # negative numbers are left out
    lambda x: jnp.bincount(x, length=10, weights=x / 2),
    lambda x: jnp.ones(10, np.int32).at[jnp.maximum(x, 0)].add(1),
    lambda x: jnp.zeros(10, np.int32).at[jnp.maximum(x, 0)].add(2),
    lambda x: jnp.zeros(10, np.int32).at[jnp.maximum(x, 0)].max(1),
    lambda x: jnp.zeros(10, np.int8).at[jnp.maximum(x, 0)].add(1),
    lambda x: jnp.zeros((10, 2), np.int32).at[jnp.maximum(x, 0)].add(1),
)


MATRICES = [
    rng.normal(size=(4, 4)),
    np.eye(5)[[1, 0, 2, 4, 3]],
    np.arange(16).reshape(4, 4),
    np.zeros((4, 4)),
    np.where(np.eye(4), np.nan, 1),
    np.diag([1, np.inf, 2, -1]),
    np.diag([-np.inf, 1, 1, 1]),
]


@pytest.mark.parametrize("matrix", [matrix.astype(np.float32) for matrix in MATRICES])
def test_determinants(matrix):
    for form in (hlo, optimised):
        text = form(jnp.linalg.det, matrix)
        assert main(text) == "return np.linalg.det(a)"
        assert_agrees(text, matrix, without="determinants", budget=ROUNDED)
        text = form(lambda a: tuple(jnp.linalg.slogdet(a)), matrix)
        assert main(text) == "sign, logdet = np.linalg.slogdet(a)\nreturn sign, logdet"
        assert_agrees(text, matrix, without="determinants", budget=ROUNDED)


def test_determinants_that_stay():
    for matrix in (MATRICES[0] * (1 + 1j), np.stack(MATRICES[:1] * 2)):
        narrow = matrix.astype(np.complex64 if matrix.dtype.kind == "c" else np.float32)
        text = hlo(jnp.linalg.det, narrow)
        assert "np.linalg.det" not in main(text)
        assert_agrees(text, narrow, without="determinants", budget=ROUNDED)


def test_what_is_counted_needs_no_type_of_its_own():
    points = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)
    text = hlo(lambda x: jnp.zeros(6).at[jnp.argmin(x, axis=1)].add(1), points)
    assert main(text) == "return np.bincount(x.argmin(axis=-1), minlength=6).astype(np.float32)"
    assert_agrees(text, points, without="bincount", budget=EXACT)
    with jax.enable_x64(True):  # np.bincount refuses uint64
        text = hlo(lambda x: jnp.bincount((x % 5).astype(np.int32), length=5), np.arange(9, dtype=np.uint64))
    assert_agrees(text, np.arange(9, dtype=np.uint64), without="bincount", budget=EXACT)
