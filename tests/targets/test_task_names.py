"""Names of tasks on Dask: the same for the same work, in any process, and others for any other work."""

import importlib
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
from dask.core import flatten
from dask.utils import key_split

import xla2py
from xla2py.tests.targets.running import leaves
from xla2py.tests.whole import crossed, much

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "hlo").glob("*.before.hlo"))

# Rows less their mean, times a number, in order, and the sums of columns.
SCALED = """HloModule scaled
add {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }}
less {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }}
ENTRY main {{
  x = f32[64,4] parameter(0)
  factor = f32[] constant({factor})
  factors = f32[64,4] broadcast(factor), dimensions={{}}
  y = f32[64,4] multiply(x, factors)
  zero = f32[] constant(0)
  totals = f32[4] reduce(y, zero), dimensions={{0}}, to_apply=add
  ordered = f32[64,4] sort(y), dimensions={{0}}, to_apply=less
  ROOT all = (f32[64,4], f32[4], f32[64,4]) tuple(y, totals, ordered)
}}
"""
X = np.random.default_rng(0).random((64, 4), np.float32)
CHUNKS = "16"


@cache
def source(factor: int) -> str:
    return xla2py.emit(SCALED.format(factor=factor), "dask", chunks=CHUNKS).source


def module(factor: int):
    return xla2py.emit(SCALED.format(factor=factor), "dask", chunks=CHUNKS).load()


def names(results) -> list[str]:
    return [result.name for result in leaves(results)]


def keys(results) -> set[object]:
    return {key for result in leaves(results) for key in result.dask}


def written(folder: Path, factor: int, name: str = "scaled_rows") -> Path:
    path = folder / f"{name}.py"
    path.write_text(source(factor))
    return path


def small_chunks(path: Path) -> str:
    """A transformer of chunks of 4 KiB has thousands of tasks."""
    return "16KiB" if path.name.startswith("transformer_block") else "4KiB"


# Names of dask's own tasks that say what they do, and of pieces of arguments.
TOLD = {
    *("array", "arange", "zeros_like", "empty_like", "full_like", "concatenate", "diagonal", "getitem", "setitem"),
    *(
        "reshape",
        "rechunk",
        "merge",
        "split",
        "truediv",
        "add",
        "shaped",
        "asanyarray_safe",
        "partial",
        "aggregate",
        "transpose",
        "conjugate",
    ),
}
# Phases that work on arrays as a whole have these names; several functions of a module make them.
OPERATIONS = {"take", "slice", "slices", "update_slice", "cholesky", "triangular_solve", "matmul", "qr"}


@pytest.mark.parametrize(
    ("path", "is_cut_by"), crossed(much(EXAMPLES[::2], EXAMPLES), [small_chunks, lambda path: "7"])
)
def test_the_same_call_gives_the_same_tasks_named_like_functions_of_the_module(path, is_cut_by):
    program, rng = xla2py.load(path.read_text()), np.random.default_rng(0)
    shapes = [parameter.array_shape for parameter in program.entry.parameters]
    given = [rng.integers(0, 3, shape.dimensions).astype(shape.element_type.dtype) for shape in shapes]
    generated = xla2py.emit(program, "dask", chunks=is_cut_by(path), format=False)
    loaded = generated.load()
    with np.errstate(all="ignore"):
        one, again, reloaded = (each.main(*given) for each in (loaded, loaded, generated.load()))
    assert keys(one) == keys(again)
    assert names(one) == names(reloaded)
    graphs = (dict(x.__dask_optimize__(x.dask, list(flatten(x.__dask_keys__())))) for x in leaves(one))
    found = {part for graph in graphs for key in graph for part in key_split(key).split("-")}
    assert {each for each in found - TOLD if not callable(vars(loaded).get(each))} <= OPERATIONS


PRINT_NAMES = """import sys
import numpy as np
sys.path.insert(0, {folder!r})
import scaled_rows
for result in scaled_rows.main(np.load({file!r}, mmap_mode={mode!r})):
    print(result.name)
"""


def names_elsewhere(folder: Path, file: Path, mode: str | None) -> list[str]:
    """The names in a process of its own."""
    script = PRINT_NAMES.format(folder=str(folder), file=str(file), mode=mode)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return run.stdout.split()


@pytest.mark.parametrize(("mode", "is_same"), [(None, True), ("r", True), ("r+", False)])
def test_names_are_the_same_in_other_processes_unless_a_file_may_be_written_to(tmp_path, mode, is_same):
    written(tmp_path, 2)
    file = tmp_path / "x.npy"
    np.save(file, X)
    first, second = (names_elsewhere(tmp_path, file, mode) for _ in range(2))
    assert len(set(first)) == 3
    assert (first == second) == is_same


def test_a_file_that_has_changed_is_another_array(tmp_path):
    loaded, file = module(2), tmp_path / "x.npy"
    np.save(file, X)
    before = names(loaded.main(np.load(file, mmap_mode="r")))
    np.save(file, X + 1)
    os.utime(file, ns=(0, 0))  # the clock of the file system may be coarse
    assert not set(before) & set(names(loaded.main(np.load(file, mmap_mode="r"))))


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_what_was_written_to_a_mapped_file_is_what_is_read(tmp_path, mode):
    file = tmp_path / "x.npy"
    np.save(file, X)
    mapped = np.load(file, mmap_mode=mode)
    if mode != "r":
        mapped[3] = 7
    y, totals, _ = dask.compute(*module(2).main(mapped))
    np.testing.assert_array_equal(y, 2 * mapped)
    np.testing.assert_allclose(totals, (2 * mapped).sum(axis=0), rtol=1e-6)


@pytest.mark.parametrize("given", [X, da.from_array(X, chunks=(16, 4))], ids=["numpy", "dask"])
def test_modules_of_one_name_share_nothing(tmp_path, monkeypatch, given):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "one_name", raising=False)
    path = written(tmp_path, 2, "one_name")
    first = importlib.import_module("one_name").main(given)
    written(tmp_path, 3, "one_name")
    os.utime(path, ns=(0, 0))  # so that the bytes that were compiled are not taken for it
    second = importlib.reload(sys.modules["one_name"]).main(given)
    of_both = {key for key in keys(first) & keys(second) if not str(key).startswith(("('array-", "('arange-"))}
    assert not of_both
    (twice, total, _), (thrice, other_total, _) = dask.compute(first, second)
    np.testing.assert_array_equal(twice, 2 * X)
    np.testing.assert_array_equal(thrice, 3 * X)
    assert not np.array_equal(total, other_total)


def test_other_arrays_and_other_chunks_have_other_names():
    loaded = module(2)
    found = [names(loaded.main(X)), names(loaded.main(X + 1)), names(loaded.main(X, chunks=32))]
    assert len({name for one in found for name in one}) == 9


def test_an_array_in_memory_stands_once_in_the_graph():
    lazy = module(2).main(X)
    assert sum(key_split(key) == "array" for key in keys(lazy)) == leaves(lazy)[0].npartitions
