"""Errors of elementary functions that a program makes larger are no differences of the module; others are."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jnp
from xla2py.transpile.equivalence.reference.participants import Workers
from xla2py.transpile.equivalence.verdicts.judging import Judge
from xla2py.transpile.equivalence.verdicts.perturbed_functions import with_moved_functions
from xla2py.transpile.equivalence.verdicts.tolerances import budgets_for
from xla2py.transpile.hlo.printer import print_module

pytestmark = [pytest.mark.live_xla, pytest.mark.usefixtures("live_xla")]  # answers of 5 MB
X = np.random.default_rng(0).standard_normal((2048, 64)).astype(np.float32)


def rotated(x):
    """A rotary position embedding."""
    frequencies = 10000.0 ** (-jnp.arange(0, x.shape[1], 2) / x.shape[1])
    angles = jnp.arange(len(x))[:, None] * frequencies
    one, other = x[:, ::2], x[:, 1::2]
    return jnp.concatenate([one * jnp.cos(angles) - other * jnp.sin(angles), one * jnp.sin(angles)], -1)


def wrong_by_a_step(x):
    """The embedding whose positions begin with 1."""
    return rotated(jnp.concatenate([x[:1], x]))[1:]


def leaves(function, emitted):
    module = xla2py.from_jax(function, X)
    generated = xla2py.emit(xla2py.from_jax(emitted, X), nested=False)
    with Workers() as workers:
        judge = Judge(workers, module, print_module(module), {"numpy": generated}, [X], budgets_for(module))
        return judge.compare(judge.run("xla"), judge.run("numpy"))


def test_the_angles_of_late_positions_may_be_wrong_by_what_a_power_is():
    (leaf,) = leaves(rotated, rotated)
    assert leaf.status.is_good and "ill-conditioned" in leaf.note


def test_positions_that_are_wrong_by_one_are_found():
    (leaf,) = leaves(rotated, wrong_by_a_step)
    assert not leaf.status.is_good


def factors(x):
    return jnp.linalg.svd(x[:20, :9], full_matrices=False)


def eigenvectors(x):
    return jnp.linalg.eigh(x[:9, :9] + x[:9, :9].T)


@pytest.mark.parametrize("function", [factors, eigenvectors])
def test_vectors_may_have_either_sign_but_their_values_may_not(function):
    vectors = [0, 2] if function is factors else [1]

    def flipped(x):
        return [-each if k in vectors else each for k, each in enumerate(function(x))]

    assert all(leaf.status.is_good for leaf in leaves(function, flipped))
    other = [leaf.status.is_good for leaf in leaves(function, lambda x: [-each for each in function(x)])]
    assert [k for k, is_good in enumerate(other) if is_good] == vectors


def test_what_hangs_on_no_sign_may_have_no_other():
    def rotation(x):
        left, _, right = factors(x)
        return left @ right

    (leaf,) = leaves(rotation, lambda x: -rotation(x))
    assert not leaf.status.is_good


def test_functions_are_moved_by_units_in_their_last_place():
    module = with_moved_functions(xla2py.from_jax(lambda x: jnp.exp(x) + 1, X), 0)
    found = xla2py.emit(module).load().main(X)
    ratio = (found - np.float32(1)) / np.exp(X)
    eps = np.finfo(np.float32).eps
    assert np.median(abs(ratio - 1)) > 0 and (abs(found - np.exp(X) - 1) <= 4 * eps * (np.exp(X) + 1)).all()
    assert with_moved_functions(xla2py.from_jax(lambda x: x * 2 + jnp.arange(64).astype(int), X), 0) is None
