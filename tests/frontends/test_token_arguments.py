"""Tokens, which order callbacks, are neither arguments of ``main`` nor results."""

import numpy as np
import pytest

import xla2py
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child
from xla2py.transpile.hlo.printer import print_module
from xla2py.transpile.hlo.verifier import verify

X = np.float32([1, 2, 3])

# By the root of the entry: the results of main.
ROOTS = {
    "(token[], f32[3]) tuple(t, y)": (X + X,),
    "(token[], f32[3], token[], f32[3]) tuple(t, y, u, x)": (X + X, X),
    "(token[], token[]) tuple(t, u)": (),
    "(f32[3], token[]) infeed(t)": None,
}


@pytest.mark.parametrize("root", ROOTS)
def test_main_takes_and_returns_arrays(root):
    text = f"""HloModule m, entry_computation_layout={{(token[], f32[3], token[])->{root.partition(") ")[0]})}}
ENTRY main {{
  t = token[] parameter(0)
  x = f32[3] parameter(1)
  u = token[] parameter(2)
  y = f32[3] add(x, x), control-predecessors={{u}}
  ROOT r = {root}
}}
"""
    module = xla2py.load(text)
    verify(module)
    assert [each.name for each in module.entry.parameters] == ["x"]
    if ROOTS[root] is not None:
        found = xla2py.emit(text).load().main(X)
        np.testing.assert_equal(found if isinstance(found, tuple) else (found,), ROOTS[root])
        np.testing.assert_equal(tuple(run_hlo_in_child(print_module(module), X)), ROOTS[root])


def test_programs_without_tokens_as_arguments_stay():
    text = "HloModule m\nENTRY main {\n  t = token[] after-all()\n  ROOT r = (token[]) tuple(t)\n}\n"
    assert xla2py.emit(text).load().main() == (None,)


def test_ordered_callbacks_of_jax():
    jax, experimental = pytest.importorskip("jax"), pytest.importorskip("jax.experimental")

    def function(params, x):
        y = experimental.io_callback(
            lambda v: 2 * np.asarray(v), jax.ShapeDtypeStruct(x.shape, x.dtype), x, ordered=True
        )
        return {"y": y * params["w"]}

    main = xla2py.emit(xla2py.from_jax(function, {"w": X}, X)).load().main
    np.testing.assert_array_equal(main({"w": X}, X, io_callback=lambda v: 2 * v)["y"], 2 * X * X)
