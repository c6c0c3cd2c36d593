"""``xla2py emit``: where results go, what is never overwritten, settings."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from xla2py.tests.conftest import MODEL, NAMED
from xla2py.transpile.commands.emit import module_name
from xla2py.transpile.compilation import stages


def test_emit_writes_source_to_stdout_and_nothing_to_stderr(xla2py):
    code, out, err = xla2py("emit", "model.hlo")
    assert (code, err) == (0, "")
    assert "return x + y" in out
    assert "# regenerate: xla2py emit model.hlo -t numpy\n" in out


def test_the_command_in_a_module_names_the_function_that_it_is_of(xla2py, folder):
    text = "".join(
        f"func.func @{name}(%a: tensor<f32>) -> tensor<f32> {{\n%0 = stablehlo.{name} %a : tensor<f32>\n"
        "return %0 : tensor<f32>\n}\n"
        for name in ("sine", "cosine")
    )
    (folder / "two.mlir").write_text(text, encoding="utf-8")
    assert "XP116" in xla2py("emit", "two.mlir")[2]
    code, out, _ = xla2py("emit", "two.mlir", "--function", "cosine")
    assert (code, "np.cos(" in out) == (0, True)
    assert "# regenerate: xla2py emit two.mlir --function cosine -t numpy\n" in out
    assert xla2py("emit", "two.mlir", "--function", "cosine", "-o", "cosine.py")[0] == 0
    assert xla2py("emit", "two.mlir", "--function", "cosine", "-o", "cosine.py", "--check")[0] == 0


def test_a_file_alone_is_emitted(xla2py):
    assert xla2py("model.hlo") == xla2py("emit", "model.hlo")
    assert xla2py("--no-checks", "model.hlo") == xla2py("emit", "model.hlo", "--no-checks")


def test_a_file_named_like_a_command_needs_its_folder(xla2py, folder):
    (folder / "ops").write_text(MODEL, encoding="utf-8")
    assert "return x + y" in xla2py("./ops")[1]


def test_stdin_is_a_dash(xla2py, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MODEL.encode())))
    code, out, _ = xla2py("-")
    assert code == 0
    assert "# regenerate: xla2py emit stdin -t numpy\n" in out


def test_a_dash_is_also_stdout(xla2py):
    assert xla2py("emit", "model.hlo", "-o", "-") == xla2py("emit", "model.hlo")
    assert not Path("-").exists()


def test_emit_to_a_file_creates_folders_and_says_nothing(xla2py):
    assert xla2py("emit", "model.hlo", "-o", "new/folder/kernel.py") == (0, "", "")
    assert "return x + y" in Path("new/folder/kernel.py").read_text(encoding="utf-8")
    assert list(Path("new/folder").iterdir()) == [Path("new/folder/kernel.py")]


def test_emit_to_a_folder_names_files_after_their_sources(xla2py):
    assert xla2py("emit", "model.hlo", "table.hlo", "-o", "out")[0] == 0
    assert sorted(path.name for path in Path("out").iterdir()) == ["model.py", "table.npz", "table.py"]


def test_an_emitted_file_runs_with_its_constants(xla2py, monkeypatch):
    xla2py("emit", "table.hlo", "-o", "kernel.py")
    script = "import kernel, numpy; print(kernel.main(numpy.ones(100, numpy.int32)).sum())"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == str(sum(k * k for k in range(100)) + 100)


def test_what_reading_left_out_is_noted(xla2py, folder):
    (folder / "hinted.hlo").write_text(
        "ENTRY e {\n  p = f32[4] parameter(0)\n  ROOT r = f32[4] negate(p), new_hint=x }"
    )
    code, out, err = xla2py("emit", "hinted.hlo")
    assert code == 0
    assert "return -p" in out
    assert err == "note: hinted.hlo:3:30: negate has no attribute `new_hint`: it is left out\n"


def test_constants_that_stdout_cannot_hold_are_noted(xla2py):
    code, _, err = xla2py("emit", "table.hlo")
    assert code == 0
    assert "400 bytes of constants" in err
    code, out, err = xla2py("emit", "table.hlo", "--constants", "inline")
    assert (code, err) == (0, "")
    assert "9409, 9604, 9801" in out.replace("\n", " ").replace("    ", "")


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("model.hlo", "model"),
        ("deep/er/attention.before.hlo", "attention_before"),
        ("2-layer net.hlo.txt", "module_2_layer_net"),
        ("../..hlo", "module"),
        ("import.hlo", "module_import"),
        ("-", "stdin"),
        ("été.hlo", "été"),
    ],
)
def test_module_names_can_be_imported(source, name):
    assert module_name(source) == name
    assert name.isidentifier()


@pytest.mark.parametrize(
    "arguments",
    [
        ("model.hlo", "table.hlo"),
        ("model.hlo", "table.hlo", "-o", "one.py"),
        ("model.hlo", "--check"),
        ("model.hlo", "--diff"),
        ("model.hlo", "./model.hlo", "-o", "out/"),
    ],
)
def test_results_need_a_place_each(xla2py, arguments):
    code, out, err = xla2py("emit", *arguments)
    assert (code, out) == (2, "")
    assert "error[XP402]" in err
    assert not Path("out").exists()


def test_check_tells_missing_current_and_stale_files_apart(xla2py):
    check = ("emit", "table.hlo", "-o", "kernel.py", "--check")
    assert xla2py(*check)[0] == 1
    assert not Path("kernel.py").exists()
    xla2py("emit", "table.hlo", "-o", "kernel.py")
    assert xla2py(*check) == (0, "", "")
    Path("kernel.npz").unlink()
    code, _, err = xla2py(*check)
    assert (code, err) == (1, "note: kernel.npz is missing\n")
    Path("kernel.py").write_text("old", encoding="utf-8")
    assert "kernel.py is stale" in xla2py(*check)[2]


def test_diff_shows_what_would_change_and_changes_nothing(xla2py):
    xla2py("emit", "model.hlo", "-o", "kernel.py")
    Path("model.hlo").write_text(MODEL.replace("add(", "subtract("), encoding="utf-8")
    before = Path("kernel.py").read_bytes()
    code, out, err = xla2py("emit", "model.hlo", "-o", "kernel.py", "--diff")
    assert (code, err) == (1, "")
    assert "\n-    return x + y\n+    return x - y\n" in out
    assert Path("kernel.py").read_bytes() == before


def test_a_file_that_a_person_edited_is_kept(xla2py):
    xla2py("emit", "model.hlo", "-o", "kernel.py")
    edited = Path("kernel.py").read_text(encoding="utf-8").replace("x + y", "y + x")
    Path("kernel.py").write_text(edited, encoding="utf-8")
    code, _, err = xla2py("emit", "model.hlo", "-o", "kernel.py")
    assert code == 2
    assert "error[XP403]: kernel.py was edited since xla2py wrote it" in err
    assert Path("kernel.py").read_text(encoding="utf-8") == edited
    assert xla2py("emit", "model.hlo", "-o", "kernel.py", "--force")[0] == 0
    assert "x + y" in Path("kernel.py").read_text(encoding="utf-8")


def test_a_file_of_somebody_else_is_kept(xla2py):
    Path("kernel.py").write_text("print('mine')\n", encoding="utf-8")
    code, _, err = xla2py("emit", "model.hlo", "-o", "kernel.py")
    assert code == 2
    assert "was not written by xla2py" in err


def test_an_unedited_file_is_replaced_with_its_mode_kept(xla2py):
    xla2py("emit", "model.hlo", "-o", "kernel.py")
    Path("kernel.py").chmod(0o640)
    assert xla2py("emit", "model.hlo", "-o", "kernel.py", "--no-checks") == (0, "", "")
    assert Path("kernel.py").stat().st_mode & 0o777 == 0o640
    assert "check_arguments" not in Path("kernel.py").read_text(encoding="utf-8")


def test_several_sources_are_all_done_and_the_worst_exit_code_counts(xla2py):
    code, _, err = xla2py("emit", "unsupported.hlo", "broken.hlo", "model.hlo", "-o", "out")
    assert code == 3
    assert "XP112" in err and "XP305" in err
    assert [path.name for path in Path("out").iterdir()] == ["model.py"]


def test_settings_come_from_pyproject_and_the_command_line_wins(xla2py):
    Path("pyproject.toml").write_text("[tool.xla2py]\nchecks = false\n", encoding="utf-8")
    assert "check_arguments" not in xla2py("model.hlo")[1]
    assert "check_arguments" in xla2py("model.hlo", "--checks", "exact")[1]


def test_variables_take_names_from_the_users_own_source(xla2py):
    Path("src").mkdir()
    Path("src/step.py").write_text(
        "def step(x, y):\n    velocity = x + y\n    return -velocity, velocity\n", encoding="utf-8"
    )
    Path("named.hlo").write_text(NAMED, encoding="utf-8")
    assert "velocity" not in xla2py("named.hlo")[1]
    assert "velocity = x + y" in xla2py("named.hlo", "--sources", ".")[1]
    Path("pyproject.toml").write_text("[tool.xla2py]\nsources = '.'\n", encoding="utf-8")
    assert "velocity = x + y" in xla2py("named.hlo")[1]


def test_functions_of_the_user_stand_for_custom_calls(xla2py):
    custom_call = 'custom-call(x, y), custom_call_target="my.kernel"'
    Path("model.hlo").write_text(MODEL.replace("add(x, y)", custom_call), encoding="utf-8")
    code, _, err = xla2py("model.hlo")
    assert code == 3
    assert "error[XP305]" in err and "--custom-call 'my.kernel=module:function'" in err
    code, out, err = xla2py("model.hlo", "--custom-call", "my.kernel=kernels.fast:kernel,other=kernels:other")
    assert (code, err) == (0, "")
    assert "from kernels.fast import kernel" in out


# -- folders and functions


def test_a_folder_stands_for_its_programs(xla2py, folder):
    Path("dump").mkdir()
    for name in ("module_0001.jit_f", "module_0002.jit_f"):
        Path(f"dump/{name}.before_optimizations.txt").write_text(MODEL, encoding="utf-8")
        Path(f"dump/{name}.cpu_after_optimizations.txt").write_text("not looked at", encoding="utf-8")
    assert xla2py("emit", "dump", "-o", "out/") == (0, "", "")
    assert sorted(path.name for path in Path("out").iterdir()) == ["module_0001_jit_f.py", "module_0002_jit_f.py"]
    Path("one").mkdir()
    Path("one/model.hlo").write_text(MODEL, encoding="utf-8")
    assert xla2py("emit", "one", "-o", "made") == (0, "", "") == xla2py("emit", "one", "-o", "made.py")
    assert Path("made/model.py").is_file() and Path("made.py").is_file()
    Path("empty").mkdir()
    code, _, err = xla2py("emit", "empty", "-o", "out/")
    assert code == 2 and "XP723" in err


KERNELS = """
import jax, jax.numpy as jnp, xla2py
def scaled(x, factors):
    return jnp.tanh(x) * factors[0]
lowered = jax.jit(jnp.sin).lower(jnp.ones(3))
exported = jax.export.export(jax.jit(jnp.cos))(jnp.ones(3))
builder = xla2py.XlaBuilder("built")
x = builder.parameter(0, "f32[4]", "x")
built = builder.build(x + x)
number = 3
class Filter:
    def step(self, x):
        return x - 2
Filter.default = Filter()
def broken(x):
    raise ValueError("no such thing")
"""


@pytest.fixture
def kernels(folder, monkeypatch):
    pytest.importorskip("jax")
    name = f"kernels_of_{folder.name}".replace("-", "_")
    (folder / f"{name}.py").write_text(KERNELS, encoding="utf-8")
    yield name
    sys.modules.pop(name, None)


def test_a_function_with_the_shapes_of_its_arguments_is_a_program(xla2py, kernels):
    code, out, err = xla2py(f"{kernels}:scaled(f32[2,3], (f32[]))", "--no-checks")
    assert (code, err) == (0, "")
    assert "return np.tanh(x) * factors_0" in out
    assert f"regenerate: xla2py emit '{kernels}:scaled(f32[2,3], (f32[]))' -t numpy --no-checks" in out
    assert xla2py("emit", f"{kernels}:scaled(f32[2,3], (f32[]))", "-o", "out/")[0] == 0
    assert Path("out/scaled.py").exists()
    assert xla2py("run", f"{kernels}:scaled(f32[2,3], (f32[]))")[0] == 0


@pytest.mark.parametrize(
    "name, expected",
    [
        ("lowered", "np.sin("),
        ("exported", "np.cos("),
        ("built", "x + x"),
        ("built()", "x + x"),
        ("Filter.default.step(f32[3])", "x - 2"),
    ],
)
def test_a_program_made_in_python_is_one(xla2py, kernels, name, expected):
    code, out, err = xla2py("emit", f"{kernels}:{name}")
    assert (code, err) == (0, "")
    assert expected in out


@pytest.mark.parametrize(
    "name, code, message",
    [
        ("nothing", "XP721", "cannot import nothing"),
        ("Filter.default.walk(f32[3])", "XP721", "cannot import Filter.default.walk"),
        ("scaled", "XP722", "shapes of the function's arguments"),
        ("scaled(f32[2,3])", "XP722", "TypeError"),
        ("scaled(f32[2,3)", "XP1", "kernels"),
        ("broken(f32[2])", "XP722", "no such thing"),
        ("number", "XP722", "type int"),
        ("scaled(token[], f32[])", "XP106", "token"),
    ],
)
def test_an_object_that_is_no_program_is_refused(xla2py, kernels, name, code, message):
    exit_code, out, err = xla2py("emit", f"{kernels}:{name}")
    assert (exit_code, out) == (2, "")
    assert f"error[{code}" in err and message in err


def test_a_module_that_is_not_there_is_refused(xla2py):
    code, _, err = xla2py("emit", "nowhere.to_be_found:f(f32[])")
    assert code == 2 and "XP721" in err and "ModuleNotFoundError" in err


def test_a_page_instead_of_the_source(xla2py, folder):
    assert xla2py("emit", "model.hlo", "--html", "page.html") == (0, "", "")
    assert "<h1>main</h1>" in Path("page.html").read_text("utf-8")
    code, _, err = xla2py("emit", "model.hlo", "-t", "numpy,dask", "-o", "out/", "--html", "page.html")
    assert code == 2 and "XP642" in err
    Path("notes.html").write_text("notes")
    code, _, err = xla2py("emit", "model.hlo", "--html", "notes.html")
    assert code == 2 and "XP640" in err
    assert xla2py("emit", "model.hlo", "-o", "model.py", "--html", "notes.html", "--force") == (0, "", "")
    assert Path("model.py").exists()


def test_the_program_after_a_pass(xla2py):
    code, out, err = xla2py("emit", "model.hlo", "--print-after", "to_array")
    assert code == 0 and "def main" in out
    assert err.startswith("// after to_array\nfunction main")
    assert xla2py("emit", "model.hlo", "--print-after", "all")[2].count("// after") > 5
    code, _, err = xla2py("emit", "model.hlo", "--print-after", "nothing")
    assert code == 2 and "XP641" in err


@pytest.mark.parametrize("arguments", [("--debug", "emit", "model.hlo"), ("emit", "--debug", "model.hlo")])
def test_debug_verifies_the_program_after_every_pass(xla2py, monkeypatch, arguments):
    seen = []
    monkeypatch.setattr(stages, "verifies", lambda draft: seen.append(draft.options.debug) or draft.options.debug)
    code, out, _ = xla2py(*arguments)
    assert code == 0 and "return x + y" in out
    assert seen and all(seen)
    seen.clear()
    xla2py("emit", "model.hlo")
    assert seen and not any(seen)


def test_limits_that_no_target_keeps_are_named(xla2py):
    assert "note: --memory without effect: numpy does not work in chunks" in xla2py("model.hlo", "--memory", "1GiB")[2]
    assert "without effect" not in xla2py("model.hlo", "--memory", "1GiB", "-t", "dask")[2]


def test_leaves_of_trees_are_noted_where_they_are_many(xla2py, folder):
    leaves = "\n".join(
        f"  p{k} = f32[2] parameter({k}), metadata={{op_name=\"params['layer_{k}']\"}}" for k in range(24)
    )
    (folder / "many.hlo").write_text(f"HloModule many\n\nENTRY main {{\n{leaves}\n  ROOT r = f32[2] add(p0, p23)\n}}\n")
    note = "note: main takes 24 arrays one by one: with --nested it takes the trees that they are of, params"
    assert note in xla2py("many.hlo")[2]
    assert "note" not in xla2py("many.hlo", "--nested")[2]
    assert "note" not in xla2py("model.hlo")[2]
