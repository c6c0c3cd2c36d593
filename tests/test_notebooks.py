"""The notebooks of ``examples/`` were executed as they stand, and are small."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples" / "notebooks").glob("*.ipynb"))
MOST_BYTES = 20_000


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_was_executed_in_order_without_errors(path):
    cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert outputs and not [output for output in outputs if output["output_type"] == "error"]
    assert path.stat().st_size <= MOST_BYTES


def test_they_are_listed():
    listed = (NOTEBOOKS[0].parents[1] / "README.md").read_text("utf-8")
    assert len(NOTEBOOKS) == 4 and all(f"(notebooks/{path.name})" in listed for path in NOTEBOOKS)
