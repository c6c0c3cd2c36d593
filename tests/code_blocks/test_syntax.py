"""The code blocks of the pages: Python is Python, and commands are those that there are, with their options."""

import ast
import re
import shlex
from pathlib import Path

import click
import pytest

from xla2py.transpile.cli import COMMANDS, CommandGroup

CHECKOUT = Path(__file__).parents[2]
PAGES = [*sorted(CHECKOUT.glob("*.md")), *sorted((CHECKOUT / "docs").glob("*.md")), CHECKOUT / "examples" / "README.md"]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [text for word, text in BLOCK.findall(page.read_text(encoding="utf-8")) if word == language]


def is_python(text: str) -> bool:
    """Tell whether a text is statements, the body of a function, a signature, or what was typed at a prompt."""
    typed = [line[4:] for line in text.splitlines() if line.startswith((">>> ", "... "))]
    text = re.sub(r"=<[^>]+>", "=None", "\n".join(typed) or text)  # the default is a member of an enum
    indented = re.sub("(?m)^", "    ", text)
    open_ended = f"{text.rstrip()}\n{' ' * 40}..."  # the body is not shown
    return any(
        map(parses, (text, f"def f():\n{indented}", f"def f():\n{text}", f"def {text.strip()}: ...", open_ended))
    )


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that words call, of a group the one within, and what they give it."""
    group = CommandGroup("xla2py")
    context = click.Context(group)
    command, rest = group.get_command(context, words[0]), words[1:]
    assert command is not None, words
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        command, rest = command.get_command(context, rest[0]), rest[1:]
        assert command is not None, words
    return command, rest


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_is_python(page):
    assert [text for text in blocks(page, "python") if not is_python(text)] == []


# errors.md shows what is wrong, too.
@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "errors"], ids=lambda page: page.stem)
def test_commands_have_the_options_that_pages_give_them(page):
    unknown = []
    for line in "\n".join(blocks(page, "console")).replace("\\\n", " ").splitlines():
        call = re.match(r"\$ (?:\w+=\S+ )*xla2py (.*)", line)
        words = shlex.split(call[1], comments=True) if call is not None else []
        if not words or words[0].startswith("-"):
            continue
        command, rest = command_of(words)
        known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)} | {"--help", "-h"}
        given = [word.split("=")[0] for word in rest if re.match(r"--?[a-z]", word)]
        unknown += [f"{words[0]} {word}" for word in given if word not in known]
    assert unknown == []


def test_pages_name_every_command():
    named = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in COMMANDS if f"xla2py {name}" not in named] == []
