"""The wheel holds the whole package and nothing else, and runs on its own."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from xla2py.transpile.playground.site import site_files

CHECKOUT = Path(__file__).parents[1]
HOUSE = ("transpile", "targets", "templates")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """A wheel built from a copy of the checkout, so that the build leaves nothing behind."""
    copy = tmp_path_factory.mktemp("build") / "checkout"
    ignored = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "generated", "tests")
    shutil.copytree(CHECKOUT, copy, ignore=ignored)
    script = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
    out = copy.parent / "out"
    subprocess.run([sys.executable, "-c", script, str(out)], cwd=copy, check=True, capture_output=True)
    (found,) = out.glob("*.whl")
    return found


def source_files() -> set[str]:
    """What a wheel should hold of the checkout, by path in the wheel."""
    kinds = (".py", ".j2", ".toml", ".hlo", ".h")
    paths = [path for folder in HOUSE for path in (CHECKOUT / folder).rglob("*") if path.suffix in kinds]
    paths = [path for path in paths if path.name != "ruff.toml"]  # of the checkout alone
    paths += site_files().values()  # some of which are examples of the gallery
    return {f"xla2py/{path.relative_to(CHECKOUT).as_posix()}" for path in paths} | {
        "xla2py/__init__.py",
        "xla2py/__main__.py",
        "xla2py/templates/prelude/LICENSE",
        "xla2py/py.typed",
    }


def test_the_wheel_holds_every_source_file_template_and_data_file(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == source_files()


def test_the_wheel_states_name_version_licence_and_extras(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (path,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        metadata = archive.read(path).decode()
    assert any(name.endswith("/LICENSE") for name in names)
    assert "\nLicense-Expression: Apache-2.0\n" in metadata
    assert {line.split(": ")[1] for line in metadata.splitlines() if line.startswith("Provides-Extra")} == {
        "array-api", "dask", "cupy", "cudnn", "fast", "mpi", "xla", "jax", "test",
    }  # fmt: skip


def test_the_wheel_works_without_the_checkout(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    script = (
        "import json, xla2py; from xla2py.transpile.cli import run; "
        "code = run(['explain', 'XP101']); print(json.dumps([code, xla2py.__file__]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    result = subprocess.run(
        [sys.executable, "-P", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    code, file = json.loads(result.stdout.splitlines()[-1])
    assert code == 0
    assert Path(file).is_relative_to(tmp_path)


def test_versions_agree():
    import xla2py

    changelog = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {xla2py.__version__}" in changelog
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "xla2py.transpile.version.VERSION"}


def test_pyproject_lists_every_folder_of_the_package():
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    folders = {path.parent for folder in HOUSE for path in (CHECKOUT / folder).rglob("__init__.py")}
    names = {".".join(("xla2py", *folder.relative_to(CHECKOUT).parts)) for folder in folders}
    assert project["tool"]["setuptools"]["packages"] == sorted({"xla2py", *names})


def test_every_folder_with_modules_has_an_init():
    folders = {path.parent for folder in HOUSE for path in (CHECKOUT / folder).rglob("*.py")}
    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []
