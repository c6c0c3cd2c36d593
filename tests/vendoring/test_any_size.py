"""Vendored modules for any size: the spelling with names is their source."""

import json
from pathlib import Path

import pytest

from xla2py.tests.vendoring.conftest import rewrite

pytest.importorskip("jax")

SPELLING = "vendored_kernels:scaled(f32[N,3])"
TEXT = '"""Kernels."""\n\n\ndef scaled(x):\n    return x * len(x) + 1\n'


def test_names_in_shapes_are_kept(project, xla2py):
    kernels, path = Path("vendored_kernels.py"), Path("src/ours/scaled.py")
    kernels.write_text(TEXT, encoding="utf-8")
    code, _, err = xla2py("vendor", "add", SPELLING, "-o", str(path))
    assert code == 0, err
    text = path.read_text(encoding="utf-8")
    assert "return x * n + 1\n" in text and f"# regenerate: xla2py emit '{SPELLING}' -t numpy" in text
    assert f'source = "{SPELLING}"' in Path("pyproject.toml").read_text(encoding="utf-8")

    def state() -> tuple[str, bool]:
        entries = json.loads(xla2py("vendor", "check", "--output-format", "json")[1])
        return next((entry["state"], entry["edited"]) for entry in entries if entry["source"] == SPELLING)

    assert state() == ("fresh", False)
    rewrite(path, "import numpy", "# ours\nimport numpy")
    assert state() == ("edited", True)
    rewrite(Path("pyproject.toml"), f'source = "{SPELLING}"', f'source = "{SPELLING}"\nchecks = "none"')
    code, out, _ = xla2py("vendor", "update", str(path))
    text = path.read_text(encoding="utf-8")
    assert code == 0 and "merged with your edits" in out and "# ours\n" in text and "check_sizes" not in text
