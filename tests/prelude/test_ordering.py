"""Orders and sorts of the prelude: XLA CPU is the judge."""

import ml_dtypes
import numpy as np
import pytest

from xla2py.templates.prelude.ordering import (
    places_by_steps,
    search_many,
    sort_by_keys,
    sort_key,
    sort_with,
    top_k,
    top_values,
    total_order_key,
)
from xla2py.transpile.equivalence.reference.xla import run_hlo
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES, from_dtype

pytestmark = pytest.mark.filterwarnings("error")

FLOATS = [t for t in ELEMENT_TYPES.values() if t.is_floating]
rng = np.random.default_rng(5)


def samples(element_type):
    """Every value of a narrow type; zeros, infinities, NaNs of both signs, ties and random values of a wide one."""
    dtype = element_type.dtype
    if element_type.bits <= 8:
        x = np.arange(2**element_type.bits).astype(np.uint8).view(dtype)
        nan = np.isnan(x.astype(np.float32))
        return rng.permutation(np.where(nan & (np.cumsum(nan) > 1), x[0], x))  # one NaN: the order of more is XLA's own
    special = np.array([0.0, -0.0, 1, 1, -1, np.inf, -np.inf, np.nan, np.copysign(np.nan, -1)]).astype(dtype)
    return rng.permutation(np.concatenate([np.repeat(special, 3), rng.normal(0, 3, 70).astype(dtype)]))


def same(one, two):
    """Equal bits, and any NaN for a NaN of the same sign."""
    assert (one.dtype, one.shape) == (two.dtype, two.shape)
    np.testing.assert_array_equal(one.astype(np.float64), two.astype(np.float64))
    np.testing.assert_array_equal(np.signbit(one.astype(np.float64)), np.signbit(two.astype(np.float64)))


TOTAL = """less {{
  a = {t}[] parameter(0)  b = {t}[] parameter(1)  c = s32[] parameter(2)  d = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction={direction}, type=TOTALORDER
}}"""


def xla_sort(direction, x):
    """XLA's stable sort of ``x`` together with the positions, along the last axis."""
    name, dims = from_dtype(x.dtype).name, ",".join(map(str, x.shape))
    shapes = f"{name}[{dims}], s32[{dims}]"
    text = f"""HloModule m
    {TOTAL.format(t=name, direction=direction)}
    ENTRY main {{
      x = {name}[{dims}] parameter(0)  i = s32[{dims}] iota(), iota_dimension={x.ndim - 1}
      ROOT r = ({shapes}) sort(x, i), dimensions={{{x.ndim - 1}}}, is_stable=true, to_apply=less
    }}"""
    return run_hlo(text, x)


@pytest.mark.parametrize("direction", ["LT", "GT"])
@pytest.mark.parametrize("element_type", [t for t in FLOATS if t.bits != 4], ids=str)
def test_sort_by_total_order_agrees_with_xla(element_type, direction):
    x = samples(element_type)
    if element_type.name == "f8e5m2fnuz":
        x = x[np.abs(x.astype(np.float32)) > 2.0**-13]  # XLA compares in f16, where smaller ones are subnormal
    key = total_order_key(x) if direction == "LT" else ~total_order_key(x)
    values, order = sort_by_keys([key], [x, np.arange(x.size, dtype=np.int32)], 0)
    expected, expected_order = xla_sort(direction, x)
    np.testing.assert_array_equal(order, expected_order)
    same(values, expected)


def test_sort_by_several_keys_along_any_axis():
    one, two, value = rng.integers(0, 3, (4, 30, 2)), rng.integers(0, 3, (4, 30, 2)), rng.normal(size=(4, 30, 2))
    first, second, moved = sort_by_keys([one, ~two], [one, two, value], 1)
    for row in np.ndindex(4, 2):
        index = (row[0], slice(None), row[1])
        order = sorted(range(30), key=lambda k, at=index: (one[at][k], -two[at][k]))
        np.testing.assert_array_equal(moved[index], value[index][order])
        np.testing.assert_array_equal(first[index] * 3 - second[index], np.sort(one[index] * 3 - two[index]))


@pytest.mark.parametrize("size", [*range(1, 20), 31, 32, 33, 100])
def test_sort_with_of_every_length(size):
    x = rng.integers(0, size, size)
    np.testing.assert_array_equal(sort_with([x], 0, np.less)[0], np.sort(x))


@pytest.mark.parametrize(
    "less", [lambda a, b: np.True_, lambda a, b: a <= b, lambda a, b: (7919 * a + 104729 * b) % 5 < 2, np.not_equal]
)
def test_sort_with_permutes_even_by_an_inconsistent_comparator(less):
    x = np.broadcast_to(np.arange(37), (5, 37))
    np.testing.assert_array_equal(np.sort(sort_with([x], 1, less)[0], axis=1), x)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize(
    "name", ["f16", "bf16", "f32", "f64", "f8e4m3fn", "f8e8m0fnu", "s8", "u8", "s32", "u32", "s64"]
)
def test_top_k_agrees_with_xla(name, largest, xla):
    element_type = ELEMENT_TYPES[name]
    if element_type.is_floating:
        x = np.stack([samples(element_type)[:60] for _ in range(3)])
    else:
        limits = np.iinfo(element_type.dtype)
        x = rng.choice(np.array([limits.min, limits.max, 0, 1, 2, 3, limits.max - 1], element_type.dtype), (3, 60))
    for k in (1, 7, 60):
        shape = (3, k)
        result = (np.empty(shape, x.dtype), np.empty(shape, np.int32))
        expected, expected_indices = xla("topk", [x], result, k=k, largest=largest)
        values, indices = top_k(x, k, largest)
        assert indices.dtype == np.int32
        np.testing.assert_array_equal(indices, expected_indices)
        same(values, expected)
        if not name.startswith("f8"):
            same(top_values(x, k, largest), expected)


def test_top_k_of_narrow_empty_and_huge_integers():
    values, indices = top_k(np.array([3, -8, 7, 7], ml_dtypes.int4), 2)
    np.testing.assert_array_equal(values.astype(int), [7, 7])
    np.testing.assert_array_equal(indices, [2, 3])
    assert top_k(np.zeros((2, 0), np.float32), 0)[0].shape == (2, 0)
    assert top_k(np.zeros((2, 5), np.float32), 0)[1].shape == (2, 0)
    assert top_k(np.zeros((0, 5), np.float64), 3)[1].shape == (0, 3)
    assert top_values(np.zeros((2, 5), np.float32), 0).shape == (2, 0)
    assert top_values(np.zeros((0, 5), np.float64), 3).shape == (0, 3)
    unsigned = np.array([2**64 - 1, 0, 2**63], np.uint64)
    np.testing.assert_array_equal(top_k(unsigned, 3)[1], [0, 2, 1])
    np.testing.assert_array_equal(top_k(unsigned, 3, largest=False)[1], [1, 2, 0])


def test_operands_are_not_modified():
    x = rng.normal(size=(3, 9)).astype(np.float32)
    x.flags.writeable = False
    sort_with([x], 1, np.less)
    sort_by_keys([sort_key(x)], [x], 0)
    top_k(x, 2)
    top_values(x, 2)


def even(dtype, count, low, high):
    return np.linspace(low, high, count).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    ("table", "is_even"),
    [
        (lambda dtype: even(dtype, 65, 0, 1), True),
        (lambda dtype: even(dtype, 200, -3.7, 11.3), True),
        (lambda dtype: even(dtype, 2, -1, -0.5), True),
        (lambda dtype: np.repeat(even(dtype, 30, 1, 2), 2), False),
        (lambda dtype: even(dtype, 30, 0.5, 4) ** 2, False),
        (lambda dtype: np.sort(rng.normal(size=40)).astype(dtype), False),
        (lambda dtype: np.full(5, 2, dtype), False),
        (lambda dtype: np.array([-np.inf, 0, 1, np.inf], dtype), False),
        (lambda dtype: np.array([0, 1, 2, np.nan], dtype), False),
    ],
)
def test_places_in_tables_of_even_steps_are_those_that_numpy_finds(table, is_even, dtype):
    table = table(dtype)
    top = np.finfo(dtype).max
    edges = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, top, -top]
    near = [np.nextafter(table, dtype(end)) for end in (-np.inf, np.inf)]
    values = np.concatenate([rng.normal(0, 4, 300).astype(dtype), table, *near, np.array(edges, dtype)])
    for side in ("left", "right"):
        wanted = np.searchsorted(table, values, side)
        found = search_many(table, values, side)
        assert found.dtype == np.uint32
        np.testing.assert_array_equal(found, wanted)
        assert (places_by_steps(table, values, side) is not None) == is_even
