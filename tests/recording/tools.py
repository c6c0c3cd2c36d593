"""What tools say about texts, recorded as XLA's answers are: they say the same again. They need no JAX."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import black

from xla2py.tests.recording.answers import ANSWERS
from xla2py.tests.recording.questions import Question, title


def black_layout(text: str, line_length: int = black.DEFAULT_LINE_LENGTH) -> str:
    """Return a text in black's layout."""
    mode = black.Mode({black.TargetVersion.PY311}, line_length)

    def changed() -> str | None:
        layout = black.format_str(text, mode=mode)
        return None if layout == text else layout

    asked = Question(f"black: {title(text)}", ("black", _release("black"), line_length, text), needs_jax=False)
    layout: str | None = ANSWERS.ask(asked, changed)
    return text if layout is None else layout


def strict_types(folder: Path, cache: Path, *arguments: str) -> str:
    """Return what mypy's strict checks find wrong in a folder with these arguments."""
    environment = {key: value for key, value in os.environ.items() if key not in ("MYPYPATH", "PYTHONPATH")}
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}", *arguments]

    def wrong() -> str:
        result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        return result.stdout + result.stderr if result.returncode else ""

    texts = [[str(path.relative_to(folder)), path.read_bytes()] for path in sorted(folder.rglob("*.py"))]
    libraries = [_release(name) for name in ("mypy", "numpy")]
    asked = Question(f"mypy: {' '.join(arguments)}", ("mypy", libraries, arguments, texts), needs_jax=False)
    found: str = ANSWERS.ask(asked, wrong)
    return found


def _release(package: str) -> str:
    """Return the part of a package's version that says what it does."""
    return ".".join(version(package).split(".")[:2])
