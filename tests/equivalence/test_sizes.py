"""Modules for any size beside XLA at sizes that they were not made of."""

from pathlib import Path

import pytest

import xla2py as package
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.transpile.emission import emit
from xla2py.transpile.equivalence import checking
from xla2py.transpile.equivalence.inputs.sizes import sizes_to_check

KERNELS = '''"""Functions of arrays of any size."""


def steps(x, y):
    return (x[1:] - x[:-1]) / len(x), x @ y


def text(x):
    return x * (2 if len(x) % 2 else 3)
'''


@pytest.fixture
def kernels(folder):
    pytest.importorskip("jax", reason="the command traces functions")
    Path("kernels_at_sizes.py").write_text(KERNELS)


def test_a_module_for_any_size_is_compared_at_others(kernels, xla2py):
    code, out, err = xla2py("check", "kernels_at_sizes:steps(f32[N,K], f32[K,3])")
    assert (code, err) == (0, "")
    compared = [line for line in out.splitlines() if "at N = " in line]
    assert len(compared) == 10 and "at N = 7, K = 11 " in out and "at N = 7, K = 521 " in out
    assert not any("N = 13, K = 14" in line for line in compared)


def test_what_is_right_at_the_sizes_that_it_was_made_of_alone_is_found(monkeypatch):
    def fixed(*arguments, **options):
        generated = emit(*arguments, **options)
        return generated.__class__(
            generated.source.replace("* n", "* min(n, 200)"), generated.name, generated.target, sizes=generated.sizes
        )

    monkeypatch.setattr(checking, "emit", fixed)
    program = package.from_jax(lambda x: jnp.sin(x) * len(x), package.array("N"))
    report = package.check(program, limits=checking.Limits(seconds=60))
    wrong = [one.path for one in report.programs if one.differs]
    assert [path.rpartition(" at ")[2] for path in wrong] == ["N = 521"]


def test_dumps_are_compared_at_their_own_sizes(folder, xla2py):
    for number in (13, 18, 23):
        text = jax.jit(lambda x: x * len(x)).lower(jax.ShapeDtypeStruct((number,), jnp.float32)).as_text("hlo")
        Path(f"at{number}.hlo").write_text(text)
    code, out, err = xla2py("check", "at13.hlo", "at18.hlo", "at23.hlo", "--sizes", "N=13,18,23")
    assert code == 0 and "dumps are checked at their own sizes" in err
    assert [f"at13.hlo at N = {number}" in out for number in (13, 18, 23)] == [True] * 3


@pytest.mark.parametrize("option", [("--lockstep",), ("--reduce", "found")])
def test_what_needs_one_program_is_refused(option, kernels, xla2py):
    code, _, err = xla2py("check", "kernels_at_sizes:steps(f32[N,K], f32[K,3])", *option)
    assert code == 2 and "XP426" in err and option[0] in err


def test_a_program_that_has_no_module_for_any_size_is_not_compared(kernels, xla2py):
    code, out, _ = xla2py("check", "kernels_at_sizes:text(f32[N])")
    assert code == 3 and "XP424" not in out.splitlines()[1] and "numpy is unsupported" in out


def test_sizes_are_possible_and_new():
    possible, tried = {"N": range(4, 2**63, 4), "M": range(2, 2**63)}, {"N": (28, 8), "M": (11, 5)}
    found = sizes_to_check(possible, tried)
    assert found[0] == {"N": 4, "M": 2} and {"N": 28, "M": 11} not in found and {"N": 48, "M": 12} in found
    assert all(number in possible[name] for sizes in found for name, number in sizes.items())
    assert {"N": 524, "M": 11} in found and {"N": 28, "M": 521} in found
