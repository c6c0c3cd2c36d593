"""The costs of modules on a GPU, counted on the twin, beside what a reader of their text counts."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py
from xla2py.targets.cupy.twin.costs import bytes_of, costs_of
from xla2py.tests.ladder.fast_programs import CHAIN, softmax
from xla2py.tests.ladder.running import needs_compiler
from xla2py.transpile.equivalence.verdicts.costs import device_costs
from xla2py.transpile.target import load_target

X = np.ones((4, 6), np.float32)  # 96 bytes


def counted(function, *arguments):
    """The costs of a function of CuPy's arrays."""

    def load():
        import cupy as cp

        return SimpleNamespace(main=lambda *arrays: function(cp, *arrays))

    return costs_of(load, arguments)


@pytest.mark.parametrize(
    ("function", "launches", "moved", "calls", "made"),
    [
        (lambda cp, x: x + x, 1, 3 * 96, 1, 1),
        (lambda cp, x: x.T[1:3], 0, 0, 1, 0),
        (lambda cp, x: x.T.reshape(-1), 1, 2 * 96, 1, 1),
        (lambda cp, x: x[:1] * x, 1, 24 + 2 * 96, 2, 1),
        (lambda cp, x: cp.empty((4, 6)), 0, 0, 1, 1),
        (lambda cp, x: x.sum(axis=0), 1, 96 + 24, 1, 1),
        (lambda cp, x: x.astype(cp.float64), 1, 96 + 192, 1, 1),
        (lambda cp, x: x.astype(cp.float32, copy=False), 0, 0, 1, 0),
        (lambda cp, x: cp.concatenate([x, x]), 2, 4 * 96, 1, 1),
        (lambda cp, x: cp.copyto(cp.empty_like(x), x), 1, 2 * 96, 2, 1),
        (lambda cp, x: x @ x.T, 1, 2 * 96 + 64, 1, 1),
        (lambda cp, x: cp.broadcast_to(x[0], (9, 6)) + 1, 1, 24 + 9 * 24, 3, 1),
    ],
)
def test_work_is_counted_as_a_reader_does(function, launches, moved, calls, made):
    costs = counted(function, X)
    assert (costs.launches, costs.bytes_moved, costs.host_calls, costs.allocations) == (launches, moved, calls, made)


def test_products_are_counted_by_dtype_and_copies_of_batches_with_them():
    x = np.ones((2, 4, 6), np.float32)
    costs = counted(lambda cp, x: (x @ x.mT)[0].astype(cp.float16) @ cp.ones((4, 4), dtype=cp.float16), x)
    assert costs.products == (("float16", 1), ("float32", 1))
    assert costs.launches == 2 + 3  # the product and a copy; the cast, the ones and their product


def test_the_least_is_arguments_and_results():
    assert counted(lambda cp, x: (x + 1, x[0]), X).least_bytes == 96 + 96 + 24


def test_what_is_broadcast_counts_once():
    assert bytes_of(np.broadcast_to(np.float32(1), (1000,))) == 4
    assert bytes_of(np.zeros((0, 3))) == 0


@needs_compiler
def test_styles_of_a_program():
    module = xla2py.load(CHAIN)
    readable, fast = (device_costs(module, load_target("cupy"), style) for style in ("readable", "fast"))
    assert (fast.launches, fast.bytes_moved / fast.least_bytes) == (1, 1.0)
    assert (readable.launches, readable.allocations) == (3, 3)


@needs_compiler
def test_a_softmax_is_a_launch_and_makes_its_results():
    costs = device_costs(xla2py.load(softmax(3, 40)), load_target("cupy"), "fast")
    assert (costs.launches, costs.allocations, costs.bytes_moved) == (1, 2, costs.least_bytes)
