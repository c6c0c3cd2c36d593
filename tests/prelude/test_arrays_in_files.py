"""Arrays in files: what is read of them, and written into them, is what NumPy reads and writes in memory."""

import mmap

import ml_dtypes
import numpy as np
import pytest

from xla2py.templates.prelude import arrays_in_files
from xla2py.templates.prelude.arrays_in_files import FileArray
from xla2py.templates.prelude.tiles import put_part
from xla2py.templates.prelude.tiles_in_files import Stored
from xla2py.templates.prelude.tiles_recut import write_part

GENERATOR = np.random.default_rng(0)
WHOLE = slice(None)
# Of an array [5, 7, 6, 4]: pieces of the file, rows near each other and far apart, turned ones, one element, none.
SLICES = [
    (),
    (slice(1, 4),),
    (2, 3),
    (WHOLE, slice(2, 5)),
    (WHOLE, WHOLE, slice(1, 3)),
    (slice(None, None, 2), WHOLE, WHOLE, slice(1, 2)),
    (WHOLE, 3, slice(None, None, -1)),
    (slice(None, None, -2), slice(5, 1, -1), WHOLE, slice(None, None, -1)),
    (4, 6, 5, 3),
    (slice(3, 3), WHOLE),
]


@pytest.fixture(params=[(1 << 22, 1 << 15), (64, 48), (1024, 200)], ids=["as it is", "of few bytes", "of some"])
def limits(request, monkeypatch):
    """How much of a file is mapped at once, and from which distance on rows are read one by one."""
    for name, value in zip(("MAPPED_BYTES", "FAR_BYTES"), request.param, strict=True):
        monkeypatch.setattr(arrays_in_files, name, value)


@pytest.fixture(params=[np.float32, ml_dtypes.bfloat16, np.bool_, np.complex128])
def array(request):
    return GENERATOR.integers(0, 100, (5, 7, 6, 4)).astype(request.param)


def stored(array, folder, offset=0):
    path = folder / "array"
    path.write_bytes(bytes(offset) + array.tobytes())
    return FileArray(str(path), array.dtype, array.shape, offset)


@pytest.mark.parametrize("offset", [0, 24])
@pytest.mark.parametrize("index", SLICES)
def test_slices_are_read(array, index, offset, limits, tmp_path):
    found = stored(array, tmp_path, offset)[index]
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array[index])


@pytest.mark.parametrize("index", [each for each in SLICES if len(each) < 4 or WHOLE in each])
def test_slices_are_read_to_where_they_belong(array, index, limits, tmp_path):
    expected = array[index]
    room = np.zeros((*expected.shape[:-1], 2 * expected.shape[-1] + 1), array.dtype)
    inside = room[..., 1 : 1 + expected.shape[-1]]
    for result in (inside, np.empty_like(expected, order="F"), inside[..., ::-1]):
        put_part(result, stored(array, tmp_path), index)
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("index", [each for each in SLICES if all(isinstance(part, slice) for part in each)])
def test_parts_are_written(array, index, limits, tmp_path):
    whole = stored(array, tmp_path)
    part = GENERATOR.integers(0, 100, array[index].shape).astype(array.dtype)
    for given in (part, np.asfortranarray(part)):
        write_part(whole, index, given)
        expected = array.copy()
        expected[index] = part
        np.testing.assert_array_equal(whole[()], expected)


def test_blocks_that_are_stored_are_read_in_parts(array):
    block = Stored(array)
    np.testing.assert_array_equal(block[1:3, :, 2:4].read(), array[1:3, :, 2:4])


@pytest.mark.parametrize(
    ("index", "is_mapped"),
    [
        ((slice(3, 9),), True),
        ((slice(None, None, 2),), True),
        ((slice(None, None, -1),), True),
        ((slice(None, None, 4),), False),  # three times as many pages between
        ((WHOLE, slice(1, 1 + (1 << 13))), True),  # long rows
        ((WHOLE, slice(0, 1 << 6)), False),
        ((WHOLE, slice(1, -1)), True),
        ((WHOLE, slice(None, None, 2)), False),  # in pieces of one element
    ],
)
def test_what_fills_its_pages_is_mapped(index, is_mapped, tmp_path):
    array = GENERATOR.random((12, 1 << 15), np.float32)
    if index[0] != WHOLE:
        array = array.reshape(-1, 128)
    found = stored(array, tmp_path)[index]
    np.testing.assert_array_equal(found, array[index])
    while isinstance(found, np.ndarray):
        found = found.base
    assert isinstance(found, mmap.mmap) == is_mapped
