"""Programs through the first rungs of the ladder: the static check, then the twin, whose kernels run on the host."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import xla2py
from xla2py.targets.cupy.twin.host_kernels import OrderMatters
from xla2py.targets.cupy.twin.modules import to_device, to_host, twin
from xla2py.tests.ladder.static import problems
from xla2py.tests.operations.case import Case, module
from xla2py.tests.operations.runner import Failure, judge, wrong
from xla2py.tests.recording.lazy_jax import jax
from xla2py.transpile.equivalence.reference.tasks import map_arrays
from xla2py.transpile.equivalence.verdicts.comparison import compare, flatten
from xla2py.transpile.hlo.carriers import as_declared, carried

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed: kernels cannot run here")
BATCH = 100


def failures(cases: Sequence[Case], **options: Any) -> Iterator[Failure]:
    """The cases for which the emitted CuPy module is refused, waits, or does not what the judge says.

    ``options`` are those of :func:`xla2py.emit`.
    """
    for start in range(0, len(cases), BATCH):
        part = cases[start : start + BATCH]
        yield from wrong(part, judge(part), _results(part, options))


def _results(cases: Sequence[Case], options: dict[str, Any]) -> list[Any]:
    try:
        return run(cases, **options)
    except Exception:
        return [_alone(one, options) for one in cases]


def _alone(one: Case, options: dict[str, Any]) -> Any:
    try:
        return run([one], **options)[0]
    except Exception as error:
        return error


def run(cases: Sequence[Case], target: Any = "cupy", **options: Any) -> list[Any]:
    """What one emitted module gives for all of the cases."""
    text = module(list(cases), *(one.body for one in cases))
    inputs = [array for one in cases for array in one.inputs]
    emitted = xla2py.emit(text, target, format=False, **options)
    results = checked(emitted, inputs)
    return list(results) if len(cases) > 1 else [results]


def checked(emitted: Any, inputs: Sequence[np.ndarray]) -> Any:
    """The results of a module on the twin, after the static check."""
    found = problems(emitted.source)
    assert not found, "\n".join(found)
    return on_twin(emitted, list(inputs))


def on_twin(emitted: Any, arguments: Any, **host: Any) -> Any:
    """The results of ``main`` of a generated module on the twin, as host arrays of the program's types, in a nest.

    ``host`` are the functions that the program takes from its caller.
    """
    with twin():
        results = to_host(emitted.load().main(*to_device(arguments), **host))
    arrays = [array for _, array in flatten(results)]
    declared = as_declared(arrays, emitted.program.original.entry.root.shape)
    for array, own in zip(arrays, declared, strict=True):
        if array.dtype != own.dtype and (carried(own) != array).any():
            raise AssertionError(f"{array[carried(own) != array][0]} in {array.dtype} is no {own.dtype}")
    left = iter(declared)
    return map_arrays(lambda _: next(left), results)


def verdict(emitted: Any, inputs: Sequence[np.ndarray], expected: Any, budget: Any = None) -> str:
    """Return what is wrong with a module: its text, its run on the twin, or its results; nothing if all is well."""
    found = problems(emitted.source)
    if found:
        return found[0]
    try:
        actual = on_twin(emitted, list(inputs))
    except (Exception, OrderMatters) as error:
        return repr(error)
    return "\n".join(str(leaf) for leaf in compare(expected, actual, budget) if not leaf.status.is_good)


def as_numpy(program: Any, *arguments: Any, style: str = "fast", **options: Any) -> Any:
    """The module for CuPy of a function or a program, which gives on the twin what NumPy's gives."""
    source = xla2py.from_jax(program, *arguments) if callable(program) else program
    emitted = xla2py.emit(source, "cupy", style=style, **options)
    assert verdict(emitted, arguments, xla2py.emit(source).load().main(*arguments)) == ""
    return emitted


def as_jax(function: Any, *arguments: Any, rtol: float = 2e-6, atol: float = 2e-6, **options: Any) -> Any:
    """The module for CuPy of a function, in the style ``fast``, which gives on the twin what JAX gives."""
    given = {"style": "fast", "nested": False, "format": False} | options
    emitted = xla2py.emit(xla2py.from_jax(function, *arguments), "cupy", **given)
    assert_as_jax(checked(emitted, jax.tree.leaves(arguments)), function, *arguments, rtol=rtol, atol=atol)
    return emitted


def assert_as_jax(found: Any, function: Any, *arguments: Any, rtol: float = 2e-6, atol: float = 2e-6) -> None:
    """Results are those of a JAX function: their types, shapes and, nearly, numbers."""
    wanted = map(np.asarray, jax.tree.leaves(jax.jit(function)(*arguments)))
    for one, other in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        wide = np.complex128 if other.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(one.astype(wide), other.astype(wide), rtol, atol)
