"""Arrays on their way into and out of a program: ``.npz`` files, tuples, narrow element types."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..emission.module import type_text
from ..emission.sidecars import storable
from ..equivalence.comparison import flatten
from ..errors import Diagnostic, InputValueError, UsageError
from ..files import read_bytes, write_atomically
from ..hlo.element_types import ElementType
from ..hlo.ir import HloModule
from ..hlo.shapes import ArrayShape, leaves

Array = np.ndarray[Any, np.dtype[Any]]


def leaf_name(name: str, path: Sequence[int]) -> str:
    """What an array inside a tuple is called: ``state.0.1``."""
    return ".".join([name, *map(str, path)])


def parameter_leaves(module: HloModule, names: Sequence[str]) -> Iterator[tuple[str, ArrayShape]]:
    """The name and shape of every array among the entry's parameters, tuples flattened in order.

    ``names`` are those of the emitted ``main``.
    """
    for name, parameter in zip(names, module.entry.parameters, strict=True):
        for path, shape in leaves(parameter.shape):
            if isinstance(shape, ArrayShape):
                yield leaf_name(name, path), shape


def read_arguments(path: Path, wanted: Sequence[tuple[str, ArrayShape]]) -> list[Array]:
    """The arrays of an ``.npz`` file, under the names wanted, or as ``arr_0``, ``arr_1``, .. in order.

    Raises ``UsageError`` XP407 where the file is no ``.npz``, and ``InputValueError`` XP502 with one diagnostic for
    each array that is missing, of another shape or dtype, or not wanted.
    """
    stored = _load(path)
    names = [name for name, _ in wanted]
    if all(name.startswith("arr_") for name in stored):
        names = [f"arr_{number}" for number in range(len(wanted))]
    complaints = [f"{path} has no array '{name}'" for name in names if name not in stored]
    complaints += [f"{path} has an array '{name}' that main does not take" for name in stored if name not in names]
    arrays = []
    for name, (_, shape) in zip(names, wanted, strict=True):
        if name in stored:
            array = _as_element_type(stored[name], shape.element_type)
            if not _fits(array, shape):
                found = f"{array.dtype}{list(array.shape)}"
                complaints.append(f"array '{name}' is {found}, main takes {type_text(shape)}")
            arrays.append(array)
    if complaints:
        hint = f"main takes {', '.join(name for name, _ in wanted) or 'nothing'}"
        raise InputValueError(*(Diagnostic("XP502", complaint, hint=hint) for complaint in complaints))
    return arrays


def _fits(array: Array, shape: ArrayShape) -> bool:
    """The element type is the same, and the sizes are too or, where dynamic, within their bounds."""
    sizes = zip(array.shape, shape.dimensions, shape.dynamic or (False,) * shape.rank, strict=False)
    is_sized = all(size == bound or (is_dynamic and size < bound) for size, bound, is_dynamic in sizes)
    return array.dtype == shape.element_type.dtype and array.ndim == shape.rank and is_sized


def _load(path: Path) -> Mapping[str, Array]:
    content = read_bytes(path)
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, TypeError, zipfile.BadZipFile) as error:
        hint = "numpy.savez writes one; it must not hold Python objects"
        raise UsageError(Diagnostic("XP407", f"{path} is not an .npz file of arrays: {error}", hint=hint)) from error


def _as_element_type(array: Array, element_type: ElementType) -> Array:
    """The bits of a narrow type, which NumPy's files cannot name, as that type again."""
    is_bits = array.dtype.kind in "Vu" and array.dtype.itemsize == element_type.dtype.itemsize
    return array.view(element_type.dtype) if element_type.is_extension and is_bits else array


def to_numpy(array: Any) -> Array:
    """A result as a NumPy array, whatever library it is of."""
    return np.asarray(array.get() if hasattr(array, "get") else array)


def named_results(results: Any) -> dict[str, Array]:
    """All arrays of what ``main`` returned: ``result``, or ``result.0``, ``result.1``, .. of a tuple."""
    return {leaf_name("result", path): to_numpy(leaf) for path, leaf in flatten(results) if leaf is not None}


def write_results(path: Path, results: Mapping[str, Array]) -> None:
    """Write an ``.npz`` file; the bits of narrow types as unsigned integers."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{name: storable(array) for name, array in results.items()})
    write_atomically(path, buffer.getvalue())
