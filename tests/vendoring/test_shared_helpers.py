"""Modules that share a file of helpers, and the proof that edited modules are right still."""

import json
import subprocess
import sys

import numpy as np
import pytest

import xla2py
from xla2py.transpile.emission import body_sha256
from xla2py.transpile.emission.module.shared_helpers import defined_names, helper_names, helpers_file
from xla2py.transpile.emission.prelude.library import prelude
from xla2py.transpile.errors import UsageError
from xla2py.transpile.target import load_target
from xla2py.transpile.vendoring import add_module, eject_module, find_project, inspect_module, update_module

TO_INT = """HloModule whole
ENTRY main {
  x = f32[4] parameter(0)
  ROOT whole = s32[4] convert(x)
}
"""
GATED = """HloModule gated
ENTRY main {
  x = f32[4] parameter(0)
  a = f32[4] logistic(x)
  y = f32[4] negate(x)
  b = f32[4] logistic(y)
  ROOT sum = f32[4] subtract(a, b)
}
"""
SUMMED = """HloModule summed, replica_count=2
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[4] parameter(0)
  ROOT sum = f32[4] all-reduce(x), to_apply=add
}
"""
X = np.array([1.5, -2.5, 3.25, 0], np.float32)


@pytest.fixture
def package(folder):
    (folder / "pyproject.toml").write_text("", "utf-8")
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("", "utf-8")
    for name, text in (("whole", TO_INT), ("gated", GATED)):
        (folder / f"{name}.hlo").write_text(text, "utf-8")
    return folder


def add(package, name):
    found = find_project(package)
    return add_module(
        found, str(package / f"{name}.hlo"), package / "package" / f"{name}.py", "numpy", {"helpers": "shared"}
    )


def states(package):
    found = find_project(package)
    return {module.output.split("/")[-1]: inspect_module(found, module).state.value for module in found.modules}


def in_a_process(folder, statement):
    return subprocess.run([sys.executable, "-c", statement], cwd=folder, capture_output=True, text=True, check=False)


def test_modules_of_a_package_import_what_they_would_copy(package):
    add(package, "whole")
    add(package, "gated")
    shared, whole, gated = ((package / "package" / f"{name}.py").read_text() for name in ("_xla2py", "whole", "gated"))
    assert helper_names(whole, "numpy") == ("check_arguments", "to_int") and "def to_int" not in whole
    assert helper_names(gated, "numpy") == ("check_arguments", "sigmoid")
    assert {"check_arguments", "to_int", "sigmoid"} <= defined_names(shared)
    assert "--helpers shared" in whole and "from ._xla2py import" in whole
    assert states(package) == dict.fromkeys(("_xla2py.py", "whole.py", "gated.py"), "fresh")
    ran = in_a_process(
        package, "import numpy as np; from package import whole; print(whole.main(np.full(4, 2.5, np.float32)))"
    )
    assert ran.stdout.strip() == "[2 2 2 2]", ran.stderr


def test_edits_of_the_file_are_merged_and_none_is_lost(package):
    add(package, "whole")
    path = package / "package" / "_xla2py.py"
    path.write_text(path.read_text().replace("\n\n\ndef check", "\n\nMINE = 1\n\n\ndef check", 1), "utf-8")
    assert states(package)["_xla2py.py"] == "edited"
    add(package, "gated")
    assert {"MINE", "sigmoid", "to_int"} <= defined_names(path.read_text())
    assert states(package)["_xla2py.py"] == "edited"


def test_what_an_ejected_module_imports_stays(package):
    add(package, "whole")
    add(package, "gated")
    found = find_project(package)
    eject_module(found, next(module for module in found.modules if module.output.endswith("whole.py")))
    found = find_project(package)
    for module in found.modules:
        update_module(found, module)
    assert "to_int" in defined_names((package / "package" / "_xla2py.py").read_text())


def test_a_file_that_is_the_users_is_never_written(package):
    add(package, "whole")
    found = find_project(package)
    eject_module(found, next(module for module in found.modules if module.is_helpers))
    path = package / "package" / "_xla2py.py"
    before = path.read_text()
    with pytest.raises(UsageError, match="XP706") as refused:
        add(package, "gated")
    assert "sigmoid" in str(refused.value) and path.read_text() == before
    assert not (package / "package" / "gated.py").exists()
    path.write_text(before + "\n\ndef sigmoid(x):\n    return x\n", "utf-8")
    add(package, "gated")
    assert "return x\n" in path.read_text()


def test_emission_into_a_folder_that_is_no_package(folder, xla2py):
    for name, text in (("whole", TO_INT), ("gated", GATED)):
        (folder / f"{name}.hlo").write_text(text, "utf-8")
    command = ("emit", "whole.hlo", "gated.hlo", "-o", "flat/", "--helpers", "shared")
    assert xla2py(*command)[0] == 0
    assert "from _xla2py import check_arguments, to_int" in (folder / "flat" / "whole.py").read_text()
    ran = in_a_process(
        folder / "flat",
        "import numpy as np, gated, whole; print(whole.main(np.full(4, -2.5, np.float32)), gated.main.__name__)",
    )
    assert ran.stdout.strip() == "[-2 -2 -2 -2] main", ran.stderr
    assert xla2py(*command, "--check")[0] == 0


def test_a_module_that_is_loaded_from_memory_finds_its_helpers():
    generated = xla2py.emit(TO_INT, helpers="shared")
    np.testing.assert_array_equal(generated.load().main(X), X.astype(np.int32))
    assert generated.source.count("\ndef ") == 1 and "def to_int" in generated.helpers["numpy"]


def test_a_target_imports_what_it_has_in_common_with_another(package):
    """Both files are listed, merged and updated, and each function is in one of them."""
    (package / "summed.hlo").write_text(SUMMED, "utf-8")
    for target in ("dask", "numpy"):
        output = package / "package" / f"summed_on_{target}.py"
        add_module(find_project(package), str(package / "summed.hlo"), output, target, {})
    fresh = dict.fromkeys(("_xla2py.py", "_xla2py_dask.py", "summed_on_dask.py", "summed_on_numpy.py"), "fresh")
    assert states(package) == fresh
    common, own = (package / "package" / name for name in ("_xla2py.py", "_xla2py_dask.py"))
    assert {"AllReduce", "InThreads", "OnRanks"} <= defined_names(common.read_text())
    assert "OnWorkers" in defined_names(own.read_text())
    assert not defined_names(common.read_text()) & defined_names(own.read_text())
    for path in (common, own):
        path.write_text(path.read_text().replace("\n\n\n", "\n\nMINE = 1\n\n\n", 1), "utf-8")
    (package / "summed.hlo").write_text(
        SUMMED.replace("all-reduce(x)", "all-reduce(x), replica_groups={{1,0}}"), "utf-8"
    )
    found = find_project(package)
    for module in found.modules:
        update_module(found, module)
    assert states(package) == {**fresh, "_xla2py.py": "edited", "_xla2py_dask.py": "edited"}


COMMON = (
    "replica replica_collectives replica_mpi replica_mpi_files replica_ragged replica_snapshots replica_threads shards"
)
RUNTIMES = {
    "numpy": COMMON,
    "cupy": "replica_mpi_devices replica_nccl replica_ragged",
    "dask": "replica_transport replica_workers",
}


@pytest.mark.parametrize(("target", "modules"), RUNTIMES.items(), ids=RUNTIMES)
def test_the_whole_runtime_of_replicas_can_be_read(target, modules):
    """Each file of it, with all collectives and runners."""
    definitions = prelude(load_target(target)).definitions
    names = [name for name in definitions if definitions[name].module in modules.split()]
    assert {"numpy": "OnRanks", "cupy": "OverNccl", "dask": "OnWorkers"}[target] in names
    assert len(helpers_file(names, target).splitlines()) <= 900


def test_emission_beside_another_target_and_with_a_module_of_an_older_version(folder, xla2py):
    """It imports from the only file that there was."""
    (folder / "summed.hlo").write_text(SUMMED, "utf-8")
    command = ("emit", "summed.hlo", "-o", "flat/", "-t", "dask")
    assert xla2py(*command)[0] == 0
    assert xla2py(*command, "--check")[0] == 0
    before = "from _xla2py_dask import AllReduce, InThreads, OnWorkers\n"
    (folder / "flat" / "older.py").write_text(before, "utf-8")
    assert xla2py("emit", "summed.hlo", "-o", "flat/again.py", "-t", "dask")[0] == 0
    ran = in_a_process(folder / "flat", "import older, again; print(older.AllReduce is again.AllReduce)")
    assert ran.stdout.strip() == "True", ran.stderr


def test_the_file_is_the_same_for_the_same_names():
    assert helpers_file(["to_int", "sigmoid"], "numpy") == helpers_file(["sigmoid", "to_int", "sigmoid"], "numpy")
    assert "cp." in helpers_file(["to_int"], "cupy")


@pytest.mark.parametrize("options", [{"style": "fast"}, {"target": "cupy", "graph": True}])
def test_kernels_and_graphs_have_their_own_functions(options):
    generated = xla2py.emit(TO_INT, **{"helpers": "shared", **options})
    assert not generated.helpers
    assert body_sha256(generated.source) == body_sha256(xla2py.emit(TO_INT, **options).source)


def test_a_proof_tells_right_edits_from_wrong_ones(xla2py, package):
    pytest.importorskip("jax")
    add(package, "gated")
    path = package / "package" / "gated.py"
    text = path.read_text()

    def proof():
        code, out, _ = xla2py("vendor", "check", "--prove", "--output-format", "json")
        rows = {row["output"]: row for row in json.loads(out)}
        return rows["package/gated.py"]["proof"], code

    assert proof() == ("", 0)
    path.write_text(text.replace("sigmoid(x) - ", "1 * sigmoid(x) - "), "utf-8")
    assert proof()[0] == "right on 4 sets of inputs"
    path.write_text(text.replace("sigmoid(x) - ", "1.01 * sigmoid(x) - "), "utf-8")
    said, code = proof()
    assert said.startswith("wrong on ordinary") and code == 1
    path.write_text(text, "utf-8")
    shared = package / "package" / "_xla2py.py"
    shared.write_text(shared.read_text().replace("1 / (1 + np.exp(-x))", "1 / (2 + np.exp(-x))"), "utf-8")
    assert proof()[0].startswith("wrong on ordinary")
