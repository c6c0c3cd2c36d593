"""What depends on the places of elements and is cut: triangles, diagonals, masks. The same in any chunks."""

import re

import numpy as np
import pytest

import xla2py
from xla2py.tests.targets.chunked import plan_of
from xla2py.tests.targets.running import uneven
from xla2py.tests.whole import much

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")

GRID = """ i = s32[{n},{m}] iota(), iota_dimension=0
  k = s32[] constant({k})
  ks = s32[{n},{m}] broadcast(k), dimensions={{}}
  shifted = s32[{n},{m}] add(i, ks)
  j = s32[{n},{m}] iota(), iota_dimension=1
  mask = pred[{n},{m}] compare(shifted, j), direction={direction}"""


def grid(direction, n, m, k):
    return GRID.format(direction=direction, n=n, m=m, k=k)


def triangle(direction, *, n=20, m=13, k=0, batch=""):
    """np.tril or np.triu."""
    given, dimensions = (f"f32[{batch}{n},{m}]", "1,2" if batch else "0,1")
    return f"""ENTRY main {{
  x = {given} parameter(0)
  {grid(direction, n, m, k)}
  masks = pred[{batch}{n},{m}] broadcast(mask), dimensions={{{dimensions}}}
  zero = f32[] constant(0)
  zeros = {given} broadcast(zero), dimensions={{}}
  ROOT r = {given} select(masks, x, zeros)
}}"""


def matrix(direction, kind="f32", *, n=20, m=13, k=0):
    """np.tri or np.eye, plus x."""
    return f"""ENTRY main {{
  x = {kind}[{n},{m}] parameter(0)
  {grid(direction, n, m, k)}
  ones = {kind}[{n},{m}] convert(mask)
  ROOT r = {kind}[{n},{m}] add(x, ones)
}}"""


def on_diagonal(k):
    """np.diag of a vector."""
    n, low, high = 20 - abs(k), max(k, 0), max(-k, 0)
    return f"""ENTRY main {{
  x = f32[{n}] parameter(0)
  {grid("EQ", 20, 20, k)}
  zero = f32[] constant(0)
  padded = f32[20] pad(x, zero), padding={low}_{high}
  rows = f32[20,20] broadcast(padded), dimensions={{1}}
  zeros = f32[20,20] broadcast(zero), dimensions={{}}
  ROOT r = f32[20,20] select(mask, rows, zeros)
}}"""


def diagonal(k, *, n=20, m=13):
    size, (i, j) = min(n + min(k, 0), m - max(k, 0)), (max(-k, 0), max(k, 0))
    moved = "add(i, first)"
    return f"""ENTRY main {{
  x = f32[{n},{m}] parameter(0)
  i = s32[{size},1] iota(), iota_dimension=0
  one = s32[] constant({i or j})
  first = s32[{size},1] broadcast(one), dimensions={{}}
  rows = s32[{size},1] {moved if i else "copy(i)"}
  columns = s32[{size},1] {moved if j else "copy(i)"}
  both = s32[{size},2] concatenate(rows, columns), dimensions={{1}}
  ROOT r = f32[{size}] gather(x, both), offset_dims={{}}, collapsed_slice_dims={{0,1}}, start_index_map={{0,1}},
    index_vector_dim=1, slice_sizes={{1,1}}
}}"""


def trace(kind, k):
    return f"""
add {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  ROOT c = {kind}[] add(a, b) }}
ENTRY main {{
  x = {kind}[20,13] parameter(0)
  {grid("EQ", 20, 13, k)}
  zero = {kind}[] constant(0)
  zeros = {kind}[20,13] broadcast(zero), dimensions={{}}
  kept = {kind}[20,13] select(mask, x, zeros)
  ROOT r = {kind}[] reduce(kept, zero), dimensions={{0,1}}, to_apply=add
}}"""


PROGRAMS = {
    "lower": (triangle("GE"), "np.where(positions[:, None] >= "),
    "lower, shifted": (triangle("GE", k=3), "np.where((positions + 3)[:, None] >= "),
    "lower, shifted back": (triangle("GE", k=-2), "np.where(positions[:, None] >= "),
    "upper": (triangle("LE"), "np.where(positions[:, None] <= "),
    "upper of many": (triangle("LT", batch="3,"), "np.where((positions + 1)[:, None] <= "),
    "lower half": (matrix("GE"), "positions[:, None] >= "),
    "unit matrix": (matrix("EQ", "s32", k=2), "(positions + 2)[:, None] == "),
    "on the diagonal": (on_diagonal(0), "np.where(positions[:, None] == "),
    "above the diagonal": (on_diagonal(4), "np.where((positions + 4)[:, None] == "),
    "below the diagonal": (on_diagonal(-3), "np.where(positions[:, None] == "),
    "diagonal": (diagonal(0), "da.diagonal(x.read())"),
    "diagonal above": (diagonal(2), "da.diagonal(x.read(), 2)"),
    "diagonal below": (diagonal(-9), "da.diagonal(x.read(), -9)"),
    "trace": (trace("f32", 0), "da.diagonal(x.read())"),
    "trace of integers": (trace("s32", -1), "da.diagonal(x.read(), -1)"),
}
CUTS = [None, (3, 13), (7, 2), ((5, 15), (9, 4)), (1, 1)]


def values(shape, dtype):
    numbers = np.random.default_rng(5).integers(-9, 9, shape)
    if np.dtype(dtype).kind in "iu":
        return numbers.astype(dtype)
    numbers = numbers / 2
    numbers.flat[:4] = np.nan, -0.0, np.inf, -np.inf
    return numbers.astype(dtype)


def argument(text):
    (parameter,) = xla2py.load(text).entry.parameters
    return values(parameter.array_shape.dimensions, parameter.array_shape.element_type.dtype)


def as_file(tmp_path, array):
    np.save(tmp_path / "x.npy", array)
    return np.load(tmp_path / "x.npy", mmap_mode="r")


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_numpy_in_any_chunks(name, tmp_path):
    text, written = PROGRAMS[name]
    x = argument(text)
    generated = xla2py.emit(text, "dask", chunks="24B")
    source, module = generated.source, generated.load()
    assert written in source and "# one chunk" not in source
    wanted = np.asarray(xla2py.emit(text).load().main(x))
    is_planned = 'CHUNKS = {"x": (' in source and x.ndim == 2
    assert is_planned or name in ("upper of many", "on the diagonal", "above the diagonal", "below the diagonal")
    kinds = (x, uneven(x), as_file(tmp_path, x))
    for k, cut in enumerate(CUTS if is_planned else [None] * 3):
        for given in much(kinds[k % 3 :][:1], kinds):
            lazy = module.main(given, chunks={"x": cut}) if cut else module.main(given)
            found = lazy.compute(scheduler="sync")
            assert (lazy.dtype, found.shape) == (wanted.dtype, wanted.shape)
            np.testing.assert_array_equal(found, wanted)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


def gaps(padding, shape, *, value="constant(0.5)"):
    return f"""ENTRY main {{
  x = f32[20,6] parameter(0)
  value = f32[] {value}
  doubled = f32[20,6] add(x, x)
  ROOT r = f32[{shape}] pad(doubled, value), padding={padding}
}}"""


GAPS = {
    "gaps": ("0_0_2x0_0", "58,6"),
    "one in front": ("1_-2_1x0_0", "38,6"),
    "along both axes": ("-3_2_3x0_1_1", "76,12"),
}


@pytest.mark.parametrize("name", GAPS)
def test_gaps_are_a_new_axis_that_is_merged(name):
    text, x = gaps(*GAPS[name]), values((20, 6), np.float32)
    generated = xla2py.emit(text, "dask", chunks="24B")
    assert "# one chunk" not in generated.source and ".reshape(" in generated.source
    wanted = xla2py.emit(text).load().main(x)
    for given in (x, uneven(x)):
        for cut in (None, (7, 6), (1, 6)):
            lazy = generated.load().main(given, chunks={"x": cut} if cut else None)
            assert lazy.shape == wanted.shape
            np.testing.assert_array_equal(lazy.compute(scheduler="sync"), wanted)


def reshaped(source, target):
    return f"""ENTRY main {{
  x = f32[{source}] parameter(0)
  doubled = f32[{source}] add(x, x)
  r = f32[{target}] reshape(doubled)
  ROOT s = f32[{target}] multiply(r, r)
}}"""


@pytest.mark.parametrize("style", ["readable", "fast"])
@pytest.mark.parametrize(
    ("source", "target", "written"),
    [
        ("4,4,2,2,5", "4,4,4,5", "reshape(len(total), total.shape[1], 4, -1)"),
        ("2,3,5,4", "6,5,4", "reshape(6, total.shape[2], -1)"),
        ("5,2,3,4,2,3,5", "5,6,4,6,5", "reshape(len(total), 6, total.shape[3], 6, -1)"),
        ("2,3,4", "6,4", "reshape(6, -1)"),
    ],
)
def test_blocks_that_are_cut_along_several_axes_are_reshaped(source, target, written, style):
    text, x = reshaped(source, target), values(tuple(map(int, source.split(","))), np.float32)
    generated = xla2py.emit(text, "dask", chunks="3", style=style)
    if style == "readable":
        assert written in generated.source
    found = generated.load().main(x).compute(scheduler="sync")
    np.testing.assert_array_equal(found, xla2py.emit(text).load().main(x))


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (gaps("-60_70_2x0_0", "68,6"), ()),  # more is cropped than there is
        (gaps("0_0_2x0_0", "58,6", value="parameter(1)"), (np.float32(3),)),
    ],
)
def test_other_gaps_are_padded_in_one_chunk(text, given):
    x = values((20, 6), np.float32)
    generated = xla2py.emit(text, "dask", chunks="24B")
    assert "# one chunk: pad along axis 0\n" in generated.source
    found = generated.load().main(x, *given).compute(scheduler="sync")
    np.testing.assert_array_equal(found, xla2py.emit(text).load().main(x, *given))


def test_gaps_along_an_axis_that_is_not_cut_are_padded_in_each_block():
    source = xla2py.emit(gaps("0_0_0x2_3_1", "20,16"), "dask", chunks="24B").source.split("\n\n\nclass ")[0]
    assert "pad(doubled" in source or "pad(x + x" in source
    assert "# one chunk" not in source and ".reshape(" not in source


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_not_cut_keeps_its_name(name):
    text, written = PROGRAMS[name]
    source = xla2py.emit(text, "dask").source
    assert written not in source and "positions" not in source
    assert any(function in source for function in ("tril(", "triu(", "tri(", "eye(", "diag(", ".diagonal(", "trace("))


def test_triangles_of_many_small_matrices_are_named_where_only_their_number_is_cut():
    text = triangle("GE", n=4, m=4, batch="500,")
    source = xla2py.emit(text, "dask", chunks="640B").source
    assert "np.tril(x)" in source and '"x": (10, -1, -1)' in source and "# one chunk" not in source


def test_a_trace_takes_the_chunks_on_the_diagonal():
    text = trace("f32", 0).replace("[20,13]", "[8192,8192]")
    plan = plan_of(text, chunks="4MiB")
    first, _ = plan.phases
    assert (first.name, first.tasks, first.note) == ("diagonal", 64, "")
    assert 4 << 20 < first.file_task_bytes == first.task_bytes < 5 << 20


def test_a_triangle_takes_what_one_pass_takes():
    text = triangle("GE", n=8192, m=8192)
    plan = plan_of(text, chunks="4MiB")
    (phase,) = plan.phases
    assert (phase.name, phase.tasks, phase.note, plan.passes) == ("select", 64, "", 1)
    assert phase.task_bytes < 3 << 22  # a block given, one made, and a few rows


def second_differences(operation="subtract"):
    return f"""ENTRY main {{
  x = f32[20,6] parameter(0)
  behind = f32[19,6] slice(x), slice={{[1:20], [0:6]}}
  before = f32[19,6] slice(x), slice={{[0:19], [0:6]}}
  first = f32[19,6] {operation}(behind, before)
  first_behind = f32[9,5] slice(first), slice={{[1:19:2], [1:6]}}
  first_before = f32[9,5] slice(first), slice={{[0:18:2], [0:5]}}
  ROOT r = f32[9,5] subtract(first_behind, first_before)
}}"""


def test_slices_of_sums_of_arguments_are_sums_of_slices(tmp_path):
    text, x = second_differences(), np.random.default_rng(7).random((20, 6), np.float32)
    generated = xla2py.emit(text, "dask", chunks="24B")
    source = generated.source.replace("def slice_in_chunks(", "")
    assert len(re.findall(r"slice_in_chunks\(\s*x, ", source)) == source.count("slice_in_chunks(") == 4
    wanted, module = xla2py.emit(text).load().main(x), generated.load()
    for given in (x, uneven(x), as_file(tmp_path, x)):
        for cut in (None, (7, 6), (1, 6)):
            lazy = module.main(given, chunks={"x": cut} if cut else None)
            np.testing.assert_array_equal(lazy.compute(scheduler="sync"), wanted)


def test_what_is_costly_is_computed_once_and_then_sliced():
    source = xla2py.emit(second_differences("power"), "dask", chunks="24B").source.replace("def slice_in_chunks(", "")
    assert (source.count("slice_in_chunks(x, "), source.count("slice_in_chunks(")) == (2, 4)


ELEMENT_OF_EACH_ROW = """ENTRY main {
  x = f32[20,13] parameter(0)
  exponentials = f32[20,13] exponential(x)
  i = s32[20,1] iota(), iota_dimension=0
  seven = s32[] constant(7)
  sevens = s32[20,1] broadcast(seven), dimensions={}
  thirteen = s32[] constant(13)
  thirteens = s32[20,1] broadcast(thirteen), dimensions={}
  multiples = s32[20,1] multiply(i, sevens)
  chosen = s32[20,1] remainder(multiples, thirteens)
  both = s32[20,2] concatenate(i, chosen), dimensions={1}
  ROOT r = f32[20] gather(exponentials, both), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1},
    index_vector_dim=1, slice_sizes={1,1}
}"""


def test_an_element_of_each_row_is_taken_in_its_block(tmp_path):
    x = np.random.default_rng(7).random((20, 13), np.float32)
    generated = xla2py.emit(ELEMENT_OF_EACH_ROW, "dask", chunks="100B")
    assert "np.take_along_axis(" in generated.source and "_in_chunks(x" not in generated.source
    wanted, module = xla2py.emit(ELEMENT_OF_EACH_ROW).load().main(x), generated.load()
    for given in (x, uneven(x), as_file(tmp_path, x)):
        for cut in (None, (7, 13), (1, 13)):
            lazy = module.main(given, chunks={"x": cut} if cut else None)
            np.testing.assert_array_equal(lazy.compute(scheduler="sync"), wanted)


def test_what_is_only_turned_is_a_view():
    text = """ENTRY main {
  x = f32[2048,3,64] parameter(0)
  ROOT r = f32[64,2048,3] transpose(x), dimensions={2,0,1}
}"""
    plan, generated = plan_of(text, chunks="64KiB"), xla2py.emit(text, "dask", chunks="64KiB")
    body, _ = generated.source.split("\ndef check_arguments")
    assert "Tiled(" not in body and plan.phases[0].file_task_bytes == plan.phases[0].task_bytes
    x = np.random.default_rng(7).random((2048, 3, 64), np.float32)
    is_view = generated.load().main(x).map_blocks(lambda block: np.array([[[np.shares_memory(block, x)]]]), dtype=bool)
    assert is_view.compute(scheduler="sync").all()
    np.testing.assert_array_equal(generated.load().main(x).compute(scheduler="sync"), x.transpose(2, 0, 1))
