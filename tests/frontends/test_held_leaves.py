"""Arguments that hold functions and strings beside arrays, and what ``equinox.filter_jit`` returns."""

from __future__ import annotations

import pytest

import xla2py

jax = pytest.importorskip("jax")


def layer(layer, x, axis):
    return {**layer, "w": layer["w"] + 1}, layer["activation"](x * layer["w"]).sum(int(axis))


class Layer:
    __hash__ = None  # type: ignore[assignment]

    def __call__(self, x):
        return x + 1


class Filtered(Layer):
    """Stands for what ``equinox.filter_jit`` returns."""

    __module__ = "equinox._jit"
    __wrapped__ = staticmethod(layer)

    def lower(self):
        raise AssertionError("the library's own form is not asked for")


@pytest.mark.parametrize(("function", "axis"), [(Filtered(), 1), (layer, "1")])
def test_functions_among_arguments_are_held(function, axis):
    x = jax.ShapeDtypeStruct((2, 3), "float32")
    module = xla2py.from_jax(function, {"activation": jax.nn.relu, "w": x}, x, axis)
    assert [parameter.name for parameter in module.entry.parameters] == ["layer__w__.1", "x.1"]
    assert 'returns {"activation": None, "w": ' in xla2py.emit(module, nested=True).source


def test_an_object_without_hash_is_a_function():
    assert len(xla2py.from_jax(Layer(), 2.0).entry.parameters) == 1
