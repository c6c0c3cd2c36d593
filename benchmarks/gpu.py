"""Everything that only a GPU can tell about the CuPy target, in one command and less than ten minutes:

    python benchmarks/gpu.py [--out gpu_results] [--minutes 9] [--steps facts,agreement] [--processes 8] [--twin]

Needs an NVIDIA GPU with CuPy, and for the comparison JAX on the same GPU. Each result is a line of a file in the folder
as soon as it is there. The work is done by processes that are begun again after what they died of, got stuck in, or
lost the GPU to, and ended when time is up; the same command goes on where an earlier run ended. ``report.md`` in the
folder has the tables for docs/cupy.md. ``--twin`` takes the same steps on the twin of CuPy on the CPU, whose times mean
nothing: that the kit works is tested where there is no GPU.

Steps: the machine and its versions; facts that tests without a GPU had to assume; the common programs of docs/cupy.md
on large arrays against ``jax.jit``; the kernels that XLA makes of them on small ones; every example in both styles
against NumPy, as a graph where it can be one, and once without any permission to wait; NCCL in a world of one process;
programs of JAX libraries and special functions against NumPy; cases of every operation against XLA on the CPU or a
definition. Then, alone on the GPU, times of the common programs
and of the examples against ``jax.jit``, on the device by events and by the clock, median of five blocks.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from xla2py.benchmarks.gpu_kit.device import Device, Record, why_no_device
from xla2py.benchmarks.gpu_kit.facts import FACTS, fact, machine
from xla2py.benchmarks.gpu_kit.large_programs import ARGUMENTS, agreement
from xla2py.benchmarks.gpu_kit.libraries import LIBRARIES, SPECIAL_FUNCTIONS, library_program, special_function
from xla2py.benchmarks.gpu_kit.programs import EXAMPLES, WORLD, example, operation, world
from xla2py.benchmarks.gpu_kit.times import program_times, times
from xla2py.benchmarks.gpu_kit.xla_kernels import xla_kernels
from xla2py.tests.operations.tables import cases_by_opcode
from xla2py.tests.test_examples import LOWER

MOST_SECONDS = 60.0  # for one item, before its process is ended

# Each step: what it is asked about, and the function that answers for one of these.
STEPS: dict[str, tuple[list[str], Callable[[Device, str], Record]]] = {
    "machine": (["this machine"], machine),
    "facts": (list(FACTS), fact),
    "agreement": (list(ARGUMENTS), agreement),
    "kernels": (list(ARGUMENTS), xla_kernels),
    "examples": (EXAMPLES, example),
    "world": (list(WORLD), world),
    "libraries": (LIBRARIES, library_program),
    "special functions": (SPECIAL_FUNCTIONS, special_function),
    "operations": (list(cases_by_opcode()), operation),
    "programs": (list(ARGUMENTS), program_times),
    "times": (list(LOWER.NAMES), times),
}
TIMED = ("programs", "times")  # by one process, and nothing beside it
LOST, OUT_OF_TIME = 3, "the time was up"


def work(device: Device, folder: Path, deadline: float, steps: Sequence[str] = (), share: str = "0/1") -> int:
    """Answer all that has no answer yet, of the items of some steps those of a share: every n-th behind the k-th for
    k/n; LOST if the GPU is, so that another process must go on.

    Who began this process may be killed: another may have been begun then.
    """
    began_by = os.getppid()
    first, every = map(int, share.split("/"))
    for step in steps or STEPS:
        items, answer = STEPS[step]
        known = {record["item"] for record in answers(folder, step)}
        left = [item for item in items[first::every] if item not in known]
        print(f"{step}: {len(left)} of {len(items)} to do", file=sys.stderr, flush=True)
        for item in left:
            if time.time() > deadline or os.getppid() != began_by:
                return 0
            (folder / f"now{first}").write_text(f"{step}\n{item}", encoding="utf-8")
            try:
                record = answer(device, item)
            except Exception as error:
                record = {"error": f"{type(error).__name__}: {error}"[:300]}
            append(folder, step, {"item": item} | record)
            if record.get("error") and device.is_lost():
                return LOST
    return 0


def append(folder: Path, step: str, record: Record) -> None:
    """One more line of a step's file, on the disk when this returns. The last one may have been cut off."""
    with (folder / f"{step}.jsonl").open("a", encoding="utf-8") as file:
        file.write(f"\n{json.dumps(record)}\n")
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


def drive(command: list[str], folder: Path, deadline: float, most: float = MOST_SECONDS, first: int = 0) -> None:
    """Run ``command``, which works in ``folder`` on the share ``first``, until it has nothing left to do or time is up;
    what it dies of or is stuck in is an answer, too, and it begins again behind that.
    """
    now = folder / f"now{first}"
    while time.time() < deadline:
        now.unlink(missing_ok=True)
        process = subprocess.Popen(command)
        told = ""
        while process.poll() is None:
            time.sleep(0.05)
            if time.time() > deadline:
                told = OUT_OF_TIME
            elif now.exists() and time.time() - now.stat().st_mtime > most:
                told = f"took more than {most:.0f} s"
            if told:
                process.kill()
                process.wait()
        if process.returncode == 0 or told == OUT_OF_TIME:
            return
        if not now.exists():
            raise SystemExit(f"the kit does not begin: exit code {process.returncode}")
        if process.returncode != LOST:
            step, item = now.read_text("utf-8").split("\n")
            if item not in {record["item"] for record in answers(folder, step)}:
                append(folder, step, {"item": item, "error": told or f"its process ended with {process.returncode}"})


def drive_together(command: list[str], folder: Path, deadline: float, steps: Sequence[str], processes: int) -> None:
    """Run ``command`` for some steps in so many processes, each on its share of the items."""
    threads = []
    for first in range(processes if steps else 0):
        share = ["--work-until", str(deadline), "--steps", ",".join(steps), "--share", f"{first}/{processes}"]
        own = {"deadline": deadline, "first": first}
        threads.append(threading.Thread(target=drive, args=([*command, *share], folder), kwargs=own))
        threads[-1].start()
    for thread in threads:
        thread.join()


def report(folder: Path) -> tuple[str, int]:
    """The tables in Markdown, and how many answers are bad."""
    texts, bad = [], 0
    for step, (items, _) in STEPS.items():
        found = answers(folder, step)
        wrong = sum(map(_is_bad, found))
        missing = len(items) - len(found)
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
    parser.add_argument("--steps", default=",".join(STEPS), help="some of them: " + ", ".join(STEPS))
    parser.add_argument("--processes", type=int, default=min(8, os.cpu_count() or 1), help="but for what is timed")
    parser.add_argument("--twin", action="store_true")
    parser.add_argument("--work-until", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--share", default="0/1", help=argparse.SUPPRESS)
    options = parser.parse_args()
    steps = options.steps.split(",")
    if unknown := [step for step in steps if step not in STEPS]:
        parser.error(f"unknown steps: {', '.join(unknown)}; there are: {', '.join(STEPS)}")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    options.out.mkdir(parents=True, exist_ok=True)
    if options.work_until is not None:
        return work(Device(options.twin), options.out, options.work_until, steps, options.share)
    missing = "" if options.twin else why_no_device()
    if missing:
        print(f"{missing}.\n--twin takes the same steps on the CPU, to see that they work.", file=sys.stderr)
        return 2
    began, seconds = time.time(), 60 * options.minutes
    command = [sys.executable, __file__, "--out", str(options.out), *(["--twin"] if options.twin else [])]
    timed, others = ([step for step in steps if (step in TIMED) is alone] for alone in (True, False))
    try:
        drive_together(command, options.out, began + seconds * (0.5 if timed else 1), others, options.processes)
        drive_together(command, options.out, began + seconds, timed, 1)
    finally:
        text, bad = report(options.out)
        (options.out / "report.md").write_text(text, encoding="utf-8")
        print(text)
    print(f"The tables are in {options.out / 'report.md'}: paste them into docs/cupy.md, below 'What a GPU told'.")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
