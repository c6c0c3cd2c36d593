"""What plans say about memory beside what runs take: the programs of the benchmark, small."""

from functools import cache
from math import inf

import numpy as np
import pytest

import xla2py
from xla2py.benchmarks.out_of_core import BENCHMARKS, numbers
from xla2py.targets.dask.planning.chunk_program import KEPT, size_in_bytes
from xla2py.targets.dask.planning.estimates import FEW_TASKS, PROCESS_BYTES, TASK_BYTES
from xla2py.tests.targets.chunked import Loaded, peak_of, peak_within, plan_of
from xla2py.tests.targets.running import leaves
from xla2py.tests.whole import crossed, much
from xla2py.transpile.errors import UnsupportedError, UsageError

dask = pytest.importorskip("dask", reason="Dask is not installed")

DATA, MEMORY = "24MiB", "112MiB"
MORE_MEMORY = {"orthogonal columns": "180MiB"}  # as many rows as are factored at a time take more
ASIDE = 5 << 20  # bytes of graphs, which may have thousands of tasks, and of what Python does meanwhile
SLACK = 3  # a plan may have so many times what a run takes: threads seldom all hold the most at once

# Tasks that last long enough for all threads to hold what is planned for them.
LASTING = ("chain", "gram", "logistic", "layernorm", "convolution", "matmul")


@pytest.fixture(scope="module", autouse=True)
def first_run():
    """Imports, and buffers that stay, are there before anything is measured."""
    peak("chain", Loaded)


@cache
def plan_and_main(name):
    """The plan of a benchmark, and its module's main."""
    one = BENCHMARKS[name]
    module = xla2py.load(one.text(one.rows(size_in_bytes(DATA))))
    memory = memory_of(name)
    return plan_of(module, memory=memory), xla2py.emit(module, "dask", format=False, memory=memory).load().main


def memory_of(name):
    return MORE_MEMORY.get(name, MEMORY)


def peak(name, given):
    """What a run of a benchmark holds of its large inputs, made into what main is given, and of the rest."""
    _, main = plan_and_main(name)
    one = BENCHMARKS[name]
    n = one.rows(size_in_bytes(DATA))
    arguments = [*(given(numbers(*shape)) for shape in one.large(n)), *one.small(n)]
    return peak_of(sum(result.sum() for result in leaves(main(*arguments))))


def check_peak(name, given, least, planned):
    """A run takes at least so many bytes, and no more than are planned."""
    most = planned - PROCESS_BYTES + ASIDE
    assert least <= peak_within(lambda: peak(name, given), most, least) <= most


@pytest.mark.parametrize("name", much([*BENCHMARKS][::10], BENCHMARKS))
def test_a_run_takes_what_is_planned_and_no_more(name):
    plan, _ = plan_and_main(name)
    assert plan.file_peak_bytes <= plan.peak_bytes <= size_in_bytes(memory_of(name))
    check_peak(name, Loaded, 0, plan.peak_bytes)


@pytest.mark.parametrize("name", much(LASTING[::2], LASTING))
def test_a_plan_is_no_more_than_a_few_times_what_runs_take(name):
    planned = plan_and_main(name)[0].peak_bytes
    check_peak(name, Loaded, (planned - PROCESS_BYTES) / SLACK, inf)


@pytest.mark.parametrize(
    "name, data, expected",
    [
        ("chain", "64MiB", -1),  # one chunk
        ("chain", "2GiB", 30),  # malloc hands the memory of a result out again
        ("convolution", "2GiB", 30),
        ("chain", "16GiB", 128),  # fewer tasks
        ("gram", "2GiB", 128),  # only read, and summed up
        ("logistic", "2GiB", 128),
    ],
)
def test_chunks_of_what_tasks_make_are_small_while_they_are_few(name, data, expected):
    one = BENCHMARKS[name]
    n = one.rows(size_in_bytes(data))
    chunks = dict(plan_of(one.text(n)).chunks).get("x0" if name == "chain" else "x")
    if expected == -1:
        assert chunks is None
        return
    sizes = [size if length == -1 else length for length, size in zip(chunks, one.large(n)[0], strict=True)]
    assert 4 * np.prod(sizes) >> 20 == expected


@pytest.mark.parametrize("name", much([*BENCHMARKS][3::10], BENCHMARKS))
def test_a_run_on_files_takes_what_is_planned_for_files(name, tmp_path):
    def file(array):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.npy"
        np.save(path, array)
        return np.load(path, mmap_mode="r")

    planned = plan_and_main(name)[0].file_peak_bytes
    check_peak(name, file, planned / 2 - PROCESS_BYTES, planned)


def test_memory_is_planned_for_as_many_threads_as_there_are():
    one = BENCHMARKS["chain"]
    text = one.text(one.rows(size_in_bytes("1GiB")))
    usual, few, many = (xla2py.emit(text, "dask", memory="256MiB", threads=n) for n in ("", 2, 16))
    assert [module.plan.threads for module in (usual, few, many)] == [8, 2, 16]
    lengths = [module.plan.chunks[0][1][0] for module in (usual, few, many)]
    assert lengths[1] > lengths[0] > lengths[2]
    assert all(module.plan.peak_bytes <= size_in_bytes("256MiB") for module in (usual, few, many))
    assert "# Planned for up to 16 threads.\n" in many.source
    assert " --threads 16 --memory 256MiB\n" in many.source
    alike = [plan_of(text, chunks="1MiB", threads=str(n)) for n in (2, 16)]
    tasks = [plan.peak_bytes - PROCESS_BYTES for plan in alike]
    assert tasks[1] == 8 * tasks[0]


def test_the_number_of_threads_must_be_known():
    with pytest.raises(UsageError, match=r"XP418: memory for Dask is planned for a number of threads"):
        xla2py.emit(BENCHMARKS["chain"].text(1024), "dask", threads="auto")


def test_the_graph_of_many_tasks_is_counted():
    one = BENCHMARKS["chain"]
    text = one.text(one.rows(size_in_bytes("64MiB")))
    few, many = (plan_of(text, chunks=chunks) for chunks in ("64KiB", "8KiB"))
    assert [plan.phases[0].tasks for plan in (few, many)] == [1024, 8192]
    assert few.file_peak_bytes < PROCESS_BYTES + (4 << 20)
    assert many.file_peak_bytes > PROCESS_BYTES + TASK_BYTES * (8192 - FEW_TASKS)


def test_a_refusal_tells_what_the_best_chunks_need():
    """Smaller ones have more tasks: three steps of rolls in chunks of 512 KiB took 130 MiB where 116 were planned."""
    text = BENCHMARKS["heat"].text(BENCHMARKS["heat"].rows(size_in_bytes("512MiB")))
    with pytest.raises(UnsupportedError, match=r"the program needs about 15. MiB in chunks and may use 128MiB"):
        plan_of(text, memory="128MiB")
    assert size_in_bytes("128MiB") < plan_of(text, memory="160MiB").file_peak_bytes <= size_in_bytes("160MiB")


def test_blocks_that_dask_joins_are_counted_though_they_lie_in_files():
    text = """ENTRY main {
  x = f32[65536,256] parameter(0)
  y = f32[256,16] parameter(1)
  ROOT r = f32[65536,16] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""
    (phase,) = plan_of(text, chunks="1MiB").phases
    assert phase.file_task_bytes >= 1 << 20


def test_places_in_sorted_columns_have_64_bits():
    text = """
less { a = f32[] parameter(0)  b = f32[] parameter(1)  i = s32[] parameter(2)  j = s32[] parameter(3)
  ROOT c = pred[] compare(a, b), direction=LT }
ENTRY main {
  x = f32[65536,64] parameter(0)
  i = s32[65536,64] iota(), iota_dimension=0
  sorted = (f32[65536,64], s32[65536,64]) sort(x, i), dimensions={0}, is_stable=true, to_apply=less
  ROOT r = s32[65536,64] get-tuple-element(sorted), index=1
}"""
    (phase,) = plan_of(text, chunks="1MiB").phases
    assert phase.task_bytes >= (4 + 8 + 4) * (1 << 18)


@pytest.mark.parametrize(
    ("memory", "name"),
    crossed(["160MiB", "200MiB", "256MiB", "300MiB", "400MiB"], ["layernorm", "convolution", "roll"]),
)
def test_there_is_room_for_what_malloc_keeps_and_little_more(name, memory):
    one = BENCHMARKS[name]
    plan = plan_of(one.text(one.rows(size_in_bytes("2GiB"))), memory=memory)
    room = size_in_bytes(memory) - PROCESS_BYTES
    assert 0.7 * room <= (1 + KEPT) * (plan.peak_bytes - PROCESS_BYTES) <= room
