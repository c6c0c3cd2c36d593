"""Lines of tests in programs of JAX, in terms of the functions that are traced: these move as files are edited."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from xla2py.tests.recording.functions import Place

ROOT = str(Path(__file__).resolve().parents[2])
_FOLDER = "{xla2py}"
_FILE = re.compile(r'^(\d+) "([^"]*)"$', re.MULTILINE)
_ROW = re.compile(r"(?<=\{file_name_id=)(\d+)( function_name_id=\d+) line=(\S+) end_line=([^\s}]+)")
_INLINE = re.compile(r'(source_file="([^"]*)" source_line=)([\w+]+)((?: source_end_line=)?)([\w+]*)')


def placed(text: str, places: Sequence[Place]) -> str:
    """Return a program with its lines as places in functions, and files under the checkout, wherever that is."""
    return _mapped(text, lambda file, line: _of_line(file, line, places)).replace(ROOT, _FOLDER)


def replaced(text: str, places: Sequence[Place]) -> str:
    """Return the program with the lines where the functions are now."""
    return _mapped(text.replace(_FOLDER, ROOT), lambda file, line: _to_line(line, places))


def _mapped(text: str, line_of) -> str:
    files = dict(_FILE.findall(text.partition("FunctionNames")[0]))

    def row(found: re.Match[str]) -> str:
        file = files.get(found[1], "")
        return f"{found[1]}{found[2]} line={line_of(file, found[3])} end_line={line_of(file, found[4])}"

    def inline(found: re.Match[str]) -> str:
        end = found[5] and line_of(found[2], found[5])
        return f"{found[1]}{line_of(found[2], found[3])}{found[4]}{end}"

    return _INLINE.sub(inline, _ROW.sub(row, text))


def _of_line(file: str, line: str, places: Sequence[Place]) -> str:
    around = [
        (each.last - each.first, k)
        for k, each in enumerate(places)
        if each.file == file and each.first <= int(line) <= each.last
    ]
    if not around:
        return line
    _, k = min(around)
    return f"f{k}+{int(line) - places[k].first}"


def _to_line(line: str, places: Sequence[Place]) -> str:
    if not line.startswith("f"):
        return line
    k, offset = line[1:].split("+")
    return str(places[int(k)].first + int(offset))
