"""The page ``docs/edges.md``: what ``--edge-cases library`` changes, from the table of edges."""

from __future__ import annotations

from collections.abc import Iterator

from ..transpile.passes.library_semantics.edges import table

_INTRODUCTION = (
    "HLO says what every operation gives on every input; array libraries leave some of it open, or raise. By default",
    "(`--edge-cases xla`) emitted code gives what XLA gives: where the library's own call does not, it calls a short",
    "function that is copied beside `main`. With `--edge-cases library` it makes the library's plain call: the file",
    "gets shorter, and on singular, non-finite and out-of-range input the library decides. Everywhere else the values",
    "are the same.",
    "",
    "```console",
    "$ xla2py emit model.hlo --edge-cases library -o model.py",
    "```",
    "",
    "The header of a module names what it leaves to its library. `xla2py check --edge-cases library` compares on",
    "inputs where both agree; what differs on edge values and large ranges (`--campaigns edge,large`) is told as",
    "`close (known)`, or as `edge` where the library raises. NumPy and CuPy write all of the table as far as they have",
    "the functions; Dask, whose indices and matrices lie in chunks, what is done element by element.",
)
_BEHIND = (
    "The sign of a zero is left to the library in both modes: `np.maximum(-0.0, 0.0)` is either zero, where XLA gives",
    "0 (and -0 for the minimum), and `np.sort` may swap -0 and 0, which XLA keeps in their order. `xla2py check` takes",
    "the two for equal, with a note.",
    "",
    "An index that is known to leave its array in some round of a loop keeps its guard, and so do indices that the",
    "program itself clips.",
)


def page(notice: str) -> str:
    """Return the page: an introduction, and a row for each edge."""
    lines = ["# Edges", "", notice, "", *_INTRODUCTION, ""]
    lines += _rows(("", "default", "`--edge-cases library`", "differ on", "XLA gives", "the library gives"))
    return "\n".join([*lines, "", *_BEHIND]) + "\n"


def _rows(headings: tuple[str, ...]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    for edge in table():
        cells = (edge.name, f"`{edge.exact}`", f"`{edge.plain}`", edge.inputs, edge.xla, edge.library)
        yield f"| {' | '.join(cells)} |"
