"""Emit a program and run it: on NumPy, on Dask in given chunks, and on the twin of CuPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

import xla2py
from xla2py.transpile.emission import GeneratedModule
from xla2py.transpile.equivalence.inputs.generate import nest
from xla2py.transpile.equivalence.verdicts.comparison import Budget, compare, flatten

Arrays = Sequence[np.ndarray]


# What may need values to go on, where it meets arrays in chunks.
COMPUTING = (" while(", " conditional(", " rng", " infeed(", " outfeed(")


def leaves(results: Any) -> list[Any]:
    return [leaf for _, leaf in flatten(results)]


def run(text: str, target: str, inputs: Arrays, made_of: Callable[[np.ndarray], Any], chunks: str = "") -> list[Any]:
    """The results of ``main`` on the inputs, each made an array of the library, as one flat list."""
    emitted, shapes = module_of(text, target, chunks)
    with np.errstate(all="ignore"):
        return leaves(emitted.main(*nest(shapes, [made_of(array) for array in inputs])))


@lru_cache(maxsize=16)
def module_of(text: str, target: str, chunks: str) -> tuple[Any, list[Any]]:
    """The module of a text and the shapes that it takes; tests ask again soon, for other inputs or beside others."""
    program = xla2py.load(text)
    module = xla2py.emit(program, target, format=False, chunks=chunks).load()
    module.TILE_BYTES = module.WINDOW_BYTES = 1  # tasks work through their blocks row by row
    return module, [parameter.shape for parameter in program.entry.parameters]


def on_numpy(text: str, inputs: Arrays) -> list[Any]:
    return run(text, "numpy", inputs, np.copy)


def on_dask(text: str, inputs: Arrays, cut: Callable[[np.ndarray], Any], chunks: str = "") -> list[np.ndarray]:
    """The values that Dask computes, after ``main`` computed none of them and changed no argument; ``chunks`` as
    ``emit`` takes them.
    """
    import dask
    import dask.array as da

    before = [array.tobytes() for array in inputs]
    waits = any(opcode in text for opcode in COMPUTING)
    with dask.config.set(scheduler="sync" if waits else _computing):
        lazy = run(text, "dask", inputs, cut, chunks)
    assert all(isinstance(leaf, da.Array) for leaf in lazy)
    with np.errstate(all="ignore"):
        values = dask.compute(*lazy, scheduler="sync")
    assert [leaf.dtype for leaf in lazy] == [value.dtype for value in values]
    known = [(leaf.shape, value.shape) for leaf, value in zip(lazy, values, strict=True) if not np.isnan(leaf.size)]
    assert [shape for shape, _ in known] == [shape for _, shape in known]
    assert [array.tobytes() for array in inputs] == before
    return list(values)


def _computing(*arguments: Any, **keywords: Any) -> Any:
    raise AssertionError("main computed")


def on_device(text: str, inputs: Arrays, emitted: GeneratedModule | None = None) -> list[np.ndarray]:
    """The values that the twin of CuPy gives of a module, of that of the text where none is given."""
    from xla2py.tests.ladder.running import on_twin

    emitted = emitted or xla2py.emit(text, "cupy", format=False)
    shapes = [parameter.shape for parameter in xla2py.load(text).entry.parameters]
    return leaves(on_twin(emitted, nest(shapes, list(inputs))))


def uneven(array: np.ndarray) -> Any:
    """Chunks of two thirds and the rest."""
    import dask.array as da

    return da.from_array(array, chunks=tuple(max(1, (2 * size + 2) // 3) for size in array.shape))


def single_elements(array: np.ndarray) -> Any:
    import dask.array as da

    return da.from_array(array, chunks=1 if array.size else -1)


def differences(expected: list[Any], found: list[Any], budget: Budget | None = None) -> list[str]:
    return [str(leaf) for leaf in compare(expected, found, budget) if not leaf.status.is_good]
