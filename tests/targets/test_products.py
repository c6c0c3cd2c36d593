"""Products of arrays that are both cut: their tasks sum up blocks, one after the other, whatever these are made of."""

import gc
import pickle
import re

import numpy as np
import pytest

import xla2py
from xla2py.templates.prelude import tiles
from xla2py.templates.prelude.arrays_in_files import FileArray
from xla2py.templates.prelude.tiles import Tiled
from xla2py.templates.prelude.tiles_in_files import Stored
from xla2py.tests.targets.chunked import plan_of
from xla2py.tests.targets.running import leaves, uneven
from xla2py.tests.whole import crossed
from xla2py.transpile.equivalence.inputs.generate import make_inputs

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")

MATRICES = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"


def program(parameters: str, *lines: str) -> str:
    body = [f"{'xyz'[k]} = {shape} parameter({k})" for k, shape in enumerate(parameters.split())]
    text = "\n  ".join([*body, *lines[:-1], f"ROOT {lines[-1]}"])
    return f"""
add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }}
less {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT }}
ENTRY main {{
  {text}
}}
"""


SUMMED = {
    "of arguments": program("f32[13,9] f32[9,11]", f"r = f32[13,11] dot(x, y), {MATRICES}"),
    "of integers": program("s32[13,9] s32[9,11]", f"r = s32[13,11] dot(x, y), {MATRICES}"),
    "with itself": program(
        "f32[13,11]", "r = f32[11,11] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}"
    ),
    "with itself, all axes alike": program("f32[11,11]", f"r = f32[11,11] dot(x, x), {MATRICES}"),
    "with a vector": program("f32[13,9] f32[9]", f"r = f32[13] dot(x, y), {MATRICES}"),
    "of what is centred": program(
        "f32[13,9] f32[9,11]",
        "zero = f32[] constant(0)",
        "total = f32[9] reduce(x, zero), dimensions={0}, to_apply=add",
        "totals = f32[13,9] broadcast(total), dimensions={1}",
        "z = f32[13,9] subtract(x, totals)",
        f"r = f32[13,11] dot(z, y), {MATRICES}",
    ),
    "of batches": program(
        "f32[3,7,9] f32[3,9,8]",
        "z = f32[3,7,9] sine(x)",
        "r = f32[3,7,8] dot(z, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
        "rhs_contracting_dims={1}",
    ),
    "with many free axes": program(
        "f32[3,7,9] f32[9,4,5]", "r = f32[3,7,4,5] dot(x, y), lhs_contracting_dims={2}, rhs_contracting_dims={0}"
    ),
    "of what is needed whole before": program(
        "f32[13,9] f32[9,11]",
        "z = f32[9,11] sort(y), dimensions={0}, to_apply=less",
        f"r = f32[13,11] dot(x, z), {MATRICES}",
    ),
    "of a product": program(
        "f32[600,500] f32[500,550]",
        f"z = f32[600,550] dot(x, y), {MATRICES}",
        "r = f32[550,550] dot(z, z), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
    ),
}
NOT_SUMMED = {
    "over two axes": program(
        "f32[7,5,9] f32[9,4,7]", "r = f32[5,4] dot(x, y), lhs_contracting_dims={0,2}, rhs_contracting_dims={2,0}"
    ),
    "to a number": program(
        "f32[9,9]",
        "t = f32[9,9] transpose(x), dimensions={1,0}",
        "s = f32[9,9] add(x, t)",
        "r = f32[] dot(s, x), lhs_contracting_dims={0,1}, rhs_contracting_dims={1,0}",
    ),
    "in a narrow type": program("s8[13,9] s8[9,11]", f"r = s8[13,11] dot(x, y), {MATRICES}"),
}


def assert_alike(text, chunks, made_of):
    inputs = make_inputs(xla2py.load(text), seed=3)
    wanted = leaves(xla2py.emit(text).load().main(*inputs))
    module = xla2py.emit(text, "dask", chunks=chunks, format=False).load()
    module.TILE_BYTES = 1
    for found, same in zip(leaves(module.main(*map(made_of, inputs))), wanted, strict=True):
        value = found.compute(scheduler="sync")
        assert value.dtype == same.dtype
        np.testing.assert_allclose(value, same, rtol=1e-4, atol=1e-4 * np.abs(same).max())


@pytest.mark.filterwarnings("ignore:Increasing number of chunks")
@pytest.mark.parametrize(
    ("name", "chunks", "made_of"), crossed([*SUMMED, *NOT_SUMMED], ["1", "4", "6"], [np.copy, uneven])
)
def test_values_are_those_of_numpy(name, chunks, made_of):
    large = {"1": "300", "4": "227", "6": "300"}
    assert_alike((SUMMED | NOT_SUMMED)[name], large[chunks] if name == "of a product" else chunks, made_of)


@pytest.mark.parametrize("name", SUMMED)
def test_tasks_sum_up_one_block_after_the_other(name):
    source = xla2py.emit(SUMMED[name], "dask", chunks="6", format=False).source
    assert "Summed(" in source
    assert ".read()" not in source.split("CHUNKS =")[1].split("def ")[1] or "sort" in source


@pytest.mark.parametrize("name", NOT_SUMMED)
def test_other_products_are_not_summed_up_in_tasks(name):
    assert "Summed(" not in xla2py.emit(NOT_SUMMED[name], "dask", chunks="3", format=False).source


def test_large_arrays_between_products_lie_in_files_and_small_ones_do_not():
    assert "in_files(dot)" in xla2py.emit(SUMMED["of a product"], "dask", chunks="300").source
    small = SUMMED["of a product"].replace("600", "60").replace("500", "50").replace("550", "55")
    assert "in_files(dot)" not in xla2py.emit(small, "dask", chunks="30").source


def test_a_product_is_a_task_a_block_of_the_result():
    n, chunk = 600, 75
    text = program(f"f32[{n},{n}] f32[{n},{n}]", f"z = f32[{n},{n}] sine(x)", f"r = f32[{n},{n}] dot(z, y), {MATRICES}")
    x = np.ones((n, n), np.float32)
    lazy = xla2py.emit(text, "dask", chunks=str(chunk)).load().main(x, x)
    by_hand = da.sin(da.from_array(x, chunks=chunk)) @ da.from_array(x, chunks=chunk)
    count, count_by_hand = (len(dict(dask.optimize(array)[0].__dask_graph__())) for array in (lazy, by_hand))
    assert count <= count_by_hand / 4


@pytest.mark.parametrize(
    ("rows", "summed", "columns", "chunks"),
    [
        (500, 300_000, 400, [("x", (-1, 67108)), ("y", (67108, -1))]),  # parts of the whole, each file read once
        (2048, 1_048_576, 2048, [("x", (-1, 16384)), ("y", (16384, -1))]),
        (1_000_000, 256, 2, [("x", (131072, -1))]),  # the rows are longest
        (1_000_000, 256, 64, [("x", (131072, -1))]),  # y is small
        (64, 256, 1_000_000, [("y", (-1, 131072))]),
    ],
)
def test_products_with_what_is_small_are_cut_along_their_longest_axis(rows, summed, columns, chunks):
    shapes = f"f32[{rows},{summed}] f32[{summed},{columns}]"
    text = program(shapes, f"r = f32[{rows},{columns}] dot(x, y), {MATRICES}")
    plan = plan_of(text, chunks="128MiB")
    assert [(name, sizes) for name, sizes in plan.chunks] == chunks


def test_within_little_memory_too_each_file_is_read_once():
    text = program("f32[724,370688] f32[370688,724]", f"r = f32[724,724] dot(x, y), {MATRICES}")
    (x, (rows, _)), (y, (_, columns)) = plan_of(text, memory="512MiB").chunks
    assert (x, y, rows, columns) == ("x", "y", -1, -1)


BATCHES = program(
    "f32[256,1000,1000] f32[256,1000,1000]",
    "r = f32[256,1000,1000] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
    "rhs_contracting_dims={1}",
)


def test_batches_of_products_are_cut_into_batches():
    assert plan_of(BATCHES).chunks == (("x", (8, -1, -1)), ("y", (8, -1, -1)))


def test_only_the_result_is_cut_into_chunks_whose_memory_is_used_again():
    plan = plan_of(program("f32[2000000,256] f32[256,64]", f"r = f32[2000000,64] dot(x, y), {MATRICES}"))
    ((_, (rows, whole)),) = plan.chunks
    assert whole == -1 and rows * 64 * 4 <= 31 << 20 < rows * 256 * 4 <= 128 << 20


def test_the_axes_that_two_products_share_are_cut_once():
    shape = "f32[8000,8000]"
    chained = program(f"{shape} {shape}", f"z = {shape} dot(x, y), {MATRICES}", f"r = {shape} dot(z, y), {MATRICES}")
    one = program(f"{shape} {shape}", f"r = {shape} dot(x, y), {MATRICES}")
    (alone,) = plan_of(one).phases
    assert [phase.tasks for phase in plan_of(chained).phases] == [alone.tasks, alone.tasks]


@pytest.mark.parametrize("shape, axis, blocks", [("f32[9,7]", 0, ["dot"]), ("f32[7,9]", 1, ["dot", "dot"])])
def test_products_of_any_sizes_are_by_one_block_function(shape, axis, blocks):
    text = program(
        f"f32[8,6] f32[6,9] {shape}",
        f"a = f32[8,9] dot(x, y), {MATRICES}",
        f"r = f32[8,7] dot(a, z), lhs_contracting_dims={{1}}, rhs_contracting_dims={{{axis}}}",
    )
    generated = xla2py.emit(text, "dask", chunks="4")
    assert re.findall(r"^def (\w+)_block", generated.source, re.MULTILINE) == blocks
    x, y, z = make_inputs(xla2py.load(text), seed=1)
    found = generated.load().main(x, y, z).compute(scheduler="sync")
    np.testing.assert_allclose(found, np.tensordot(x @ y, z, (1, axis)), rtol=1e-5)


LONG = program("f32[40,500000] f32[500000,30]", f"r = f32[40,30] dot(x, y), {MATRICES}")


@pytest.mark.parametrize(
    ("text", "is_plain"),
    [
        (LONG, True),
        (LONG.replace("f32", "f64"), True),
        (
            program(
                "f32[500000,40] f32[500000,30]",
                "r = f32[40,30] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
            ),
            True,
        ),
        (program("f32[500000,40] f32[40,30]", f"r = f32[500000,30] dot(x, y), {MATRICES}"), True),
        (
            program(
                "f32[40,500000] f32[500000,30]", "z = f32[40,500000] sine(x)", f"r = f32[40,30] dot(z, y), {MATRICES}"
            ),
            False,
        ),
        (
            program(
                "f32[500000,8,5] f32[500000,30]",
                "r = f32[8,5,30] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
            ),
            False,  # tensordot copies what it multiplies
        ),
    ],
    ids=["plain", "float64", "transposed", "rows", "computed", "three axes"],
)
def test_products_of_matrices_as_they_are_go_through_a_chunk_at_once(text, is_plain):
    source = xla2py.emit(text, "dask", chunks="50000", format=False).source
    body = source.split("CHUNKS =")[1].split("\ndef check")[0]
    assert ("blockwise(dot_block," in body) is is_plain
    assert ("blockwise(Tiled(dot_block," in body) is not is_plain


def test_tiles_are_as_large_as_what_they_are_added_to(monkeypatch):
    monkeypatch.setattr(tiles, "TILE_BYTES", 1 << 18)
    sizes = []

    def block(x, y):
        sizes.append(x.shape[1])
        return (x @ y)[None]

    x, y = np.ones((256, 1000)), np.ones((1000, 256))
    (total,) = Tiled(block, (1, 0), np.add)(x, y)
    assert sizes == [128, 256, 256, 256, 104]  # 256 KiB of x, then 512 KiB as the result has
    np.testing.assert_array_equal(total, np.full((256, 256), 1000.0))


def test_some_tiles_of_a_file_are_mapped_at_once(monkeypatch, tmp_path):
    monkeypatch.setattr(tiles, "TILE_BYTES", 1 << 10)
    monkeypatch.setattr(tiles, "MAPPED_BYTES", 1 << 12)
    x = np.arange(25_000, dtype=np.float32).reshape(100, 250)
    x.tofile(tmp_path / "x")
    read, sizes = [], []

    class Counted(FileArray):
        def __getitem__(self, index):
            read.append(index[0])
            return super().__getitem__(index)

    def block(x):
        sizes.append(len(x))
        return x * 2

    file = Counted(str(tmp_path / "x"), x.dtype, x.shape)
    rows = slice(10, 90), slice(0, 250)
    result = Tiled(block, (0,), 0)(tiles.Unread(file, rows))
    np.testing.assert_array_equal(result, x[10:90] * 2)
    assert set(sizes) == {1} and read == [slice(start, start + 4, 1) for start in range(10, 90, 4)]


def test_what_tiles_are_added_to_is_no_part_of_an_argument(monkeypatch):
    monkeypatch.setattr(tiles, "TILE_BYTES", 1)
    x = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(Tiled(lambda rows: rows[:1], (0,), np.maximum)(x), [[4, 5]])
    np.testing.assert_array_equal(x, np.arange(6.0).reshape(3, 2))


def test_a_stored_block_is_a_file_as_long_as_there_is_a_reference(tmp_path):
    with dask.config.set(temporary_directory=str(tmp_path)):
        block = Stored(np.arange(6.0).reshape(2, 3))
        assert len(list(tmp_path.iterdir())) == 1
        copy = pickle.loads(pickle.dumps(block))
        np.testing.assert_array_equal(copy.read(), [[0, 1, 2], [3, 4, 5]])
        assert len(list(tmp_path.iterdir())) == 2
        del block
        gc.collect(1)
        assert [path.name for path in tmp_path.iterdir()] == [copy.array.path.rpartition("/")[2]]
        view = copy.read()
        del copy
        gc.collect(1)
        assert not list(tmp_path.iterdir())
        np.testing.assert_array_equal(view[1], [3, 4, 5])


def test_files_are_gone_after_a_run(tmp_path):
    with dask.config.set(temporary_directory=str(tmp_path)):
        assert_alike(SUMMED["of a product"], "300", np.copy)
        gc.collect(1)
        assert not list(tmp_path.iterdir())
