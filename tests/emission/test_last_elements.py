"""The last of more than a few elements is counted from the end."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.transpile.emission.texts import index_text, last_from_the_end


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
        assert "updated[-1] += y" in emitted.source
        for found, wanted in zip(emitted.load().main(*given), jax.jit(changed)(*given), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_components_have_their_own_numbers():
    source = xla2py.emit(xla2py.from_jax(lambda x: x[2] * x[6], np.ones(7, np.float32))).source
    assert "x[2] * x[6]" in source


def test_of_any_size_it_is_the_last():
    source = xla2py.emit(xla2py.from_jax(lambda x: jnp.sin(x[-1]), xla2py.array("N"))).source
    assert "x[n - 1]" in source


def stencil(x, y):
    inner = x[:-2] - 2 * x[1:-1] + x[2:]
    return x.at[1:-1].add(inner), y[:, :4] - y[:, 1:], x[-1:], x[5:11], x[:6]


@pytest.mark.parametrize("target", ["numpy", "cupy", "dask"])
def test_slices_of_all_but_a_few(target):
    """What ends near the end is counted from there; a part in the middle, and one of few elements, is not."""
    given = np.arange(12, dtype=np.float32), np.ones((3, 5), np.float32)
    emitted = xla2py.emit(xla2py.from_jax(stencil, *given), target)
    for part in ("x[:-2]", "x[1:-1]", "x[2:]", "y[:, :4]", "y[:, 1:]", "x[-1:]", "x[5:11]", "x[:6]"):
        assert part in emitted.source, part
    assert xla2py.check(xla2py.from_jax(stencil, *given), targets=[target], reference="xla").is_good


@pytest.mark.parametrize(
    ("item", "size", "expected"),
    [
        ((None, 8, None), 9, "[:-1]"),
        ((None, 7, None), 8, "[:7]"),
        ((None, 9, None), 9, "[:9]"),
        ((3, 8, None), 9, "[3:8]"),
        ((7, 8, None), 9, "[7:8]"),
        ((7, None, None), 9, "[-2:]"),
        ((6, None, None), 9, "[6:]"),
        ((1, 8, 2), 9, "[1:8:2]"),
        ((None, 0, None), 9, "[:0]"),
    ],
)
def test_bounds_of_slices(item, size, expected):
    found = f"[{index_text(last_from_the_end([item], [], [size]), [], 1)}]"
    assert found == expected
    x = np.arange(size)
    np.testing.assert_array_equal(eval(f"x{found}"), x[slice(*item)])
