"""The output of commands for people: reports, notes and progress on stderr, aligned tables on stdout."""

from __future__ import annotations

import errno
import io
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from ..dataclass import dataclass
from ..errors import XlaToPythonError, XlaToPythonWarning

if TYPE_CHECKING:  # rich is imported where something is shown: most runs show nothing
    from rich.console import Console
    from rich.progress import Progress

LONG = 2.0  # seconds after which a progress bar is shown


@dataclass
class Session:
    """One run of the command, as click's context object."""

    debug: bool = False
    codes: list[str] = field(default_factory=list)  # codes of the errors that were shown

    def report(self, error: XlaToPythonError) -> None:
        """Show all diagnostics of an error; if writing to stderr fails, only the exit code tells."""
        from ..diagnostics import render

        self.codes += [diagnostic.code for diagnostic in error.diagnostics]
        console = stderr_console()
        with suppress(OSError):
            console.print(render(error.diagnostics, console.width), end="")

    def end(self) -> None:
        """Show where to read more about the errors of this run, if there were any."""
        from ..diagnostics import footer

        if self.codes:
            with suppress(OSError):
                stderr_console().print(footer(self.codes))


def session() -> Session:
    """Return the current run of the command."""
    return click.get_current_context().ensure_object(Session)


class ClosedStream(io.TextIOBase):
    """A replacement for a missing stdout, so that only writing to it fails."""

    encoding = "utf-8"
    errors = "strict"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if text:
            raise OSError(errno.EBADF, "it is closed")
        return 0


def stderr_console() -> Console:
    """Return the console of stderr. rich follows ``NO_COLOR``, ``FORCE_COLOR`` and whether it is a terminal."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def is_watched() -> bool:
    """Return whether stderr is a terminal. ``FORCE_COLOR`` gives a log colours, but no moving output."""
    return sys.stderr is not None and sys.stderr.isatty()  # None if the process was started without it


def note(message: str) -> None:
    from rich.text import Text

    with suppress(OSError):
        stderr_console().print(Text.assemble(("note", "bold cyan"), f": {message}"))


@contextmanager
def notes() -> Iterator[None]:
    """Show warnings of xla2py as notes while the body runs, each once."""
    told: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, XlaToPythonWarning):
            usual(message, category, *place, **more)
        elif str(message) not in told:
            told.add(str(message))
            note(str(message))

    with warnings.catch_warnings():
        usual, warnings.showwarning = warnings.showwarning, show
        yield


def note_twins(targets: Iterable[str]) -> None:
    """Show a note for each target whose modules run on a twin of the library here, with the reason."""
    from ..target import load_target, twin_of

    for name in targets:
        target = load_target(name)
        twin = twin_of(target)
        if twin is not None:
            note(f"{twin.missing()} here: modules for {target.title} run on its twin on the CPU")


@contextmanager
def working(message: str) -> Iterator[None]:
    """Show a spinner on stderr while the body runs, if stderr is a terminal."""
    if not is_watched():
        yield
        return
    with stderr_console().status(message):
        yield


@contextmanager
def stages(message: str, count: int) -> Iterator[Callable[[str], None]]:
    """Show a progress bar on stderr while the body runs, if stderr is a terminal, after the first seconds.

    The body gets a function to call with the name of each of ``count`` stages at its beginning.
    """
    started, numbers = monotonic(), iter(range(count + 1))
    bars: list[Progress] = []  # at most one, created when the work takes long

    def advance(name: str) -> None:
        begun = next(numbers, count)
        if not bars and monotonic() - started > LONG:
            bars.append(_bar_of_stages(count))
        for bar in bars:
            bar.update(bar.task_ids[0], description=_plain(f"{message}: {name}"), completed=begun)

    try:
        yield advance
    finally:
        for bar in bars:
            bar.stop()


def _bar_of_stages(count: int) -> Progress:
    """Return a running progress bar, which is invisible if stderr is not a terminal."""
    from rich.progress import BarColumn, Progress

    console = stderr_console()
    description = "[progress.description]{task.description}"
    bar = Progress(description, BarColumn(), console=console, transient=True, disable=not is_watched())
    bar.add_task("", total=count)
    bar.start()
    return bar


def _plain(text: str) -> str:
    """Return a text with rich's markup escaped."""
    from rich.markup import escape

    return escape(text)


@contextmanager
def counting(total: int, what: str) -> Iterator[Callable[..., None]]:
    """Show a progress bar on stderr while the body runs, if stderr is a terminal.

    The body gets a function to call with the name of the current item and the number of items done, by default one
    more.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    console = stderr_console()
    if not is_watched():
        yield lambda name, done=None: None
        return
    columns = ("[progress.description]{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        started = iter(range(total + 1))

        def advance(name: str, done: int | None = None) -> None:
            bar.update(task, description=_plain(name), completed=next(started, total) if done is None else done)

        yield advance


def write_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows on stdout in aligned columns under a header; columns of numbers, by their first cell, to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    right = [bool(rows) and rows[0][i][:1].isdigit() for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        placed = (
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(cells, widths, right, strict=True)
        )
        return "  ".join(placed).rstrip()

    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    with console.capture() as headline:  # rich would end the process on a broken pipe
        console.print(Text(line(header), "bold"))
    sys.stdout.write(headline.get())
    for row in rows:
        click.echo(line(row))
