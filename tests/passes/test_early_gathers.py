"""Gathers before what is computed element by element, where kernels are written."""

import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")


import xla2py
from xla2py.tests.kernels.gathered import floats, indices
from xla2py.tests.recording.lazy_jax import jax, jnp

LOGITS, LABELS = floats(12, 50), indices(50, 12)


def chosen(x, at):
    return jnp.take_along_axis(x, at[:, None], 1)


def loss(logits, labels):
    return -chosen(jax.nn.log_softmax(logits), labels).mean()


PROGRAMS = {
    "cross entropy": (loss, [LOGITS, LABELS]),
    "several columns": (
        lambda x, at: jnp.take_along_axis(jnp.exp(x) / x.sum(1, keepdims=True), at, 1) * 2,
        [LOGITS, indices(50, 12, 3)],
    ),
    "a scalar": (lambda x, at, y: chosen(x * y, at) + 1, [LOGITS, LABELS, np.float32(3)]),
    "a batch of rows": (
        lambda x, at: -jnp.take_along_axis(jax.nn.log_softmax(x), at[..., None], -1).mean(),
        [floats(3, 12, 50), indices(50, 3, 12)],
    ),
    "a batch of narrow rows": (
        lambda x, at: jnp.take_along_axis(jax.nn.log_softmax(x.astype("f4") * 2), at[..., None], -1).mean(),
        [floats(3, 12, 50).astype(np.float16), indices(50, 3, 12)],
    ),
    "integers": (lambda x, at: chosen(x * 3 + 1, at) ^ 1, [indices(99, 12, 50), LABELS]),
}
# Gathers that stay where they are: their array is stored anyway, not much longer, or depends on a column's index.
OTHERS = {
    "used twice": (lambda x, at: (y := jnp.exp(x), chosen(y, at)), [LOGITS, LABELS]),
    "few": (lambda x, at: jnp.take_along_axis(jnp.exp(x), at, 1), [LOGITS, indices(50, 12, 25)]),
    "by columns": (lambda x, y, at: chosen(x * y, at), [LOGITS, floats(50), LABELS]),
    "two arrays to store": (
        lambda x, at: chosen(jnp.cumsum(x, 1) * jnp.sort(x, 1), at),
        [LOGITS, LABELS],
    ),
}


def emitted(function, arguments, target="numpy", style="fused", **more):
    module = xla2py.from_jax(function, *arguments)
    return xla2py.emit(module, target, style=style, checks=False, format=False, debug=True, **more)


def code(module):
    """The text without its header, which says how it was made."""
    return module.source[module.source.index("import numpy") :]


def agrees(function, arguments, **more):
    found = emitted(function, arguments, **more).load(keep_compiled=False).main(*arguments)
    for result, wanted in zip(jax.tree.leaves(found), jax.tree.leaves(jax.jit(function)(*arguments)), strict=True):
        np.testing.assert_allclose(result, wanted, 2e-5, 2e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_operands_are_gathered(name):
    early, late = emitted(*PROGRAMS[name]), emitted(*PROGRAMS[name], disable_passes=["early_gathers"])
    assert code(early) != code(late)
    assert "_or_fill(" not in early.source
    agrees(*PROGRAMS[name])
    agrees(*PROGRAMS[name], disable_passes=["early_gathers"])


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_stored_anyway_is_gathered_of(name):
    early, late = emitted(*OTHERS[name]), emitted(*OTHERS[name], disable_passes=["early_gathers"])
    assert code(early) == code(late)
    agrees(*OTHERS[name])


def test_a_cross_entropy_stores_no_array_of_classes():
    source = emitted(*PROGRAMS["cross entropy"], target="cupy", style="fast").source
    assert "((12, 50)" not in source
    assert "column * 50 + " in source
    assert source.count("_kernel = RowKernel(") == 2
