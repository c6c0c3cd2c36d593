"""Rows of numbers that JAX counts in integers."""

import numpy as np
import pytest

from xla2py.tests.passes.raising import EXACT, assert_agrees, entry, hlo, main, optimised
from xla2py.tests.recording.lazy_jax import jnp

X = np.arange(24, dtype=np.float32)


@pytest.mark.parametrize("form", [hlo, optimised])
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x * jnp.arange(24).astype(jnp.float32), "return x * np.arange(24, dtype=np.float32)"),
        (
            lambda x: x[:, None] - jnp.arange(5).astype(jnp.float32),
            "return x[:, None] - np.arange(5, dtype=np.float32)",
        ),
        (lambda x: (x, jnp.arange(9).astype(jnp.uint8)), "return x, np.arange(9, dtype=np.uint8)"),
    ],
)
def test_aranges(form, function, expected):
    text = form(function, X)
    assert main(text) == expected
    assert ".astype(" in main(text, disable_passes=["aranges"])
    assert_agrees(text, X, without="aranges", budget=EXACT)


def converted(size, source, result):
    return entry(f"i = {source}[{size}] iota(), iota_dimension=0", f"x = {result}[{size}] convert(i)")


@pytest.mark.parametrize(
    ("size", "source", "result"),
    [(300, "s32", "u8"), (128, "s32", "s8"), (300, "u8", "f32"), (2**24 + 2, "s32", "f32"), (9, "s32", "f16")],
)
def test_what_is_not_exact_stays(size, source, result):
    assert ".astype(" in main(converted(size, source, result))


def test_integers_that_are_read_stay():
    text = hlo(lambda x: (jnp.arange(24), x + jnp.arange(24).astype(jnp.float32)), X)
    assert main(text) == main(text, disable_passes=["aranges"])
