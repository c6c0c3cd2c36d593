"""Masks of positions that are intervals: what they select is a slice, and what lies outside is read nowhere."""

import numpy as np
import pytest

from xla2py import emit
from xla2py.tests.passes.raising import EXACT, ROUNDED, assert_agrees, hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.tests.targets.running import on_dask, on_device, uneven

lax = jax.lax
A = np.random.default_rng(0).normal(size=(5, 5)).astype(np.float32)
NAN = A.copy()
NAN[:, 3], NAN[2, 4] = np.nan, np.inf
PLACES = np.array([-2, 1, 1, 4, 3, 99], np.int32)


def rows(row):
    """``out[i] = row(i, a, places)`` for each row of a matrix."""

    def program(a, bounds):
        return lax.fori_loop(0, 5, lambda i, out: out.at[i].set(row(i, a, jnp.arange(5), bounds)), jnp.zeros(5))

    return program


# A row of what is summed up or stored; the part in readable modules, and the loop in those of the style fast.
CASES = {
    "below": (lambda i, a, k, _: jnp.where(k < i, a[i], 0).sum(), "a[i, :i].sum()", "range(i)"),
    "up to": (lambda i, a, k, _: jnp.where(k <= i, a[i], 0).sum(), "a[i, : i + 1].sum()", "range(i + 1)"),
    "above": (lambda i, a, k, _: jnp.where(i < k, a[i], 0).sum(), "a[i, i + 1 :].sum()", "range(i + 1, 5)"),
    "between": (
        lambda i, a, k, _: jnp.where((k >= i) & (k < i + 2), a[i], 0).sum(),
        "a[i, i : i + 2].sum()",
        "range(i, min(i4(i + 2), 5))",
    ),
    "product": (lambda i, a, k, _: jnp.where(k < i, a[i] * 2, 1).prod(), "(a[i, :i] * 2).prod()", "range(i)"),
    "dot": (
        lambda i, a, k, _: jnp.where(k < i, a[i], 0) @ jnp.where(k < i, a[0], 0),
        "a[i, :i] @ a[0, :i]",
        "range(i)",
    ),
    "squares": (lambda i, a, k, _: (jnp.where(k < i, a[i], 0) ** 2).sum(), "np.square(a[i, :i]).sum()", "range(i)"),
    "sparse": (
        lambda i, a, k, b: jnp.where((k >= b[i]) & (k < b[i + 1]), a[i], 0).sum(),
        "a[i, ",
        "range(max(part, 0), min(part_2, 5))",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_intervals_select(name):
    row, part, loop = CASES[name]
    text = hlo(rows(row), A, PLACES)
    assert part in main(text) and "where" not in main(text)
    for a in (A, NAN):
        assert_agrees(text, a, PLACES, without="interval_masks", budget=ROUNDED)
    expected = np.asarray(jax.jit(rows(row))(NAN, PLACES))
    compiled = emit(text, style="fast", debug=True)
    assert loop in compiled.source
    for found in (
        on_device(text, [NAN, PLACES])[0],
        on_dask(text, [NAN, PLACES], uneven)[0],
        compiled.load().main(NAN, PLACES),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def gathered(a, bounds):
    def row(i, x):
        return x.at[i].set(jnp.where(jnp.arange(6) < i, x[bounds], 0).sum() + a[i, 0])

    return lax.fori_loop(1, 5, row, a[0])


def test_what_is_gathered_in_an_interval():
    text = hlo(gathered, A, PLACES)
    assert ":i]].sum()" in main(text)
    assert_all(text, gathered)


def stored(a, bounds):
    def row(i, a):
        return a.at[i].set(jnp.where(jnp.arange(5) > i, a[i] - a[0] * a[i, i], a[i]))

    return lax.fori_loop(0, 4, row, a)


def test_what_is_stored_in_an_interval():
    text = hlo(stored, A, PLACES)
    assert "a[i, i + 1 :] -= a[0, i + 1 :] * a[i, i]" in main(text)
    for a in (A, NAN):
        assert_agrees(text, a, PLACES, without="interval_masks", budget=ROUNDED)


NOT_EMPTY = {
    "below": (lambda i, a, k, _: jnp.where(k <= i, a[i], -jnp.inf).max(), "a[i, : i + 1].max()"),
    "above": (lambda i, a, k, _: jnp.where(k >= i, a[i], jnp.inf).min(), "a[i, i:].min()"),
    "between": (
        lambda i, a, k, _: jnp.where((k >= i) & (k < i + 2), a[i] * 2, -jnp.inf).max(),
        "i : i + 2] * 2).max()",
    ),
    "between counters": (
        lambda i, a, k, _: lax.fori_loop(
            0, i + 1, lambda j, x: x + jnp.where((k >= j) & (k <= i), a[i], jnp.inf).min(), 0.0
        ),
        "a[i, j : i + 1].min()",
    ),
}


@pytest.mark.parametrize("name", NOT_EMPTY)
def test_extremes_of_intervals_that_are_never_empty(name):
    row, part = NOT_EMPTY[name]
    text = hlo(rows(row), A, PLACES)
    assert part in main(text) and "where" not in main(text)
    for a in (A, NAN, -A * 0):
        assert_agrees(text, a, PLACES, without="interval_masks", budget=ROUNDED)


NEAR_MISSES = {
    "a maximum of none": lambda i, a, k, _: jnp.where(k < i, a[i], -jnp.inf).max(),
    "a maximum that ends before it begins": lambda i, a, k, _: jnp.where((k > i) & (k < 3), a[i], -jnp.inf).max(),
    "a maximum behind the end": lambda i, a, k, _: jnp.where(k > i, a[i], -jnp.inf).max(),
    "a maximum of a bound from data": lambda i, a, k, b: jnp.where(k < b[i], a[i], -jnp.inf).max(),
    "a maximum, or 0": lambda i, a, k, _: jnp.where(k <= i, a[i], 0).max(),
    "a maximum, or the largest": lambda i, a, k, _: jnp.where(k <= i, a[i], jnp.inf).max(),
    "one side is not masked": lambda i, a, k, _: jnp.where(k < i, a[i], 0) @ a[0],
    "a product with a mask": lambda i, a, k, _: ((k < i) * a[i]).sum(),
    "masked by another": lambda i, a, k, _: jnp.where(k < i, a[i], 0) @ jnp.where(k <= i, a[0], 0),
    "not the neutral element": lambda i, a, k, _: jnp.where(k < i, a[i], 1).sum(),
    "a bound below 0": lambda i, a, k, _: jnp.where(k < i - 2, a[i], 0).sum(),
    "two stretches": lambda i, a, k, _: jnp.where((k < i) | (k > 3), a[i], 0).sum(),
    "the rest": lambda i, a, k, _: jnp.where(k != i, a[i], 0).sum(),
    "a mean": lambda i, a, k, _: jnp.exp(jnp.where(k < i, a[i], 0)).sum(),
    "a number": lambda i, a, k, _: jnp.where(k < i, a[i, 0], 0).sum(),
    "a mask that is read": lambda i, a, k, _: jnp.where(k < i, a[i], jnp.where(k < 2, 1.0, 0.0)).sum(),
}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_what_is_no_slice(name):
    text = hlo(rows(NEAR_MISSES[name]), A, PLACES)
    assert main(text) == main(text, disable_passes=["interval_masks"])
    for a in (A, NAN) if name != "a product with a mask" else (A,):  # which XLA takes for a choice
        assert_agrees(text, a, PLACES, without="interval_masks", budget=ROUNDED)


def old_content_of_another_row(a, bounds):
    def row(i, a):
        return a.at[i].set(jnp.where(jnp.arange(5) > i, a[i] * 2, a[0]))

    return lax.fori_loop(0, 4, row, a)


def test_what_a_store_does_not_leave_as_it_was():
    text = hlo(old_content_of_another_row, A, PLACES)
    assert "where" in main(text)
    assert_agrees(text, A, PLACES, without="interval_masks", budget=EXACT)


def changed(row):
    """``a[i] = row(i, a, places)`` for some rows of a matrix."""
    return lambda a, bounds: lax.fori_loop(0, 4, lambda i, a: a.at[i].set(row(i, a, jnp.arange(5), bounds)), a)


# Kernels of compiled loops see some masks as intervals, and others not, or only in part.
IN_KERNELS = {
    "an extreme": (rows(lambda i, a, k, b: jnp.where(k < b[i], a[i], -jnp.inf).max()), "range(min(part, 5))"),
    "a condition beside": (
        rows(lambda i, a, k, b: jnp.where((k < b[i]) & (a[i] > 0), a[i], 0).sum()),
        "range(min(part, 5))",
    ),
    "a column": (rows(lambda i, a, k, b: jnp.where(k < b[i], a[:, i], 0).sum()), "range(min(part, 5))"),
    "a mask that is known": (
        rows(lambda i, a, k, b: jnp.where((k < b[i]) & (k >= 1), a[i], 0).sum()),
        "range(min(part, 5))",
    ),
    "changed above": (changed(lambda i, a, k, b: jnp.where(k > i, a[i] - a[i + 1] * a[i, i], a[i])), "range(i4("),
    "changed between": (
        changed(lambda i, a, k, b: jnp.where((k >= b[i]) & (k < b[i + 1]), 2 * a[i], a[i])),
        "range(max(part, 0), min(",
    ),
    "changed, a condition beside": (
        changed(lambda i, a, k, b: jnp.where((k < b[i]) & (a[i + 1] > 0), 2 * a[i], a[i])),
        "range(min(part, 5))",
    ),
    # near misses
    "another extreme": (rows(lambda i, a, k, b: jnp.where(k < b[i], a[i], 0).max()), "range(5)"),
    "what is multiplied": (rows(lambda i, a, k, b: (jnp.where(k < b[i], a[i], 0) * a[0]).sum()), "range(5)"),
    "positions that fall": (rows(lambda i, a, k, b: jnp.where(4 - k < b[i], a[i], 0).sum()), "range(5)"),
    "a bound for each": (rows(lambda i, a, k, b: jnp.where(k < b[:5], a[i], 0).sum()), "range(5)"),
    "two intervals": (rows(lambda i, a, k, b: (a[i] * (k < b[i])).sum() + jnp.where(k < 2, a[i], 0).sum()), ""),
    "half of it": (
        rows(lambda i, a, k, b: jnp.where(k < b[i], a[i], 0).sum() + a[i].sum()),
        "if 0 <= j < min(part, 5):",
    ),
    "changed the other way round": (changed(lambda i, a, k, b: jnp.where(k < b[i], a[i], a[i] * 2)), "range("),
    "the content of another row": (changed(lambda i, a, k, b: jnp.where(k < b[i], a[i] * 2, a[i + 1])), "range(5)"),
    "a number": (changed(lambda i, a, k, b: jnp.where(k < b[i], a[i] * 2, 0)), "range(5)"),
}


@pytest.mark.parametrize("name", IN_KERNELS)
def test_intervals_in_compiled_loops(name):
    function, wanted = IN_KERNELS[name]
    compiled = emit(hlo(function, A, PLACES), style="fast", debug=True)
    assert wanted in compiled.source
    for a in (A, NAN) if name != "two intervals" else (A,):
        before = a.copy()
        expected = np.asarray(jax.jit(function)(a, PLACES))
        np.testing.assert_allclose(compiled.load().main(a, PLACES), expected, rtol=1e-5)
        np.testing.assert_array_equal(a, before)


def carried(new, mask, begin=1):
    """A row of a matrix that every round changes where a mask selects."""

    def program(a, bounds):
        def step(i, x):
            return jnp.where(mask(i, x, jnp.arange(30), bounds), new(i, x, a), x)

        return lax.fori_loop(begin, 6, step, jnp.tile(a[0], 6))

    return program


def number(i, x, a):
    return 7.0


# Each row has the stored value, the mask of its positions, and the statement in the modules of both styles.
CARRIED = {
    "below": (number, lambda i, x, k, _: k < i * 2, "updated[: 2 * i + 2] = 7"),
    "from a bound": (number, lambda i, x, k, _: k >= i, "updated[i:] = 7"),
    "of the array": (lambda i, x, a: x * 2 + i, lambda i, x, k, _: k > i, "updated[i + 1 :] = updated[i + 1 :] * 2 +"),
    "of another": (lambda i, x, a: jnp.tile(a[1], 6), lambda i, x, k, _: k < i, "updated[:i] = tiled[:i]"),
    "multiples": (number, lambda i, x, k, _: k % i == 0, "updated[::i] = 7"),
    "multiples from a square": (number, lambda i, x, k, _: (k >= i * i) & (k % i == 0), "updated[i * i :: i] = 7"),
    "multiples from a multiple": (
        number,
        lambda i, x, k, _: (k >= 2 * i) & (k % i == 0),
        "updated[2 * i + 2 :: i + 1] = 7",
    ),
    "multiples below": (number, lambda i, x, k, _: (k < i + 20) & (k % i == 0), "updated[: i + 21 : i + 1] = 7"),
    "a bound that runs over": (
        number,
        lambda i, x, k, _: (k >= i * 9) & (k % i == 0),
        "updated[9 * i + 9 :: i + 1] = 7",
    ),
    "if true": (
        number,
        lambda i, x, k, _: (x[i] > 0) & (k >= i) & (k % i == 0),
        "updated[i : 30 if updated[i] > 0 else 0 : i] = 7",
    ),
    "below if true": (
        number,
        lambda i, x, k, _: (k < i + 9) & (x[i] > 0),
        "updated[: i + 10 if updated[i + 1] > 0 else 0] = 7",
    ),
}


@pytest.mark.parametrize("name", CARRIED)
def test_what_is_carried_is_changed_where_a_mask_selects(name):
    new, mask, line = CARRIED[name]
    text = hlo(carried(new, mask), A, PLACES)
    assert line in main(text) and "where" not in main(text).split(":\n", 1)[1]
    assert "copy" not in main(text).split(":\n", 1)[1]
    assert_all(text, carried(new, mask))


def assert_all(text, program):
    for a in (A, NAN):
        assert_agrees(text, a, PLACES, without="interval_masks", budget=ROUNDED)
        expected = np.asarray(jax.jit(program)(a, PLACES))
        compiled = emit(text, style="fast", debug=True).load().main(a, PLACES)
        for found in (on_device(text, [a, PLACES])[0], on_dask(text, [a, PLACES], uneven)[0], compiled):
            np.testing.assert_allclose(found, expected, rtol=1e-5)


NOT_CARRIED = {
    "the other side": (number, lambda i, x, k, _: ~(k % i == 0), 1),
    "the rest of a quotient": (number, lambda i, x, k, _: k % i == 1, 2),
    "no multiples": (number, lambda i, x, k, _: k % i != 0, 1),
    "from no multiple": (number, lambda i, x, k, _: (k >= i + 1) & (k % i == 0), 1),
    "of none": (number, lambda i, x, k, _: k % i == 0, 0),  # the counter begins at 0
    "of what is read": (number, lambda i, x, k, b: k % jnp.abs(b[i]) == 0, 1),
    "by each other": (number, lambda i, x, k, _: (k % i == 0) & (k % (i + 1) == 0), 1),
    "two truths": (number, lambda i, x, k, _: (x[i] > 0) & (a_second(x) > 0) & (k < i), 1),
    "an array if true": (lambda i, x, a: x + 1, lambda i, x, k, _: (x[i] > 0) & (k < i), 1),
    "truths of elements": (number, lambda i, x, k, _: (x > 0) & (k % i == 0), 1),
}


def a_second(x):
    return x[2]


@pytest.mark.parametrize("name", NOT_CARRIED)
def test_what_is_no_change_of_what_is_carried(name):
    new, mask, begin = NOT_CARRIED[name]
    program = carried(new, mask, begin)
    text = hlo(program, A, PLACES)
    assert "where" in main(text).split(":\n", 1)[1]
    assert_all(text, program)


def kept_beside(a, bounds):  # the old array goes on by another name
    def step(i, state):
        x, _ = state
        return jnp.where(jnp.arange(5) % i == 0, 7.0, x), x

    return lax.fori_loop(1, 5, step, (a[0], a[1]))


def read_later(a, bounds):  # what the mask changes is read as it was
    def step(i, state):
        x, total = state
        changed = jnp.where(jnp.arange(5) < i, 7.0, x)
        return changed, total + changed[0] * x

    return lax.fori_loop(1, 5, step, (a[0], a[1]))


@pytest.mark.parametrize("program", [kept_beside, read_later], ids=lambda program: program.__name__)
def test_an_array_that_is_read_as_it_was_is_copied(program):
    text = hlo(program, A, PLACES)
    for a in (A, NAN):
        assert_agrees(text, a, PLACES, without="interval_masks", budget=ROUNDED)
        expected = jax.jit(program)(a, PLACES)
        for found, wanted in zip(emit(text, style="fast", debug=True).load().main(a, PLACES), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5)
