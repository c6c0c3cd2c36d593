"""build(): the root, sub-computations, and what is printed."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import check, f32
from xla2py.transpile.hlo.builder import F32, ChannelHandle, XlaBuilder, make_shape
from xla2py.transpile.hlo.printer import print_module


def test_the_root_may_be_any_operation_and_building_goes_on() -> None:
    b = XlaBuilder("twice")
    x = b.parameter(0, make_shape(F32, [2]), "x")
    y = x + 1.0
    z = y * 2.0
    assert b.build(y).entry.root is y.instruction
    assert b.build().entry.root is z.instruction
    w = z - x
    assert b.build().entry.root is w.instruction


def test_sub_computations_are_functions_builders_or_computations() -> None:
    maximum = XlaBuilder("maximum")
    a, c = (maximum.parameter(i, make_shape(F32, [])) for i in range(2))
    maximum.max(a, c)
    x = f32(3, 7, 5)
    for computation in (maximum, maximum.build(), maximum.build_computation(), lambda a, c: a.builder.max(a, c)):
        check(lambda b, p, f=computation: b.reduce(p, b.min_value(F32), f, [0]), x, expected=f32(7))


def test_one_computation_called_twice_is_printed_once() -> None:
    b = XlaBuilder("twice")
    x = b.parameter(0, make_shape(F32, [4, 4]))
    add = XlaBuilder("add")
    add.add(*(add.parameter(i, make_shape(F32, [])) for i in range(2)))
    b.reduce(b.reduce(x, 0.0, add, [0]), 0.0, add, [0])
    module = b.build()
    assert [c.name for c in module.computations] == ["add", "twice"]
    assert print_module(module).count("\nadd {") == 1


def test_a_method_of_the_builder_is_a_sub_computation() -> None:
    x = f32(3, 7, 5)
    check(lambda b, p: b.reduce(p, b.min_value(F32), b.max, [0]), x, expected=f32(7))


def test_arguments_may_be_named_as_in_the_seed() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    check(
        lambda b, p: b.tuple(
            [
                b.reshape(p, dimensions=[1, 0], new_sizes=[6]),
                b.reshape(p, [6], dimensions=[1, 0]),
                b.reshape(p, new_sizes=[6]),
                b.iota(shape=make_shape(F32, [2, 2]), iota_dimension=0),
                b.conditional(
                    pred=True,
                    true_operand=p,
                    true_computation=lambda a: a,
                    false_operand=p,
                    false_computation=lambda a: -a,
                ),
                b.conditional(branch_index=1, branch_computations=[lambda a: a, lambda a: -a], branch_operands=[p, p]),
            ]
        ),
        x,
        expected=[x.T.reshape(6), x.T.reshape(6), x.reshape(6), f32([0, 0], [1, 1]), x, -x],
    )


def test_choices_and_shapes_may_be_text() -> None:
    b = XlaBuilder("text")
    x = b.parameter(0, "f32[4]{0}", "x")
    assert str(b.fft(x, "RFFT", [4]).shape) == "c64[3]"
    assert str(b.reduce_window(x, 0.0, b.add, [2], [2], "SAME").shape) == "f32[2]"
    assert str(b.rng_uniform(0.0, 1.0, "f32[3]").shape) == "f32[3]"
    assert str(b.all_reduce(x, b.add, channel_id=ChannelHandle(7)).shape) == "f32[4]"
