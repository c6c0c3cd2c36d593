"""Fragments of the changelog have the form that their README gives."""

import re
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "changelog.d"


def test_each_fragment_is_one_line_for_users():
    wrong = []
    for path in sorted(FOLDER.iterdir()):
        if path.name == "README.md":
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        if not re.fullmatch(r"[a-z0-9_-]+\.(added|changed|fixed|removed)\.md", path.name):
            wrong.append(f"{path.name}: its name is not NAME.KIND.md")
        if len(lines) != 1 or not lines[0].strip() or len(lines[0]) > 240:
            wrong.append(f"{path.name}: it is not one line of at most 240 characters")
    assert wrong == []
