"""Associative scans that are written out become one call again, and nothing that is nearly one."""

from __future__ import annotations

import re

import numpy as np
import pytest

import xla2py
from xla2py.tests.ladder.running import checked
from xla2py.tests.passes.raising import hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp, lax
from xla2py.tests.targets.running import on_dask, on_device, on_numpy, uneven
from xla2py.tests.whole import much
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child

associative_scan = lax.associative_scan
CALL = "associative_scan("


def line(left, right):
    """One function of a line after another: ``y = a x + b``."""
    return left[0] * right[0], right[0] * left[1] + right[1]


def best(left, right):
    keep = left[0] >= right[0]
    return jnp.where(keep, left[0], right[0]), jnp.where(keep, left[1], right[1])


def in_segments(left, right):
    return jnp.where(right[1], right[0], left[0] + right[0]), left[1] | right[1]


def in_logarithms(left, right):
    return left[0] + right[0], jnp.logaddexp(left[1] + right[0], right[1])


def floats(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def average(left, right):
    """The number and the average of what has been seen."""
    count = left[0] + right[0]
    return count, right[1] + left[1] * right[0]


STARTS = np.random.default_rng(1).random(40) < 0.2
PROGRAMS = {
    "all results": (lambda a, b: associative_scan(line, (a, b)), floats(13, 3), floats(13, 3)),
    "one result": (lambda a, b: associative_scan(line, (a, b))[1], floats(64, 4), floats(64, 4)),
    "four elements": (lambda a, b: associative_scan(line, (a, b))[1], floats(4), floats(4)),
    "along another axis": (lambda a, b: associative_scan(line, (a, b), axis=-2), floats(2, 21, 3), floats(2, 21, 3)),
    "from the end": (lambda x, k: associative_scan(best, (x, k), reverse=True), floats(17), np.arange(17)),
    "of truth values": (lambda x, starts: associative_scan(in_segments, (x, starts)), floats(40), STARTS),
    "of a special function": (
        lambda a, b: associative_scan(in_logarithms, (a, b), axis=1),
        floats(3, 33),
        floats(3, 33),
    ),
    "of one array": (lambda x: associative_scan(lambda a, b: jnp.sqrt(a * a + b * b), x), floats(9, 2)),
    "with a constant": (lambda x: associative_scan(lambda a, b: (a + b) / (1 + a * b / 4), x), floats(30)),
    "with an array of one factor": (
        lambda x: associative_scan(line, (jnp.full_like(x, 0.9), 0.1 * x))[1],
        floats(100),
    ),
    "with factors beside each other": (
        lambda x: associative_scan(line, (jnp.full_like(x, 0.5), x), axis=1)[1],
        floats(3, 21),
    ),
    "with an array of counts": (lambda x: associative_scan(average, (jnp.full_like(x, 0.01), x))[1], floats(19)),
    "of what is computed": (lambda x: associative_scan(line, (jnp.exp(x), 2 * x))[1].sum(0), floats(12, 2)),
    "of what another gives": (
        lambda a, b: associative_scan(line, associative_scan(line, (a, b))),
        floats(12),
        floats(12),
    ),
}


def agree(ours, theirs):
    for own, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(own, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_one_call(name):
    function, *arrays = PROGRAMS[name]
    arrays = list(map(np.asarray, jax.tree.map(jnp.asarray, arrays)))
    text = hlo(function, *arrays)
    body = main(text)
    assert body.count(CALL) == (2 if name == "of what another gives" else 1) and "pad(" not in body
    expected = run_hlo_in_child(text, *arrays)
    agree(on_numpy(text, arrays), expected)
    agree(on_device(text, arrays), expected)


@pytest.mark.parametrize("name", ["all results", "along another axis", "from the end"])
def test_chunks_go_on_from_those_before(name):
    function, *arrays = PROGRAMS[name]
    arrays = list(map(np.asarray, jax.tree.map(jnp.asarray, arrays)))
    text = hlo(function, *arrays)
    assert "associative_scan_in_chunks(" in xla2py.emit(text, "dask", chunks="5").source
    agree(on_dask(text, arrays, uneven, chunks="5"), run_hlo_in_child(text, *arrays))


def test_the_combination_is_a_function_of_two_elements():
    text = hlo(lambda a, b: associative_scan(line, (a, b))[1], floats(64), floats(64))
    assert main(text) == "_, running = associative_scan((a, b), combine)\nreturn running"
    assert "return left_a * right_a, right_a * left_b + right_b" in xla2py.emit(text).source


def test_any_length_has_one_text():
    generated = xla2py.emit(xla2py.from_jax(PROGRAMS["all results"][0], xla2py.array("N, 3"), xla2py.array("N, 3")))
    assert CALL in generated.source
    given = floats(50, 3), floats(51, 3)[1:]
    agree(generated.load().main(*given), associative_scan(line, given))


LINES = [((4,), 0), ((3001,), 0), ((700, 40), 0), ((3, 100, 33), 1), ((5, 70), 1), ((2, 64, 3), 1)]
FORMS = [("readable", "complex64"), ("fast", "float32"), ("readable", "float32"), ("fast", "complex64")]


@pytest.mark.parametrize(
    ("shape", "axis", "style", "dtype"),
    [(*line, *form) for k, line in enumerate(LINES) for form in much(FORMS[k % 2 : k % 2 + 1], FORMS)],
)
def test_linear_recurrences_have_kernels_on_a_gpu(shape, axis, dtype, style):
    pytest.importorskip("cupy", reason="CuPy is not installed")
    a, b = (0.9 * floats(*shape) / (abs(floats(*shape)) + 0.1)).astype(dtype), (floats(1, *shape)[0] + 1).astype(dtype)
    text = hlo(lambda a, b: associative_scan(line, (a, b), axis=axis)[1], a, b)
    emitted = xla2py.emit(text, "cupy", style=style)
    assert "linear_recurrence(a, b" in emitted.source and "associative_scan" not in emitted.source
    expected = run_hlo_in_child(text, a, b)[0]
    np.testing.assert_allclose(checked(emitted, [a, b]), expected, rtol=2e-4, atol=2e-5)


def test_other_combinations_are_no_linear_recurrences():
    for combine in (
        lambda p, q: (p[0] * q[0], p[0] * p[1] + q[1]),  # by the factor of the left one
        lambda p, q: (p[0] * q[0], q[0] * p[1] - q[1]),
        lambda p, q: (p[0] + q[0], q[0] * p[1] + q[1]),
    ):
        text = hlo(lambda a, b, combine=combine: associative_scan(combine, (a, b))[1], floats(33), floats(33))
        assert "linear_recurrence" not in xla2py.emit(text, "cupy").source
    assert "linear_recurrence" not in xla2py.emit(hlo(*PROGRAMS["all results"]), "cupy").source
    assert "linear_recurrence" not in xla2py.emit(hlo(*PROGRAMS["one result"])).source


def test_running_sums_are_the_librarys_own():
    assert main(hlo(lambda x: associative_scan(jnp.add, x), floats(20))).startswith("return x.cumsum(")


def test_what_a_gradient_reads_inside_stays_written_out():
    def loss(a, b):
        return (associative_scan(line, (a, b))[1] ** 2).sum()

    assert CALL not in xla2py.emit(hlo(jax.grad(loss, (0, 1)), floats(16), floats(16))).source


def test_products_of_matrices_stay_written_out():
    assert CALL not in xla2py.emit(hlo(lambda x: associative_scan(jnp.matmul, x), floats(8, 2, 2))).source


ALTERED = {"multiply(": "divide(", "add(": "subtract("}


def altered(text):
    """The texts with one operation of the ladder altered, each in its turn."""
    for found in re.finditer(r"multiply\(|add\(", text):
        yield text[: found.start()] + ALTERED[found[0]] + text[found.end() :]


def test_a_ladder_with_one_other_operation_is_none():
    arrays = [floats(12), floats(13)[1:]]
    texts = list(altered(hlo(lambda a, b: associative_scan(line, (a, b))[1], *arrays)))
    assert len(texts) > 10
    for text in texts:
        assert f"{CALL}(a, b)" not in xla2py.emit(text).source
        agree(on_numpy(text, arrays), run_hlo_in_child(text, *arrays))


RUNNING = {
    "sums": (lambda x: associative_scan(jnp.add, x), floats(23), "x.cumsum()"),
    "sums from the end": (lambda x: associative_scan(jnp.add, x, reverse=True), floats(16), "x[::-1].cumsum()"),
    "products along rows": (lambda x: associative_scan(jnp.multiply, x, axis=1), floats(3, 17), "x.cumprod(axis=-1)"),
    "sums of integers": (
        lambda x: associative_scan(jnp.add, x),
        np.arange(11, dtype=np.int32),
        "x.cumsum(dtype=np.int32)",
    ),
    "largest": (lambda x: associative_scan(jnp.maximum, x), floats(9, 2), "np.maximum.accumulate(x, axis=0)"),
    "least": (lambda x: associative_scan(jnp.minimum, x, axis=-1), floats(2, 9), "np.minimum.accumulate(x, axis=-1)"),
}


@pytest.mark.parametrize("name", RUNNING)
def test_running_sums_that_are_too_long_to_follow(name, monkeypatch):
    """Beyond the size to which ``prefixes`` follows elements, they are found by their form."""
    monkeypatch.setattr("xla2py.transpile.passes.special_functions.scans.LARGEST", 4)
    function, x, expected = RUNNING[name]
    text = hlo(function, x)
    assert expected in main(text, disable_passes=["prefixes"])
    (wanted,) = run_hlo_in_child(text, x)
    np.testing.assert_allclose(on_numpy(text, [x])[0], wanted, rtol=1e-5, atol=1e-6)
