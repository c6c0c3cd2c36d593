"""Projects that pip installs: what is in them, their own tests, updates, and what is refused."""

import ast
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import xla2py as library
from xla2py.transpile.errors import UsageError, XlaToPythonWarning
from xla2py.transpile.frontends import safetensors
from xla2py.transpile.frontends.functions import load_function
from xla2py.transpile.frontends.tree_files import trees_as_json, with_trees_beside
from xla2py.transpile.hlo.ir import Built, Trees
from xla2py.transpile.hlo.literal_values import array_sha256
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.vendoring import arguments, packages, recordings

pytestmark = pytest.mark.long

STEP = """
HloModule jit_step

ENTRY main {
  w = f32[3] parameter(0), metadata={op_name="params['w']"}
  b = f32[3] parameter(1), metadata={op_name="params['b']"}
  x = f32[3] parameter(2), metadata={op_name="x"}
  scaled = f32[3] multiply(w, x)
  ROOT y = f32[3] add(scaled, b)
}
"""
NARROW = """
HloModule jit_halve

ENTRY main {
  x = bf16[4] parameter(0), metadata={op_name="x"}
  half = bf16[] constant(0.5)
  halves = bf16[4] broadcast(half), dimensions={}
  ROOT y = bf16[4] multiply(x, halves)
}
"""
WIDENED = """
HloModule jit_widened

ENTRY main {
  x = f32[64] parameter(0), metadata={op_name="x"}
  waves = f32[64] sine(x)
  powers = f32[64] exponential(waves)
  ROOT y = f64[64] convert(powers)
}
"""
CELL = """
HloModule jit_cell

ENTRY main {
  h = f32[2] parameter(0), metadata={op_name="h"}
  x = f32[2] parameter(1), metadata={op_name="x"}
  y = f32[2] add(h, x)
  ROOT both = (f32[2], f32[2]) tuple(y, y)
}
"""


def table(name, scale):
    """A function that adds an array of its own to one that functions share; both have the same names elsewhere."""
    shared, own = (", ".join(str(factor * k * k % 7) for k in range(100)) for factor in (1, scale))
    return f"""
HloModule jit_{name}

ENTRY main {{
  x = f32[100] parameter(0), metadata={{op_name="x"}}
  shared = f32[100] constant({{{shared}}})
  own = f32[100] constant({{{own}}})
  part = f32[100] add(x, shared)
  ROOT y = f32[100] multiply(part, own)
}}
"""


@pytest.fixture
def sources(folder):
    (folder / "step.hlo").write_text(STEP, encoding="utf-8")
    (folder / "halve.hlo").write_text(NARROW, encoding="utf-8")
    return folder


def python(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python in the folder of a project, with nothing of this checkout in its path."""
    environment = {**os.environ, "PYTHONPATH": "src", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)


def test_a_package_is_a_project_whose_tests_pass(sources, xla2py, wrong_types):
    code, out, err = xla2py("package", "step.hlo", "narrow=halve.hlo", "-o", "kernels")
    assert (code, out) == (0, ""), err
    project = Path("kernels")
    assert python(project, "-m", "pytest", "-p", "no:cacheprovider").returncode == 0
    np.savez(
        "kernels/in.npz",
        **{"params.w": np.ones(3, np.float32), "params.b": np.ones(3, np.float32), "x": np.arange(3, dtype=np.float32)},
    )
    called = python(project, "-m", "kernels", "step", "in.npz", "-o", "out.npz")
    assert called.returncode == 0, called.stderr
    with np.load("kernels/out.npz") as results:
        assert results["result"].tolist() == [1, 2, 3]
    assert wrong_types(project / "src", "-p", "kernels") == ""
    assert xla2py("package", "--check", "kernels")[0] == 0
    text = (project / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dependencies = ["ml_dtypes>=0.5", "numpy>=2.0"]' in text
    readme = (project / "README.md").read_text(encoding="utf-8")
    assert "| `step` | `params`: 2 arrays, `x`: float32[3] | float32[3] |" in readme


def test_a_function_of_a_state_is_a_class_too(sources, xla2py, wrong_types):
    Path("cell.hlo").write_text(CELL, encoding="utf-8")
    assert xla2py("package", "cell.hlo", "-o", "cells")[0] == 0
    code = "import cells, numpy as np; x = np.ones(2, np.float32); c = cells.Cell(x); c(x); print(c(x), c.h)"
    done = python(Path("cells"), "-c", code)
    assert done.stdout.split() == ["[3.", "3.]", "[3.", "3.]"], done.stderr
    assert "cell = cells.Cell(h)  # keeps the state\ncell(x)\n" in Path("cells/README.md").read_text(encoding="utf-8")
    assert wrong_types(Path("cells/src"), "-p", "cells") == ""


def tensors(path):
    return {name: x.tolist() for name, x in safetensors.read(path).items()}


@pytest.mark.parametrize("style", ["readable", "fast"])
def test_functions_share_helpers_and_arrays(folder, xla2py, style):
    if style == "fast":
        pytest.importorskip("numba")
    for name, scale in (("encode", 2), ("decode", 3)):
        Path(f"{name}.hlo").write_text(table(name, scale), encoding="utf-8")
        module = parse_module(table(name, scale))
        arrays = {i.name: i["literal"] for i in module.instructions() if i.opcode == "constant"}
        names = {array_sha256(array): f"params.{own}" for own, array in arrays.items()}
        trees = trees_as_json(replace(module, constant_names=names))
        Path(f"{name}.trees.json").write_text(trees, encoding="utf-8")
    code, _, err = xla2py("package", "encode.hlo", "decode.hlo", "-o", "codec", "--style", style)
    assert code == 0, err
    source = Path("codec/src/codec")
    assert sorted(tensors(source / "_xla2py.safetensors")) == ["decode.params.own", "params.own", "params.shared"]
    assert not list(source.glob("_??code.safetensors"))
    assert "import StoredTree" in (source / "_decode.py").read_text() or style == "readable"
    assert "# regenerate: xla2py package --update .\n" in (source / "_decode.py").read_text()
    assert python(Path("codec"), "-m", "pytest", "-p", "no:cacheprovider").returncode == 0
    assert xla2py("package", "--check", "codec")[0] == 0
    Path("encode.hlo").write_text(table("encode", 4).replace("own =", "other =").replace("own)", "other)"), "utf-8")
    assert xla2py("package", "--check", "codec")[0] == 1
    assert xla2py("package", "--update", "codec")[0] == 0
    assert len(tensors(source / "_xla2py.safetensors")) == 3
    assert python(Path("codec"), "-m", "pytest", "-p", "no:cacheprovider").returncode == 0


def test_new_weights_are_taken_from_the_checkpoint(sources, xla2py):
    def save(scale):
        np.savez("weights.npz", w=np.full(3, scale, np.float32), b=np.zeros(3, np.float32))

    save(2)
    code, _, err = xla2py("package", "step.hlo", "--weights", "weights.npz", "-o", "one")
    assert code == 0 and "'pip install ./one' installs it" in err
    assert "def step(x: " in Path("one/src/one/__init__.py").read_text(encoding="utf-8")
    assert xla2py("package", "--check", "one")[0] == 0
    save(3)
    assert xla2py("package", "--check", "one")[0] == 1
    assert xla2py("package", "--update", "one")[0] == 0
    code = "import one, numpy as np; print(one.step(np.ones(3, np.float32)))"
    assert python(Path("one"), "-c", code).stdout == "[3. 3. 3.]\n"


@pytest.mark.parametrize(("scale", "told"), [(1, False), (np.inf, True), (np.nan, True)])
def test_results_that_are_not_finite_are_told(sources, xla2py, scale, told):
    np.savez("weights.npz", w=np.array([1, scale, 2], np.float32), b=np.zeros(3, np.float32))
    code, _, err = xla2py("package", "step.hlo", "--weights", "weights.npz", "-o", "one")
    assert code == 0, err
    assert ("note: step: result has " in err and "for the inputs in tests/recorded, also in XLA" in err) == told
    assert ("params.w has " in err) == told


def test_edits_are_kept_and_new_sources_recorded_again(sources, xla2py):
    assert xla2py("package", "step.hlo", "-o", "one")[0] == 0
    init, recorded = Path("one/src/one/__init__.py"), Path("one/tests/recorded/step-0.npz")
    init.write_text(init.read_text(encoding="utf-8").replace('"""Step', '"""My step'), encoding="utf-8")
    code, out, _ = xla2py("package", "--check", "one")
    assert code == 1 and "edited" in out
    before = recorded.read_bytes()
    Path("step.hlo").write_text(STEP.replace("add(scaled", "subtract(scaled"), encoding="utf-8")
    code, out, err = xla2py("package", "--update", "one")
    assert code == 0, err
    assert "src/one/_step.py: updated" in out and "src/one/__init__.py: unchanged" in out
    assert init.read_text(encoding="utf-8").startswith('"""My step')
    assert recorded.read_bytes() != before
    assert python(Path("one"), "-m", "pytest", "-p", "no:cacheprovider").returncode == 0


def test_docstrings_are_those_of_the_functions_now(folder, xla2py):
    source = 'import jax.numpy as jnp\n\n\ndef sine(x):\n    """Return the sine."""\n    return jnp.sin(x)\n'
    Path("waves.py").write_text(source, encoding="utf-8")
    code, _, err = xla2py("package", "waves:sine(f32[3])", "-o", "one")
    assert code == 0, err
    init, recorded = Path("one/src/one/__init__.py"), Path("one/tests/recorded/sine-0.npz")
    before = recorded.read_bytes()
    assert xla2py("package", "--check", "one")[0] == 0
    Path("waves.py").write_text(source.replace("the sine", "the sine of angles"), encoding="utf-8")
    del sys.modules["waves"]
    code, out, _ = xla2py("package", "--check", "one")
    assert code == 1 and re.search(r"__init__.py +stale source", out)
    code, out, err = xla2py("package", "--update", "one")
    assert code == 0, err
    assert "src/one/__init__.py: updated" in out and "Return the sine of angles." in init.read_text(encoding="utf-8")
    assert "Return the sine of angles." in Path("one/pyproject.toml").read_text(encoding="utf-8")
    assert recorded.read_bytes() == before
    assert xla2py("package", "--check", "one")[0] == 0


def test_results_are_recorded_when_conflicts_are_resolved(sources, xla2py):
    assert xla2py("package", "step.hlo", "-o", "one")[0] == 0
    module, recorded = Path("one/src/one/_step.py"), Path("one/tests/recorded/step-0.npz")
    text, before = module.read_text(encoding="utf-8"), recorded.read_bytes()
    line = next(line for line in text.splitlines() if "+ params" in line)
    module.write_text(text.replace(line, f"{line}  # mine"), encoding="utf-8")
    Path("step.hlo").write_text(STEP.replace("add(scaled", "subtract(scaled"), encoding="utf-8")
    code, out, err = xla2py("package", "--update", "one")
    assert (code, out) == (1, "src/one/_step.py: merged, with conflicts to resolve\n"), err
    code, out, _ = xla2py("package", "--check", "one")
    assert code == 1 and "conflict" in out
    assert xla2py("package", "--update", "one")[0] == 2
    marked = module.read_text(encoding="utf-8")
    resolved = re.sub(r"<<<<<<<.*?=======\n(.*?)>>>>>>>.*?\n", r"\1", marked, flags=re.DOTALL)
    module.write_text(resolved, encoding="utf-8")
    code, _, err = xla2py("package", "--update", "one")
    assert code == 0, err
    assert recorded.read_bytes() != before
    assert python(Path("one"), "-m", "pytest", "-p", "no:cacheprovider").returncode == 0
    module.write_text("def main(:\n", encoding="utf-8")
    code, _, err = xla2py("package", "--check", "one")
    assert code == 2 and "error[XP703]: src/one/_step.py, line 1" in err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["step.hlo", "-o", "full"], "XP707"),
        (["step.hlo", "-o", "out", "--name", "random"], "XP708"),
        (["step.hlo", "-o", "out", "--name", "numpy"], "XP708"),
        (["step.hlo", "-o", "out", "--name", "two words"], "XP708"),
        (["import=step.hlo", "-o", "out"], "XP708"),
        (["f=step.hlo", "f=halve.hlo", "-o", "out"], "XP708"),
        (["step.hlo", "-o", "out", "-t", "dask"], "XP402"),
        (["step.hlo"], "XP402"),
        (["--check", "full"], "XP707"),
        (["step.hlo", "-o", "out", "--value-and-grad", "0"], "XP710"),
    ],
)
def test_what_is_refused_writes_nothing(sources, xla2py, arguments, code):
    Path("full").mkdir()
    Path("full/mine.txt").write_text("mine", encoding="utf-8")
    before = sorted(map(str, Path().rglob("*")))
    status, _, err = xla2py("package", *arguments)
    assert status == 2 and code in err
    assert sorted(map(str, Path().rglob("*"))) == before


def test_a_module_that_gives_other_values_is_no_package(sources, monkeypatch):
    monkeypatch.setattr(recordings, "run_hlo_in_child", lambda text, *arrays: [np.full(3, 7, np.float32)])
    with pytest.raises(UsageError, match="XP709"):
        library.package("step.hlo", to="out")
    assert not [path for path in Path().iterdir() if path.name.endswith("out")]


def test_results_of_a_text_with_trees_beside_it_are_that_tree(tmp_path):
    tree = ({"b": 0, "a": [1, None]}, Built("lib.states", "State", (2,), ("count",), "set", "{'size': 3}"))
    trees = Trees((0, 1, 2), frozenset({2}), (1, 1, 0), tree, ("a note",), {2: ".count"})
    module = replace(parse_module(STEP), trees=trees, constant_names={"3f9c": "params.w"})
    (tmp_path / "step.trees.json").write_text(trees_as_json(module), encoding="utf-8")
    read = with_trees_beside(parse_module(STEP), tmp_path / "step.hlo")
    assert (read.trees, read.constant_names) == (trees, module.constant_names)


def with_trees(*trees):
    return trees_as_json(replace(parse_module(STEP), trees=Trees(*trees)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"constants": {"3f": "a\\" + b"}}',
        '{"constants": {"3f": "params./../b"}}',
        with_trees((0,), frozenset(), (0,), 0),
        with_trees((0, 1, 2), frozenset(), (0, 0, 0), Built("os; x", "State", (0,))),
        with_trees((0, 1, 2), frozenset(), (0, 0, 0), Built("os", "State", (0,), (), "set", "print(1)")),
        with_trees((0, 1, 2), frozenset(), (0, 0, 0), Built("os", "State", (0,), (), "system")),
    ],
)
def test_trees_of_another_program_are_refused(tmp_path, text):
    (tmp_path / "step.trees.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="XP725"):
        with_trees_beside(parse_module(STEP), tmp_path / "step.hlo")


def test_functions_that_main_calls_back_are_no_arrays():
    (main,) = ast.parse("def main(x, *rest, y, pure_callback=None): ...").body
    assert arguments._names(main.args) == ["x", "*rest", "y"]


def test_docstrings_cannot_end_early():
    from xla2py.transpile.vendoring.package_files import docstring_text

    for text in ('Ends with "', 'Has """ in it', "Has \\ in it", 'Two\n    lines """'):
        assert eval(f'"""{docstring_text(text)}"""').split() == text.split()


def test_large_constants_of_a_live_function_are_beside_its_program(tmp_path, xla2py, monkeypatch):
    pytest.importorskip("jax")
    weights = np.linspace(-1, 1, 2000, dtype=np.float32).reshape(2, 1000) ** 3

    def project(x):
        return x @ weights

    folder = tmp_path / "projected"
    packages.package(project, np.ones(2, np.float32), to=folder)
    program = folder / "programs/project"
    assert "constant({...})" in program.with_suffix(".hlo").read_text(encoding="utf-8")
    assert program.with_suffix(".safetensors").stat().st_size > weights.nbytes
    assert xla2py("package", "--check", str(folder))[0] == 0
    code, _, err = xla2py("emit", str(program.with_suffix(".hlo")), "--constants", "auto", "-o", "projected.py")
    assert code == 0, err
    assert "def main(x: Array) -> Array:" in Path("projected.py").read_text(encoding="utf-8")
    with np.load("projected.npz") as stored:
        assert np.array_equal(stored["weights"], weights)
    program.with_suffix(".safetensors").write_bytes(program.with_suffix(".safetensors").read_bytes()[:4000])
    code, _, err = xla2py("package", "--check", str(folder))
    assert code == 2 and "XP725" in err


def test_a_live_function_has_the_authors_name_docstring_and_trees(tmp_path):
    jax = pytest.importorskip("jax")

    def scale(params, x):
        """Scale and shift x."""
        y = x * params["w"]
        return {"y": y, "total": y.sum()}

    x = jax.ShapeDtypeStruct((4,), "float32")
    packages.package({"scale": (scale, {"w": x}, x)}, to=tmp_path / "scaling")
    init = (tmp_path / "scaling/src/scaling/__init__.py").read_text(encoding="utf-8")
    assert "def scale(" in init and '"""Scale and shift x."""' in init
    module = (tmp_path / "scaling/src/scaling/_scale.py").read_text(encoding="utf-8")
    assert 'y = x * params["w"]' in module and 'return {"total": y.sum(), "y": y}' in module
    program = (tmp_path / "scaling/programs/scale.hlo").read_text(encoding="utf-8")
    assert str(Path(__file__).parent) not in program


@pytest.mark.parametrize(
    ("decorator", "body", "expected"),
    [("@njit(cache=True)", "a @ b", True), ("@njit(cache=True)", "a * b", False), ("@errstate()", "a @ b", False)],
)
def test_compiled_products_need_the_blas_of_scipy(decorator, body, expected):
    (function,) = ast.parse(f"{decorator}\ndef main(a, b):\n    return {body}").body
    assert packages._is_compiled_product(function) is expected


def test_what_scipy_gives_needs_no_types(folder, xla2py, mypy_cache):
    pytest.importorskip("scipy")
    body = "  x = f64[64,64] parameter(0)\n  ROOT y = f64[64,64] cholesky(x), lower=true\n"
    Path("factor.hlo").write_text(f"HloModule jit_factor\n\nENTRY main {{\n{body}}}", encoding="utf-8")
    assert xla2py("package", "factor.hlo", "-o", "factor", "--style", "fast")[0] == 0
    strict = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={mypy_cache}", "src"]
    done = subprocess.run(strict, cwd="factor", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def fit(x, y):
    return ((x - y) ** 2).sum()


def test_a_gradient_is_what_scipy_takes(tmp_path, wrong_types, monkeypatch):
    jax = pytest.importorskip("jax")
    x = jax.ShapeDtypeStruct((3, 2), "float32")
    packages.package(fit, x, x, to=tmp_path / "fitted", value_and_grad=0)
    monkeypatch.syspath_prepend(str(tmp_path / "fitted/src"))
    import fitted  # type: ignore[import-not-found]

    wanted = np.arange(6, dtype=np.float32).reshape(3, 2)
    value, gradient = fitted.value_and_grad(np.zeros(6), wanted, order="F")
    assert (type(value), value) == (float, 55.0)
    assert gradient.flags.writeable and gradient.dtype == np.float64
    np.testing.assert_array_equal(gradient, -2 * wanted.ravel(order="F"))
    assert fitted.value_and_grad(np.zeros((3, 2)), wanted)[1].shape == (3, 2)
    assert wrong_types(tmp_path / "fitted/src", "-p", "fitted") == ""


def test_functions_that_return_no_number_have_no_gradient(tmp_path):
    jax = pytest.importorskip("jax")
    x = jax.ShapeDtypeStruct((3,), "float32")
    scale = lambda x: 2 * x  # noqa: E731
    with pytest.warns(XlaToPythonWarning, match=r"scale has no gradient: it returns float32\[3\], not a number"):
        packages.package({"fit": (fit, x, x), "scale": (scale, x)}, to=tmp_path / "both", value_and_grad=0)
    init = (tmp_path / "both/src/both/__init__.py").read_text(encoding="utf-8")
    assert re.findall(r"^def (\w+)", init, re.MULTILINE) == ["fit", "scale", "fit_value_and_grad"]
    with pytest.raises(UsageError, match=r"XP710.*scale has no gradient"):
        packages.package({"scale": (scale, x)}, to=tmp_path / "one", value_and_grad=0)


def test_a_gradient_by_a_tree_is_refused(tmp_path):
    jax = pytest.importorskip("jax")
    x = jax.ShapeDtypeStruct((2,), "float32")
    source = {"total": (lambda p, y: (p["w"] * y).sum(), {"w": x}, x)}
    with pytest.raises(UsageError, match="XP710"):
        packages.package(source, to=tmp_path / "out", value_and_grad=0)


INNER = """
import jax

traced = []


@jax.jit
def inner(x):
    traced.append("inner")
    return x * 2


def one(x):
    return inner(x)


def other(x):
    return inner(x) + x
"""


@pytest.mark.live_xla
def test_what_was_traced_before_is_traced_again(tmp_path, live_xla):
    """Otherwise its instructions have the calls of its first caller, and a package is stale in the next process."""
    (tmp_path / "calls_inner.py").write_text(INNER, encoding="utf-8")
    for name in ("one", "other"):
        load_function(f"calls_inner:{name}(f32[3])", tmp_path)
    assert sys.modules["calls_inner"].traced == ["inner", "inner"]


ROOTS = """
import numpy as np

START = {"mu": np.full(9, 2, np.float32), "nu": np.full(9, 2, np.float32)}


def update(state, x):
    return {"mu": state["mu"] + x, "nu": state["nu"]}, (state["mu"] * state["nu"]) ** 0.5
"""


def test_a_recorded_run_has_the_values_of_objects(folder, xla2py):
    """Random numbers need be no state, and what they give is not told."""
    Path("roots.py").write_text(ROOTS, encoding="utf-8")
    code, _, err = xla2py("package", "roots:update(START, f32[9])", "-o", "rooted")
    assert code == 0 and "NaN" not in err
    with np.load("rooted/tests/recorded/update-0.npz") as first, np.load("rooted/tests/recorded/update-1.npz") as other:
        assert first["results/result.1"].tolist() == [2] * 9
        assert np.isnan(other["results/result.1"]).any()


def test_results_that_rounding_moves_far_are_packaged_with_a_note(sources, xla2py):
    """The last digits of functions in float32 are more than a result in float64 may differ by."""
    Path("widened.hlo").write_text(WIDENED, encoding="utf-8")
    status, _, err = xla2py("package", "widened.hlo", "-o", "widened")
    assert status == 0 and f"widened: {recordings.ILL_CONDITIONED}" in err
    with np.load("widened/tests/recorded/widened-0.npz") as recorded:
        relative, absolute = recorded["allowed/result"]
    assert relative < 1e-9 and 1e-8 < absolute < 1e-4
    assert xla2py("package", "--check", "widened")[0] == 0
