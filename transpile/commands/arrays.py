"""Arrays for the arguments and from the results of a program: ``.npz`` files, tuples, narrow element types."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..emission import emit
from ..emission.functions.sidecars import storable
from ..emission.module.description import type_text
from ..equivalence.inputs.generate import make_inputs, parameter_names
from ..equivalence.verdicts.comparison import flatten
from ..errors import Diagnostic, InputValueError, UsageError
from ..files import read_bytes, write_atomically
from ..hlo.element_types import ElementType
from ..hlo.ir import HloModule
from ..hlo.shapes import ArrayShape, leaves

Array = np.ndarray[Any, np.dtype[Any]]


def leaf_name(name: str, path: Sequence[int]) -> str:
    """Return the name of an array inside a tuple: ``state.0.1``."""
    return ".".join([name, *map(str, path)])


def parameter_leaves(module: HloModule, names: Sequence[str]) -> Iterator[tuple[str, ArrayShape]]:
    """Yield the name and shape of every array among the entry's parameters, tuples flattened in order.

    ``names`` are those of the emitted ``main``.
    """
    for name, parameter in zip(names, module.entry.parameters, strict=True):
        for path, shape in leaves(parameter.shape):
            if isinstance(shape, ArrayShape):
                yield leaf_name(name, path), shape


def arguments_for(
    module: HloModule, path: str | None, seed: int, names: Sequence[str] | None = None
) -> tuple[list[Array], str]:
    """Return arrays for the entry's parameters, tuples flattened in order, and a description of their origin.

    They come from an ``.npz`` file if one is named, else from the program itself (a HloSnapshot), else from the seed.
    Raises the errors of :func:`read_arguments`.
    """
    if path is not None:
        return read_arguments(Path(path), module, names), f"arguments of {path}"
    if module.arguments:
        return [array for _, array in flatten(module.arguments)], "arguments of the snapshot"
    return make_inputs(module, seed), f"arguments made with seed {seed}"


def read_arguments(path: Path, module: HloModule, names: Sequence[str] | None = None) -> list[Array]:
    """Return the arrays of an ``.npz`` file for the entry's parameters.

    The file has them under their names, or as ``arr_0``, ``arr_1``, .. in order. The names are those of the emitted
    ``main``; the module is emitted to get them if they are not given. Raises ``UsageError`` XP407 if the file is not an
    ``.npz``, and ``InputValueError`` XP502 with a diagnostic for each array that is missing, superfluous, or of another
    shape or dtype.
    """
    stored = _load(path)
    if all(name.startswith("arr_") for name in stored):
        shapes = [shape for _, shape in parameter_leaves(module, [""] * len(module.entry.parameters))]
        wanted = [(f"arr_{number}", shape) for number, shape in enumerate(shapes)]
    else:
        wanted = list(
            parameter_leaves(module, names or parameter_names(emit(module, format=False, nested=False).source))
        )
    names = [name for name, _ in wanted]
    complaints = [f"{path} has no array '{name}'" for name in names if name not in stored]
    complaints += [f"{path} has an array '{name}' that main does not take" for name in stored if name not in names]
    arrays = []
    for name, shape in wanted:
        if name in stored:
            array = _as_element_type(stored[name], shape.element_type)
            if not _fits(array, shape):
                found = f"{array.dtype}{list(array.shape)}"
                complaints.append(f"array '{name}' is {found}, main takes {type_text(shape)}")
            arrays.append(array)
    if complaints:
        hint = f"main takes {', '.join(names) or 'nothing'}"
        raise InputValueError(*(Diagnostic("XP502", complaint, hint=hint) for complaint in complaints))
    return arrays


def _fits(array: Array, shape: ArrayShape) -> bool:
    """Return whether an array has the element type and the sizes of a shape; dynamic sizes may be smaller."""
    sizes = zip(array.shape, shape.dimensions, shape.dynamic or (False,) * shape.rank, strict=False)
    is_sized = all(size == bound or (is_dynamic and size < bound) for size, bound, is_dynamic in sizes)
    return array.dtype == shape.element_type.dtype and array.ndim == shape.rank and is_sized


def _load(path: Path) -> Mapping[str, Array]:
    content = read_bytes(path)
    hint = "numpy.savez writes one; it must not hold Python objects"
    if not zipfile.is_zipfile(io.BytesIO(content)):  # NumPy would say how to read it unsafely
        kind = "an .npy file of one array" if content.startswith(np.lib.format.MAGIC_PREFIX) else "no archive"
        raise UsageError(Diagnostic("XP407", f"{path} is not an .npz file of arrays: it is {kind}", hint=hint))
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, TypeError, zipfile.BadZipFile) as error:
        raise UsageError(Diagnostic("XP407", f"{path} is not an .npz file of arrays: {error}", hint=hint)) from error


def _as_element_type(array: Array, element_type: ElementType) -> Array:
    """Return an array with the bits of a narrow type, which NumPy's files cannot name, as that type."""
    is_bits = array.dtype.kind in "Vu" and array.dtype.itemsize == element_type.dtype.itemsize
    return array.view(element_type.dtype) if element_type.is_extension and is_bits else array


def to_numpy(array: Any) -> Array:
    """Return a result of any library as a NumPy array."""
    return np.asarray(array.get() if hasattr(array, "get") else array)


def named_results(results: Any) -> dict[str, Array]:
    """Return all arrays in the result of ``main``: ``result``, or ``result.0``, ``result.1``, .. for a tuple."""
    return {leaf_name("result", path): to_numpy(leaf) for path, leaf in flatten(results) if leaf is not None}


def write_results(path: Path, results: Mapping[str, Array]) -> None:
    """Write an ``.npz`` file, with the bits of narrow types as unsigned integers."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{name: storable(array) for name, array in results.items()})
    write_atomically(path, buffer.getvalue())
