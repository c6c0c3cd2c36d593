"""Functions that XLA spells out: recognised in every form that JAX gives them, and nothing that is nearly one."""

import numpy as np
import pytest

from xla2py.tests.passes.raising import ROUNDED, assert_agrees, called, cases, hlo, lacks, main, no_prelude, optimised
from xla2py.tests.recording.lazy_jax import jax
from xla2py.transpile.array.live import live_nodes
from xla2py.transpile.equivalence.verdicts.comparison import Budget
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.passes.activation_functions.idioms import _FOLDER, FEWEST_NUMBERS, library
from xla2py.transpile.passes.to_array import ModuleLowering, Options

special = pytest.importorskip("jax.scipy.special")
EDGES = [0.0, -0.0, 0.5, -0.5, 0.99999994, 1.0, -1.0, 1.5, -1.5, 2.0, 9.2, 9.5, -9.5, 1e30, np.inf, -np.inf, np.nan]
X = np.concatenate([np.float32(EDGES), np.linspace(-10, 10, 101, dtype=np.float32)])

test_functions_of_jax = pytest.mark.texts_of("0.10")(
    cases("idioms", X, claims=[lacks("where")], budget=Budget(relative=1e-05, absolute=1e-30), forms=(hlo, optimised))(
        (jax.lax.erfc, "return erfc(x)"),
        (lambda x: jax.lax.erfc(abs(x)), "return erfc(np.abs(x))"),
        (jax.lax.erf_inv, "return erf_inv(x)"),
        (special.ndtr, "return normal_cdf(x)"),
        (jax.grad(lambda x: special.ndtr(x).sum()), "0.5641896"),
    )
)


@pytest.mark.parametrize("form", [hlo, optimised])
def test_functions_of_float64(form):
    x = np.concatenate([X.astype(np.float64), np.linspace(-28, 28, 57), 1 - 10.0 ** -np.arange(1, 17)])
    with jax.enable_x64(True):
        texts = {name: form(lambda x, name=name: getattr(jax.lax, name)(x), x) for name in ("erfc", "erf_inv")}
        of_magnitude = form(lambda x: jax.lax.erfc(abs(x)), x)
    for name, text in texts.items():
        assert main(text) == f"return {name}_float64(x)"
        assert_agrees(text, x, without="idioms", budget=Budget(relative=1e-13, absolute=1e-300))
    assert main(of_magnitude) == "return erfc_float64(np.abs(x))"
    assert_agrees(of_magnitude, x, without="idioms", budget=Budget(relative=1e-13, absolute=1e-300))


@pytest.mark.texts_of("0.10")
@pytest.mark.parametrize("form", [hlo, optimised])
def test_the_normal_distribution_of_float64(form):
    x = np.concatenate([X.astype(np.float64), np.linspace(-36, 9, 91)])
    with jax.enable_x64(True):
        of, slope = form(special.ndtr, x), form(jax.grad(lambda x: special.ndtr(x).sum()), x)
    assert main(of) == "return normal_cdf_float64(x)"
    assert "where" not in main(slope)
    for text in (of, slope):
        assert_agrees(text, x, without="idioms", budget=Budget(relative=1e-12, absolute=1e-300))


def test_a_target_without_the_prelude_gets_the_long_form():
    text = hlo(jax.lax.erfc, X)
    assert "erfc" in called(text) and "erfc" not in called(text, no_prelude)


@pytest.mark.parametrize("path", sorted(_FOLDER.glob("*.hlo")), ids=lambda path: path.stem)
def test_every_pattern_has_the_numbers_that_it_is_looked_for_by(path):
    function = ModuleLowering(parse_module(path.read_text("utf-8")), Options()).lower().entry
    assert len(live_nodes(function).of(("literal",))) >= FEWEST_NUMBERS


@pytest.mark.parametrize("idiom", [pytest.param(idiom, id=str(idiom.root)) for idiom in library()])
def test_every_pattern_matches_itself(idiom):
    assert idiom.match(idiom.root) is idiom.argument


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("constant(-88.7228394)", "constant(-88)"),
        ("constant(0.0232682)", "constant(0.0232683)"),
        ("direction=LT", "direction=LE"),
        ("log-plus-one", "log"),
    ],
)
def test_a_number_or_a_comparison_changed_is_no_idiom(old, new):
    changed = 0
    for function in (jax.lax.erfc, jax.lax.erf_inv):
        text = hlo(function, X)
        if old in text:
            changed += 1
            text = text.replace(old, new)
            assert "np.where" in main(text)
            assert_agrees(text, X, without="idioms", budget=ROUNDED)
    assert changed


def test_two_arguments_are_no_idiom():
    text = hlo(lambda x, y: jax.lax.select(abs(x) < 1, jax.lax.erfc(x), jax.lax.erfc(y)), X, X[::-1])
    assert main(text).count("erfc(") == 2
    assert_agrees(text, X, X[::-1], without="idioms", budget=Budget(relative=1e-5, absolute=1e-30))
