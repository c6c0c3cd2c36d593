"""The tasks of workers: functions that run in a child process, on flat NumPy arrays in and out."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import lru_cache
from importlib import import_module
from types import FrameType
from typing import Any

import numpy as np

from ...emission.module.generated import GeneratedModule
from ...hlo.parser import parse_module
from ...hlo.printer import print_module
from ...target import load_target
from ..verdicts.comparison import flatten
from ..verdicts.subnormals import flushed
from .reference_devices import partitions_as_replicas
from .runtime import Runtime
from .xla import CompiledHlo, compile_hlo, interpret_hlo, run_hlo_on_devices

Array = np.ndarray[Any, np.dtype[Any]]


def run_generated(
    generated: GeneratedModule, arguments: Sequence[Any], without_subnormals: bool = False
) -> list[Array]:
    """Load an emitted module and call its ``main``; the arrays of the result in order, as NumPy arrays.

    ``arguments`` are those of ``main``: NumPy arrays, tuples of them, ``None`` for a token. They are made read-only, so
    code that writes into its arguments fails. ``without_subnormals`` has such numbers count as zeros, as XLA has it.
    """
    for _, array in flatten(list(arguments)):
        array.setflags(write=False)
    target = load_target(generated.target)
    arguments = map_arrays(target.library.cut, arguments)
    with flushed() if without_subnormals else nullcontext(), Runtime(target) as runtime:
        results = generated.load(keep_compiled=False).main(*runtime.adopt(list(arguments)))
        return runtime.fetch(target.library.materialise(results, without_subnormals))


def executed_lines(generated: GeneratedModule, arguments: Sequence[Any]) -> frozenset[int]:
    """The lines of an emitted module's text that its ``main`` runs on the arguments, in this thread."""
    module = generated.load(keep_compiled=False)
    name, lines = inspect.unwrap(module.main).__code__.co_filename, set[int]()

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            lines.add(frame.f_lineno)
        return local

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        return local if frame.f_code.co_filename == name else None

    before = sys.gettrace()
    with Runtime(load_target(generated.target)) as runtime, flushed(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adopted = runtime.adopt(list(arguments))
        sys.settrace(called)
        try:
            module.main(*adopted)
        finally:
            sys.settrace(before)
    return frozenset(lines)


def run_replicas(generated: GeneratedModule, replica_args: Sequence[Sequence[Any]]) -> list[Array]:
    """Load an emitted module for several devices and run them as threads; the arrays of all, device by device.

    ``replica_args[k]`` are the arguments of device ``k``, as :func:`run_generated` takes those of ``main``.
    """
    for _, array in flatten(list(replica_args)):
        array.setflags(write=False)
    target = load_target(generated.target)
    with Runtime(target.replicas or target) as runtime:
        return runtime.fetch(
            generated.load(keep_compiled=False).run_local([runtime.adopt(list(each)) for each in replica_args])
        )


def run_xla_on_devices(text: str, inputs: Sequence[Sequence[Array]]) -> list[Array]:
    """Run HLO text, the program of one device, on several CPU devices of XLA; the arrays of all, device by device."""
    plain = print_module(partitions_as_replicas(parse_module(text)))
    return [array for results in run_hlo_on_devices(plain, inputs) for array in results]


def map_arrays(function: Callable[[Array], Any], value: Any) -> Any:
    """The value with every array in its tuples and lists replaced."""
    if isinstance(value, tuple | list):
        return tuple(map_arrays(function, part) for part in value)
    return None if value is None else function(value)


def run_xla(text: str, arguments: Sequence[Array]) -> list[Array]:
    """Run HLO text on XLA's CPU backend; see :func:`.xla_reference.run_hlo`."""
    return _compiled(text)(*arguments)


@lru_cache(maxsize=4)
def _compiled(text: str) -> CompiledHlo:
    return compile_hlo(text)


def run_interpreter(text: str, arguments: Sequence[Array]) -> list[Array]:
    """Run HLO text in StableHLO's interpreter; see :func:`.xla_reference.interpret_hlo`."""
    return interpret_hlo(text, *arguments)


def prepare_numpy() -> None:
    """Import what would else count for the first program."""
    for name in ("numpy.linalg", "numpy.fft", "ml_dtypes"):
        import_module(name)


def prepare_target(name: str) -> None:
    """Do what would else count for the first module of a target, with its library or the twin of that."""
    prepare_numpy()
    target = load_target(name)
    with Runtime(target):
        target.library.prepare()


def prepare_xla() -> None:
    """Import what XLA needs, and start its threads."""
    run_xla("HloModule m\nENTRY e { ROOT p = f32[] parameter(0) }\n", [np.zeros((), np.float32)])
