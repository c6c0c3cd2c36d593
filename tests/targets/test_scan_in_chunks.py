"""Scans along an axis that is cut: a task does the steps of one chunk, and the results are NumPy's and XLA's."""

import numpy as np
import pytest

import xla2py
from xla2py.targets.dask.planning import scans
from xla2py.targets.dask.planning.estimates import PROCESS_BYTES
from xla2py.tests.recording.lazy_jax import jax
from xla2py.tests.targets.chunked import peak_of, peak_within, plan_of
from xla2py.tests.targets.running import differences
from xla2py.tests.targets.scans import (
    F32,
    NEAR_MISSES,
    PROGRAMS,
    N,
    along_the_second_axis,
    both_ways,
    computed,
    descent,
    emitted,
    epochs,
    expected,
    inputs,
    moving_average,
    numbered,
    reads_all_rows_too,
    reads_two_rows,
    recurrent,
    recurrent_backwards,
    writes_backwards,
)
from xla2py.tests.whole import crossed

dask = pytest.importorskip("dask", reason="Dask is not installed")

import dask.array as da  # noqa: E402


@pytest.mark.parametrize(("function", "chunks"), crossed(PROGRAMS, ["1", "7", "64B", "512B"]))
def test_results_are_those_of_numpy_and_xla(function, chunks):
    generated = emitted(function, chunks=chunks, format=False)
    assert "loop_in_chunks(" in generated.source or chunks == "512B"
    found = computed(generated.load().main, inputs(function))
    for values in expected(function):
        assert not differences(values, found)


@pytest.mark.parametrize(
    ("function", "lengths"),
    crossed([descent, both_ways, along_the_second_axis, numbered], [(13, 1, 0, 26), (40,), (39, 1)]),
)
def test_chunks_may_be_others_in_a_call(function, lengths):
    main = emitted(function, chunks="7", format=False).load().main
    arguments = inputs(function)
    axis = 1 if function is along_the_second_axis else 0
    chunks = {"x": tuple(lengths if k == axis else (n,) for k, n in enumerate(arguments[0].shape))}
    found = computed(main, arguments, chunks=chunks)
    assert not differences(expected(function)[0], found)


def test_chunks_of_several_arrays_may_differ():
    main = emitted(descent, chunks="7", format=False).load().main
    found = computed(main, inputs(descent), chunks={"x": (9, 16, 5), "y": (31, -1)})
    assert not differences(expected(descent)[0], found)


@pytest.mark.parametrize("given", ["memmap", "zarr", "dask"])
def test_tasks_read_files_and_take_lazy_arrays(given, tmp_path):
    x, *others = inputs(recurrent)
    if given == "memmap":
        np.save(tmp_path / "x.npy", x)
        x = np.load(tmp_path / "x.npy", mmap_mode="r")
    elif given == "zarr":
        zarr = pytest.importorskip("zarr")
        x = zarr.array(x, chunks=(11, 4))
    else:
        x = da.from_array(x, chunks=(17, 3))
    main = emitted(recurrent, chunks="7", format=False).load().main
    assert not differences(expected(recurrent)[0], computed(main, [x, *others]))


def test_the_steps_of_a_chunk_read_like_numpy():
    source = emitted(recurrent, chunks="512B", annotate="none").source
    assert (
        """
    h, out = loop_in_chunks(
        recurrent_steps,
        carries=(h,),
        rows=(x,),
        whole=(w_in, w_state, bias),
        out=(out,),
    )
    return h, out


def recurrent_steps(
    h: Block, x: Block, w_in: Block, w_state: Block, bias: Block
) -> tuple[Block, Block]:
    with np.errstate(all="ignore"):
        hs = np.empty((len(x), 8), dtype=np.float32)
        for i in range(len(x)):
            h = np.tanh(x[i] @ w_in + h @ w_state + bias)
            hs[i] = h
        return h, hs
"""
        in source
    )
    assert "for i in reversed(range(len(x))):" in emitted(recurrent_backwards, chunks="512B").source


@pytest.mark.parametrize("function", NEAR_MISSES, ids=lambda function: function.__name__)
def test_loops_that_read_other_rows_are_loops_of_main(function, monkeypatch):
    monkeypatch.setattr(scans, "LARGEST_STEP", 100)  # smaller than all arrays here, larger than a row
    generated = emitted(function, chunks="7", format=False)
    assert "loop_in_chunks(" not in generated.source
    found = computed(generated.load().main, inputs(function))
    assert not differences(expected(function)[0], found)


def test_small_arrays_of_which_steps_read_other_rows_go_whole_to_all_tasks():
    generated = emitted(reads_two_rows, chunks="7", format=False)
    assert "whole=(x,), out=(out,), numbered=True" in generated.source
    found = computed(generated.load().main, inputs(reads_two_rows))
    assert not differences(expected(reads_two_rows)[0], found)


def test_rows_that_are_read_whole_as_well_are_known_before():
    generated = emitted(reads_all_rows_too, chunks="7", format=False)
    assert "loop_in_chunks(" in generated.source
    assert not differences(expected(reads_all_rows_too)[0], computed(generated.load().main, inputs(reads_all_rows_too)))


def planned(function, shapes, **limits):
    text = jax.jit(function).lower(*(jax.ShapeDtypeStruct(shape, F32) for shape in shapes)).as_text("hlo")
    return text, plan_of(text, **limits)


def test_millions_of_steps_are_a_task_for_each_chunk(tmp_path):
    """A plan knows their number, the graph has it, and memory is that of a chunk."""
    n = 1 << 21
    shapes = [(n, 6), (8,), (6, 8), (8, 8), (8,)]
    text, plan = planned(recurrent, shapes, memory="128MiB")
    ((_, (length, width)),) = plan.chunks
    (phase,) = plan.phases
    count = -(-n // length)
    assert (phase.name, phase.tasks, phase.in_turn, width, plan.passes) == ("steps", count, True, -1, 1)
    assert 4 <= count <= 100 and plan.peak_bytes <= 128 << 20
    assert 4 * length * (6 + 2 * 8) <= phase.task_bytes <= 4 * length * (6 + 2 * 8) + 4096
    x = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", F32, shapes[0])
    _, states = (
        xla2py.emit(text, "dask", memory="128MiB").load().main(x, *(np.zeros(shape, F32) for shape in shapes[1:]))
    )
    graph = dict(states.dask)
    assert len(graph) <= 4 * count + 20


def test_a_plan_counts_a_written_chunk_for_each_thread():
    _, plan = planned(moving_average, [(65_536, 256)], chunks="1MiB", threads="8")
    assert plan.peak_bytes - PROCESS_BYTES >= (8 + 2) * (1 << 20)


def test_a_loop_of_main_counts_the_tasks_of_all_its_steps(monkeypatch):
    monkeypatch.setattr(scans, "LARGEST_STEP", 100)
    _, plan = planned(writes_backwards, [(N, 6)], chunks="7")
    assert all(phase.tasks % N == 0 for phase in plan.phases) and plan.phases
    monkeypatch.undo()
    _, plan = planned(epochs, PROGRAMS[epochs], chunks="7")
    assert [(phase.name, phase.tasks) for phase in plan.phases] == [("steps", 3 * 6)]


def test_a_run_holds_a_chunk_of_a_long_scan():
    """Of 2**16 rows chunks of 2**10, for a short step."""
    n = 1 << 16
    text, plan = planned(moving_average, [(n, 16)], chunks="64KiB")
    assert plan.phases[0].tasks == 64
    mean, means = xla2py.emit(text, "dask", chunks="64KiB", checks=False).load().main(np.ones((n, 16), F32))
    last = means[-1].compute(scheduler="sync")
    total, most = means.sum(axis=0), 0.75 * means.nbytes  # threads may be some chunks ahead
    assert peak_within(lambda: peak_of(total, threads=2), most) <= most
    np.testing.assert_allclose(last, mean.compute(), rtol=1e-6)
    np.testing.assert_allclose(total.compute(), n - 9, rtol=1e-3)


def test_a_loop_that_only_reads_what_is_there_as_a_whole():
    """The matrix is planned in chunks for what follows, and whole where the loop reads it."""
    a = 3 * np.eye(4, dtype=np.float32) + np.linspace(-0.3, 0.3, 16, dtype=np.float32).reshape(4, 4)
    text = jax.jit(jax.scipy.linalg.sqrtm).lower(a).as_text("hlo")
    wanted = xla2py.emit(text).load().main(a)
    found = xla2py.emit(text, "dask", chunks="3").load().main(a).compute(scheduler="sync")
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
