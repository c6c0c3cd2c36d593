"""Programs on arrays larger than a memory limit: what xla2py emits for Dask beside hand-written dask.array.

    python benchmarks/out_of_core.py [--data 512MiB] [--memory 512MiB] [--time 3600] [CASE...]

Each run is a process of its own, whose anonymous memory is looked up every 5 ms (/proc/self/status): one that has more
than the limit, or takes longer than its time, is ended. Mapped pages of files are not counted: the system takes them
back when it needs them. All cases read the same file of random numbers, which is deleted at the end. Printed are, as a
table in Markdown, the peak of memory, for xla2py also the planned one, the time, that of all CPUs together (which other
load disturbs less), and the number of tasks that dask runs. Where the results of both differ, that is said. Modules are
emitted before, in another process: what that takes is no part of a run.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import xla2py
from xla2py.benchmarks.out_of_core_programs import COLUMNS, programs, shape_of
from xla2py.targets.dask.planning.chunk_program import size_in_bytes
from xla2py.targets.dask.planning.estimates import THREADS

ADD = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
CHAIN = 20
KERNEL = 5
LONG = 512  # how much longer the axis that a product sums over is: 16 GiB take 9 * 10^12 operations
KILLED = 137


@dataclass(frozen=True)
class Benchmark:
    """A program over ``n`` rows, the shapes of its large inputs, its small ones, and what one would write by hand."""

    text: Callable[[int], str]
    rows: Callable[[int], int]  # of data of so many bytes
    large: Callable[[int], list[tuple[int, ...]]]
    small: Callable[[int], list[np.ndarray]]
    by_hand: Callable[..., Any]


def chain(n: int) -> str:
    shape = f"f32[{n},{COLUMNS}]"
    lines = [
        f"x0 = {shape} parameter(0)",
        "half = f32[] constant(0.5)",
        f"h = {shape} broadcast(half), dimensions={{}}",
    ]
    for k in range(CHAIN // 2):
        lines += [f"m{k} = {shape} multiply(x{k}, h)", f"x{k + 1} = {shape} add(m{k}, h)"]
    return "HloModule chain\nENTRY main {\n" + "\n".join(lines) + f"\nROOT r = {shape} negate(x{CHAIN // 2})\n}}\n"


def chain_by_hand(x: Any) -> Any:
    for _ in range(CHAIN // 2):
        x = x * np.float32(0.5) + np.float32(0.5)
    return -x


def gram(n: int) -> str:
    return f"""HloModule gram
{ADD}ENTRY main {{
  x = f32[{n},{COLUMNS}] parameter(0)
  zero = f32[] constant(0)
  count = f32[] constant({n})
  counts = f32[{COLUMNS}] broadcast(count), dimensions={{}}
  total = f32[{COLUMNS}] reduce(x, zero), dimensions={{0}}, to_apply=add
  mean = f32[{COLUMNS}] divide(total, counts)
  means = f32[{n},{COLUMNS}] broadcast(mean), dimensions={{1}}
  centred = f32[{n},{COLUMNS}] subtract(x, means)
  squared = f32[{n},{COLUMNS}] multiply(centred, centred)
  squares = f32[{COLUMNS}] reduce(squared, zero), dimensions={{0}}, to_apply=add
  variance = f32[{COLUMNS}] divide(squares, counts)
  deviation = f32[{COLUMNS}] sqrt(variance)
  deviations = f32[{n},{COLUMNS}] broadcast(deviation), dimensions={{1}}
  z = f32[{n},{COLUMNS}] divide(centred, deviations)
  ROOT r = f32[{COLUMNS},{COLUMNS}] dot(z, z), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}
}}
"""


def gram_by_hand(x: Any) -> Any:
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    return z.T @ z


def logistic(n: int) -> str:
    lines = [f"x = f32[{n},{COLUMNS}] parameter(0)", f"y = f32[{n}] parameter(1)", f"w0 = f32[{COLUMNS}] parameter(2)"]
    lines += ["rate = f32[] constant(0.0001)", f"rates = f32[{COLUMNS}] broadcast(rate), dimensions={{}}"]
    for k in range(2):
        lines += [
            f"scores{k} = f32[{n}] dot(x, w{k}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}",
            f"p{k} = f32[{n}] logistic(scores{k})",
            f"e{k} = f32[{n}] subtract(p{k}, y)",
            f"g{k} = f32[{COLUMNS}] dot(e{k}, x), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}",
            f"d{k} = f32[{COLUMNS}] multiply(g{k}, rates)",
            f"{'ROOT ' if k else ''}w{k + 1} = f32[{COLUMNS}] subtract(w{k}, d{k})",
        ]
    return "HloModule logistic\nENTRY main {\n" + "\n".join(lines) + "\n}\n"


def logistic_by_hand(x: Any, y: Any, w: Any) -> Any:
    import dask.array as da

    for _ in range(2):
        w = w - np.float32(0.0001) * ((1 / (1 + da.exp(-(x @ w))) - y) @ x)
    return w


def layernorm(n: int) -> str:
    row, vector, number = f"f32[{n},{COLUMNS}]", f"f32[{n}]", f"f32[{COLUMNS}]"
    return f"""HloModule layernorm
{ADD}ENTRY main {{
  x = {row} parameter(0)
  scale = {number} parameter(1)
  zero = f32[] constant(0)
  count = f32[] constant({COLUMNS})
  counts = {vector} broadcast(count), dimensions={{}}
  total = {vector} reduce(x, zero), dimensions={{1}}, to_apply=add
  mean = {vector} divide(total, counts)
  means = {row} broadcast(mean), dimensions={{0}}
  centred = {row} subtract(x, means)
  squared = {row} multiply(centred, centred)
  squares = {vector} reduce(squared, zero), dimensions={{1}}, to_apply=add
  variance = {vector} divide(squares, counts)
  epsilon = f32[] constant(1e-5)
  epsilons = {vector} broadcast(epsilon), dimensions={{}}
  safe = {vector} add(variance, epsilons)
  root = {vector} rsqrt(safe)
  roots = {row} broadcast(root), dimensions={{0}}
  normal = {row} multiply(centred, roots)
  scales = {row} broadcast(scale), dimensions={{1}}
  ROOT r = {row} multiply(normal, scales)
}}
"""


def layernorm_by_hand(x: Any, scale: Any) -> Any:
    import dask.array as da

    centred = x - x.mean(axis=1, keepdims=True)
    return centred / da.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(1e-5)) * scale


def convolution(n: int) -> str:
    return f"""HloModule convolution
ENTRY main {{
  x = f32[1,{n},4096,1] parameter(0)
  kernel = f32[{KERNEL},{KERNEL},1,1] parameter(1)
  ROOT r = f32[1,{n},4096,1] convolution(x, kernel), window={{size={KERNEL}x{KERNEL} pad=2_2x2_2}},
    dim_labels=b01f_01io->b01f
}}
"""


def convolution_by_hand(x: Any, kernel: Any) -> Any:
    def block(part: np.ndarray) -> np.ndarray:
        rows, columns = part.shape[1] - KERNEL + 1, part.shape[2] - KERNEL + 1
        total = np.zeros((1, rows, columns, 1), np.float32)
        for i in range(KERNEL):
            for j in range(KERNEL):
                total += part[:, i : i + rows, j : j + columns] * kernel[i, j, 0, 0]
        return np.pad(total, ((0, 0), (2, 2), (2, 2), (0, 0)))

    return x.map_overlap(block, depth=(0, 2, 2, 0), boundary=0, dtype=np.float32, meta=np.empty((0,) * 4, np.float32))


def matmul(n: int) -> str:
    return f"""HloModule matmul
ENTRY main {{
  x = f32[{n},{LONG * n}] parameter(0)
  y = f32[{LONG * n},{n}] parameter(1)
  ROOT r = f32[{n},{n}] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}
"""


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).random(shape, np.float32)


def _rows(size: int) -> int:
    return size // (4 * COLUMNS)


def _table(n: int) -> list[tuple[int, ...]]:
    return [(n, COLUMNS)]


BENCHMARKS = {
    "chain": Benchmark(chain, _rows, _table, lambda n: [], chain_by_hand),
    "gram": Benchmark(gram, _rows, _table, lambda n: [], gram_by_hand),
    "logistic": Benchmark(logistic, _rows, _table, lambda n: [numbers(n), numbers(COLUMNS)], logistic_by_hand),
    "layernorm": Benchmark(layernorm, _rows, _table, lambda n: [numbers(COLUMNS)], layernorm_by_hand),
    "convolution": Benchmark(
        convolution,
        lambda size: size // (4 * 4096),
        lambda n: [(1, n, 4096, 1)],
        lambda n: [numbers(KERNEL, KERNEL, 1, 1)],
        convolution_by_hand,
    ),
    "matmul": Benchmark(
        matmul,
        lambda size: int((size / (2 * 4 * LONG)) ** 0.5),
        lambda n: [(n, LONG * n), (LONG * n, n)],
        lambda n: [],
        lambda x, y: x @ y,
    ),
}


def of_jax(name: str) -> Benchmark:
    """A program that is written in JAX."""

    def text(n: int) -> str:
        import jax

        array = jax.ShapeDtypeStruct(shape(n), np.float32)
        lowered: str = jax.jit(programs()[name][0]).lower(array).as_text("hlo")
        return lowered

    def shape(n: int) -> tuple[int, ...]:
        return shape_of(name, 4 * COLUMNS * n)

    return Benchmark(text, _rows, lambda n: [shape(n)], lambda n: [], lambda x: programs()[name][1](x))


BENCHMARKS |= {name: of_jax(name) for name in programs()}


class PeakMemory(threading.Thread):
    """The most anonymous memory this process has had, in bytes; beyond the limit the process ends."""

    def __init__(self, limit: int) -> None:
        super().__init__(daemon=True)
        self.limit, self.peak = limit, 0

    def run(self) -> None:
        while True:
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("RssAnon"):
                    self.peak = max(self.peak, int(line.split()[1]) << 10)
            if self.peak > self.limit:
                os._exit(KILLED)
            time.sleep(0.005)


class Mapped:
    """A memmap for ``da.from_array``, which would copy one of NumPy's into memory as a whole."""

    def __init__(self, array: np.memmap) -> None:
        self.array, self.shape, self.dtype, self.ndim = array, array.shape, array.dtype, array.ndim

    def __getitem__(self, index: Any) -> np.ndarray:
        return np.asarray(self.array[index])


def large_inputs(one: Benchmark, path: Path, n: int) -> list[np.memmap]:
    """The inputs, one behind the other in the file."""
    found: list[np.memmap] = []
    for shape in one.large(n):
        start = sum(array.nbytes for array in found)
        found.append(np.memmap(path, np.float32, "r", start, shape))
    return found


def child(name: str, variant: str, path: Path, memory: str, chunks: str, n: int) -> None:
    """One run; its figures go to stdout."""
    import dask
    import dask.array as da

    one = BENCHMARKS[name]
    large, small = large_inputs(one, path, n), one.small(n)
    watch = PeakMemory(size_in_bytes(memory))
    watch.start()
    started, busy = time.perf_counter(), time.process_time()
    if variant == "xla2py":
        result = runpy.run_path(str(path.with_suffix(".py")))["main"](*large, *small)
    else:
        result = one.by_hand(*(da.from_array(Mapped(x), chunks=chunks, name=False) for x in large), *small)
    (mean,) = dask.optimize(da.mean(result, dtype=np.float64))
    tasks = len(dict(mean.__dask_graph__()))
    value = float(mean.compute(num_workers=THREADS))
    busy = time.process_time() - busy
    print(json.dumps([time.perf_counter() - started, busy, watch.peak, tasks, value]))


def measured(command: list[str], seconds: float) -> list[float] | str:
    """The figures of a run in a process of its own; why there are none."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds, env=environment)
    except subprocess.TimeoutExpired:
        return f"more than {seconds:.0f} s"
    if done.returncode == KILLED:
        return "more than its memory"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:100]
    figures: list[float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def write_numbers(path: Path, size: int) -> None:
    """A file of random numbers."""
    generator, piece = np.random.default_rng(0), 1 << 22
    with path.open("wb") as file:
        for start in range(0, size // 4, piece):
            file.write(generator.random(min(piece, size // 4 - start), np.float32).data)
        os.fsync(file.fileno())


def read_once(path: Path) -> None:
    """Every run begins with as much of the file in the system's cache as stays there."""
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 26):
            pass


def columns(figures: Sequence[float] | str) -> str:
    """The peak, times and tasks of a run as columns of the table, or why there are none."""
    if isinstance(figures, str):
        return f"{figures} | | | "
    wall, busy, peak, tasks, _ = figures
    return f"{peak / 2**20:.0f} | {wall:.1f} | {busy:.1f} | {tasks:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help=", ".join(BENCHMARKS))
    parser.add_argument("--data", default="512MiB")
    parser.add_argument("--memory", default="512MiB")
    parser.add_argument("--chunks", default="32MiB", help="of dask.array by hand; xla2py plans its own")
    parser.add_argument("--time", type=float, default=3600, help="seconds that one run may take")
    parser.add_argument("--folder", type=Path, help="where the data are written")
    options = parser.parse_args()
    if unknown := set(options.cases) - set(BENCHMARKS):
        parser.error(f"no case is called {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    size = size_in_bytes(options.data)
    print(f"data {options.data}, limit {options.memory}, {THREADS} threads, by hand in chunks of {options.chunks}\n")
    print("| program | planned MiB | MiB | wall s | CPU s | tasks | by hand: MiB | wall s | CPU s | tasks |")
    print(f"|{'---|' * 10}", flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder, "numbers")
        write_numbers(path, size)
        for name in options.cases or BENCHMARKS:
            runs = []
            rows = BENCHMARKS[name].rows(size)
            text = BENCHMARKS[name].text(rows)
            emitted = xla2py.emit(text, "dask", memory=options.memory)
            emitted.save(path.with_suffix(".py"))
            assert emitted.plan is not None
            for variant in ("xla2py", "by hand"):
                read_once(path)
                given = [name, variant, str(path), options.memory, options.chunks, str(rows)]
                runs.append(measured([sys.executable, __file__, "--child", *given], options.time))
            planned = emitted.plan.file_peak_bytes >> 20
            print(f"| {name} | {planned} | {' | '.join(map(columns, runs))} |", flush=True)
            values = [figures[-1] for figures in runs if not isinstance(figures, str)]
            if values and not np.allclose(values, values[0], rtol=1e-3, atol=1e-6):
                print(f"\n{name}: the results differ: {values}\n", flush=True)


if __name__ == "__main__":
    if "--child" in sys.argv:
        case, how, file, limit, by_hand_chunks, count = sys.argv[2:]
        child(case, how, Path(file), limit, by_hand_chunks, int(count))
    else:
        main()
