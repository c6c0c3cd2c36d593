"""Complex numbers in loops of Numba: HLO's quotients, exponentials and sizes, in kernels, lines and loops."""

import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")


import xla2py
from xla2py.tests.recording.lazy_jax import jax
from xla2py.tests.targets.numpy_fast import assert_as_in_xla, emitted, kernels, results
from xla2py.tests.whole import much
from xla2py.transpile.equivalence.reference.xla import run_hlo

pytestmark = pytest.mark.compiled  # complex numbers of Python are others than those of Numba
jnp, lax = jax.numpy, jax.lax
RNG = np.random.default_rng(8)
KINDS = {"c64": ("f32", np.complex64, 2e-6), "c128": ("f64", np.complex128, 1e-14)}
PARTS = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e30, -1e-30]


def grid(dtype, parts=PARTS):
    """All pairs of numbers of some parts."""
    z = np.empty((len(parts), len(parts)), dtype)
    z.real, z.imag = np.array(parts)[:, None], parts
    return [side.ravel() for side in np.meshgrid(z.ravel(), z.ravel())]


def numbers(*shape):
    return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(np.complex64)


OPERATIONS = "add(x, y)|multiply(x, y)|compare(x, y), direction=NE|negate(x)|abs(x)|exponential(x)|divide(p, q)".split(
    "|"
)


@pytest.mark.parametrize("kind", much(["c128"], KINDS))
def test_edges_are_those_of_xla(kind):
    """NaN and infinities, and the signs of zero. What squares do not hold, XLA divides by in ways of its own."""
    part, dtype, tolerance = KINDS[kind]
    x, y = grid(dtype)
    is_plain = [np.isin(np.abs(part), (0, 1, 2.5)) for part in (x.real, x.imag, y.real, y.imag)]
    chosen = (y == 0) | np.all(is_plain, axis=0)
    given = [x, y, x[chosen], y[chosen]]
    real = {"abs(x)": part, "compare(x, y), direction=NE": "pred"}
    shapes = [f"{real.get(op, kind)}[{len(x) if op != 'divide(p, q)' else chosen.sum()}]" for op in OPERATIONS]
    lines = [f"{name} = {kind}[{len(z)}] parameter({k})" for k, (name, z) in enumerate(zip("xypq", given, strict=True))]
    lines += [f"r{k} = {shape} {op}" for k, (shape, op) in enumerate(zip(shapes, OPERATIONS, strict=True))]
    names = ", ".join(f"r{k}" for k in range(len(OPERATIONS)))
    text = "\n".join(["ENTRY main {", *lines, f"ROOT r = ({', '.join(shapes)}) tuple({names})", "}"])
    module = emitted(text)
    assert kernels(module)
    with np.errstate(all="ignore"):
        size = np.nan_to_num(abs(x) * abs(y), nan=0, posinf=0)
    # Products that cancel leave what a fused multiply-add leaves.
    nearly = {"multiply(x, y)": tolerance * size, OPERATIONS[-1]: tolerance}
    for op, made, expected in zip(OPERATIONS, results(module, given), run_hlo(text, *given), strict=True):
        pairs = [(made, expected)] if op in real else parts(made, expected)
        for one, other in pairs:
            assert np.isclose(one, other, tolerance, nearly.get(op, 0), equal_nan=True).all(), op
            zeros = (one == 0) & (other == 0)
            assert np.array_equal(np.signbit(one[zeros].astype(float)), np.signbit(other[zeros].astype(float)))


FUNCTIONS = (
    "log sqrt sine cosine tan tanh log-plus-one exponential-minus-one logistic rsqrt sign power maximum minimum"
).split()
OF_TWO = ("power", "maximum", "minimum")


@pytest.mark.parametrize("kind", much(["c64"], KINDS))
def test_functions_are_those_of_xla_or_of_numpy(kind):
    """On infinities, NaN and zeros XLA and NumPy, which keeps to C's rules, do not always agree."""
    _, dtype, tolerance = KINDS[kind]
    finite = [0.0, -0.0, 0.5, -2.5, 22.5, 89.0, -95.0, 1e-12]
    x = np.concatenate([grid(dtype)[1][:81], grid(dtype, finite)[1][:64], (3 * numbers(200)).astype(dtype)])
    y = np.roll(x, 7)
    lines = [f"r{k} = {kind}[{len(x)}] {op}({'x, y' if op in OF_TWO else 'x'})" for k, op in enumerate(FUNCTIONS)]
    text = f"""ENTRY main {{
      x = {kind}[{len(x)}] parameter(0)
      y = {kind}[{len(x)}] parameter(1)
      {" ".join(lines)}
      ROOT r = ({", ".join([f"{kind}[{len(x)}]"] * len(lines))}) tuple({", ".join(f"r{k}" for k in range(len(lines)))})
    }}"""
    module = emitted(text)
    with np.errstate(all="ignore"):
        answers = zip(
            FUNCTIONS, results(module, [x, y]), xla2py.emit(text).load().main(x, y), run_hlo(text, x, y), strict=True
        )
    assert "np.log(x)" not in module.source.split("def main")[1]
    for opcode, made, by_numpy, by_xla in answers:
        is_good = False
        for expected in (by_numpy, by_xla):
            near = np.abs(made - expected) <= 40 * tolerance * np.abs(expected)
            same = [np.isclose(one, other, 40 * tolerance, 0, equal_nan=True) for one, other in parts(made, expected)]
            is_good = is_good | near | (same[0] & same[1])
        assert is_good.all(), (opcode, x[~is_good][:3], y[~is_good][:3], made[~is_good][:3], by_xla[~is_good][:3])


def parts(one, other):
    return (one.real, other.real), (one.imag, other.imag)


def spectrum(x, y, taken):
    phase = jnp.exp(1j * jnp.angle(x + y))
    chosen = jnp.where(jnp.abs(x) < 1, x * jnp.conj(y), x / (y + 2.0))
    padded = jnp.pad(chosen, ((0, 0), (1, 2)), constant_values=1 - 2j)
    return phase, padded, chosen.sum(1), chosen.sum(), chosen[::-1].imag, chosen.at[:, taken].get(mode="fill")


def running(x, y, taken):
    z = x * y
    return z[taken], jnp.cumsum(z, axis=1), lax.cumprod(z + 1, axis=0, reverse=True), z.prod(axis=0)


@pytest.mark.parametrize("function", [spectrum, running])
def test_programs_give_what_xla_gives(function):
    x, y, taken = numbers(9, 7), numbers(9, 7), np.array([3, -1, 9, 0], np.int32)
    module = xla2py.emit(xla2py.from_jax(function, x, y, taken), style="fused", format=False, checks=False)
    assert len(kernels(module)) >= 2
    assert_as_in_xla(module, function, (x, y, taken), 3e-6)


def test_long_sums_are_done_in_complex128():
    module = xla2py.emit(xla2py.from_jax(lambda x: (x * x).sum(), numbers(5000)), style="fused")
    assert "_wide = c16(0)" in module.source
    x = np.full(5000, 1.1 + 0.3j, np.complex64)
    assert module.load(keep_compiled=False).main(x) == np.complex64((x * x).sum(dtype=np.complex128))


ARCS = "arccos arccosh arcsin arcsinh arctan arctanh".split()


@pytest.mark.parametrize("name", much(["arccosh"], ARCS))
def test_arc_functions_are_kernels(name):
    """JAX writes them in real numbers; XLA on the CPU has none of complex numbers."""
    finite = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-12, 1e30, -1e30]
    z = np.concatenate([grid(np.complex64, finite)[1][:81], 3 * numbers(200), numbers(200) * 1e-6])
    function = getattr(jnp, name)
    module = xla2py.emit(xla2py.from_jax(function, z), style="fused", format=False, checks=False)
    assert len(kernels(module)) == 1
    assert_as_in_xla(module, function, (z,), 3e-6)
    looped = lambda z: lax.fori_loop(0, 5, lambda _, z: 0.5 * function(z) + 0.1j, z)  # noqa: E731
    module = xla2py.emit(xla2py.from_jax(looped, z[81:]), style="fast", format=False, checks=False)
    assert len(kernels(module)) == 1
    assert_as_in_xla(module, looped, (z[81:],), 2e-5)


def escape(c):
    def step(_, carry):
        z, count = carry
        z = jnp.where(jnp.abs(z) <= 2, z * z + c, z)
        return z, count + (jnp.abs(z) <= 2).astype(jnp.int32)

    return lax.fori_loop(0, 30, step, (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)))


def rotate(c):
    def step(carry, row):
        z, phase = carry
        phase = phase * jnp.exp(1j * row[0].real).astype(c.dtype)
        z = (c @ z) / (jnp.abs(z).sum() + row) * phase
        return (z, phase), z[1]

    return lax.scan(step, (c[0], jnp.complex64(1)), c)


@pytest.mark.parametrize("function", [escape, rotate])
def test_a_loop_is_one_function(function):
    c = numbers(8, 8)
    module = xla2py.emit(xla2py.from_jax(function, c), style="fast", format=False, checks=False)
    assert len(kernels(module)) == 1
    assert_as_in_xla(module, function, (c,), 2e-5)
