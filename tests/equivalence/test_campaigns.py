"""Campaigns change what no operation restricts, and nothing else."""

import numpy as np
import pytest

from xla2py.transpile.equivalence.inputs.kinds import CAMPAIGNS, campaign_inputs
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES
from xla2py.transpile.hlo.parser import parse_module


def inputs_of(entry, campaign, helpers="", seed=0):
    return campaign_inputs(parse_module(f"HloModule m\n{helpers}\nENTRY e {{ {entry} }}"), campaign, seed)


@pytest.mark.parametrize("campaign", CAMPAIGNS)
@pytest.mark.parametrize("name", sorted(ELEMENT_TYPES))
def test_every_element_type_has_inputs_and_the_same_for_the_same_seed(name, campaign):
    entry = f"ROOT p = {name}[50] parameter(0)"
    (array,), (again,), (other,) = (inputs_of(entry, campaign, seed=seed) for seed in (0, 0, 1))
    assert (array.dtype, array.shape) == (ELEMENT_TYPES[name].dtype, (50,))
    assert array.tobytes() == again.tobytes() != other.tobytes()


SLICE = """x = f32[500] parameter(0)  i = s32[] parameter(1)
ROOT d = f32[4] dynamic-slice(x, i), dynamic_slice_sizes={4}"""


@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_indices_stay_in_range(campaign):
    for seed in range(20):
        assert 0 <= inputs_of(SLICE, campaign, seed=seed)[1] <= 496


def test_edge_values_are_all_among_the_elements():
    x, _ = inputs_of(SLICE, "edge")
    info = np.finfo(np.float32)
    assert np.isnan(x).any() and (x == np.inf).any() and (x == -np.inf).any()
    assert (x == info.max).any() and (x == info.min).any() and (abs(x) == info.smallest_subnormal).any()
    assert np.signbit(x[x == 0]).any() and not np.signbit(x[x == 0]).all()
    (numbers,) = inputs_of("ROOT p = s8[200] parameter(0)", "edge")
    assert {-128, 127, 0} <= set(numbers.tolist())


def test_sums_meet_no_values_whose_order_matters():
    add = "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }"
    entry = """x = f32[500] parameter(0)  zero = f32[] constant(0)
    ROOT s = f32[] reduce(x, zero), dimensions={0}, to_apply=sum"""
    (x,) = inputs_of(entry, "edge", add)
    assert np.isnan(x).any() and (x == np.inf).any() and not (x == -np.inf).any()
    assert abs(x[np.isfinite(x)]).max() < 10


def test_ties_are_few_values():
    x, _ = inputs_of(SLICE, "ties")
    assert len(np.unique(x)) <= 3


def test_large_floats_have_finite_squares_of_every_magnitude():
    x, _ = inputs_of(SLICE, "large")
    with np.errstate(over="raise"):
        assert (x * x).max() > 1e20
    assert abs(x[x != 0]).min() < 1e-10
    (bits,) = inputs_of("ROOT p = u8[2000] parameter(0)", "large")
    assert len(np.unique(bits)) == 256
