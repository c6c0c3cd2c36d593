"""Checkpoints in place of arguments: files, names, and what does not fit."""

import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import xla2py as library
from xla2py.transpile.errors import UsageError, XlaToPythonWarning
from xla2py.transpile.frontends import safetensors
from xla2py.transpile.frontends.checkpoints import as_tree

HLO = """
HloModule jit_step

ENTRY main {
  b = f32[3] parameter(0), metadata={op_name="params['dense']['b']"}
  w = f32[3] parameter(1), metadata={op_name="params['dense']['w']"}
  x = f32[3] parameter(2), metadata={op_name="x"}
  scaled = f32[3] multiply(w, x)
  ROOT y = f32[3] add(scaled, b)
}
"""
W, B, X = (np.arange(k, k + 3, dtype=np.float32) for k in (1, 5, 7))
BOTH = {"w": W, "b": B}


def written(folder, kind, arrays):
    if kind == "npz":
        np.savez(folder / "w.npz", **arrays)
    elif kind == "safetensors":
        with (folder / "w.safetensors").open("wb") as stream:
            safetensors.write(stream, arrays)
    else:
        checkpoint = pytest.importorskip("orbax.checkpoint")
        with checkpoint.PyTreeCheckpointer() as writer:
            writer.save(folder.resolve() / "w.orbax", as_tree(arrays))
    return folder / f"w.{kind}"


@pytest.mark.parametrize("kind", ["npz", "safetensors", "orbax"])
@pytest.mark.parametrize("before", ["", "dense.", "dense/", "params.dense."])
def test_arguments_are_the_arrays_of_a_checkpoint(tmp_path, kind, before):
    path = written(tmp_path, kind, {f"{before}{name}": array for name, array in BOTH.items()})
    found = library.emit(HLO, weights=path)
    np.testing.assert_array_equal(found.load().main(X), W * X + B)


@pytest.mark.parametrize("key", ["mlp/~/linear_0", "mlp.~.linear_0", "params.mlp/~/linear_0"])
def test_names_of_haiku_stay_one_key(tmp_path, key):
    text = HLO.replace("'dense'", "'mlp/~/linear_0'")
    path = written(tmp_path, "npz", {f"{key}.{name}": array for name, array in BOTH.items()})
    found = library.emit(text, weights=path, constants="safetensors")
    assert 'params["mlp/~/linear_0"]["w"] * x' in found.source
    np.testing.assert_array_equal(found.load().main(X), W * X + B)


def test_the_first_of_equal_arrays_gives_the_name(tmp_path):
    path = written(tmp_path, "npz", {"b": W, "w": W})
    found = library.emit(HLO, weights=path, constants="safetensors")
    assert 'params["dense"]["b"] * x + params["dense"]["b"]' in found.source


def test_a_folder_of_steps_is_its_only_tree(tmp_path):
    """What orbax's manager and flax's ``save_checkpoint`` write: ``7/default``, ``7/state``, ``checkpoint_7``."""
    step = written(tmp_path, "orbax", {"dense.w": W, "dense.b": B}).rename(tmp_path / "default")
    (tmp_path / "run" / "7").mkdir(parents=True)
    step.rename(tmp_path / "run" / "7" / "default")
    for path in ("run", "run/7", "run/7/default"):
        np.testing.assert_array_equal(library.emit(HLO, weights=tmp_path / path).load().main(X), W * X + B)
    shutil.copytree(tmp_path / "run" / "7", tmp_path / "run" / "8")
    with pytest.raises(UsageError, match=r"XP727.*run holds several trees: run/7/default, run/8/default"):
        library.emit(HLO, weights=tmp_path / "run")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"XP727.*empty holds no tree of orbax"):
        library.emit(HLO, weights=tmp_path / "empty")


def test_names_without_metadata(tmp_path):
    text = HLO.replace("w = f32", "params__dense___w__.1 = f32").replace("b = f32", "params__dense___b__.1 = f32")
    text = text.replace("(w,", "(params__dense___w__.1,").replace(" b)", " params__dense___b__.1)")
    text = text.replace(""", metadata={op_name="params['dense']['w']"}""", "")
    text = text.replace(""", metadata={op_name="params['dense']['b']"}""", "")
    path = written(tmp_path, "npz", {f"dense.{name}": array for name, array in BOTH.items()})
    np.testing.assert_array_equal(library.emit(text, weights=path).load().main(X), W * X + B)


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        ({"w": W}, "there is no b, which is float32[3]"),
        ({"w": W, "b": B[:2]}, "b is float32[2], not float32[3]"),
        ({"w": W.astype(np.float64), "b": B}, "w is float64[3], not float32[3]"),
        ({"kernel": W}, "no argument has an array of these names: kernel; the arguments are params.dense.b"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, arrays, told):
    with pytest.raises(UsageError, match="XP727") as refused:
        library.emit(HLO, weights=written(tmp_path, "npz", arrays))
    assert told in str(refused.value)


def test_further_arrays_are_told(tmp_path):
    with pytest.warns(XlaToPythonWarning, match="no argument of jit_step takes more"):
        library.emit(HLO, weights=written(tmp_path, "npz", {**BOTH, "more": W}))


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        ([1, np.nan, np.inf], "params.dense.w has NaN in 2 of 3 elements"),
        ([1, 2, -np.inf], "params.dense.w has infinities in 1 of 3 elements"),
    ],
)
def test_weights_that_are_not_finite_are_told(tmp_path, odd, told):
    with pytest.warns(XlaToPythonWarning, match=told):
        library.emit(HLO, weights=written(tmp_path, "npz", {"b": B, "w": np.array(odd, np.float32)}))


@pytest.mark.parametrize("odd", [0.0, np.inf])
def test_finite_weights_and_masks_are_not_told(tmp_path, odd, recwarn):
    mask = ", ".join(["inf" if odd else "0"] * 80)
    text = HLO.replace("ENTRY main {", f"ENTRY main {{\n  mask = f32[80] constant({{{mask}}})")
    text = text.replace("ROOT y = f32[3]", "y = f32[3]").replace(
        "\n}", "\n  ROOT r = (f32[3], f32[80]) tuple(y, mask)\n}"
    )
    library.emit(text, weights=written(tmp_path, "npz", BOTH))
    assert not [each for each in recwarn if issubclass(each.category, XlaToPythonWarning)]


def test_a_file_that_is_cut_off_names_the_array(tmp_path):
    path = written(tmp_path, "safetensors", BOTH)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(UsageError, match=r"XP727.*the array w is cut off"):
        library.emit(HLO, weights=path)


def test_a_function_takes_the_tree_of_the_checkpoint(tmp_path, xla2py, monkeypatch):
    pytest.importorskip("jax")
    step = SimpleNamespace(step=lambda params, x: params["dense"]["w"] * x + params["layers"][1])
    monkeypatch.setitem(sys.modules, "stepping", step)
    path = written(tmp_path, "npz", {"dense.w": W, "layers.0": B, "layers.1": B})
    code, out, err = xla2py("emit", "stepping:step(weights, f32[3])", "--weights", str(path))
    assert err.startswith("note: ") and err.endswith("takes layers.0\n")
    assert code == 0 and "def main(x: Array) -> Array:" in out, err
    code, _, err = xla2py("emit", "stepping:step(weights, f32[3])")
    assert code == 2 and "--weights" in err
    path = written(tmp_path, "npz", {"params.dense.w": W})
    code, _, err = xla2py("emit", "stepping:step(weights, f32[3])", "--weights", str(path))
    assert code == 2 and "has weights['params']['dense']['w'], .." in " ".join(err.split())
