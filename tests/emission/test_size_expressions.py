"""The expressions of sizes that numbers of texts are, and how many texts tell enough of them."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.transpile.emission.any_size.expressions import integer_expression, literal_expression
from xla2py.transpile.errors import UnsupportedError, UsageError
from xla2py.transpile.frontends.witnesses import files_at_sizes


@pytest.mark.parametrize(
    "values, text",
    [
        ((13, 18, 23), "N"),
        ((12, 17, 22), "N - 1"),
        ((6, 9, 11), "N // 2"),
        ((7, 9, 12), "(N + 1) // 2"),
        ((7, 10, 12), "N // 2 + 1"),
        ((6, 8, 11), "(N - 1) // 2"),
        ((39, 54, 69), "3 * N"),
        ((27, 37, 47), "2 * N + 1"),
        ((182, 450, 437), "N * M"),
        ((27, 43, 42), "N + M"),
        ((5, 5, 5), "5"),
    ],
)
def test_numbers_are_simple_expressions_of_sizes(values, text):
    found = integer_expression(values, {"N": (13, 18, 23), "M": (14, 25, 19)})
    assert found is not None and found.text == text


@pytest.mark.parametrize(
    "values, text, texts",
    [
        ((6, 9, 1), "N // 2", 3),
        ((2, 3, 2), "N // 14 + 2", 4),  # what 13, 18 and 3 do not tell from a choice between two numbers
        ((27, 37, 7), "2 * N + 1", 4),
        ((65, 90, 15), "5 * N", 3),
    ],
)
def test_what_fits_by_chance_needs_more_texts(values, text, texts):
    found = integer_expression(values, {"N": (13, 18, 3)})
    assert found is not None and (found.text, found.texts) == (text, texts)


def test_where_several_divisions_fit_a_number_tells_them_apart():
    sizes = {"N": (13, 18, 2, 23)}
    found = integer_expression((1, 2, 0, 2), sizes)  # by 8 or by 9
    assert found.doubt[0] == "N" and found.doubt[1] // 8 != found.doubt[1] // 9
    found = integer_expression((2, 3, 4, 19), {"N": (13, 18, 23, 97)})  # N // 5, or of N - 1, ..
    assert found.text == "N // 5" and {(found.doubt[1] - k) // 5 for k in range(4)} > {found.doubt[1] // 5}
    assert integer_expression((4, 6, 0, 7, 8, 20, 33), {"N": (13, 18, 2, 23, 24, 60, 101)}).doubt is None
    assert integer_expression((13, 18, 2), {"N": (52, 72, 8)}).doubt is None  # of multiples of 4


def test_remainders_are_in_doubt_until_they_are_of_one_size():
    alike = {"NK": (13, 18, 23, 88), "K": (17, 20, 25, 90)}
    assert integer_expression((1, 0, 1, 0), alike).doubt == ("NK", 18)  # of either
    assert integer_expression((1, 0, 1, 0, 0), {"NK": (*alike["NK"], 18), "K": (*alike["K"], 17)}).text == "NK % 2"
    assert integer_expression((1, 0, 1, 0, 1), {"NK": (*alike["NK"], 18), "K": (*alike["K"], 17)}).text == "K % 2"


def test_positions_of_strided_windows_are_counted_by_the_product_of_their_quotients():
    sizes = {"B": (7, 8, 11, 100), "H": (13, 18, 23, 88), "W": (17, 20, 25, 90)}
    assert integer_expression((63, 90, 156, 1980), sizes).text == "((H + 1) // 2) * ((W + 1) // 2)"
    assert integer_expression((12, 20, 30, 484), sizes).text == "(H // 4) * (W // 4)"
    emitted = xla2py.emit(
        xla2py.from_jax(lambda x: jnp.maximum(x[:, ::2, ::2], 0).mean(axis=(1, 2)), xla2py.array("B, H, W")),
        "dask",
        chunks="4096",
    )
    assert "((h + 1) // 2) * ((w + 1) // 2)" in emitted.source
    x = np.linspace(-1, 2, 5 * 11 * 12, dtype=np.float32).reshape(5, 11, 12)
    expected = np.maximum(x[:, ::2, ::2], 0).mean(axis=(1, 2))
    np.testing.assert_allclose(emitted.load().main(x, chunks=4).compute(), expected, rtol=1e-6)


def test_a_size_that_no_argument_of_a_dump_has_is_named():
    dumps = [xla2py.from_jax(jnp.tanh, jax.ShapeDtypeStruct((size, 64), np.float32)) for size in (3, 5, 7)]
    with pytest.raises(UsageError, match=r"no argument of third\.hlo has an axis of 8, which B is there"):
        files_at_sizes(dumps, {"B": (3, 5, 8)}, ["first.hlo", "second.hlo", "third.hlo"])
    with pytest.raises(UsageError, match="sizes need at least 3 programs, not 2"):
        files_at_sizes(dumps[:2], {"B": (3, 5)})
    with pytest.raises(UsageError, match="B has 2 numbers for 3 programs"):
        files_at_sizes(dumps, {"A": (3, 5, 7), "B": (3, 5)})


def test_a_number_is_not_added_to_a_part_of_a_product():
    values = (6, 8, 11, 15)  # N * N // 67 + 4 fits, and so would one of these to most numbers
    assert integer_expression(values, {"N": (13, 18, 23, 27)}) is None
    assert integer_expression((84, 162, 264, 364), {"N": (13, 18, 23, 27)}).text == "N * N // 2"


def test_what_small_sizes_do_not_show_is_read_off_further_ones():
    def chosen(x):
        return jnp.where(jnp.arange(len(x)) < (len(x) - 1) // 5, x, -x) + (len(x) > 11) * x

    emitted = xla2py.emit(xla2py.from_jax(chosen, xla2py.array("N")))
    assert "(n - 1) // 5" in emitted.source and emitted.sizes["N"].start > 6
    x = np.linspace(1, 2, 37, dtype=np.float32)
    np.testing.assert_array_equal(emitted.load().main(x), chosen(x))


def test_numbers_that_dumps_do_not_tell_enough_of_are_refused():
    def at(number):
        shape = jax.ShapeDtypeStruct((number,), np.float32)
        return xla2py.from_jax(lambda x: x[: len(x) // 5], shape)

    def emitted(*numbers):
        return xla2py.emit(files_at_sizes([at(n) for n in numbers], {"N": numbers}))

    with pytest.raises(UnsupportedError, match="XP424: `n // 5` is not the only expression of N that has the numbers"):
        emitted(13, 18, 23, 97)
    with pytest.raises(UnsupportedError, match="XP424: the text has numbers of which 3 sizes do not tell enough"):
        emitted(13, 14, 15)
    assert "n // 5" in emitted(13, 14, 15, 16, 17, 18, 19, 40).source


def test_angles_follow_from_sizes():
    def transformed(x):
        n = x.shape[0]
        k = jnp.arange(n)
        window = 0.5 - 0.5 * jnp.cos(2 * jnp.pi / (n - 1) * k)
        return jnp.cos(jnp.pi / n * (k[:, None] + 0.5) * k).T @ (window * x), jnp.exp(-2j * jnp.pi / n * k)

    emitted = xla2py.emit(xla2py.from_jax(transformed, xla2py.array("N")))
    for text in ("3.141592653589793 / n", "6.283185307179586 / (n - 1)", "6.283185307179586 / n * 1j"):
        assert text in emitted.source
    x = np.linspace(1, 2, 37, dtype=np.float32)
    for result, expected in zip(emitted.load().main(x), transformed(x), strict=True):
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-4)


def test_an_imaginary_number_is_no_real_one_at_other_sizes():
    assert literal_expression(("0.25j", "0.2", "0.125"), {"N": (4, 5, 8)}, integer_expression) is None
