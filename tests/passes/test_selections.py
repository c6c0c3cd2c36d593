"""Masks of ``jnp.select`` and ``jnp.piecewise`` choose themselves: raised, near misses, values."""

import numpy as np

from xla2py.tests.passes.raising import EXACT, STAYS, assert_agrees, cases, hlo, main
from xla2py.tests.recording.lazy_jax import jnp

X = np.float32([-2, -0.0, 0.5, 1.5, np.nan, 7])
Y = np.float32([3, -1, 0, np.inf, 2, np.nan])


def two_masks_for_one_value(x, y):
    return jnp.where(number_of(x < 0, y > 1) < 1, x, y)


def select(x, y):
    return jnp.select([x < 0, x < 1, y > 2], [y, x * 2, x * y], 7)


test_masks_choose = cases("selections", X, Y, budget=EXACT)(
    (select, "return np.where(x < 0, y, np.where(x < 1, x * 2, np.where(y > 2, x * y, 7)))"),
    (lambda x, y: jnp.select([x < 0], [y], x), "return np.where(x < 0, y, x)"),
    (
        lambda x, y: jnp.select([x < 0, x < 1], [y, x], x + y),
        "return np.where(x < 0, y, np.where(x < 1, x, x + y))",
    ),
    (
        lambda x, y: jnp.piecewise(x, [x < 0, x < 1], [lambda x: -x, lambda x: x * 2, 1]) + y,
        "return np.where(x < 1, x * 2, np.where(x < 0, -x, 1)) + y",  # the last mask that holds wins
    ),
    (two_masks_for_one_value, "return np.where((x < 0) | (y > 1), y, x)"),
    (
        select,
        (X.reshape(2, 3), Y.reshape(2, 3)),
        "return np.where(x < 0, y, np.where(x < 1, x * 2, np.where(y > 2, x * y, 7)))",
    ),
)


def test_masks_of_single_numbers_choose():
    for x, y in zip(X, Y, strict=True):
        text = hlo(select, x, y)
        assert "argmax" not in main(text)
        assert_agrees(text, x, y, without="selections", budget=EXACT)


def number_of(*masks, first=False):
    return jnp.argmax(jnp.stack([jnp.full_like(masks[0], first), *masks]), axis=0)


def chosen_and_number(x, y):
    number = number_of(x < 0, y > 1)
    return jnp.where(number < 1, x, jnp.where(number < 2, y, 3)), number


def chosen_twice(x, y):
    number = number_of(x < 0, y > 1)
    later = jnp.where(number < 2, y, 3)
    return jnp.where(number < 1, x, later), later


def chosen_by_counts(x, y):
    number = jnp.argmax(jnp.stack([jnp.zeros_like(x), x, y]), axis=0)
    return jnp.where(number < 1, x, jnp.where(number < 2, y, 3))


def chosen_behind_a_mask_that_holds(x, y):
    number = number_of(x < 0, y > 1, first=True)
    return jnp.where(number < 1, x, jnp.where(number < 2, y, 3))


def chosen_by_other_limits(x, y):
    number = number_of(x < 0, y > 1)
    return jnp.where(number < 2, x, jnp.where(number < 1, y, 3))


test_other_choices_stay = cases("selections", X, Y, claims=["argmax", STAYS], budget=EXACT)(
    chosen_and_number, chosen_twice, chosen_by_counts, chosen_behind_a_mask_that_holds, chosen_by_other_limits
)


def test_other_axes_and_few_bits_stay():
    masks = np.random.default_rng(3).random((3, 3, 3)) < 0.5

    def along_the_last(x, masks):
        number = jnp.argmax(jnp.stack([jnp.zeros((3, 3), bool), masks[0], masks[1]]), axis=2)
        return jnp.where(number < 1, x, jnp.where(number < 2, 2 * x, 3))

    def counted_in_bytes(x, masks):
        joined = jnp.stack([jnp.zeros((3, 3), bool), masks[0], masks[1]])
        number = jnp.argmax(jnp.cumsum(joined, axis=0, dtype=jnp.int8), axis=0)
        return jnp.where(number < 1, x, jnp.where(number < 2, 2 * x, 3))

    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    for function in (along_the_last, counted_in_bytes):
        text = hlo(function, x, masks)
        assert main(text) == main(text, disable_passes=("selections",))
        assert_agrees(text, x, masks, without="selections", budget=EXACT)
