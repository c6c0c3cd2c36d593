"""Worked examples of the specification that are calls of XLA's builder: the text of the call, inputs, results."""

from typing import Any

import numpy as np
import pytest

import xla2py
from xla2py.tests.seeds.examples import assert_equal
from xla2py.transpile.equivalence.reference.xla import run_hlo
from xla2py.transpile.hlo.builder.examples import BuilderExample
from xla2py.transpile.hlo.element_types import from_dtype
from xla2py.transpile.hlo.printer import print_module


def F(*values: Any) -> np.ndarray:
    return np.array(values[0] if len(values) == 1 else values, np.float32)


def S(*values: Any) -> np.ndarray:
    return np.array(values[0] if len(values) == 1 else values, np.int32)


MATRIX, THREE, CUBE = F([1, 2, 3], [4, 5, 6]), F(7, 8, 9), np.arange(24, dtype=np.float32).reshape(2, 3, 4)
B = np.arange(12, dtype=np.float32).reshape(4, 3)
V = F(*([[row + k, row + k + 1, row + k + 2] for k in (0, 5)] for row in (10, 20, 30, 40)))
CUBOID = np.broadcast_to(MATRIX, (4, 2, 3)).copy()
FOUR = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)
ZEROS = np.zeros((3, 3), np.float32)
POOLED = F(10000, 1000, 100, 10, 1)
TEN = np.arange(10, dtype=np.float32)
OUT_OF_ORDER = F(*(10, 20, 30, 40, 11, 21, 31, 41, 12, 22, 32, 42), *(15, 25, 35, 45, 16, 26, 36, 46, 17, 27, 37, 47))
PADDED = F([0, 0, 1, 2, 3], [0, 0, 0, 0, 0], [0, 0, 4, 5, 6], [0, 0, 0, 0, 0])
DEGENERATE = [((2, 1), (2, 3)), ((1, 2, 5), (7, 2, 5)), ((7, 2, 5), (7, 1, 5)), ((2, 1), (1, 3))]


def one(*sizes: int) -> np.ndarray:
    return 1000 * np.arange(1, np.prod(sizes) + 1, dtype=np.float32).reshape(sizes)


EXAMPLES: list[tuple[str, tuple[Any, ...], Any]] = [
    ("b.add(x, y, [1])", (MATRIX, THREE), F([8, 10, 12], [11, 13, 15])),
    ("7 + x", (MATRIX,), F([8, 9, 10], [11, 12, 13])),
    ("b.add(x, y, [1])", (ZEROS, THREE), F([7, 8, 9], [7, 8, 9], [7, 8, 9])),
    ("b.add(x, y, [0])", (ZEROS, THREE), F([7, 7, 7], [8, 8, 8], [9, 9, 9])),
    ("b.add(y, x, [1, 2])", (CUBE, B.T.copy()), CUBE + B.T),
    *(
        (
            f"b.add(x, y, [{k}])",
            (FOUR, v := one(FOUR.shape[k])),
            FOUR + np.expand_dims(v, [d for d in range(4) if d != k]),
        )
        for k in range(4)
    ),
    *(
        (
            f"b.add(x, y, {k})",
            (FOUR, m := one(*(FOUR.shape[d] for d in k))),
            FOUR + np.expand_dims(m, [d for d in range(4) if d not in k]),
        )
        for k in ((2, 3), (1, 2), (0, 3))
    ),
    *(("b.add(x, y)", (x := one(*a), y := one(*c)), x + y) for a, c in DEGENERATE),
    ("b.add(x, y, [0])", (F(1, 2, 3, 4), F([[5, 6]])), F([6, 7], [7, 8], [8, 9], [9, 10])),
    ("b.add(x, y, [1, 2])", (F([[5, 6]]), B[..., None]), F([[5, 6]])[None] + B[..., None]),
    ("b.broadcast(x, [2, 3])", (F(2),), F([2, 2, 2], [2, 2, 2])),
    ("b.broadcast_in_dim(x, [2, 3], [1])", (F(1, 2, 3),), F([1, 2, 3], [1, 2, 3])),
    ("b.collapse(x, [0, 1, 2])", (V,), V.reshape(24)),
    ("b.collapse(x, [0, 1])", (V,), V.reshape(8, 3)),
    ("b.collapse(x, [1, 2])", (V,), V.reshape(4, 6)),
    ("b.reshape(x, [0, 1, 2], [24])", (V,), V.reshape(24)),
    ("b.reshape(x, [1, 2, 0], [24])", (V,), OUT_OF_ORDER),
    ("b.reshape(x, [1, 2, 0], [8, 3])", (V,), OUT_OF_ORDER.reshape(8, 3)),
    ("b.reshape(x, [1, 2, 0], [2, 6, 2])", (V,), OUT_OF_ORDER.reshape(2, 6, 2)),
    ("b.reshape(x, [0, 1], [])", (F([[5]]),), F(5)),
    ("b.concat_in_dim([x, y, z], 0)", (S(2, 3), S(4, 5), S(6, 7)), S(2, 3, 4, 5, 6, 7)),
    ("b.concat_in_dim([x, y], 0)", (S([1, 2], [3, 4], [5, 6]), S([[7, 8]])), S([1, 2], [3, 4], [5, 6], [7, 8])),
    ("b.pad(x, 0.0, PaddingConfig([PaddingConfigDimension(0, 1, 1), PaddingConfigDimension(2)]))", (MATRIX,), PADDED),
    ("b.slice(x, [2], [4])", (F(0, 1, 2, 3, 4),), F(2, 3)),
    ("b.slice(x, [2, 1], [4, 3])", (B,), F([7, 8], [10, 11])),
    ("b.dynamic_slice(x, [y], [2])", (F(0, 1, 2, 3, 4), S(2)), F(2, 3)),
    ("b.dynamic_slice(x, y, [2, 2])", (B, S(2, 1)), F([7, 8], [10, 11])),
    ("b.dynamic_update_slice(x, y, [z])", (F(0, 1, 2, 3, 4), F(5, 6), S(2)), F(0, 1, 5, 6, 4)),
    (
        "b.dynamic_update_slice(x, y, [z, z])",
        (B, F([12, 13], [14, 15], [16, 17]), S(1)),
        F([0, 1, 2], [3, 12, 13], [6, 14, 15], [9, 16, 17]),
    ),
    ("b.clamp(0, x, 6)", (S(-1, 5, 9),), S(0, 5, 6)),
    (
        "b.select(x, y, z)",
        (np.array([True, False, False, True]), S(1, 2, 3, 4), S(100, 200, 300, 400)),
        S(1, 200, 300, 4),
    ),
    ("b.select(x, y, z)", (np.array(False), S(1, 2, 3, 4), S(100, 200, 300, 400)), S(100, 200, 300, 400)),
    ("b.convert_element_type(x, F32)", (S(0, 1, 2),), F(0, 1, 2)),
    ("b.reduce(x, 0.0, b.add, [0])", (F(10, 11, 12, 13),), F(46)),
    ("b.reduce(x, 0.0, b.add, [1])", (MATRIX,), F(6, 15)),
    ("b.reduce(x, 0.0, b.add, [0])", (CUBOID,), F([4, 8, 12], [16, 20, 24])),
    ("b.reduce(x, 0.0, b.add, [2])", (CUBOID,), F([6, 15], [6, 15], [6, 15], [6, 15])),
    ("b.reduce(x, 0.0, b.add, [0, 1])", (CUBOID,), F(20, 28, 36)),
    ("b.reduce(x, 0.0, b.add, [1, 0])", (CUBOID,), F(20, 28, 36)),
    ("b.reduce(x, 0.0, b.add, [0, 1, 2])", (CUBOID,), F(84)),
    ("b.reduce_window(x, b.max_value(F32), b.min, [3], [2], Padding.VALID)", (POOLED,), F(100, 1)),
    ("b.reduce_window(x, b.max_value(F32), b.min, [3], [2], Padding.SAME)", (POOLED,), F(1000, 10, 1)),
    (
        "b.sort([x, y, z], lambda a, c, d, e, f, g: a < c)",
        (S(3, 1), S(42, 50), F(-3.0, 1.1)),
        [S(1, 3), S(50, 42), F(1.1, -3.0)],
    ),
    ("b.reduce(b.set_dimension_size(x, y, 0), 0.0, b.add, [0])", (TEN + 1, S(5)), F(15)),
    ("b.reduce(b.set_dimension_size(x, y, 0), 1.0, b.mul, [0])", (TEN + 1, S(6)), F(720)),
    (
        "b.while_(lambda s: s[0] < 1000, lambda s: (s[0] + 1, s[1] + 0.5), b.tuple([b.constant(0), x]))",
        (TEN * 0,),
        [S(1000), TEN * 0 + 500],
    ),
    ("b.dot_general(x, y, DotDimensionNumbers([1], [1]))", (MATRIX, F([1, 1, 1], [2, 2, 2])), F([6, 12], [15, 30])),
    (
        "b.dot_general(x, y, DotDimensionNumbers([2], [1], [0], [0]))",
        (F([[1, 2], [3, 4]], [[5, 6], [7, 8]]), F([[1, 0], [0, 1]], [[1, 0], [0, 1]])),
        F([[1, 2], [3, 4]], [[5, 6], [7, 8]]),
    ),
    (
        "b.scatter(x, y, z, lambda a, c: c, ScatterDimensionNumbers([1], [], [0], index_vector_dim=1))",
        (F(0, 0, 0, 0), S([0], [3], [-1]), F([1, 2], [3, 4], [5, 6])),
        F(1, 2, 0, 0),
    ),
]


@pytest.mark.parametrize(("call", "inputs", "expected"), EXAMPLES, ids=[call for call, *_ in EXAMPLES])
def test_xla_and_the_emitted_code_give_the_values(call: str, inputs: tuple[Any, ...], expected: Any) -> None:
    sizes = (",".join(map(str, array.shape)) for array in inputs)
    shapes = [f"{from_dtype(array.dtype)}[{size}]" for array, size in zip(inputs, sizes, strict=True)]
    module = BuilderExample("example", call, " ".join(map("=".join, zip("xyz", shapes, strict=False)))).build()
    assert_equal(expected, run_hlo(print_module(module), *inputs))
    assert_equal(expected, xla2py.emit(module, format=False).load().main(*inputs))
