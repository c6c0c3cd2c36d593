"""``xla2py vendor add`` and ``check``: the manifest, and what states a module can be in."""

import json
import re
import shutil
import stat
import sys
import tomllib
from pathlib import Path

import pytest

from xla2py.tests.vendoring.conftest import PYPROJECT, SOURCE, rewrite
from xla2py.transpile.vendoring import freshness


def state(xla2py, *arguments: str) -> tuple[int, str]:
    """Exit code, and the state of the first module."""
    code, out, err = xla2py("vendor", "check", "--output-format", "json", *arguments)
    assert out, err
    return code, json.loads(out)[0]["state"]


def test_add_writes_the_module_and_only_adds_to_pyproject(project, xla2py):
    text = (project / "src/ours/scale.py").read_text(encoding="utf-8")
    assert "# regenerate: xla2py emit kernels/scale.hlo -t numpy\n" in text
    assert "return x * 2 + 1" in text
    assert "# License: yours;" in text
    manifest = (project / "pyproject.toml").read_text(encoding="utf-8")
    assert manifest.startswith(PYPROJECT)
    entries = tomllib.loads(manifest)["tool"]["xla2py"]["module"]
    assert entries == [{"source": "kernels/scale.hlo", "output": "src/ours/scale.py"}]
    assert state(xla2py) == (0, "fresh")


def test_headers_with_whole_hashes_are_read(project, xla2py):
    path = project / "src/ours/scale.py"
    text = path.read_text(encoding="utf-8")
    older = re.sub(
        r"# source sha256: (\w+), body sha256: (\w+)\n",
        lambda found: f"# source sha256: {found[1]:0<64}\n# body sha256: {found[2]:0<64}\n# license: yours\n",
        text,
    )
    path.write_text(older, encoding="utf-8")
    assert state(xla2py) == (0, "fresh")
    path.write_text(older.replace("x * 2", "2 * x"), encoding="utf-8")
    assert state(xla2py) == (1, "edited")


def test_options_of_add_are_those_of_updates(project, xla2py):
    xla2py(
        "vendor", "add", "table.hlo", "-o", "src/ours/table.py", "-t", "dask", "--constants", "inline", "--no-checks"
    )
    path = project / "src/ours/table.py"
    entry = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["xla2py"]["module"][1]
    assert entry == {
        "source": "table.hlo",
        "output": "src/ours/table.py",
        "target": "dask",
        "constants": "inline",
        "checks": "none",
    }
    text = path.read_text(encoding="utf-8")
    path.unlink()
    assert xla2py("vendor", "update")[0] == 0
    assert path.read_text(encoding="utf-8") == text
    assert "TABLE_1" in text and "check_arguments" not in text and "dask" in text


def test_sources_may_lie_outside_the_project(project, xla2py):
    sources = project.parent / "their code"
    sources.mkdir()
    code, _, err = xla2py("vendor", "add", "table.hlo", "-o", "src/ours/table.py", "--sources", str(sources))
    assert code == 0, err
    entry = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["xla2py"]["module"][1]
    assert entry["sources"] == "../their code"
    assert state(xla2py, "src/ours/table.py") == (0, "fresh")


def test_settings_of_the_table_hold_unless_a_module_says_otherwise(project, xla2py):
    manifest = project / "pyproject.toml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace("[[tool", "[tool.xla2py]\nchecks = false\n\n[[tool"), encoding="utf-8")
    assert xla2py("vendor", "update")[0] == 0
    assert "check_arguments" not in (project / "src/ours/scale.py").read_text(encoding="utf-8")
    manifest.write_text(manifest.read_text(encoding="utf-8") + "checks = true\n", encoding="utf-8")
    assert xla2py("vendor", "update")[0] == 0
    assert "check_arguments" in (project / "src/ours/scale.py").read_text(encoding="utf-8")


def test_a_missing_file_needs_an_update(project, xla2py):
    (project / "src/ours/scale.py").unlink()
    assert state(xla2py) == (1, "missing")


def test_missing_constants_need_an_update(project, xla2py):
    assert xla2py("vendor", "add", "table.hlo", "-o", "table.py")[0] == 0
    constants = project / "table.npz"
    content = constants.read_bytes()
    for change in (constants.unlink, lambda: constants.write_bytes(content[:-1])):
        change()
        assert state(xla2py, "table.py") == (1, "missing")
    assert xla2py("vendor", "update", "table.py")[0] == 0
    assert constants.read_bytes() == content


def test_a_changed_source_needs_an_update(project, xla2py):
    rewrite(project / "kernels/scale.hlo", "constant(2)", "constant(3)")
    assert state(xla2py) == (1, "stale source")
    rewrite(project / "src/ours/scale.py", "x * 2", "2 * x")
    _, out, _ = xla2py("vendor", "check")
    assert "stale source and edited" in out


def test_a_newer_generator_is_only_told(project, xla2py, monkeypatch):
    emit = freshness.emit
    monkeypatch.setattr(freshness, "emit", lambda *a, **k: emit(*a, **{**k, "checks": False}))
    assert state(xla2py) == (0, "stale generator")


def test_edits_need_a_word_in_the_manifest(project, xla2py):
    rewrite(project / "src/ours/scale.py", "x * 2", "2 * x")
    assert state(xla2py) == (1, "edited")
    manifest = project / "pyproject.toml"
    manifest.write_text(manifest.read_text(encoding="utf-8") + "edited = true\n", encoding="utf-8")
    assert state(xla2py) == (0, "edited")


def test_line_ends_and_a_byte_order_mark_are_no_edits(project, xla2py):
    path = project / "src/ours/scale.py"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert state(xla2py) == (0, "fresh")


def test_a_manifest_with_other_line_ends_and_a_mark_keeps_them(project, xla2py):
    path = project / "pyproject.toml"
    before = b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n")
    path.write_bytes(before)
    assert xla2py("vendor", "add", "model.hlo", "-o", "model.py")[0] == 0
    after = path.read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == after.count(b"\r\n") == before.count(b"\n") + 4


def test_every_folder_below_is_as_good(project, xla2py, monkeypatch):
    (project / "src/ours/deep").mkdir()
    monkeypatch.chdir(project / "src/ours/deep")
    assert state(xla2py) == (0, "fresh")
    assert xla2py("vendor", "add", "../../../model.hlo", "-o", "model.py")[0] == 0
    assert (project / "src/ours/deep/model.py").exists()
    entries = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["xla2py"]["module"]
    assert entries[1] == {"source": "model.hlo", "output": "src/ours/deep/model.py"}
    assert xla2py("vendor", "check", "model.py")[1].count("fresh") == 1
    assert xla2py("vendor", "check", "..")[1].count("fresh") == 2


def test_packages_in_one_repository_have_manifests_of_their_own(project, xla2py):
    inner = project / "packages/inner"
    inner.mkdir(parents=True)
    (inner / "pyproject.toml").write_text("", encoding="utf-8")
    assert xla2py("vendor", "add", "kernels/scale.hlo", "-o", "packages/inner/scale.py")[0] == 0
    entries = tomllib.loads((inner / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["xla2py"]["module"]
    assert entries == [{"source": "../../kernels/scale.hlo", "output": "scale.py"}]
    rewrite(project / "kernels/scale.hlo", "constant(2)", "constant(3)")
    assert xla2py("vendor", "check", "packages/inner", ".")[1].count("stale source") == 2
    assert xla2py("vendor", "update", "packages/inner")[0] == 0
    assert state(xla2py, "packages/inner") == (0, "fresh")
    assert state(xla2py) == (1, "stale source")


def test_the_source_is_only_read(project, xla2py):
    source = project / "kernels"
    before = {path: path.stat().st_mtime_ns for path in [source, *source.iterdir()]}
    for path in (source / "scale.hlo", source):
        path.chmod(stat.S_IREAD | stat.S_IEXEC)
    (project / "src/ours/scale.py").unlink()
    assert xla2py("vendor", "update")[0] == 0
    assert xla2py("vendor", "diff")[0] == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.parametrize("output", ["../out.py", "model.txt", "src/../../out.py"])
def test_a_module_lies_inside_its_project(project, xla2py, output, monkeypatch):
    inner = project / "inner"
    inner.mkdir()
    (inner / "pyproject.toml").write_text("", encoding="utf-8")
    monkeypatch.chdir(inner)
    (project / "pyproject.toml").unlink()
    code, _, err = xla2py("vendor", "add", "../model.hlo", "-o", output)
    assert code == 2
    assert "XP702" in err or "XP700" in err
    assert not list(project.rglob("out.py"))


@pytest.mark.parametrize(
    "entry, code",
    [
        ('source = "a.hlo"', "XP412"),
        ('source = "a.hlo"\noutput = "/tmp/a.py"', "XP702"),
        ('source = "a.hlo"\noutput = "../a.py"', "XP702"),
        ('source = "a.hlo"\noutput = "a.py"\nedited = "yes"', "XP412"),
        ('source = "a.hlo"\noutput = "a.py"\nouput = "b.py"', "XP411"),
        ('source = "a.hlo"\noutput = "a.py"\nannotate = "loud"', "XP412"),
        ('source = "a.hlo"\noutput = "a.py"\n[[tool.xla2py.module]]\nsource = "b.hlo"\noutput = "a.py"', "XP702"),
    ],
)
def test_a_wrong_entry_is_refused(folder, xla2py, entry, code):
    Path("pyproject.toml").write_text(f"[[tool.xla2py.module]]\n{entry}\n", encoding="utf-8")
    for command in ("check", "update", "diff"):
        exit_code, out, err = xla2py("vendor", command)
        assert (exit_code, out) == (2, "") and f"error[{code}]" in err


def test_a_broken_source_is_told_and_the_others_are_checked(project, xla2py):
    assert xla2py("vendor", "add", "model.hlo", "-o", "model.py")[0] == 0
    (project / "kernels/scale.hlo").write_text(SOURCE.replace("f32[3] add", "f32[4] add"), encoding="utf-8")
    code, out, err = xla2py("vendor", "check")
    assert code == 2
    assert "model.py" in out and "fresh" in out
    assert "kernels/scale.hlo:11" in err


def test_add_never_overwrites(project, xla2py):
    (project / "mine.py").write_text("x = 1\n", encoding="utf-8")
    assert "XP403" in xla2py("vendor", "add", "model.hlo", "-o", "mine.py")[2]
    assert "XP702" in xla2py("vendor", "add", "model.hlo", "-o", "src/ours/scale.py")[2]
    assert (project / "mine.py").read_text(encoding="utf-8") == "x = 1\n"
    entries = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["xla2py"]["module"]
    assert len(entries) == 1


FUNCTION = """
import jax.numpy as jnp


def soft(x):
    weights = jnp.exp(x - x.max())
    return weights / weights.sum()
"""


def test_a_function_is_fresh_wherever_the_project_lies(project, xla2py, tmp_path_factory, monkeypatch):
    pytest.importorskip("jax")

    def imported_again() -> tuple[int, str]:
        monkeypatch.delitem(sys.modules, "traced", raising=False)  # or JAX keeps what it has traced
        return state(xla2py, "src/ours/soft.py")

    (project / "traced.py").write_text(FUNCTION, encoding="utf-8")
    assert xla2py("vendor", "add", "traced:soft(f32[4])", "-o", "src/ours/soft.py")[0] == 0
    assert imported_again() == (0, "fresh")
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "copy"
    shutil.copytree(project, elsewhere)
    monkeypatch.chdir(elsewhere)
    assert imported_again() == (0, "fresh")
    (elsewhere / "traced.py").write_text(FUNCTION.replace("x.max()", "-(-x).max()"), encoding="utf-8")
    assert imported_again() == (1, "stale source")
