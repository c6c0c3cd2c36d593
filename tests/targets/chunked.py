"""Programs on Dask in chunks: the results in any chunks and from any kind of array, and what plans and runs take."""

from __future__ import annotations

import functools
import gc
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import pytest

import xla2py
from xla2py.targets.dask.planning.estimates import PROCESS_BYTES, THREADS
from xla2py.tests.targets.running import Arrays, differences, leaves, uneven
from xla2py.transpile.compilation import compile
from xla2py.transpile.emission import GeneratedModule
from xla2py.transpile.equivalence.verdicts.comparison import Budget
from xla2py.transpile.options import Options
from xla2py.transpile.target import Plan, load_target

dask = pytest.importorskip("dask", reason="Dask is not installed")

FEW_THREADS = "4"  # for which plans of small arrays have less than the arrays
ASIDE = 1 << 20  # bytes of graphs and of what Python does meanwhile
RUNS = 5  # at most, until one keeps to its plan: while a thread is stalled, the others compute what waits for it


@dataclass(frozen=True)
class Case:
    """A program, what is written for it, and the range of what its integers may be."""

    text: str
    written: str
    integers: tuple[int, int] = (-60, 60)


def inputs(case: Case) -> list[np.ndarray]:
    """Random numbers with NaN, infinities, both zeros and repetitions; integers in and out of bounds."""
    rng = np.random.default_rng(1)
    arrays = []
    for parameter in xla2py.load(case.text).entry.parameters:
        shape, dtype = parameter.array_shape.dimensions, parameter.array_shape.element_type.dtype
        if dtype.kind in "iu":
            arrays.append(rng.integers(*case.integers, shape).astype(dtype))
            continue
        values = rng.integers(-9, 9, shape).astype(dtype) / 2
        for place, special in enumerate((np.nan, -0.0, 0.0, np.inf, -np.inf)):
            values.flat[(7 * place + 3) % max(1, values.size)] = special
        arrays.append(values.astype(dtype))
    return arrays


class Loaded:
    """An array that takes slices and numbers only and gives copies, as those of zarr and h5py do."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.shape, self.dtype, self.ndim = array, array.shape, array.dtype, array.ndim

    def __getitem__(self, index: tuple[slice | int, ...]) -> np.ndarray:
        assert all(isinstance(part, slice | int) for part in index), index
        return np.array(self.array[index])


KINDS = {"numpy": np.copy, "slices": lambda x: Loaded(x) if x.ndim else x, "dask": uneven}


def kinds(chunks: str) -> list[Callable[[np.ndarray], Any]]:
    """Return what makes arguments of arrays: every kind, but one for chunks of one element, where tasks are many and
    longer chunks show that the kind only decides how they are read."""
    return [uneven] if chunks == "1" else list(KINDS.values())


@functools.cache
def module_for_numpy(text: str) -> Any:
    return xla2py.emit(text, format=False).load()


def check(case: Case, chunks: str, given: Arrays = (), budget: Budget | None = None) -> GeneratedModule:
    """Assert that the results in chunks are NumPy's, from every kind of array, and the inputs what they were:
    those that are given, or ``inputs`` of the case."""
    given = given or inputs(case)
    before = [array.copy() for array in given]
    with np.errstate(all="ignore"):
        wanted = leaves(module_for_numpy(case.text).main(*given))
    generated = xla2py.emit(case.text, "dask", chunks=chunks)
    assert case.written in generated.source
    assert "# one chunk: " not in generated.source
    module = generated.load()
    module.TILE_BYTES = module.WINDOW_BYTES = 1  # tasks work through their blocks row by row
    for made_of in kinds(chunks):
        lazy = leaves(module.main(*map(made_of, given)))
        with np.errstate(all="ignore"):
            values = dask.compute(*lazy, scheduler="sync")
        assert [(x.shape, x.dtype) for x in lazy] == [(x.shape, x.dtype) for x in values]
        assert differences(wanted, list(values), budget) == []
    assert [x.tobytes() for x in before] == [x.tobytes() for x in given]
    return generated


def plan_of(text: str, **limits: str) -> Plan:
    """How a program would run on Dask, within limits as ``emit`` takes them."""
    found = compile(xla2py.load(text), load_target("dask"), Options(**limits)).plan
    assert found is not None
    return found


def peak_within(peak: Callable[[], int], most: float, least: float = 0) -> int:
    """The peak of the first run that has at least and at most so many bytes, or of the last run."""
    for _ in range(RUNS):
        found = peak()
        if least <= found <= most:
            break
    return found


def peak_of_a_run(text: str, arguments: Sequence[Any], most: float, least: float = 0, **limits: str) -> int:
    """The most bytes that a run on Dask holds at once to sum up its results, after a first one; see ``peak_within``."""
    total = total_of(text, arguments, **limits)
    threads = int(limits.get("threads", THREADS))
    total.compute(num_workers=threads)  # imports, and buffers that stay
    return peak_within(lambda: peak_of(total, threads), most, least)


def total_of(text: str, arguments: Sequence[Any], **limits: str) -> Any:
    """The sum of all results of a program on Dask, which is not computed yet."""
    results = xla2py.emit(text, "dask", format=False, **limits).load().main(*arguments)
    return sum(result.sum() for result in leaves(results))


def peak_of(total: Any, threads: int = THREADS) -> int:
    """The most bytes that so many threads hold at once to compute a number on Dask."""
    gc.freeze()  # what there is already is not looked through
    gc.enable()  # as in users' programs
    tracemalloc.start()
    total.compute(num_workers=threads)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    gc.disable()
    gc.unfreeze()
    return peak


def check_plan(
    text: str, given: Arrays, *phases: str, below: float | None = None, times: float = inf, **limits: str
) -> None:
    """Assert that a run on Dask takes no more than its plan says, and that nothing is needed in one chunk.

    If ``phases`` are named, they are the last ones of the plan. The plan has fewer bytes than ``below``, by default
    those of the arrays that are given, and at most so many ``times`` the bytes of the run.
    """
    limits = {"threads": FEW_THREADS, **limits}
    plan = plan_of(text, **limits)
    assert [phase.name for phase in plan.phases][-len(phases) :] == list(phases) or not phases
    assert not any(phase.note for phase in plan.phases)
    planned = plan.peak_bytes - PROCESS_BYTES + ASIDE
    assert planned < (sum(x.nbytes for x in given) if below is None else below)
    arguments = [Loaded(x) if x.ndim else x for x in given]
    peak = peak_of_a_run(text, arguments, planned, planned / times, **limits)
    assert planned / times <= peak <= planned
