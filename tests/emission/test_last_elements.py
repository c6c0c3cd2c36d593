"""The last of more than a few elements is counted from the end."""

import jax.numpy as jnp
import numpy as np
import pytest

import xla2py


def changed(x, y):
    return x.at[-1].add(y).at[0].set(y), x[-1], x[:, -1], x[-2]


@pytest.mark.parametrize("target", ["numpy", "cupy", "dask"])
def test_the_last_row(target):
    given = np.arange(24, dtype=np.float32).reshape(12, 2), np.full(2, 5, np.float32)
    module = xla2py.from_jax(changed, *given)
    emitted = xla2py.emit(module, target)
    assert "x[-1]" in emitted.source and "x[:, 1]" in emitted.source and "x[10]" in emitted.source
    assert xla2py.check(module, targets=[target], reference="xla").is_good
    if target == "numpy":
        assert "updated[-1] = x[-1] + y" in emitted.source
        for found, wanted in zip(emitted.load().main(*given), changed(jnp.asarray(given[0]), given[1]), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_components_have_their_own_numbers():
    source = xla2py.emit(xla2py.from_jax(lambda x: x[2] * x[6], np.ones(7, np.float32))).source
    assert "x[2] * x[6]" in source


def test_of_any_size_it_is_the_last():
    source = xla2py.emit(xla2py.from_jax(lambda x: jnp.sin(x[-1]), xla2py.array("N"))).source
    assert "x[n - 1]" in source
