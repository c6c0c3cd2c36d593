"""``--precision tf32`` on CuPy: float32 is rounded to TF32 where HLO asks for no more, and the twin rounds as tensor
cores do.
"""

import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")


import xla2py
from xla2py.tests.ladder.running import checked, needs_compiler
from xla2py.tests.recording.lazy_jax import jnp
from xla2py.tests.targets.test_cupy_convolutions import convolved
from xla2py.transpile.errors import UsageError

GENERATOR = np.random.default_rng(11)


def numbers(*shape):
    return GENERATOR.normal(size=shape).astype(np.float32)


def rounded(x):
    """Numbers with ten bits behind the point, halves to even, worked out in float64."""
    fraction, exponent = np.frexp(x.astype(np.float64))
    return np.ldexp(np.rint(fraction * 2**11) / 2**11, exponent).astype(np.float32)


CASES = [
    (lambda x, w: x @ w, ((7, 5), (5, 4)), "gemm(x, w, tf32=True)"),
    (lambda x, w: x @ w.T, ((7, 5), (4, 5)), "gemm(x, w.T, tf32=True)"),
    (lambda x, w: x @ w.mT, ((2, 3, 7, 5), (2, 3, 4, 5)), "gemm(x, w.mT, tf32=True)"),
    (lambda x, w: x @ w, ((2, 3, 7, 5), (5, 4)), "gemm(x, w, tf32=True)"),
    (lambda x, w: jnp.tensordot(x, w, 2), ((2, 3, 4), (3, 4, 5)), 'contract(x, w, "abc,bcf->af", tf32=True)'),
    (lambda x, w: jnp.einsum("bijk,bjl->bikl", x, w), ((2, 3, 4, 5), (2, 4, 6)), "contract(x, w, "),
    (convolved((2, 1), "SAME"), ((2, 7, 8, 3), (3, 3, 3, 4)), "tf32=True"),
    (convolved((1, 1), "SAME", feature_group_count=2), ((2, 7, 8, 4), (3, 3, 2, 6)), "tf32=True"),
    (convolved((1, 1), "VALID"), ((2, 7, 8, 3), (1, 1, 3, 4)), "tf32=True"),
    (convolved((1, 1), "VALID"), ((2, 7, 8, 3), (6, 7, 3, 4)), "tf32=True"),
    (convolved((1, 1), [(1, 2), (2, 1)], lhs_dilation=(2, 2)), ((2, 5, 4, 3), (3, 3, 3, 4)), "tf32=True"),
]


@needs_compiler
@pytest.mark.parametrize("style", ["readable", "fast"])
@pytest.mark.parametrize(("function", "shapes", "text"), CASES)
def test_factors_are_rounded(function, shapes, text, style):
    arguments = [numbers(*shape) for shape in shapes]
    module = xla2py.emit(xla2py.from_jax(function, *arguments), "cupy", style=style, precision="tf32")
    assert text in module.source
    found = checked(module, arguments)
    expected = np.asarray(function(*map(rounded, arguments)))
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)
    assert np.abs(found - np.asarray(function(*arguments))).max() > 1e-5


def test_a_program_may_ask_for_more():
    def function(x, w):
        return jnp.matmul(x, w, precision="highest"), jnp.matmul(x, w, precision="high"), x @ w

    source = xla2py.emit(xla2py.from_jax(function, numbers(7, 5), numbers(5, 4)), "cupy", precision="tf32").source
    assert source[source.index("def main") :].count("x @ w") == 1  # both are in float32
    assert source[source.index("def main") :].count("gemm(x, w, tf32=True)") == 1


@pytest.mark.parametrize(("algorithm", "is_in_tf32"), [("dot_f32_f32_f32", False), ("dot_tf32_tf32_f32", True)])
def test_an_algorithm_is_kept(algorithm, is_in_tf32):
    text = f"""ENTRY main {{
  x = f32[7,5] parameter(0)
  w = f32[5,4] parameter(1)
  ROOT dot = f32[7,4] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, algorithm={algorithm}
}}"""
    source = xla2py.emit(text, "cupy", precision="tf32").source
    assert ("tf32=True" in source) == is_in_tf32


@pytest.mark.parametrize(
    ("function", "shapes", "dtype"),
    [
        (lambda x, w: x @ w, ((7, 5), (5,)), np.float32),
        (lambda x, w: x @ w, ((7, 5), (5, 4)), np.int32),
        (lambda x, w: x @ w, ((7, 5), (5, 4)), jnp.bfloat16),
        (lambda x, w: (x @ w.mT).astype(jnp.float32), ((2, 7, 5), (2, 4, 5)), jnp.bfloat16),
        (lambda x, w: (x.astype(jnp.float32) @ w.astype(jnp.float32)).astype(x.dtype), ((7, 5), (5, 4)), jnp.bfloat16),
    ],
)
def test_what_is_no_product_of_matrices_of_float32_stays(function, shapes, dtype):
    arguments = [numbers(*shape).astype(dtype) for shape in shapes]
    program = xla2py.from_jax(function, *arguments)
    module = xla2py.emit(program, "cupy", precision="tf32")
    assert module.source.partition("def main")[2] == xla2py.emit(program, "cupy").source.partition("def main")[2]


def test_the_header_says_how_to_get_it_again():
    program = xla2py.from_jax(lambda x, w: x @ w, numbers(7, 5), numbers(5, 4))
    given, default = (xla2py.emit(program, "cupy", precision=word).source for word in ("tf32", "float32"))
    assert " --precision tf32" in given.partition("regenerate:")[2].splitlines()[0]
    assert "precision" not in default
    assert default == xla2py.emit(program, "cupy").source


@pytest.mark.parametrize(("target", "word"), [("numpy", "tf32"), ("dask", "tf32"), ("cupy", "tf16"), ("numpy", "")])
def test_others_are_refused(target, word):
    program = xla2py.from_jax(lambda x: x @ x, numbers(3, 3))
    with pytest.raises(UsageError) as caught:
        xla2py.emit(program, target, precision=word)
    assert caught.value.diagnostics[0].code == "XP416"
    assert "precision" in str(caught.value)


def test_highest_of_a_convolution_stays():
    function = convolved((1, 1), "SAME", precision="highest")
    program = xla2py.from_jax(function, numbers(2, 7, 8, 3), numbers(3, 3, 3, 4))
    source = xla2py.emit(program, "cupy", precision="tf32").source.replace(" --precision tf32", "")
    assert source.partition("def main")[2] == xla2py.emit(program, "cupy").source.partition("def main")[2]
    assert "tf32" not in source
