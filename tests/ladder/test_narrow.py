"""The kernels that read and write narrow floats: every code, and what lies between two, as ml_dtypes has it."""

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")

import ml_dtypes  # noqa: E402

from xla2py.targets.cupy.twin.device_array import DeviceArray  # noqa: E402
from xla2py.targets.cupy.twin.modules import to_host, twin  # noqa: E402
from xla2py.templates.prelude.conversion import round_to  # noqa: E402
from xla2py.tests.ladder.running import needs_compiler  # noqa: E402
from xla2py.tests.targets.running import differences, on_device, on_numpy  # noqa: E402
from xla2py.transpile.emission.prelude.library import prelude  # noqa: E402
from xla2py.transpile.hlo.carriers import NARROW, narrowing, widening  # noqa: E402
from xla2py.transpile.target import load_target  # noqa: E402

FORMATS = sorted((each for each in NARROW if each.is_floating), key=str)
INTEGERS = sorted((each for each in NARROW if each.is_integral), key=str)


def function(name: str):
    """A function of CuPy's prelude, on the twin."""
    namespace = {}
    with twin():
        for definition in prelude(load_target("cupy")).closure([name]):
            exec(f"import cupy as cp\n{definition.source}", namespace)
    return lambda array: to_host(namespace[name](DeviceArray(array)))


def edges(element_type):
    """Every number of a type, the middles between neighbours and what is just off them, and what is out of range."""
    codes = np.arange(2**element_type.bits, dtype=np.uint8).view(element_type.dtype)
    numbers = np.unique(codes.astype(np.float64)[np.isfinite(codes.astype(np.float64))])
    middles = (numbers[1:] + numbers[:-1]) / 2
    most = numbers[-1]
    beyond = [np.inf, np.nan, 0.0, 1e300, 1e-300, 1.01 * most, 1.06 * most, 1.1 * most, 1.5 * most, 2 * most, 131072]
    around = [np.nextafter(middles, side) for side in (np.inf, -np.inf)]
    return np.concatenate([numbers, middles, *around, beyond, np.negative(beyond)])


@needs_compiler
@pytest.mark.parametrize("element_type", FORMATS, ids=str)
def test_every_code_is_read(element_type):
    codes = np.arange(2**element_type.bits, dtype=np.uint8)
    expected, found = codes.view(element_type.dtype).astype(np.float32), function(widening(element_type))(codes)
    np.testing.assert_array_equal(found, expected)
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[is_number]), np.signbit(expected[is_number]))


@needs_compiler
@pytest.mark.parametrize(
    "dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.float64], ids=lambda d: np.dtype(d).name
)
@pytest.mark.parametrize("element_type", FORMATS, ids=str)
def test_numbers_are_rounded_once(element_type, dtype):
    with np.errstate(over="ignore"):
        x = edges(element_type).astype(dtype)
    if dtype is np.float64:
        x = x[(np.abs(x) > 2.0**-126) | (x == 0)]  # the other way goes through float32 and its subnormals
    expected = round_to(x, element_type.dtype) if dtype is np.float64 else x.astype(element_type.dtype)
    found = function(narrowing(element_type))(x)
    wrong = found != expected.view(np.uint8)
    assert not wrong.any(), list(zip(x[wrong], found[wrong], expected.view(np.uint8)[wrong], strict=True))[:5]


@pytest.mark.parametrize("element_type", INTEGERS, ids=str)
def test_integers_wrap(element_type):
    dtype = np.int8 if element_type.is_signed else np.uint8
    bytes_ = np.arange(256, dtype=np.uint8).view(dtype)
    np.testing.assert_array_equal(
        function(narrowing(element_type))(bytes_), bytes_.astype(element_type.dtype).astype(dtype)
    )


@needs_compiler
@pytest.mark.parametrize("kind", ["s2", "u2", "s4", "u4"])
def test_complex_numbers_saturate_in_narrow_integers_as_their_real_parts_do(kind):
    text = f"ENTRY e {{ p = c64[6] parameter(0)  ROOT v = {kind}[6] convert(p) }}"
    numbers = [np.complex64([0, 3, -3, 7.5, 1e9, -1e9])]
    assert differences(on_numpy(text, numbers), on_device(text, numbers)) == []
