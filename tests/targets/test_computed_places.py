"""Parts that are read and written at computed places along axes that are cut: the values are XLA's."""

from itertools import product

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import run_hlo_in_child
from xla2py.tests.targets.running import differences, leaves, uneven
from xla2py.tests.whole import crossed

dask = pytest.importorskip("dask", reason="Dask is not installed")

SIZES = 12, 9, 7
WINDOWS = {
    1: [(1,), (4,)],
    2: [window for window in product((1, 4, 12), (1, 4, 9)) if window != (12, 9)],
    3: [(1, 1, 1), (4, 4, 4), (1, 4, 7), (4, 1, 3), (12, 1, 1), (12, 4, 1), (1, 9, 3), (4, 9, 1), (1, 1, 7)],
}
STARTS = {  # along axis {k} of a part that fits at {count} places
    "clamped": "low{k} = s32[] constant(0)  high{k} = s32[] constant({last})"
    "  at{k} = s32[] clamp(low{k}, i{k}, high{k})",
    "modulo": "n{k} = s32[] constant({count})  rest{k} = s32[] remainder(i{k}, n{k})  zero{k} = s32[] constant(0)"
    "  is_less{k} = pred[] compare(rest{k}, zero{k}), direction=LT  more{k} = s32[] add(rest{k}, n{k})"
    "  at{k} = s32[] select(is_less{k}, more{k}, rest{k})",
    "masked": "three{k} = s32[] constant(3)  at{k} = s32[] and(i{k}, three{k})",
    "unsigned": "n{k} = u8[] constant({count})  byte{k} = u8[] convert(i{k})"
    "  rest{k} = u8[] remainder(byte{k}, n{k})  at{k} = s64[] convert(rest{k})",
    "largest": "some{k} = f32[{count}] slice(v), slice={{[0:{count}]}}"
    "  place{k} = s32[{count}] iota(), iota_dimension=0"
    "  least{k} = f32[] constant(-inf)  zero{k} = s32[] constant(0)"
    "  both{k} = (f32[], s32[]) reduce(some{k}, place{k}, least{k}, zero{k}), dimensions={{0}}, to_apply=larger"
    "  at{k} = s32[] get-tuple-element(both{k}), index=1",
    "anything": "at{k} = s32[] negate(i{k})",
    "counter": "n{k} = s32[] constant({count})  at{k} = s32[] remainder(i, n{k})",
}
LARGER = """
larger { a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)
  above = pred[] compare(a, b), direction=GT  same = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT  is_first = pred[] and(same, before)  is = pred[] or(above, is_first)
  c = f32[] select(is, a, b)  k = s32[] select(is, i, j)  ROOT r = (f32[], s32[]) tuple(c, k) }
"""


def shape(sizes):
    return f"f32[{','.join(map(str, sizes))}]"


def moves(kind, window):
    """A part that is read, squared without its unit axes, and one that is written, at places of one kind."""
    x, part, row = shape(SIZES[: len(window)]), shape(window), shape([n for n in window if n > 1])
    counts = [n - size + 1 for n, size in zip(SIZES, window, strict=False)]
    places = ", ".join(f"at{k}" for k in range(len(window)))
    return "\n  ".join(
        (
            *(STARTS[kind].format(k=k, count=count, last=count - 1) for k, count in enumerate(counts)),
            f"part = {part} dynamic-slice(x, {places}), dynamic_slice_sizes={{{part[4:-1]}}}",
            f"row = {row} reshape(part)  square = {row} multiply(row, row)",
            f"other = {part} negate(part)  written = {x} dynamic-update-slice(x, other, {places})",
        )
    )


def parameters(ndim, first=0):
    numbers = [f"i{k} = s32[] parameter({first + 2 + k})" for k in range(ndim)]
    return "  ".join((f"x = {shape(SIZES[:ndim])} parameter({first})", f"v = f32[12] parameter({first + 1})", *numbers))


def program(kind, ndim):
    """All parts of an array of so many axes, every other one of what is computed."""
    x, given = shape(SIZES[:ndim]), "".join(f", i{k}" for k in range(ndim))
    functions, calls, results = [], [], []
    for number, window in enumerate(WINDOWS[ndim]):
        row = shape([n for n in window if n > 1])
        functions.append(f"""
moves{number} {{ {parameters(ndim)}
  {moves(kind, window)}
  ROOT r = ({row}, {x}) tuple(square, written) }}""")
        calls.append(
            f"both{number} = ({row}, {x}) call({'twice' if number % 2 else 'x'}, v{given}), to_apply=moves{number}"
        )
        for k, result in enumerate((row, x)):
            calls.append(f"result{number}_{k} = {result} get-tuple-element(both{number}), index={k}")
            results.append((result, f"result{number}_{k}"))
    types, names = (", ".join(column) for column in zip(*results, strict=True))
    return f"""{LARGER}{"".join(functions)}
ENTRY main {{ {parameters(ndim)}
  twice = {x} add(x, x)
  {"  ".join(calls)}
  ROOT r = ({types}) tuple({names}) }}"""


def loop(window):
    """Parts at places that a loop counts, read and written in each of seven rounds."""
    x, row = shape(SIZES[: len(window)]), shape([n for n in window if n > 1])
    carried = f"(s32[], {x}, {row})"
    return f"""
body {{ c = {carried} parameter(0)  i = s32[] get-tuple-element(c), index=0  x = {x} get-tuple-element(c), index=1
  sum = {row} get-tuple-element(c), index=2
  {moves("counter", window)}
  more = {row} add(sum, square)  one = s32[] constant(1)  next = s32[] add(i, one)
  ROOT r = {carried} tuple(next, written, more) }}
goes_on {{ c = {carried} parameter(0)  i = s32[] get-tuple-element(c), index=0  n = s32[] constant(7)
  ROOT r = pred[] compare(i, n), direction=LT }}
ENTRY main {{ x = {x} parameter(0)  zero = s32[] constant(0)  nothing = f32[] constant(0)
  sum = {row} broadcast(nothing), dimensions={{}}  c = {carried} tuple(zero, x, sum)
  w = {carried} while(c), condition=goes_on, body=body
  y = {x} get-tuple-element(w), index=1  total = {row} get-tuple-element(w), index=2
  ROOT r = ({x}, {row}) tuple(y, total) }}"""


def inputs(text):
    rng = np.random.default_rng(3)
    return [
        rng.integers(-40, 40, ()).astype(np.int32) if not p.array_shape.dimensions
        else rng.integers(-9, 9, p.array_shape.dimensions).astype(np.float32)
        for p in xla2py.load(text).entry.parameters
    ]  # fmt: skip


def check(text, chunks, made_of=uneven):
    """Assert that the results are XLA's, that nothing is done in one chunk, and that types are known before."""
    given = inputs(text)
    generated = xla2py.emit(text, "dask", chunks=chunks, format=False)
    assert "# one chunk: " not in generated.source
    lazy = leaves(generated.load().main(*map(made_of, given)))
    found = dask.compute(*lazy, scheduler="sync")
    assert [(x.shape, x.dtype) for x in lazy] == [(x.shape, x.dtype) for x in found]
    assert differences(run_hlo_in_child(text, *given), list(found)) == []


@pytest.mark.parametrize(("kind", "ndim"), crossed([kind for kind in STARTS if kind != "counter"], [2, 3, 1]))
def test_parts_at_places_that_are_computed(kind, ndim):
    check(program(kind, ndim), "5")


@pytest.mark.parametrize("kind", ["modulo", "anything"])
def test_parts_of_arrays_in_short_chunks(kind):
    check(program(kind, 2), "2", np.copy)


@pytest.mark.parametrize("window", [(4,), (1,), (4, 1), (1, 9), (4, 4), (1, 1, 7), (4, 4, 4)])
def test_parts_at_places_that_a_loop_counts(window):
    check(loop(window), "5")
