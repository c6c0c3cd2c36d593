"""What only a GPU told: kernels that a compiler refuses, and functions of CuPy that give something else."""

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")


import xla2py  # noqa: E402
from xla2py.targets.cupy.twin.modules import twin  # noqa: E402
from xla2py.tests.ladder.running import on_twin  # noqa: E402
from xla2py.tests.passes.raising import hlo  # noqa: E402
from xla2py.tests.recording.lazy_jax import jnp  # noqa: E402

GENERATOR = np.random.default_rng(8)
X = np.linspace(-3, 3, 12, dtype=np.float32)


def fast(function, *arguments):
    return xla2py.emit(hlo(function, *arguments), "cupy", style="fast")


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
def test_headers_of_types_that_no_argument_has(dtype):
    def function(x):
        return jnp.tanh(x).astype(dtype).astype(jnp.float32) * 2

    emitted = fast(function, X)
    assert f"preamble={np.dtype(dtype).name.upper()}," in emitted.source
    assert f"#include <cupy/{np.dtype(dtype).name}.cuh>" in emitted.source
    np.testing.assert_allclose(on_twin(emitted, [X]), function(X), rtol=1e-2)


def test_the_twin_knows_no_type_whose_header_is_missing():
    with twin():
        import cupy as cp

        kernel = cp.ElementwiseKernel("float32 x", "float32 y", "y = (float)(float16)x;", "half")
        with pytest.raises(AssertionError, match="NVRTC does not know float16"):
            kernel(cp.asarray(X))


TURNED = """HloModule m
ENTRY e {
  x = f16[1] parameter(0)
  one = f16[] constant(1)
  ones = f16[1] broadcast(one), dimensions={}
  shifted = f16[1] subtract(x, ones)
  turned = f16[1] reverse(shifted), dimensions={0}
  straight = f16[1] tanh(shifted)
  back = f16[1] tanh(turned)
  ROOT r = (f16[1], f16[1]) tuple(straight, back)
}
"""


def test_results_that_are_equal_are_given_once():
    emitted = xla2py.emit(TURNED, "cupy", style="fast")
    assert '"float16 x",\n    "float16 tanh",' in emitted.source
    first, second = on_twin(emitted, [np.float16([1.5])])
    assert first == second == np.tanh(np.float16(0.5))


def test_a_choice_by_a_constant_is_none():
    """CuPy's ``where`` takes no condition of Python."""
    text = """HloModule m
or {
  a = pred[] parameter(0)
  b = pred[] parameter(1)
  ROOT c = pred[] or(a, b)
}
ENTRY e {
  x = f16[4] parameter(0)
  k = f16[5] iota(), iota_dimension=0
  above = pred[5] compare(k, k), direction=GT
  no = pred[] constant(false)
  any = pred[] reduce(above, no), dimensions={0}, to_apply=or
  two = f16[] constant(-2)
  twos = f16[4] broadcast(two), dimensions={}
  ROOT r = f16[4] select(any, x, twos)
}
"""
    emitted = xla2py.emit(text, "cupy")
    assert "return cp.full(4, -2, dtype=cp.float16)" in emitted.source
    assert on_twin(emitted, [np.float16([1, 2, 3, 4])]).tolist() == [-2] * 4
    with twin():
        import cupy as cp

        with pytest.raises(AttributeError, match="'bool' object"):
            cp.where(False, cp.asarray(X), cp.asarray(X))


def test_a_spectrum_of_one_number_is_that_number():
    """cuFFT takes spectra to be symmetric along the axis before such an axis."""
    transform = "f32[3,4,1] fft(x), fft_type=IRFFT, fft_length={4,1}"
    text = f"HloModule m\nENTRY e {{\n  x = c64[3,4,1] parameter(0)\n  ROOT r = {transform}\n}}"
    x = (GENERATOR.normal(size=(3, 4, 1)) + 1j * GENERATOR.normal(size=(3, 4, 1))).astype(np.complex64)
    for target in ("numpy", "cupy"):
        assert "fft.ifft2(x).real" in xla2py.emit(text, target).source
    np.testing.assert_allclose(xla2py.emit(text).load().main(x), np.fft.irfft2(x, (4, 1)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["f32", "f64", "f16", "bf16"])
def test_the_sign_of_zero(kind):
    """CuPy fills with zeros by writing zero bytes."""
    text = f"""HloModule m
ENTRY e {{
  zero = {kind}[] constant(-0.0)
  zeros = {kind}[3] broadcast(zero), dimensions={{}}
  ROOT r = ({kind}[], {kind}[3]) tuple(zero, zeros)
}}
"""
    for result in on_twin(xla2py.emit(text, "cupy"), []):
        assert np.signbit(np.float32(result)).all()
    with twin():
        import cupy as cp

        assert not np.signbit(cp.full(2, -0.0).on_host).any()
