"""The outputs in docs/command.md are what the commands print."""

import re
import shlex
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
BLOCKS = re.findall(r"```console\n\$ xla2py ([^\n]+)\n([^$\n`].*?)```", (DOCS / "command.md").read_text(), re.DOTALL)
MEASURED = re.compile(r"0\.\d\d\d +\d+$", re.MULTILINE)  # seconds and MiB of a check


@pytest.mark.parametrize(("command", "output"), BLOCKS, ids=[command for command, _ in BLOCKS])
def test_a_command_prints_what_the_page_shows(folder, xla2py, monkeypatch, command, output):
    monkeypatch.setenv("COLUMNS", "100")
    Path("softmax.hlo").write_text((DOCS / "example.hlo").read_text(encoding="utf-8"), encoding="utf-8")
    code, out, err = xla2py(*shlex.split(command))
    assert code == 0, err
    shown, printed = ([line.rstrip() for line in MEASURED.sub("", text).splitlines()] for text in (output, out))
    assert printed == shown


def test_there_are_outputs_to_compare():
    assert len(BLOCKS) >= 5
