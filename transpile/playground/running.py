"""One run of an emitted module on arguments generated from a seed, for people to look at."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dataclass import dataclass
from ..emission import GeneratedModule
from ..equivalence.inputs.generate import describe, make_inputs, nest, parameter_names
from ..equivalence.reference.tasks import run_generated, run_replicas
from ..equivalence.verdicts.comparison import compare
from ..errors import Diagnostic, UsageError
from ..hlo.device_groups import device_count
from ..hlo.ir import HloModule
from ..hlo.shapes import ArrayShape, Shape, leaves
from ..target import load_target, twin_of

Array = np.ndarray[Any, np.dtype[Any]]
_WRITTEN = 24  # elements up to which an array is written in full
_MOST_POINTS = 256  # of a curve
_MOST_CELLS = 96  # along either side of a heat map


@dataclass(frozen=True, slots=True)
class Ran:
    """The arguments and the results of a module, by name. ``note`` says what it ran on, if that is unusual."""

    arguments: dict[str, Array]
    results: dict[str, Array]
    seconds: float
    note: str = ""

    def as_answer(self) -> dict[str, Any]:
        """Return the run as JSON."""
        shown = {"arguments": self.arguments, "results": self.results}
        views = {kind: [_view(name, array) for name, array in arrays.items()] for kind, arrays in shown.items()}
        return {**views, "seconds": self.seconds, "note": self.note}


def ran(module: HloModule, generated: GeneratedModule, seed: int) -> Ran:
    """Run a module. Raises UsageError: XP408 if its library cannot run here, XP409 if it calls the user's functions."""
    target, devices = load_target(generated.target), device_count(module)
    shapes = [parameter.shape for parameter in module.entry.parameters]
    each = [make_inputs(module, seed + device) for device in range(devices)]
    arguments = _named(_parameters(generated, shapes), shapes, each[0])
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(action="ignore"):
            if devices > 1:
                found = run_replicas(generated, [nest(shapes, arrays) for arrays in each])
            else:
                found = run_generated(generated, nest(shapes, each[0]))
    except ImportError as error:
        raise UsageError(Diagnostic("XP408", f"the {target.name} target cannot run here: {error}")) from error
    seconds = time.perf_counter() - start
    twin = twin_of(target)
    note = f"{twin.missing()} here: it ran on a twin of {target.title} on the CPU" if twin is not None else ""
    return Ran(arguments, _results(module.entry.root.shape, found), seconds, note)


def _parameters(generated: GeneratedModule, shapes: Sequence[Shape]) -> list[str]:
    names = parameter_names(generated.source)
    if len(names) == len(shapes):
        return names
    return [f"argument.{number}" for number in range(len(shapes))]


def _named(names: Sequence[str], shapes: Sequence[Shape], arrays: Sequence[Array]) -> dict[str, Array]:
    """Return the arrays of values by name: ``x``, or ``x.0``, ``x.1``, .. for a tuple."""
    places = [
        ".".join([name, *map(str, path)])
        for name, shape in zip(names, shapes, strict=True)
        for path, leaf in leaves(shape)
        if isinstance(leaf, ArrayShape)
    ]
    return dict(zip(places, arrays, strict=True))


def _results(shape: Shape, arrays: Sequence[Array]) -> dict[str, Array]:
    """Return the results by name; for several devices, those of one device after another."""
    one = _named(["result"], [shape], arrays[: sum(isinstance(leaf, ArrayShape) for _, leaf in leaves(shape))])
    if len(one) == len(arrays):
        return one
    return {f"device {k // len(one)} {list(one)[k % len(one)]}": array for k, array in enumerate(arrays)}


def _view(name: str, array: Array) -> dict[str, Any]:
    """Return an array as JSON: type, statistics, its numbers if they are few, a picture."""
    facts = describe(array)
    return {
        "name": name,
        "dtype": facts.dtype,
        "shape": list(facts.shape),
        "statistics": {
            "minimum": facts.minimum if facts.minimum is None else float(facts.minimum),
            "maximum": facts.maximum if facts.maximum is None else float(facts.maximum),
            "mean": facts.mean if facts.mean is None else float(facts.mean),
            "nans": facts.nans,
            "infinities": facts.infinities,
            "zeros": facts.zeros,
        },
        "text": np.array2string(array, precision=5) if array.size <= _WRITTEN else "",
        "picture": picture(array),
    }


def compared(first: Ran, second: Ran) -> list[dict[str, Any]]:
    """Return how far the results of two runs differ, by result."""
    names = list(first.results)
    verdicts = compare(tuple(first.results.values()), tuple(second.results.values()))
    return [
        {
            "name": names[number] if len(verdicts) == len(names) else "result",
            "verdict": leaf.status.value,
            "is_good": leaf.status.is_good,
            "absolute": _number(leaf.absolute),
            "ulps": _number(leaf.ulps),
            "mismatches": leaf.mismatches,
            "size": leaf.size,
            "note": leaf.note,
        }
        for number, leaf in enumerate(verdicts)
    ]


def _number(value: float) -> float | None:
    """Return a number for JSON, or None if it is not finite."""
    return float(value) if math.isfinite(value) else None


# -- arrays as small pictures


def picture(array: Array) -> dict[str, Any] | None:
    """Return a curve (``low`` and ``high`` at each point), a heat map (``rows`` of means), or None without axes or
    elements.

    Complex numbers are shown by their modulus; numbers that are not finite are None. For more than two axes, the first
    element along all but the last two is shown: ``part`` is ``[0, 0, :, :]``.
    """
    if array.ndim == 0 or array.size == 0:
        return None
    first = (0,) * max(array.ndim - 2, 0)
    part = f"[{', '.join(['0'] * len(first) + [':'] * min(array.ndim, 2))}]" if first else ""
    with np.errstate(all="ignore"):
        values = np.asarray(abs(array[first]) if np.iscomplexobj(array) else array[first]).astype(np.float64)
    values[~np.isfinite(values)] = np.nan
    if 1 in values.shape:
        values = values.reshape(-1)
    return {**(_curve(values) if values.ndim == 1 else _map(values)), "part": part}


def _curve(values: Array) -> dict[str, Any]:
    starts = _starts(values.size, _MOST_POINTS)
    low, high = (_numbers(function.reduceat(values, starts)) for function in (np.fmin, np.fmax))
    return {"kind": "curve", "low": low, "high": high}


def _map(values: Array) -> dict[str, Any]:
    known = np.isfinite(values)
    sums, counts = np.where(known, values, 0.0), known.astype(np.float64)
    for axis in (0, 1):
        starts = _starts(values.shape[axis], _MOST_CELLS)
        sums, counts = (np.add.reduceat(each, starts, axis=axis) for each in (sums, counts))
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return {"kind": "map", "rows": [_numbers(row) for row in means]}


def _starts(size: int, most: int) -> Array:
    """Return the start of each of at most ``most`` blocks of a length."""
    return np.unique(np.arange(min(size, most)) * size // min(size, most))


def _numbers(values: Array) -> list[float | None]:
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values]
