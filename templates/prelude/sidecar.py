"""Large constants, kept beside an emitted module."""

from functools import cache
from hashlib import sha256
from pathlib import Path
from zipfile import BadZipFile

import numpy as np


@cache
def constant(name: str, digest: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return a constant from this module's .npz file; `digest` is the beginning of the
    SHA-256 of its bytes.
    """
    path = Path(__file__).with_suffix(".npz")
    try:
        with np.load(path, allow_pickle=False) as stored:
            array: np.ndarray = stored[name]
    except (BadZipFile, EOFError, KeyError, ValueError) as error:
        raise ValueError(f"{path} has no array {name}") from error
    return verified(array, digest, shape, f"{path}: {name}")


@cache
def mapped_constant(name: str, digest: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return a constant from a .npy file of its own, which is read when it is used;
    `digest` is as in `constant`.
    """
    path = Path(__file__).with_suffix(".constants") / f"{name}.npy"
    array: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    return verified(array, digest, shape, str(path))


def verified(
    array: np.ndarray, digest: str, shape: tuple[int, ...], place: str
) -> np.ndarray:
    """Return the array if its shape and bytes are those of the time of emission."""
    if array.shape != shape:
        raise ValueError(f"{place} has the shape {[*array.shape]}, not {[*shape]}")
    octets = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if not sha256(octets.data).hexdigest().startswith(digest):
        raise ValueError(f"{place} has changed since the module was made")
    return array
