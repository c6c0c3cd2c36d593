"""How long the examples take, beside ``jax.jit``."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import xla2py
from xla2py.benchmarks.gpu_kit.device import Device, Record
from xla2py.benchmarks.gpu_kit.programs import STYLES
from xla2py.tests.test_examples import LOWER, inputs
from xla2py.transpile.errors import UnsupportedError

PRECISIONS = ("highest", "default")  # of jax.jit's products of float32; CuPy's are in float32 unless CUPY_TF32=1
COLUMNS = [
    *(f"{style}{graph} {by}" for style in STYLES for graph in ("", " graph") for by in ("device", "wall")),
    *(f"jax {precision} wall" for precision in PRECISIONS),
]


def times(device: Device, name: str) -> Record:
    """Microseconds a call: in each style and as a graph, on the device and by the clock; jax.jit's by the clock.

    What fails leaves its column empty, and the first failure is told.
    """
    record: Record = dict.fromkeys(COLUMNS)
    failures: list[str] = []
    place, arguments = device.of_jax(), inputs(name)

    def measured(columns: tuple[str, ...], measure: Callable[[], tuple[float | None, ...]]) -> None:
        try:
            record.update(zip(columns, measure(), strict=True))
        except Exception as error:
            failures.append(f"{columns[0]}: {type(error).__name__}: {error}"[:300])

    for style in STYLES:
        for graph in (False, True):
            label = f"{style} graph" if graph else style
            measured(
                (f"{label} device", f"{label} wall"),
                lambda style=style, graph=graph: own(device, name, style, graph, arguments),
            )
    for precision in PRECISIONS:
        measured((f"jax {precision} wall",), lambda precision=precision: (jax_time(device, name, precision, place),))
    return record | ({"error": failures[0]} if failures else {})


def own(device: Device, name: str, style: str, graph: bool, host: Sequence[Any]) -> tuple[float | None, float | None]:
    """Return the times on the device by events, and by the clock; nothing where there is no graph."""
    try:
        program = xla2py.load(LOWER.hlo_file(name, "before"))
        emitted = xla2py.emit(program, "cupy", style=style, format=False, graph=graph)
    except UnsupportedError:
        return None, None
    with device.active() as cupy:
        module, arguments = emitted.load(), device.given(host)
        function = module.replay if graph else module.main
        function(*arguments), function(*arguments)  # compiles, captures
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        on_device, by_clock = [], []
        for _ in range(device.blocks):
            cupy.cuda.Device().synchronize()
            began = time.perf_counter()
            start.record()
            for _ in range(device.calls):
                function(*arguments)
            stop.record()
            stop.synchronize()
            by_clock.append((time.perf_counter() - began) / device.calls * 1e6)
            on_device.append(cupy.cuda.get_elapsed_time(start, stop) / device.calls * 1e3)
    return statistics.median(on_device), statistics.median(by_clock)


def jax_time(device: Device, name: str, precision: str, place: Any) -> float | None:
    """``jax.jit`` of the example's function on a device of JAX, by the clock; nothing where it has none."""
    if place is None:
        return None
    import jax

    function, arguments = LOWER.load_program(name)
    with jax.default_matmul_precision(precision):
        compiled, given = jax.jit(function), jax.device_put(arguments, place)
        jax.block_until_ready(compiled(*given))
        blocks = []
        for _ in range(device.blocks):
            began = time.perf_counter()
            results: Any = None
            for _ in range(device.calls):
                results = compiled(*given)
            jax.block_until_ready(results)
            blocks.append((time.perf_counter() - began) / device.calls * 1e6)
    return statistics.median(blocks)
