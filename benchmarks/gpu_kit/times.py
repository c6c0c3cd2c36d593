"""How long programs take, beside ``jax.jit``."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import xla2py
from xla2py.benchmarks.gpu_kit.device import Device, Record
from xla2py.benchmarks.gpu_kit.large_programs import large_program
from xla2py.benchmarks.gpu_kit.programs import STYLES
from xla2py.tests.test_examples import LOWER, inputs
from xla2py.transpile.equivalence.verdicts.comparison import flatten
from xla2py.transpile.errors import UnsupportedError

PRECISIONS = ("highest", "default")  # of jax.jit's products of float32: float32 and TF32
MOST = 0.1  # seconds of a block, unless one call takes longer
COLUMNS = [
    *(f"{style}{graph} {by}" for style in STYLES for graph in ("", " graph") for by in ("device", "wall")),
    *(f"jax {precision} wall" for precision in PRECISIONS),
]
PROGRAM_COLUMNS = [
    *(f"{form} {by}" for form in ("fast", "tf32", "graph", "cudnn", "cudnn graph") for by in ("device", "wall")),
    *(f"jax {precision} wall" for precision in PRECISIONS),
    "copy",
    "fast / jax highest",
    "best / jax default",
]


def times(device: Device, name: str) -> Record:
    """Microseconds a call of an example: in each style and as a graph, on the device and by the clock; ``jax.jit``'s by
    the clock.

    What fails leaves its column empty, and the first failure is told.
    """
    record: Record = dict.fromkeys(COLUMNS)
    taken = _Taken(record)
    program = xla2py.load(LOWER.hlo_file(name, "before"))
    for style in STYLES:
        for graph in (False, True):
            label = f"{style} graph" if graph else style
            options = {"style": style, "graph": graph}
            taken.both(label, lambda options=options: own(device, program, inputs(name), options))
    function, arguments = LOWER.load_program(name)
    for precision in PRECISIONS:
        taken.one(f"jax {precision} wall", lambda it=precision: jax_time(device, function, arguments, it))
    return taken.record()


def program_times(device: Device, name: str) -> Record:
    """Microseconds a call of a large program: in the style ``fast``, with products in TF32, as a graph of that, and
    with convolutions by cuDNN, as a graph, too; ``jax.jit``'s by the clock at both precisions; what a copy of as many
    bytes as the arguments and results have takes; the ratio to ``jax.jit`` in float32, and that of the best of the
    others to ``jax.jit`` as it comes.
    """
    record: Record = dict.fromkeys(PROGRAM_COLUMNS)
    taken = _Taken(record)
    function, arguments = large_program(name, device.is_twin)
    program = xla2py.from_jax(function, *arguments)
    tf32 = {"precision": "tf32"}
    cudnn = {**tf32, "allow": ("cudnn",)}
    forms = {
        "fast": {},
        "tf32": tf32,
        "graph": {**tf32, "graph": True},
        "cudnn": cudnn,
        "cudnn graph": {**cudnn, "graph": True},
    }
    for form, options in forms.items():
        taken.both(
            form, lambda options=options: own(device, program, arguments, {"style": "fast", "nested": False, **options})
        )
    for precision in PRECISIONS:
        taken.one(f"jax {precision} wall", lambda it=precision: jax_time(device, function, arguments, it))
    taken.one("copy", lambda: copy_time(device, function, arguments))
    best = min(filter(None, (record[f"{form} wall"] for form in list(forms)[1:])), default=None)
    for column, time_, base in (
        ("fast / jax highest", record["fast wall"], "highest"),
        ("best / jax default", best, "default"),
    ):
        if time_ and record[f"jax {base} wall"]:
            record[column] = round(time_ / record[f"jax {base} wall"], 2)
    return taken.record()


class _Taken:
    """Fills the columns of a record, and keeps the first failure."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._failure = ""

    def both(self, label: str, measure: Callable[[], tuple[float | None, float | None]]) -> None:
        self._fill((f"{label} device", f"{label} wall"), measure)

    def one(self, column: str, measure: Callable[[], float | None]) -> None:
        self._fill((column,), lambda: (measure(),))

    def _fill(self, columns: tuple[str, ...], measure: Callable[[], tuple[float | None, ...]]) -> None:
        try:
            self._record.update(zip(columns, measure(), strict=True))
        except Exception as error:
            self._failure = self._failure or f"{columns[0]}: {type(error).__name__}: {error}"[:300]

    def record(self) -> Record:
        return self._record | ({"error": self._failure} if self._failure else {})


def own(
    device: Device, program: Any, host: Sequence[Any], options: dict[str, Any]
) -> tuple[float | None, float | None]:
    """Return the times of a module on the device by events, and by the clock; nothing where it cannot be a graph, or
    has nothing for cuDNN to do.
    """
    try:
        emitted = xla2py.emit(program, "cupy", format=False, **options)
    except UnsupportedError:
        return None, None
    if "cudnn" in options.get("allow", ()) and "import cudnn" not in emitted.source:
        return None, None
    with device.active() as cupy:
        module, arguments = emitted.load(), device.given(host)
        function = module.replay if options.get("graph") else module.main
        function(*arguments), function(*arguments)  # compiles, captures
        wait = cupy.cuda.Device().synchronize
        calls = _calls(device, lambda: (function(*arguments), wait()))
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        on_device, by_clock = [], []
        for _ in range(device.blocks):
            wait()
            began = time.perf_counter()
            start.record()
            for _ in range(calls):
                function(*arguments)
            stop.record()
            stop.synchronize()
            by_clock.append((time.perf_counter() - began) / calls * 1e6)
            on_device.append(cupy.cuda.get_elapsed_time(start, stop) / calls * 1e3)
    return statistics.median(on_device), statistics.median(by_clock)


def jax_time(device: Device, function: Callable[..., Any], arguments: Any, precision: str) -> float | None:
    """``jax.jit`` of a function on a device of JAX, by the clock; nothing where it has none."""
    place = device.of_jax()
    if place is None:
        return None
    import jax

    with jax.default_matmul_precision(precision):
        compiled, given = jax.jit(function), jax.device_put(arguments, place)
        jax.block_until_ready(compiled(*given))
        calls = _calls(device, lambda: jax.block_until_ready(compiled(*given)))
        blocks = []
        for _ in range(device.blocks):
            began = time.perf_counter()
            results: Any = None
            for _ in range(calls):
                results = compiled(*given)
            jax.block_until_ready(results)
            blocks.append((time.perf_counter() - began) / calls * 1e6)
    return statistics.median(blocks)


def copy_time(device: Device, function: Callable[..., Any], arguments: Sequence[Any]) -> float | None:
    """Return what the device takes to read and write as many bytes as the arguments and results of a function have."""
    import jax

    results = [leaf for _, leaf in flatten(jax.eval_shape(function, *arguments))]
    moved = sum(int(np.prod(x.shape)) * np.dtype(x.dtype).itemsize for x in (*arguments, *results))
    with device.active() as cupy:
        source = cupy.zeros(max(moved // 2, 1), dtype="b")
        target, wait = cupy.empty_like(source), cupy.cuda.Device().synchronize
        cupy.copyto(target, source), wait()
        calls = _calls(device, lambda: (cupy.copyto(target, source), wait()))
        began = time.perf_counter()
        for _ in range(calls):
            cupy.copyto(target, source)
        wait()
        return (time.perf_counter() - began) / calls * 1e6


def _calls(device: Device, call: Callable[[], Any]) -> int:
    """Return how many calls a block has: as many as the device is asked for, fewer where one call takes long."""
    began = time.perf_counter()
    call()
    return max(1, min(device.calls, int(MOST / (time.perf_counter() - began))))
