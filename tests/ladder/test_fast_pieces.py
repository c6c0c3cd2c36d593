"""The style ``fast`` of CuPy: concatenations, stacks, rolls and loops in kernels."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py
from xla2py.tests.ladder.fast_programs import (
    PLANE,
    ROW,
    TABLE,
    TURNS,
    framed,
    interleaved,
    laplacian,
    nested,
    program,
    rotated,
    shifted,
    turned,
    turned_frame,
)
from xla2py.tests.ladder.running import as_numpy, needs_compiler, verdict
from xla2py.tests.recording.lazy_jax import jax


@needs_compiler
@pytest.mark.parametrize(
    ("function", "said"),
    [
        (rotated, "if (at % 8 < 4) {"),
        (turned, "float joined = at % 8 < 4 ? -x[at + 4] : x[at - 4];"),
        (interleaved, "if (at % 2 == 0) {"),
        (laplacian, "float rolled = at / 48 == 0 ? x[at + 144] : x[at - 48];"),
        (nested, "} else if ("),
        (framed, "if (at / 11 % 9 >= 1 && at / 11 % 9 < 7 && at % 11 >= 3) {"),
        (shifted, "at / 8 % 6 >= 1 ? "),
        (turned_frame, " >= 2 && "),
    ],
)
def test_pieces_are_computed_where_they_are_needed(function, said):
    arguments = (PLANE, *TURNS)
    module = xla2py.from_jax(function, *arguments)
    given = arguments[: len(module.entry.parameters)]
    emitted = xla2py.emit(module, "cupy", style="fast")
    assert emitted.source.count("_kernel = ") == 1
    assert said in emitted.source
    assert verdict(emitted, given, xla2py.emit(module).load().main(*given)) == ""


@needs_compiler
def test_what_is_in_several_pieces_is_stored():
    def both(x):
        shared = jax.numpy.tanh(x) * 2
        return jax.numpy.concatenate([shared, shared + 1])

    emitted = as_numpy(both, TABLE)
    assert emitted.source.count("_kernel = ") == 2


@needs_compiler
def test_numbers_between_elements_are_put_there_by_the_prelude():
    first = ("x = f32[6] parameter(0)", "fill = f32[] constant(1)", "y = f32[6] add(x, x)")
    for padding, shape, kernel in (("1_1_1", "f32[13]", False), ("-2_1", "f32[5]", True)):
        last = (f"p = {shape} pad(y, fill), padding={padding}", f"ROOT r = {shape} tanh(p)")
        emitted = xla2py.emit(program(*first, *last), "cupy", style="fast")
        assert ("ElementwiseKernel" in emitted.source, "pad(" in emitted.source) == (kernel, not kernel)
        assert verdict(emitted, [ROW], xla2py.emit(program(*first, *last)).load().main(ROW)) == ""


@needs_compiler
def test_pieces_and_lines_are_kernels_of_their_own():
    def normalised(x):
        joined = jax.numpy.concatenate([x * 2, x - 1], 1)
        return joined / joined.sum(1, keepdims=True) + jax.numpy.concatenate([x[:, 2:], x, x[:, :2]], 1)

    x = TABLE + 9
    emitted = as_numpy(normalised, x)
    assert "conditional" not in emitted.source


@needs_compiler
def test_a_loop_around_pieces_stays_a_loop():
    def drift(x, pieces):
        joined = lambda x: jax.numpy.concatenate([pieces * 2, pieces - 1]) + x  # noqa: E731
        return jax.lax.fori_loop(0, 3, lambda _, x: joined(x) * 0.5, x)

    arguments = np.float32([1, 2, 3, 4]), np.float32([5, 6])
    as_numpy(drift, *arguments)


def spring(x, v, stiffness):
    def step(i, state):
        x, v = state
        a = -stiffness * x - 0.1 * v + 0.01 * i
        return x + 0.05 * v, v + 0.05 * a

    return jax.lax.fori_loop(0, 7, step, (x, v))


def fibonacci(a, b):
    return jax.lax.fori_loop(0, 9, lambda _, pair: (pair[1], pair[0] + pair[1]), (a, b))[1]


@needs_compiler
@pytest.mark.parametrize(
    ("function", "arguments"),
    [(spring, (TABLE, TABLE / 2, ROW[:1] * 2)), (fibonacci, (np.int32([1, 2, 3]), np.int32([1, 1, 2**30])))],
)
def test_loops_of_a_kernel_are_in_it(function, arguments):
    emitted = as_numpy(function, *arguments)
    assert "range(" not in emitted.source
    fewer = replace(emitted, source=emitted.source.replace("step = 0;", "step = 1;"))
    assert verdict(fewer, arguments, xla2py.emit(xla2py.from_jax(function, *arguments)).load().main(*arguments)) != ""


def test_loops_whose_elements_read_each_other_stay_loops():
    def diffuse(x):
        return jax.lax.fori_loop(0, 4, lambda _, x: (x + x[::-1]) * 0.5, x)

    x = np.float32([1, 2, 3, 4])
    emitted = as_numpy(diffuse, x)
    assert "for _ in range(4):" in emitted.source
