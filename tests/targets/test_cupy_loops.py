"""Loops in the fast style of CuPy: kernels write rows of what a loop stacks, and compute parts where they are read."""

import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")


import xla2py
from xla2py.targets.cupy.twin.costs import costs_of
from xla2py.targets.cupy.twin.modules import to_device, twin
from xla2py.tests.ladder.running import as_jax, checked, needs_compiler
from xla2py.tests.recording.lazy_jax import jax, jnp, lax

GENERATOR = np.random.default_rng(6)
pytestmark = needs_compiler


def numbers(*shape):
    return GENERATOR.normal(size=shape).astype(np.float32)


def emitted(function, *arguments):
    return xla2py.emit(xla2py.from_jax(function, *arguments), "cupy", style="fast")


def agrees(module, function, arguments):
    expected = jax.tree_util.tree_leaves(jax.jit(function)(*arguments))
    found = checked(module, list(arguments))
    for one, other in zip(expected, found if isinstance(found, tuple | list) else [found], strict=True):
        np.testing.assert_allclose(other, np.asarray(one), 1e-5, 1e-5)


def main_of(module):
    return module.source[module.source.index("def main") : module.source.index("def check_arguments")]


def states(x, start):
    """All states of a recurrence."""

    def step(state, row):
        state = jnp.tanh(state + row) * 2
        return state, state

    return lax.scan(step, start, x)


X, START = numbers(7, 5), numbers(5)
W, U, B = numbers(5, 12), numbers(3, 12), numbers(12)


def test_a_kernel_writes_the_rows_that_a_loop_stacks():
    function = lambda x, start: states(x, start)[1]  # noqa: E731
    module = emitted(function, X, START)
    agrees(module, function, [X, START])
    assert "state = state_kernel(state, x[i], states[i])" in main_of(module)
    assert "[i] =" not in main_of(module)
    assert costs_of(module.load, [X, START]).launches == 7


def test_rows_are_written_backwards_too():
    def function(x, start):
        def step(state, row):
            new = jnp.tanh(state + row)
            return new, new * row

        return lax.scan(step, start, x, reverse=True)[1]

    module = emitted(function, X, START)
    agrees(module, function, [X, START])
    assert costs_of(module.load, [X, START]).launches <= 7


@pytest.mark.parametrize("of_last", [lambda last: last, lambda last: last.reshape(5, 1), lambda last: last[1:]])
def test_a_state_that_is_returned_is_no_view_of_what_is_stacked(of_last):
    def function(x, start):
        last, rows = states(x, start)
        return of_last(last), rows

    module = emitted(function, X, START)
    agrees(module, function, [X, START])
    with twin():
        last, rows = module.load().main(*to_device([X, START]))
    assert not np.shares_memory(last.on_host, rows.on_host)


def test_rows_at_computed_places_are_stored_by_themselves():
    def function(x, at):
        def step(i, rows):
            return rows.at[at[i]].set(jnp.tanh(x[i]) + 1)

        return lax.fori_loop(0, 7, step, jnp.zeros((7, 5), jnp.float32))

    at = np.array([3, 1, 1, 0, 6, 5, 3], np.int32)
    module = emitted(function, X, at)
    agrees(module, function, [X, at])


def test_several_results_of_a_kernel_go_to_several_rows():
    def function(x, start):
        def step(state, row):
            new = jnp.tanh(state + row)
            return new, (new * new, jnp.exp(new), state)

        return lax.scan(step, start, x)[1]

    module = emitted(function, X, START)
    agrees(module, function, [X, START])


def gates(x, hidden, b):
    """A step of a gated unit."""
    parts = x @ W + hidden @ U + b
    update, reset, new = jnp.split(parts, 3, -1)
    return jax.nn.sigmoid(update) * jnp.tanh(new) + reset


def test_parts_are_computed_where_they_are_read():
    arguments = [numbers(4, 5), numbers(4, 3), B]
    module = emitted(gates, *arguments)
    agrees(module, gates, arguments)
    assert costs_of(module.load, arguments).launches == 3  # two products, and all the rest


@pytest.mark.parametrize(
    ("function", "launches"),
    [
        (lambda x, y: jnp.tanh((x + y)[:, :3]) * (x + y)[:, 2:5], 2),  # they share a column
        (lambda x, y: (x * y)[:, :3] @ (x * y)[:, 3:6].T, 2),  # matrices of a product: one kernel for all
        (lambda x, y: ((x + y)[:, :4], jnp.exp((x + y)[:, 4:])), 2),  # one is a result
        (lambda x, y: jnp.exp((x * y[:, :1] + y[0])[:, :4]) - (x * y[:, :1] + y[0])[:, 4:], 1),
        (lambda x, y: (jnp.exp(x + y)[::2, :] * 2).sum() + jnp.exp(x + y)[1::2, :].sum(), 2),
    ],
)
def test_parts_that_are_not(function, launches):
    arguments = [numbers(8, 8), numbers(8, 8)]
    module = emitted(function, *arguments)
    agrees(module, function, arguments)
    assert costs_of(module.load, arguments).launches == launches


def heat(u):
    """Steps of the heat equation; the borders stay."""

    def step(_, u):
        inner = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        return u.at[1:-1, 1:-1].set(inner)

    return lax.fori_loop(0, 4, step, u)


def advection(u):
    """Steps along one axis, with a border that changes."""

    def step(i, u):
        u = u.at[1:].add(-0.5 * (u[1:] - u[:-1]))
        return u.at[0].set(i * 0.25)

    return lax.fori_loop(0, 4, step, u)


@pytest.mark.parametrize(("function", "shape", "launches"), [(heat, (9, 12), 4), (advection, (9, 5), 8)])
def test_a_step_of_a_stencil_is_a_kernel(function, shape, launches):
    u = numbers(*shape)
    module = emitted(function, u)
    agrees(module, function, [u])
    assert ".copy()" not in module.source
    assert costs_of(module.load, [u]).launches == launches


@pytest.mark.parametrize(
    ("function", "is_whole"),
    [
        (lambda x, y: x.at[:, 1:7].set(jnp.exp(y[:, :6]) * 2), True),
        (lambda x, y: x.at[2:].set(jnp.exp(y[2:]) + x[:-2]), True),
        (lambda x, y: x.at[:, 1:4].set(jnp.exp(y[:, :3]) * 2), False),  # most stays
        (lambda x, y: x.at[:, 1:7].set((y @ y)[:, :6]), False),  # nothing that a kernel computes
        (lambda x, y: (lambda new: x.at[2:].set(new).sum(0) + new[0])(jnp.exp(y[2:]) * 2), False),  # read by others
        (lambda x, y: x.at[2:, 0].set(jnp.exp(y[2:, 1]) * 2), False),
    ],
)
def test_updates_of_most_of_an_array(function, is_whole):
    arguments = [numbers(8, 8), numbers(8, 8)]
    module = emitted(function, *arguments)
    agrees(module, function, arguments)
    assert ("] = " not in main_of(module)) == is_whole


NUMBERS_OF_COUNTERS = {
    "compared": (lambda i, s: jnp.where(i.astype(jnp.float32) > s, s, s * 2), np.float32(2)),
    "shifted": (lambda i, s: lax.shift_right_logical(i.astype(jnp.uint32) + 0, s), np.uint32(1)),
    "added": (lambda i, s: s.at[0].set(s[0] + jnp.floor(i.astype(jnp.float32))), np.ones(5, np.float32)),
}


@pytest.mark.parametrize("name", NUMBERS_OF_COUNTERS)
@pytest.mark.parametrize("style", ["readable", "fast"])
def test_numbers_of_counters_meet_arrays_and_kernels(name, style):
    """NumPy compares a number on the left itself; a kernel takes no int, and no number says how often it runs."""
    step, start = NUMBERS_OF_COUNTERS[name]
    as_jax(lambda start: lax.fori_loop(0, 4, step, start), start, style=style)
