"""Which differences count: one test a status, and the rules for zeros, subnormals, infinities and NaN."""

import ml_dtypes
import numpy as np
import pytest

from xla2py.transpile.equivalence.verdicts.comparison import (
    TOLERANCES,
    ULP_EDGES,
    Budget,
    Status,
    compare,
    compare_leaf,
)
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES

F = np.float32


def verdict(expected, actual, budget=None):
    (result,) = compare(expected, actual, budget)
    return result


def test_same_arrays_are_equal():
    x = np.array([1, np.nan, -np.inf, 0], F)
    assert verdict(x, x.copy()).status is Status.EQUAL


def test_small_difference_is_close_and_measured():
    result = verdict(F([1, 2]), F([1, 2]) * F(1 + 2**-22))
    assert result.status is Status.CLOSE
    assert result.ulps == 2
    assert result.relative == pytest.approx(2**-22)


def test_a_verdict_says_what_it_rests_on():
    """A tiny number may be far from another in ulps, and far below what rounding makes of the numbers beside it."""
    result = verdict(F([1e-12, 1]), F([3e-12, 1]), Budget(absolute=1e-8))
    assert result.status is Status.CLOSE and result.ulps > 1e6
    assert f"; decided by {result.error:.3g} of {result.allowed:.3g} allowed" in str(result)
    assert "decided" not in str(verdict(F([1]), F([1])))


def test_large_difference_names_the_worst_elements_first():
    expected = np.arange(1, 11, dtype=F).reshape(2, 5)
    actual = expected.copy()
    actual[0, 3] += 1
    actual[1, 0] += 3
    result = verdict(expected, actual)
    assert result.status is Status.DIFFERS
    assert result.mismatches == 2
    assert [worst.index for worst in result.worst] == [(1, 0), (0, 3)]
    assert result.worst[0].absolute == 3
    assert "[1, 0]: expected 6.0, got 9.0" in str(result)


def test_nan_on_one_side():
    assert verdict(F([1, 2]), F([1, np.nan])).status is Status.NAN
    assert verdict(F([np.nan, 2]), F([1, 2])).status is Status.NAN


def test_infinities_must_match_unless_fewer_are_allowed():
    expected, actual = F([np.inf, 1]), F([3e38, 1])
    assert verdict(expected, actual).status is Status.INF
    assert verdict(F([np.inf]), F([-np.inf])).status is Status.INF
    assert verdict(expected, actual, Budget(fewer_infs_ok=True)).status is Status.CLOSE
    assert verdict(actual, expected, Budget(fewer_infs_ok=True)).status is Status.INF


def test_shape_and_dtype():
    assert verdict(np.zeros((2, 3), F), np.zeros((3, 2), F)).status is Status.SHAPE
    assert verdict(np.zeros(2, F), np.zeros(2)).status is Status.DTYPE
    assert verdict((np.zeros(2), np.zeros(2)), np.zeros(2)).status is Status.SHAPE


def test_integers_and_predicates_are_exact():
    assert verdict(np.int8([1, -128]), np.int8([1, -128])).status is Status.EQUAL
    result = verdict(np.int8([-128]), np.int8([127]))
    assert (result.status, result.absolute) == (Status.DIFFERS, 255)
    big = np.array([2**63], np.uint64)
    assert verdict(big, big + np.uint64(1)).status is Status.DIFFERS
    assert verdict(np.array([True]), np.array([False])).status is Status.DIFFERS
    assert verdict(np.array([3], ml_dtypes.int4), np.array([-3], ml_dtypes.int4)).absolute == 6


def test_subnormals_equal_zero_where_the_cpu_flushes_them():
    assert verdict(F([0]), F([1e-40])).status is Status.EQUAL
    assert verdict(np.array([0], ml_dtypes.bfloat16), np.array([1e-40], ml_dtypes.bfloat16)).status is Status.EQUAL
    half = np.array([2**-20], np.float16)
    assert verdict(np.zeros_like(half), half, Budget(absolute=0)).status is Status.DIFFERS


def test_zeros_of_the_other_sign_are_a_note():
    result = verdict(F([0, 0, 1]), F([-0.0, 0, 1]))
    assert (result.status, result.note) == (Status.EQUAL, "1 zeros of the other sign")


def test_budget_replaces_the_tolerance_of_the_dtype():
    expected, actual = F([100]), F([101])
    assert verdict(expected, actual).status is Status.DIFFERS
    assert verdict(expected, actual, Budget(relative=0.02)).status is Status.CLOSE
    assert verdict(expected, actual, Budget(absolute=2)).status is Status.CLOSE
    assert verdict(F([1]), np.nextafter(F([1]), F(2)), Budget(relative=0, absolute=0)).status is Status.DIFFERS


def test_long_sums_may_differ_in_proportion_to_the_largest_value():
    expected, actual = F([1000, 0.01]), F([1000, 0.02])
    assert verdict(expected, actual).status is Status.DIFFERS
    assert verdict(expected, actual, Budget(terms=100)).status is Status.CLOSE


def test_complex_parts_have_the_allowance_of_the_modulus():
    expected = np.array([1000 + 0j], np.complex64)
    assert verdict(expected, expected + np.complex64(1e-3j)).status is Status.CLOSE
    result = verdict(expected, expected + np.complex64(1j))
    assert (result.status, result.worst[0].index) == (Status.DIFFERS, (0,))
    assert verdict(np.array([complex(np.nan, 1)]), np.array([complex(1, 1)])).status is Status.NAN


@pytest.mark.parametrize("name", sorted(TOLERANCES))
def test_every_float_type_has_a_verdict_on_its_neighbour(name):
    dtype = ELEMENT_TYPES[name].dtype
    one, two = np.array([1], dtype), np.array([2], dtype)
    assert verdict(one, one).status is Status.EQUAL
    assert verdict(one, two, Budget(relative=0.1, absolute=0)).status is Status.DIFFERS
    step = float(ml_dtypes.finfo(dtype).eps)
    assert verdict(one, np.array([1 + step], dtype), Budget(relative=step)).ulps == pytest.approx(1, rel=0.01)


def test_nested_tuples_keep_their_paths_and_tokens_are_no_leaves():
    x, y, z = F([1]), np.int32(2), np.array([True])
    results = compare([x, y, z], (x, (y, None, (z,))))
    assert [result.path for result in results] == [(0,), (1, 0), (1, 2, 0)]
    assert all(result.status is Status.EQUAL for result in results)


def test_empty_arrays_are_equal():
    assert verdict(np.zeros((0, 3), F), np.zeros((0, 3), F)).status is Status.EQUAL


def test_histograms_count_every_element_once():
    expected = np.float32([1, 1, 1, 1, 1, np.nan])
    actual = np.float32([1, 1 + 2**-23, 1 + 2**-22, 1.5, np.inf, np.nan])
    leaf = compare_leaf(expected, actual, Budget())
    assert leaf.ulp_histogram.edges == ULP_EDGES
    assert leaf.ulp_histogram.counts == (2, 0, 1, 1, 0, 0, 0, 0, 1)
    assert leaf.relative_histogram.counts == (2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 1, 0)
    assert leaf.ulp_histogram.odd == leaf.relative_histogram.odd == 1
