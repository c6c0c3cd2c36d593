"""Self-contained pages: one file with its style and script, which are all that a browser may run."""

from __future__ import annotations

import base64
import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from ..errors import Diagnostic, UsageError
from ..files import read_bytes, write_atomically
from ..version import VERSION
from .highlight import visible

FOLDER = Path(__file__).resolve().parents[2] / "templates" / "pages"
GENERATOR = f"xla2py {VERSION}"


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: Any) -> Any:
    """Return a text with invisible characters spelled out, line by line; our own markup is unchanged."""
    return "\n".join(map(visible, value.split("\n"))) if type(value) is str else value


def render(page: str, **values: Any) -> str:
    """Return a page from its templates ``PAGE.html.j2``, ``.css.j2`` and ``.js.j2``.

    Every text in ``values`` is escaped, and its invisible characters are spelled out.
    """
    environment = _environment()
    style, script = (environment.get_template(f"{page}.{kind}.j2").render() for kind in ("css", "js"))
    return environment.get_template(f"{page}.html.j2").render(
        generator=GENERATOR,
        style=style,
        script=script,
        style_hash=_integrity(style),
        script_hash=_integrity(script),
        **values,
    )


def _integrity(text: str) -> str:
    """Return the hash by which a content security policy allows exactly this style or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def write_page(text: str, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a page atomically. Raises UsageError (XP640) if the file exists and is not a page of xla2py."""
    path = Path(path)
    if path.exists() and not force and b'name="generator" content="xla2py ' not in read_bytes(path)[:4096]:
        hint = "write to another file, or overwrite it with --force"
        raise UsageError(Diagnostic("XP640", f"{path} is not a page written by xla2py", hint=hint))
    write_atomically(path, text.encode())
