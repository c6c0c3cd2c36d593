"""The longest sum of a program, one case an operation that adds up."""

from pathlib import Path

import pytest

from xla2py.transpile.equivalence.verdicts.comparison import Budget
from xla2py.transpile.equivalence.verdicts.tolerances import (
    EXACT,
    FEWEST_TERMS,
    ULPS,
    budget_for,
    budgets_for,
    longest_sum,
)
from xla2py.transpile.hlo.parser import parse_module

HELPERS = """larger { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }"""


@pytest.mark.parametrize(
    ("entry", "terms"),
    [
        ("x = f32[9] parameter(0)  ROOT r = f32[9] add(x, x)", 1),
        (
            """x = f32[5,6,7] parameter(0)  z = f32[] constant(0)
            ROOT r = f32[6] reduce(x, z), dimensions={0,2}, to_apply=add""",
            35,
        ),
        (
            """x = f32[5,6,7] parameter(0)  z = f32[] constant(0)
            ROOT r = f32[6] reduce(x, z), dimensions={0,2}, to_apply=larger""",
            1,
        ),
        (
            """x = f32[0,6] parameter(0)  z = f32[] constant(0)
            ROOT r = f32[6] reduce(x, z), dimensions={0}, to_apply=add""",
            1,
        ),
        (
            """x = f32[3,8,5] parameter(0)  y = f32[3,5,8,2] parameter(1)
            ROOT r = f32[3,2] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0},
              lhs_contracting_dims={1,2}, rhs_contracting_dims={2,1}""",
            40,
        ),
        (
            """x = f32[2,9,9,4] parameter(0)  k = f32[3,2,4,6] parameter(1)
            ROOT r = f32[2,7,8,6] convolution(x, k), window={size=3x2}, dim_labels=b01f_01io->b01f""",
            24,
        ),
        (
            """x = f32[9,9] parameter(0)  z = f32[] constant(0)
            ROOT r = f32[7,8] reduce-window(x, z), window={size=3x2}, to_apply=add""",
            6,
        ),
        ("x = c64[4,8] parameter(0)  ROOT r = c64[4,8] fft(x), fft_type=FFT, fft_length={4,8}", 32),
        ("x = f32[2,5,5] parameter(0)  ROOT r = f32[2,5,5] cholesky(x)", 5),
        (
            """x = f32[3,4,5] parameter(0)  s = f32[4] parameter(1)
            ROOT r = (f32[3,4,5], f32[4], f32[4]) batch-norm-training(x, s, s), epsilon=0.1, feature_index=1""",
            15,
        ),
        (
            """x = f32[9] parameter(0)  i = s32[7,1] parameter(1)  u = f32[7] parameter(2)
            ROOT r = f32[9] scatter(x, i, u), inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
              index_vector_dim=1, to_apply=add""",
            7,
        ),
    ],
)
def test_longest_sum_of_an_operation(entry, terms):
    assert longest_sum(parse_module(f"HloModule m\n{HELPERS}\nENTRY e {{ {entry} }}").instructions()) == terms


@pytest.mark.parametrize(("example", "terms"), [("conjugate_gradient", 48), ("black_scholes", FEWEST_TERMS)])
def test_budget_of_an_example(example, terms):
    path = Path(__file__).parents[2] / "examples" / "hlo" / f"{example}.before.hlo"
    assert budget_for(parse_module(path.read_text())).terms == terms


def budgets(entry):
    return budgets_for(parse_module(f"HloModule m\n{HELPERS}\nENTRY e {{ x = f32[9] parameter(0)  {entry} }}"))


@pytest.mark.parametrize(
    "entry",
    [
        "ROOT r = f32[9] reverse(x), dimensions={0}",
        "ROOT r = f32[9] add(x, x)",
        "y = f32[9] negate(x)  ROOT r = f32[9] divide(y, x)",
        "z = f32[] constant(0)  ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=larger",
        "i = s32[9] convert(x)  j = s32[9] multiply(i, i)  ROOT r = s32[9] add(i, j)",
    ],
)
def test_what_must_be_equal_to_the_last_bit(entry):
    assert budgets(entry) == [EXACT]


@pytest.mark.parametrize(
    "entry",
    [
        "y = f32[9] add(x, x)  ROOT r = f32[9] multiply(y, x)",
        "c = f32[] constant(3)  d = f32[9] broadcast(c), dimensions={}  ROOT r = f32[9] divide(x, d)",
        "z = f32[] constant(0)  ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=add",
    ],
)
def test_what_may_be_rounded_several_times(entry):
    assert budgets(entry) == [Budget(terms=FEWEST_TERMS)]


def test_a_function_has_its_ulps_and_each_array_its_own_budget():
    first, second = budgets("y = f32[9] exponential(x)  z = f32[9] copy(x)  ROOT r = (f32[9], f32[9]) tuple(y, z)")
    assert first.relative == pytest.approx(ULPS["exponential"] * 2**-23)
    assert second == EXACT
