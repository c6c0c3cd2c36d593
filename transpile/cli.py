"""The ``xla2py`` command: dispatch to subcommands, and reports and exit codes for all failures."""

from __future__ import annotations

import errno
import gc
import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from itertools import takewhile
from typing import TextIO

import click
from click.shell_completion import shell_complete

from .collection import collection_paused
from .commands.options import debug_option
from .commands.terminal import ClosedStream, Session, notes, stderr_console
from .errors import Diagnostic, UsageError, XlaToPythonError
from .files import file_error
from .version import VERSION

# name -> help text; the module of a command is imported when it runs
COMMANDS: dict[str, str] = {
    "emit": "Turn HLO into Python source.",
    "run": "Emit a program, run it, and show its results.",
    "vendor": "Keep generated modules in your own project.",
    "package": "Write a project that pip can install, with a function for each program.",
    "lockstep": "Find the first instruction that emitted code computes wrongly.",
    "reduce": "Find the smallest program that still differs.",
    "check": "Compare array libraries with each other and with XLA.",
    "fuzz": "Compare random programs in the same way as check.",
    "inspect": "Show the arguments, results and cost of a program.",
    "serve": "Show a page that turns HLO into Python as you type.",
    "ops": "List the operations, and which array libraries support them.",
    "layout": "Draw how a shape lies in memory.",
    "explain": "Explain an error code.",
    "doctor": "Show what is installed, and what would make modules faster.",
    "completion": "Print the completion script of a shell.",
}
PROGRAM = "xla2py"
COMPLETION_VARIABLE = "_XLA2PY_COMPLETE"
GROUP_FLAGS = ("--help", "-h", "--version", "--debug")
BUG = 4
INTERRUPTED = 130
READER_GONE = 141
EXIT_CODES: dict[int, str] = {  # the last two are those of shells
    0: "All is well.",
    1: "Values differ, or a file is stale.",
    2: "The input or the command line is wrong.",
    3: "An operation is not supported.",
    BUG: "An internal error of xla2py.",
    INTERRUPTED: "Interrupted (Ctrl-C).",
    READER_GONE: "The reader of stdout closed the pipe.",
}
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)  # errors of writing to stdout


class CommandGroup(click.Group):
    """Commands by name from :data:`COMMANDS`; a file in a command's place means ``emit``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        with collection_paused():
            command = import_module(f".commands.{cmd_name}", __package__).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in EXIT_CODES.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_command(args))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            close = get_close_matches(args[0], COMMANDS, 1)
            hint = f"did you mean 'xla2py {close[0]}'?" if close else "see 'xla2py --help'"
            raise UsageError(Diagnostic("XP404", f"'{args[0]}' is neither a command nor a file", hint=hint))
        return super().resolve_command(ctx, args)


def with_command(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with ``emit`` inserted if they begin with a file or an option of ``emit``."""
    flags = list(takewhile(GROUP_FLAGS.__contains__, arguments))
    rest = list(arguments[len(flags) :])
    if rest and rest[0] not in COMMANDS and (re.search(r"^-|[.:]", rest[0]) or os.path.exists(rest[0])):
        return [*flags, "emit", *rest]
    return [*flags, *rest]


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]}, params=[debug_option()])
@click.version_option(VERSION, message="%(prog)s %(version)s")
def cli() -> None:
    """Turn XLA HLO programs into readable, standalone Python for NumPy, CuPy and Dask.

    `xla2py FILE` is short for `xla2py emit FILE`; the file `-` is stdin.
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command with arguments (default: the process's own) and return its exit code."""
    session = Session()
    with notes():
        code = _run(arguments, session)
    session.end()
    return code


def _run(arguments: Sequence[str] | None, session: Session) -> int:
    if sys.stdout is None:  # the process started without stdout
        sys.stdout = ClosedStream()
    try:
        if instruction := os.environ.get(COMPLETION_VARIABLE):
            return shell_complete(cli, {}, PROGRAM, COMPLETION_VARIABLE, instruction)
        words = sys.argv[1:] if arguments is None else list(arguments)
        with cli.make_context(PROGRAM, words, obj=session) as context:
            code = cli.invoke(context)
        sys.stdout.flush()
        return int(code or 0)
    except click.exceptions.Exit as end:  # of --help and --version
        return end.exit_code
    except XlaToPythonError as error:
        session.report(error)
        return error.exit_code
    except click.ClickException as error:
        session.report(_usage_error(error))
        return UsageError.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        _drop(sys.stdout)
        return READER_GONE
    except OSError as error:
        return _refused(error, session)
    except MemoryError:
        session.report(UsageError(Diagnostic("XP501", "there is not enough memory for this program")))
        return UsageError.exit_code
    except Exception as error:
        return _bug(error, session)


def _usage_error(error: click.ClickException) -> UsageError:
    """Return a click exception as a diagnostic."""
    context = getattr(error, "ctx", None)
    hint = f"see '{context.command_path} --help'" if context is not None else None
    return UsageError(Diagnostic("XP400", error.format_message().rstrip("."), hint=hint))


def _refused(error: OSError, session: Session) -> int:
    """Report an error of the operating system that nothing else handled, and return the exit code."""
    if error.filename is not None:
        session.report(file_error("use", os.fsdecode(error.filename), error))
    elif error.errno in UNWRITABLE:
        _drop(sys.stdout)
        session.report(file_error("write", "stdout", error))
    else:
        return _bug(error, session)
    return UsageError.exit_code


def _drop(stream: TextIO | ClosedStream) -> None:
    """Redirect a stream to the null device, so that the interpreter's last flush does not fail too."""
    if not isinstance(stream, ClosedStream):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _bug(error: Exception, session: Session) -> int:
    console = stderr_console()
    with suppress(OSError):  # stderr cannot be written
        if session.debug:
            traceback.print_exception(error)
        console.print(f"[bold red]internal error[/]: {type(error).__name__} (this is a bug in xla2py {VERSION})")
        if not session.debug:
            console.print("run the same command with --debug for the traceback")
        console.print("please report it to the authors of xla2py, with the HLO and the traceback")
    return BUG


def main() -> None:
    """Run the command as a console script."""
    code = run()
    if sys.stderr is not None:
        try:
            sys.stderr.flush()
        except OSError:  # stderr cannot be written
            _drop(sys.stderr)
    gc.freeze()  # skips the last garbage collection, which takes a tenth of a small program's time
    sys.exit(code)
