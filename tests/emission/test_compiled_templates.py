"""Compiled templates are kept for other processes where that is possible, and otherwise for this one."""

import sys

import jinja2
import pytest

from xla2py.transpile.emission.compiled_templates import CompiledTemplates


@pytest.fixture
def compiled(monkeypatch):
    """Renders a template with a cache in a folder, and gives the text and how often it was compiled."""

    def render(folder):
        cache = CompiledTemplates()
        cache.directory = str(folder)
        environment = jinja2.Environment(loader=jinja2.DictLoader({"sum": "{{ 1 + 2 }}"}), bytecode_cache=cache)
        count = 0
        generate = environment.compile

        def compile(*arguments, **keywords):
            nonlocal count
            count += 1
            return generate(*arguments, **keywords)

        monkeypatch.setattr(environment, "compile", compile)
        return environment.get_template("sum").render(), count

    return render


def test_another_process_finds_what_was_compiled(compiled, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    folder = tmp_path / "__pycache__"
    assert compiled(folder) == ("3", 1)
    assert compiled(folder) == ("3", 0)
    (file,) = folder.iterdir()
    file.write_bytes(b"damaged")
    assert compiled(folder) == ("3", 1)


def test_nothing_is_kept_where_nothing_may_be_written(compiled, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert compiled(tmp_path / "__pycache__") == ("3", 1)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert compiled(tmp_path / "missing" / "__pycache__") == ("3", 1)
