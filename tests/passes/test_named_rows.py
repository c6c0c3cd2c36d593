"""Windows and frequencies of transforms are calls of the library, found by their values."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import STAYS, Budget, assert_agrees, before, cases, entry, hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.tests.targets.running import on_device

X = np.linspace(-2, 2, 24, dtype=np.float32)
X[:3] = np.nan, np.inf, -0.0
NEAR = Budget(relative=1e-5, absolute=1e-5)

test_windows_and_frequencies = cases(
    "named_rows", X, budget=NEAR
)(
    (lambda x: x * jnp.hanning(24), "return x * np.hanning(24).astype(np.float32)", before("np.cos")),
    (lambda x: x * jnp.hamming(24), "return x * np.hamming(24).astype(np.float32)"),
    (lambda x: x * jnp.blackman(24), "return x * np.blackman(24).astype(np.float32)"),
    (lambda x: x * jnp.bartlett(24), "return x * np.bartlett(24).astype(np.float32)"),
    (lambda x: x * jnp.kaiser(24, 8.6), "return x * np.kaiser(24, 8.6).astype(np.float32)"),
    (lambda x: x * jnp.kaiser(24, 14), "return x * np.kaiser(24, 14).astype(np.float32)"),
    (lambda x: x * jnp.hanning(25)[:-1], "return x * np.hanning(25).astype(np.float32)[:-1]"),
    (lambda x: x * jnp.square(jnp.sin(jnp.arange(24) * (jnp.pi / 24))), "np.hanning(25)[:-1]"),  # periodic
    (lambda x: x / (jnp.hanning(24) + 1e-6), "return x / (np.hanning(24).astype(np.float32) + 1e-6)"),  # not by 0
    (lambda x: x * jnp.fft.fftfreq(24), "return x * np.fft.fftfreq(24).astype(np.float32)"),
    (lambda x: x * jnp.fft.fftfreq(24, 0.1), "return x * np.fft.fftfreq(24, 0.1).astype(np.float32)"),
    (lambda x: x * (jnp.fft.fftfreq(24, 0.1) * 4), "return x * (np.fft.fftfreq(24, 0.1).astype(np.float32) * 4)"),
    (lambda x: x[1:] * jnp.fft.fftfreq(23, 2), "return x[1:] * np.fft.fftfreq(23, 2).astype(np.float32)"),
)
test_what_is_no_window_stays = cases("named_rows", X, claims=[STAYS])(
    lambda x: x * (0.55 - 0.45 * jnp.cos(2 * jnp.pi * jnp.arange(24) / 23)),
    lambda x: x * (0.5 - 0.5 * jnp.cos(2 * jnp.pi * jnp.arange(24) / 22)),
    lambda x: x * (0.5 - 0.5 * jnp.cos(x[5] * jnp.arange(24) / 23)),
    (lambda x: x * jnp.hanning(7), X[:7]),  # too short to tell
    lambda x: x * (jnp.arange(24) / 24 - 0.5),
    lambda x: x * ((jnp.arange(24) + 12) % 24 - 12),  # whole numbers
    lambda x: x * jnp.sqrt(0.5 - jnp.arange(24)),  # not a number
)


def test_of_a_function_that_takes_nothing():
    text = hlo(lambda x: jax.scipy.signal.stft(x, nperseg=16)[2], X)
    assert "np.hanning(17)[:-1]" in main(text)


def test_in_float64():
    with jax.enable_x64(True):
        text = hlo(lambda x: x * jnp.hanning(24) + jnp.fft.fftfreq(24, 0.1) * jnp.kaiser(24, 8.6), X.astype(np.float64))
    assert main(text) == "return x * np.hanning(24) + np.fft.fftfreq(24, 0.1) * np.kaiser(24, 8.6)"
    assert_agrees(text, X.astype(np.float64), without="named_rows", budget=Budget(relative=1e-13, absolute=1e-13))


@pytest.mark.parametrize("change", [lambda row: row + 1e-6, lambda row: np.maximum(row, 1e-6)])
@pytest.mark.parametrize("window", [np.hanning, np.blackman, np.bartlett])
def test_a_window_without_zeros_keeps_its_ends(window, change):
    numbers = ", ".join(map(repr, change(window(24)).astype(np.float32).tolist()))
    text = entry("x = f32[24] parameter(0)", f"w = f32[24] constant({{{numbers}}})", "r = f32[24] divide(x, w)")
    assert not any(f"np.{name}" in main(text) for name in ("hanning", "blackman", "bartlett"))


def test_whole_numbers_that_wrap_around_are_no_frequency():
    x = np.ones(300, np.float32)
    text = hlo(lambda x: x * (0.5 - 0.5 * jnp.cos(jnp.arange(300).astype(jnp.uint8) * (2 * jnp.pi / 299))), x)
    assert "hanning" not in main(text)
    assert_agrees(text, x, without="named_rows", budget=NEAR)


def test_a_row_in_float32_is_none_in_float64():
    x = np.ones(24)
    with jax.enable_x64(True):
        text = hlo(lambda x: x * (0.5 - 0.5 * jnp.cos(jnp.arange(24) * (2 * jnp.pi / 23)).astype("f4").astype("f8")), x)
    assert "hanning" not in main(text)


def test_on_a_device():
    text = hlo(lambda x: x * jnp.hanning(24) + jnp.fft.fftfreq(24, 0.1), X)
    assert "cp.fft.fftfreq(24, 0.1)" in xla2py.emit(text, "cupy").source
    np.testing.assert_allclose(on_device(text, [X])[0], xla2py.emit(text).load().main(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "is_named"),
    [
        (lambda row: row, True),
        (lambda row: np.nextafter(row, np.float32(1)), True),  # another library's cosine
        (lambda row: row + np.float32(3e-7), False),
        (lambda row: np.where(np.arange(24) == 9, row + np.float32(3e-7), row), False),
    ],
)
@pytest.mark.parametrize("window", [np.hanning, np.hamming])
def test_a_table_is_what_it_says(window, change, is_named):
    numbers = ", ".join(map(repr, change(window(24).astype(np.float32)).astype(np.float32).tolist()))
    text = entry("x = f32[24] parameter(0)", f"w = f32[24] constant({{{numbers}}})", "r = f32[24] multiply(x, w)")
    assert (f"np.{window.__name__}(24)" in main(text)) is is_named
