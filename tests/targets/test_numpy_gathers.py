"""The style ``fast`` of NumPy: gathers in compiled loops."""

import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")


import xla2py
from xla2py.tests.kernels.gathered import PROGRAMS, expected, floats, indices
from xla2py.tests.recording.lazy_jax import jax
from xla2py.tests.targets.numpy_fast import results


def emitted(function, arguments):
    return xla2py.emit(xla2py.from_jax(function, *arguments), style="fused", format=False, checks=False, debug=True)


COMPILED = {*[*PROGRAMS][::4], "filled integers"}  # some, and what wraps


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.compiled] * (name in COMPILED)) for name in PROGRAMS]
)
def test_loops_gather_what_xla_does(name):
    function, arguments = PROGRAMS[name]
    for found, wanted in zip(results(emitted(function, arguments), arguments), expected(name), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(np.asarray(found, np.float64), np.asarray(wanted, np.float64), 2e-6, 2e-6)


def test_indices_are_computed_around_the_loop_over_what_they_take():
    lines = emitted(*PROGRAMS["filled"]).source.splitlines()
    (chosen,) = [k for k, line in enumerate(lines) if line.lstrip().startswith("chosen =")]
    (inner,) = [k for k, line in enumerate(lines) if line.strip().startswith("for k in range(")]
    assert chosen < inner
    assert "= (x[chosen, k] if mask else f4(np.nan)) * " in lines[inner + 1]


def test_the_index_of_a_row_is_read_once():
    at, arguments = np.arange(512, dtype=np.int32) * 5 % 8, [floats(8, 40), floats(512, 40)]
    module = emitted(lambda x, y: x[at] * y + 1, arguments)
    lines = [line.strip() for line in module.source.splitlines()]
    inner = next(k for k, line in enumerate(lines) if line.startswith("for j in "))
    assert lines[inner - 2] == "for i in range(512):"
    assert "[i]" in lines[inner - 1]
    assert "x[row, j] * y[i, j]" in lines[inner + 1]
    np.testing.assert_allclose(results(module, arguments)[0], arguments[0][at] * arguments[1] + 1, 1e-6, 1e-6)


def test_what_a_loop_changes_is_read_before():
    def walked(table, start):
        def step(k, state):
            table, at = state
            return table.at[k].add(1), (table[at] + at) % 5

        return jax.lax.fori_loop(0, 5, step, (table, start))

    arguments = [np.arange(5, dtype=np.int32), indices(5, 4)]
    found = results(emitted(walked, arguments), arguments)
    for result, wanted in zip(found, jax.jit(walked)(*arguments), strict=True):
        np.testing.assert_array_equal(result, wanted)


def test_large_tables_are_read_in_threads():
    arguments = [floats(64, 512), np.resize(indices(64, 15), 300)]
    module = xla2py.from_jax(lambda x, at: jax.numpy.take(x, at, axis=0) * 2, *arguments)
    found = xla2py.emit(module, style="fast", threads="2").load(keep_compiled=False).main(*arguments)
    np.testing.assert_array_equal(found, jax.numpy.take(arguments[0], arguments[1], axis=0) * 2)
