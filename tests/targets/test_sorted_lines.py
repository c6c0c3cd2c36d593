"""Sorts along an axis of a file: tasks have whole lines of it where one is small enough."""

import numpy as np
import pytest

import xla2py
from xla2py.targets.dask.chunked_calls.sorting import CACHED_BYTES
from xla2py.targets.dask.planning.estimates import PROCESS_BYTES, THREADS
from xla2py.tests.targets.chunked import plan_of

dask = pytest.importorskip("dask", reason="Dask is not installed")

SORT = """less {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT }}
ENTRY main {{
  x = f32[{rows},{columns}] parameter(0)
  ROOT sorted = f32[{rows},{columns}] sort(x), dimensions={{0}}, to_apply=less
}}"""


def plan(rows, columns, memory="160MiB", text=SORT):
    return plan_of(xla2py.load(text.format(rows=rows, columns=columns)), memory=memory)


def test_columns_are_cut_where_one_is_small_enough():
    rows, columns = 1 << 19, 256
    assert plan(rows, columns, "512MiB").chunks == (("x", (-1, 6)),)
    assert plan(rows, columns).chunks == (("x", (-1, 1)),)


def test_sorted_chunks_are_merged_where_a_column_is_too_large_or_a_file_is():
    assert plan(1 << 24, 4).chunks[0][1][1] == -1
    rows = CACHED_BYTES // 4 // 256 + 1
    assert plan(rows, 256, "2GiB").chunks[0][1][1] == -1


def test_sorted_chunks_are_merged_where_something_else_needs_the_other_axis():
    """Chunks along both axes would be in the way of each."""
    add = "add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }}\n"
    sums = "zero = f32[] constant(0)  ROOT y = f32[{rows}] reduce(sorted, zero), dimensions={{1}}, to_apply=add\n}}"
    text = add + SORT.replace("ROOT ", "", 2).replace("c = pred", "ROOT c = pred").removesuffix("}}") + sums
    assert plan(1 << 19, 256, "512MiB", text).chunks[0][1][1] == -1


def test_a_task_holds_at_least_a_line():
    """Both the line that is sorted and the result."""
    line = 4 << 19
    found = plan(1 << 19, 256)
    assert found.phases[0].file_task_bytes >= 2 * line
    assert found.file_peak_bytes >= PROCESS_BYTES + THREADS * 2 * line


def test_columns_that_are_read_at_once_are_copied():
    """A block of a file is copied, too: dask joins the blocks along an axis that is needed whole, even if it is one."""
    (phase,) = plan(1 << 19, 256, "512MiB").phases
    assert phase.file_task_bytes == phase.task_bytes >= 2 * 6 * (4 << 19)


def test_the_caller_may_cut_other_columns(tmp_path):
    rows, columns = 20_000, 40
    generated = xla2py.emit(SORT.format(rows=rows, columns=columns), "dask", chunks="2MiB")
    assert generated.plan.chunks == (("x", (-1, 26)),)
    assert "Tiled" not in generated.source.split("def main")[1].split("def ")[0]  # a few bytes of each row at a time
    x = np.random.default_rng(0).random((rows, columns), np.float32)
    file = np.memmap(tmp_path / "x", np.float32, "w+", shape=x.shape)
    file[:] = x
    main = generated.load().main
    for chunks in (None, (-1, 7), {1: 3}):
        np.testing.assert_array_equal(main(file, chunks=chunks).compute(), np.sort(x, axis=0))


@pytest.mark.parametrize(("rows", "task"), [(1000, "sorted_lines"), (2000, "merge_runs")])
def test_a_task_sorts_a_line_that_is_not_much_longer_than_a_chunk_asked_for_has_room_for(rows, task):
    generated = xla2py.emit(SORT.format(rows=rows, columns=10), "dask", chunks="20")
    x = np.random.default_rng(0).random((rows, 10), np.float32)
    lazy = generated.load().main(x)
    assert any(task in str(key[0]) for key in lazy.__dask_graph__().to_dict())
    np.testing.assert_array_equal(lazy.compute(), np.sort(x, axis=0))
    (phase,) = generated.plan.phases
    assert (phase.task_bytes >= 3 * 4 * rows) == (task == "sorted_lines")
