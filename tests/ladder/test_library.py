"""What CuPy has by the same names as NumPy: on the twin it gives what NumPy gives."""

import re

import numpy as np
import pytest

import xla2py
from xla2py.targets.cupy.refusals import LIBRARY
from xla2py.tests.passes.raising import hlo
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.transpile.equivalence.verdicts.comparison import Budget, compare

pytest.importorskip("cupy", reason="CuPy is not installed")

from xla2py.tests.ladder.running import checked, needs_compiler

EDGES = np.array([0.0, -0.0, 1.5, -2.5, 8.0, np.inf, -np.inf, np.nan], np.float32)
X, Y = (array.ravel() for array in np.meshgrid(EDGES, EDGES))
ROWS = np.arange(24, dtype=np.float32).reshape(4, 6)
REGULAR = np.eye(4, dtype=np.float32)[::-1] + ROWS[:, :4] / 32
Z = np.array([1 + 2j, -3j, -1, 0.5 - 0.25j], np.complex64)

PROGRAMS = [
    (lambda x, y: (jnp.hypot(x, y), jnp.copysign(x, y), jnp.signbit(x)), (X, Y)),
    (lambda x, y: (jnp.trunc(x), jnp.log2(abs(x)), jnp.log10(abs(y))), (X, Y)),
    (lambda x: (jnp.tile(x, (2, 3)), jnp.repeat(x, 3, axis=0), jnp.diff(x), jnp.diff(x, n=2, axis=0)), (ROWS,)),
    (lambda x: tuple(jnp.pad(x, 2, mode=mode) for mode in ("wrap", "edge", "reflect", "symmetric")), (ROWS,)),
    (jnp.nextafter, (X, Y)),
    (lambda z: (jnp.conj(z) * z, jnp.angle(z)), (Z,)),
    (jax.grad(lambda x, y: jnp.linalg.solve(x, y).sum(), (0, 1)), (REGULAR, ROWS[:, 2:])),
    (jax.grad(lambda x, y: jnp.linalg.solve(x, y).sum(), (0, 1)), (REGULAR, ROWS[:, 2])),
    (lambda x: [x * w(24) for w in (jnp.hanning, jnp.hamming, jnp.blackman, jnp.bartlett)], (ROWS.ravel(),)),
    (lambda x: (x * jnp.kaiser(24, 5), x * jnp.fft.fftfreq(24)), (ROWS.ravel(),)),
    (lambda z: (jnp.arcsin(z), jnp.arccos(z), jnp.arctan(z), jnp.arcsinh(z), jnp.arccosh(z), jnp.arctanh(z)), (Z,)),
]

# Programs that call the library's functions by their plain names only with ``edges="library"``.
PLAIN = [
    (lambda x, y: (jnp.fmod(x, y), jnp.linalg.solve(x, y), jnp.linalg.svd(x)), (ROWS[:, :4], ROWS[:, 2:])),
    (lambda x: (jnp.linalg.cholesky(x), jnp.linalg.eigh(x)), (np.eye(4, dtype=np.float32),)),
    (jnp.linalg.eigvalsh, (np.eye(4, dtype=np.float32),)),
]

# A reducer without its operands gives its number the shape of a block.
IGNORES = """
ignores { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] constant(3) }
ENTRY main {
  x = f32[4,6] parameter(0)
  zero = f32[] constant(0)
  ROOT r = f32[4,5] reduce-window(x, zero), window={size=1x2}, to_apply=ignores
}
"""


@needs_compiler
@pytest.mark.parametrize(("function", "inputs"), PROGRAMS)
def test_functions(function, inputs):
    text = hlo(function, *inputs)
    expected = xla2py.emit(text, format=False).load().main(*inputs)
    actual = checked(xla2py.emit(text, "cupy", format=False), inputs)
    results = compare(expected, actual, Budget(relative=1e-6, absolute=0))
    assert results and all(result.status.is_good for result in results), "\n".join(map(str, results))


def test_each_of_them_is_called():
    sources = [xla2py.emit(hlo(function, *inputs), "cupy").source for function, inputs in PROGRAMS]
    sources += [xla2py.emit(hlo(function, *inputs), "cupy", edge_cases="library").source for function, inputs in PLAIN]
    sources.append(xla2py.emit(IGNORES, "cupy").source)
    assert set(LIBRARY) <= set(re.findall(r"\bcp\.([\w.]+)\(", "".join(sources)))
