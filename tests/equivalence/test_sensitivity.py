"""What rounding explains is no difference; what it does not explain is one."""

import ml_dtypes
import numpy as np
import pytest

from xla2py.transpile.equivalence.verdicts.comparison import Budget, Status, compare
from xla2py.transpile.equivalence.verdicts.sensitivity import excused, moved

X = np.float32([1, 2.5, -3, 0, np.inf, np.nan])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16, np.complex64])
def test_inputs_are_moved_by_their_last_digits(dtype):
    given = np.array([1, 2.5, -3, 0, np.inf], dtype)
    (result,) = moved([given], 0)
    eps = float(ml_dtypes.finfo(given.real.dtype).eps)
    assert result.dtype == given.dtype
    difference = abs(result[:4].astype(np.complex128) - given[:4].astype(np.complex128))
    assert (difference <= 4 * eps * abs(given[:4].astype(np.complex128))).all() and difference[:3].any()
    assert result[4] == given[4]
    (number,) = moved([np.int32([1, 2])], 0)
    assert number.tolist() == [1, 2]


def failed(seed):
    """A side that does not run again."""


def verdict(function, wrong):
    """What is said of ``wrong`` beside ``function`` of a moved X."""
    inputs = [np.linspace(1, 2, 50, dtype=np.float32)]
    expected, actual = [function(inputs[0])], [wrong(inputs[0])]
    leaves = compare(expected, actual, Budget())
    assert not leaves[0].status.is_good
    sides = [lambda seed, side=side: [side(moved(inputs, seed)[0])] for side in (function, wrong)]
    (leaf,) = excused(leaves, expected, actual, *sides)
    return leaf.status


def test_an_ill_conditioned_function_excuses_a_difference_of_its_size():
    def folded(x):
        return np.sin(x.astype(np.float64) * 1e6).astype(np.float32)

    assert verdict(lambda x: np.sin(x * np.float32(1e6)), folded) is Status.CLOSE


def test_a_well_conditioned_result_excuses_nothing():
    assert verdict(lambda x: x * 2, lambda x: x * np.float32(2.01)) is Status.DIFFERS


def test_decisions_at_a_tie_are_excused_but_only_there():
    ones = np.float32([1, 1, 3])
    expected, actual = [(ones > 1).astype(np.int32)], [np.int32([1, 0, 1])]
    leaves = compare(expected, actual)

    def trial(seed):
        return [(moved([ones], seed)[0] > 1).astype(np.int32)]

    assert excused(leaves, expected, actual, trial, failed)[0].status is Status.CLOSE
    assert excused(leaves, actual, expected, failed, trial)[0].status is Status.CLOSE
    assert excused(leaves, expected, actual, failed, failed)[0].status is Status.DIFFERS
    worse = [np.int32([1, 0, 0])]
    assert excused(compare(expected, worse), expected, worse, trial, failed)[0].status is Status.DIFFERS


def test_structure_is_never_excused():
    leaves = compare([X], [X.astype(np.float64)])
    assert excused(leaves, [X], [X], failed, lambda seed: [X])[0].status is Status.DTYPE
