"""Modules for any size: from which sizes on they hold, and how the numbers of their text follow from sizes."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.tests.whole import much
from xla2py.transpile.errors import UnsupportedError


def test_least_sizes_are_small_where_only_lines_are_longer_and_tables_short():
    def marked(x):
        mask = jnp.where(jnp.arange(len(x)) == 1, 7.0, 0.0)
        return jnp.clip(jnp.cumsum(x), 0, len(x)) * mask + jnp.where(x > len(x), jnp.sin(x) * len(x), jnp.cos(x))

    assert xla2py.emit(xla2py.from_jax(marked, xla2py.array("N"))).sizes == {"N": range(2, 2**63)}


def test_a_number_that_is_one_by_the_least_size_by_chance_makes_no_mean():
    emitted = xla2py.emit(xla2py.from_jax(lambda m, v: (m * v * v).sum() * 0.5, xla2py.array("N"), xla2py.array("N")))
    assert emitted.sizes["N"].start <= 2 and ".mean(" not in emitted.source
    emitted = xla2py.emit(xla2py.from_jax(lambda x: (x - x.mean()) * 0.5, xla2py.array("N")))
    assert ".mean(" in emitted.source


@pytest.mark.parametrize(
    "function, least",
    [
        (lambda x: x[2:] - 2 * x[1:-1] + x[:-2], 4),
        (lambda x: x[:3] * 2, 4),
        (lambda x: x[: len(x) // 2] * 2, 2),
        (lambda x: x[jnp.clip(x.astype(int), 0, len(x) - 2)], 3),
    ],
)
def test_the_least_size_is_told_by_one_program(function, least):
    from xla2py.transpile.emission.any_size.least_sizes import least_sizes

    module = xla2py.from_jax(function, xla2py.array("N")).modules[0]
    assert least_sizes([module], {"N": (13,)}) == {"N": least}


BELOW = {  # a function of positions, the text that it has at all sizes, and a size at which it once had another
    lambda x: jnp.where(jnp.arange(len(x)) < 2_000_000, x, 0): ("np.arange(n, dtype=np.int32) < 2000000", 2_000_100),
    lambda x: jnp.where(jnp.arange(len(x)) // 1000 < 1500, x, 0): ("// 1000 < 1500", 1_500_100),
    lambda x: jnp.where(jnp.arange(len(x)) * 1000 >= 0, x, 0): ("* 1000 >= 0", 2_200_000),
    lambda x: jnp.where(jnp.arange(len(x)) * 0.5 < 4e5, x, 0): ("< 400000", 900_000),
}


@pytest.mark.parametrize("function", BELOW)
def test_what_positions_are_compared_with_counts_however_large_it_is(function):
    text, size = BELOW[function]
    emitted = xla2py.emit(xla2py.from_jax(function, xla2py.array("N")))
    assert text in emitted.source
    x = np.arange(1, size + 1, dtype=np.float32)
    np.testing.assert_array_equal(emitted.load().main(x), function(x))


def test_sizes_end_where_positions_that_count_cannot_be_seen():
    def kept(x):
        rows, columns, layers = (jnp.arange(size) < 2_000_000 for size in x.shape)
        return jnp.where(rows[:, None, None] & columns[:, None] & layers, x, 0)

    emitted = xla2py.emit(xla2py.from_jax(kept, xla2py.array("A, B, C")))
    end = emitted.sizes["A"].stop
    assert end < 2_000_000 and emitted.sizes == emitted.load().SIZES
    emitted.load().main(np.ones((2, 3, 4), np.float32))
    with pytest.raises(TypeError, match=f"A is {end}, must be at least 2, below {end}$"):
        emitted.load().main(np.ones((end, 3, 4), np.float32))


@pytest.mark.parametrize("width, added", [(3, ""), (5, " + 1")])
def test_paddings_of_windows_with_a_stride_are_remainders_of_their_own_sizes(width, added):
    def same(x, k):
        words = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(x, k, (2, 2), "SAME", dimension_numbers=words)

    arrays = xla2py.array("B, H, W, 3"), xla2py.array(f"{width}, {width}, 3, 4")
    emitted = xla2py.emit(xla2py.from_jax(same, *arrays))
    assert f"(h % 2{added}, " in emitted.source and f"(w % 2{added}, " in emitted.source
    kernel, main = np.ones((width, width, 3, 4), np.float32), emitted.load().main
    for sizes in [(2, 6, 6), (3, 6, 7), (2, 7, 6), (3, 7, 7), (2, 8, 11)]:
        x = np.arange(3 * np.prod(sizes), dtype=np.float32).reshape(*sizes, 3)
        np.testing.assert_allclose(main(x, kernel), same(x, kernel), rtol=1e-5)


@pytest.mark.parametrize("count", [2, 4])
def test_paddings_of_convolutions_after_another_are_remainders_of_parts_of_sizes(count):
    def layers(x, k):
        for _ in range(count):
            words = ("NHWC", "HWIO", "NHWC")
            x = jax.lax.conv_general_dilated(x, k, (2, 2), "SAME", dimension_numbers=words) + 1
        return x

    emitted = xla2py.emit(xla2py.from_jax(layers, xla2py.array("B, H, W, 3"), xla2py.array("3, 3, 3, 3")))
    assert all(f"({name} + {2**k - 1}) // {2**k} % 2" in emitted.source for name in "hw" for k in range(1, count))
    kernel, main, compiled = np.full((3, 3, 3, 3), 0.1, np.float32), emitted.load().main, jax.jit(layers)
    first = 5 if count == 4 else emitted.sizes["H"].start
    for h, w in [(k, 3 * k % 16 + 3) for k in range(first, first + 4 * count, much(2, 1))]:
        if h in emitted.sizes["H"] and w in emitted.sizes["W"]:
            x = np.arange(6 * h * w, dtype=np.float32).reshape(2, h, w, 3)
            np.testing.assert_allclose(main(x, kernel), compiled(x, kernel), rtol=1e-5)


TEXTS = {  # a function, what its arguments are, and what its module says; each was once refused or another text
    lambda x: x * (len(x) - 0.5): (["N"], "x * (n - 0.5)"),
    lambda x: (jnp.arange(len(x)) - (len(x) - 1) / 2) * x: (["N"], "- (n - 1) / 2) * x"),
    lambda x: x * (np.float32(1) / np.float32(len(x)) * (np.float32(1) / np.float32(x.shape[1]))): (
        ["N, D"],
        "x * (1 / (n * d))",
    ),
    lambda x, k: jnp.convolve(x, k): (["N", "K"], "np.convolve(x, k)"),
    lambda x, k: jnp.convolve(x, k, mode="same"): (["N", "K"], 'np.convolve(x, k, mode="same")'),
    lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2), (1, 2), "VALID"): (["N, D"], "reduce_window(x, "),
    lambda x: jnp.where(jnp.arange(len(x)) < 2_000_000, x, 0)[: min(len(x), 100)].sum(): (["N"], "x, 0)[:100].sum()"),
}


@pytest.mark.parametrize("function", TEXTS)
def test_modules_are_for_any_size_of_what_was_refused(function):
    arrays, text = TEXTS[function]
    emitted = xla2py.emit(xla2py.from_jax(function, *map(xla2py.array, arrays)))
    assert text in emitted.source
    sizes = {name: numbers.start for name, numbers in emitted.sizes.items()}
    for k in (0, 1, 4, 21):
        shapes = [[sizes[name] + k * (2 + (name != "N")) for name in words.split(", ")] for words in arrays]
        given = [np.linspace(-1, 2, int(np.prod(shape)), dtype=np.float32).reshape(shape) for shape in shapes]
        np.testing.assert_allclose(emitted.load().main(*given), function(*given), rtol=2e-6, atol=1e-6)


def test_small_numbers_that_sizes_are_multiplied_by_are_found():
    """The least singular value that counts is a multiple of the number of rows."""
    emitted = xla2py.emit(
        xla2py.from_jax(lambda x, y: jnp.linalg.lstsq(x, y)[0], xla2py.array("N, 3"), xla2py.array("N"))
    )
    assert "1.1920929e-07 * n" in emitted.source
    x = np.random.default_rng(0).normal(size=(31, 3)).astype(np.float32)
    np.testing.assert_allclose(emitted.load().main(x, x[:, 0] + x[:, 1]), [1, 1, 0], atol=1e-5)


def test_a_number_that_is_negative_at_some_sizes_is_one_expression():
    def scaled(x):
        rows, columns = x.shape
        return x * (rows - columns - 1), x + (columns - rows - 2)

    emitted = xla2py.emit(xla2py.from_jax(scaled, xla2py.array("N, D")))
    assert "x * (n - d - 1), x + (d - n - 2)" in emitted.source
    for shape in [(4, 9), (9, 4), (6, 6), (6, 5)]:
        x = np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)
        for found, expected in zip(emitted.load().main(x), scaled(x), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_a_function_that_takes_pieces_of_a_length_has_a_module_for_longer_arrays():
    def spectrum(x):
        return jax.scipy.signal.welch(x, nperseg=16)[1]

    emitted = xla2py.emit(xla2py.from_jax(spectrum, xla2py.array("B, N")))
    assert emitted.sizes["B"].start <= 2 and emitted.sizes["N"].start == 24
    main, compiled = emitted.load().main, jax.jit(spectrum)
    for shape in [(2, 24), (3, 64), (5, 97), (2, 1000)]:
        x = np.sin(np.arange(np.prod(shape), dtype=np.float32)).reshape(shape)
        np.testing.assert_allclose(main(x), compiled(x), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("function", [jnp.fft.fftshift, jnp.fft.ifftshift])
def test_halves_that_are_exchanged_are_one_text_for_even_and_odd_sizes(function):
    emitted = xla2py.emit(xla2py.from_jax(function, xla2py.array("N")))
    assert "np.roll(" in emitted.source and emitted.sizes["N"].start <= 5
    for size in (5, 6, 7, 8, 64, 97):
        x = np.arange(size, dtype=np.float32)
        np.testing.assert_array_equal(emitted.load().main(x), function(x))


@pytest.mark.parametrize("function, text", [(jnp.linalg.pinv, "max(n, d)"), (jnp.linalg.matrix_rank, "max(n, d)")])
def test_numbers_of_the_greater_of_two_sizes_are_told_by_both(function, text):
    emitted = xla2py.emit(xla2py.from_jax(function, xla2py.array("N, D")))
    assert text in emitted.source and max(own.start for own in emitted.sizes.values()) <= 2
    for shape in [(4, 9), (9, 4), (5, 5)]:
        x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
        x[:, 1] = x[:, 0]  # singular
        np.testing.assert_allclose(emitted.load().main(x), function(x), rtol=1e-4, atol=1e-5)


def test_what_hangs_on_which_of_two_sizes_is_greater_is_refused():
    def longer(x, y):
        return x.sum() * 2 if len(x) > len(y) else jnp.sin(y).max()

    with pytest.raises(UnsupportedError, match="XP424"):
        xla2py.emit(xla2py.from_jax(longer, xla2py.array("N"), xla2py.array("K")))


def test_slices_that_have_an_end_at_some_sizes_only():
    emitted = xla2py.emit(xla2py.from_jax(lambda x: x[: len(x) // 2][::2], xla2py.array("N")))
    assert "[: n // 2 : 2]" in emitted.source
    for size in (6, 7, 8, 33):
        x = np.arange(size, dtype=np.float32)
        np.testing.assert_array_equal(emitted.load().main(x), x[: size // 2][::2])
    with pytest.raises(UnsupportedError, match=r"XP424: the text is not the same at all sizes: .*\[::3\]"):
        xla2py.emit(xla2py.from_jax(lambda x: x[::3][: len(x) // 3], xla2py.array("N")))


def test_a_number_that_only_holds_for_multiples_is_none_for_any_size():
    with pytest.raises(UnsupportedError, match="XP424"):
        xla2py.emit(xla2py.from_jax(lambda x: x * (1.5 / (len(x) // 3)), xla2py.array("N")))
    emitted = xla2py.emit(xla2py.from_jax(lambda x: x * (1 / (len(x) // 3)), xla2py.array("N")))
    for size in (6, 7, 8, 9, 10, 11, 300_001):
        x = np.arange(size, dtype=np.float32)
        np.testing.assert_allclose(emitted.load().main(x), x / (size // 3), rtol=1e-6)
