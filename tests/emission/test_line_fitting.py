"""Lines that would be too long have parts of them on lines of their own."""

import numpy as np

import xla2py
from xla2py.tests.recording.lazy_jax import jax, jnp

LONG, ROW, PLACES = np.linspace(-2, 2, 24, dtype=np.float32).reshape(6, 4), np.ones(4, np.float32), np.int32([0, 2, 5])


def main_of(function, *arguments):
    """The lines of ``main``, after a comparison with XLA."""
    text = jax.jit(function).lower(*arguments).as_text("hlo", debug_info=True)
    module = xla2py.emit(text, annotate="none")
    np.testing.assert_allclose(module.load().main(*arguments), jax.jit(function)(*arguments), rtol=1e-6)
    return module.source.split("def main")[1].split("\n\n\n")[0].splitlines()


def test_a_long_value_stored_in_an_array_has_its_own_line():
    def function(measurements, correction):
        wanted = jnp.where(measurements[1] > correction, jnp.minimum(measurements[2], 1), measurements[0] * correction)
        return measurements.at[3].set(jnp.where(wanted > 0.5, jnp.sin(correction) * measurements[4], correction))

    lines = main_of(function, LONG, ROW)
    stored = next(k for k, line in enumerate(lines) if "[3] = " in line)
    assert lines[stored].count("(") == lines[stored].count(")")
    assert lines[stored - 1].endswith(".copy()")  # the parts stand before the copy that is changed


def test_long_places_of_a_change_have_their_own_line():
    def function(measurements, places):
        wrapped = jnp.clip((places * 5 + jnp.cumsum(places) * 3) % 6 + jnp.argsort(places) * 0, 0, 5)
        return measurements.at[wrapped].add(
            jnp.square(measurements[:3] - 1) * measurements[3:], mode="promise_in_bounds"
        )

    lines = main_of(function, LONG, PLACES)
    (change,) = (line for line in lines if "np.add.at(" in line)
    assert change.count("(") == change.count(")")


def test_parts_are_read_before_the_array_changes():
    def function(measurements, correction):
        changed = measurements.at[0].set(correction)
        row = jnp.where(changed[0] > measurements[0], jnp.sin(changed[1]) + changed[2] * 2, jnp.cos(changed[3]) * 3)
        return changed.at[1].set(row + changed[0])

    main_of(function, LONG, ROW)


def test_what_depends_on_no_argument_has_no_line_of_its_own():
    def function(measurements, correction):
        scaled = jnp.sin(measurements[:4] * correction) @ jnp.cos(measurements[1:5] - correction) + measurements[2:6]
        return scaled * jnp.exp(measurements[2:6] - correction) / (jnp.eye(4) * 2 + 1)

    assert not any(" = np.eye" in line for line in main_of(function, LONG, ROW))
