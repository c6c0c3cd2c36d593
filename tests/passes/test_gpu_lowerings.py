"""What JAX lowers for GPUs, which need not be there, becomes the text of what it lowers for CPUs."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import cuda, hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.transpile.equivalence.verdicts.comparison import Budget, compare

rng = np.random.default_rng(11)
SQUARE = rng.normal(size=(5, 5)).astype(np.float32)
POSITIVE = SQUARE @ SQUARE.T + 5 * np.eye(5, dtype=np.float32)
TALL = rng.normal(size=(6, 3)).astype(np.float32)
LOOSE = Budget(relative=1e-3, absolute=1e-4)

FUNCTIONS = {
    "solve": (jnp.linalg.solve, SQUARE, POSITIVE),
    "solve_vector": (jnp.linalg.solve, SQUARE, POSITIVE[0]),
    "inv": (jnp.linalg.inv, SQUARE),
    "det": (jnp.linalg.det, SQUARE),
    "expm": (jax.scipy.linalg.expm, SQUARE),
    "cholesky": (jnp.linalg.cholesky, POSITIVE),
    "qr": (jnp.linalg.qr, TALL),
    "lstsq": (lambda a, b: jnp.linalg.lstsq(a, b)[0], TALL, TALL[:, 0]),
    "pinv": (jnp.linalg.pinv, TALL),
    "pinv_wide": (jnp.linalg.pinv, TALL.T),
    "svd_tall": (lambda a: [abs(part) for part in jnp.linalg.svd(a, full_matrices=False)], TALL),
    "svd_wide": (lambda a: [abs(part) for part in jnp.linalg.svd(a, full_matrices=False)], TALL.T),
    "svd_batch": (lambda a: [abs(part) for part in jnp.linalg.svd(a, full_matrices=False)], np.stack([TALL, -TALL])),
    "svd_complex": (lambda a: [abs(part) for part in jnp.linalg.svd(a, full_matrices=False)], TALL + 1j * TALL[::-1]),
    "eigh": (lambda a: [abs(part) for part in jnp.linalg.eigh(a)], POSITIVE),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_linear_algebra(name):
    function, *arguments = FUNCTIONS[name]
    text = cuda(function, *arguments)
    assert main(text) == main(hlo(function, *arguments))
    given = [argument.copy() for argument in arguments]
    expected = jax.tree.leaves(jax.jit(function)(*arguments))
    actual = jax.tree.leaves(xla2py.emit(text).load().main(*given))
    results = compare([np.asarray(part) for part in expected], actual, LOOSE)
    assert all(result.status.is_good for result in results), "\n".join(map(str, results))
