"""Arrays of checkpoints by name: ``.npz``, ``.safetensors``, and folders of orbax."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Diagnostic, UsageError
from . import safetensors


def read_checkpoint(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a checkpoint by name, memory-mapped if the format allows it.

    Raises ``UsageError``: XP727 for a file that is not a checkpoint, XP430 for a folder if orbax is not installed.
    """
    try:
        if path.is_dir():
            return dict(_leaves("", _restored(path)))
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as stored:
                return dict(stored)
        return safetensors.read(path)
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise UsageError(Diagnostic("XP727", f"{path} is no checkpoint that can be read: {error}")) from error


def as_tree(arrays: Mapping[str, Any]) -> Any:
    """Return a pytree of dicts and lists of values whose names are their paths: ``layers.0.w``, or ``layers/0/w``.

    If any name has dots, slashes are parts of keys. Keys that count from 0 make a list. Raises ``UsageError`` (XP727)
    if the path of one array is a prefix of another's.
    """
    separator = "." if any("." in name for name in arrays) else "/"
    tree: dict[str, Any] = {}
    for name, value in arrays.items():
        *way, last = name.split(separator)
        branch = tree
        for key in way:
            branch = branch.setdefault(key, {})
            if not isinstance(branch, dict):
                raise UsageError(Diagnostic("XP727", f"'{name}' is in an array of the same checkpoint"))
        branch[last] = value
    return _with_lists(tree)


def _with_lists(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    parts = {key: _with_lists(part) for key, part in tree.items()}
    numbers = [str(number) for number in range(len(parts))]
    return [parts[number] for number in numbers] if set(numbers) == parts.keys() else parts


def _restored(path: Path) -> Any:
    try:
        from orbax import checkpoint
    except ImportError:
        message = f"{path} is a folder, and orbax, which reads such, is not installed"
        raise UsageError(Diagnostic("XP430", message, hint="pip install orbax-checkpoint")) from None
    with checkpoint.PyTreeCheckpointer() as reader:
        return reader.restore(path.resolve())


def _leaves(name: str, tree: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the arrays of a tree of dicts and sequences, with their names."""
    if isinstance(tree, Mapping):
        parts = list(tree.items())
    elif isinstance(tree, list | tuple):
        parts = list(enumerate(tree))
    else:
        yield name, np.asarray(tree)
        return
    for key, part in parts:
        yield from _leaves(f"{name}.{key}" if name else str(key), part)
