"""Trees that a program closes over: a module reads them as the author does, each array from a file when it is used."""

from dataclasses import replace

import numpy as np
import pytest

import xla2py
from xla2py.tests.counted_loops import counted_loop
from xla2py.tests.emission.test_sidecars import imported
from xla2py.tests.targets.running import on_device
from xla2py.transpile.hlo.literal_values import array_sha256, distinct_names
from xla2py.transpile.hlo.parser import parse_module

W, B, SEVEN = np.arange(4, dtype=np.float32).reshape(2, 2), np.array([5, 6], np.float32), np.full(2, 7, np.float32)
PROGRAM = counted_loop(
    3,
    {"h": "f32[2]"},
    "b = f32[2] constant({5, 6})\nnew_h = f32[2] add(h, b)",
    given="""x = f32[2] parameter(0), metadata={op_name="x"}
    w = f32[2,2] constant({{0, 1}, {2, 3}})
    h = f32[2] dot(x, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}""",
    behind="seven = f32[2] constant({7, 7})\nROOT r = f32[2] add(h_end, seven)",
)
X = np.array([1, 2], np.float32)


def emitted(target="numpy", names=("params.layers.0.w", "params.b", "params.seven")):
    digests = map(array_sha256, (W, B, SEVEN))
    module = replace(parse_module(PROGRAM), constant_names=dict(zip(digests, names, strict=True)))
    return xla2py.emit(module, target, constants="safetensors")


@pytest.mark.parametrize("target", ["numpy", "cupy"])
def test_leaves_are_read_where_they_are_in_the_tree(target, tmp_path):
    """Loops read them, too; an array whose elements are equal is a number."""
    found = emitted(target)
    assert 'params["layers"][0]["w"]' in found.source and '+ params["b"]' in found.source and "+ 7" in found.source
    assert list(found.constants) == ["params.b", "params.layers.0.w"]
    results = on_device(PROGRAM, [X], found) if target == "cupy" else [found.load().main(X)]
    np.testing.assert_array_equal(results[0], X @ W + 3 * B + 7)
    if target == "numpy":
        found.save(tmp_path / "step.py")
        module = imported(tmp_path / "step.py")
        assert not module.params
        np.testing.assert_array_equal(module.main(X), results[0])
        path = tmp_path / "step.safetensors"
        content = path.read_bytes()
        path.write_bytes(content[:-8])
        with pytest.raises(ValueError, match=r"step\.safetensors: params\.\S+ is cut off"):
            imported(tmp_path / "step.py").main(X)
        path.write_bytes(content.replace(b"params.b", b"params.c"))
        with pytest.raises(ValueError, match=r"has no array params\.b: KeyError"):
            imported(tmp_path / "step.py").main(X)
        path.unlink()
        with pytest.raises(ValueError, match=r"has no array params\.\S+: FileNotFoundError"):
            imported(tmp_path / "step.py").main(X)


@pytest.mark.parametrize("size", [64, 65])
@pytest.mark.parametrize("constants", ["auto", "npz"])
def test_a_tree_is_stored_if_a_file_is_needed_anyway(size, constants, tmp_path):
    w = np.square(np.arange(size)).astype(np.float32)
    numbers = "{" + ", ".join(map(str, w)) + "}"
    module = parse_module(f"""ENTRY main {{
  x = f32[{size}] parameter(0)
  w = f32[{size}] constant({numbers})
  ROOT r = f32[{size}] multiply(x, w)
}}""")
    found = xla2py.emit(replace(module, constant_names={array_sha256(w): "params.w"}), constants=constants)
    is_stored = constants == "auto" and size > 64
    assert ('x * params["w"]' in found.source) == is_stored
    names = ["step.safetensors"] if is_stored else ["step.npz"] if size > 64 else []
    assert [each.name for each in found.save(tmp_path / "step.py")] == ["step.py", *names]
    np.testing.assert_array_equal(imported(tmp_path / "step.py").main(w), w * w)


@pytest.mark.parametrize("names", [("w", "b", ""), ("x.w", "x.b", ""), ("params.w", "params.w.b", "")])
def test_what_is_no_tree_beside_the_arguments_is_a_constant(names):
    """An array alone, a tree with the name of an argument, a leaf on the way to another."""
    found = emitted(names=names)
    assert "StoredTree" not in found.source
    np.testing.assert_array_equal(found.load().main(X), X @ W + 3 * B + 7)


def test_slashes_and_tildes_stay_in_keys():
    """Haiku has such keys in its trees: they are not split, and no character is replaced."""
    found = emitted(names=("params.mlp/~/linear_0.w", "params.layer-norm.b", "params.seven"))
    assert 'params["mlp/~/linear_0"]["w"]' in found.source and 'params["layer-norm"]["b"]' in found.source
    np.testing.assert_array_equal(found.load().main(X), X @ W + 3 * B + 7)


def test_arrays_of_one_name_are_apart(tmp_path):
    """Arrays of one name stay apart if their bytes differ, or their types."""
    text = """ENTRY main {
      x = s32[2] parameter(0)
      a = s32[2] constant({1, 2})
      b = s32[2] constant({3, 4})
      c = u32[2] constant({1, 2})
      y = s32[2] multiply(x, a)
      z = s32[2] multiply(y, b)
      u = u32[2] convert(x)
      v = u32[2] multiply(u, c)
      ROOT r = (s32[2], u32[2]) tuple(z, v)
    }"""
    a, b = np.array([1, 2], np.int32), np.array([3, 4], np.int32)
    names = dict.fromkeys(map(array_sha256, (a, b)), "p.w")
    found = xla2py.emit(replace(parse_module(text), constant_names=names), constants="safetensors")
    assert 'p["w"]' in found.source
    found.save(tmp_path / "step.py")
    z, v = imported(tmp_path / "step.py").main(np.array([5, 6], np.int32))
    assert (*z, *v) == (15, 48, 5, 12)
    assert [*distinct_names(names).values()] == ["p.w", "p_2.w"]


def test_tables_and_trees_have_names_of_their_own(tmp_path):
    """The table of hashes is called WEIGHTS, too, and what checks arguments is the SIGNATURE."""
    even, squares = np.arange(17, dtype=np.float32) * 1.5, np.arange(17, dtype=np.float32) ** 2
    a, b = (", ".join(map(str, each)) for each in (even, squares))
    text = f"""ENTRY main {{
      x = f32[17] parameter(0)
      i = s32[2] parameter(1)
      a = f32[17] constant({{{a}}})
      b = f32[17] constant({{{b}}})
      y = f32[17] multiply(x, a)
      z = f32[17] add(y, b)
      ROOT r = (f32[17], s32[2]) tuple(z, i)
    }}"""
    for word in ("weights", "signature"):
        names = {array_sha256(even): word, array_sha256(squares): "p.w"}
        found = xla2py.emit(replace(parse_module(text), constant_names=names), constants="safetensors")
        found.save(tmp_path / f"{word}.py")
        z, _ = imported(tmp_path / f"{word}.py").main(even, np.zeros(2, np.int32))
        np.testing.assert_array_equal(z, even * even + squares)
