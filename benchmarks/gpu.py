"""Everything that only a GPU can tell about the CuPy target, in one command and less than ten minutes:

    python benchmarks/gpu.py [--out gpu_results] [--minutes 9] [--twin]

Needs an NVIDIA GPU with CuPy, and for the comparison JAX on the same GPU. Each result is a line of a file in the folder
as soon as it is there. The work is done by a process that is begun again after what it died of, got stuck in, or lost
the GPU to, and ended when time is up; the same command goes on where an earlier run ended. ``report.md`` in the folder
has the tables for docs/cupy.md. ``--twin`` takes the same steps on the twin of CuPy on the CPU, without times: that the
kit works is tested where there is no GPU.

Steps: the machine and its versions; facts that tests without a GPU had to assume; every example in both styles against
NumPy, as a graph where it can be one, and once without any permission to wait; times of the examples in both styles and
as graphs against ``jax.jit``, on the device by events and by the clock, median of five blocks; NCCL in a world of one
process; cases of every operation against XLA on the CPU or a definition.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
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
from xla2py.tests.replicas.programs import SeveralDevices, entry
from xla2py.tests.test_examples import LOWER, inputs
from xla2py.transpile.equivalence.budgets import budget_for
from xla2py.transpile.equivalence.comparison import compare, flatten
from xla2py.transpile.errors import UnsupportedError
from xla2py.transpile.hlo.carriers import as_declared

BLOCKS, CALLS = 5, 20
STYLES = ("readable", "fast")
MOST_SECONDS = 60.0  # for one item, before its process is ended
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

    def given(self, arguments: Any) -> Any:
        """Host arrays as arguments of ``main``."""
        if self.is_twin:
            from xla2py.tests.ladder.twin import to_device

            return to_device(list(arguments))
        from xla2py.targets.cupy import on_device

        return [on_device(array) for array in arguments]

    def taken(self, results: Any) -> list[np.ndarray]:
        """Results of ``main`` as host arrays."""
        return [leaf.on_host if self.is_twin else leaf.get() for _, leaf in flatten(results)]

    def run(self, emitted: Any, arguments: Any, function: str = "main") -> list[np.ndarray]:
        """The results of an emitted module on host arrays, on the host; the second of two runs of a graph."""
        with self.active(), np.errstate(all="ignore"):
            call = getattr(emitted.load(), function)
            results = [call(*self.given(arguments)) for _ in range(1 if function == "main" else 2)][-1]
            return as_declared(self.taken(results), emitted.program.original.entry.root.shape)

    def is_lost(self) -> bool:
        """Whether an error has made the GPU useless to this process."""
        if self.is_twin:
            return False
        import cupy

        try:
            cupy.cuda.Device().synchronize()
        except cupy.cuda.runtime.CUDARuntimeError:
            return True
        return False


def why_no_device() -> str:
    """What is missing for a run on a GPU; nothing where all is there."""
    try:
        import cupy

        count = cupy.cuda.runtime.getDeviceCount()
    except ImportError as error:
        return f"CuPy cannot be imported ({error}): pip install '.[cupy]'"
    except Exception as error:
        return f"CuPy finds no GPU ({error})"
    return "" if count else "CuPy finds no GPU"


def machine(device: Device, _: str) -> Record:
    """What is measured on."""
    found: Record = {"python": platform.python_version(), "numpy": np.__version__, "xla2py": xla2py.__version__}
    found["date"] = time.strftime("%Y-%m-%d")
    found["CUPY_TF32"] = os.environ.get("CUPY_TF32", "0")
    found["jax precision"] = "highest, and default in the last column"  # products of float32, in float32 as CuPy's
    if device.is_twin:
        return found | {"device": "the twin on the CPU"}
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    found |= {"device": properties["name"].decode(), "cupy": cupy.__version__}
    found["cuda"] = cupy.cuda.runtime.runtimeGetVersion()
    found["jax"] = jax_on_gpu() or "not on this GPU: pip install 'jax[cuda13]'; its times are left out"
    return found


def jax_on_gpu() -> str:
    """The version of JAX and its GPU; nothing where it has none."""
    try:
        import jax

        (first, *_) = jax.devices("gpu")
    except (ImportError, RuntimeError):
        return ""
    return f"{jax.__version__} on {first}"


# What tests without a GPU assume: code on cp, and the value it is taken to have. `captured(f)`: whether f can be.
FACTS: dict[str, tuple[str, Any]] = {
    "float32 subnormals are flushed": ("float((cp.float32(1e-39) * cp.ones(1, 'f'))[0])", 0.0),
    "a subnormal float32 equals 0": ("int((cp.asarray(np.array([1e-39], 'f')) == 0)[0])", 1),
    "subnormals are lost on the way to float64": ("float(cp.asarray(np.array([1e-39], 'f')).astype('d')[0])", 0.0),
    "subnormals are kept by where": (
        "int(cp.where(cp.ones(1, '?'), cp.asarray(np.array([1e-39], 'f')), 0).view('i')[0])",
        713624,
    ),
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
    "a kernel of no elements": (
        "len(cp.ElementwiseKernel('T a', 'T b', 'b = a', 'same')(cp.zeros(0, 'f')))",
        0,
    ),
    "an index on the device": ("float(cp.arange(3, dtype='f')[cp.full((), 1, 'i')])", 1.0),
    "full of a value on the device": ("float(cp.full(2, cp.full((), 3, 'f'))[0])", 3.0),
    "argsort is stable": ("int(cp.argsort(cp.zeros(2048, 'i'), kind='stable')[7])", 7),
    "argsort of nothing": ("len(cp.argsort(cp.zeros(0, 'i'), kind='stable'))", 0),
    "first NaN of argmax": ("int(cp.asarray(np.array([0, np.nan, np.nan, 3], 'f')).argmax())", 1),
    "a sum is captured": ("captured(lambda: x.sum(axis=0))", True),
    "a sort is captured": ("captured(lambda: cp.argsort(x, kind='stable'))", True),
    "8 arrays are joined in a capture": ("captured(lambda: cp.concatenate([x] * 8))", True),
    "9 arrays are joined in a capture": ("captured(lambda: cp.concatenate([x] * 9))", False),
    "a product is captured": ("captured(lambda: x @ x)", False),
    "a transform is captured": ("captured(lambda: cp.fft.rfft(x))", True),
}


def fact(device: Device, name: str) -> Record:
    """What was assumed, what is true."""
    code, assumed = FACTS[name]
    with device.active() as cp:
        value = _evaluated(code, cp, device)
    same = value == assumed or (value != value and assumed != assumed)
    return {"assumed": repr(assumed), "found": repr(value), "as assumed": bool(same)}


def _evaluated(code: str, cp: Any, device: Device) -> Any:
    """The value on the host; the twin refuses to wait, so its values are read past it."""

    def number(kind: type) -> Callable[[Any], Any]:
        return lambda value: kind(value.on_host if device.is_twin else value)

    names = {"cp": cp, "np": np, "float": number(float), "int": number(int), "x": cp.ones((4, 4), dtype="f")}
    return eval(code, names | {"captured": lambda function: _is_captured(cp, function)})


def _is_captured(cp: Any, function: Callable[[], Any]) -> bool:
    """Whether CuPy lets a stream be captured while a function works on it."""
    pool, stream, before = cp.cuda.MemoryPool(), cp.cuda.Stream(non_blocking=True), cp.cuda.get_current_stream()
    stream.wait_event(before.record())
    try:
        with stream, cp.cuda.using_allocator(pool.malloc):
            function()
            stream.begin_capture()
            try:
                function()
            finally:
                stream.end_capture()
    except Exception:
        return False
    finally:
        before.wait_event(stream.record())
    return True


SAMPLE = 40  # cases of each opcode


def operation(device: Device, opcode: str) -> Record:
    """How many of its cases agree with XLA on the CPU, or with a definition."""
    cases = sample(opcode, 2 if device.is_twin else SAMPLE)
    record: Record = {"cases": len(cases), "wrong": 0, "first": ""}
    for one, expected, results in zip(cases, judge(cases), _together(device, cases), strict=True):
        if isinstance(results, Exception):
            wrong = [f"{type(results).__name__}: {results}"]
        else:
            leaves = compare(expected, results, one.budget)
            wrong = [str(leaf) for leaf in leaves if not leaf.status.is_good]
        record["wrong"] += bool(wrong)
        if wrong and not record["first"]:
            record["first"] = f"{one}: {wrong[0]}"[:300]
    return record


def _together(device: Device, cases: list[Case]) -> list[Any]:
    """What each case gives, or the exception it ends in; all in one module unless that fails."""
    try:
        return _run(device, cases)
    except Exception as error:
        if len(cases) == 1 or device.is_lost():
            return [error] * len(cases)
        return [result for one in cases for result in _together(device, [one])]


def _run(device: Device, cases: list[Case]) -> list[Any]:
    emitted = xla2py.emit(module(cases, *(one.body for one in cases)), "cupy", format=False)
    leaves = iter(device.run(emitted, [array for one in cases for array in one.inputs]))
    return [[next(leaves) for _ in range(leaf_count(one.body))] for one in cases]


EXAMPLES = [f"{name}, {stage}, {style}" for name in LOWER.NAMES for stage in LOWER.STAGES for style in STYLES]


def example(device: Device, item: str) -> Record:
    """Whether an example agrees with NumPy, its graph too, and with the device forbidden to wait."""
    name, stage, style = item.split(", ")
    program = xla2py.load(LOWER.hlo_file(name, stage))
    arguments = [array.copy() for array in inputs(name)]
    expected = [x for _, x in flatten(xla2py.emit(program, format=False).load().main(*arguments))]
    emitted = xla2py.emit(program, "cupy", style=style, format=False)

    def wrong(found: list[np.ndarray]) -> str:
        leaves = compare(expected, found, budget_for(program))
        return "".join([str(leaf) for leaf in leaves if not leaf.status.is_good][:1])[:300]

    first = wrong(device.run(emitted, arguments))
    record: Record = {"agrees": not first, "graph": "", "waits": "", "error": first}
    with contextlib.suppress(UnsupportedError):
        replay = device.run(
            xla2py.emit(program, "cupy", style=style, format=False, graph=True), arguments, function="replay"
        )
        record["graph"] = wrong(replay) or "agrees"
    return record | {"waits": "" if device.is_twin else _waits(emitted, device.given(arguments))}


def _waits(emitted: Any, given: list[Any]) -> str:
    """What CuPy says when the host may not wait; nothing where it never does."""
    import cupyx

    main = emitted.load().main
    main(*given)  # compiles
    try:
        with cupyx.allow_synchronize(False):
            main(*given)
    except cupyx.DeviceSynchronized as error:
        return str(error)[:80] or "waits"
    return ""


def times(device: Device, name: str) -> Record:
    """Microseconds a call: in each style and as a graph, on the device and by the clock; jax.jit's by the clock."""
    import cupy

    record: Record = {}
    arguments = device.given(inputs(name))
    for style in STYLES:
        for function in ("main", "replay"):
            try:
                emitted = xla2py.emit(
                    xla2py.load(LOWER.hlo_file(name, "before")),
                    "cupy",
                    style=style,
                    format=False,
                    graph=function == "replay",
                )
            except UnsupportedError:
                on_device, by_clock = None, None
            else:
                on_device, by_clock = _times(cupy, getattr(emitted.load(), function), arguments)
            label = style if function == "main" else f"{style} graph"
            record |= {f"{label} device": on_device, f"{label} wall": by_clock}
    for precision in ("highest", "default"):
        record[f"jax {precision} wall"] = _jax_time(name, precision) if jax_on_gpu() else None
    return record


def _times(cupy: Any, function: Callable[..., Any], arguments: list[Any]) -> tuple[float, float]:
    function(*arguments), function(*arguments)
    start, stop = cupy.cuda.Event(), cupy.cuda.Event()
    on_device, by_clock = [], []
    for _ in range(BLOCKS):
        cupy.cuda.Device().synchronize()
        began = time.perf_counter()
        start.record()
        for _ in range(CALLS):
            function(*arguments)
        stop.record()
        stop.synchronize()
        by_clock.append((time.perf_counter() - began) / CALLS * 1e6)
        on_device.append(cupy.cuda.get_elapsed_time(start, stop) / CALLS * 1e3)
    return statistics.median(on_device), statistics.median(by_clock)


def _jax_time(name: str, precision: str) -> float:
    import jax

    function, arguments = LOWER.load_program(name)
    with jax.default_matmul_precision(precision):
        compiled, given = jax.jit(function), jax.device_put(arguments, jax.devices("gpu")[0])
        jax.block_until_ready(compiled(*given))
        blocks = []
        for _ in range(BLOCKS):
            began = time.perf_counter()
            for _ in range(CALLS):
                results = compiled(*given)
            jax.block_until_ready(results)
            blocks.append((time.perf_counter() - began) / CALLS * 1e6)
    return statistics.median(blocks)


WORLD = {
    "all-reduce": "replica_groups={}, to_apply=add",
    "all-to-all": "replica_groups={}, dimensions={0}",
    "collective-permute": "source_target_pairs={{0,0}}",
}


def world(device: Device, opcode: str) -> Record:
    """A collective of one process, over the NCCL that is installed."""
    one = SeveralDevices(opcode, entry(f"ROOT r = f32[4,8] {opcode}(x), {WORLD[opcode]}"))
    arguments = one.inputs()[0]
    with device.active():
        emitted = xla2py.emit(one.module(), "cupy").load()
        if device.is_twin:
            from unittest import mock

            from xla2py.tests.ladder.nccl import Backend, Nccl

            library = Nccl()
            comm, modules = Backend(library, 1, 0), mock.patch.dict(sys.modules, library.modules())
        else:
            from cupyx.distributed import init_process_group

            comm, modules = init_process_group(1, 0), contextlib.nullcontext()
        with modules:
            result = emitted.over_nccl(emitted.replica, emitted.Group, 1, 1, comm, device.given(arguments), {})
        (found,) = device.taken(result)
    return {"agrees": bool((found == arguments[0]).all())}


# Each step: what it is asked about, and the function that answers for one of these.
STEPS: dict[str, tuple[list[str], Callable[[Device, str], Record]]] = {
    "machine": (["this machine"], machine),
    "facts": (list(FACTS), fact),
    "examples": (EXAMPLES, example),
    "times": (list(LOWER.NAMES), times),
    "world": (list(WORLD), world),
    "operations": (list(cases_by_opcode()), operation),
}
LOST, NOT_ON_TWIN, OUT_OF_TIME = 3, frozenset(("times",)), "the time was up"


def work(device: Device, folder: Path, deadline: float) -> int:
    """Answer all that has no answer yet; LOST if the GPU is, so that another process must go on."""
    for step, (items, answer) in STEPS.items():
        known = {record["item"] for record in answers(folder, step)}
        for item in items if not (device.is_twin and step in NOT_ON_TWIN) else ():
            if item in known:
                continue
            if time.time() > deadline:
                return 0
            (folder / "now").write_text(f"{step}\n{item}", encoding="utf-8")
            try:
                record, is_lost = answer(device, item), False
            except Exception as error:
                record = {"error": f"{type(error).__name__}: {error}"[:300]}
                is_lost = device.is_lost()
            append(folder, step, {"item": item} | record)
            if is_lost:
                return LOST
    return 0


def append(folder: Path, step: str, record: Record) -> None:
    """One more line of a step's file, on the disk when this returns."""
    with (folder / f"{step}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
        file.flush()
        os.fsync(file.fileno())


def answers(folder: Path, step: str) -> list[Record]:
    """The lines of a step's file, but for one that was cut off."""
    path = folder / f"{step}.jsonl"
    found = []
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        with contextlib.suppress(json.JSONDecodeError):
            found.append(json.loads(line))
    return found


def drive(command: list[str], folder: Path, deadline: float, most: float = MOST_SECONDS) -> None:
    """Run ``command``, which works in ``folder``, until it has nothing left to do or time is up; what it dies of or is
    stuck in is an answer, too, and it begins again behind that.
    """
    while time.time() < deadline:
        (folder / "now").unlink(missing_ok=True)
        process = subprocess.Popen(command)
        told = ""
        while process.poll() is None:
            time.sleep(0.05)
            if time.time() > deadline:
                told = OUT_OF_TIME
            elif (folder / "now").exists() and time.time() - (folder / "now").stat().st_mtime > most:
                told = f"took more than {most:.0f} s"
            if told:
                process.kill()
                process.wait()
        if process.returncode == 0 or told == OUT_OF_TIME:
            return
        if not (folder / "now").exists():
            raise SystemExit(f"the kit does not begin: exit code {process.returncode}")
        if process.returncode != LOST:
            step, item = (folder / "now").read_text("utf-8").split("\n")
            if item not in {record["item"] for record in answers(folder, step)}:
                append(folder, step, {"item": item, "error": told or f"its process ended with {process.returncode}"})


def report(folder: Path, is_twin: bool) -> tuple[str, int]:
    """The tables in Markdown, and how many answers are bad."""
    texts, bad = [], 0
    for step, (items, _) in STEPS.items():
        found = answers(folder, step)
        wrong = sum(map(_is_bad, found))
        missing = 0 if is_twin and step in NOT_ON_TWIN else len(items) - len(found)
        bad += wrong
        counts = f"{len(found)} of {len(items)}, {wrong} bad" + (f", {missing} not reached" if missing > 0 else "")
        texts.append(f"### {step.capitalize()}: {counts}\n\n{table(found)}\n")
    return "\n".join(texts), bad


def _is_bad(record: Record) -> bool:
    is_wrong = not record.get("as assumed", True) or not record.get("agrees", True) or bool(record.get("wrong"))
    return is_wrong or bool(record.get("error")) or record.get("graph", "") not in ("", "agrees")


def table(records: list[Record]) -> str:
    """Records as a table in Markdown."""
    if not records:
        return "left out"
    columns = list(dict.fromkeys(column for record in records for column in record))
    rows = [[_shown(record.get(column)) for column in columns] for record in records]
    return "\n".join(f"| {' | '.join(row)} |" for row in [columns, ["---"] * len(columns), *rows])


def _shown(value: Any) -> str:
    text = "" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)
    return text.replace("\n", " ").replace("|", "\\|")


def main() -> int:
    """Run the steps in order; 1 if anything is wrong, 2 if there is no GPU."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("gpu_results"))
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--twin", action="store_true")
    parser.add_argument("--work-until", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    options.out.mkdir(parents=True, exist_ok=True)
    if options.work_until is not None:
        return work(Device(options.twin), options.out, options.work_until)
    missing = "" if options.twin else why_no_device()
    if missing:
        print(f"{missing}.\n--twin takes the same steps on the CPU, without times.", file=sys.stderr)
        return 2
    deadline = time.time() + 60 * options.minutes
    command = [sys.executable, __file__, "--out", str(options.out), "--work-until", str(deadline)]
    try:
        drive([*command, "--twin"] if options.twin else command, options.out, deadline)
    finally:
        text, bad = report(options.out, options.twin)
        (options.out / "report.md").write_text(text, encoding="utf-8")
        print(text)
    print(f"The tables are in {options.out / 'report.md'}: paste them into docs/cupy.md, below 'What a GPU told'.")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
