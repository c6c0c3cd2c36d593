"""Constants too large for a text, in files beside an emitted module: an ``.npz``, and ``.npy`` files to be mapped; or a
``.safetensors`` file.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from ...dataclass import dataclass
from ...files import replacing
from ...hlo.literal_values import array_sha256
from .. import safetensors

LARGEST_IN_ARCHIVE = 64 * 2**20  # bytes; what is larger is a file of its own, mapped into memory where it is used
DIGEST_DIGITS = 16  # of the SHA-256 that the module has of each constant
ARCHIVE, FOLDER = ".npz", ".constants"


def storable(array: np.ndarray) -> np.ndarray:
    """NumPy's file format has no names for the dtypes of ml_dtypes: their bits are stored."""
    if array.dtype.type.__module__.split(".")[0] == "ml_dtypes":
        return array.view(f"u{array.dtype.itemsize}")
    return array


def is_mapped(array: np.ndarray) -> bool:
    """Tell whether a constant is a file of its own."""
    return array.nbytes > LARGEST_IN_ARCHIVE


@dataclass(frozen=True, slots=True)
class Sidecar:
    """One file beside a module: an ``.npz`` or ``.safetensors`` with several arrays, or an ``.npy`` with one."""

    path: Path
    arrays: Mapping[str, np.ndarray]

    def write(self) -> None:
        """Write the file in one step, array by array. Raises ``UsageError`` (XP401) where the system refuses."""
        with replacing(self.path) as stream:
            if self.path.suffix == safetensors.SUFFIX:
                safetensors.write(stream, self.arrays)
            elif self.path.suffix == ARCHIVE:
                np.savez(stream, **{name: storable(array) for name, array in self.arrays.items()})  # type: ignore[arg-type]
            else:
                (array,) = self.arrays.values()
                np.save(stream, storable(array))

    def is_current(self) -> bool:
        """Tell whether the file holds these arrays and no others."""
        try:
            if self.path.suffix == safetensors.SUFFIX:
                with self.path.open("rb") as stream:
                    return safetensors.is_written(stream, self.arrays)
            if self.path.suffix == ARCHIVE:
                with np.load(self.path, allow_pickle=False) as stored:
                    return set(stored) == set(self.arrays) and all(
                        _same(array, stored[name]) for name, array in self.arrays.items()
                    )
            return all(_same(array, np.load(self.path, mmap_mode="r")) for array in self.arrays.values())
        except (OSError, ValueError, EOFError, zipfile.BadZipFile):
            return False


def sidecars(constants: Mapping[str, np.ndarray], module: Path, *, as_tensors: bool = False) -> Iterator[Sidecar]:
    """Return the files that a module at a path needs beside it: ``NAME.npz``, and ``NAME.constants/*.npy``; with
    ``as_tensors``, ``NAME.safetensors`` with all that such a file can hold.
    """
    tensors = {name: array for name, array in constants.items() if as_tensors and safetensors.can_hold(array)}
    if tensors:
        yield Sidecar(module.with_suffix(safetensors.SUFFIX), tensors)
    others = {name: array for name, array in constants.items() if name not in tensors}
    archived = {name: array for name, array in others.items() if not is_mapped(array)}
    if archived:
        yield Sidecar(module.with_suffix(ARCHIVE), archived)
    for name, array in others.items():
        if is_mapped(array):
            yield Sidecar(module.with_suffix(FOLDER) / f"{name}.npy", {name: array})


def _same(array: np.ndarray, stored: np.ndarray) -> bool:
    wanted = storable(array)
    return (wanted.dtype, wanted.shape) == (stored.dtype, stored.shape) and array_sha256(wanted) == array_sha256(stored)
