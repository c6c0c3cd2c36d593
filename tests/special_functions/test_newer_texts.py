"""Special functions as newer versions of JAX write them are calls, too: its texts, and what its XLA gives for them."""

import re
from pathlib import Path

import numpy as np
import pytest
from ml_dtypes import bfloat16, finfo

import xla2py
from xla2py.tests.passes.raising import main
from xla2py.tests.targets.running import on_device
from xla2py.tests.whole import crossed, much
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child

TEXTS = {path.name.removesuffix(".hlo"): path for path in sorted(Path(__file__).parent.glob("jax_*/*.hlo"))}
TYPES = {"f16": np.float16, "bf16": bfloat16, "f32": np.float32, "f64": np.float64}
TYPES |= {"c64": np.complex64, "c128": np.complex128}
# In units of the last place of the largest factor, 8 by default: JAX's functions differ from ours.
AS_XLA = {
    "betainc.f64": 3e4,
    "betainc_in_float64.f32": 100,
    "betaln.f64": 100,
    "betaln_in_float64.f32": 100,
    "erfcx.f64": 150,
    "gammainc_with_limits": 4e3,
    "gammaincc_with_limits": 4e3,
    "igamma_grad_a": 4e3,
    "gaussian": 2,
    "kl_div": 40,
    "kl_div_in_float32": 20,
    "ndtr_slope.f32": 150,  # XLA rounds what is squared
    "polygamma_with_limits": 4e3,
    "random_gamma_grad": 4e3,
    "sinc_curvature": 40,
}
LIMITS = [  # of functions that give something else in texts of older versions
    ("digamma_with_limits", (0.0,), -np.inf),
    ("gammainc_with_limits", (np.inf, 3.0), 0.0),
    ("gammainc_with_limits", (np.inf, np.inf), np.nan),
    ("gammaincc_with_limits", (np.inf, 3.0), 1.0),
    ("gammaincc_with_limits", (np.inf, -1.0), np.nan),
    ("polygamma_with_limits", (0.0, 0.0), -np.inf),
    ("expi_with_limits", (0.0,), -np.inf),
    ("expn_with_limits", (3.0, 0.0), 0.5),
    ("expn_with_limits", (1.75, 0.0), np.inf),
    ("expn_with_limits", (-1.0, 2.0), np.nan),
    ("expn_with_limits", (2.0, np.inf), 0.0),
    ("sinc", (np.inf,), 0.0),
    ("sinc", (-3.0,), 0.0),
    ("sinc_slope", (np.inf, 1.0), 0.0),
    ("sinc_slope", (0.0, 1.0), 0.0),
    ("gaussian", (-np.inf,), 0.0),
    ("ndtr_slope", (np.inf, 1.0), 0.0),
]
NEARLY = [
    ("lgamma_in_float64.f32", "972.521484", "972.5"),  # in a table
    ("lgamma_in_float64.f32", "constant(-0.0657293424)", "constant(-0.06572)"),
    ("np.hypot.f32", "constant(9.22337204e+18)", "constant(9e+18)"),
    ("np.hypot.f32", "direction=LE", "direction=LT"),
    ("digamma_with_limits.f32", "constant(-inf)", "constant(inf)"),
    ("sinc.f32", "round-nearest-even", "round-nearest-afz"),
    ("rel_entr.f32", "constant(0.5)", "constant(0.25)"),
    ("expi_with_limits.f32", "window={size=2x1 pad=1_0x0_0}", "window={size=2x1 pad=0_1x0_0}"),
    ("expn_with_limits.f32", "direction=GT", "direction=GE"),
    ("expn_with_limits.f32", "constant(5000)", "constant(500)"),
    ("erfcx_in_float64.f32", "opt-barrier", "negate"),
    ("gaussian.f32", "constant(11)", "constant(12)"),
    ("gaussian.f32", "constant(4294963200)", "constant(4294959104)"),
    ("ndtr_slope.f32", "constant(-1.12837923)", "constant(-1.128)"),
    ("sinc_slope.f32", "direction=NE", "direction=EQ"),
    ("log_ratio.f32", "constant(2)", "constant(4)"),
]


def own_name(function):
    return re.sub(r"_in_float\d+$", "", function)


def numbers_of(row, dtype):
    return np.array(list(map(complex if issubclass(dtype, np.complexfloating) else float, row))).astype(dtype)


def read(name):
    """The text of that name, its arguments, and what XLA gives for these."""
    text = TEXTS[name].read_text("utf-8")
    rows = [line.removeprefix("// ").split() for line in text.splitlines()[1:] if line.startswith("// ")]
    *arrays, expected = (numbers_of(row, TYPES[name.rpartition(".")[2]]) for row in rows)
    return text, arrays, expected


@pytest.mark.parametrize("name", much([*TEXTS][::2], TEXTS))
def test_a_call_gives_what_xla_gives(name):
    text, arrays, expected = read(name)
    function = name.rpartition(".")[0]
    own = own_name(function)
    own = f"{own}_float64" if own == "erfcx" else own
    module = xla2py.emit(text)
    statements = module.source.partition("def main(")[2].partition("\n\n\n")[0]
    assert f"{own}(" in statements and "where" not in statements
    found = module.load().main(*arrays)
    assert found.dtype == expected.dtype
    limits = finfo(found.dtype)
    eps = float(limits.eps)
    rtol = AS_XLA.get(name, AS_XLA.get(function, 8)) * eps
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=max(rtol / 10, float(limits.tiny)))


@pytest.mark.parametrize(("row", "suffix"), crossed(LIMITS, ["f32", "f64"]))
def test_limits(row, suffix):
    name, arguments, limit = row
    text, arrays, _ = read(f"{name}.{suffix}")
    given = [np.full_like(array, number) for array, number in zip(arrays, arguments, strict=True)]
    found = xla2py.emit(text).load().main(*given)
    np.testing.assert_array_equal(found, np.full_like(found, limit))


@pytest.mark.parametrize(
    "name",
    [
        "digamma_with_limits",
        "expi_with_limits",
        "gammainc_with_limits",
        "kl_div",
        "lgamma_in_float64",
        "np.hypot",
        "ndtr_slope",
        "sinc_curvature",
        "sinc_slope",
    ],
)
def test_on_other_targets(name):
    text, arrays, expected = read(f"{name}.f32")
    function = own_name(name).removeprefix("np.")
    module = xla2py.emit(text, "cupy", format=False)
    assert f"{function}(" in module.source
    assert function in xla2py.emit(text, "dask", format=False).source
    finite = np.isfinite(arrays).all(axis=0) & np.isfinite(expected)
    on_cupy = np.asarray(on_device(text, arrays, module)[0])
    np.testing.assert_allclose(on_cupy[finite], expected[finite], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("name", "old", "new"), NEARLY)
def test_near_misses_stay(name, old, new):
    text, _, _ = read(name)
    assert old in text
    function = own_name(name.removesuffix(".f32"))
    assert f"{function}(" not in main(text.replace(old, new))


def test_the_magnitude_of_complex_numbers():
    """JAX writes it as the function of two parts."""
    text, (x, y), _ = read("np.hypot.f32")
    (size,) = x.shape
    begin = text.index("ENTRY")
    text = (
        text[:begin].replace(f"(f32[{size}]{{0}}, f32[{size}]{{0}})->", f"(c64[{size}]{{0}})->")
        + f"""ENTRY main {{
      z = c64[{size}] parameter(0)
      x = f32[{size}] real(z)
      y = f32[{size}] imag(z)
      ROOT size = f32[{size}] call(x, y), to_apply=hypot.1
    }}"""
    )
    assert main(text) == "return np.abs(z)"
    z = np.empty(size, np.complex64)
    z.real, z.imag = x, y
    np.testing.assert_array_max_ulp(xla2py.emit(text).load().main(z), run_hlo_in_child(text, z)[0], 2)
