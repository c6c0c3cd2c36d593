"""Arrays of checkpoints by name: ``.npz``, ``.safetensors``, and folders of orbax."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Diagnostic, UsageError
from . import safetensors
from .jax import required_jax

_MOST_TOLD = 8  # folders in a message


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
    """Return the tree of a folder of orbax, read into the memory of the host, on whatever devices it was saved."""
    try:
        from orbax import checkpoint
    except ImportError:
        message = f"{path} is a folder, and orbax, which reads such, is not installed"
        raise UsageError(Diagnostic("XP430", message, hint="pip install orbax-checkpoint")) from None
    path = _saved_tree(path.resolve())
    with checkpoint.PyTreeCheckpointer() as reader:
        stored = reader.metadata(path).item_metadata.tree
        on_host = checkpoint.RestoreArgs(restore_type=np.ndarray)
        return reader.restore(path, restore_args=required_jax().tree.map(lambda _: on_host, stored))


def _saved_tree(path: Path) -> Path:
    """Return the folder of the only tree in a checkpoint, which may be a folder of steps (``7``) and of items
    (``7/default``). Raises ``UsageError`` (XP727) if it has none or several.
    """
    found = [place.parent for depth in ("", "*/", "*/*/") for place in sorted(path.glob(f"{depth}_METADATA"))]
    if len(found) == 1:
        return found[0]
    own = ", ".join(place.relative_to(path.parent).as_posix() for place in found[-_MOST_TOLD:])
    message = f"{path.name} holds several trees: {own}" if found else f"{path} holds no tree of orbax"
    raise UsageError(Diagnostic("XP727", message, hint="name one with --weights" if found else ""))


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
