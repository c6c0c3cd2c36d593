"""Numbers that a value is multiplied by are one where rounding stays as it was."""

from __future__ import annotations

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import assert_agrees, cases, entry, lacks, main
from xla2py.tests.recording.lazy_jax import jax, jnp, lax

X = np.float32([0.1, -0.0, 7, 1e30, -np.inf, np.nan])


def chain(*steps: str) -> str:
    """``x`` by one number after the other: ``multiply 2``."""
    lines, last = ["x = f32[6] parameter(0)"], "x"
    for k, step in enumerate(steps):
        opcode, number = step.split()
        lines += [f"c{k} = f32[] constant({number})", f"b{k} = f32[6] broadcast(c{k}), dimensions={{}}"]
        lines.append(f"v{k} = f32[6] {opcode}({last}, b{k})")
        last = f"v{k}"
    return entry(*lines)


RAISED = {
    ("multiply 2", "multiply -0.5", "divide 2"): "x / -2",
    ("multiply 2", "multiply 0.5"): "x",
    ("multiply 3", "multiply 0.25"): "x * 0.75",
    ("multiply 2", "divide 3"): "x / 1.5",
    ("divide 48", "multiply 2"): "x / 24",
    ("divide 128", "multiply 7"): "x * 0.0546875",
    ("divide 3", "divide 2"): "x / 6",
}
STAYING = {
    ("multiply 3", "multiply 5"): "x * 3 * 5",
    ("divide 3", "multiply 5"): "x / 3 * 5",
    ("multiply 2", "add 1"): "x * 2 + 1",
}


@pytest.mark.parametrize(("steps", "expected"), (RAISED | STAYING).items())
def test_chains(steps, expected):
    text = chain(*steps)
    assert main(text) == f"return {expected}"
    assert_agrees(text, X, without="factors")  # XLA multiplies by reciprocals
    values = [xla2py.emit(text, disable_passes=disabled).load().main(X) for disabled in ([], ["factors"])]
    np.testing.assert_array_equal(*values)


def test_a_product_without_all_digits_stays_two():
    assert main(chain("multiply 1e-38", "multiply 0.0625")) == "return x * 1e-38 * 0.0625"


COMPLEX = "z = c64[3] parameter(0)", "b = c64[3] broadcast(c), dimensions={}", "m = c64[3] multiply(b, z)"
ONE = "one = f32[] constant(1)", "zero = f32[] constant(0)", "c = c64[] complex(one, zero)"
test_complex_ones = cases("factors")(
    (entry(*ONE, *COMPLEX), np.complex64([complex(1, np.inf), 2j, complex(np.nan, 1)]), "return z"),
    (entry("c = c64[] constant((-0, -1))", *COMPLEX), np.complex64([1, 2j, 3 + 1j]), "return -1j * z"),
)


def derivative(*lines):
    """``r`` is the last line; ``half`` and ``two`` are numbers, ``y`` has the shape of ``x``."""
    numbers = {"half": 0.5, "two": 2, "five": 5}
    given = [f"n_{name} = f32[] constant({number})" for name, number in numbers.items()]
    wide = [f"{name} = f32[6] broadcast(n_{name}), dimensions={{}}" for name in numbers]
    return entry("x = f32[6] parameter(0)", "y = f32[6] parameter(1)", *given, *wide, *lines)


HALF = "h = f32[6] divide(half, y)", "d = f32[6] multiply(x, two)"
test_numbers_in_factors = cases("factors", X, np.float32([3, -0.0, 0, 1e30, np.inf, 2]))(
    (derivative(*HALF, "r = f32[6] multiply(h, d)"), "return x / y"),
    (derivative(*HALF, "m = f32[6] negate(h)", "r = f32[6] multiply(m, d)"), "return -1 / y * x"),
    (
        derivative("m = f32[6] negate(x)", "n = f32[6] multiply(m, y)", "r = f32[6] divide(n, five)"),
        "return -x * y / 5",
    ),
    # near misses: a part is read twice, or a divisor has a number
    (
        derivative(*HALF, "p = f32[6] multiply(h, d)", "r = f32[6] add(p, d)"),
        "product = x * 2\nreturn 0.5 / y * product + product",
    ),
    (
        derivative("d = f32[6] multiply(y, two)", "q = f32[6] multiply(x, half)", "r = f32[6] divide(q, d)"),
        "return x * 0.5 / (y * 2)",
    ),
)


ROWS = np.float32([[1, -0.0, np.nan], [np.inf, 1e-40, 3]])
OUTER = ((), ()), ((), ())


def of_ones(*shape):
    return lambda x: lax.dot_general(jnp.ones(shape), x, OUTER)


test_arrays_of_ones_are_no_factors = cases("factors", ROWS, claims=[lacks("np.ones")])(
    (of_ones(4), "np.broadcast_to(x, (4, 2, 3))"),
    (of_ones(1, 1), "return x[None, None]"),
    (of_ones(0), (ROWS,)),
    (lambda x: of_ones(1)(x[:, 0])[0, 1:] + 1, "return x[None, 1, 0] + 1"),
    (lambda x: jnp.zeros((2, 3, 4)).transpose(2, 0, 1) + x, (ROWS,)),
)
test_ones_stay_where_a_number_is_repeated = cases("factors", ROWS)(
    lambda x: jnp.ones(3) * x[0, 0],
    lambda x: jnp.full(3, 2.0) * x,
)


DEVIATING = np.float32([0.5, -2, 7, 7, 1e-3, 11])

test_gradients_of_deviations_divide_once = cases("factors", DEVIATING, inputs=[(DEVIATING,), (DEVIATING * 0,)])(
    (jax.grad(lambda x: x.std()), "ratio = (x - x.mean()) / (x.std() * 6)"),
    (jax.grad(lambda x: x.std(ddof=1)), "ratio = (x - x.mean()) / (x.std(ddof=1) * 5)"),
)
