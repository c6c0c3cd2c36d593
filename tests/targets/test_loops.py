"""Loops that walk along an axis that is cut: the results are NumPy's."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.targets.running import differences, on_dask, on_numpy

dask = pytest.importorskip("dask", reason="Dask is not installed")


def scan(place: str, *, also_reads: bool = False) -> str:
    """A state, and what it was after each step; steps take row ``place`` of 40."""
    stacked = "before" if also_reads else "new"
    return f"""HloModule scan
body {{
  carried = (s32[], f32[6], f32[40,6], f32[40,6]) parameter(0)
  i = s32[] get-tuple-element(carried), index=0
  h = f32[6] get-tuple-element(carried), index=1
  xs = f32[40,6] get-tuple-element(carried), index=2
  out = f32[40,6] get-tuple-element(carried), index=3
  zero = s32[] constant(0)
  one = s32[] constant(1)
  last = s32[] constant(39)
  backward = s32[] subtract(last, i)
  row = f32[1,6] dynamic-slice(xs, {place}, zero), dynamic_slice_sizes={{1,6}}
  x = f32[6] reshape(row)
  half = f32[] constant(0.5)
  halves = f32[6] broadcast(half), dimensions={{}}
  scaled = f32[6] multiply(h, halves)
  moved = f32[6] add(scaled, x)
  new = f32[6] tanh(moved)
  kept = f32[1,6] dynamic-slice(out, {place}, zero), dynamic_slice_sizes={{1,6}}
  earlier = f32[6] reshape(kept)
  before = f32[6] add(earlier, new)
  result = f32[1,6] reshape({stacked})
  stored = f32[40,6] dynamic-update-slice(out, result, {place}, zero)
  next = s32[] add(i, one)
  ROOT r = (s32[], f32[6], f32[40,6], f32[40,6]) tuple(next, new, xs, stored)
}}
condition {{
  carried = (s32[], f32[6], f32[40,6], f32[40,6]) parameter(0)
  i = s32[] get-tuple-element(carried), index=0
  n = s32[] constant(40)
  ROOT more = pred[] compare(i, n), direction=LT
}}
ENTRY main {{
  xs = f32[40,6] parameter(0)
  h = f32[6] parameter(1)
  start = s32[] constant(0)
  value = f32[] constant(1)
  out = f32[40,6] broadcast(value), dimensions={{}}
  first = (s32[], f32[6], f32[40,6], f32[40,6]) tuple(start, h, xs, out)
  looped = (s32[], f32[6], f32[40,6], f32[40,6]) while(first), condition=condition, body=body
  state = f32[6] get-tuple-element(looped), index=1
  states = f32[40,6] get-tuple-element(looped), index=3
  ROOT r = (f32[6], f32[40,6]) tuple(state, states)
}}
"""


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
    return f"""HloModule writes
body {{
  carried = (s32[], f32[40,6], s32[5], f32[5,6]) parameter(0)
  i = s32[] get-tuple-element(carried), index=0
  x = f32[40,6] get-tuple-element(carried), index=1
  places = s32[5] get-tuple-element(carried), index=2
  rows = f32[5,6] get-tuple-element(carried), index=3
  zero = s32[] constant(0)
  one = s32[] constant(1)
  seven = s32[] constant(7)
  square = s32[] multiply(i, i)
  counted = s32[] remainder(square, seven)
  found = s32[1] dynamic-slice(places, i), dynamic_slice_sizes={{1}}
  given = s32[] reshape(found)
  row = f32[1,6] dynamic-slice(rows, i, zero), dynamic_slice_sizes={{1,6}}
  stored = f32[40,6] dynamic-update-slice(x, row, {place}, zero)
  next = s32[] add(i, one)
  ROOT r = (s32[], f32[40,6], s32[5], f32[5,6]) tuple(next, stored, places, rows)
}}
condition {{
  carried = (s32[], f32[40,6], s32[5], f32[5,6]) parameter(0)
  i = s32[] get-tuple-element(carried), index=0
  n = s32[] constant(5)
  ROOT more = pred[] compare(i, n), direction=LT
}}
ENTRY main {{
  x = f32[40,6] parameter(0)
  places = s32[5] parameter(1)
  rows = f32[5,6] parameter(2)
  start = s32[] constant(0)
  first = (s32[], f32[40,6], s32[5], f32[5,6]) tuple(start, x, places, rows)
  looped = (s32[], f32[40,6], s32[5], f32[5,6]) while(first), condition=condition, body=body
  ROOT r = f32[40,6] get-tuple-element(looped), index=1
}}
"""


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


TRAINING = """HloModule training
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
body {
  carried = (s32[], f32[6], f32[40,6]) parameter(0)
  i = s32[] get-tuple-element(carried), index=0
  w = f32[6] get-tuple-element(carried), index=1
  x = f32[40,6] get-tuple-element(carried), index=2
  one = s32[] constant(1)
  zero = f32[] constant(0)
  features = f32[40,6] tanh(x)
  weights = f32[40,6] broadcast(w), dimensions={1}
  weighted = f32[40,6] multiply(features, weights)
  total = f32[6] reduce(weighted, zero), dimensions={0}, to_apply=add
  new = f32[6] tanh(total)
  next = s32[] add(i, one)
  ROOT r = (s32[], f32[6], f32[40,6]) tuple(next, new, x)
}
condition {
  carried = (s32[], f32[6], f32[40,6]) parameter(0)
  i = s32[] get-tuple-element(carried), index=0
  n = s32[] constant(3)
  ROOT more = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x = f32[40,6] parameter(0)
  w = f32[6] parameter(1)
  start = s32[] constant(0)
  first = (s32[], f32[6], f32[40,6]) tuple(start, w, x)
  looped = (s32[], f32[6], f32[40,6]) while(first), condition=condition, body=body
  ROOT r = f32[6] get-tuple-element(looped), index=1
}
"""


def test_what_is_cut_is_computed_again_in_each_step():
    """Chunks of it would wait in memory from one step to the next, until there are all of them."""
    source = xla2py.emit(TRAINING, "dask", chunks="256B").source
    assert source.index("for _ in range(3)") < source.index("da.blockwise(") < source.index("np.tanh(x)")
    random = np.random.default_rng(2)
    given = [random.standard_normal(shape).astype(np.float32) for shape in ((40, 6), (6,))]
    (wanted,), (found,) = on_numpy(TRAINING, given), on_dask(TRAINING, given, np.copy, "256B")
    assert differences([wanted], [found]) == []
