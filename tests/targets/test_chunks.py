"""Plans of programs in chunks: what they promise, what ``main`` takes, what is refused."""

import pickle

import numpy as np
import pytest

import xla2py
from xla2py.targets.dask.planning.chunk_program import size_in_bytes
from xla2py.tests.targets.chunked import plan_of
from xla2py.tests.targets.running import leaves
from xla2py.transpile.equivalence.inputs.generate import make_inputs
from xla2py.transpile.errors import UnsupportedError, UsageError

da = pytest.importorskip("dask.array", reason="Dask is not installed")

ROWS = 5000
STANDARDISE = f"""
add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }}
ENTRY main {{
  x = f32[{ROWS},16] parameter(0)
  zero = f32[] constant(0)
  count = f32[] constant({ROWS})
  counts = f32[16] broadcast(count), dimensions={{}}
  total = f32[16] reduce(x, zero), dimensions={{0}}, to_apply=add
  mean = f32[16] divide(total, counts)
  means = f32[{ROWS},16] broadcast(mean), dimensions={{1}}
  centred = f32[{ROWS},16] subtract(x, means)
  ROOT gram = f32[16,16] dot(centred, centred), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}
}}
"""
NEGATIVE = f"ENTRY main {{ x = f32[{ROWS},16] parameter(0)  ROOT y = f32[{ROWS},16] negate(x) }}"
FOLD = """
odd { a = f32[] parameter(0)  b = f32[] parameter(1)  c = f32[] multiply(a, b)  ROOT d = f32[] subtract(c, a) }
ENTRY main {
  x = f32[100000000] parameter(0)
  one = f32[] constant(1)
  ROOT y = f32[] reduce(x, one), dimensions={0}, to_apply=odd
}
"""


def expected(x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(axis=0)
    return centred.T @ centred


@pytest.fixture
def rows() -> np.ndarray:
    return np.random.default_rng(0).random((ROWS, 16), np.float32)


class ArrayLike:
    """As much of an array as zarr's and h5py's have."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.ndim = array, array.shape, array.dtype, array.ndim
        self.largest = 0

    def __getitem__(self, index):
        part = self.array[index]
        self.largest = max(self.largest, part.shape[0])
        return part


def test_each_pass_is_a_phase_that_reads_the_argument_again():
    plan = plan_of(STANDARDISE, chunks="1000")
    assert [(phase.name, phase.tasks) for phase in plan.phases] == [("mean", 5), ("matmul", 5)]
    assert plan.passes == 2
    assert plan.chunks == (("x", (1000, -1)),)


def test_blocks_of_a_product_are_square_and_all_of_it_is_summed_up_in_one_task():
    plan = plan_of(PRODUCT.replace("13", "60000").replace("9", "90000").replace("11", "60000"), memory="4GiB")
    ((x, (rows, step)), (y, (same, columns))) = plan.chunks
    assert (x, y, step) == ("x", "y", same) and rows == columns > step > 100
    assert plan.phases[0].tasks == 256 == (60000 // rows) ** 2


def test_less_memory_makes_smaller_chunks():
    large = STANDARDISE.replace(str(ROWS), "5000000")
    much, little = plan_of(large, memory="2GiB"), plan_of(large, memory="150MiB")
    assert little.peak_bytes <= size_in_bytes("150MiB") < much.peak_bytes <= size_in_bytes("2GiB")
    assert little.phases[0].tasks > much.phases[0].tasks > 1


def test_what_is_needed_whole_is_named_and_refused_where_it_does_not_fit():
    (phase,) = plan_of(FOLD).phases
    assert phase.tasks == 1 and phase.task_bytes > 400_000_000
    assert phase.note == "one chunk: fold_axes along axis 0"
    with pytest.raises(UnsupportedError, match="one task of fold_axes holds") as caught:
        xla2py.emit(FOLD, "dask", memory="200MiB")
    assert caught.value.diagnostics[0].code == "XP740"
    with pytest.raises(UnsupportedError, match="Python, NumPy and dask take 100 MiB themselves"):
        xla2py.emit(STANDARDISE, "dask", memory="64MiB")
    with pytest.raises(UnsupportedError, match="Python, NumPy and dask take 100 MiB themselves"):
        xla2py.emit("HloModule m\nENTRY e { ROOT c = f32[2] constant({1, 2}) }", "dask", memory="1MiB")


@pytest.mark.parametrize(
    ("text", "size"), [("2GiB", 2 << 30), ("500 MB", 500_000_000), ("1048576", 1 << 20), ("1.5KiB", 1536)]
)
def test_sizes(text, size):
    assert size_in_bytes(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1", "2XB"])
def test_what_is_no_size(text):
    with pytest.raises(UsageError, match="is not a size"):
        size_in_bytes(text)


def test_arguments_may_be_arrays_files_and_lazy_arrays(rows, tmp_path):
    module = xla2py.emit(STANDARDISE, "dask", chunks="999").load()
    np.save(tmp_path / "x.npy", rows)
    like = ArrayLike(rows)
    memmap = np.load(tmp_path / "x.npy", mmap_mode="r")
    for x in (rows, memmap, memmap[:], like, da.from_array(rows, chunks=(700, 5))):
        result = module.main(x)
        assert isinstance(result, da.Array)
        np.testing.assert_allclose(result.compute(scheduler="sync"), expected(rows), rtol=1e-3)
    assert 0 < like.largest <= 999


def test_arguments_may_be_arrays_of_zarr(rows, tmp_path):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    x = zarr.create_array(store=tmp_path / "x.zarr", shape=rows.shape, dtype=rows.dtype, chunks=(700, 5))
    x[:] = rows
    result = xla2py.emit(STANDARDISE, "dask", chunks="999").load().main(x)
    np.testing.assert_allclose(result.compute(scheduler="sync"), expected(rows), rtol=1e-3)
    xla2py.emit(NEGATIVE, "dask", chunks="999").load().main(x).to_zarr(tmp_path / "y.zarr")
    np.testing.assert_allclose(zarr.open_array(tmp_path / "y.zarr")[:], -rows, rtol=1e-6)


def test_a_memmap_is_sent_as_its_path(rows, tmp_path):
    module = xla2py.emit(STANDARDISE, "dask", chunks="1000").load()
    np.save(tmp_path / "x.npy", rows)
    file = module.on_disk(np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert len(pickle.dumps(vars(file))) < 1000
    np.testing.assert_array_equal(file[10:20], rows[10:20])


def test_arguments_may_have_the_names_of_what_chooses_chunks(rows):
    text = NEGATIVE.replace("x = ", "chosen = ").replace("negate(x)", "negate(chosen)")
    module = xla2py.emit(text, "dask", chunks="100").load()
    np.testing.assert_array_equal(module.main(rows, chunks={"chosen": 50}), -rows)


def test_chunks_can_be_chosen_for_a_call(rows):
    module = xla2py.emit(STANDARDISE, "dask", chunks="1000").load()
    for chunks in ((500, -1), ((4000, 1, 999), (16,)), -1):
        result = module.main(rows, chunks={"x": chunks}).compute(scheduler="sync")
        np.testing.assert_allclose(result, expected(rows), rtol=1e-3)
    with pytest.raises(ValueError, match="x: axis 1 is needed whole"):
        module.main(rows, chunks={"x": (1000, 8)})
    with pytest.raises(ValueError, match="no argument is called z"):
        module.main(rows, chunks={"z": 1})
    for chunks in (0, {"x": (0, -1)}, {0: 0}):
        with pytest.raises(ValueError, match="x: chunks of no elements"):
            module.main(rows, chunks=chunks)


PRODUCT = """
ENTRY main {
  x = f32[13,9] parameter(0)
  y = f32[9,11] parameter(1)
  ROOT r = f32[13,11] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
OF_COMPUTED = PRODUCT.replace(
    "y = f32[9,11] parameter(1)", "y = f32[9,11] parameter(1)\n  z = f32[13,9] sine(x)"
).replace("dot(x", "dot(z")


def convolution(window: str, rows: int) -> str:
    return f"""
ENTRY main {{
  x = f32[2,13,5,3] parameter(0)
  kernel = f32[3,2,3,4] parameter(1)
  ROOT r = f32[2,{rows},5,4] convolution(x, kernel), window={{{window}}}, dim_labels=b01f_01io->b01f
}}
"""


COMPUTED_WINDOWS = (
    convolution("size=3x2 pad=1_1x0_1", 13)
    .replace("convolution(x", "convolution(z")
    .replace("kernel = ", "z = f32[2,13,5,3] sine(x)\n  kernel = ")
)
TOP = """
ENTRY main {
  x = f32[3,40] parameter(0)
  ROOT r = (f32[3,4], s32[3,4]) topk(x), k=4, largest=true
}
"""
TOP_VALUES = TOP.replace("ROOT r", "top").replace("}\n", "  ROOT r = f32[3,4] get-tuple-element(top), index=0\n}\n")
SCATTER = """
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[40,3] parameter(0)
  rows = s32[5,1] constant({{3}, {39}, {17}, {3}, {40}})
  u = f32[5,3] parameter(1)
  ROOT r = f32[40,3] scatter(x, rows, u), update_window_dims={1}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
}
"""
ROLL = """
ENTRY main {
  x = f32[40,3] parameter(0)
  tail = f32[33,3] slice(x), slice={[7:40], [0:3]}
  head = f32[7,3] slice(x), slice={[0:7], [0:3]}
  ROOT r = f32[40,3] concatenate(tail, head), dimensions={0}
}
"""
FILTER = """
ENTRY main {
  x = f32[2,40,6,1] parameter(0)
  kernel = f32[5,3,1,1] parameter(1)
  ROOT r = f32[2,40,6,1] convolution(x, kernel), window={size=5x3 pad=2_2x1_1}, dim_labels=b01f_01io->b01f
}
"""
READ_BY_TASKS = {
    "a product": (PRODUCT, "Summed(dot_block),"),
    "a product of what is computed": (OF_COMPUTED, "np.sin(x) @ y"),
    "the largest of all": (TOP, "top_k_in_chunks(x.read(), 4)"),
    "the largest values": (TOP_VALUES, "top_values_in_chunks(x.read(), 4)"),
    "a scatter": (SCATTER, "scatter_at_in_chunks(\n        x, "),
    "a roll": (ROLL, "roll_in_chunks(x, (-7,), (0,), chunks=(6, 3))"),
    "windows of what is computed": (COMPUTED_WINDOWS, "convolution,\n        sin,\n        kernel,"),
    "windows": (convolution("size=3x2 pad=1_1x0_1", 13), "in_windows("),
    "windows far apart": (convolution("size=3x2 stride=2x1 pad=2_0x0_1", 7), "in_windows("),
    "wide windows": (convolution("size=3x2 pad=3_2x0_1 rhs_dilate=2x1", 14), "in_windows("),
    "a filter of images": (FILTER, "in_windows(\n        image_filter,"),
    "windows beyond the ends": (convolution("size=3x2 pad=6_5x0_1", 22), "in_windows("),
}


@pytest.mark.parametrize("name", READ_BY_TASKS)
@pytest.mark.parametrize("made_of", [np.copy, lambda x: da.from_array(x, chunks=2)], ids=["numpy", "dask"])
def test_tasks_read_what_they_need_themselves(name, made_of):
    text, written = READ_BY_TASKS[name]
    inputs = [array.astype(np.float32) for array in make_inputs(xla2py.load(text), seed=3)]
    wanted = xla2py.emit(text).load().main(*inputs)
    generated = xla2py.emit(text, "dask", chunks="6")
    assert written in generated.source
    module = generated.load()
    module.TILE_BYTES = module.WINDOW_BYTES = 1
    result = module.main(*map(made_of, inputs))
    for found, same in zip(leaves(result), leaves(wanted), strict=True):
        np.testing.assert_allclose(found.compute(scheduler="sync"), same, rtol=1e-4, atol=1e-4)


def test_pieces_of_windows_hold_no_places():
    text = "ENTRY main { x = f32[1,4000,1] parameter(0)  k = f32[3,1,1] parameter(1)  ROOT r = f32[1,4000,1] " + (
        "convolution(x, k), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f }"
    )
    lazy = xla2py.emit(text, "dask", chunks="1000").load().main(*make_inputs(xla2py.load(text), seed=3))
    graph = dict(lazy.__dask_graph__())
    pieces = [task[1]["W"] for key, task in graph.items() if str(key[0]).startswith("convolution")]
    assert pieces == [slice(start, start + 1000) for start in range(0, 4000, 1000)]
    assert not any(str(key[0]).startswith("arange") for key in graph)


def test_the_emitted_text_names_what_has_no_form_in_chunks():
    assert "# one chunk: fold_axes along axis 0\ndef " in xla2py.emit(FOLD, "dask").source
    assert "# one chunk" not in xla2py.emit(STANDARDISE, "dask", chunks="1000").source


def test_the_emitted_text_names_its_chunks():
    source = xla2py.emit(STANDARDISE, "dask", chunks="1000").source
    assert 'CHUNKS = {"x": (1000, -1)}' in source
    assert "-t dask --chunks 1000\n" in source


HEADS = """
ENTRY main {
  x = f32[4,32,32,3] parameter(0)
  apart = f32[4,4,8,4,8,3] reshape(x)
  ROOT y = f32[4,4,8,4,8,3] negate(apart)
}
"""


@pytest.mark.parametrize("chunks", ["7", "4KiB"])
def test_axes_that_a_reshape_cuts_without_a_plan(chunks):
    inputs = make_inputs(xla2py.load(HEADS), seed=3)
    (found,) = leaves(xla2py.emit(HEADS, "dask", chunks=chunks).load().main(*inputs))
    np.testing.assert_array_equal(found.compute(scheduler="sync"), -inputs[0].reshape(4, 4, 8, 4, 8, 3))
    assert plan_of(HEADS, chunks=chunks).peak_bytes > 0


REPEATED = """
ENTRY main {
  x = f32[10] parameter(0)
  y = f32[10] parameter(1)
  both = f32[20] concatenate(x, y), dimensions={0}
  ROOT r = f32[4,20,3] broadcast(both), dimensions={1}
}"""


@pytest.mark.parametrize("given", [None, {"x": 3, "y": (2, 5, 3)}, {"x": -1}])
@pytest.mark.parametrize("chunks", ["1", "3", "16B"])
def test_what_is_repeated_may_come_in_any_chunks(chunks, given):
    x, y = np.arange(20, dtype=np.float32).reshape(2, 10)
    found = xla2py.emit(REPEATED, "dask", chunks=chunks).load().main(x, y, chunks=given)
    assert np.array_equal(found.compute(), np.broadcast_to(np.concatenate([x, y])[:, None], (4, 20, 3)))
