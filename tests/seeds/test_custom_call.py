"""The worked example of CustomCall: a function that the user brings."""

import sys
from types import ModuleType

import numpy as np

import xla2py
from xla2py.tests.seeds.examples import example

CALL = example(
    "custom call",
    """x = f32[2] constant({1, 2})
    y = f32[2,3] constant({ {10, 20, 30}, {40, 50, 60} })
    ROOT z = f32[3,3] custom-call(x, y), custom_call_target="myfunc\"""",
    (),
    None,
)


def test_the_function_gets_the_operands_and_the_shape(monkeypatch):
    calls = []

    def myfunc(x, y, *, shape, backend_config):
        calls.append(backend_config)
        np.testing.assert_array_equal(x, [1, 2])
        np.testing.assert_array_equal(y, [[10, 20, 30], [40, 50, 60]])
        z = np.zeros(shape, np.float32)
        z[0][0] = x[1] + y[1][0]
        return z

    users_library = ModuleType("users_library")
    users_library.myfunc = myfunc
    monkeypatch.setitem(sys.modules, "users_library", users_library)
    emitted = xla2py.emit(CALL.hlo, target="numpy", custom_calls={"myfunc": "users_library:myfunc"})
    z = emitted.load().main()
    assert z.shape == (3, 3) and z.dtype == np.float32
    assert z[0][0] == 42
    assert len(calls) == 1
