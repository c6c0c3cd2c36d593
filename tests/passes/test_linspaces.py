"""JAX's linspace, by name."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import (
    CHANGES,
    STAYS,
    assert_agrees,
    called,
    cases,
    entry,
    hlo,
    main,
    no_prelude,
    optimised,
)
from xla2py.tests.recording.lazy_jax import jnp

A, B = np.float32(-0.7), np.float32(3.1)


test_linspaces = cases("linspaces", claims=[CHANGES], forms=(hlo, optimised))(
    (lambda: jnp.linspace(-1.5, 1.5, 60), (), "return linspace(-1.5, 1.5, 60, np.float32)"),
    (lambda: jnp.linspace(0, 1, 7), (), "return linspace(0, 1, 7, np.float32)"),
    (lambda: jnp.linspace(1, 0, 7), (), "return linspace(1, 0, 7, np.float32)"),
    (lambda: jnp.linspace(1, -1, 40), (), "return linspace(1, -1, 40, np.float32)"),
    (lambda: jnp.linspace(0.1, -7.3, 3), (), "return linspace(0.1, -7.3, 3, np.float32)"),
    (lambda x: jnp.linspace(x, 2, 9), (A,), "return linspace(x, 2, 9, np.float32)"),
    (lambda x: jnp.linspace(1, x, 9), (A,), "return linspace(1, x, 9, np.float32)"),
    (lambda x, y: jnp.linspace(x, y, 9), (A, B), "return linspace(x, y, 9, np.float32)"),
    (lambda x: jnp.linspace(x, x, 9), (A,), "return linspace(x, x, 9, np.float32)"),
    (lambda x: x * jnp.linspace(2, 3, 9)[:, None], (A,), "return (x * linspace(2, 3, 9, np.float32))[:, None]"),
)

test_two_of_one_length = cases("linspaces", A, B, forms=(optimised,))(
    (
        lambda x, y: jnp.linspace(x, 1, 9) * jnp.linspace(y, 2, 9),
        "return linspace(x, 1, 9, np.float32) * linspace(y, 2, 9, np.float32)",
    )
)


def test_a_target_without_the_prelude_gets_the_long_form():
    text = hlo(lambda: jnp.linspace(0, 1, 7))
    assert called(text) == {"linspace"} and called(text, no_prelude) == set()


@pytest.mark.texts_of("0.10")
@pytest.mark.parametrize("ends", [(A, B), (B, A), (np.float32(np.inf), A), (A, np.float32(np.nan)), (A * 0, -A * 0)])
def test_bits_stay(ends):
    """XLA's own are not the same from one processor to the next."""
    text = hlo(lambda x, y: jnp.linspace(x, y, 50), *ends)
    assert "linspace" in main(text)
    raised, spelt_out = (
        xla2py.emit(text, format=False, disable_passes=disabled).load().main(*ends) for disabled in ([], ["linspaces"])
    )
    assert raised.dtype == spelt_out.dtype
    np.testing.assert_array_equal(raised, spelt_out)


def spelt_out(first="-1.5", gaps="59", last="1.5", end="1.5", one="1", element_type="f32"):
    row = f"{element_type}[59]"
    number = f"{element_type}[]"
    return entry(
        f"i = {row} iota(), iota_dimension=0",
        *(
            f"{name} = {number} constant({value})\n{name}s = {row} broadcast({name}), dimensions={{}}"
            for name, value in (("first", first), ("gaps", gaps), ("last", last), ("one", one))
        ),
        f"ratio = {row} divide(i, gapss)",
        f"rest = {row} subtract(ones, ratio)",
        f"near = {row} multiply(firsts, rest)",
        f"far = {row} multiply(lasts, ratio)",
        f"before = {row} add(near, far)",
        f"end = {number} constant({end})",
        f"ends = {element_type}[1] broadcast(end), dimensions={{}}",
        f"points = {element_type}[60] concatenate(before, ends), dimensions={{0}}",
    )


@pytest.mark.parametrize("element_type", ["f32", "f64"])
def test_by_hand(element_type):
    text = spelt_out(element_type=element_type)
    assert main(text).startswith("return linspace(-1.5, 1.5, 60, ")
    assert_agrees(text, without="linspaces")


def with_steps(text):
    """As JAX writes it since 0.12: the step from one number to the next, as often as it is to be taken."""
    far = "far = f32[59] multiply(lasts, ratio)"
    assert far in text
    return text.replace(far, "step = f32[59] divide(lasts, gapss)\nfar = f32[59] multiply(step, i)")


def test_by_steps():
    text = with_steps(spelt_out())
    assert main(text) == "return linspace(-1.5, 1.5, 60, np.float32)"
    assert_agrees(text, without="linspaces")
    assert "linspace" not in main(with_steps(spelt_out(end="1.25"))) + main(with_steps(spelt_out(gaps="60")))


@pytest.mark.parametrize(
    "changes", [{"gaps": "60"}, {"end": "1.25"}, {"one": "2"}, {"element_type": "f16"}, {"element_type": "bf16"}]
)
def test_what_is_no_linspace(changes):
    assert "linspace" not in main(spelt_out(**changes))


test_other_rows_stay = cases("linspaces", A, B, claims=[STAYS], budget=None, forms=(hlo, optimised))(
    lambda x, y: jnp.linspace(x, y, 9, endpoint=False),
    lambda x, y: jnp.linspace(jnp.stack([x, y]), y, 9),
    lambda x, y: jnp.concatenate([jnp.linspace(x, y, 9, endpoint=False), x[None]]),
    lambda x, y: (lambda before: (jnp.append(before, y), before))(jnp.linspace(x, y, 9, endpoint=False)),
)
