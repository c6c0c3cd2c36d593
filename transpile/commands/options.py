"""Parts that commands share: the ``--debug`` flag, types of numbers, and options made from the table of settings."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from ..options import SETTINGS, Setting, Value, keywords
from ..settings import Settings, load_settings
from .terminal import Session, note

_OPTIONS = "Options"  # the heading of the options that are not settings
_ADDED = re.compile(r" *\[(?:default: (?P<default>[^;\]]*))?(?:; )?(?:\S+<=x<=\S+?)?(?:; )?(?P<required>required)?\]$")
_WHOLE = 1000  # characters, more than any sentence has
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _FiniteRange(click.FloatRange):
    """A range of floats that excludes NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number


SEED = click.IntRange(0, 2**64 - 1)
COUNT = click.IntRange(1, 10**9)
RETRIES = click.IntRange(0, 1000)
SECONDS = _FiniteRange(0.001, 10**6)
MEBIBYTES = click.IntRange(16, 2**30)


def _set_debug(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(Session).debug = True


def debug_option() -> click.Option:
    return click.Option(
        ["--debug"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_set_debug,
        help="Verify the program after every pass, and show the Python traceback if xla2py itself fails.",
    )


def is_debugging() -> bool:
    """Return whether the running command was given ``--debug``."""
    context = click.get_current_context(silent=True)
    session = context.find_object(Session) if context is not None else None
    return session is not None and session.debug


class Command(click.Command):
    """A click command that also takes ``--debug``, and shows its options in groups."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(debug_option())

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then those of settings by their groups."""
        groups: dict[str, list[tuple[str, str]]] = {_OPTIONS: []}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)) is not None:
                setting = SETTINGS.get(str(param.name).replace("_", "-"))
                title = setting.group if setting is not None else _OPTIONS
                groups.setdefault(title, []).append((record[0], in_sentences(record[1])))
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)


def in_sentences(text: str) -> str:
    """Return the help of an option with click's additions, default and required, as sentences, without ranges."""
    match = _ADDED.search(text)
    if match is None:
        return text
    default, is_required = match["default"], match["required"]
    return text[: match.start()] + (f" Default: {default}." if default else "") + (" Required." if is_required else "")


class Group(click.Group):
    """A click group that also takes ``--debug``, and shows the whole summary of each command."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(debug_option())

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with their whole first sentences."""
        commands = [(name, command) for name in self.list_commands(ctx) if (command := self.get_command(ctx, name))]
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(_WHOLE)) for name, command in commands])


sizes_option = click.option(
    "--sizes",
    metavar="NAME=N,N,N",
    multiple=True,
    help="The value of a free size in each FILE: the FILEs are dumps of one program, at least three. "
    "A single value is the size that chunks are planned for.",
)


one_size_option = click.option(
    "--sizes", metavar="NAME=N", multiple=True, help="A number for each size that the program leaves open."
)


function_option = click.option(
    "--function", metavar="NAME", help="The StableHLO function to read. Default: main, or the only one."
)


def words(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Return the words in a comma-separated list, without repeats."""
    return None if value is None else tuple(dict.fromkeys(word.strip() for word in value.split(",") if word.strip()))


def campaigns_option(what: str) -> Decorator:
    """Return the option ``--campaigns``; its help begins with ``what``."""
    return click.option(
        "--campaigns",
        default="ordinary",
        show_default=True,
        callback=words,
        metavar="NAMES",
        help=f"{what}: ordinary, edge, ties, large, separated by commas, or all.",
    )


def arguments_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--args`` and ``--seed``, for commands that run a program once."""
    arguments = click.option(
        "--args", "arguments", metavar="IN.npz", help="The arguments, named after the parameters or arr_0, arr_1, .."
    )
    seed = click.option(
        "--seed",
        type=SEED,
        metavar="N",
        default=0,
        show_default=True,
        help="Without --args, the seed of the random arguments.",
    )
    return arguments(seed(function))


def limits_of_runs(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--timeout`` and ``--memory-limit``, for commands that run modules in separate processes."""
    for flag, limit, default, metavar, what in reversed(
        (("--timeout", SECONDS, 60.0, "SECONDS", "Time"), ("--memory-limit", MEBIBYTES, 4096, "MIB", "Memory"))
    ):
        limited = f"{what} limit for each run."
        function = click.option(flag, type=limit, default=default, show_default=True, metavar=metavar, help=limited)(
            function
        )
    return function


def setting_options(*names: str) -> Decorator:
    """Return a decorator that adds the options of settings, without defaults, which :func:`choose` fills in."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            function = _setting_option(SETTINGS[name])(function)
        return function

    return decorate


one_target_options = setting_options(*(name for name in SETTINGS if name != "target"))


def choose_for(target: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of :func:`xla2py.emit` for a target, as :func:`choose` does; ``main`` takes no trees."""
    options = choose({**given, "target": (target,)}, load_settings(Path.cwd()))
    return {name: value for name, value in options.items() if name != "target"} | {"nested": False}


def _setting_option(setting: Setting) -> Decorator:
    shown = _shown(setting.default)
    help_text = f"{setting.help} Default: {shown}." if shown else setting.help
    if isinstance(setting.default, bool):
        return click.option(f"--{setting.name}/--no-{setting.name}", default=None, help=help_text)
    flags = (["-t"] if setting.name == "target" else []) + [f"--{setting.name}"]
    if isinstance(setting.default, int):
        return click.option(*flags, metavar="N", type=click.IntRange(*setting.bounds), help=help_text)
    if setting.is_folder:
        return click.option(*flags, metavar="DIR", type=click.Path(exists=True, file_okay=False), help=help_text)
    if setting.choices:
        chosen: Decorator = click.option(*flags, type=click.Choice(setting.choices), help=help_text)
        chosen = _with_old_name(setting, chosen) if setting.old_name else chosen
        return _with_negation(setting, chosen) if setting.flags else chosen
    if isinstance(setting.default, str):
        metavar = "PATH" if setting.is_file else "N" if setting.name == "threads" else "SIZE"
        return click.option(*flags, metavar=metavar, help=help_text)
    return click.option(*flags, metavar="NAMES", callback=words, help=help_text)


def _with_negation(setting: Setting, chosen: Decorator) -> Decorator:
    """Return a decorator that adds a setting's option and, before it, ``--no-NAME`` for the word that means false."""
    assert setting.flags is not None
    negated = click.option(
        f"--no-{setting.name}",
        setting.name,
        flag_value=setting.flags[1],
        help=f"Same as --{setting.name} {setting.flags[1]}.",
    )
    return lambda function: chosen(negated(function))


def _with_old_name(setting: Setting, chosen: Decorator) -> Decorator:
    """Return a decorator that adds a setting's option and, hidden, its former name."""

    def noted(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
        if value is not None:
            note(f"--{setting.old_name} is called --{setting.name} now")
        return value

    name, choices = setting.name.replace("-", "_"), click.Choice(setting.choices)
    old = click.option(f"--{setting.old_name}", name, type=choices, hidden=True, callback=noted)
    return lambda function: chosen(old(function))


def _shown(default: Value) -> str:
    if isinstance(default, bool):
        return "on" if default else "off"
    if isinstance(default, int):
        return str(default)
    return default if isinstance(default, str) else ",".join(default)


def choose(given: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Return the targets and the options of :func:`xla2py.emit`: given ones, else pyproject.toml's, else defaults.

    ``given`` has the settings under their parameter names (``disable_pass``), with ``None`` for those not given.
    """
    chosen = {name: settings[name] if (value := given[name.replace("-", "_")]) is None else value for name in SETTINGS}
    return {"target": chosen["target"], **keywords(chosen)}
