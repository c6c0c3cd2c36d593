"""``examples/vendoring`` as its users have it: fresh, built, and at work where there is nothing but NumPy."""

import shutil
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest

from xla2py.transpile import cli

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "examples" / "vendoring"


def test_its_modules_are_fresh(monkeypatch, capsys):
    monkeypatch.chdir(DEMO)
    assert cli.run(["vendor", "check"]) == 0
    assert capsys.readouterr().out.count(" fresh ") == 3


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The Python of an environment that holds NumPy, and the package from its wheel."""
    folder = tmp_path_factory.mktemp("demo")
    shutil.copytree(DEMO, folder / "source", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
    script = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    build = [sys.executable, "-c", script, str(folder)]
    subprocess.run(build, cwd=folder / "source", check=True, capture_output=True)
    venv.create(folder / "environment", with_pip=False)
    (site,) = (folder / "environment").glob("lib/python*/site-packages")
    numpy = Path(distribution("numpy").locate_file("."))
    for path in [*numpy.glob("numpy"), *numpy.glob("numpy.libs"), *numpy.glob("numpy-*.dist-info")]:
        (site / path.name).symlink_to(path)
    (wheel,) = folder.glob("*.whl")
    shutil.unpack_archive(wheel, site, "zip")
    return folder / "environment" / "bin" / "python"


def test_it_works_where_there_is_only_numpy(installed):
    script = (
        "import importlib.util as u, sys, numpy as np, smallkernels\n"
        "q, k, v = np.random.default_rng(0).normal(size=(3, 2, 8, 64, 32)).astype(np.float32)\n"
        "assert np.allclose(smallkernels.attention(q, k, v)[:, :, 0], v[:, :, 0], rtol=1e-5)\n"
        "assert not [name for name in ('xla2py', 'jax', 'ml_dtypes', 'scipy', 'pytest') if u.find_spec(name)]\n"
        "print(smallkernels.__file__)\n"
    )
    result = subprocess.run([installed, "-I", "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "site-packages" in result.stdout


def test_its_own_tests_pass():
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(DEMO)]
    result = subprocess.run(command, cwd=DEMO, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
