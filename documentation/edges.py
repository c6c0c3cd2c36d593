"""The page ``docs/edges.md``: what ``--edge-cases library`` changes, from the table of edges."""

from __future__ import annotations

from collections.abc import Iterator

from ..transpile.passes.library_semantics.edges import table

_INTRODUCTION = (
    "HLO defines the result of every operation on every input. Array libraries leave some results open, or raise. By",
    "default (`--edge-cases xla`) emitted code computes what XLA computes: if the library's function differs, the code",
    "calls a short function that is copied beside `main`. With `--edge-cases library` it calls the library's function.",
    "The file gets shorter, and on singular, non-finite and out-of-range input the library decides. All other values",
    "are the same.",
    "",
    "```console",
    "$ xla2py emit model.hlo --edge-cases library -o model.py",
    "```",
    "",
    "The header of a module lists what it leaves to the library. `xla2py check --edge-cases library` compares on",
    "inputs for which both agree. Differences on edge values and large ranges (`--campaigns edge,large`) are reported",
    "as `close (known)`, or as `edge` if the library raises. NumPy and CuPy have all rows of the table for which they",
    "have a function; Dask, whose indices and matrices are in chunks, has the element-wise rows.",
)
_BEHIND = (
    "Both modes leave the sign of a zero to the library: `np.maximum(-0.0, 0.0)` is either zero, but in XLA it is 0",
    "(and the minimum is -0); `np.sort` may swap -0 and 0, but XLA keeps their order; a sum of negatives is the",
    "negative of a sum, and an added zero is left out of a longer expression, where nothing divides by it. `xla2py",
    "check` treats the two as equal, with a note.",
    "",
    "In such a place, the remainder is `np.mod(x, 2)`, whose zeros have the sign of the divisor.",
    "",
    "An index keeps its guard if it is known to leave its array in some iteration of a loop, or if the program itself",
    "clips it.",
)


def page(notice: str) -> str:
    """Return the page: an introduction, and a row for each edge."""
    lines = ["# Edge cases", "", notice, "", *_INTRODUCTION, ""]
    lines += _rows(("", "default", "`--edge-cases library`", "differ on", "result of XLA", "result of the library"))
    return "\n".join([*lines, "", *_BEHIND]) + "\n"


def _rows(headings: tuple[str, ...]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    for edge in table():
        cells = (edge.name, f"`{edge.exact}`", f"`{edge.plain}`", edge.inputs, edge.xla, edge.library)
        yield f"| {' | '.join(cells)} |"
