"""Lines that would be too long have parts of them on lines of their own."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.transpile.python.wrapping import breaks_well

LONG, ROW, PLACES = np.linspace(-2, 2, 24, dtype=np.float32).reshape(6, 4), np.ones(4, np.float32), np.int32([0, 2, 5])


def main_of(function, *arguments):
    """The lines of ``main``, after a comparison with XLA."""
    text = jax.jit(function).lower(*arguments).as_text("hlo", debug_info=True)
    module = xla2py.emit(text, annotate="none")
    np.testing.assert_allclose(module.load().main(*arguments), jax.jit(function)(*arguments), rtol=1e-6)
    return module.source.split("def main")[1].split("\n\n\n")[0].splitlines()


def test_a_long_value_stored_in_an_array_is_broken_at_its_arguments():
    def function(measurements, correction):
        scaled = jnp.sin(correction) * measurements[4]
        return measurements.at[3].set(jnp.where(measurements[1] > 0.5, scaled, correction * 0.125))

    lines = main_of(function, LONG, ROW)
    stored = next(k for k, line in enumerate(lines) if "[3] = " in line)
    assert lines[stored].endswith(" = np.where(") and lines[stored + 2].strip() == ")"
    assert "np.sin(correction) * measurements[4]" in lines[stored + 1]


def test_long_places_of_a_change_have_their_own_line():
    def function(measurements, places):
        wrapped = jnp.clip((places * 12345 + jnp.cumsum(places) * 103) % 6 + jnp.argsort(places) * 0, 0, 5)
        return measurements.at[wrapped].add(
            jnp.square(measurements[:3] - 1) * measurements[3:], mode="promise_in_bounds"
        )

    lines = main_of(function, LONG, PLACES)
    change = next(k for k, line in enumerate(lines) if "np.add.at(" in line)
    assert lines[change].endswith("(") and lines[change + 2].strip() == ")"
    assert lines[change - 1].endswith(".copy()")  # the parts stand before the copy that is changed


def test_a_part_has_a_line_where_one_inner_line_is_not_enough():
    def function(measurements, correction):
        rising = jnp.sin(correction * 2.5) * measurements[1] + jnp.cos(correction - 1.25) * measurements[2]
        falling = jnp.exp(correction * 0.125) - measurements[4]
        return jnp.where(measurements[0] > 0.5, rising * (measurements[5] + falling), falling * measurements[3])

    lines = main_of(function, LONG, ROW)
    assert all(line.count("(") == line.count(")") for line in lines if " = " in line)


@pytest.mark.parametrize(
    ("text", "most", "is_broken"),
    [
        ("(a_long_operand + another) * 2", 31, True),
        ("first * second_operand + third_one", 35, True),
        ("first * second_operand + third_one", 34, False),
        ("first_operand * (second_operand + third)", 41, True),
        ("first_operand + np.sum(second_operand)", 39, False),
        ("first * a + np.exp(second) * np.tanh(third)", 44, False),
        ("value.astype(np.float32) @ weights.reshape(4, 3)", 50, False),
        ("x[index] = np.where(mask, first, second)", 30, True),
        ("x[a_long_index, another_index] = np.where(mask, first, second)", 30, False),
    ],
)
def test_a_line_is_broken_at_its_operator_or_the_arguments_of_its_call(text, most, is_broken):
    assert breaks_well(text, lambda each: len(each) < most) == is_broken


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


RETURNED = """ENTRY main {{
  measurements = f32[8] parameter(0)  correction = f32[8] parameter(1)
  total = f32[8] add(measurements, correction)  root = f32[8] sine(total)  rest = f32[8] cosine(correction)
  tangent = f32[8] tan(correction)
  first = f32[8] multiply(root, measurements)  second = f32[8] subtract(first, rest)
  third = f32[8] sine(first)  fourth = f32[8] multiply(third, measurements)  fifth = f32[8] subtract({0}, tangent)
  ROOT results = (f32[8], f32[8]) tuple(second, fifth)
}}"""


def test_results_that_are_too_long_for_a_line_have_a_line_each():
    """Black alone would break the call of the last one."""
    long, short = (xla2py.emit(RETURNED.format(last)).source for last in ("fourth", "third"))
    first, second = "product - np.cos(correction)", "np.sin(product) * measurements - np.tan(correction)"
    assert f"    return (\n        {first},\n        {second},\n    )\n" in long
    assert f"    return {first}, np.sin(product) - np.tan(correction)\n" in short


@pytest.mark.parametrize(("first", "begin"), [("sum", '.sum(), {\n        "a":'), ("all", "(\n        ")])
def test_a_container_at_the_end_is_broken_alone_where_its_bracket_fits(first, begin):
    def function(measurements, correction):
        parts = {"a": jnp.sin(correction + measurements), "b": jnp.cos(correction - measurements) * 2}
        if first == "sum":
            return measurements.sum(), parts
        return jnp.sin(measurements * correction) + jnp.cos(measurements - correction) + 0.5, parts

    text = xla2py.emit(xla2py.from_jax(function, LONG, ROW), nested=True).source
    assert begin in text.split("    return ")[1].split("\n\n\n")[0]
