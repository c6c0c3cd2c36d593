"""What people see while a command works."""

import io

from rich.console import Console

from xla2py.transpile.commands import terminal


def shown(monkeypatch, is_terminal):
    console = Console(file=io.StringIO(), force_terminal=is_terminal, width=80)
    monkeypatch.setattr(terminal, "stderr_console", lambda: console)
    monkeypatch.setattr(terminal, "is_watched", lambda: is_terminal)
    with terminal.stages("emitting [b] for numpy", 3) as begin:
        for name in ("outlining", "to_array", "writing"):
            begin(name)
    return console.file.getvalue()


def test_a_bar_names_the_stage_once_it_takes_long(monkeypatch):
    monkeypatch.setattr(terminal, "LONG", -1.0)
    assert "emitting [b] for numpy: writing" in shown(monkeypatch, True)
    assert "writing" not in shown(monkeypatch, False)


def test_a_log_with_colours_has_no_bar(monkeypatch):
    monkeypatch.setattr(terminal, "LONG", -1.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert not terminal.is_watched()


def test_what_is_soon_done_shows_none(monkeypatch):
    assert shown(monkeypatch, True) == ""
