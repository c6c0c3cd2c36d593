"""The files of the page, in the checkout and in the wheel."""

from __future__ import annotations

import json
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[2]
FOLDER = _PACKAGE / "page"
_SUFFIXES = (".html", ".css", ".js", ".json", ".svg")


def site_files() -> dict[str, Path]:
    """Return the files of the page by their names there: its own, and the examples that it lists."""
    own = {path.name: path for path in sorted(FOLDER.iterdir()) if path.suffix in _SUFFIXES}
    listed = json.loads((FOLDER / "examples.json").read_text(encoding="utf-8"))
    return own | {f"examples/{example['file']}": _example(example["file"]) for example in listed}


def _example(name: str) -> Path:
    """Return the file of an example: the page's own, or the gallery's."""
    own = FOLDER / "examples" / name
    return own if own.exists() else _PACKAGE / "examples" / "hlo" / name
