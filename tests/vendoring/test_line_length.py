"""Vendored modules have lines as long as the project's own."""

from collections.abc import Callable

import pytest

from xla2py import emit
from xla2py.transpile.emission.module.shared_helpers import helpers_file
from xla2py.transpile.vendoring import find_project, inspect_module
from xla2py.transpile.vendoring.freshness import State

TEXT = "ENTRY main { x = f32[4] parameter(0) ROOT y = f32[4] tanh(x) }\n"


@pytest.fixture
def added(folder, xla2py) -> Callable[..., str]:
    """Vendors a module in a project whose pyproject.toml has some tables; its text."""

    def add(tables: str, *options: str) -> str:
        (folder / "pyproject.toml").write_text(tables)
        (folder / "m.hlo").write_text(TEXT)
        code, _, err = xla2py("vendor", "add", "m.hlo", "-o", "m.py", *options)
        assert code == 0, err
        return (folder / "m.py").read_text()

    return add


@pytest.mark.parametrize(
    "tables, line_length",
    [
        ("[tool.ruff]\nline-length = 100\n[tool.black]\nline-length = 120\n", 100),
        ("[tool.black]\nline-length = 120\n", 120),
        ("[tool.xla2py]\nline-length = 90\n[tool.ruff]\nline-length = 100\n", 90),
        ("[tool.ruff]\nline-length = 9\n", 72),
        ("[tool.ruff]\nline-length = '100'\n", 88),
        ("[tool.ruff]\nfix = true\n", 88),
    ],
)
def test_the_projects_formatter_says_how_long_lines_are(folder, added, tables, line_length):
    text = added(tables)
    assert text == emit(TEXT, name="m.hlo", line_length=line_length, nested=False).source
    (module,) = find_project(folder).modules
    assert module.options == {} and inspect_module(find_project(folder), module).state is State.FRESH


def test_an_option_is_kept_in_the_manifest_and_wins(folder, added):
    text = added("[tool.ruff]\nline-length = 100\n", "--line-length", "80")
    assert "--line-length 80\n" in text
    assert "line-length = 80" in (folder / "pyproject.toml").read_text()
    (module,) = find_project(folder).modules
    assert inspect_module(find_project(folder), module).state is State.FRESH


def test_shared_helpers_have_lines_of_that_length_too(folder, added, xla2py):
    (folder / "__init__.py").touch()
    added("[tool.ruff]\nline-length = 72\n", "--helpers", "shared")
    text = (folder / "_xla2py.py").read_text()
    assert text == helpers_file(["check_arguments"], "numpy", 72) != helpers_file(["check_arguments"], "numpy")
    assert xla2py("vendor", "check")[0] == 0
