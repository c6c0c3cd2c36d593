"""What plans say about memory beside what runs take: the programs of the benchmark, small."""

import tracemalloc

import numpy as np
import pytest

import xla2py
from xla2py.benchmarks.out_of_core import BENCHMARKS, numbers
from xla2py.targets.base import Limits, load_target
from xla2py.targets.dask.arrangement import size_in_bytes
from xla2py.targets.dask.estimates import PROCESS_BYTES, THREADS
from xla2py.transpile.passes import run_pipeline

dask = pytest.importorskip("dask", reason="Dask is not installed")

DATA, MEMORY = "24MiB", "112MiB"
ASIDE = 4 << 20  # bytes of graphs, and of what Python does meanwhile
SLACK = 3  # a plan may have so many times what a run takes: threads seldom all hold the most at once


class Loaded:
    """An array whose slices are copies, as those of zarr are."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.ndim = array, array.shape, array.dtype, array.ndim

    def __getitem__(self, index):
        return np.array(self.array[index])


def planned(name):
    one = BENCHMARKS[name]
    target = load_target("dask")
    program = run_pipeline(xla2py.load(one.text(one.rows(size_in_bytes(DATA)))), target.without)
    return target.plan(program, Limits(memory=MEMORY))


def peak_of_a_run(name, given):
    """The bytes that a run allocates, with large inputs made into what main is given."""
    one = BENCHMARKS[name]
    n = one.rows(size_in_bytes(DATA))
    main = xla2py.emit(one.text(n), "dask", memory=MEMORY).load().main
    inputs = [given(numbers(*shape)) for shape in one.large(n)]
    result = main(*inputs, *one.small(n)).sum()
    result.compute(num_workers=THREADS)  # imports, and buffers that stay
    tracemalloc.start()
    result.compute(num_workers=THREADS)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_run_takes_what_is_planned_and_no_more(name):
    plan = planned(name)
    assert plan.mapped_peak_bytes <= plan.peak_bytes <= size_in_bytes(MEMORY)
    peak = peak_of_a_run(name, Loaded)
    assert peak <= plan.peak_bytes - PROCESS_BYTES + ASIDE
    assert plan.peak_bytes - PROCESS_BYTES <= SLACK * peak


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
    target = load_target("dask")
    plan = target.plan(run_pipeline(xla2py.load(one.text(n)), target.without), Limits())
    chunks = dict(plan.chunks).get("x0" if name == "chain" else "x")
    if expected == -1:
        assert chunks is None
        return
    sizes = [size if length == -1 else length for length, size in zip(chunks, one.large(n)[0], strict=True)]
    assert 4 * np.prod(sizes) >> 20 == expected


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_run_on_files_takes_what_is_planned_for_files(name, tmp_path):
    plan = planned(name)

    def file(array):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.npy"
        np.save(path, array)
        return np.load(path, mmap_mode="r")

    peak = peak_of_a_run(name, file)
    assert peak <= plan.mapped_peak_bytes - PROCESS_BYTES + ASIDE
    assert plan.mapped_peak_bytes <= 2 * (PROCESS_BYTES + peak)
