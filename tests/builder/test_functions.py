"""The sections of the operation-semantics seed on what calls functions, and on tuples."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

import xla2py
from xla2py.tests.builder.worked import build, check, f32, s32
from xla2py.transpile.hlo.builder import F32, S32, XlaBuilder, make_shape
from xla2py.transpile.hlo.printer import print_module


def test_call_with_and_without_arguments() -> None:
    check(lambda b, x, y: b.call(lambda a, c: a * c + a, [x, y]), f32(1, 2), f32(3, 4), expected=f32(4, 10))
    answer = XlaBuilder("answer")
    answer.constant(42)
    check(lambda b: b.call(answer), expected=s32(42))


def test_a_composite_call_is_marked() -> None:
    module = build(lambda b, x: b.composite_call(lambda a: a * a, [x], "my.square", "{n = 2 : i64}", 3), f32(1, 2))
    text = print_module(module)
    assert 'composite.name="my.square"' in text
    assert "is_composite=true" in text
    assert 'composite.version="3"' in text


@pytest.mark.parametrize(("pred", "expected"), [(True, f32(-1, -2)), (False, f32(6, 8))])
def test_conditional_by_pred(pred: bool, expected: np.ndarray) -> None:
    check(
        lambda b, p, x, y: b.conditional(p, x, lambda a: -a, y, lambda a: a * 2.0),
        *(np.array(pred), f32(1, 2), f32(3, 4)),
        expected=expected,
    )


@pytest.mark.parametrize(("index", "expected"), [(0, 1.0), (1, 20.0), (2, 300.0), (-1, 300.0), (7, 300.0)])
def test_conditional_by_index_runs_the_last_branch_when_out_of_range(index: int, expected: float) -> None:
    branches = [lambda a: a, lambda a: a * 10.0, lambda a: a * 100.0]
    check(
        lambda b, i, x, y, z: b.conditional(i, branches, [x, y, z]),
        *(s32(index), f32(1), f32(2), f32(3)),
        expected=f32(expected),
    )


def test_branches_may_take_and_give_tuples() -> None:
    check(
        lambda b, p, x, y: b.conditional(p, b.tuple([x, y]), lambda t: (t[1], t[0]), x, lambda a: (a, a)),
        *(np.array(True), f32(1), f32(2)),
        expected=[f32(2), f32(1)],
    )


def test_the_while_example_counts_to_1000() -> None:
    def program(b: XlaBuilder):
        init = b.tuple([b.constant(0, S32), b.broadcast(b.constant(0.0), [10])])

        def body(state):
            constant_vector = state.builder.broadcast(state.builder.constant(0.5), [10])
            return state[0] + 1, state[1] + constant_vector

        return b.while_(lambda state: state[0] < 1000, body, init)

    check(program, expected=[s32(1000), np.full(10, 500, np.float32)])


def test_map() -> None:
    x, y, z = f32(1, 2), f32(3, 4), f32(5, 6)
    check(lambda b, *ops: b.map(ops, lambda a, c, d: a * c - d, [0]), x, y, z, expected=x * y - z)
    check(lambda b, p: b.map(p, lambda a: a > 1.5), x, expected=x > 1.5)


def test_the_tuple_of_the_seed() -> None:
    v = np.arange(10, dtype=np.float32)
    check(lambda b, v, s: b.tuple([v, s]), v, s32(5), expected=[v, s32(5)])


def test_tuples_of_tuples_and_of_nothing() -> None:
    check(lambda b, s: b.tuple([s, b.tuple([b.tuple([]), s])])[1][1], s32(5), expected=s32(5))


def test_element_1_of_the_seed() -> None:
    v = np.arange(10, dtype=np.float32)
    check(lambda b, v, s: b.get_tuple_element(b.tuple([v, s]), 1), v, s32(5), expected=s32(5))
    module = build(lambda b, v, s: b.get_tuple_element(b.tuple([v, s]), 1), v, s32(5))
    assert str(module.entry.root.shape) == "s32[]"  # inferred


def test_an_optimization_barrier_passes_values_through() -> None:
    check(lambda b, x, y: b.optimization_barrier(b.tuple([x, y])), f32(1, 2), s32(3), expected=[f32(1, 2), s32(3)])


def test_custom_call_carries_target_shape_and_opaque_text() -> None:
    x, y = f32(1, 2), f32([10, 20, 30], [40, 50, 60])
    shape = make_shape(F32, [3, 3])
    module = build(lambda b, p, q: b.custom_call("myfunc", [p, q], shape, 'say "hi"', has_side_effect=True), x, y)
    text = print_module(module)
    assert 'custom_call_target="myfunc"' in text
    assert r'backend_config="say \"hi\""' in text
    assert "custom_call_has_side_effect=true" in text
    assert str(module.entry.root.shape) == "f32[3,3]{1,0}"


def test_the_function_of_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """myfunc writes z[0][0] = x[1] + y[1][0]."""

    def myfunc(x, y, *, shape, backend_config):
        z = np.zeros(shape, np.float32)
        z[0, 0] = x[1] + y[1, 0]
        return z

    x, y = f32(1, 2), f32([10, 20, 30], [40, 50, 60])
    module = build(lambda b, p, q: b.custom_call("myfunc", [p, q], make_shape(F32, [3, 3])), x, y)
    users_library = ModuleType("users_library")
    users_library.myfunc = myfunc
    monkeypatch.setitem(sys.modules, "users_library", users_library)
    z = xla2py.emit(module, custom_calls={"myfunc": "users_library:myfunc"}).load().main(x, y)
    assert (z.shape, z[0, 0]) == ((3, 3), 42)
