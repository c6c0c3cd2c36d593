"""Programs of JAX libraries: what is emitted for all of them passes ruff and strict type checks.

Those whose library is not installed are left out; ``benchmarks/library_names.py`` says which libraries they are of.
"""

import os
import subprocess
import sys

import pytest

import xla2py

# An array of a loop that begins as np.float32(0) or np.bool_(True) has that narrower type in NumPy's annotations, and
# np.where of two numbers that of a number.
NARROWED = "--disable-error-code=assignment", "--disable-error-code=index"


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """A folder with the module of every program whose library is installed."""
    pytest.importorskip("jax")
    from xla2py.benchmarks.libraries import inference, networks, science

    folder = tmp_path_factory.mktemp("programs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EQX_ON_ERROR", "nan")
        for make in (make for topic in (networks, inference, science) for make in topic.PROGRAMS):
            try:
                function, arguments = make()
            except (ImportError, AttributeError):  # not installed, or made for another JAX
                continue
            xla2py.emit(xla2py.from_jax(function, *arguments)).save(folder / f"{make.__name__}.py")
    if not any(folder.iterdir()):
        pytest.skip("none of the libraries is installed")
    return folder


def test_ruff_finds_nothing(modules):
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--extend-select", "PLR0124", modules]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_types_are_strict(modules):
    environment = {key: value for key, value in os.environ.items() if key not in ("MYPYPATH", "PYTHONPATH")}
    names = sorted(path.name for path in modules.glob("*.py"))
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir=.cache", *NARROWED, *names]
    result = subprocess.run(command, cwd=modules, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
