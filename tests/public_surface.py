"""What is public, as text: ``python -m xla2py.tests.public_surface`` writes ``tests/public_surface.txt``."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import click

import xla2py
from xla2py.transpile import cli
from xla2py.transpile.options import SETTINGS
from xla2py.transpile.settings import ALL_SETTINGS
from xla2py.transpile.target import Target
from xla2py.transpile.vendoring.manifest import KEYS

RECORD = Path(__file__).with_suffix(".txt")
MADE_HERE = ("CheckReport", "GeneratedModule", "HloModule")  # functions give them; nobody else calls the class
READ = {  # of classes that have more for our own use
    "GeneratedModule": ("constants", "line_map", "load", "name", "plan", "save", "sizes", "source", "target"),
    "HloModule": ("computations", "entry", "instructions", "name", "num_partitions", "replica_count"),
}


def surface() -> str:
    """Every public name with its signature, every option, setting and exit code: a line each, under headings."""
    parts: dict[str, Callable[[], Iterator[str]]] = {
        "names": _names,
        "command": _command,
        "settings": _settings,
        "manifest": _manifest,
        "Target": lambda: _fields(Target),
        "exit codes": _exit_codes,
    }
    return "\n".join("\n".join([f"# {title}", *part(), ""]) for title, part in parts.items())


def _names() -> Iterator[str]:
    for name in xla2py.__all__:
        value = getattr(xla2py, name)
        if inspect.isclass(value):
            yield f"class {name}" + ("" if name in MADE_HERE else _signature(value))
            yield from (f"  {line}" for line in _members(value, READ.get(name, ())))
        elif inspect.ismodule(value):
            yield f"module {name}"
            yield from (f"  {each}" for each in value.__all__)
        else:
            yield f"{name}{_signature(value)}" if callable(value) else name


def _members(cls: type, public: Collection[str]) -> Iterator[str]:
    """The public methods and attributes of a class: all without an underscore where none are named."""
    for name, value in sorted(inspect.getmembers_static(cls)):
        if name.startswith("_") or (public and name not in public):
            continue
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        yield f"{name}{_signature(function)}" if inspect.isfunction(function) else name


def _signature(value: Any) -> str:
    """The signature of a function or a class, its types without quotes, and without ``self``."""
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(value)))
    return re.sub(r"\(self(: \w+)?(, )?", "(", text)


def _command() -> Iterator[str]:
    with click.Context(cli.cli) as context:
        yield from _options("xla2py", cli.cli, context)


def _options(path: str, command: click.Command, context: click.Context) -> Iterator[str]:
    """The arguments and options of a command, but for --help, then those of the commands in it."""
    yield path
    for parameter in sorted(command.params, key=lambda each: each.opts[-1]):
        names = ", ".join([*parameter.opts, *parameter.secondary_opts])
        choices = " ".join(parameter.type.choices) if isinstance(parameter.type, click.Choice) else ""
        yield f"  {parameter.param_type_name} {names} {choices}".rstrip()
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _options(f"{path} {name}", inner, context)


def _settings() -> Iterator[str]:
    for name, setting in sorted(ALL_SETTINGS.items()):
        choices = " ".join(setting.choices)
        yield f"{name} = {setting.default!r} {choices}".rstrip()


def _manifest() -> Iterator[str]:
    yield from (key for key in KEYS if key not in SETTINGS or key == "target")


def _fields(cls: type) -> Iterator[str]:
    for field in dataclasses.fields(cls):
        is_optional = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        yield f"{field.name}: {field.type}{' (optional)' if is_optional else ''}"


def _exit_codes() -> Iterator[str]:
    yield from (f"{code}: {meaning}" for code, meaning in cli.EXIT_CODES.items())


if __name__ == "__main__":
    RECORD.write_text(surface(), encoding="utf-8")
