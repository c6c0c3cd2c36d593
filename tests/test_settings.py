import inspect
from dataclasses import fields
from pathlib import Path

import pytest

import xla2py
from xla2py.transpile.errors import UsageError
from xla2py.transpile.options import SETTINGS, Options, keywords, option_words
from xla2py.transpile.settings import load_settings


def write(folder: Path, text: str) -> Path:
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return folder


def complaint(folder: Path) -> UsageError:
    with pytest.raises(UsageError) as caught:
        load_settings(folder)
    return caught.value


def test_without_a_file_every_setting_has_its_default(tmp_path):
    settings = load_settings(tmp_path)
    assert settings.path is None
    assert {name: settings[name] for name in SETTINGS} == {name: s.default for name, s in SETTINGS.items()}


def test_values_come_from_the_nearest_file_with_the_table(tmp_path):
    write(tmp_path, "[tool.xla2py]\ntarget = ['numpy', 'dask']\nchecks = false\nannotate = 'none'\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    write(inner, "[project]\nname = 'about-xla2py'\n")
    settings = load_settings(inner)
    assert settings.path == tmp_path / "pyproject.toml"
    assert (settings["target"], settings["checks"], settings["annotate"]) == (("numpy", "dask"), "none", "none")
    assert settings["format"] is True


def test_one_word_is_a_list_of_one(tmp_path):
    assert load_settings(write(tmp_path, "[tool.xla2py]\ntarget = 'cupy'\n"))["target"] == ("cupy",)


def test_a_folder_is_relative_to_the_file(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    assert load_settings(write(tmp_path, "[tool.xla2py]\nsources = 'src'\n"))["sources"] == str(tmp_path / "src")
    assert load_settings(inner)["sources"] == str(tmp_path / "src")


def test_an_unknown_setting_is_shown_with_its_place(tmp_path):
    error = complaint(write(tmp_path, "[tool.other]\nanotate = 1\n\n[tool.xla2py]\nanotate = 'full'\n"))
    (diagnostic,) = error.diagnostics
    assert diagnostic.code == "XP411"
    assert diagnostic.location.endswith("pyproject.toml:5:1")
    assert diagnostic.hint == "did you mean 'annotate'?"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("format = 'yes'", "expected true or false"),
        ("checks = 'yes'", "'yes' is not one of exact, cast, none"),
        ("annotate = ['none']", "expected a string"),
        ("target = [1]", "expected a list of strings"),
        ("target = 3", "expected a list of strings"),
        ("annotate = 'long'", "'long' is not one of none, short, full"),
    ],
)
def test_a_wrong_value_is_explained(tmp_path, line, problem):
    (diagnostic,) = complaint(write(tmp_path, f"[tool.xla2py]\n{line}\n")).diagnostics
    assert diagnostic.code == "XP412"
    assert diagnostic.message.endswith(problem)
    assert diagnostic.location.endswith(":2:1")


def test_all_wrong_settings_are_reported_at_once(tmp_path):
    error = complaint(write(tmp_path, "[tool.xla2py]\nchecks = 0\ncolour = 1\n"))
    assert [diagnostic.code for diagnostic in error.diagnostics] == ["XP412", "XP411"]


@pytest.mark.parametrize("text", ["[tool.xla2py\n", "[tool.xla2py]\nchecks = \n", "# xla2py\na = 'b"])
def test_a_file_that_is_not_toml_is_shown_with_its_place(tmp_path, text):
    (diagnostic,) = complaint(write(tmp_path, text)).diagnostics
    assert diagnostic.code == "XP410"
    assert diagnostic.span is not None


def test_a_file_that_is_not_text_is_an_error_of_the_user(tmp_path):
    (tmp_path / "pyproject.toml").write_bytes(b"\xff\xfe xla2py")
    assert complaint(tmp_path).diagnostics[0].code == "XP410"


def test_a_table_of_another_kind_is_an_error_of_the_user(tmp_path):
    assert complaint(write(tmp_path, "[tool]\nxla2py = 3\n")).diagnostics[0].code == "XP412"


def test_options_are_said_as_the_command_line_does():
    options = {
        "chunks": "5",
        "format": False,
        "graph": True,
        "disable_passes": ("loops", "keepdims"),
        "sources": Path("a"),
    }
    hooks = {"custom_calls": {"f": "m:g"}, "allow": ()}
    said = "--graph --no-format --chunks 5 --disable-pass loops,keepdims --custom-call f=m:g --sources a"
    assert " ".join(option_words(options | hooks)) == said
    assert option_words(keywords({})) == ()


def test_emit_takes_every_option_with_its_default():
    parameters = inspect.signature(xla2py.emit).parameters
    defaults = {each.name: parameters[each.name].default for each in fields(Options)}
    assert defaults == keywords({}) | {"debug": False, "custom_calls": None, "nested": None}


def test_the_old_name_of_a_setting_is_taken(tmp_path):
    assert load_settings(write(tmp_path, "[tool.xla2py]\nedges = 'library'\n"))["edge-cases"] == "library"
    text = "ENTRY main { x = f32[2] parameter(0)  ROOT y = f32[2] negate(x) }"
    with pytest.warns(DeprecationWarning, match="edge_cases"):
        assert "--edge-cases library" in xla2py.emit(text, edges="library").source
