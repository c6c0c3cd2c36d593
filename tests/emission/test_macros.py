"""The macros of a renderer: the last file that has one counts, and a file is run when one of its macros is used."""

import jinja2
import pytest

from xla2py.transpile.emission.macros import Macros

FILES = {
    "shared/a.j2": "{% macro plus(x) %}{{ x }} + 1{% endmacro %}{% macro not_(x) %}~{{ x }}{% endmacro %}",
    "shared/b.j2": "{% macro _own() %}{% endmacro %}{%- macro cube(x) %}{{ x }}**3{% endmacro %}",
    "own/a.j2": "{% macro cube(x) %}{{ x }} * {{ x }} * {{ x }}{% endmacro %}",
}


@pytest.fixture
def macros(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(tmp_path))
    return Macros(environment, [(part, tmp_path / part) for part in ("shared", "own")])


def test_the_last_file_counts(macros):
    assert {name: macro("x") for name, macro in macros.items()} == {"plus": "x + 1", "not": "~x", "cube": "x * x * x"}
    assert "_own" not in macros and macros.get("other") is None


def test_only_files_that_are_used_are_run(macros, tmp_path):
    (tmp_path / "shared/b.j2").write_text("{{ undefined.attribute }}")
    assert macros["plus"]("x") == "x + 1"
    assert len(macros) == 3
