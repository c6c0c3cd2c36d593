"""A hook of mkdocs: links that lead out of ``docs/`` become files of the site, so that pages are the same in both."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[1]
FOLDER = "files"  # of the site, for what is linked outside of docs/
_LINK = re.compile(r"(\]\()\.\./([^)\s#]+)((?:#[^)\s]*)?\))")


def on_files(files: Any, config: Any) -> Any:
    """Add what pages link to outside of ``docs/``; of a folder its README, or the list of its files."""
    from mkdocs.structure.files import File

    pages = [CHECKOUT / "docs" / page.src_uri for page in files.documentation_pages()]
    linked = {found[2] for page in pages for found in _LINK.finditer(page.read_text(encoding="utf-8"))}
    for name in sorted(linked):
        files.append(File.generated(config, f"{FOLDER}/{_file_name(name)}", content=_content(CHECKOUT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links that lead out of ``docs/`` to the files that stand for them."""
    return _LINK.sub(lambda found: f"{found[1]}{FOLDER}/{_file_name(found[2])})", markdown)


def _file_name(name: str) -> str:
    """The name of a file in the site: one that a browser shows as text."""
    return f"{posixpath.normpath(name)}.txt"


def _content(path: Path) -> bytes:
    if path.is_dir() and not (path / "README.md").is_file():
        return "".join(f"{each.name}\n" for each in sorted(path.iterdir()) if not each.name.startswith("_")).encode()
    return (path / "README.md" if path.is_dir() else path).read_bytes()
