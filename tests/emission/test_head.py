"""The top of an emitted module: what it says of its arguments, what it needs, and what it does about wrong ones."""

from collections import namedtuple
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

import xla2py
from xla2py.transpile.errors import UsageError

ADD = """
HloModule scaled
ENTRY main {
  x = f32[4] parameter(0)
  n = s32[] parameter(1)
  scale = f32[] convert(n)
  all = f32[4] broadcast(scale), dimensions={}
  ROOT y = f32[4] multiply(x, all)
}
"""
X = np.float32([1, 2, 3, 4])


def parameter(path, number, shape):
    return f'p{number} = {shape} parameter({number}), metadata={{op_name="{path}"}}'


def nested(*paths):
    """A sum of arguments in trees."""
    lines = [parameter(path, k, "f32[2]") for k, path in enumerate(paths)]
    return "ENTRY main {\n" + "\n".join(lines) + "\nROOT y = f32[2] add(p0, p1)\n}"


def test_what_the_check_says_the_docstring_does_not():
    source = xla2py.emit(ADD).source
    assert source.startswith('"""Scaled; returns float32[4]."""\n')
    check = '    check_arguments("float32", (4,), x=x)\n    check_arguments("int32", (), n=n)\n'
    assert check in source and "SIGNATURE" not in source
    unchecked = xla2py.emit(ADD, checks="none").source
    assert unchecked.startswith('"""Scaled.\n\nx: float32[4]\nn: int32[]\nreturns: float32[4]\n"""\n')
    assert "SIGNATURE" not in unchecked and unchecked == xla2py.emit(ADD, checks=False).source


def test_the_header_names_what_is_needed():
    assert " for NumPy 2.0 or newer.\n# License: yours; copied functions: 0BSD.\n" in xla2py.emit(ADD).source
    narrow = ADD.replace("f32", "bf16")
    assert " for NumPy 2.0 or newer and ml_dtypes.\n" in xla2py.emit(narrow).source
    assert " for CuPy.\n" in xla2py.emit(ADD, "cupy").source
    assert " for Dask and NumPy 2.0 or newer.\n" in xla2py.emit(ADD, "dask").source


def test_what_returns_nothing_needs_python_only():
    source = xla2py.emit("ENTRY main {\n  ROOT r = () tuple()\n}").source
    assert source.startswith('"""Main; returns ()."""\n') and " for Python.\n" in source
    assert " for Python." not in xla2py.emit(ADD).source


def test_the_header_names_numba_where_it_compiles():
    pytest.importorskip("numba", reason="Numba is not installed")
    source = xla2py.emit(ADD.replace("f32", "bf16"), style="fused").source
    assert " for NumPy 2.0 or newer, ml_dtypes and Numba.\n" in source


@pytest.mark.parametrize(("version", "is_refused"), [("1.26.4", True), ("2.0.0", False), ("10.1.0rc1", False)])
def test_an_old_numpy_is_refused_when_the_module_is_imported(monkeypatch, version, is_refused):
    emitted = xla2py.emit(ADD)
    monkeypatch.setattr(np, "__version__", version)
    if not is_refused:
        assert emitted.load().main(X, np.int32(2))[3] == 8
        return
    with pytest.raises(ImportError, match=r"NumPy 2.0 or newer is needed, not 1\.26\.4"):
        emitted.load()


def test_wrong_arguments_are_named():
    main = xla2py.emit(ADD).load().main
    for wrong, said in ((X.astype(np.float64), r"float64\[4\]"), (X[:2], r"float32\[2\]"), ([1.0], "list")):
        with pytest.raises(TypeError, match=rf"x: expected float32\[4\], got {said}"):
            main(wrong, np.int32(2))
    assert main(X, np.dtype("longlong" if np.dtype("longlong").itemsize == 4 else "i4").type(2))[0] == 2


@pytest.mark.parametrize("dtype", [np.float64, np.float16, ml_dtypes.bfloat16])
def test_other_floats_are_cast_on_request(dtype):
    main = xla2py.emit(ADD, checks="cast").load().main
    given = X.astype(dtype)
    result = main(given, np.int32(2))
    assert result.dtype == np.float32 and np.array_equal(result, 2 * X)
    assert given.dtype == dtype
    for arguments in ((X.astype(np.int32), np.int32(2)), (X, np.float32(2)), (X[:2], np.int32(2))):
        with pytest.raises(TypeError, match="expected"):
            main(*arguments)
    assert xla2py.emit(ADD, checks="cast").source.count("--checks cast") == 1


def test_floats_in_dicts_lists_and_tuples_are_cast():
    text = nested("params[\\'w\\'][0]", "params[\\'b\\'][1]")
    main = xla2py.emit(text, nested=True, checks="cast").load().main
    params = {"w": [np.ones(2)], "b": ("label", np.float16([1, 2])), "other": None}
    assert np.array_equal(main(params), np.float32([2, 3]))
    assert params["w"][0].dtype == np.float64
    with pytest.raises(TypeError, match=r"params\[.w.\]\[0\]: missing"):
        main({"w": [], "b": params["b"]})
    with pytest.raises(TypeError, match="expected float32"):
        main({"w": [np.int32([1, 2])], "b": params["b"]})


@dataclass(frozen=True)
class Layer:
    w: object
    b: object


@pytest.mark.parametrize("made", [Layer, namedtuple("Pair", "w b")])
def test_floats_in_objects_are_cast(made):
    main = xla2py.emit(nested("layer.w", "layer.b"), nested=True, checks="cast").load().main
    layer = made(np.ones(2), np.float32([1, 2]))
    assert np.array_equal(main(layer), np.float32([2, 3]))
    assert layer.w.dtype == np.float64


@pytest.mark.parametrize("option", ["annotate", "checks", "constants"])
def test_a_word_that_is_no_choice_is_refused_by_name(option):
    with pytest.raises(UsageError, match=f"XP416.*{option}.*'x' is not one of"):
        xla2py.emit(ADD, **{option: "x"})


def test_arguments_of_one_type_are_checked_together():
    text = "ENTRY main {\n dtype = f32[2] parameter(0)\n shape = f32[2] parameter(1)\n"
    main = (emitted := xla2py.emit(text + "ROOT y = f32[2] add(dtype, shape)\n}")).load().main
    assert '    check_arguments("float32", (2,), dtype=dtype, shape=shape)\n' in emitted.source
    assert np.array_equal(main(X[:2], X[:2]), 2 * X[:2])
    with pytest.raises(TypeError, match=r"shape: expected float32\[2\], got float32\[3\]"):
        main(X[:2], X[:3])


def test_what_does_not_fit_a_line_is_checked_in_several():
    lines = "".join(parameter(f"a_longer_name_{k}", k, "f32[4]") + "\n" for k in range(3))
    sums = "s = f32[4] add(p0, p1)\nROOT r = f32[4] add(s, p2)\n"
    source = xla2py.emit(f"HloModule many\nENTRY main {{\n{lines}{sums}}}\n").source
    checks = [line for line in source.splitlines() if line.startswith("    check_arguments(")]
    assert checks == [
        '    check_arguments("float32", (4,), a_longer_name_0=a_longer_name_0)',
        '    check_arguments("float32", (4,), a_longer_name_1=a_longer_name_1)',
        '    check_arguments("float32", (4,), a_longer_name_2=a_longer_name_2)',
    ]


def test_a_type_that_is_named_once_has_no_name():
    source = xla2py.emit("ENTRY main {\n x = f32[3] parameter(0)\n c = f32[] constant(0)\n" + NO_ADD, "cupy").source
    assert "def main(x: cp.ndarray | Any) -> tuple[()]:" in source
    assert "Array" not in source and "TypeAlias" not in source


NO_ADD = " ROOT r = () tuple()\n}"
