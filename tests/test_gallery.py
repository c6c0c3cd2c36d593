"""The gallery is what the emitter writes today, formatted, and runs on one library alone."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import xla2py
from xla2py.tests.recording.tools import black_layout

ROOT = Path(__file__).resolve().parent.parent
GENERATED = ROOT / "generated"


def gallery():
    sys.path.insert(0, str(ROOT / "examples"))
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "examples" / "gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.remove(str(ROOT / "examples"))
    return module


def test_gallery_is_current():
    module = gallery()
    expected = dict(module.contents(module.modules()))
    # Modules for any size need JAX: tests/test_any_size_examples.py has them.
    files = [
        path for path in GENERATED.glob("*/*") if path.suffix in (".py", ".npz") and path.parent.name != "any_size"
    ]
    assert sorted(path.relative_to(GENERATED) for path in files) == sorted(expected)
    stale = [str(path) for path, data in expected.items() if (GENERATED / path).read_bytes() != data]
    assert not stale, f"write them again with examples/gallery.py: {stale}"


def test_the_index_is_current():
    assert (GENERATED / "README.md").read_text("utf-8") == gallery().index(), "run: python examples/gallery.py"


LIBRARIES = {
    "cupy_fast": {"cupy"},
    "dask": {"dask", "numpy"},
    "dask_fast": {"dask", "numba", "numpy"},
    "numpy_fast": {"numba", "numpy"},
    "replicas": {"_xla2py", "mpi4py", "numpy"},
}


@pytest.mark.parametrize("path", sorted(GENERATED.glob("*/*.py")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_modules_are_formatted_and_import_only_their_library(path):
    text = path.read_text("utf-8")
    assert black_layout(text) == text
    imported = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module.split(".")[0])
    assert imported - set(sys.stdlib_module_names) <= LIBRARIES.get(path.parent.name, {"numpy", "ml_dtypes"})


def test_modules_pass_ruffs_default_rules():
    folders = ", ".join(f'"{path}"' for path in GENERATED.iterdir() if path.is_dir())  # modules import their neighbours
    options = ["--isolated", "--no-cache", "--config", f"src = [{folders}]"]
    command = [sys.executable, "-m", "ruff", "check", *options, str(GENERATED)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_modules_pass_strict_type_checks(wrong_types):
    modules = [str(path.relative_to(GENERATED)) for path in sorted(GENERATED.glob("*/*.py"))]
    typed = ("numpy_fast", *{Path(name).parts[0] for name in modules} - LIBRARIES.keys())  # CuPy and Dask have no types
    modules = [name for name in modules if Path(name).parts[0] in typed]
    assert wrong_types(GENERATED, "--namespace-packages", "--explicit-package-bases", *modules) == ""


def test_a_module_of_replicas_passes_strict_type_checks(wrong_types):
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    assert wrong_types(GENERATED / "replicas", "--explicit-package-bases", "data_parallel_training.py") == ""


# Neither library is typed: Dask's functions have no annotations, CuPy is Any.
UNTYPED = {
    "dask": "# mypy: allow-untyped-calls",
    "cupy": '# mypy: disable-error-code="import-untyped, import-not-found"',
}


@pytest.mark.parametrize("target", UNTYPED)
def test_modules_of_other_libraries_pass_strict_type_checks(target, tmp_path, wrong_types):
    sources = {path.stem: path.read_text("utf-8") for path in GENERATED.glob(f"{target}/*.py")}  # in chunks
    for name in ("adaptive_ode", "attention", "cnn_train_step", "kv_cache_decode", "qr_svd_least_squares", "viterbi"):
        sources[f"{name}_whole"] = xla2py.emit(ROOT / "examples" / "hlo" / f"{name}.before.hlo", target).source
    for name, source in sources.items():
        (tmp_path / f"{name}.py").write_text(f"{UNTYPED[target]}\n{source}", "utf-8")
    assert wrong_types(tmp_path, *(f"{name}.py" for name in sources)) == ""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", str(tmp_path)]
    assert subprocess.run(command, capture_output=True).returncode == 0
