"""Everything that only a GPU can tell about the CuPy target, in one command and less than ten minutes:

    python benchmarks/gpu.py [--out gpu_results] [--minutes 9] [--twin]

Needs an NVIDIA GPU with CuPy, and for the comparison JAX on the same GPU. Each result is a line of a file in the folder
as soon as it is there. The work is done by a process that is begun again after what it died of, got stuck in, or lost
the GPU to, and ended when time is up; the same command goes on where an earlier run ended. ``report.md`` in the folder
has the tables for docs/cupy.md. ``--twin`` takes the same steps on the twin of CuPy on the CPU, whose times mean
nothing: that the kit works is tested where there is no GPU.

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
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xla2py.benchmarks.gpu_kit.device import Device, Record, why_no_device
from xla2py.benchmarks.gpu_kit.facts import FACTS, fact, machine
from xla2py.benchmarks.gpu_kit.programs import EXAMPLES, WORLD, example, operation, world
from xla2py.benchmarks.gpu_kit.times import times
from xla2py.tests.operations.tables import cases_by_opcode
from xla2py.tests.test_examples import LOWER

MOST_SECONDS = 60.0  # for one item, before its process is ended

# Each step: what it is asked about, and the function that answers for one of these.
STEPS: dict[str, tuple[list[str], Callable[[Device, str], Record]]] = {
    "machine": (["this machine"], machine),
    "facts": (list(FACTS), fact),
    "examples": (EXAMPLES, example),
    "times": (list(LOWER.NAMES), times),
    "world": (list(WORLD), world),
    "operations": (list(cases_by_opcode()), operation),
}
LOST, OUT_OF_TIME = 3, "the time was up"


def work(device: Device, folder: Path, deadline: float) -> int:
    """Answer all that has no answer yet; LOST if the GPU is, so that another process must go on.

    Who began this process may be killed: another may have been begun then.
    """
    began_by = os.getppid()
    for step, (items, answer) in STEPS.items():
        known = {record["item"] for record in answers(folder, step)}
        left = [item for item in items if item not in known]
        print(f"{step}: {len(left)} of {len(items)} to do", file=sys.stderr, flush=True)
        for item in left:
            if time.time() > deadline or os.getppid() != began_by:
                return 0
            (folder / "now").write_text(f"{step}\n{item}", encoding="utf-8")
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
    parser.add_argument("--twin", action="store_true")
    parser.add_argument("--work-until", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    options.out.mkdir(parents=True, exist_ok=True)
    if options.work_until is not None:
        return work(Device(options.twin), options.out, options.work_until)
    missing = "" if options.twin else why_no_device()
    if missing:
        print(f"{missing}.\n--twin takes the same steps on the CPU, to see that they work.", file=sys.stderr)
        return 2
    deadline = time.time() + 60 * options.minutes
    command = [sys.executable, __file__, "--out", str(options.out), "--work-until", str(deadline)]
    try:
        drive([*command, "--twin"] if options.twin else command, options.out, deadline)
    finally:
        text, bad = report(options.out)
        (options.out / "report.md").write_text(text, encoding="utf-8")
        print(text)
    print(f"The tables are in {options.out / 'report.md'}: paste them into docs/cupy.md, below 'What a GPU told'.")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
