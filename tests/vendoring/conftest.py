"""A project with one vendored module, in a folder of its own."""

from pathlib import Path

import pytest

SOURCE = """
HloModule scale_and_shift

ENTRY main {
  x = f32[3] parameter(0)
  two = f32[] constant(2)
  twos = f32[3] broadcast(two), dimensions={}
  scaled = f32[3] multiply(x, twos)
  one = f32[] constant(1)
  ones = f32[3] broadcast(one), dimensions={}
  ROOT shifted = f32[3] add(scaled, ones)
}
"""
PYPROJECT = '# ours\n[project]\nname = "ours"   # of all\nversion = "1"\n'


@pytest.fixture
def project(folder, xla2py) -> Path:
    """The folder of a project that vendors ``kernels/scale.hlo`` as ``src/ours/scale.py``."""
    (folder / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    (folder / "kernels").mkdir()
    (folder / "kernels/scale.hlo").write_text(SOURCE, encoding="utf-8")
    code, out, err = xla2py("vendor", "add", "kernels/scale.hlo", "-o", "src/ours/scale.py")
    assert (code, out) == (0, ""), err
    return folder


def rewrite(path: Path, old: str, new: str) -> str:
    """Replace text in a file that has it; the new content."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return text.replace(old, new)
