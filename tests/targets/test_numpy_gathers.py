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


LIMITS = [-(2**31), -(2**31) + 6, -8, -7, -1, 0, 6, 7, 2**31 - 7, 2**31 - 1]


@pytest.mark.parametrize(
    ("size", "at"), [(7, np.array(LIMITS, np.int32)), (120, np.arange(-128, 128, 5, np.int8))], ids=["int32", "int8"]
)
def test_indices_that_count_from_the_end_are_clipped_once_they_count_from_the_start(size, at):
    arguments = [floats(size), at]
    module = emitted(lambda x, at: x[at] * 2, arguments)
    assert (f" < 0 else at[i], i4(0)), i4({size - 1}))" in module.source) == (at.dtype == np.int32)
    np.testing.assert_array_equal(results(module, arguments)[0], jax.jit(lambda x, at: x[at] * 2)(*arguments))


@pytest.mark.parametrize("ends", [(-7, 5), (-6, 6), (0, 6), (-9, 6)])
def test_other_clips_stay(ends):
    def taken(x, at):
        return x.at[jax.numpy.clip(at, *ends)].get(mode="promise_in_bounds") * 2

    arguments = [floats(7), np.arange(-7, 7, dtype=np.int32)]
    found = results(emitted(taken, arguments), arguments)[0]
    np.testing.assert_array_equal(found, jax.jit(taken)(*arguments))
