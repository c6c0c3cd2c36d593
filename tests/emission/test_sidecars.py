"""Constants in files beside a module: found, checked, and large ones mapped rather than read."""

import importlib.util
import shutil

import ml_dtypes
import numpy as np
import pytest

import xla2py
from xla2py.transpile.emission import sidecars as module_of_sidecars
from xla2py.transpile.emission.sidecars import DIGEST_DIGITS, sidecars
from xla2py.transpile.hlo.literal_values import array_sha256

NUMBERS = np.random.default_rng(0).permutation(100)  # which no expression gives
VALUES = ", ".join(map(str, NUMBERS))
PROGRAM = f"""
HloModule shift
ENTRY main {{
  x = f32[100] parameter(0)
  i = bf16[100] parameter(1)
  a = f32[100] constant({{{VALUES}}})
  b = bf16[100] constant({{{VALUES}}})
  s = f32[100] add(x, a)
  t = bf16[100] add(i, b)
  ROOT r = (f32[100], bf16[100]) tuple(s, t)
}}
"""
ARGUMENTS = (np.ones(100, np.float32), np.zeros(100, ml_dtypes.bfloat16))


def imported(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["archive", "files"])
def saved(request, tmp_path, monkeypatch):
    """The path of a saved module whose constants are in one archive or in files to be mapped."""
    if request.param == "files":
        monkeypatch.setattr(module_of_sidecars, "LARGEST_IN_ARCHIVE", 10)
    files = xla2py.emit(PROGRAM).save(tmp_path / "shift.py")
    names = (
        ["shift.npz"]
        if request.param == "archive"
        else ["shift.constants/constant_1.npy", "shift.constants/constant_2.npy"]
    )
    assert [file.relative_to(tmp_path).as_posix() for file in files] == ["shift.py", *names]
    return files


def test_constants_are_found_beside_the_module_wherever_it_goes(saved, tmp_path):
    moved = tmp_path / "elsewhere"
    for file in saved:
        place = moved / file.relative_to(tmp_path)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(file, place)
    s, t = imported(moved / "shift.py").main(*ARGUMENTS)
    np.testing.assert_array_equal(s, NUMBERS + 1)
    assert t.dtype == ml_dtypes.bfloat16 and t.astype(np.float32).tolist() == NUMBERS.tolist()


def test_a_missing_file_is_named(saved):
    saved[1].unlink()
    module = imported(saved[0])
    with pytest.raises(FileNotFoundError, match=saved[1].name):
        module.main(*ARGUMENTS)


def test_the_file_of_another_module_is_told(saved):
    arrays = {name: np.zeros(100, np.float32) for name in ("constant_1", "constant_2")}
    if saved[1].suffix == ".npz":
        np.savez(saved[1], **arrays)
    else:
        np.save(saved[1], arrays["constant_1"])
    module = imported(saved[0])
    with pytest.raises(ValueError, match="has changed since the module was made"):
        module.main(*ARGUMENTS)


def test_one_changed_bit_is_told(saved):
    content = bytearray(saved[1].read_bytes())
    at = content.index(np.float32(50).tobytes())
    content[at] ^= 1
    saved[1].write_bytes(content)
    with pytest.raises(Exception, match=r"has changed|CRC"):
        imported(saved[0]).main(*ARGUMENTS)


def test_large_constants_are_mapped(saved):
    module = imported(saved[0])
    if saved[1].suffix == ".npy":
        expected = NUMBERS.astype(np.float32)
        assert isinstance(module.mapped_constant("constant_1", array_sha256(expected)[:DIGEST_DIGITS]), np.memmap)


def test_current_and_stale_files_are_told_apart(saved):
    generated = xla2py.emit(PROGRAM)
    files = list(sidecars(generated.constants, saved[0]))
    assert [file.path for file in files] == saved[1:]
    assert all(file.is_current() for file in files)
    saved[1].write_bytes(saved[1].read_bytes()[:-20])
    assert not files[0].is_current()
    saved[1].unlink()
    assert not files[0].is_current()


def test_the_same_constants_give_the_same_bytes(saved):
    before = [file.read_bytes() for file in saved]
    assert [file.read_bytes() for file in xla2py.emit(PROGRAM).save(saved[0])] == before
