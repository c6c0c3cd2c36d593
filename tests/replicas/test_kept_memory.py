"""Calls that are repeated use the memory of the call before; nobody sees it."""

from __future__ import annotations

import numpy as np
import pytest

import xla2py
from xla2py.tests.replicas.programs import SeveralDevices, entry

LINES = [
    "part = f32[1,8] reduce-scatter(x), dimensions={0}, to_apply=add",
    "all = f32[16,8] all-gather(x), dimensions={0}",
    "turned = f32[4,8] all-to-all(x), dimensions={0}",
    "next = f32[4,8] collective-permute(x), source_target_pairs={{0,1}}",
    "first = f32[4,8] collective-broadcast(x), replica_groups={{0,1,2,3}}",
    "root = f32[4,8] collective-reduce(x), to_apply=add, replica_groups={{0,1,2,3}}, has_dynamic_root=false",
    "sum = f32[4,8] all-reduce(x), to_apply=add",
    "ROOT t = (f32[1,8], f32[16,8], f32[4,8], f32[4,8], f32[4,8], f32[4,8], f32[4,8]) "
    "tuple(part, all, turned, next, first, root, sum)",
]
PAIRS = [(0, 2), (2, 2), (1, 3)]
GROUPS = [[[0, 1], [2, 3]], [[3, 0, 2, 1]], [[0], [1], [2], [3]]]


def take_first(a, b):
    return a


def take_last(a, b):
    return b


def everything(g, x, groups):
    """One call of each collective at one line each."""
    return [
        g.all_reduce(x, np.add, groups),
        g.all_reduce(x, take_first, groups),
        g.all_reduce(x, take_last, groups),
        g.reduce_scatter(x, take_last, x.ndim - 1, groups),
        g.all_gather(x, 0, groups),
        g.all_gather(x, x.ndim - 1, groups),
        g.all_to_all(x, x.ndim - 1, groups),
        g.collective_permute(x, PAIRS),
        g.collective_broadcast(x, groups),
        g.collective_reduce(x, take_first, groups),
    ]


def expected(device, xs, groups):
    """What these calls give, by definition."""
    members = next(group for group in groups if device in group)
    each, place, axis = [xs[m] for m in members], members.index(device), xs[0].ndim - 1
    shards = [np.split(x, len(members), axis)[place] for x in each]
    source = next((s for s, t in PAIRS if t == device), None)
    zeros = np.zeros_like(xs[0])
    return [
        sum(each[1:], each[0]),
        each[0],
        each[-1],
        shards[-1],
        np.concatenate(each),
        np.concatenate(each, axis),
        np.concatenate(shards, axis),
        zeros if source is None else xs[source],
        each[0],
        each[0] if place == 0 else zeros,
    ]


def array(generator, shape, dtype):
    """An array whose rows lie apart in memory."""
    whole = generator.integers(-50, 50, (*shape[:-1], 2 * shape[-1])).astype(dtype)
    return whole[..., ::2]


@pytest.fixture(scope="module")
def module():
    return xla2py.emit(SeveralDevices("", entry(*LINES)).module()).load()


def rounds(g, seed):
    """Call all collectives again and again on arrays of several sizes and types, write into all results, and return the
    first difference from the definitions.
    """
    generator, kept = np.random.default_rng(seed), []
    for k in range(40):
        shape = [(4, 8), (4, 4), (8, 4), (2, 3, 4), (0, 4), (12,), (64, 400)][generator.integers(7)]
        dtype = ["f4", "i4", "i8"][generator.integers(3)]
        groups = GROUPS[generator.integers(3)]
        xs = [array(generator, shape, dtype) for _ in range(4)]
        found = everything(g, xs[g.device], groups)
        wanted = expected(g.device, xs, groups)
        for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
            if not (one.dtype == other.dtype and np.array_equal(one, other)):
                return f"round {k}, {number}, {shape}, {dtype}, {groups}: {one} is not {other}"
        kept.append((found, [one.copy() for one in found]))
        for before, copies in kept[-4:]:
            if not all(map(np.array_equal, before, copies)):
                return f"round {k} has changed what one before gave"
        before = xs[g.device].copy()
        for number, one in enumerate(found):
            one[...] = number
        if not (all((one == number).all() for number, one in enumerate(found)) and (xs[g.device] == before).all()):
            return f"round {k}: results share memory"
        kept[-1] = found, [one.copy() for one in found]
    return None


@pytest.mark.parametrize("seed", range(3))
def test_results_are_the_callers_own(module, seed):
    program = module.Replicas(rounds, module.Group, 4, 1)
    assert program.run_local([[seed]] * 4) == [None] * 4


def scalars(g, x):
    return [g.all_reduce(x * k, np.maximum, channel="c") for k in range(5)]


def test_numbers_are_numbers_each_time(module):
    results = module.Replicas(scalars, module.Group, 4, 1).run_local([[np.float32(k)] for k in range(4)])
    assert all(type(one) is np.float32 for result in results for one in result)
    assert results == [[3 * k for k in range(5)]] * 4


def test_the_program_of_all_collectives_is_right(module):
    inputs = SeveralDevices("", entry(*LINES)).inputs()
    part, gathered, *_, total = module.run_local(inputs)[1]
    whole = [one[0] for one in inputs]
    np.testing.assert_array_equal(total, whole[0] + whole[1] + whole[2] + whole[3])
    np.testing.assert_array_equal(part, total[1:2])
    np.testing.assert_array_equal(gathered, np.concatenate(whole))
