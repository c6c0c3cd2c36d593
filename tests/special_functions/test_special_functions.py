"""Special functions that are written out become calls again, and nothing that is nearly one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import assert_agrees, emitted, hlo, main
from xla2py.tests.recording.lazy_jax import jax, lax
from xla2py.tests.special_functions.functions import FUNCTIONS, samples
from xla2py.tests.targets.running import on_device, on_numpy
from xla2py.tests.whole import crossed, much
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child
from xla2py.transpile.equivalence.verdicts.comparison import flatten
from xla2py.transpile.hlo.custom_calls.special_functions import WITH_FLOAT64
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.printer import print_module
from xla2py.transpile.passes.special_functions import special_functions
from xla2py.transpile.passes.special_functions.library import Library

pytestmark = pytest.mark.texts_of("0.10")  # what newer versions write: test_newer_texts.py

PASS = ["special_functions"]
DTYPES = [np.float32, np.float64]


def each_of(names):
    """Of the scope of a module: tests of one function run one after another, and its library is read once."""
    return pytest.mark.parametrize("name", names, scope="module")


# In units of the last place of the largest factor: XLA's own functions differ from NumPy's, and large powers tell.
AS_XLA = {
    "betainc": 3e4,
    "expi": 1e3,  # whose zero is not far
    "gammainc": 4e3,
    "gammaincc": 4e3,
    "igamma_grad_a": 4e3,
    "random_gamma_grad": 4e3,
    "zeta": 4e3,
    "polygamma": 4e3,
}

# Which has no erf, no fmod, and its sign has no -0.
NOT_IN_THE_STANDARD = ("erfcx", "expi", "expn", "i1e", "log_ndtr", "polygamma", "zeta")
# Units of the last place, 4 by default: what is written out has 1 + 4e-7 for gamma(2), and sums alternating terms.
WRITTEN_OUT = {"expi": 1e4, "expn": 1e4, "trigamma": 8}


def text_of(name: str, dtype: type, *arrays: np.ndarray) -> str:
    with jax.enable_x64(dtype is np.float64):
        return hlo(FUNCTIONS[name][0], *arrays)


def test_counters_of_64_bits():
    """Values agree with XLA where JAX counts the steps in other integers, with 64-bit types."""
    arrays = list(samples("betainc", np.float32))
    with jax.enable_x64(True):
        text = hlo(FUNCTIONS["betainc"][0], *arrays)
    assert main(text).startswith("return betainc(")


def ordinary(function, arrays):
    with np.errstate(all="ignore"):
        return function(*arrays)


@pytest.mark.parametrize(("name", "dtype"), crossed(FUNCTIONS, DTYPES), scope="module")
def test_a_call_gives_what_the_instructions_and_xla_give(name, dtype):
    arrays = list(samples(name, dtype))
    text = text_of(name, dtype, *arrays)
    own = f"{name}_float64" if dtype is np.float64 and name in WITH_FLOAT64 else name
    assert main(text).startswith(f"return {own}(")
    call, written_out = (emitted(text, disable_passes=passes).load().main for passes in ([], PASS))
    found = call(*arrays)  # without a warning: an error in these tests
    assert found.dtype == dtype
    np.testing.assert_array_max_ulp(found, ordinary(written_out, arrays), WRITTEN_OUT.get(name, 4))
    with jax.enable_x64(dtype is np.float64):
        expected = np.asarray(jax.jit(FUNCTIONS[name][0])(*arrays))
    if name == "zeta":  # of infinity, XLA gives NaN on processors that flush the smallest numbers to 0
        finite = np.isfinite(arrays).all(axis=0)
        found, expected = found[finite], expected[finite]
    rtol = AS_XLA.get(name, 100) * np.finfo(dtype).eps
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=max(rtol / 10, np.finfo(dtype).tiny))


@each_of(much([*FUNCTIONS][::2], FUNCTIONS))
def test_on_every_target(name):
    arrays = list(samples(name, np.float32, 40))
    text = text_of(name, np.float32, *arrays)
    expected = on_numpy(text, arrays)
    module = xla2py.emit(text, "cupy", format=False)
    assert f"{name.removeprefix('np.')}(" in module.source
    finite = np.isfinite(arrays).all(axis=0)  # the smallest numbers are 0 there, which zeta divides by
    on_cupy = np.asarray(on_device(text, arrays, module)[0])
    np.testing.assert_allclose(on_cupy[finite], expected[0][finite], rtol=2e-6, atol=1e-14)
    if name not in NOT_IN_THE_STANDARD:
        array_api = xla2py.emit(text, "array-api", format=False).load().main(*arrays)
        np.testing.assert_array_max_ulp(array_api, expected[0], WRITTEN_OUT.get(name, 4))


@each_of(much([*FUNCTIONS][::3], FUNCTIONS))
def test_in_chunks(name):
    da = pytest.importorskip("dask.array")
    arrays = list(samples(name, np.float32, 40))
    arrays = [np.resize(array, (20, 24)) for array in arrays]
    text = text_of(name, np.float32, *arrays)
    main = xla2py.emit(text, "dask", format=False).load().main
    found = main(*(da.from_array(array, chunks=(7, 24)) for array in arrays)).compute(scheduler="sync")
    np.testing.assert_array_max_ulp(found, on_numpy(text, arrays)[0], 4)


@each_of(much([*FUNCTIONS][1::3], FUNCTIONS))
def test_of_numbers(name):
    arrays = [np.float32(0.75)] * FUNCTIONS[name][1]
    text = text_of(name, np.float32, *arrays)
    assert main(text).startswith(f"return {name}(")
    np.testing.assert_allclose(on_numpy(text, arrays)[0], run_hlo_in_child(text, *arrays)[0], rtol=2e-5)


def test_in_larger_programs():
    """Functions are recognised in gradients and loops, of parameters that are numbers, and twice in a program."""

    def loss(a, x):
        scores = jax.scipy.stats.gamma.logcdf(x, 2.5) + jax.scipy.special.gammainc(a[:, None], x)
        scores = scores + jax.scipy.special.betainc(2.0, 3.0, x / 9) * lax.lgamma(x)
        return lax.fori_loop(0, 3, lambda n, total: total + lax.digamma(x + n), scores).sum()

    rng = np.random.default_rng(1)
    arrays = [rng.uniform(1, 2, 4).astype(np.float32), rng.uniform(1, 8, (4, 5)).astype(np.float32)]
    for function in (loss, jax.grad(lambda a, x: jax.scipy.special.gammainc(a[:, None], x).sum())):
        text = hlo(function, *arrays)
        body = xla2py.emit(text).source
        for name in ("lgamma(", "digamma("):
            assert name in body
        assert "gammainc(" in body or "igamma_grad_a(" in body
        found = [leaf for _, leaf in flatten(xla2py.emit(text).load().main(*arrays))]
        expected = run_hlo_in_child(text, *arrays)
        for mine, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, other, rtol=3e-4, atol=1e-5)


def test_narrow_floats_are_computed_in_float32():
    x = np.linspace(0.5, 6, 12).astype(np.float16)
    text = hlo(lax.lgamma, x)
    assert "lgamma(x.astype(np.float32))" in main(text)
    np.testing.assert_allclose(on_numpy(text, [x])[0], run_hlo_in_child(text, x)[0], rtol=1e-3, atol=1e-6)


NEARLY = [
    ("lgamma", "676.520386", "676.525"),
    ("lgamma", "constant(0.5)", "constant(0.25)"),
    ("digamma", "direction=LE", "direction=LT"),
    ("betainc", "constant(200)", "constant(20)"),
    ("gammainc", "constant(2000)", "constant(20)"),
    ("xlogy", "direction=NE", "direction=LE"),
    ("np.nextafter", "direction=GT", "direction=GE"),
    ("i0e", "constant(0.804490387)", "constant(0.8)"),
    ("erfcx", "constant({6.5625, ", "constant({6.5, "),
    ("log_ndtr", "constant(15)", "constant(14)"),
    ("ndtri", "constant({1, 15.7799883, ", "constant({1, 15.75, "),
    ("ndtri", "slice={[8:9]}", "slice={[7:8]}"),
]


@pytest.mark.parametrize(("name", "old", "new"), NEARLY)
def test_what_is_nearly_a_function_stays(name, old, new):
    arrays = list(samples(name, np.float32, 20)[:, -20:])
    text = text_of(name, np.float32, *arrays)
    assert old in text
    changed = text.replace(old, new)
    assert not main(changed).startswith(f"return {name}(")
    np.testing.assert_allclose(
        on_numpy(changed, arrays)[0], run_hlo_in_child(changed, *arrays)[0], rtol=1e-3, atol=1e-6, equal_nan=True
    )


def test_any_element_is_not_each():
    """A loop whose elements stop together has another body than one whose elements stop each by itself."""
    arrays = [np.float32([0.5, 2]), np.float32([0.25, 9])]
    text = text_of("gammainc", np.float32, *arrays)
    assert "or(" in text and "gammainc(" not in main(text.replace(" or(", " and("))


def test_values_inside_that_are_needed_stay():
    def both(x):
        return lax.lgamma(x), jax.numpy.log1p((x - 1) / 7.5)

    x = np.float32([1.5, 2.5])
    text = hlo(both, x)
    assert "lgamma(x)" in main(text) and "log1p" in main(text)
    for mine, other in zip(on_numpy(text, [x]), run_hlo_in_child(text, x), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5)


def test_a_library_is_read_once_and_programs_add_nothing_to_it():
    module = parse_module(text_of("digamma", np.float32, np.float32([1, 2])))
    one, other = Library.of_module(module), Library.of_module(module)
    assert one.patterns is other.patterns and one.terms is not other.terms
    shared = one.terms.shared
    count = len(shared)
    made = one.terms.make("leaf", "f32", "of one program")
    assert made is one.terms.make("leaf", "f32", "of one program") and made not in other.terms.known.values()
    assert len(shared) == count and all(each is other.terms.make(*key) for key, each in shared.items())


def test_calls_of_calls_take_no_time():
    """Each computation calls the one before it twice: seen through, there would be 2**60 instructions."""
    lines = ["HloModule m"]
    for k in range(60):
        body = f"call(y), to_apply=f{k - 1}" if k else "log(y)"
        lines += [f"f{k} {{", "x = f32[2] parameter(0)", "z = f32[2] constant({0, 1})", "y = f32[2] add(x, z)"]
        lines += [f"a = f32[2] {body}", f"b = f32[2] {body.replace('(y)', '(x)')}", "ROOT r = f32[2] add(a, b)", "}"]
    lines += ["ENTRY main {", "p = f32[2] parameter(0)", "zero = f32[] constant(0)", "w = f32[2] broadcast(zero)"]
    lines += ["c = pred[2] compare(p, w), direction=NE", "q = f32[2] call(p), to_apply=f59"]
    lines += ["ROOT r = f32[2] select(c, q, w)", "}"]
    assert "main" in xla2py.emit("\n".join(lines), format=False).source


def test_what_comes_after_an_instruction_comes_after_its_call():
    """Also where that was only a part of what the call takes the place of; the result is HLO again."""
    module = parse_module(text_of("digamma", np.float32, *samples("digamma", np.float32)))
    before, root = module.entry.instructions, module.entry.root
    last = root.replace(name="last", opcode="negate", operands=(root,), attributes={"control-predecessors": before})
    entry = replace(module.entry, instructions=(*before, last), root=last)
    computations = tuple(entry if each is module.entry else each for each in module.computations)
    found, _ = special_functions(replace(module, computations=computations, entry=entry), lambda node: True)
    printed = print_module(found)
    assert "xla2py.digamma" in printed and print_module(parse_module(printed)) == printed
    (call,) = (each for each in found.entry.instructions if each.opcode == "custom-call")
    assert call in found.entry.root["control-predecessors"]


def test_arguments_that_one_function_picks_are_told_apart():
    """A function that is called for each argument has one slice inside, which is of another array each time."""
    pick = jax.jit(lambda x, n: lax.dynamic_slice(x, (n,), (2,)))

    def function(a, x, n):
        return lax.igamma(pick(a, n), pick(x, n))

    arrays = [np.float32([1, 2, 3]), np.float32([0.5, 4, 2]), np.int32(1)]
    text = hlo(function, *arrays)
    assert text.count("dynamic-slice(") == 1 and "gammainc(" in main(text)
    np.testing.assert_allclose(on_numpy(text, arrays)[0], run_hlo_in_child(text, *arrays)[0], rtol=1e-5)


def test_a_function_that_is_computed_twice_is_named_both_times():
    x = samples("lgamma", np.float32)[0]
    text = hlo(lambda x: lax.lgamma(x) * lax.cos(lax.lgamma(x)), x)
    assert text.count("log-plus-one(") == 2 and main(text).count("lgamma(") == 1 and "2.0149" not in main(text)
    assert_agrees(text, np.abs(x) + 1, without="special_functions")
