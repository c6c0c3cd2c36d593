"""The style ``fast`` of CuPy: gathers in kernels."""

import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py
from xla2py.tests.kernels.gathered import PROGRAMS
from xla2py.tests.kernels.interpreting import by_interpreter
from xla2py.tests.ladder.running import assert_as_jax, needs_compiler, on_twin


def source(name, style="fast"):
    function, arguments = PROGRAMS[name]
    return xla2py.emit(xla2py.from_jax(function, *arguments), "cupy", style=style, debug=True)


@needs_compiler
@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_gather_what_xla_does(name):
    function, arguments = PROGRAMS[name]
    assert_as_jax(on_twin(source(name, "fused"), list(arguments)), function, *arguments)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_interpreter_gathers_what_xla_does(name):
    function, arguments = PROGRAMS[name]
    assert_as_jax(tuple(by_interpreter(xla2py.from_jax(function, *arguments), arguments)), function, *arguments)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("filled", "? x[at_here_2 * 40 + at % 40] : not_a_number()"),
        ("along an axis", "x[at / 3 * 40 + at_2]"),
        ("rows", "= table[clipped_at_here * 40 + column];"),
        ("two indices", "* 40 + "),
        ("clamped", "x[smaller<int>(larger<int>("),
    ],
)
def test_a_gather_is_the_read_of_an_element(name, said):
    text = source(name).source
    assert said in text
    assert text.count("_kernel = ") == 1
    assert "cp.take" not in text and "_or_fill(" not in text


@pytest.mark.parametrize("name", ["enlarged", "axis after axis", "axis before axis"])
def test_gathers_along_neighbouring_axes_are_one(name):
    text = source(name).source
    assert text.count("_kernel = ") == 1
    assert "cp.take(" not in text


def test_what_is_gathered_of_is_stored():
    text = source("of what is computed", "fused").source
    assert text.count("_kernel = ") == 2
    assert "raw float32 exp" in text
