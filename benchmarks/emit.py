"""How long emitting large programs takes, beside XLA's own compilation: ``python benchmarks/emit.py [NAME ..]``.

Every program is emitted in a process of its own; shown are its CPU seconds, and its peak memory. ``--write`` puts
them into the table of ``docs/speed.md``.
"""

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path
from time import process_time

import xla2py
from xla2py.benchmarks.emit_programs import CHAINS, PROGRAMS, chain, hlo_of
from xla2py.transpile.hlo.parser import parse_module

PAGE = Path(__file__).resolve().parent.parent / "docs" / "speed.md"
BEGIN, END = "<!-- emission: begin (python benchmarks/emit.py --write) -->", "<!-- emission: end -->"
HEADER = ("program", "instructions", "MB", "without black", "with black", "XLA compiles", "peak MB")
HEAD = f"| {' | '.join(HEADER)} |", f"|---|{'---:|' * (len(HEADER) - 1)}"
NAMES = [*PROGRAMS, *map(str, CHAINS)]
SMALL = "ENTRY main { x = f32[2] parameter(0) ROOT y = f32[2] negate(x) }"


def figures(name: str) -> dict[str, float]:
    """CPU seconds of emitting a program and of XLA's compilation, in this process; peak memory before XLA begins."""
    compiled = PROGRAMS.get(name)
    text = hlo_of(compiled) if compiled is not None else chain(int(name))
    xla2py.emit(SMALL)  # what a process does once
    begin = process_time()
    xla2py.emit(text, format=False)
    emitted = process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    again = process_time()
    xla2py.emit(text)
    formatted = process_time()
    found = {
        "instructions": sum(1 for _ in parse_module(text).instructions()),
        "MB": len(text) / 1e6,
        "without black": emitted - begin,
        "with black": formatted - again,
        "peak MB": peak,
    }
    if compiled is not None:
        function, arguments = compiled()
        lowered = function.lower(*arguments)
        begin = process_time()
        lowered.compile()
        found["XLA compiles"] = process_time() - begin
    return found


def label(name: str) -> str:
    """Return what the table calls a program."""
    return f"chain of {int(name):,}" if name.isdigit() else name


def row(name: str) -> str:
    """The figures of a program, measured in a process of its own, as a row of Markdown."""
    command = [sys.executable, __file__, "--one", name]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    cells = [label(name), f"{found['instructions']:,}", *(_shown(found.get(column)) for column in HEADER[2:])]
    return f"| {' | '.join(cells)} |"


def _shown(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.{2 if figure < 100 else 0}f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--write", action="store_true", help="put the figures into the table of docs/speed.md")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(figures(given.names[0])))
        return
    page = PAGE.read_text("utf-8")
    before, rest = page.split(BEGIN)
    written, after = rest.split(END)
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in written.strip().splitlines()[2:]}
    print(*HEAD, sep="\n")
    for name in given.names:
        rows[label(name)] = row(name)
        print(rows[label(name)], flush=True)
    if given.write:
        lines = [*HEAD, *(rows[name] for name in map(label, NAMES) if name in rows)]
        PAGE.write_text("\n".join([before + BEGIN, *lines, END + after]), "utf-8")


if __name__ == "__main__":
    main()
