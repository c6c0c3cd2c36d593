"""The CustomCall section of the operation-semantics seed."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

import xla2py
from xla2py.tests.builder.worked import build, f32
from xla2py.transpile.hlo.builder import (
    F32,
    make_shape,
)
from xla2py.transpile.hlo.printer import print_module


def test_custom_call_carries_target_shape_and_opaque_text() -> None:
    x, y = f32(1, 2), f32([10, 20, 30], [40, 50, 60])
    shape = make_shape(F32, [3, 3])
    module = build(lambda b, p, q: b.custom_call("myfunc", [p, q], shape, 'say "hi"', has_side_effect=True), x, y)
    text = print_module(module)
    assert 'custom_call_target="myfunc"' in text
    assert r'backend_config="say \"hi\""' in text
    assert "custom_call_has_side_effect=true" in text
    assert str(module.entry.root.shape) == "f32[3,3]{1,0}"


def test_the_function_of_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """myfunc writes z[0][0] = x[1] + y[1][0]."""

    def myfunc(x, y, *, shape, backend_config):
        z = np.zeros(shape, np.float32)
        z[0, 0] = x[1] + y[1, 0]
        return z

    x, y = f32(1, 2), f32([10, 20, 30], [40, 50, 60])
    module = build(lambda b, p, q: b.custom_call("myfunc", [p, q], make_shape(F32, [3, 3])), x, y)
    users_library = ModuleType("users_library")
    users_library.myfunc = myfunc
    monkeypatch.setitem(sys.modules, "users_library", users_library)
    z = xla2py.emit(module, custom_calls={"myfunc": "users_library:myfunc"}).load().main(x, y)
    assert (z.shape, z[0, 0]) == ((3, 3), 42)
