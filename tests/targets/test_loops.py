"""Loops that walk along an axis that is cut: the results are NumPy's."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.counted_loops import counted_loop
from xla2py.tests.targets.running import differences, on_dask, on_numpy

dask = pytest.importorskip("dask", reason="Dask is not installed")


def scan(place: str, *, also_reads: bool = False) -> str:
    """A state, and what it was after each step; steps take row ``place`` of 40."""
    stacked = "before" if also_reads else "new_h"
    return counted_loop(
        40,
        {"h": "f32[6]", "xs": "f32[40,6]", "out": "f32[40,6]"},
        f"""
        zero = s32[] constant(0)
        last = s32[] constant(39)
        backward = s32[] subtract(last, i)
        row = f32[1,6] dynamic-slice(xs, {place}, zero), dynamic_slice_sizes={{1,6}}
        x = f32[6] reshape(row)
        half = f32[] constant(0.5)
        halves = f32[6] broadcast(half), dimensions={{}}
        scaled = f32[6] multiply(h, halves)
        moved = f32[6] add(scaled, x)
        new_h = f32[6] tanh(moved)
        kept = f32[1,6] dynamic-slice(out, {place}, zero), dynamic_slice_sizes={{1,6}}
        earlier = f32[6] reshape(kept)
        before = f32[6] add(earlier, new_h)
        result = f32[1,6] reshape({stacked})
        new_out = f32[40,6] dynamic-update-slice(out, result, {place}, zero)
        """,
        given="""xs = f32[40,6] parameter(0)
        h = f32[6] parameter(1)
        value = f32[] constant(1)
        out = f32[40,6] broadcast(value), dimensions={}""",
        behind="ROOT r = (f32[6], f32[40,6]) tuple(h_end, out_end)",
    )


@pytest.mark.parametrize("chunks", ["1", "7", "64B", "256B", "1MiB"])
@pytest.mark.parametrize(
    "text",
    [scan("i"), scan("backward"), scan("i", also_reads=True)],
    ids=["forward", "backward", "what is stored is read"],
)
def test_states_of_a_scan_are_those_of_numpy(text: str, chunks: str) -> None:
    numbers = np.random.default_rng(0)
    arguments = [numbers.standard_normal((40, 6), np.float32), numbers.standard_normal(6, np.float32)]
    found = on_dask(text, arguments, np.copy, chunks)
    assert not differences(on_numpy(text, arguments), found)


def writes(place: str) -> str:
    """A loop that only writes rows, at places that are computed, into an array that is cut along both axes."""
    return counted_loop(
        5,
        {"x": "f32[40,6]", "places": "s32[5]", "rows": "f32[5,6]"},
        f"""
        zero = s32[] constant(0)
        seven = s32[] constant(7)
        square = s32[] multiply(i, i)
        counted = s32[] remainder(square, seven)
        found = s32[1] dynamic-slice(places, i), dynamic_slice_sizes={{1}}
        given = s32[] reshape(found)
        row = f32[1,6] dynamic-slice(rows, i, zero), dynamic_slice_sizes={{1,6}}
        new_x = f32[40,6] dynamic-update-slice(x, row, {place}, zero)
        """,
        given="x = f32[40,6] parameter(0)  places = s32[5] parameter(1)  rows = f32[5,6] parameter(2)",
        behind="ROOT r = f32[40,6] copy(x_end)",
    )


def written(place: str) -> tuple[str, list[np.ndarray]]:
    random = np.random.default_rng(1)
    rows = [random.standard_normal(shape).astype(np.float32) for shape in ((40, 6), (5, 6))]
    return writes(place), [rows[0], np.int32([39, 7, 7, 99, -3]), rows[1]]


@pytest.mark.parametrize("chunks", ["64B", "100B", "1KiB"])
@pytest.mark.parametrize("place", ["counted", "given"])
def test_writes_at_computed_places_into_what_is_cut(place, chunks):
    text, given = written(place)
    source = xla2py.emit(text, "dask", chunks=chunks).source
    assert ("= scatter_at_in_chunks(" in source) == (chunks != "1KiB")
    (wanted,), (found,) = on_numpy(text, given), on_dask(text, given, np.copy, chunks)
    assert differences([wanted], [found]) == []


def test_a_loop_within_one_task_changes_its_own_copy():
    text, given = written("given")
    source = xla2py.emit(text, "dask").source
    assert source.count(".copy()") == 1
    assert source.index(".copy()") < source.index("for i in range(5)")
    (wanted,), (found,) = on_numpy(text, given), on_dask(text, given, np.copy)
    assert differences([wanted], [found]) == []


TRAINING = counted_loop(
    3,
    {"w": "f32[6]", "x": "f32[40,6]"},
    """
    zero = f32[] constant(0)
    features = f32[40,6] tanh(x)
    weights = f32[40,6] broadcast(w), dimensions={1}
    weighted = f32[40,6] multiply(features, weights)
    total = f32[6] reduce(weighted, zero), dimensions={0}, to_apply=add
    new_w = f32[6] tanh(total)
    """,
    given="x = f32[40,6] parameter(0)  w = f32[6] parameter(1)",
    behind="ROOT r = f32[6] copy(w_end)",
    head="add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }",
)


def test_what_is_cut_is_computed_again_in_each_step():
    """Chunks of it would wait in memory from one step to the next, until there are all of them."""
    source = xla2py.emit(TRAINING, "dask", chunks="256B").source
    assert source.index("for _ in range(3)") < source.index("da.blockwise(") < source.index("np.tanh(x)")
    random = np.random.default_rng(2)
    given = [random.standard_normal(shape).astype(np.float32) for shape in ((40, 6), (6,))]
    (wanted,), (found,) = on_numpy(TRAINING, given), on_dask(TRAINING, given, np.copy, "256B")
    assert differences([wanted], [found]) == []
