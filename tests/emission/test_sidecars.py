"""Constants in files beside a module: found, checked, and large ones mapped rather than read."""

import importlib.util
import json
import shutil

import ml_dtypes
import numpy as np
import pytest

import xla2py
from xla2py.transpile.emission.functions import sidecars as module_of_sidecars
from xla2py.transpile.emission.functions.sidecars import DIGEST_DIGITS, sidecars
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


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x10" * 99])
def test_a_file_that_is_no_archive_names_the_array(tmp_path, content):
    path, archive = xla2py.emit(PROGRAM).save(tmp_path / "shift.py")
    archive.write_bytes(content)
    with pytest.raises(ValueError, match=r"shift\.npz has no array constant_1"):
        imported(path).main(*ARGUMENTS)


def test_another_shape_is_told(saved):
    if saved[1].suffix == ".npz":
        with np.load(saved[1]) as stored:
            np.savez(saved[1], **{name: x.reshape(100, 1) for name, x in stored.items()})
    else:
        np.save(saved[1], np.load(saved[1]).reshape(100, 1))
    module = imported(saved[0])
    with pytest.raises(ValueError, match=r"constant_1.* has the shape \[100, 1\], not \[100\]"):
        module.main(*ARGUMENTS)


def test_one_changed_bit_is_told(saved):
    content = bytearray(saved[1].read_bytes())
    at = content.index(np.float32(50).tobytes())
    content[at] ^= 1
    saved[1].write_bytes(content)
    with pytest.raises(ValueError, match=r"has changed|has no array constant_1"):
        imported(saved[0]).main(*ARGUMENTS)


def test_large_constants_are_mapped(saved):
    module = imported(saved[0])
    if saved[1].suffix == ".npy":
        digest = array_sha256(NUMBERS.astype(np.float32))[:DIGEST_DIGITS]
        assert isinstance(module.mapped_constant("constant_1", digest, (100,)), np.memmap)


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


def test_constants_in_a_safetensors_file(tmp_path):
    """The file has the bits of each array where its header says; a module maps them, and tells of a wrong file."""
    generated = xla2py.emit(PROGRAM, constants="safetensors")
    path = tmp_path / "shift.py"
    assert [each.name for each in generated.save(path)] == ["shift.py", "shift.safetensors"]
    content = (tmp_path / "shift.safetensors").read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    assert size % 8 == 0 and [entry["dtype"] for entry in header.values()] == ["F32", "BF16"]
    begin, end = header["constant_1"]["data_offsets"]
    assert np.frombuffer(content[8 + size :][begin:end], np.float32).tolist() == NUMBERS.tolist()
    for module in (imported(path), generated.load()):
        s, t = module.main(*ARGUMENTS)
        assert s.tolist() == (NUMBERS + 1).tolist() and t.dtype == ml_dtypes.bfloat16 and t.tolist() == NUMBERS.tolist()
    assert all(sidecar.is_current() for sidecar in generated.sidecars(path))
    (tmp_path / "shift.safetensors").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert not all(sidecar.is_current() for sidecar in generated.sidecars(path))
    with pytest.raises(ValueError, match="constant_2 has changed"):
        imported(path).main(*ARGUMENTS)
    (tmp_path / "shift.safetensors").write_bytes(content.replace(b'"shape":[100]', b'"shape":[ 50]', 1))
    with pytest.raises(ValueError, match=r"constant_1 has the shape \[50\], not \[100\]"):
        imported(path).main(*ARGUMENTS)
    for other in (content.replace(b"constant_2", b"constant_9"), content[:4], content[:20], b"", b"\x10" * 99):
        (tmp_path / "shift.safetensors").write_bytes(other)
        with pytest.raises(ValueError, match="has no array constant_"):
            imported(path).main(*ARGUMENTS)
    (tmp_path / "shift.safetensors").unlink()
    with pytest.raises(ValueError, match="has no array constant_"):
        imported(path).main(*ARGUMENTS)


@pytest.mark.parametrize("target", ["cupy", "array-api", "dask"])
def test_other_targets_read_it_too(target):
    assert "mapped_tensor" in xla2py.emit(PROGRAM.replace("bf16", "f64"), target, constants="safetensors").source


def test_what_safetensors_has_no_name_for_stays_in_an_archive(tmp_path):
    pairs = ", ".join(f"({n}, 1)" for n in NUMBERS)
    text = PROGRAM.replace("bf16", "c128").replace(
        f"b = c128[100] constant({{{VALUES}", f"b = c128[100] constant({{{pairs}"
    )
    generated = xla2py.emit(text, constants="safetensors")
    assert sorted(each.suffix for each in generated.save(tmp_path / "shift.py")) == [".npz", ".py", ".safetensors"]
