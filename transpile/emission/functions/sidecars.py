"""Sidecars: files with the constants that are too large for the text of a module.

These are an ``.npz`` and, for mapped arrays, ``.npy`` files; or a ``.safetensors`` file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

import numpy as np

from ...dataclass import dataclass
from ...files import replacing
from ...frontends import safetensors
from ...hlo.literal_values import array_sha256

LARGEST_IN_ARCHIVE = 64 * 2**20  # bytes; a larger array gets a file of its own, which is memory-mapped
DIGEST_DIGITS = 16  # of the SHA-256 of each constant in the module
ARCHIVE, FOLDER = ".npz", ".constants"


def storable(array: np.ndarray) -> np.ndarray:
    """Return an array as NumPy can store it: the bits for dtypes of ml_dtypes, which its file format cannot name."""
    if array.dtype.type.__module__.split(".")[0] == "ml_dtypes":
        return array.view(f"u{array.dtype.itemsize}")
    return array


def is_mapped(array: np.ndarray) -> bool:
    """Return whether a constant gets a file of its own."""
    return array.nbytes > LARGEST_IN_ARCHIVE


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A file beside a module: an ``.npz`` or ``.safetensors`` with several arrays, or an ``.npy`` with one."""

    path: Path
    arrays: Mapping[str, np.ndarray]

    def write(self) -> None:
        """Write the file atomically, array by array. Raises ``UsageError`` (XP401) on an error of the system."""
        with replacing(self.path) as stream:
            if self.path.suffix == safetensors.SUFFIX:
                safetensors.write(stream, self.arrays)
            elif self.path.suffix == ARCHIVE:
                np.savez(stream, **{name: storable(array) for name, array in self.arrays.items()})  # type: ignore[arg-type]
            else:
                (array,) = self.arrays.values()
                np.save(stream, storable(array))

    def is_current(self) -> bool:
        """Return whether the file holds these arrays and no others."""
        import zipfile

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


@dataclass(frozen=True, slots=True)
class SharedTensors:
    """The ``.safetensors`` file of a folder: arrays that one of its modules needs, and those of the other modules."""

    path: Path
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)

    def write(self) -> None:
        """Write the file atomically, without arrays whose hash no module in the folder contains."""
        others = self._of_others()
        with replacing(self.path) as stream:
            safetensors.write(stream, {**others, **self.arrays})

    def is_current(self) -> bool:
        """Return whether the file holds these arrays."""
        found = self._found()
        return all(name in found and _same(array, found[name]) for name, array in self.arrays.items())

    def tidy(self) -> None:
        """Remove arrays that no module in the folder uses."""
        if len(self._of_others()) < len(self._found()):
            self.write()

    def _of_others(self) -> dict[str, np.ndarray]:
        texts = "".join(path.read_text("utf-8", "replace") for path in sorted(self.path.parent.glob("*.py")))
        others = {name: array for name, array in self._found().items() if name not in self.arrays}
        return {name: array.copy() for name, array in others.items() if array_sha256(array)[:DIGEST_DIGITS] in texts}

    def _found(self) -> dict[str, np.ndarray]:
        try:
            return safetensors.read(self.path)
        except (OSError, ValueError, KeyError):
            return {}


def sidecars(
    constants: Mapping[str, np.ndarray], module: Path, *, as_tensors: bool = False, helpers: Path | None = None
) -> Iterator[Sidecar | SharedTensors]:
    """Yield the files that a module at a path needs: ``NAME.npz``, and ``NAME.constants/*.npy``.

    With ``as_tensors``, there is a ``NAME.safetensors`` with all arrays that the format can hold; if the module imports
    ``helpers`` from a file, the tensors are in the file of that name.
    """
    tensors = {name: array for name, array in constants.items() if as_tensors and safetensors.can_hold(array)}
    if tensors and helpers is not None:
        yield SharedTensors(helpers.with_suffix(safetensors.SUFFIX), tensors)
    elif tensors:
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
