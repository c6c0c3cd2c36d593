"""Functions of single numbers by the library's names: what is raised, near-misses, and values at the edges."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import CHANGES, assert_agrees, cases, entry, hlo, lacks, main, optimised

jnp = pytest.importorskip("jax.numpy")
jax = pytest.importorskip("jax")
EDGES = np.array([0.0, -0.0, 0.5, 1.5, -2.5, 8.0, -100.0, 1e30, 3e38, np.inf, -np.inf, np.nan], np.float32)
MIDDLE = np.delete(EDGES, [7, 8])  # whose multiples are exact
X, Y = (array.ravel() for array in np.meshgrid(EDGES, EDGES))
NEAR = np.where(np.isfinite(X), X * np.float32(1 + 1e-5), Y).astype(np.float32)
PARTS = [0.0, -0.0, 1.0, -3.0, 88.9, 90.0, np.inf, -np.inf, np.nan]
Z = np.array([0, 1 + 2j, -3j, -1, 88.9 + 1j, -200 + 1j, *(complex(a, b) for a in PARTS for b in PARTS)], np.complex64)

test_functions = pytest.mark.texts_of("0.10")(
    cases("ufuncs", claims=[CHANGES], forms=(hlo, optimised))(
        (lambda x, y: jnp.isclose(x, y), (X, NEAR), "return np.isclose(x, y)"),
        (lambda x, y: jnp.isclose(x, y, rtol=0.5, atol=0), (X, Y), "return np.isclose(x, y, rtol=0.5, atol=0)"),
        (lambda x, y: jnp.isclose(x, y, atol=1e-3), (X, Y), "return np.isclose(x, y, atol=0.001)"),
        (lambda x, y: jnp.allclose(x, y), (EDGES[:8], NEAR[:8]), "return np.isclose(x, y).all()"),
        (lambda x, y: (x == x) & (x != jnp.inf) & (x != -jnp.inf), (X, Y), "return np.isfinite(x)"),
        (lambda x, y: jnp.nan_to_num(x) * y, (EDGES, EDGES * 0 + 1), "return np.nan_to_num(x) * y"),
        (lambda x, y: jnp.hypot(x, y), (X, Y), "return np.hypot(x, y)"),
        (lambda x, y: jnp.copysign(x, y), (X, Y), "return np.copysign(x, y)"),
        (lambda x, y: jnp.signbit(x) == (y > 0), (X, Y), "np.signbit(x)"),
        (lambda x, y: jnp.heaviside(x, y), (X, Y), "return np.heaviside(x, y)"),
        (lambda x, y: jnp.trunc(x) * y, (EDGES, EDGES * 0 + 1), "return np.trunc(x) * y"),
        (lambda x, y: jnp.modf(x)[1] * y, (EDGES, EDGES * 0 + 1), "return np.trunc(x) * y"),
        (lambda x, y: jnp.log2(x) + jnp.log10(y), (X, Y), "return np.log2(x) + np.log10(y)"),
        (lambda x, y: jnp.logaddexp2(x, y), (X, Y), "return np.logaddexp2(x, y)"),
        (lambda x, y: jnp.deg2rad(x) + jnp.rad2deg(y), (X, Y), "return np.deg2rad(x) + np.rad2deg(y)"),
        (lambda x, y: jnp.sinc(x) * y, (EDGES / 7, EDGES * 0 + 1), "return np.sinc(x) * y"),
        (lambda x, y: x * jnp.conj(y), (Z[:4], Z[1:5]), "return x * np.conj(y)"),
        (lambda x, y: jnp.angle(x) + y.real, (Z, Z * 0 + 1), "np.angle(x) + "),
        (lambda x, y: (jnp.exp(x), y), (Z, Z), "return complex_exp(x), y"),
        (lambda x, y: (jnp.exp(1j * x), y), (EDGES, X), "return np.exp(x * 1j), y"),
        (lambda x, y: (jnp.exp(-2j * jnp.pi * x / 5), y), (MIDDLE, X), " + 0), y"),
        (lambda x, y: (jnp.conj(jnp.exp(1j * x)), y), (EDGES, X), "return np.conj(np.exp(x * 1j)), y"),
        (lambda x, y: (jnp.conj(jnp.exp(x)), y), (Z, Z), "return np.conj(complex_exp(x)), y"),
        # near-misses
        (lambda x, y: (jnp.exp((1 + 1j) * x), y), (EDGES, X), "complex_exp("),
        (lambda x, y: (jnp.exp(1j * x / y), y), (EDGES, EDGES + 1), "complex_exp("),
        (lambda x, y: (jnp.exp(1j * x), y), (Z, X), "complex_exp("),
        (lambda x, y: (jnp.exp(1j * x + y), y), (EDGES, EDGES), "complex_exp("),
    )
)

TURNED = [
    lambda x: jnp.exp(1j * x),
    lambda x: jnp.exp(-1j * x),
    lambda x: jnp.exp(x * x * -1j / 3),
    lambda x: jnp.exp(jax.lax.complex(jnp.float32(-0.0), jnp.float32(2.0)) * x),
    lambda x: jnp.exp(-2j * x / 7),
    lambda x: jnp.conj(jnp.exp(-1j * x)),
]


@pytest.mark.parametrize("function", TURNED)
def test_exponentials_of_imaginary_numbers_have_the_signs_of_zeros(function):
    text, wanted = hlo(function, MIDDLE), np.asarray(jax.jit(function)(MIDDLE))
    for style in ("readable", "fast"):
        found = xla2py.emit(text, style=style).load().main(MIDDLE)
        np.testing.assert_allclose(found[:7], wanted[:7], rtol=1e-6, atol=1e-7)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
        zeros = wanted.imag == 0
        assert zeros.sum() == 2
        np.testing.assert_array_equal(np.signbit(found.imag[zeros]), np.signbit(wanted.imag[zeros]))


test_what_is_something_else = cases("ufuncs", X, Y, says=lambda name: lacks(f"np.{name}("))(
    (lambda x, y: (x == y) | jnp.isfinite(y) & (abs(x - y) <= 1e-8 + 1e-5 * abs(x)), "isclose"),
    (lambda x, y: (x == y) & jnp.isfinite(y) & (abs(x - y) <= 1e-8 + 1e-5 * abs(y)), "isclose"),
    (lambda x, y: (x == x) & (x != jnp.inf) & (y != -jnp.inf), "isfinite"),
    (lambda x, y: jnp.nan_to_num(x, posinf=1e30), "nan_to_num"),
    (lambda x, y: jnp.nan_to_num(x, nan=1), "nan_to_num"),
    (lambda x, y: jnp.where(x > 0, jnp.ceil(x), jnp.floor(x)), "trunc"),
    (lambda x, y: jnp.where(y < 0, jnp.ceil(x), jnp.floor(x)), "trunc"),
    (lambda x, y: jnp.sqrt(x * x + y * y), "hypot"),
    (lambda x, y: jnp.log(x) / 0.69, "log2"),
    (lambda x, y: jnp.floor(jnp.log2(x)), "log2"),  # of 8 it may be 2
    (lambda x, y: jnp.log10(x) >= 3, "log10"),
    (lambda x, y: x * 0.0174, "deg2rad"),
    (lambda x, y: jnp.where(x < 0, 0, jnp.where(x > 0, 1, y)), "heaviside"),
    (lambda x, y: jnp.where(jnp.signbit(y), abs(x), -abs(x)), "copysign"),
    (lambda x, y: jax.lax.complex(x, -y), "conj"),
    (lambda x, y: jnp.arctan2(x, y), "angle"),
    (lambda x, y: jnp.where(x == 0, 1, jnp.sin(x) / jnp.where(x == 0, 1, x)), "sinc"),
)


def test_signs_of_other_bits():
    bits = "b = s32[4] bitcast-convert(x)"
    shift = "n = s32[4] constant({{{0}, {0}, {0}, {0}}})"
    test = ("s = s32[4] shift-right-arithmetic(b, n)", "z = s32[4] constant({0, 0, 0, 0})")
    for places, raised in ((31, True), (30, False)):
        text = entry(
            "x = f32[4] parameter(0)", bits, shift.format(places), *test, "r = pred[4] compare(s, z), direction=NE"
        )
        assert ("np.signbit(x)" in main(text)) == raised
        assert_agrees(text, EDGES[[0, 1, 3, 4]], without="ufuncs")


test_narrow_floats_stay = pytest.mark.texts_of("0.10")(
    cases("ufuncs", X.astype(np.float16), claims=[lacks("np.log2(", "np.hypot(", "np.nan_to_num(")], budget=None)(
        lambda x: jnp.log2(x),
        lambda x: jnp.nan_to_num(x),
        (lambda x, y: jnp.hypot(x, y), (X.astype(np.float16), Y.astype(np.float16))),
    )
)


def test_where_cupy_has_no_such_function():
    text = hlo(lambda x, y: (jnp.hypot(x, y), jnp.isclose(x, y)), X, Y)
    source = xla2py.emit(text, "cupy").source
    assert "cp.hypot(x, y)" in source and "cp.isclose" not in source
    assert "cp.hypot" not in xla2py.emit(text, "cupy", style="fast").source
    assert "np.hypot" in xla2py.emit(text, "dask").source


def test_a_complex_sigmoid_is_0_where_the_exponential_overflows():
    text = entry(
        *("z = c64[2] parameter(0)", "one = c64[2] constant({(1, 0), (1, 0)})", "n = c64[2] negate(z)"),
        *("e = c64[2] exponential(n)", "s = c64[2] add(e, one)", "r = c64[2] divide(one, s)"),
    )
    assert main(text) == "return complex_logistic(z)"
    assert_agrees(text, np.array([-200 + 1j, 1 - 2j], np.complex64), without="sigmoids")
    expanded = hlo(lambda z: 1 / (1 + jnp.exp(-z)), Z)
    assert "complex_logistic" in xla2py.emit(expanded, style="fused").source


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32])
def test_what_is_clipped_to_integers_is_cut_by_astype(dtype):
    text = hlo(lambda x: jnp.round(jnp.maximum(jnp.minimum(x, 120), 0)).astype(dtype), EDGES)
    assert f"return np.nan_to_num(np.rint(np.clip(x, 0, 120))).astype(np.{dtype.__name__})" in main(text)
    assert_agrees(text, EDGES, without="clips")


test_what_may_be_too_large_saturates = cases("clips", EDGES * 1e9, claims=["to_int(", lacks("nan_to_num")])(
    lambda x: jnp.clip(x, -5, 300).astype(np.int8),
    lambda x: jnp.clip(x, -5, np.inf).astype(np.int32),
    lambda x: jnp.clip(x, -5, 2.0**31).astype(np.int32),
)
