"""Scatters into zeros that are choices by the index of an element, where kernels are written."""

from functools import partial

import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")


import xla2py
from xla2py.tests.kernels.gathered import floats, indices
from xla2py.tests.recording.lazy_jax import jax, jnp

LABELS = indices(50, 12)


def loss(logits, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


def put(shape, *index, combine="set"):
    def function(values, chosen):
        where = tuple(chosen if part is None else part() for part in index)
        return getattr(jnp.zeros(shape, values.dtype).at[where], combine)(values) * 2

    return function


def gradient_of_a_place(x, place):
    return jax.grad(lambda x: (jax.lax.dynamic_slice_in_dim(x, place, 1) * x[0]).sum())(x) * 2


def rows():
    return jnp.arange(12)


PROGRAMS = {
    "cross entropy": (jax.grad(loss), [floats(12, 50), LABELS]),
    "set": (put((12, 50), rows, None), [floats(12), LABELS]),
    "minus zero": (put((12, 50), rows, None, combine="add"), [np.float32(-0.0) * np.ones(12, np.float32), LABELS]),
    "first axis": (put((50, 12), None, rows), [floats(12), LABELS]),
    "middle axis": (
        put((3, 9, 4), lambda: jnp.arange(3)[:, None], None, lambda: jnp.arange(4)[None, :], combine="add"),
        [floats(3, 4), indices(9, 3, 4)],
    ),
    "a diagonal": (partial(put((12, 12), rows, rows), chosen=None), [floats(12)]),
    "a sum on the diagonal": (partial(put((12, 12), rows, rows, combine="add"), chosen=None), [floats(12)]),
    "indices that are known": (partial(put((12, 50), rows, lambda: rows() * 3 % 50), chosen=None), [floats(12)]),
    "narrow indices": (put((12, 50), rows, None), [floats(12), indices(50, 12, dtype=np.int8)]),
    "a place from the end": (gradient_of_a_place, [floats(240), np.int32(-3)]),
}
# Elements of one row may meet, or rows are not in order.
OTHERS = {
    "one index": (put((50,), None, combine="add"), [floats(12), LABELS]),
    "rows in another order": (put((12, 50), lambda: rows()[::-1], None), [floats(12), LABELS]),
    "several of a row": (
        put((12, 50), lambda: rows()[:, None], None, combine="add"),
        [floats(12, 3), indices(50, 12, 3)],
    ),
    "products": (put((12, 50), rows, None, combine="multiply"), [floats(12), LABELS]),
}


def emitted(function, arguments, **more):
    return xla2py.emit(xla2py.from_jax(function, *arguments), style="fused", checks=False, format=False, **more)


def agrees(function, arguments, **more):
    found = emitted(function, arguments, **more).load(keep_compiled=False).main(*arguments)
    wanted = np.asarray(jax.jit(function)(*arguments))
    np.testing.assert_allclose(found, wanted, 2e-6, 2e-6)
    np.testing.assert_array_equal(np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_element_of_each_row_is_chosen_by_its_index(name):
    assert "scatter" not in emitted(*PROGRAMS[name]).source
    agrees(*PROGRAMS[name])
    agrees(*PROGRAMS[name], disable_passes=["one_hots"])


@pytest.mark.parametrize("name", OTHERS)
def test_elements_that_may_meet_are_scattered(name):
    assert "scatter" in emitted(*OTHERS[name]).source or name == "products"
    agrees(*OTHERS[name])


def test_the_gradient_of_a_cross_entropy_is_one_kernel():
    function, arguments = PROGRAMS["cross entropy"]
    source = xla2py.emit(xla2py.from_jax(function, *arguments), "cupy", style="fast").source
    assert source.count("_kernel = RowKernel(") == 1
    assert "ElementwiseKernel" not in source
    assert "? -0.083333336f : 0.0f;" in source


def test_the_readable_style_scatters():
    function, arguments = PROGRAMS["cross entropy"]
    assert "put_at(" in xla2py.emit(xla2py.from_jax(function, *arguments)).source
