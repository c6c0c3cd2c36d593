"""Arrays that are moved, joined, cut or written into each other along axes in chunks, and running combinations."""

import pickle
from math import inf

import numpy as np
import pytest

import xla2py
from xla2py.templates.prelude.chunked import Chunked
from xla2py.templates.prelude.chunked_placing import PlacingUnread, pad_in_chunks, roll_in_chunks, slice_in_chunks
from xla2py.templates.prelude.tiles_in_files import in_files as in_blocks
from xla2py.tests.passes.raising import hlo
from xla2py.tests.recording.lazy_jax import jnp, lax
from xla2py.tests.targets.chunked import Case, check, check_plan
from xla2py.tests.whole import crossed, much
from xla2py.transpile.equivalence.verdicts.comparison import Budget

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")

RNG = np.random.default_rng(0)
X, Y = (RNG.normal(size=(23, 6)).astype(np.float32) for _ in range(2))
SPECIAL = X.copy()
SPECIAL[[3, 20], [1, 1]] = np.nan, np.nan
SPECIAL[[5, 9], 2] = 50  # the first of two
WHOLE = RNG.integers(-9, 9, (23, 6)).astype(np.int32)
CLOSE = Budget(relative=1e-5, absolute=1e-5)


def around(x):
    return x[1:-1, 1:-1] + x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2]


def steps(x):
    for _ in range(3):
        x = x + (jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0) - 2 * x) * 0.25
    return x


CASES = {
    "a roll": (lambda x: x + jnp.roll(x, 3, 0), [X], "roll_in_chunks("),
    "a roll of two axes": (lambda x: jnp.roll(jnp.roll(x * 2, -30, 0), 1, 1), [X], "roll_in_chunks("),
    "a roll of what is computed": (lambda x: jnp.roll(jnp.cumsum(x, 0), -1, 0), [WHOLE], "roll_in_chunks("),
    "steps of rolls": (steps, [X], "roll_in_chunks("),
    "two halves": (lambda x, y: jnp.concatenate([x, y[:7]]) * 2, [X, Y], "concatenate_in_chunks("),
    "three parts": (lambda x, y: jnp.concatenate([x, y, x[::-1]]), [X, Y], "concatenate_in_chunks("),
    "columns": (lambda x, y: jnp.concatenate([x, y * 3], 1), [X, Y], ""),
    "neighbours": (around, [X], "slice_in_chunks("),
    "neighbours of what is computed": (lambda x: around(jnp.cumsum(x, 0)), [WHOLE], "slice_in_chunks("),
    "backwards": (lambda x: x[::-1], [X], "slice_in_chunks("),
    "every other row": (lambda x: x[::2], [X], "slice_in_chunks("),
    "backwards in steps": (lambda x: jnp.cumsum(x, 0)[20:1:-3, ::-2], [WHOLE], "slice_in_chunks("),
    "every third behind some": (lambda x, y: x[2:-1:3] * y[19::-3], [X, Y], "slice_in_chunks("),
    "a row": (lambda x: x[7] * x, [X], ""),
    "a column of some rows": (lambda x: jnp.cumsum(x, 0)[3:19, 4], [WHOLE], ""),
    "a row that is written": (lambda x, y: x.at[7].set(y[3]), [X, Y], ""),
    "every other row that is written": (lambda x: x.at[::2].set(x[1::2].sum()), [WHOLE], ""),
    "a part of a column that is written": (lambda x: x.at[3:19, 4].set(0.5), [X], ""),
    "a border": (lambda x: x.at[1:-1, 1:-1].set(around(x)), [X], "update_slice_in_chunks("),
    "a border that is added to": (lambda x: x.at[2:9].add(1), [X], ""),
    "padding": (lambda x: jnp.pad(x, ((2, 5), (0, 1)), constant_values=-1) * 2, [X], "pad_in_chunks("),
    "lines of a file": (lambda x: x.reshape(-1)[5:99:3], [X], "reshape_in_chunks("),
    "columns as lines": (lambda x: (x * 2).T.reshape(-1)[::7], [X], "reshape_in_chunks("),
    "lines of other lengths": (lambda x: jnp.cumsum(x, 0).reshape(6, 23), [WHOLE], "reshape_in_chunks("),
    "blocks of rows": (lambda x: (x[:20] * 2).reshape(4, 5, 2, 3).transpose(0, 2, 1, 3), [X], "reshape_in_chunks("),
    "an axis of one element": (lambda x: jnp.sort(x[:, 0] * 2).reshape(1, 23, 1), [X], ""),
    "the largest": (lambda x: x.argmax(0), [SPECIAL], "argmax_in_chunks("),
    "the largest of columns": (lambda x: x.argmax(1), [SPECIAL.T.copy()], "argmax_in_chunks("),
    "the smallest": (lambda x: x.argmin(0), [SPECIAL], "argmin_in_chunks("),
    "the smallest of all": (lambda x: jnp.argmin(x), [X[:, 0].copy()], "argmin_in_chunks("),
    "sums": (lambda x: jnp.cumsum(x, 0), [WHOLE], "accumulate_in_chunks(np.add, "),
    "sums along rows": (lambda x: jnp.cumsum(x, 1), [WHOLE.T.copy()], "accumulate_in_chunks(np.add, "),
    "products": (lambda x: jnp.cumprod(x % 3, 0), [WHOLE], "accumulate_in_chunks(np.multiply, "),
    "sums of floats": (lambda x: jnp.cumsum(x, 0), [X], "accumulate_in_chunks(np.add, "),
}


@pytest.mark.parametrize(("name", "chunks"), crossed(CASES, ["1", "5", "11"]))
def test_the_results_are_those_of_numpy(name, chunks):
    function, given, written = CASES[name]
    check(Case(hlo(function, *given), written), chunks, given, CLOSE if "floats" in name else None)


MOVING = ("roll_in", "concatenate_in", "slice_in", "pad_in")
MOVED = [name for name, (*_, written) in CASES.items() if any(move in written for move in MOVING)]


@pytest.mark.parametrize(("name", "chunks"), crossed(MOVED, ["1", "5", "11"]))
def test_files_are_moved_as_arrays_in_memory_are(name, chunks, tmp_path):
    function, given, _ = CASES[name]
    generated = xla2py.emit(hlo(function, *given), "dask", chunks=chunks)
    wanted = xla2py.emit(hlo(function, *given)).load().main(*given)
    module = generated.load()
    module.TILE_BYTES = 1
    found = module.main(*in_files(given, tmp_path)).compute(scheduler="sync")
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def in_files(arrays, folder):
    for k, x in enumerate(arrays):
        np.save(folder / f"{k}.npy", x)
        yield np.load(folder / f"{k}.npy", mmap_mode="r")


def centred(x):
    """Three phases, each of which waits for the last, read the same rolled array."""
    y = jnp.roll(x, 2, 0)
    z = jnp.tanh(y - y.mean(0))
    return jnp.roll(z, -1, 0) * 2 + y + z.max(0)


def test_what_is_read_row_by_row_is_left_in_files(tmp_path):
    x = RNG.normal(size=(5000, 64)).astype(np.float32)
    generated = xla2py.emit(hlo(centred, x), "dask", chunks="300KiB")
    assert generated.source.count("task=PlacingUnread") == 2
    wanted = xla2py.emit(hlo(centred, x)).load().main(x)
    for given in (x, *in_files([x], tmp_path), da.from_array(x, (700, 30))):
        np.testing.assert_allclose(generated.load().main(given).compute(), wanted, rtol=1e-5, atol=1e-5)


def test_what_is_read_as_a_whole_is_not():
    assert "PlacingUnread" not in xla2py.emit(hlo(lambda x: jnp.roll(x, 2, 0), TABLE), "dask", chunks="300KiB").source


CUT = ((7, 7, 7, 2), (4, 2))
PLACED = {
    "roll": (roll_in_chunks, [(5, 1), (0, 1)], lambda x: np.roll(x, (5, 1), (0, 1))),
    "slice": (slice_in_chunks, [(1, 2), (20, 3)], lambda x: x[1:21, 2:5]),
    "steps": (slice_in_chunks, [(2, 0), (7, 3), (3, 2)], lambda x: x[2::3, ::2]),
    "pad": (pad_in_chunks, [-1, [(9, 2), (0, 1)]], lambda x: np.pad(x, [(9, 2), (0, 1)], constant_values=-1)),
}


@pytest.mark.parametrize("name", PLACED)
def test_any_part_of_a_block_that_is_left_can_be_read(name, tmp_path):
    """It is in several chunks of what it was, which are next to each other or have something between them."""
    function, arguments, expected = PLACED[name]
    (x,) = in_files([X], tmp_path)
    for source in (Chunked(x, CUT), in_blocks(da.from_array(X, CUT))):
        placed = function(source, *arguments, chunks=(6, 3), task=PlacingUnread)
        wanted = expected(X)
        for place, box in zip(np.ndindex(placed.numblocks), da.core.slices_from_chunks(placed.chunks), strict=True):
            (block,) = dask.get(placed.dask, [(placed.name, *place)])
            for left in (block, pickle.loads(pickle.dumps(block))):
                np.testing.assert_array_equal(left.read(), wanted[box])
            for part in np.ndindex(block.shape):
                inner = tuple(slice(min(1, k), k + 1) for k in part)
                np.testing.assert_array_equal(block[inner].read(), wanted[box][inner])
                room = np.zeros_like(wanted[box][inner])
                block.read_into(room, inner)
                np.testing.assert_array_equal(room, wanted[box][inner])


TABLE = np.zeros((1 << 14, 64), np.float32)
LARGE = {
    "a roll": (lambda x: x + jnp.roll(x, 1, 0), [TABLE], ("roll", "add")),
    "two halves": (lambda x, y: jnp.concatenate([x, y]) * 2, [TABLE, TABLE], ("concatenate", "multiply")),
    "neighbours": (around, [TABLE], ("getitem", "add")),
    "a border": (lambda x: x.at[1:-1, 1:-1].set(around(x)), [TABLE], ("add", "setitem")),
    "backwards": (lambda x: x[::-1], [TABLE], ("getitem",)),
    "every other row": (lambda x: x[::2], [TABLE], ("getitem",)),
    "backwards in steps": (lambda x: x[::-3, ::-1] + 1, [TABLE], ("getitem", "add")),
    "a row": (lambda x: x[7] * x, [TABLE], ("getitem", "multiply")),
    "a column": (lambda x: x[3:-2, 7], [TABLE], ("getitem",)),
    "a row that is written": (lambda x: x.at[7].set(x[9]), [TABLE], ("getitem", "setitem")),
    "lines": (lambda x: (x * 2).reshape(-1), [TABLE], ("multiply", "reshape")),
    "elements of columns": (lambda x: jnp.exp(x).T.reshape(-1)[::7], [TABLE], ("reshape", "getitem")),
    "rows of a file in pairs": (lambda x: (x.reshape(-1, 128) * 2).sum(0), [TABLE], ()),
    "columns of lines": (lambda x: (x * 2).reshape(32, -1, 64).transpose(0, 2, 1) + 1, [TABLE], ()),
    "every other row that is written": (lambda x: x.at[::2].set(x[1::2]), [TABLE], ("setitem",)),
    "padding": (lambda x: jnp.pad(x, ((1, 1), (0, 0))) * 2, [TABLE], ("pad", "multiply")),
    "the largest": (lambda x: x.argmax(0), [TABLE], ("argmax",)),
    "sums": (lambda x: jnp.cumsum(x, 0), [TABLE], ("cumsum",)),
    "peaks": (lambda x: lax.cummax(x, 0), [TABLE], ("cummax",)),
}


@pytest.mark.parametrize("name", much([*LARGE][::3], LARGE))
def test_a_run_takes_no_more_than_is_planned(name):
    function, given, phases = LARGE[name]
    below = inf if "getitem" in phases or "setitem" in phases else None  # their chunks are much of so little data
    check_plan(hlo(function, *given), given, *phases, below=below, chunks="128KiB")


@pytest.mark.parametrize(
    ("chosen", "rows"),
    [
        (10, (10, 10, 3)),
        ({0: 9}, (9, 9, 5)),
        ((20, -1), (20, 3)),
        ({"x": 12}, (12, 11)),
        ({"x": {0: 7}}, (7, 7, 7, 2)),
        ("auto", (23,)),
        ("240B", (10, 10, 3)),
        (None, (6, 6, 6, 5)),
        ({}, (6, 6, 6, 5)),
    ],
)
def test_chunks_in_all_of_dasks_spellings(chosen, rows):
    """The second axis is planned whole: what is said for all axes leaves it alone."""
    module = xla2py.emit(hlo(lambda x: jnp.sort(x, 1) * 2, X), "dask", chunks="6").load()
    name = next(iter(module.CHUNKS))
    given = {name: chosen["x"]} if isinstance(chosen, dict) and "x" in chosen else chosen
    result = module.main(X, chunks=given)
    assert result.chunks == (rows, (6,))
    np.testing.assert_array_equal(result.compute(), np.sort(X, 1) * 2)


def test_a_step_reads_what_lies_in_files_for_its_rolls():
    """It is computed once: from what the steps before made, it would be computed again from all their rolls."""
    source = xla2py.emit(hlo(steps, np.zeros((1 << 16, 16), np.float32)), "dask", chunks="64KiB").source
    body = source[source.index("CHUNKS =") : source.index("\nMAPPED_BYTES =")]
    assert (body.count("in_files("), body.count("def "), body.count('(blocks, "ij"),')) == (2, 2, 2)


def test_a_ladder_of_pairs_is_cut_along_its_own_axis():
    """Gaps between elements do not need their axis whole."""

    def combined(left, right):
        return left[0] * right[0], left[1] * right[0] + right[1]

    text = hlo(lambda x: lax.associative_scan(combined, (x, x))[1], TABLE)
    module = xla2py.emit(text, "dask", memory="120MiB").load()
    ((rows, columns),) = module.CHUNKS.values()
    assert rows < len(TABLE) and columns == -1
    x = RNG.random(TABLE.shape, np.float32)
    np.testing.assert_allclose(module.main(x).compute(), xla2py.emit(text).load().main(x), rtol=1e-5)
