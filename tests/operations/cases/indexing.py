"""gather and scatter."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from xla2py.tests.operations.case import Case, case
from xla2py.tests.operations.values import ALL, FLOATS, INTEGERS, Array, dtype, numbers
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES

INDEX_TYPES = ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64")


def braces(values: tuple[int, ...]) -> str:
    return "{" + ",".join(map(str, values)) + "}"


def gather_text(result: str, **numbers: object) -> str:
    defaults = {"offset_dims": (), "collapsed_slice_dims": (), "start_index_map": (), "index_vector_dim": 1}
    attributes = {**defaults, **numbers}
    text = ", ".join(f"{k}={braces(v) if isinstance(v, tuple) else str(v).lower()}" for k, v in attributes.items())
    return f"r = {result} gather(p0, p1), {text}"


ROWS = {"offset_dims": (1,), "collapsed_slice_dims": (0,), "start_index_map": (0,), "slice_sizes": (1, 4)}


def gathers() -> Iterator[Case]:
    x, cube = numbers("f32", 5, 4), numbers("f32", 5, 7, 3)
    rows = np.array([[0], [4], [2], [2]])
    for name in INDEX_TYPES:
        yield case("gather", gather_text("f32[4,4]", **ROWS), x, rows.astype(dtype(name)))
    beyond = np.int32([[-3], [5], [100], [-(2**31)]])
    yield case("gather", gather_text("f32[4,4]", **ROWS), x, beyond)
    yield case("gather", gather_text("f32[4,4]", **ROWS), x, np.uint32([[2**32 - 1], [2**31], [1], [0]]))
    yield case("gather", gather_text("f32[4,4]", **ROWS), x[:1], beyond)  # one row: every index is clamped to it
    yield case("gather", gather_text("f32[4,4]", **ROWS, indices_are_sorted=True), x, np.sort(rows, 0).astype(np.int32))
    yield case("gather", gather_text("f32[3,4]", **{**ROWS, "index_vector_dim": 1}), x, np.int32([3, 0, 1]))
    yield case(
        "gather", gather_text("f32[4]", **{**ROWS, "offset_dims": (0,), "index_vector_dim": 0}), x, np.int32([3])
    )
    yield case("gather", gather_text("f32[4]", **{**ROWS, "offset_dims": (0,), "index_vector_dim": 0}), x, np.int32(3))
    yield case("gather", gather_text("f32[0,4]", **ROWS), x, np.zeros((0, 1), np.int32))
    blocks = {"offset_dims": (1, 2), "start_index_map": (0, 1), "slice_sizes": (2, 3)}
    where = np.int32([[0, 0], [3, 1], [4, 3], [-1, 9]])
    yield case("gather", gather_text("f32[4,2,3]", **blocks), x, where)
    yield case("gather", gather_text("f32[4,2,3]", **{**blocks, "start_index_map": (1, 0)}), x, where)
    yield case("gather", gather_text("f32[2,4,3]", **{**blocks, "offset_dims": (0, 2)}), x, where)
    yield case("gather", gather_text("f32[2,3,4]", **{**blocks, "offset_dims": (0, 1)}), x, where)
    yield case("gather", gather_text("f32[2,2,3]", **{**blocks, "index_vector_dim": 0}), x, where[:2].T.copy())
    points = {"collapsed_slice_dims": (0, 1), "start_index_map": (0, 1), "slice_sizes": (1, 1)}
    yield case("gather", gather_text("f32[4]", **points), x, where)
    grid = np.stack([np.arange(6).reshape(2, 3) % 5, np.arange(6).reshape(2, 3) % 4], -1).astype(np.int32)
    yield case("gather", gather_text("f32[2,3]", **{**points, "index_vector_dim": 2}), x, grid)
    yield case(
        "gather", gather_text("f32[2,3]", **{**points, "index_vector_dim": 1}), x, grid.transpose(0, 2, 1).copy()
    )
    column = {"offset_dims": (0,), "collapsed_slice_dims": (1,), "start_index_map": (1,), "slice_sizes": (5, 1)}
    yield case("gather", gather_text("f32[5,3]", **column), x, np.int32([[1], [3], [1]]))
    part = {"offset_dims": (0,), "collapsed_slice_dims": (1,), "start_index_map": (0, 1), "slice_sizes": (2, 1)}
    yield case("gather", gather_text("f32[2,4]", **part), x, where)
    yield case("gather", gather_text("f32[4,0]", **{**ROWS, "slice_sizes": (1, 0)}), x, rows.astype(np.int32))
    yield case("gather", gather_text("f32[2,4]", offset_dims=(1,), collapsed_slice_dims=(0,), slice_sizes=(1, 4)), x,
               np.zeros((2, 0), np.int32))  # fmt: skip
    batched = {
        "offset_dims": (2,),
        "collapsed_slice_dims": (1,),
        "start_index_map": (1,),
        "operand_batching_dims": (0,),
        "start_indices_batching_dims": (0,),
        "index_vector_dim": 2,
        "slice_sizes": (1, 1, 3),
    }
    index = np.int32(np.arange(20).reshape(5, 4, 1) % 9 - 1)
    yield case("gather", gather_text("f32[5,4,3]", **batched), cube, index)
    turned = {**batched, "start_indices_batching_dims": (1,)}
    yield case("gather", gather_text("f32[4,5,3]", **turned), cube, index.transpose(1, 0, 2).copy())
    along = {
        "collapsed_slice_dims": (1,),
        "start_index_map": (1,),
        "operand_batching_dims": (0,),
        "start_indices_batching_dims": (0,),
        "index_vector_dim": 2,
        "slice_sizes": (1, 1),
    }
    yield case(
        "gather",
        gather_text("f32[5,2]", **along),
        x,
        np.int32([[[0], [3]], [[1], [1]], [[2], [0]], [[3], [9]], [[-1], [2]]]),
    )
    for name in ALL:
        y = numbers(name, 5, 4)
        oracle = lambda y, i: y[i[:, 0]]  # noqa: E731
        yield case("gather", gather_text(f"{name}[4,4]", **ROWS), y, rows.astype(np.int32), oracle=oracle)


# -- scatter


def combiner(operation: str, name: str = "f32") -> str:
    label = f"{operation}_{name}"
    return f"{label} {{ x = {name}[] parameter(0)  y = {name}[] parameter(1)  ROOT z = {name}[] {operation}(x, y) }}"


def replace(name: str = "f32") -> str:
    return f"replace_{name} {{ x = {name}[] parameter(0)  ROOT y = {name}[] parameter(1) }}"


def scatter(operand: Array, indices: Array, updates: Array, callee: str, **given: object) -> Case:
    defaults = {
        "update_window_dims": (1,),
        "inserted_window_dims": (0,),
        "scatter_dims_to_operand_dims": (0,),
        "index_vector_dim": 1,
    }
    attributes = {**defaults, **given}
    oracle = {"oracle": attributes.pop("oracle")} if "oracle" in attributes else {}
    text = ", ".join(f"{k}={braces(v) if isinstance(v, tuple) else str(v).lower()}" for k, v in attributes.items())
    shape = f"{{}}[{','.join(map(str, operand.shape))}]"
    name = next(n for n in ALL if ELEMENT_TYPES[n].dtype == operand.dtype)
    body = f"r = {shape.format(name)} scatter(p0, p1, p2), {text}, to_apply={callee.split()[0]}"
    return case("scatter", body, operand, indices, updates, callees=[callee], **oracle)


def scatters() -> Iterator[Case]:
    x, rows = numbers("f32", 5, 4), np.array([[0], [4], [2], [2]])
    u = numbers("f32", 4, 4, seed=1)
    add = combiner("add")
    for name in INDEX_TYPES:
        yield scatter(x, rows.astype(dtype(name)), u, add)
    for operation in ("add", "multiply", "maximum", "minimum", "subtract", "divide"):
        yield scatter(x, np.int32(rows), u, combiner(operation))
    beyond = np.int32([[-1], [5], [2], [-(2**31)]])
    yield scatter(x, beyond, u, add)
    yield scatter(x, np.uint32([[2**32 - 1], [2**31], [1], [0]]), u, add)
    unique = np.int32([[3], [0], [2], [1]])
    yield scatter(x, unique, u, replace(), unique_indices=True)
    yield scatter(x, np.sort(unique, 0), u, replace(), unique_indices=True, indices_are_sorted=True)
    yield scatter(x, np.int32(rows), u, replace())
    yield scatter(x, np.int32([3, 0, 1]), u[:3], add, index_vector_dim=1)
    yield scatter(x, np.int32([3]), u[0], add, update_window_dims=(0,), index_vector_dim=0)
    yield scatter(x, np.int32(3), u[0], add, update_window_dims=(0,), index_vector_dim=0)
    yield scatter(x, np.zeros((0, 1), np.int32), u[:0], add)
    yield scatter(x, np.int32(rows), u[:, :2], add)  # a window smaller than the operand
    yield scatter(x, np.int32(rows), u[:, :0], add)
    where = np.int32([[0, 0], [3, 1], [4, 3], [1, 1]])
    blocks = {"update_window_dims": (1, 2), "inserted_window_dims": (), "scatter_dims_to_operand_dims": (0, 1)}
    updates = numbers("f32", 4, 2, 3, seed=2)
    yield scatter(x, where, updates, add, **blocks)  # one window does not fit, and is skipped whole
    yield scatter(x, where, updates, add, **{**blocks, "scatter_dims_to_operand_dims": (1, 0)})
    yield scatter(x, where, updates.transpose(1, 0, 2).copy(), add, **{**blocks, "update_window_dims": (0, 2)})
    yield scatter(x, where.T.copy()[:, :2], updates[:2], add, **{**blocks, "index_vector_dim": 0})
    points = {"update_window_dims": (), "inserted_window_dims": (0, 1), "scatter_dims_to_operand_dims": (0, 1)}
    yield scatter(x, where, u[:, 0], add, **points)
    yield scatter(x, where, u[:, 0], replace(), **points, unique_indices=True)
    columns = {"update_window_dims": (0,), "inserted_window_dims": (1,), "scatter_dims_to_operand_dims": (1,)}
    yield scatter(x, np.int32([[1], [3], [1]]), numbers("f32", 5, 3, seed=3), add, **columns)
    cube = numbers("f32", 5, 7, 3)
    batched = {
        "update_window_dims": (2,),
        "inserted_window_dims": (1,),
        "scatter_dims_to_operand_dims": (1,),
        "input_batching_dims": (0,),
        "scatter_indices_batching_dims": (0,),
        "index_vector_dim": 2,
    }
    index = np.int32(np.arange(20).reshape(5, 4, 1) % 9 - 1)
    yield scatter(cube, index, numbers("f32", 5, 4, 3, seed=4), add, **batched)
    for name in ALL:
        if ELEMENT_TYPES[name].bits == 1:
            continue
        y, v = numbers(name, 5, 4), numbers(name, 4, 4, seed=1)
        distinct = np.int32([[3], [0], [2], [1]])
        yield scatter(y, distinct, v, combiner("or" if name == "pred" else "add", name))
        yield scatter(y, distinct, v, replace(name))
    for name in INTEGERS + FLOATS:
        if ELEMENT_TYPES[name].bits > 1:
            y, v = numbers(name, 5, 4), numbers(name, 4, 4, seed=1)
            yield scatter(y, np.int32(rows), v, combiner("maximum", name))


def several_operands() -> Iterator[Case]:
    both = """both {
      x = f32[] parameter(0)
      i = s32[] parameter(1)
      y = f32[] parameter(2)
      j = s32[] parameter(3)
      s = f32[] add(x, y)
      m = s32[] maximum(i, j)
      ROOT r = (f32[], s32[]) tuple(s, m)
    }"""
    x, i = numbers("f32", 5, 4), numbers("s32", 5, 4)
    rows = np.int32([[0], [4], [2], [2]])
    u, j = numbers("f32", 4, 4, seed=1), numbers("s32", 4, 4, seed=1)
    body = """r = (f32[5,4], s32[5,4]) scatter(p0, p1, p2, p3, p4), update_window_dims={1}, inserted_window_dims={0}, \
scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=both"""
    yield case("scatter", body, x, i, rows, u, j, callees=[both])


def cases() -> Iterator[Case]:
    yield from gathers()
    yield from scatters()
    yield from several_operands()
