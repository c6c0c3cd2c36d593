import os
from pathlib import Path

import pytest

from xla2py.transpile.errors import UsageError
from xla2py.transpile.files import read_bytes, write_atomically


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_gets_its_folders_and_the_usual_mode(tmp_path):
    write_atomically(tmp_path / "a" / "b" / "file", b"content")
    (tmp_path / "plain").touch()
    assert read_bytes(tmp_path / "a" / "b" / "file") == b"content"
    assert (tmp_path / "a" / "b" / "file").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_an_existing_file_keeps_its_mode(tmp_path):
    path = tmp_path / "file"
    path.touch(0o640)
    write_atomically(path, b"content")
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_symbolic_link_stays_one(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    (tmp_path / "file").write_bytes(b"old")
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(UsageError, match=r"XP401: cannot write .*file: No space left on device"):
        write_atomically(tmp_path / "file", b"new")
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_what_is_no_regular_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(tmp_path / "pipe", b"content")
    assert os.read(reader, 100) == b"content"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(UsageError, match="Is a directory"):
        write_atomically(tmp_path, b"content")
    with pytest.raises(UsageError, match="Is a directory"):
        read_bytes(tmp_path)
