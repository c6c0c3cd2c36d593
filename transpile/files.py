"""Files: reading, and atomic writing. Errors of the operating system become coded errors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from .errors import Diagnostic, UsageError


def file_error(action: str, path: str | Path, error: OSError) -> UsageError:
    """Return the error ``XP401`` for a file that the system does not read or write."""
    return UsageError(Diagnostic("XP401", f"cannot {action} {path}: {error.strerror or error}"))


def read_bytes(path: Path) -> bytes:
    """Return the content of a file. Raises :class:`UsageError` (``XP401``) if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise file_error("read", path, error) from error


def read_text(path: Path) -> str:
    """Return the content of a text file. Raises :class:`UsageError` (``XP401``) if it cannot be read or is not
    UTF-8.
    """
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise UsageError(Diagnostic("XP401", f"cannot read {path}: it is not UTF-8 text")) from error


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file's content in one step; a reader sees the old bytes or the new ones.

    Creates missing folders, follows symbolic links, keeps the mode of an existing file and writes directly into
    anything but a regular file (a pipe, /dev/null). Raises :class:`UsageError` (``XP401``) if the system refuses.
    """
    with replacing(path) as stream:
        stream.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream whose content replaces a file's, as in :func:`write_atomically`, unless the body raises."""
    import tempfile  # slow to import: it brings compression modules

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
    """Return the permission bits of a file, or those that a new file gets."""
    with suppress(FileNotFoundError):
        return path.stat().st_mode & 0o7777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
