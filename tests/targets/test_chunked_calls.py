"""What works along an axis that is cut: the same results in any chunks, from any kind of array, within the plan."""

from math import inf

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import hlo
from xla2py.tests.recording.lazy_jax import jnp
from xla2py.tests.targets.chunked import Case, Loaded, check, check_plan, inputs, plan_of
from xla2py.tests.whole import crossed, much

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")


TAKE = """ENTRY main {{
  table = f32[{rows},3] parameter(0)
  indices = s32[{count},1] parameter(1)
  {source}
  ROOT r = f32[{count},3] gather({given}, indices), offset_dims={{1}}, collapsed_slice_dims={{0}},
    start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,3}}
}}"""
COLUMNS = """ENTRY main {
  table = f32[3,40] parameter(0)
  indices = s8[5,2] parameter(1)
  ROOT r = f32[5,2,3] gather(table, indices), offset_dims={2}, collapsed_slice_dims={1},
    start_index_map={1}, index_vector_dim=2, slice_sizes={3,1}
}"""
POINTS = """ENTRY main {
  x = f32[2,40,5] parameter(0)
  indices = s32[31,2] parameter(1)
  ROOT r = f32[2,31] gather(x, indices), offset_dims={0}, collapsed_slice_dims={1,2},
    start_index_map={1,2}, index_vector_dim=1, slice_sizes={2,1,1}
}"""
ALONG = """ENTRY main {
  x = f32[40,3] parameter(0)
  indices = s32[40,3] parameter(1)
  ROOT r = f32[40,3] gather(x, indices), offset_dims={}, collapsed_slice_dims={0}, operand_batching_dims={1},
    start_indices_batching_dims={1}, start_index_map={0}, index_vector_dim=2, slice_sizes={1,1}
}"""

INTEGERS = """ENTRY main {
  x = s32[2,26,3] parameter(0)
  kernel = s32[3,3,1] parameter(1)
  ROOT r = s32[2,27,1] convolution(x, kernel), window={size=3 pad=1_2}, dim_labels=b0f_0io->b0f
}"""

AROUND = (-10, 30)  # places in and out of twenty
CASES = {
    "few rows": Case(TAKE.format(rows=40, count=4, source="", given="table"), "take_in_chunks(table, "),
    "many rows": Case(TAKE.format(rows=20, count=45, source="", given="table"), "take_in_chunks(table, ", AROUND),
    "rows of what is computed": Case(
        TAKE.format(rows=20, count=25, source="sum = f32[20,3] add(table, table)", given="sum"),
        "take_in_chunks(total, ",
        AROUND,
    ),
    "columns": Case(COLUMNS, "take_in_chunks(table, indices", (-128, 127)),
    "elements": Case(POINTS, "take_in_chunks("),
    "along an axis": Case(ALONG, "take_in_chunks("),
}


def windows(
    window: str, rows: int, *, reducer: str = "add", init: str = "0", source: str = "x", columns: int = 3
) -> str:
    return f"""
reducer {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] {reducer}(a, b) }}
ENTRY main {{
  x = f32[40,3] parameter(0)
  {"sum = f32[40,3] add(x, x)" if source == "sum" else ""}
  init = f32[] constant({init})
  ROOT r = f32[{rows},{columns}] reduce-window({source}, init), window={{{window}}}, to_apply=reducer
}}"""


CASES |= {
    "sliding sums": Case(windows("size=5x1", 36), "in_windows(\n        reduce_window,"),
    "pooling": Case(windows("size=3x1 stride=2x1 pad=0_1x0_0", 20, reducer="maximum", init="-inf"), "in_windows("),
    "wide pooling with padding": Case(
        windows("size=4x1 pad=9_12x0_0 rhs_dilate=3x1", 52, reducer="minimum", init="inf"), "in_windows("
    ),
    "pooling over both axes": Case(
        windows("size=2x2 stride=3x1", 13, reducer="maximum", init="-inf", columns=2), "in_windows("
    ),
    "sums of what is computed": Case(windows("size=3x1 pad=1_1x0_0", 40, source="sum"), "in_windows("),
    "sums from one": Case(windows("size=3x1 pad=1_1x0_0", 40, init="1"), "in_windows(\n        fold_windows,"),
    "integers": Case(INTEGERS, "in_windows(\n        integer_convolution,", (-8, 8)),
}


def sort(less: str, *, operands: int = 1, source: str = "x") -> str:
    names = ("x", "y")[:operands]
    given = ", ".join((source, *names[1:]))
    shape = "f32[20,3]" if operands == 1 else f"({', '.join(['f32[20,3]'] * operands)})"
    return f"""
less {{
  a = f32[] parameter(0)  b = f32[] parameter(1)
  {"i = f32[] parameter(2)  j = f32[] parameter(3)" if operands == 2 else ""}
  {less}
}}
ENTRY main {{
  {"  ".join(f"{name} = f32[20,3] parameter({k})" for k, name in enumerate(names))}
  {"sum = f32[20,3] add(x, x)" if source == "sum" else ""}
  ROOT r = {shape} sort({given}), dimensions={{0}}, is_stable=true, to_apply=less
}}"""


RISING, FALLING = (f"ROOT c = pred[] compare({pair}), direction=LT" for pair in ("a, b", "b, a"))
ODD = "s = f32[] sine(a)  t = f32[] sine(b)  ROOT c = pred[] compare(s, t), direction=LT, type=TOTALORDER"
ORDER = """
less { a = s32[] parameter(0)  b = s32[] parameter(1)  i = s32[] parameter(2)  j = s32[] parameter(3)
  ROOT c = pred[] compare(a, b), direction=LT }
ENTRY main {
  x = s32[50] parameter(0)
  places = s32[50] iota(), iota_dimension=0
  both = (s32[50], s32[50]) sort(x, places), dimensions={0}, is_stable=true, to_apply=less
  ROOT r = s32[50] get-tuple-element(both), index=1
}"""
CASES |= {
    "sort": Case(sort(RISING), "sort_in_chunks(x.read(), axis=0)"),
    "falling sort": Case(sort(FALLING), "sort_in_chunks(x.read(), axis=0)[::-1]"),
    "sort of what is computed": Case(sort(RISING, source="sum"), "sort_in_chunks(total, axis=0)"),
    "sort by a key": Case(sort(RISING, operands=2), "take_along_axis_in_chunks(y, order)"),
    "falling sort by a key": Case(sort(FALLING, operands=2), "sort_by_keys_in_chunks("),
    "sort by a comparator": Case(sort(ODD, operands=2), "sort_with_in_chunks("),
    "order of integers": Case(ORDER, "argsort_in_chunks(x.read(), np.int32, axis=0)", (-9, 9)),
}


@pytest.mark.parametrize(("name", "chunks"), crossed(CASES, ["1", "6", "13"]))
def test_the_results_are_those_of_numpy(name, chunks):
    check(CASES[name], chunks)


TABLE = (
    TAKE.format(rows=200_000, count=30_000, source="", given="table").replace(",3]", ",16]").replace("1,3}", "1,16}")
)
SLIDING = windows("size=9x1 stride=2x1", 249_996).replace("40,3", "500000,16").replace("249996,3", "249996,16")
LARGE = {
    "rows": (TABLE, ("getitem", "take")),
    "windows": (SLIDING, ("reduce_window",)),
    "sort": (sort(RISING).replace("20,3", "200000,16"), ("sort",)),
    "sort by a comparator": (sort(ODD, operands=2).replace("20,3", "200000,1"), ("sort_with",)),
}


@pytest.mark.parametrize("name", much([*LARGE][1::2], LARGE))
def test_a_run_takes_no_more_than_is_planned(name):
    text, phases = LARGE[name]
    below = inf if "comparator" in name else None  # it takes much more than the data of a chunk
    check_plan(text, inputs(Case(text, "")), *phases, below=below, chunks="256KiB")


def test_a_plan_counts_the_tasks_of_rows_that_are_taken():
    *_, phase = plan_of(CASES["many rows"].text, chunks="13").phases
    assert (phase.name, phase.tasks, phase.note) == ("take", 4, "")  # each reads what it needs of the table
    *_, phase = plan_of(CASES["rows of what is computed"].text, chunks="13").phases
    assert (phase.name, phase.tasks, phase.note) == ("take", 2, "")  # and of the files of its chunks


def test_a_task_goes_through_all_chunks_of_a_table_that_is_computed():
    case = CASES["rows of what is computed"]
    lazy = xla2py.emit(case.text, "dask", chunks="12B").load().main(*inputs(case))
    taken = [key for key in lazy.__dask_graph__().to_dict() if "find_in" in key[0]]
    assert len(taken) == 25 and lazy.numblocks[0] == 25


def test_a_task_reads_of_a_table_only_what_its_indices_name():
    case = CASES["few rows"]
    table, _ = inputs(case)
    read = []

    class Watched(Loaded):
        def __getitem__(self, index):
            read.append(index[0])
            return super().__getitem__(index)

        def __dask_tokenize__(self):  # dask would pickle it, with a copy of the list
            return "watched"

    module = xla2py.emit(case.text, "dask", chunks="6").load()
    module.main(Watched(table), np.int32([[3], [5], [39], [99]])).compute(scheduler="sync")
    assert read == [slice(3, 6), slice(39, 40)]


def test_what_is_empty_is_not_sorted_in_chunks():
    generated = xla2py.emit(CASES["sort"].text.replace("20,3", "20,0"), "dask", chunks="6")
    assert "sort_in_chunks" not in generated.source
    assert generated.load().main(np.zeros((20, 0), np.float32)).compute().shape == (20, 0)


@pytest.mark.parametrize("side", ["left", "right"])
def test_values_in_chunks_are_searched_in_a_whole_table(side):
    table = np.array([-2, -0.0, 0, 1, 1, 5, np.inf, np.nan], np.float32)
    values = np.array([[-3, -0.0, 0, 0.5], [5, 9, np.inf, np.nan], [-np.inf, 1, 2, -2]], np.float32)
    text = hlo(lambda a, v: jnp.searchsorted(a, v, side=side), table, values)
    check(Case(text, "search_sorted("), "2", [table, values])


def test_many_values_are_looked_for_by_the_steps_of_the_table():
    table = np.linspace(-1, 1, 40, dtype=np.float32)
    values = np.random.default_rng(3).normal(size=(400, 400)).astype(np.float32)
    text = hlo(jnp.searchsorted, table, values)
    check(Case(text, "search_many("), "64KiB", [table, values])
    assert "search_many(" in xla2py.emit(text).source and "search_many(" not in xla2py.emit(text, "cupy").source


def test_large_tables_are_searched_where_they_lie():
    table, values = np.zeros(5_000_000, np.float32), np.zeros(3, np.float32)
    assert "search_sorted(" not in xla2py.emit(hlo(jnp.searchsorted, table, values), "dask").source
