"""Branches that do nothing are not written."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import main
from xla2py.tests.recording.lazy_jax import jax

X = np.float32([1, -2, np.nan])


def loop(choose):
    """Five rounds, in each of which a branch is chosen."""
    return lambda x: jax.lax.fori_loop(0, 5, lambda i, x: choose(i, x), x)


def twice(x):
    return x * 2


def same(x):
    return x


def more(x):
    return x + 1


@pytest.mark.parametrize(
    ("choose", "expected"),
    [
        (lambda i, x: jax.lax.cond(x[0] > 3, twice, same, x), "if x[0] > 3:\n        x = x * 2\nreturn x"),
        (lambda i, x: jax.lax.cond(x[0] > 3, same, twice, x), "if not x[0] > 3:\n        x = x * 2\nreturn x"),
        (lambda i, x: jax.lax.cond(x[2] > 0, same, twice, x), "if not x[2] > 0:\n        x = x * 2\nreturn x"),
        (lambda i, x: jax.lax.cond(x[0] > 3, twice, more, x), "x = x * 2\n    else:\n        x = x + 1\nreturn x"),
        (lambda i, x: jax.lax.switch(i, [same, twice, same], x), " == 1:\n        x = x * 2\nreturn x"),
    ],
)
def test_a_branch_that_does_nothing_is_left_out(choose, expected):
    module = xla2py.from_jax(loop(choose), X)
    assert main(module).endswith(expected)
    np.testing.assert_array_equal(xla2py.emit(module).load().main(X), jax.jit(loop(choose))(X))


def assert_values_of_jit(module, program, x):
    with np.errstate(all="ignore"):
        found = xla2py.emit(module).load().main(x)
    for one, other in zip(found, jax.jit(program)(x), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5)


def rounds(choose):
    """Five rounds of a solver, whose state a branch changes."""

    def program(x):
        return jax.lax.fori_loop(0, 5, lambda i, state: choose(i, *state), (x, x + 1, x * 2))

    return program


def step(i, x, y, z):
    def accept():
        change = jax.numpy.sin(y) * x
        return change, change + z, y

    return jax.lax.cond(x[0] > i, accept, lambda: (x, y, z - x))


def rotation(i, x, y, z):
    def accept():
        new = y * 2 + jax.numpy.exp(z)
        return new, x, new * x

    return jax.lax.cond(x[0] > i, accept, lambda: (z, x, y))


def nested(i, x, y, z):
    def accept():
        new = jax.lax.fori_loop(0, 3, lambda k, new: new * y + z[k], x)
        other = jax.lax.cond(y[1] > 0, lambda: new - x, lambda: jax.numpy.cos(new) * y)
        return new, other, z.at[0].set(x[0])

    return jax.lax.cond(x[0] < i, accept, lambda: (x, y.at[1].add(z[0]), z))


@pytest.mark.parametrize("choose", [step, rotation, nested])
@pytest.mark.parametrize("x", [X, np.float32([3, 0.5, -1])])
def test_a_branch_writes_what_it_gives_under_the_name_of_the_result(choose, x):
    """A branch assigns its results to their final names, and reads old values before it overwrites them."""
    program = rounds(choose)
    generated = xla2py.emit(xla2py.from_jax(program, x))
    given = x.copy()
    with np.errstate(all="ignore"):
        found = generated.load().main(given)
    for one, other in zip(found, jax.jit(program)(x), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5)
    np.testing.assert_array_equal(given, x)


def test_no_copies_of_names_at_the_end_of_branches():
    body = main(xla2py.from_jax(rounds(step), X))
    assert "        change = np.sin(state) * change\n" in body and "change_2" not in body, body


def solver(x):
    """Rounds within rounds, each with a flag, which the outer ones go on with."""

    def inner(state):
        x, _, rounds = state
        return x * 0.5, x.sum() < 1, rounds + 1

    def outer(state):
        x, small, rounds = state
        x, small, _ = jax.lax.while_loop(lambda s: ~s[1] & (s[2] < 9), inner, (x + 1, False, 0))
        return x, small, rounds + 1

    return jax.lax.while_loop(lambda s: ~s[1] & (s[2] < 5), outer, (x, False, 0))


def checked(holds, value, otherwise):
    result = jax.lax.cond(holds, lambda: otherwise, lambda: value)
    return result


def errors(x):
    """Branches that give an array and then a number, as a solver's checks of its results do."""
    values = checked(x[0] > 0, jax.numpy.zeros(3), jax.numpy.full(3, jax.numpy.nan))
    scaled = values * x
    return scaled, scaled + 1, checked(x[1] > 0, 3, 2147483647) + 1


@pytest.mark.parametrize("program", [solver, errors])
def test_types_of_flags_and_of_what_branches_give(program, tmp_path, wrong_types):
    x = np.float32([0.5, 2, -1])
    module = xla2py.from_jax(program, x)
    generated = xla2py.emit(module)
    generated.save(tmp_path / "module.py")
    assert wrong_types(tmp_path, "module.py") == ""
    for one, other in zip(generated.load().main(x), jax.jit(program)(x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def advance(x, y, z):
    change = jax.numpy.sin(y) * x
    return change, change + z, jax.numpy.cos(y)


@pytest.mark.parametrize(
    ("choose", "leaves"),
    [
        (lambda i, *s: jax.lax.cond(s[0][0] > 0.2, advance, lambda *s: s, *s), "if not change[0] > 0.2:"),
        (lambda i, *s: jax.lax.cond(s[0][0] > 0.2, lambda *s: s, advance, *s), "if change[0] > 0.2:"),
        (lambda i, *s: jax.lax.cond(s[0][0] > i, advance, lambda *s: s, *s), ""),  # it may be true later
        (lambda i, *s: jax.lax.cond(s[0][0] > 0.2, advance, lambda x, y, z: (x - 1, y, z), *s), ""),
        (lambda i, x, y, z: jax.lax.cond(x[0] > 0.2, advance, lambda *s: s, x, y, z + 1), ""),
    ],
)
@pytest.mark.parametrize("x", [X, np.float32([3, 0.5, -1]), np.float32([np.nan, 1, 2])])
def test_a_loop_is_left_where_no_further_iteration_changes_anything(choose, leaves, x):
    program = rounds(choose)
    generated = xla2py.from_jax(program, x)
    body = main(generated)
    assert ("break" in body) == bool(leaves)
    assert f"{leaves}\n        break\n" in body or not leaves, body
    assert_values_of_jit(generated, program, x)


def test_a_result_with_the_name_of_a_leaf_is_assigned_where_it_is_computed():
    def play(state, more):
        def move():
            board = jax.numpy.sin(state["board"]) * 2
            return board, board + state["pot"]

        board, pot = jax.lax.cond(more > 0, move, lambda: (state["board"], state["pot"]))
        return board * pot, pot - board

    state = {"board": X, "pot": X * 3}
    source = xla2py.emit(xla2py.from_jax(play, state, np.int32(1))).source
    assert 'board = np.sin(state["board"]) * 2' in source and "board_2" not in source


def play(state, move):
    """An environment's step: each move changes a part of the state, and most leave the rest."""

    def walk(state):
        at, hit = state["at"] + 1, state["hit"]
        hit = jax.lax.cond(at[0] > 2, lambda: hit + at, lambda: hit)
        return {**state, "at": at, "hit": hit}

    moves = [lambda s: {**s, "way": s["way"] - 1}, walk, lambda s: s, lambda s: {**s, "way": s["way"] * 2}, lambda s: s]
    return jax.lax.switch(move, moves, state)


def test_what_most_branches_give_is_assigned_before_them():
    state = {"at": np.float32([2]), "hit": np.float32([1]), "way": np.float32([3])}
    module = xla2py.from_jax(play, state, np.int32(1))
    body = main(module)
    assert body.startswith('at, hit, way = state["at"], state["hit"], state["way"]\nif move <= 0:\n')
    assert "else" not in body and "pass" not in body and body.count("if ") == 4, body
    run = xla2py.emit(module).load().main
    for move in range(5):
        for key, found in run(state, np.int32(move)).items():
            np.testing.assert_array_equal(found, jax.jit(play)(state, np.int32(move))[key])
            assert not np.shares_memory(found, state[key])


def turned(i, x, y, z):
    return jax.lax.switch(i % 4, [lambda: (x, y, z), lambda: (y, x, z), lambda: (x * z, y, z), lambda: (x, y, z)])


@pytest.mark.parametrize("choose", [turned, lambda i, *s: jax.lax.switch(i % 3, [advance, advance, lambda *s: s], *s)])
def test_names_that_branches_read_are_not_assigned_before_them(choose):
    program = rounds(choose)
    module = xla2py.from_jax(program, X)
    assert "pass" not in main(module), main(module)
    assert_values_of_jit(module, program, X)


def test_two_branches_each_assign_their_own_results():
    def program(x, y):
        return jax.lax.cond(x[0] > 0, lambda: (x, y * 2), lambda: (x, y))

    assert "else:" in main(xla2py.from_jax(program, X, X))


def test_results_with_the_same_key_are_named_by_the_key_around():
    def program(x, y):
        walls, doors, n = jax.lax.cond(x[0] > 0, lambda: (x + y, x * y, x.sum()), lambda: (x - y, y - x, y.sum()))
        return {"walls": {"at": walls}, "doors": {"at": doors}, "n": n}

    body = main(xla2py.from_jax(program, X, X))
    assert "    walls_at, doors_at, n = x + y, x * y, x.sum()\n" in body, body


def chosen_pair(x, move):
    """Branches that give an argument, or something else in its place."""
    wave = jax.numpy.sin(x)
    pairs = [lambda: (wave * 2, x), lambda: (x, wave), lambda: (wave - 1, x)]
    first, second = jax.lax.switch(move, pairs)
    return first + second, first.sum()


@pytest.mark.parametrize("move", range(3))
def test_what_compiled_branches_give_is_no_other_array(move):
    given = X.copy()
    generated = xla2py.emit(xla2py.from_jax(chosen_pair, X, np.int32(move)), style="fast")
    found = generated.load().main(given, np.int32(move))
    assert "def compiled_main" in generated.source
    np.testing.assert_array_equal(given, X)
    for one, other in zip(found, jax.jit(chosen_pair)(X, np.int32(move)), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6)
