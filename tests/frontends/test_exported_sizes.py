"""Exports of JAX whose sizes are symbols have modules for any size."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax import export  # noqa: E402

import xla2py  # noqa: E402
from xla2py.transpile.errors import UsageError  # noqa: E402


def exported(function, sizes, *shapes):
    symbols = dict(zip(sizes.split(", "), export.symbolic_shape(sizes), strict=True))
    arguments = [jax.ShapeDtypeStruct([symbols.get(n, n) for n in shape], "float32") for shape in shapes]
    return export.export(jax.jit(function))(*arguments)


def test_symbols_are_the_names_of_sizes():
    def attended(q, k):
        return jax.nn.softmax(q @ k.mT / k.shape[1], -1) @ k

    program = exported(attended, "B, T, S", ("B", "T", 8), ("B", "S", 8))
    module = xla2py.emit(xla2py.from_jax(program))
    assert module.sizes == {"B": range(1, 2**63), "T": range(1, 2**63), "S": range(2, 2**63)}
    assert "softmax(" in module.source and '"float32[B, S, 8]"' in module.source
    q, k = (np.random.default_rng(n).standard_normal((3, n, 8), np.float32) for n in (5, 7))
    np.testing.assert_allclose(module.load().main(q, k), attended(q, k), rtol=1e-4, atol=1e-6)


def test_a_size_of_several_symbols_needs_a_name():
    (n,) = export.symbolic_shape("N")
    program = export.export(jax.jit(jnp.sin))(jax.ShapeDtypeStruct((2 * n,), "float32"))
    with pytest.raises(UsageError, match=r"XP425: an argument has an axis of size 2\*N"):
        xla2py.from_jax(program)


def test_a_program_for_one_size_has_no_symbols():
    with pytest.raises(UsageError, match=r"XP425: .* has symbols as sizes: N"):
        xla2py.emit(exported(jnp.sin, "N", ("N",)))
