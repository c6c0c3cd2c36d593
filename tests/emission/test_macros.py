"""The macros of a renderer: the last file that has one counts, and what no used macro needs is not compiled."""

import jinja2
import pytest

from xla2py.transpile.emission.macros import Macros

FILES = {
    "shared/a.j2": "{% macro plus(x) %}{{ x }} + 1{% endmacro %}{% macro not_(x) %}~{{ x }}{% endmacro %}",
    "shared/b.j2": "{% macro _own() %}{% endmacro %}{%- macro cube(x) %}{{ x }}**3{% endmacro %}",
    "shared/c.j2": "{# {% macro no() %} #}{% set base = 2 %}{% macro power(x) %}{{ base }}**{{ x }}{% endmacro %}"
    "{% from 'shared/a.j2' import plus as more %}{%- macro tower(x) -%} {{ more(power(x)) }} {%- endmacro %}"
    "{% macro broken(x) %}{{ x | no_filter }}{% endmacro %}",
    "own/a.j2": "{% macro cube(x) %}{{ x }} * {{ x }} * {{ x }}{% endmacro %}",
}


@pytest.fixture
def macros(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(tmp_path))
    return Macros(environment, [tmp_path / part for part in ("shared", "own")])


def test_the_last_file_counts(macros):
    found = {name: macros[name]("x") for name in macros if name != "broken"}
    assert found == {"plus": "x + 1", "not": "~x", "cube": "x * x * x", "power": "2**x", "tower": "2**x + 1"}
    assert "_own" not in macros and "no" not in macros and macros.get("other") is None


def test_what_no_used_macro_needs_is_not_compiled(macros):
    assert macros["tower"]("x") == "2**x + 1"
    assert macros.constant("base", "power") == 2
    with pytest.raises(jinja2.TemplateAssertionError, match="no_filter"):
        macros["broken"]
