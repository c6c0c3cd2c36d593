"""build(): the root, sub-computations, and what is printed; what an op is to Python."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.transpile.hlo.builder import F32, Padding, XlaBuilder, make_padding, make_shape
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
    maximum.max(*(maximum.parameter(i, make_shape(F32, []), "ab"[i]) for i in range(2)))
    for computation in (maximum, maximum.build(), maximum.build_computation(), lambda a, b: a.builder.max(a, b)):
        b = XlaBuilder("reduced")
        root = b.reduce(b.parameter(0, "f32[3]"), b.min_value(F32), computation, [0]).instruction
        assert "f32[] maximum(a, b)\n" in print_module(b.build())
        assert root.attributes["to_apply"].root.opcode == "maximum"


def test_one_computation_called_twice_is_printed_once() -> None:
    b = XlaBuilder("twice")
    x = b.parameter(0, make_shape(F32, [4, 4]))
    add = XlaBuilder("add")
    add.add(*(add.parameter(i, make_shape(F32, [])) for i in range(2)))
    b.reduce(b.reduce(x, 0.0, add, [0]), 0.0, add, [0])
    module = b.build()
    assert [c.name for c in module.computations] == ["add", "twice"]
    assert print_module(module).count("\nadd {") == 1


def test_ops_are_no_arrays_but_numpy_leaves_them_to_the_builder() -> None:
    b = XlaBuilder("values")
    x, y = b.parameter(0, "f32[3]"), np.float32([4, 5, 6])
    assert [op.instruction.opcode for op in (x + y, y - x, y @ x)] == ["add", "subtract", "dot"]
    assert (str(x[np.int64(1)].shape), b.tuple([x])[np.int32(0)].shape) == ("f32[]", x.shape)
    assert len(b.iota("f32", 5)) == 5
    for wrong, message in ((np.asarray, "no values before it runs"), (len, "a scalar has no length")):
        with pytest.raises(TypeError, match=message):
            wrong(b.zero("f32"))


@pytest.mark.parametrize(
    ("size", "window", "stride", "expected"),
    [(5, 3, 2, (1, 1)), (5, 2, 1, (0, 1)), (6, 3, 2, (0, 1)), (4, 1, 3, (0, 0)), (7, 4, 3, (1, 2)), (0, 3, 1, (1, 1))],
)
def test_same_padding(size: int, window: int, stride: int, expected: tuple[int, int]) -> None:
    """``max((ceil(n / s) - 1) * s + w - n, 0)`` elements, the odd one at the high end."""
    assert make_padding([size], [window], [stride], Padding.SAME) == [expected]
    assert make_padding([size], [window], [stride], Padding.VALID) == [(0, 0)]
