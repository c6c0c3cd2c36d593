"""What users write in parentheses behind a function: types by several names, sizes by numbers or names."""

import sys
import warnings

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jnp
from xla2py.transpile.errors import XlaToPythonError
from xla2py.transpile.frontends import free_arrays
from xla2py.transpile.frontends.functions import load_function
from xla2py.transpile.frontends.signatures import Argument, leaves, parse_arguments
from xla2py.transpile.frontends.witnesses import function_at_sizes

FUNCTIONS = """
import jax.numpy as jnp
TABLE = jnp.arange(3)
def scaled(x, n): return jnp.sin(x) * n
def product(x, y): return x @ y
def layer(p, x): return x @ p["w"] + p["b"][0]
class Cell:
    parameters = {"w": jnp.ones((3, 2)), "b": [jnp.ones(2)]}
    def initial(batch=4, width=3): return jnp.zeros((batch, width))
"""


@pytest.fixture
def functions(tmp_path):
    pytest.importorskip("jax")
    name = f"functions_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(FUNCTIONS, encoding="utf-8")
    yield name
    sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f32[4,8], s32[]", [("f32", (4, 8)), ("s32", ())]),
        ("float32[4, B], i32, bool[3]", [("f32", (4, "B")), ("s32", ()), ("pred", (3,))]),
        (
            "(bfloat16[T]{0}, (uint8[2], i64)), complex64[1]",
            [("bf16", ("T",)), ("u8", (2,)), ("s64", ()), ("c64", (1,))],
        ),
        ("{'w': f32[3,2], \"b\": [f32, s32[N]],}, []", [("f32", (3, 2)), ("f32", ()), ("s32", ("N",))]),
        ("float8_e4m3fn[0]", [("f8e4m3fn", (0,))]),
        ("", []),
        ("params, (f32[2], state()), init(B, 4), weights", [("f32", (2,))]),
    ],
)
def test_types_have_the_names_of_hlo_numpy_and_jax(text, expected):
    found = [each for each in leaves(parse_arguments(text, 0, len(text))) if isinstance(each, Argument)]
    assert [(each.element_type.name, each.sizes) for each in found] == expected


@pytest.mark.parametrize(
    ("written", "code", "place", "message"),
    [
        ("scaled(f77[N], s32[])", "XP106", 1, "unknown element type `f77`"),
        ("scaled(f32[N] s32[])", "XP102", 8, "a comma or the end of the arguments is expected"),
        ("scaled(f32[N], 2)", "XP102", 9, "expected an element type, found `2`"),
        ("scaled(f32[<=4], f32)", "XP102", 5, "expected a size, or the name of one, found `<=`"),
        ("scaled({'a': f32, 'a': f32}, f32)", "XP102", 12, "the key `a` stands twice"),
        ("scaled({'a' f32}, f32)", "XP102", 6, "expected `:` behind a key, found `f32`"),
        ("scaled({a: f32}, f32)", "XP102", 2, "expected a key in quotes, found `a`"),
        ("scaled([f32, s32}, f32)", "XP102", 10, "expected `]` to close the list, found `}`"),
        ("scaled(initial(-1), f32)", "XP102", 9, "expected a size, or the name of one, found `-1`"),
        ("scaled(f32[4], f32[)", "XP102", 13, "expected a size, or the name of one, found `)`"),
    ],
)
def test_errors_point_into_what_was_written(functions, tmp_path, written, code, place, message):
    reference = f"{functions}:{written}"
    with pytest.raises(XlaToPythonError, match=code) as caught:
        function_at_sizes(reference, tmp_path) if "N" in written else load_function(reference, tmp_path)
    (found,) = caught.value.diagnostics
    assert found.message == message and found.source.text == reference
    assert found.span.start == len(functions) + written.index("(") + place + 1


def test_what_jax_refuses_is_named_as_it_was_written(functions, tmp_path):
    with pytest.raises(XlaToPythonError, match="XP722") as caught:
        function_at_sizes(f"{functions}:product(f32[N,3], f32[4,N])", tmp_path)
    assert f"{functions}:product(f32[N,3], f32[4,N]) at N = 13 cannot be lowered" in str(caught.value)


@pytest.mark.parametrize("dtype", ["f64", "s64", "u64", "c128", "float64", "int64"])
def test_a_type_of_64_bits_switches_them_on(functions, tmp_path, dtype):
    module = load_function(f"{functions}:scaled({dtype}[4], f32[])", tmp_path)
    given = module.entry.parameters[0].array_shape.element_type
    assert given.bits == (128 if dtype == "c128" else 64)
    assert pytest.importorskip("jax.numpy").ones(1, float).dtype == np.float32, "only while it is traced"
    xla2py.emit(module).load().main(np.ones(4, given.dtype), np.float32(2))


def test_other_types_leave_it_off(functions, tmp_path):
    module = load_function(f"{functions}:scaled(s32[4], f32[])", tmp_path)
    assert module.entry.root.array_shape.element_type.name == "f32"


def test_a_free_array_of_64_bits_switches_them_on():
    emitted = xla2py.emit(xla2py.from_jax(jnp.sin, xla2py.array("N", "float64")))
    assert emitted.load().main(np.ones(5)).dtype == np.float64


def test_examples_of_64_bits_are_warned_of(monkeypatch):
    jax, jnp = pytest.importorskip("jax"), pytest.importorskip("jax.numpy")
    monkeypatch.setattr(free_arrays, "required_jax", lambda: jax)
    with pytest.warns(UserWarning, match="float64 is float32, int64 is int32 in the module; JAX_ENABLE_X64=1"):
        xla2py.from_jax(lambda x, n: x * n, np.ones(3), np.arange(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xla2py.from_jax(jnp.sin, np.ones(3, np.float32))
        xla2py.from_jax(jnp.sin, 1.5)
        xla2py.from_jax(lambda key: jax.random.normal(key, (2,)), jax.random.key(0))
        with jax.enable_x64(True):
            xla2py.from_jax(jnp.sin, np.ones(3))


def test_trees_of_arguments(functions, tmp_path):
    module = xla2py.emit(
        load_function(f"{functions}:layer({{'w': f32[3,2], 'b': [f32[2]]}}, f32[N,3])", tmp_path, {"N": 4})
    )
    p, x = {"w": np.ones((3, 2), np.float32), "b": [np.float32([1, 2])]}, np.ones((4, 3), np.float32)
    np.testing.assert_array_equal(module.load().main(p, x), x @ p["w"] + p["b"][0])


@pytest.mark.parametrize("given", ["Cell.initial(N, 3)", "Cell.initial()", "Cell.initial(4)"])
def test_objects_of_the_module_stand_for_their_types(functions, tmp_path, given):
    module = load_function(f"{functions}:layer(Cell.parameters, {given})", tmp_path, {"N": 4})
    wanted = load_function(f"{functions}:layer({{'w': f32[3,2], 'b': [f32[2]]}}, f32[4,3])", tmp_path)
    assert xla2py.emit(module).source == xla2py.emit(wanted).source


@pytest.mark.parametrize(
    ("given", "code"), [("floaf32", "XP721"), ("Cell.initial(1, 2, 3)", "XP721"), ("f(N)", "XP425")]
)
def test_objects_that_the_module_lacks_are_named(functions, tmp_path, given, code):
    with pytest.raises(XlaToPythonError, match=code):
        load_function(f"{functions}:layer({given}, f32[4,3])", tmp_path)


def test_an_argument_whose_size_alone_is_read_stays_one(tmp_path):
    (tmp_path / "of_sizes.py").write_text("def counted(x, y):\n    return y * x.shape[0]\n")
    text = xla2py.emit(function_at_sizes("of_sizes:counted(f32[N], f32[])", tmp_path)).source
    assert "return y * n" in text and "n = len(x)" in text
    assert "def main(y: " in xla2py.emit(load_function("of_sizes:counted(f32[4], f32[])", tmp_path)).source
    free = xla2py.from_jax(lambda x, y: y * x.shape[0], xla2py.array("N"), xla2py.array("M"))
    assert "n = len(x)" in xla2py.emit(free).source
