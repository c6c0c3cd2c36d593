"""The target of the array API standard: one module computes with the arrays of every library, or is refused by name."""

import sys
import textwrap
import warnings
from importlib import invalidate_caches
from pathlib import Path

import array_api_strict
import dask.array as da
import numpy as np
import pytest

import xla2py
from xla2py.targets.array_api.prelude import products
from xla2py.transpile.equivalence.inputs.generate import make_inputs
from xla2py.transpile.errors import UnsupportedError

EXAMPLES = Path(__file__).parents[2] / "examples" / "hlo"
LIBRARIES = {"numpy": np.asarray, "strict": array_api_strict.asarray, "dask": da.asarray}


def program(parameters: str, *lines: str) -> str:
    given = [f"{'xyz'[k]} = {shape} parameter({k})" for k, shape in enumerate(parameters.split())]
    body = [*given, *lines[:-1], f"ROOT {lines[-1]}"]
    return "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\nENTRY main {\n  " + (
        "\n  ".join(body) + "\n}\n"
    )


PROGRAMS = {
    "element by element": program(
        "f32[3,4] s32[4]",
        "f = f32[4] convert(y)",
        "b = f32[3,4] broadcast(f), dimensions={1}",
        "half = f32[] constant(0.5)",
        "halves = f32[3,4] broadcast(half), dimensions={}",
        "a = f32[3,4] atan2(x, b)",
        "m = f32[3,4] maximum(a, halves)",
        "p = pred[3,4] compare(m, b), direction=LT",
        "r = f32[3,4] select(p, m, halves)",
    ),
    "sums and places": program(
        "f32[3,4]",
        "zero = f32[] constant(0)",
        "s = f32[3] reduce(x, zero), dimensions={1}, to_apply=add",
        "t = f32[4,3] transpose(x), dimensions={1,0}",
        "d = f32[3,3] dot(x, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "r = (f32[3], f32[3,3], f32[2,6]) tuple(s, d, w)",
    ).replace("  ROOT r", "  w = f32[2,6] reshape(x)\n  ROOT r"),
    "counts": program(
        "f32[3,4]",
        "number = f32[] constant(0.25)",
        "numbers = f32[3,4] broadcast(number), dimensions={}",
        "p = pred[3,4] compare(x, numbers), direction=GT",
        "ones = s32[3,4] convert(p)",
        "zero = s32[] constant(0)",
        "r = s32[4] reduce(ones, zero), dimensions={0}, to_apply=sum",
    ).replace("ENTRY", "sum { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) }\nENTRY"),
    "parts and joins": program(
        "f32[3,4,2]",
        "p = f32[2,4,2] slice(x), slice={[1:3],[0:4],[0:2]}",
        "j = f32[5,4,2] concatenate(x, p), dimensions={0}",
        "v = f32[5,4,2] reverse(j), dimensions={1}",
        "r = f32[2,5,4] transpose(v), dimensions={2,0,1}",
    ),
    "places that are computed": program(
        "f32[5,3] s32[]",
        "zero = s32[] constant(0)",
        "r = f32[2,3] dynamic-slice(x, y, zero), dynamic_slice_sizes={2,3}",
    ),
    "spectra": program("f32[4,8]", "s = c64[4,5] fft(x), fft_type=RFFT, fft_length={8}"),
    "products of several axes": program(
        "f32[2,3,4] f32[2,5,4]",
        "d = f32[2,3,5] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
        "rhs_contracting_dims={2}",
    ),
}


def arrays(results):
    if isinstance(results, tuple | list):
        return [array for part in results for array in arrays(part)]
    return [results.compute() if isinstance(results, da.Array) else results]


def outcome(text: str, library: str):
    """What the module gives with the arrays of a library, and what that of NumPy gives."""
    given = make_inputs(xla2py.load(text), 0)
    expected = arrays(xla2py.emit(text).load().main(*given))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = arrays(xla2py.emit(text, "array-api").load().main(*map(LIBRARIES[library], given)))
    if library == "strict":
        assert {type(result) for result in results} == {type(array_api_strict.asarray(0))}
    return [np.asarray(result) for result in results], expected


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_module_computes_with_the_arrays_of_every_library(name, library):
    for result, expected in zip(*outcome(PROGRAMS[name], library), strict=True):
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", "attention mlp_train_step conjugate_gradient viterbi cholesky_regression".split())
def test_examples_need_no_more_than_the_standard(name):
    text = (EXAMPLES / f"{name}.before.hlo").read_text(encoding="utf-8")
    for result, expected in zip(*outcome(text, "strict"), strict=True):
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_a_function_takes_the_namespace_and_the_device_from_its_arrays():
    steps = "i = f32[4] iota(), iota_dimension=0", "a = f32[4] add(x, i)", "r = f32[4] power(a, y)"
    text = program("f32[4] f32[4]", *steps)
    source = xla2py.emit(text, "array-api", checks=False).source
    assert source.partition("def main")[2].splitlines()[1:] == [
        "    xp = array_namespace(x, y)",
        "    here = device(x)",
        "    return (x + xp.arange(4, dtype=xp.float32, device=here)) ** y",
    ]
    plain = xla2py.emit(program("f32[4]", "r = f32[4] negate(x)"), "array-api", checks=False).source
    assert "import array_namespace" not in plain


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (program("bf16[2]", "r = bf16[2] negate(x)"), "the standard has no bfloat16"),
        (program("f32[2] f32[2]", "r = f32[2] remainder(x, y)"), "the standard has no fmod"),
        (program("f32[2]", "r = s32[2] bitcast-convert(x)"), "the standard cannot look at the bits of another type"),
        (program("s32[2] s32[2]", "r = s32[2] shift-left(x, y)"), "leaves shifts by the width of the type"),
        (program("f32[2]", "r = f32[2] erf(x)"), "it needs erf(), which is written for NumPy arrays"),
        ("ENTRY main { ROOT r = s32[4] iota(), iota_dimension=0 }", "no argument says which library"),
        (program("c64[2] c64[2] c64[2]", "r = c64[2] clamp(x, y, z)"), "the standard clips real numbers only"),
        (
            program(
                "f32[5] s32[3] f32[3]",
                "first = s32[] constant(0)",
                "fourth = s32[] constant(4)",
                "i = s32[3] clamp(first, y, fourth)",
                "r = f32[5] scatter(x, i, z), update_window_dims={}, inserted_window_dims={0}, "
                "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=last",
            ).replace("ENTRY", "last { a = f32[] parameter(0)  ROOT b = f32[] parameter(1) }\nENTRY"),
            "not assigned to at places in integer arrays",
        ),
    ],
)
def test_what_the_standard_cannot_say_is_refused_by_name(text, reason):
    with pytest.raises(UnsupportedError) as caught:
        xla2py.emit(text, "array-api")
    assert {diagnostic.code for diagnostic in caught.value.diagnostics} == {"XP301"}
    assert reason in caught.value.diagnostics[0].message


@pytest.mark.parametrize("asarray", [np.asarray, array_api_strict.asarray])
@pytest.mark.parametrize("subscripts", ["bqd,bkd->bqk", "ac,bac->ab", "ij,jk->ki", "ab,ab->", "a,b->ba"])
def test_einsum_of_two_arrays(subscripts, asarray):
    sizes = dict(zip("abcdijkq", (2, 3, 4, 5, 2, 3, 4, 2), strict=True))
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal([sizes[c] for c in part]) for part in subscripts.split("->")[0].split(","))
    product = products.einsum(subscripts, asarray(x), asarray(y))
    np.testing.assert_allclose(np.asarray(product), np.einsum(subscripts, x, y))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed distribution with a target of its own: another word for sums, and a function for ``tanh``."""
    files = {
        "elsewhere/__init__.py": """
            from pathlib import Path

            from xla2py.transpile.target import OwnCall, Target

            FOLDER = Path(__file__).parent


            def own_function(node):
                return OwnCall("squash") if node.opcode == "tanh" else None


            TARGET = Target(
                name="else-where",
                title="Elsewhere",
                namespace="ew",
                imports=("import elsewhere as ew",),
                macros=FOLDER / "macros",
                prelude=(FOLDER / "prelude",),
                own_function=own_function,
            )
        """,
        "elsewhere/macros/words.j2": """
            {% macro add(node, a, b) %}{{ xp }}.plus({{ a }}, {{ b }}){% endmacro %}
        """,
        "elsewhere/prelude/functions.py": """
            import elsewhere as ew


            def squash(x):
                return ew.tanh(x)
        """,
        "elsewhere/prelude/rows.toml": """
            squash = { shape = "()->()", names = ["squashed"] }
        """,
        "elsewhere-1.dist-info/METADATA": """
            Name: elsewhere
            Version: 1
        """,
        "elsewhere-1.dist-info/entry_points.txt": """
            [xla2py.targets]
            else-where = elsewhere:TARGET
        """,
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    invalidate_caches()
    yield "else-where"
    for name in [name for name in sys.modules if name.split(".")[0] == "elsewhere"]:
        del sys.modules[name]


def test_another_package_brings_a_target_with_macros_and_prelude(package):
    text = program("f32[2] f32[2]", "t = f32[2] tanh(x)", "u = f32[2] multiply(t, y)", "r = f32[2] add(u, t)")
    source = xla2py.emit(text, package, checks=False).source
    assert "import elsewhere as ew" in source
    assert source.partition("def main")[2].splitlines()[1:3] == [
        "    squashed = squash(x)",
        "    return ew.plus(squashed * y, squashed)",
    ]
    assert "def squash(x):\n    return ew.tanh(x)\n" in source
    assert "for Elsewhere." in source and "-t else-where" in source
