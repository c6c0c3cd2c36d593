"""Fourier transforms along axes that are cut: of whole lines, or of long ones by parts."""

from math import inf

import numpy as np
import pytest

import xla2py
from xla2py.templates.prelude.tiles_recut import halfway, overlaps, pieces, recut, whole_along
from xla2py.tests.targets.chunked import check_plan
from xla2py.tests.targets.running import uneven
from xla2py.tests.whole import crossed, much

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")


def transform(kind: str, sizes: tuple[int, ...], rank: int = 1, bits: int = 64, source: str = "x") -> str:
    """A program with the transform of a signal of some sizes; twice the signal's if ``source`` is ``sum``."""
    half = (*sizes[:-1], sizes[-1] // 2 + 1)
    given, made = (half if kind == one else sizes for one in ("IRFFT", "RFFT"))
    types = [f"f{bits // 2}" if kind == one else f"c{bits}" for one in ("RFFT", "IRFFT")]
    x, y = (f"{name}[{','.join(map(str, shape))}]" for name, shape in zip(types, (given, made), strict=True))
    lengths = ",".join(map(str, sizes[-rank:]))
    total = f"sum = {x} add(x, x)" if source == "sum" else ""
    return f"""ENTRY main {{
  x = {x} parameter(0)
  {total}
  ROOT y = {y} fft({source}), fft_type={kind}, fft_length={{{lengths}}}
}}"""


def signal(text: str) -> np.ndarray:
    shape = xla2py.load(text).entry.parameters[0].array_shape
    parts = np.random.default_rng(3).standard_normal((2, *shape.dimensions))
    dtype = shape.element_type.dtype
    return (parts[0] + (1j * parts[1] if dtype.kind == "c" else 0)).astype(dtype)


def in_chunks(text: str, chunks: str, made_of=np.copy):
    generated = xla2py.emit(text, "dask", chunks=chunks)
    assert "fft_in_chunks(" in generated.source and "# one chunk" not in generated.source
    return generated.load().main(made_of(signal(text)))


def agree(found, text: str):
    wanted, value = xla2py.emit(text).load().main(signal(text)), found.compute(scheduler="sync")
    assert (found.dtype, found.shape) == (value.dtype, value.shape) == (wanted.dtype, wanted.shape)
    scale = np.finfo(wanted.dtype).eps * np.abs(wanted).max()
    np.testing.assert_allclose(value, wanted, rtol=0, atol=8 * scale)


KINDS = ["FFT", "IFFT", "RFFT", "IRFFT"]


LINES = [(36, "7"), (37, "5"), (96, "40"), (74, "6"), (5, "1")]


@pytest.mark.parametrize(("line", "kind", "bits"), crossed(much(LINES * 2, LINES), KINDS, [64, 128]))
def test_one_long_line(line, kind, bits):
    size, chunks = line
    text = transform(kind, (size,), bits=bits)
    agree(in_chunks(text, chunks), text)


@pytest.mark.parametrize(("kind", "axes"), crossed(KINDS, [((20, 12), 2), ((3, 20, 7), 2), ((6, 5, 4), 3)]))
def test_several_axes_of_which_all_are_cut(kind, axes):
    sizes, rank = axes
    text = transform(kind, sizes, rank)
    agree(in_chunks(text, "3"), text)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_computed_from_any_array(kind):
    text = transform(kind, (24, 10), 2, source="sum")
    agree(in_chunks(text, "7", uneven), text)


@pytest.mark.parametrize("kind, other", [("FFT", np.fft.fft), ("IFFT", np.fft.ifft)])
def test_whole_lines_are_transformed_as_numpy_does(kind, other):
    text = transform(kind, (40, 64), 2)
    x = signal(text)
    np.testing.assert_array_equal(in_chunks(text, "32").compute(scheduler="sync"), other(other(x, axis=1), axis=0))


@pytest.mark.parametrize("size", [36, 37])
def test_a_line_with_nan_becomes_nan_and_no_other(size):
    text = transform("FFT", (size,))
    x = np.stack([signal(text)] * 3)
    x[1, 5] = np.nan
    module = xla2py.emit(text, "dask", chunks="7").load()
    found = module.fft_in_chunks(da.from_array(x, chunks=(1, 7)), "fft", (size,)).compute(scheduler="sync")
    np.testing.assert_array_equal(np.isnan(found), np.isnan(x).any(axis=1, keepdims=True) | np.zeros_like(x, bool))


def test_an_axis_that_is_not_transformed_is_cut_before_one_that_is():
    source = xla2py.emit(transform("FFT", (1000, 36)), "dask", chunks="64KiB").source
    assert "Tiled(spectrum_block, (0,), 0)" in source and "fft_in_chunks" not in source


def test_no_file_stays(tmp_path):
    with dask.config.set(temporary_directory=str(tmp_path)):
        found = in_chunks(transform("RFFT", (6, 36), 2), "5")
        seen = set()
        da.blockwise(lambda x: seen.update(tmp_path.iterdir()) or x, "ij", found, "ij", meta=found).compute()
        del found
    assert seen and not list(tmp_path.iterdir())


def test_chunks_that_are_whole_along_an_axis_are_no_larger():
    chunks = ((4, 4, 2), (6,), (3, 3, 3))
    assert whole_along(chunks, 0, 72) == ((10,), (2, 2, 2), (3, 3, 3))
    assert whole_along(chunks, 2, 72) == ((4, 4, 2), (2, 2, 2), (9,))
    assert whole_along(((5,), (2, 1)), 1, 1) == ((1,) * 5, (3,))


def test_overlaps_of_chunks():
    assert overlaps((4, 4), (3, 5)) == [
        [(0, slice(0, 3), slice(0, 3))],
        [(0, slice(3, 4), slice(0, 1)), (1, slice(0, 4), slice(1, 5))],
    ]


MANY = (((1,) * 400, (400,)), ((400,), (1,) * 400))  # each of the new chunks has a part of each old one


def test_a_chunk_of_parts_of_very_many_is_made_in_steps():
    x = np.arange(160_000.0).reshape(400, 400)
    old, new = MANY
    found = recut(da.from_array(x, chunks=old), new)
    assert found.chunks == new
    assert sum(map(len, found.dask.get_all_dependencies().values())) < 20_000
    np.testing.assert_array_equal(found.compute(), x)


def test_chunks_between_two_ways_to_cut_are_of_their_geometric_mean_or_larger():
    assert pieces(*MANY) == 160_000
    assert halfway(((1,) * 64, (64,)), ((64,), (1,) * 64)) == ((8,) * 8, (8,) * 8)
    assert halfway(*MANY) == ((40,) * 10, (40,) * 10)


LARGE = {
    "two axes": transform("FFT", (2000, 1000), 2),
    "a real signal": transform("RFFT", (2000, 1000), 2),
    "a long line": transform("FFT", (2_000_000,)),
    "a long line of float64": transform("IRFFT", (1_000_000,), bits=128),
    "a long line without factors": transform("FFT", (400_009,)),
}


@pytest.mark.parametrize("name", much([*LARGE][1::2], LARGE))
def test_a_run_takes_no_more_than_is_planned(name):
    text = LARGE[name]
    check_plan(text, [signal(text)], "fft", below=inf, times=8, chunks="2MiB")  # threads that take turns hold less
