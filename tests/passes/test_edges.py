"""``--edge-cases library``: the plain calls of the table, equal to XLA where both agree, else told."""

import re

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import ROUNDED, hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.transpile.emission.module.header import edges_of
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child
from xla2py.transpile.equivalence.verdicts.comparison import Budget, Status, compare
from xla2py.transpile.errors import UsageError
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.passes.library_semantics.edges import RULES, table

linalg = pytest.importorskip("jax.scipy.linalg")
lax = jax.lax

rng = np.random.default_rng(11)
X = rng.normal(size=(6, 5)).astype(np.float32)
NUMBERS = np.array([7, -7, 12, -12, 5], np.int32)
DIVISORS = np.array([2, 2, -5, -5, 3], np.int32)
NUMBERS_IN_THE_PLANE = (X[0] + 1j * X[1]).astype(np.complex64)
COUNTS = np.array([7, 9, 12], np.uint32)
ROWS = np.array([0, 5, -1, -6], np.int32)
MATRIX = rng.normal(size=(5, 5)).astype(np.float32) + 4 * np.eye(5, dtype=np.float32)
LOWER = np.tril(MATRIX)
POSITIVE = (MATRIX @ MATRIX.T).astype(np.float32)
TABLE = np.arange(9, dtype=np.float32)
LOOSE = Budget(relative=1e-4, absolute=1e-4)

# The function, its arguments, what stands in main, and the rows of the table that the header names.
CASES = [
    (lambda x: x.astype(jnp.int32), (X * 9,), "return x.astype(np.int32)", "conversions"),
    (lambda x: jax.nn.sigmoid(x) * jax.nn.sigmoid(x + 1), (X,), "1 / (1 + np.exp(-x))", "sigmoids"),
    (lambda x, y: lax.div(x, y), (NUMBERS, DIVISORS), "return (x - np.fmod(x, y)) // y", "division"),
    (lambda x, y: lax.div(x, y), (COUNTS, COUNTS[::-1]), "return x // y", "division"),
    (lambda x, y: lax.rem(x, y), (NUMBERS, DIVISORS), "return np.fmod(x, y)", "division"),
    (lambda x, y: lax.rem(x, y), (COUNTS, COUNTS[::-1]), "return x % y", "division"),
    (lambda x: 0 - x, (X,), "return -x", "zeros"),
    (lambda x: x % 2, (X,), "return np.mod(x, 2)", "zeros"),
    (lambda z: jnp.sqrt(z) * lax.asin(z), (NUMBERS_IN_THE_PLANE,), "return np.sqrt(z) * np.arcsin(z)", "complex"),
    (lambda z: jnp.sin(z) - jnp.cos(z), (NUMBERS_IN_THE_PLANE,), "return np.sin(z) - np.cos(z)", "complex"),
    (lambda z: jnp.square(z), (NUMBERS_IN_THE_PLANE,), "return np.square(z)", "complex"),
    (lambda x, i: x[i], (X, ROWS), "return x[i]", "indices"),
    (lambda x, i: jnp.take(x, i, axis=0), (X, ROWS), "return x[i]", "indices"),
    (lambda x, i: jnp.take_along_axis(x, i[:, None], axis=0), (X, ROWS), "x[", "indices"),
    (lambda x, i: x.at[i].add(1.0), (X, ROWS), "np.add.at(", "indices"),
    (lambda x, i: x[i[1], 3], (X, ROWS), "x[i[1], 3]", "indices"),
    (lambda x, i: lax.dynamic_slice(x, (i, 0), (3, 5)), (X, np.int32(2)), "[i : i + 3]", "indices"),
    (
        lambda x, y, i: lax.dynamic_update_slice(x, y, (i, 0)),
        (X, X[:2] * 0, np.int32(3)),
        "[i : i + 2] = y",
        "indices",
    ),
    (lambda x, y: jnp.searchsorted(x, y), (TABLE, TABLE[::2] + 0.5), "np.searchsorted(x, y)", "searches"),
    (jnp.linalg.solve, (MATRIX, X[:5]), "return np.linalg.solve(a, b)", "equations"),
    (jnp.linalg.solve, (MATRIX, X[0]), "return np.linalg.solve(a, b)", "equations"),
    (
        lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, trans=1),
        (MATRIX, X[:5]),
        "return np.linalg.solve(a.T, b)",
        "equations",
    ),
    (
        lambda a, b: linalg.solve_triangular(a, b, lower=True),
        (MATRIX, X[:5]),
        "return np.linalg.solve(np.tril(a), b)",
        "triangles",
    ),
    (
        lambda a, b: linalg.solve_triangular(a, b, lower=True, trans=1),
        (MATRIX, X[:5]),
        "return np.linalg.solve(np.tril(a).T, b)",
        "triangles",
    ),
    (
        lambda a, b: lax.linalg.triangular_solve(a, b, lower=False, left_side=False),
        (MATRIX, X[:5]),
        "np.linalg.solve(np.triu(a).T, b.T).T",
        "triangles",
    ),
    (jnp.linalg.cholesky, (POSITIVE,), "return np.linalg.cholesky(", "cholesky"),
    (lambda a: jnp.linalg.svd(a, full_matrices=False)[1], (X,), "np.linalg.svd", "decompositions"),
    (lambda a: jnp.linalg.eigvalsh(a), (POSITIVE,), "np.linalg.eigvalsh(", "decompositions"),
]


@pytest.mark.parametrize(("function", "arrays", "expected", "edges"), CASES)
def test_the_plain_call_gives_what_xla_gives_within_its_domain(function, arrays, expected, edges):
    text = hlo(function, *arrays)
    assert expected in re.sub(r"\b(\w+)_[01]\b", r"\1", main(text, edge_cases="library"))
    generated = xla2py.emit(text, edge_cases="library", debug=True)
    assert edges_of(generated.source) == tuple(edges.split(", "))
    assert " --edge-cases library" in generated.source and generated.source.count("\ndef ") == 2  # main, and the check
    actual = generated.load().main(*(array.copy() for array in arrays))
    results = compare(run_hlo_in_child(text, *arrays), actual, LOOSE if "linalg" in expected else ROUNDED)
    assert results and all(result.status.is_good for result in results), "\n".join(map(str, results))


def test_the_default_keeps_every_guard():
    for function, arrays, _, _ in CASES:
        text = hlo(function, *arrays)
        usual = xla2py.emit(text).source
        assert usual == xla2py.emit(text, edge_cases="xla").source
        assert not edges_of(usual)


def test_an_index_that_leaves_its_array_by_itself_keeps_its_guard():
    def function(x):
        return lax.fori_loop(0, 6, lambda i, total: total + lax.dynamic_slice(x, (i - 2, 0), (1, 5)), x[:1])

    text = hlo(function, X)
    actual = xla2py.emit(text, edge_cases="library").load().main(X)
    assert all(result.status.is_good for result in compare(run_hlo_in_child(text, X), actual, ROUNDED))


def test_a_constant_index_that_is_left_out_stays_so():
    text = hlo(lambda x: x.at[jnp.array([-9])].set(0.0, mode="drop"), X)
    for edges in ("xla", "library"):
        np.testing.assert_array_equal(xla2py.emit(text, edge_cases=edges).load().main(X), X)


def test_rows_of_the_table_that_are_raised_have_rules():
    assert set(RULES) < {edge.name for edge in table()}


@pytest.mark.parametrize("target", ["cupy", "dask"])
def test_every_target_emits_them(target):
    for function, arrays, _, _ in CASES:
        text = hlo(function, *arrays)
        usual, plain = (xla2py.emit(text, target, edge_cases=edges).source for edges in ("xla", "library"))
        assert len(plain.splitlines()) <= len(usual.splitlines()) + 2, text


def test_a_check_tells_differences_on_edges_as_such():
    text = hlo(lambda x: (x.astype(jnp.int32), jnp.linalg.cholesky(x @ x.T + 9 * jnp.eye(5))), X[:5])
    from xla2py.transpile.equivalence.checking import Checker, Plan

    with Checker(Plan(campaigns=("ordinary", "edge"), options={"edge_cases": "library"})) as checker:
        report = checker.examine(parse_module(text))
    ordinary, edge = report.cases
    assert ordinary.status("numpy").is_good and not any(one.known for one in ordinary.comparisons)
    assert edge.status("numpy") in (Status.CLOSE, Status.EDGE) and not report.differs


def test_words_that_are_no_edges_are_refused():
    with pytest.raises(UsageError, match="XP416"):
        xla2py.emit(hlo(lambda x: x + 1, X), edge_cases="numpy")
