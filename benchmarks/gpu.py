"""Everything that only a GPU can tell about the CuPy target, in one command and less than ten minutes:

    python benchmarks/gpu.py [--out gpu_results] [--minutes 9] [--twin]

Needs an NVIDIA GPU with CuPy, and for the comparison JAX on the same GPU. Writes a file for each step as soon as it is
done, so that what was measured survives an interruption, and prints tables. ``--twin`` runs the same steps on the twin
of CuPy on the CPU, without times: that the kit works is tested where there is no GPU.

Steps: the machine and its versions; facts that tests without a GPU had to assume; every case of every operation against
XLA on the CPU or a definition; every example in both styles against NumPy, once without any permission to wait; times
of the examples in both styles against ``jax.jit``, on the device by events and by the clock, median of five blocks.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import xla2py
from xla2py.tests.ladder.samples import sample
from xla2py.tests.operations.case import Case, module
from xla2py.tests.operations.runner import judge, leaf_count
from xla2py.tests.operations.tables import cases_by_opcode
from xla2py.tests.test_examples import LOWER, inputs
from xla2py.transpile.equivalence.budgets import budget_for
from xla2py.transpile.equivalence.comparison import compare, flatten
from xla2py.transpile.hlo.carriers import as_declared

BLOCKS, CALLS = 5, 20
STYLES = ("readable", "fast")
Record = dict[str, Any]


class Device:
    """CuPy on the GPU, or its twin."""

    def __init__(self, twin: bool) -> None:
        self.is_twin = twin

    @contextlib.contextmanager
    def active(self) -> Iterator[Any]:
        """The module ``cupy``."""
        if self.is_twin:
            from xla2py.tests.ladder.twin import twin

            with twin():
                yield sys.modules["cupy"]
        else:
            import cupy

            yield cupy

    def run(self, source: Any, arguments: Any) -> list[np.ndarray]:
        """The results of an emitted module on host arrays, on the host."""
        if self.is_twin:
            from xla2py.tests.ladder.twin import on_twin

            return [leaf for _, leaf in flatten(on_twin(source, arguments))]
        from xla2py.transpile.equivalence.tasks import run_generated

        return as_declared(run_generated(source, arguments), source.program.original.entry.root.shape)


def machine(device: Device) -> Record:
    """What is measured on."""
    found: Record = {"python": platform.python_version(), "numpy": np.__version__, "xla2py": xla2py.__version__}
    found["date"] = time.strftime("%Y-%m-%d")
    found["CUPY_TF32"] = os.environ.get("CUPY_TF32", "0")
    found["jax_default_matmul_precision"] = "highest"  # as set below: products of float32 in float32 on both sides
    if device.is_twin:
        return found | {"device": "the twin on the CPU"}
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    found |= {"device": properties["name"].decode(), "cupy": cupy.__version__}
    found["cuda"] = cupy.cuda.runtime.runtimeGetVersion()
    with contextlib.suppress(ImportError):
        import jax

        found |= {"jax": jax.__version__, "jax_device": str(jax.devices()[0])}
    return found


# What tests without a GPU assume: code on cp, and the value it is taken to have.
FACTS = {
    "float32 subnormals are flushed": ("float((cp.float32(1e-39) * cp.ones(1, 'f'))[0])", 0.0),
    "300.0 to int8": ("int(cp.full(1, 300, 'f').astype('b')[0])", 44),
    "NaN to int32": ("int(cp.full(1, cp.nan, 'f').astype('i')[0])", 0),
    "1e10 to int32": ("int(cp.full(1, 1e10, 'f').astype('i')[0])", 2**31 - 1),
    "7 // 0": ("int((cp.full(1, 7, 'i') // cp.zeros(1, 'i'))[0])", 0),
    "clip of NaN": ("float(cp.clip(cp.full(1, cp.nan, 'f'), 0, 1)[0])", 0.0),
    "maximum of NaN": ("float(cp.maximum(cp.full(1, cp.nan, 'f'), 1)[0])", float("nan")),
    "max over NaN": ("float(cp.asarray(np.array([1, np.nan, 2], 'f')).max())", float("nan")),
    "popcount of int8 -1": ("int(cp.bitwise_count(cp.full(1, -1, 'b'))[0])", 1),
    "fmod of 2**62 + 1 by 10": ("int(cp.fmod(cp.full(1, 2**62 + 1, 'l'), cp.full(1, 10, 'l'))[0])", 4),
    "sign of -0.0": ("float(cp.signbit(cp.sign(cp.full(1, -0.0, 'f')))[0])", 0.0),
    "a kernel of scalars alone": (
        "int(cp.ElementwiseKernel('T a, T b', 'T c', 'c = a + b', 'plus')(cp.int32(1), cp.int32(2)))",
        3,
    ),
    "an index on the device": ("float(cp.arange(3, dtype='f')[cp.full((), 1, 'i')])", 1.0),
    "full of a value on the device": ("float(cp.full(2, cp.full((), 3, 'f'))[0])", 3.0),
    "argsort is stable": ("int(cp.argsort(cp.zeros(2048, 'i'), kind='stable')[7])", 7),
    "first NaN of argmax": ("int(cp.asarray(np.array([0, np.nan, np.nan, 3], 'f')).argmax())", 1),
}


def facts(device: Device) -> list[Record]:
    """Each fact: what was assumed, what is true."""
    found = []
    for name, (code, assumed) in FACTS.items():
        with device.active() as cp:
            try:
                value = _evaluated(code, cp, device)
            except Exception as error:
                value = f"{type(error).__name__}: {error}"[:200]
        same = value == assumed or (value != value and assumed != assumed)
        found.append({"fact": name, "assumed": repr(assumed), "found": repr(value), "as assumed": bool(same)})
    return found


def _evaluated(code: str, cp: Any, device: Device) -> Any:
    """The value on the host; the twin refuses to wait, so its values are read past it."""

    def number(kind: type) -> Callable[[Any], Any]:
        return lambda value: kind(value.on_host if device.is_twin else value)

    return eval(code, {"cp": cp, "np": np, "float": number(float), "int": number(int)})


SAMPLE = 40  # cases of each opcode


def operations(device: Device, deadline: float) -> Iterator[Record]:
    """Each opcode: how many of its cases agree with XLA on the CPU, or with a definition."""
    for opcode in cases_by_opcode():
        if time.monotonic() > deadline:
            yield {"opcode": opcode, "cases": 0, "wrong": 0, "first": "no time was left"}
            continue
        cases = sample(opcode, 2 if device.is_twin else SAMPLE)
        record: Record = {"opcode": opcode, "cases": len(cases), "wrong": 0, "first": ""}
        for one, expected, results in zip(cases, judge(cases), _together(device, cases), strict=True):
            if isinstance(results, Exception):
                wrong = [f"{type(results).__name__}: {results}"]
            else:
                leaves = compare(expected, results, one.budget)
                wrong = [str(leaf) for leaf in leaves if not leaf.status.is_good]
            record["wrong"] += bool(wrong)
            if wrong and not record["first"]:
                record["first"] = f"{one}: {wrong[0]}"[:300]
        yield record


def _together(device: Device, cases: list[Case]) -> list[Any]:
    """What each case gives, or the exception it ends in; all in one module unless that fails."""
    try:
        return _run(device, cases)
    except Exception as error:
        if len(cases) == 1:
            return [error]
        return [result for one in cases for result in _together(device, [one])]


def _run(device: Device, cases: list[Case]) -> list[Any]:
    emitted = xla2py.emit(module(cases, *(one.body for one in cases)), "cupy", format=False)
    leaves = iter(device.run(emitted, [array for one in cases for array in one.inputs]))
    return [[next(leaves) for _ in range(leaf_count(one.body))] for one in cases]


def examples(device: Device) -> Iterator[Record]:
    """Each example: whether it agrees with NumPy, and with the device forbidden to wait."""
    for name in LOWER.NAMES:
        for stage in LOWER.STAGES:
            yield from (_example(device, name, stage, style) for style in STYLES)


def _example(device: Device, name: str, stage: str, style: str) -> Record:
    program = xla2py.load(LOWER.hlo_file(name, stage))
    arguments = [array.copy() for array in inputs(name)]
    record: Record = {"example": f"{name}, {stage}", "style": style, "agrees": False, "waits": "", "error": ""}
    try:
        expected = xla2py.emit(program, format=False).load().main(*arguments)
        emitted = xla2py.emit(program, "cupy", style=style, format=False)
        found = device.run(emitted, arguments)
        leaves = compare([x for _, x in flatten(expected)], found, budget_for(program))
        wrong = [str(leaf) for leaf in leaves if not leaf.status.is_good]
        record["agrees"], record["error"] = not wrong, "".join(wrong[:1])[:300]
        record["waits"] = "" if device.is_twin else _waits(emitted, arguments)
    except Exception as error:
        record["error"] = f"{type(error).__name__}: {error}"[:300]
    return record


def _waits(emitted: Any, arguments: list[np.ndarray]) -> str:
    """What CuPy says when the host may not wait; nothing where it never does."""
    import cupy
    import cupyx

    main, given = emitted.load().main, [cupy.asarray(array) for array in arguments]
    main(*given)  # compiles
    try:
        with cupyx.allow_synchronize(False):
            main(*given)
    except cupyx.DeviceSynchronized as error:
        return str(error)[:80] or "waits"
    return ""


def times(name: str) -> Record:
    """Microseconds of one call: ours on the device and by the clock, in each style, and jax.jit's by the clock."""
    record: Record = {"example": name}
    for style in STYLES:
        record |= {f"{style}_{key}": value for key, value in _times(name, style).items()}
    return record | {"jax_wall_us": _jax_time(name)}


def _times(name: str, style: str) -> Record:
    import cupy

    emitted = xla2py.emit(xla2py.load(LOWER.hlo_file(name, "before")), "cupy", style=style, format=False)
    main, arguments = emitted.load().main, [cupy.asarray(array) for array in inputs(name)]
    main(*arguments), main(*arguments)
    start, stop = cupy.cuda.Event(), cupy.cuda.Event()
    on_device, by_clock = [], []
    for _ in range(BLOCKS):
        cupy.cuda.Device().synchronize()
        began = time.perf_counter()
        start.record()
        for _ in range(CALLS):
            main(*arguments)
        stop.record()
        stop.synchronize()
        by_clock.append((time.perf_counter() - began) / CALLS * 1e6)
        on_device.append(cupy.cuda.get_elapsed_time(start, stop) / CALLS * 1e3)
    return {"device_us": statistics.median(on_device), "wall_us": statistics.median(by_clock)}


def _jax_time(name: str) -> float | None:
    try:
        import jax
    except ImportError:
        return None
    jax.config.update("jax_default_matmul_precision", "highest")
    function, arguments = LOWER.load_program(name)
    compiled, given = jax.jit(function), jax.device_put(arguments)
    jax.block_until_ready(compiled(*given))
    blocks = []
    for _ in range(BLOCKS):
        began = time.perf_counter()
        for _ in range(CALLS):
            results = compiled(*given)
        jax.block_until_ready(results)
        blocks.append((time.perf_counter() - began) / CALLS * 1e6)
    return statistics.median(blocks)


def main() -> int:
    """Run the steps in order; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("gpu_results"))
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--twin", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    device, begin = Device(options.twin), time.monotonic()
    options.out.mkdir(parents=True, exist_ok=True)
    steps: dict[str, Callable[[], Any]] = {
        "machine": lambda: [machine(device)],
        "facts": lambda: facts(device),
        "examples": lambda: examples(device),
        "times": lambda: () if device.is_twin else map(times, LOWER.NAMES),
        "operations": lambda: operations(device, begin + 60 * options.minutes),
    }
    bad = 0
    for name, step in steps.items():
        records: list[Record] = []
        with np.errstate(all="ignore"):
            for record in step():
                records.append(record)
                (options.out / f"{name}.json").write_text(json.dumps(records, indent=1), encoding="utf-8")
        bad += sum(_is_bad(record) for record in records if not (device.is_twin and name == "facts"))
        print(f"\n## {name} ({time.monotonic() - begin:.0f} s)\n{table(records)}", flush=True)
    return int(bad > 0)


def _is_bad(record: Record) -> bool:
    return not record.get("as assumed", True) or not record.get("agrees", True) or bool(record.get("wrong"))


def table(records: list[Record]) -> str:
    """Records as a table in Markdown."""
    if not records:
        return "left out"
    shown = lambda value: f"{value:.1f}" if isinstance(value, float) else str(value).replace("\n", " ")  # noqa: E731
    rows = [list(records[0]), ["---"] * len(records[0]), *([shown(v) for v in record.values()] for record in records)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
