"""The tutorial's program becomes the module that the tutorial shows."""

import re
import sys
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[1] / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.live_xla
def test_main_is_as_shown(folder, xla2py, monkeypatch):
    monkeypatch.delitem(sys.modules, "model", raising=False)
    program, main = BLOCKS[:2]
    Path("model.py").write_text(program, encoding="utf-8")
    code, out, err = xla2py("emit", "model:classify(f32[32,16])")
    assert code == 0, err
    assert main in out
    monkeypatch.delitem(sys.modules, "model", raising=False)
