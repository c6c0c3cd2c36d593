"""How fast modules for NumPy are on the CPU: in each style, beside NumPy written by hand and beside ``jax.jit``.

    python benchmarks/cpu.py [NAME ..] [--seconds 0.5] [--cores 1] [--tuned] [--write]
    python benchmarks/cpu.py [NAME ..] --statements

Programs (``cpu_kit``) work on 4 KB to 256 MB. Each runs in a fresh process, where its variants take turns on the same
arguments, each time in another order, so that none always comes behind the same one; results are compared first. A turn
begins with a call that is not timed, so that none pays for memory that another gave back. A figure is the least time
of a call: of CPU on one core, of the clock on more. Means are geometric, with each ratio counted as at least 0.5, so
that one great gain hides no loss. OpenBLAS picks its kernels itself, whatever the environment says. ``--tuned`` lets
the allocator keep the memory that is given back.
``--write`` puts the table into ``docs/speed.md``. ``--statements`` counts those of the modules in place of all that:
imports, checks and kernels among them, but no function that is copied from the prelude.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "docs" / "speed.md"
BEGIN, END = "<!-- cpu: begin (python benchmarks/cpu.py --write) -->", "<!-- cpu: end -->"
STYLES = ("readable", "fast")
COLUMNS = (*STYLES, "by hand", "Numba by hand", "jax.jit")
RATIOS = (("readable", "by hand"), ("readable", "jax.jit"), ("fast", "Numba by hand"), ("fast", "jax.jit"))
LEAST_RATIO = 0.5  # that a mean counts
AT_ONCE = 0.005  # seconds of calls between two looks at the clock
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 34)}


def environment(cores: int, tuned: bool) -> dict[str, str]:
    """The environment in which a program is timed."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), str(cores))
    given = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    return {**given, **threads, "JAX_PLATFORMS": "cpu", **(KEEP_MEMORY if tuned else {})}


def variants(name: str) -> dict[str, Callable[[], Any]]:
    """The calls of a program, whose results have been compared."""
    import jax
    import numba
    import numpy as np

    import xla2py
    from xla2py.benchmarks.cpu_kit.programs import PROGRAMS
    from xla2py.transpile.target import load_target

    (program,) = [each for each in PROGRAMS if each.name == name]
    arguments = program.arguments()
    held = [np.asarray(argument) for argument in arguments]
    compiled, on_device = jax.jit(program.function), [jax.numpy.asarray(argument) for argument in arguments]
    calls: dict[str, Callable[[], Any]] = {"jax.jit": lambda: jax.block_until_ready(compiled(*on_device))}
    module = xla2py.from_jax(program.function, *arguments)
    for style in STYLES if load_target("numpy").kernels is not None else STYLES[:1]:
        main = xla2py.emit(module, style=style, allow=program.allowed).load().main
        calls[style] = lambda main=main: main(*held)
    if program.by_hand is not None:
        by_hand = program.by_hand
        calls["by hand"] = lambda: by_hand(*held)
    if program.in_loops is not None:
        in_loops = numba.njit(error_model="numpy", fastmath={"contract", "reassoc"})(program.in_loops)
        calls["Numba by hand"] = lambda: in_loops(*held)
    wanted = jax.tree.leaves(calls["jax.jit"]())
    for variant in calls:
        for leaf, same in zip(jax.tree.leaves(calls[variant]()), wanted, strict=True):
            exact = np.asarray(same, np.complex128)
            limit = 2e-2 * max(1.0, float(abs(exact).max(initial=0)))
            np.testing.assert_allclose(np.asarray(leaf, np.complex128), exact, 2e-2, limit, err_msg=variant)
    return calls


def least(calls: dict[str, Callable[[], Any]], seconds: float, clock: Callable[[], float]) -> dict[str, float]:
    """The least milliseconds of a call of each, after at least three turns."""
    times = dict.fromkeys(calls, math.inf)
    repeats, names = {}, list(calls)
    for name, call in calls.items():
        started = clock()
        call()
        repeats[name] = max(1, int(AT_ONCE / max(1e-6, clock() - started)))
    ends = time.perf_counter() + seconds * len(calls)
    for turn in count():
        if turn >= 3 and time.perf_counter() > ends:
            break
        first = turn % len(names)
        order = [*names[first:], *names[:first]]
        for name in order[:: -1 if turn % 2 else 1]:
            call = calls[name]
            call()
            started = clock()
            for _ in range(repeats[name]):
                call()
            times[name] = min(times[name], (clock() - started) / repeats[name] * 1e3)
    return times


def one(name: str, seconds: float, cores: int) -> dict[str, float]:
    """The milliseconds of each variant of a program, timed in this process."""
    import numpy as np

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-cores:])
    with np.errstate(all="ignore"):
        return least(variants(name), seconds, time.process_time if cores == 1 else time.perf_counter)


def statements(program: Any, style: str) -> int:
    """The number of statements of a program's module, but for the functions and constants of the prelude."""
    import xla2py
    from xla2py.transpile.emission.prelude.library import names_in
    from xla2py.transpile.target import TEMPLATES

    def is_copied(statement: ast.stmt) -> bool:
        bound = statement.targets if isinstance(statement, ast.Assign) else [statement]
        return any(getattr(each, "id", getattr(each, "name", "")) in copied for each in bound)

    copied = names_in(TEMPLATES / "prelude") | names_in(TEMPLATES / "numpy" / "prelude")
    module = xla2py.emit(xla2py.from_jax(program.function, *program.arguments()), style=style, format=False)
    own = [each for each in ast.parse(module.source).body if not is_copied(each)]
    return sum(isinstance(node, ast.stmt) for each in own for node in ast.walk(each))


def count_statements(programs: Iterable[Any]) -> None:
    """Print the statements of each program in both styles, and the median of their ratio."""
    ratios = []
    for program in programs:
        readable, fast = (statements(program, style) for style in STYLES)
        ratios.append(fast / readable)
        print(f"{program.name}: {readable} readable, {fast} fast")
    print(f"median of fast / readable: {median(ratios):.2f}")


def row(kind: str, name: str, times: dict[str, float]) -> str:
    """A line of the table of Markdown."""
    shown = ["" if column not in times else f"{times[column]:.3g}" for column in COLUMNS]
    ratios = [f"{times[a] / times[b]:.2f}" if a in times and b in times else "" for a, b in RATIOS]
    return f"| {' | '.join([kind, name, *shown, *ratios])} |"


def mean(ratios: Iterable[float]) -> float:
    """The geometric mean, with each ratio counted as at least ``LEAST_RATIO``; NaN of none."""
    logarithms = [math.log(max(ratio, LEAST_RATIO)) for ratio in ratios]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else math.nan


def table(programs: list[tuple[str, str]], measure: Callable[[str], dict[str, float]]) -> str:
    """The figures of programs, each a pair of its kind and its name, and the means of their ratios."""
    heads = ["kind", "program", *COLUMNS, *(f"{a} / {b}" for a, b in RATIOS)]
    lines = [f"| {' | '.join(heads)} |", f"|---|---|{'---:|' * (len(heads) - 2)}"]
    print(*lines, sep="\n", file=sys.stderr)
    found = []
    for kind, name in programs:
        found.append(measure(name))
        lines.append(row(kind, name, found[-1]))
        print(lines[-1], file=sys.stderr, flush=True)
    means = [mean(times[a] / times[b] for times in found if a in times and b in times) for a, b in RATIOS]
    cells = ["" if math.isnan(each) else f"**{each:.2f}**" for each in means]
    lines.append(f"| | geometric mean | {' | '.join([''] * len(COLUMNS) + cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="programs or kinds whose names begin so; all by default")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each variant of a program")
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--tuned", action="store_true", help="with the settings that docs/speed.md advises")
    parser.add_argument("--write", action="store_true", help="put the table into docs/speed.md")
    parser.add_argument("--statements", action="store_true", help="count those of modules, and time nothing")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.names[0], given.seconds, given.cores)))
        return

    def measure(name: str) -> dict[str, float]:
        command = [
            sys.executable,
            __file__,
            "--one",
            name,
            "--seconds",
            str(given.seconds),
            "--cores",
            str(given.cores),
        ]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment(given.cores, given.tuned))
        times: dict[str, float] = json.loads(done.stdout)
        return times

    from xla2py.benchmarks.cpu_kit.programs import PROGRAMS

    chosen = tuple(given.names) or ("",)
    programs = [each for each in PROGRAMS if each.kind.startswith(chosen) or each.name.startswith(chosen)]
    if given.statements:
        count_statements(programs)
        return
    text = table([(each.kind, each.name) for each in programs], measure)
    print(text)
    if given.write:
        before, rest = PAGE.read_text("utf-8").split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}", "utf-8")


if __name__ == "__main__":
    main()
