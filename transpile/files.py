"""Reading files, and writing them so that nobody loses work; what the system refuses is a coded error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from .errors import Diagnostic, UsageError


def file_error(action: str, path: str | Path, error: OSError) -> UsageError:
    """``XP401``: the system refused to read or write a file."""
    return UsageError(Diagnostic("XP401", f"cannot {action} {path}: {error.strerror or error}"))


def read_bytes(path: Path) -> bytes:
    """The content of a file. Raises :class:`UsageError` (``XP401``) where the system refuses."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise file_error("read", path, error) from error


def read_text(path: Path) -> str:
    """The content of a file of text. Raises :class:`UsageError` (``XP401``) where it is none."""
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise UsageError(Diagnostic("XP401", f"cannot read {path}: it is not UTF-8 text")) from error


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file's content in one step; a reader sees the old bytes or the new ones.

    Creates missing folders, follows symbolic links, keeps the mode of an existing file and writes straight into what
    is no regular file (a pipe, /dev/null). Raises :class:`UsageError` (``XP401``) where the system refuses.
    """
    with replacing(path) as stream:
        stream.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A stream whose content becomes a file's, as :func:`write_atomically` says, where the body raises nothing."""
    import tempfile  # brings what compresses files with it

    try:
        place = path.resolve()
        if place.exists() and not place.is_file():
            with place.open("wb") as stream:
                yield stream
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                yield stream
            os.chmod(temporary, _mode(place))
            os.replace(temporary, place)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise file_error("write", path, error) from error


def _mode(path: Path) -> int:
    """The permission bits of a file, or those that a new file gets."""
    with suppress(FileNotFoundError):
        return path.stat().st_mode & 0o7777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
