"""Questions to XLA and JAX: what is asked, as a key that is the same wherever and whenever it is asked."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

_METADATA = re.compile(r',? metadata=\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\}')
_FRAMES = re.compile(r"^(?:FileNames|FunctionNames|FileLocations|StackFrames)\n(?:\d.*\n)*\n*", re.MULTILINE)


@dataclass(frozen=True)
class Question:
    """What is asked: ``title`` for a reader, ``parts`` for the key.

    ``is_text`` says that the answer is a text of JAX, which is another in each of its versions; ``needs_jax``, that
    nobody answers where JAX is not installed.
    """

    title: str
    parts: tuple[Any, ...]
    is_text: bool = False
    needs_jax: bool = True

    @property
    def key(self) -> str:
        """Return the key of the question."""
        digest = hashlib.sha256()
        _feed(digest, self.parts)
        return digest.hexdigest()[:16]


def program(text: str) -> str:
    """Return HLO without what says where it comes from: XLA's answer does not depend on it."""
    return _METADATA.sub("", _FRAMES.sub("", text)).strip()


def title(text: str) -> str:
    """Return what a reader knows a program by: its first words and its last line."""
    lines = [line.strip() for line in program(text).splitlines() if line.strip(" }")]
    return " .. ".join(line[:80] for line in dict.fromkeys([*lines[:1], *lines[-1:]]))


def _feed(digest: Any, value: Any) -> None:
    """Give a digest all that makes a value: types, shapes and contents."""
    if isinstance(value, np.ndarray | np.generic):
        array = np.ascontiguousarray(value)
        digest.update(f"{array.dtype.name}{np.shape(value)}:".encode())
        digest.update(array.tobytes())
    elif isinstance(value, tuple | list):
        digest.update(f"{type(value).__name__}{len(value)}(".encode())
        for part in value:
            _feed(digest, part)
    elif isinstance(value, dict):
        _feed(digest, [[key, value[key]] for key in value])
    elif is_dataclass(value) and not isinstance(value, type):
        _feed(digest, [type(value).__qualname__, *(getattr(value, each.name) for each in fields(value))])
    else:
        digest.update(f"{type(value).__name__}:{value!r};".encode())
