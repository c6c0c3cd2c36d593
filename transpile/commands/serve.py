"""``xla2py serve [FILE]``."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import click

from ..errors import Diagnostic, UsageError
from ..files import read_bytes
from ..frontends.functions import is_reference
from ..frontends.sniffing import Kind, sniff
from .modules import read_module, shown_name
from .options import Command
from .terminal import note

_TEXTS = (Kind.HLO_TEXT, Kind.STABLEHLO_TEXT)


@click.command(cls=Command)
@click.argument("source", metavar="[FILE]", required=False)
@click.option("--port", type=int, default=0, metavar="N", help="The port on 127.0.0.1. Default: a free one.")
@click.option("--open", "opens", is_flag=True, help="Open the page in your browser.")
def command(source: str | None, port: int, opens: bool) -> None:
    """Show a page that turns HLO and StableHLO into Python as you type.

    The page can run and compare modules, in every style and with every array library that is installed on this
    machine. It opens FILE, and reloads it when it changes. Only this machine can reach the page, at the address that
    the command prints.
    """
    from ..playground.server import ADDRESS, Playground

    program = None if source is None else _watched(source)
    if program is not None:
        program()
    try:
        server = Playground(port, program)
    except (OSError, OverflowError) as error:
        raise UsageError(Diagnostic("XP401", f"cannot serve on {ADDRESS}:{port}: {error}")) from error
    with server:
        click.echo(server.url)
        note("Press Ctrl-C to stop.")
        if opens:
            webbrowser.open(server.url)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


def _watched(source: str) -> Callable[[], tuple[str, str]]:
    """Return the function that reads the program for the page: text as it is, anything else printed as HLO."""
    if is_reference(source) or not Path(source).exists():
        found = _printed(source)
        return lambda: found
    return lambda: _read(source)


def _read(source: str) -> tuple[str, str]:
    content = read_bytes(Path(source))
    if sniff(content) in _TEXTS:
        with suppress(UnicodeDecodeError):
            return shown_name(source), content.decode("utf-8-sig").replace("\r\n", "\n")
    return _printed(source)


def _printed(source: str) -> tuple[str, str]:
    from ..hlo.printer import print_module

    return shown_name(source), print_module(read_module(source))
