"""Modules for any size: their text, their values at sizes that no text was made for, and what is refused."""

import random
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.tests.whole import much
from xla2py.transpile.equivalence.inputs.generate import make_inputs, nest
from xla2py.transpile.errors import UnsupportedError
from xla2py.transpile.frontends.witnesses import Witnesses, free_sizes, function_at_sizes, parse_sizes

KERNELS = '''"""Functions of arrays of any size."""

import jax
import jax.numpy as jnp


def attention(q, k, v):
    scores = jnp.einsum("btd,bsd->bts", q, k) / jnp.sqrt(q.shape[-1])
    causal = jnp.tril(jnp.ones((q.shape[1], q.shape[1]), bool))
    return jax.nn.softmax(jnp.where(causal, scores, -jnp.inf), -1) @ v


def heads(x, w):
    b, t, d = x.shape
    return jnp.moveaxis((x @ w).reshape(b, t, 4, d // 4), 2, 1)


def running(x, h, w):
    def step(h, x):
        h = jnp.tanh(x @ w + h)
        return h, h

    return jax.lax.scan(step, h, x)


def halves(x):
    half = len(x) // 2
    return x[:half].sum() / half + x[-1] * len(x), jnp.arange(len(x) - 1)[::-1]


def median(x):
    return jnp.median(x, 0)


def quantile(x):
    return jnp.quantile(x, 0.3, axis=0)


def marks(x):
    return jnp.where(jnp.arange(len(x)) == 1, 7.0, x) * jnp.arange(4.0)[:, None]


def places(x):
    n = len(x)
    weights = jnp.sin(jnp.arange(n) * 0.5 + 1) * jnp.cos(jnp.arange(n) * 0.5)
    return jax.nn.softmax(x * n, -1) @ x.T, weights[:, None] * x.mean() + weights


def split(x, y):
    b, t, d = x.shape
    q, k = (jnp.moveaxis(each.reshape(b, -1, 4, d // 4), 2, 1) for each in (x, y))
    return jax.nn.softmax(q @ k.mT * (d // 4) ** -0.5, -1) * (1 / (t + 2))


def smooth(x):
    return jnp.fft.irfft(jnp.fft.rfft(x) / 2, n=x.shape[-1]), ((x - x.mean(0)) ** 2).sum(0) * (2 / (len(x) - 1))


def pooled(x):
    b, h, w, c = x.shape
    y = (x - x.mean((0, 1, 2))) ** 2
    return x.reshape(b, h // 2, 2, w // 2, 2, c).max((2, 4)), y.sum((0, 1, 2)) / (b * h * w - 1) + y


def large(x, w, y, t):
    return jax.nn.softmax(x, -1), jax.lax.erf(x), (x * w).sum(-1), y @ y.mT, jnp.searchsorted(t, x)


def steps(x):
    return x * (2 if len(x) % 2 else 3)


def table(x):
    return x + jnp.array([k * k % 7 for k in range(len(x))], x.dtype)
'''
PROGRAMS = [
    "attention(f32[B,T,D], f32[B,T,D], f32[B,T,D])",
    "heads(f32[B,T,D], f32[D,D])",
    "running(f32[T,B,8], f32[B,8], f32[8,8])",
    "halves(f32[N])",
    "median(f32[N,3])",
    "quantile(f32[N,3])",
    "marks(f32[N])",
    "split(f32[B,T,D], f32[B,S,D])",
    "smooth(f32[B,N])",
    "pooled(f32[B,H,W,3])",
]


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("any_size_kernels.py").write_text(KERNELS)


def sizes_of(module, seed):
    """Sizes that a module takes: its least ones, then others."""
    draw = random.Random(seed)
    possible = {name: list(own[:40]) if seed else [own.start] for name, own in module.SIZES.items()}
    return {name: draw.choice(numbers) for name, numbers in possible.items()}


def at_some_sizes(program, count, target="numpy", given=lambda array: array, rtol=1e-6, **options):
    """A module for any size, which gives what modules for each of some sizes do."""
    witnesses = function_at_sizes(f"any_size_kernels:{program}", Path())
    emitted = xla2py.emit(witnesses, target, **options)
    generic = emitted.load()
    for seed in range(count):
        module = witnesses.at(sizes_of(generic, seed))
        arguments = nest([parameter.shape for parameter in module.entry.parameters], make_inputs(module, seed))
        own = xla2py.emit(module, format=False, nested=False).load().main(*arguments)
        results = generic.main(*jax.tree_util.tree_map(given, arguments))
        found = jax.tree_util.tree_leaves(results, is_leaf=lambda x: hasattr(x, "dtype"))
        for one, expected in zip(map(np.asarray, found), jax.tree_util.tree_leaves(own), strict=True):
            assert one.dtype == expected.dtype
            np.testing.assert_allclose(one, expected, rtol=rtol, atol=10 * rtol)
    return emitted


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_are_those_of_modules_for_each_size(program, kernels):
    at_some_sizes(program, much(4, 10))


@pytest.mark.parametrize("program", ["places(f32[N,K])", "running(f32[T,B,8], f32[B,8], f32[8,8])"])
def test_loops_of_kernels_read_sizes_from_their_arguments(program, kernels):
    source = at_some_sizes(program, much(2, 5), rtol=2e-5, style="fused").source
    assert "@njit" in source and "(13" not in source.partition("def main")[0].partition("SIZES")[2]
    if program.startswith("places"):  # what no argument has is handed to a kernel
        assert re.search(r"def \w+_kernel\(n: int\)", source) and re.search(r"(?<!def )\b\w+_kernel\(n\)", source)


@pytest.mark.parametrize("options", [{"threads": "2", "style": "fused"}, {"graph": True, "target": "cupy"}])
def test_what_hangs_on_sizes_is_refused_by_name(options):
    with pytest.raises(UnsupportedError, match="XP426"):
        xla2py.emit(xla2py.from_jax(jnp.sin, xla2py.array("N")), **options)


@pytest.mark.parametrize("function", [lambda x: x * (1 / len(x)), jax.scipy.integrate.trapezoid])
def test_sizes_at_which_a_function_raises_are_not_among_those_of_its_module(function):
    """At 0 one divides by it, and the other looks for a last element."""
    assert xla2py.emit(xla2py.from_jax(function, xla2py.array("N"))).sizes["N"].start in (1, 2)


def test_text_reads_sizes_from_its_arguments(kernels, xla2py):
    _, out, _ = xla2py("emit", "any_size_kernels:attention(f32[B,T,D], f32[B,T,D], f32[B,T,D])")
    assert 'SIGNATURE = {"q": "float32[B, T, D]", "k": "float32[B, T, D]", "v": "float32[B, T, D]"}' in " ".join(
        out.split()
    ).replace("{ ", "{").replace(", }", "}")
    assert "    _, t, d = q.shape\n" in out and "np.tri(t, dtype=bool)" in out and "/ d**0.5" in out
    assert "returns float32[B, T, D]" in out
    assert (
        "# regenerate: xla2py emit 'any_size_kernels:attention(f32[B,T,D], f32[B,T,D], f32[B,T,D])' -t numpy\n" in out
    )


def test_numbers_that_follow_from_expressions_of_sizes_are_told_by_these(kernels, xla2py):
    _, out, _ = xla2py("emit", "any_size_kernels:split(f32[B,T,D], f32[B,S,D])")
    assert re.search(r"\(1 / \(d // 4\) ?\*\* ?0\.5\)", out) and "(1 / (t + 2))" in out
    _, out, _ = xla2py("emit", "any_size_kernels:smooth(f32[B,N])")
    assert "np.fft.irfft(np.fft.rfft(x) / 2, n)" in out


def test_what_large_arrays_have_functions_for_is_one_text(kernels, xla2py):
    """There is no size from which on the module for any has another."""
    program = "any_size_kernels:large(f32[B,H,W,C], f32[C], s32[H,W], f32[N])"
    _, out, _ = xla2py("emit", program)
    assert " ".join(f'"{name}": range(2, 2**63),' for name in "BHWCN") in " ".join(out.split())
    numbers = {"B": 31, "H": 33, "W": 35, "C": 37, "N": 40}
    _, one, _ = xla2py("emit", re.sub("[BHWCN](?=[],])", lambda match: str(numbers[match[0]]), program))
    assert "in_blocks(" not in out and "in_blocks(" in one


def test_sizes_of_which_some_must_be_even_are_so_whatever_was_tried_first(kernels, xla2py):
    _, out, _ = xla2py("emit", "any_size_kernels:pooled(f32[B,H,W,3])")
    assert re.search(r'"B": range\(\d+, 2\*\*63\),\s*"H": range\(\d+, 2\*\*63, 2\)', out) and "ddof=1" not in out


def test_least_multiples_are_small():
    def grouped(x):
        y = x.reshape(*x.shape[:2], 8, x.shape[2] // 8)
        return ((y - y.mean((1, 3), keepdims=True)) / jnp.sqrt(y.var((1, 3), keepdims=True) + 1)).reshape(x.shape)

    emitted = xla2py.emit(xla2py.from_jax(grouped, xla2py.array("B, T, C")))
    assert [own.start for own in emitted.sizes.values()] == [3, 4, 40] and emitted.sizes["C"].step == 8
    x = np.arange(3 * 4 * 40, dtype=np.float32).reshape(3, 4, 40)
    np.testing.assert_allclose(emitted.load().main(x), grouped(x), rtol=1e-5)


def test_sizes_that_must_be_multiples_are_so_in_the_check(kernels, xla2py):
    _, out, _ = xla2py("emit", "any_size_kernels:heads(f32[B,T,D], f32[D,D])")
    assert "2**63, 4)" in out and ".reshape(b, t, 4, d // 4)" in out


def test_arguments_whose_sizes_differ_are_refused():
    generic = xla2py.emit(xla2py.from_jax(jnp.dot, xla2py.array("N, K"), xla2py.array("K, 3"))).load()
    assert generic.main(np.ones((9, 4), np.float32), np.ones((4, 3), np.float32)).shape == (9, 3)
    with pytest.raises(TypeError, match=r"expected float32\[K, 3\], K = 4, got float32\[5, 3\]"):
        generic.main(np.ones((9, 4), np.float32), np.ones((5, 3), np.float32))
    with pytest.raises(TypeError, match=r"expected float32\[N, K\].*, got float64"):
        generic.main(np.ones((9, 4)), np.ones((4, 3), np.float32))
    with pytest.raises(TypeError, match=r"^a: N is 0, must be at least 1$"):
        generic.main(np.ones((0, 4), np.float32), np.ones((4, 3), np.float32))
    with pytest.raises(TypeError, match=r"^a: expected float32\[N, K\], got \(int\)$"):
        generic.main([1], np.ones((4, 3), np.float32))
    paired = xla2py.emit(xla2py.from_jax(lambda x: x.reshape(-1, 4).sum(0), xla2py.array("N"))).load()
    with pytest.raises(TypeError, match=r"^x: N is 7, must be at least 8, a multiple of 4$"):
        paired.main(np.ones(7, np.float32))


@pytest.mark.filterwarnings("ignore:.*table has NaN")
def test_nan_is_the_same_constant_at_all_sizes():
    table = np.random.default_rng(0).normal(size=(16, 40)).astype(np.float32)
    table[3, 5] = np.nan
    module = xla2py.emit(xla2py.from_jax(lambda x: x @ table, xla2py.array("N,16"))).load()
    x = np.ones((3, 16), np.float32)
    np.testing.assert_allclose(module.main(x), x @ table, rtol=1e-5)


# The standard has no median; the weights that one is made of follow from sizes in several steps.
@pytest.mark.parametrize("program", [program for program in PROGRAMS if "N,3" not in program])
def test_the_array_api_has_modules_for_any_size(program, kernels):
    strict = pytest.importorskip("array_api_strict")
    at_some_sizes(program, much(2, 4), "array-api", strict.asarray, rtol=1e-5)


def test_dumps_of_one_program_become_one_module(kernels, xla2py):
    for number in (13, 18, 23):
        shape = jax.ShapeDtypeStruct((number, 2 * number + 1), np.float32)
        text = jax.jit(lambda x: x.reshape(-1)[1:] * len(x)).lower(shape).as_text("hlo")
        Path(f"at{number}.hlo").write_text(text)
    files = ("at13.hlo", "at18.hlo", "at23.hlo")
    code, out, err = xla2py("emit", *files, "--sizes", "N=13,18,23", "--sizes", "K=27,37,47")
    assert code == 0, err
    assert "float32[N, K]" in out and "* n" in out and ".hlo --sizes N=13,18,23 --sizes K=27,37,47 -t" in out
    code, _, err = xla2py("emit", *files[:2], "--sizes", "N=13,18,23")
    assert code == 2 and "XP425" in err
    code, _, err = xla2py("emit", *files, "--sizes", "N=13,18,23")
    assert code and "XP424" in err


@pytest.mark.parametrize(
    "arguments, code",
    [
        (("any_size_kernels:steps(f32[N])",), "XP424"),
        (("any_size_kernels:table(f32[N])",), "XP424"),
        (("any_size_kernels:halves(f32[N])", "-t", "dask"), "XP425"),
        (("any_size_kernels:halves(f32[N])", "--checks", "cast"), "XP426"),
        (("any_size_kernels:halves(f32[N])", "--sizes", "M=3,4,5"), "XP425"),
        (("any_size_kernels:halves(f32[N])", "--sizes", "N=3,4"), "XP425"),
        (("any_size_kernels:halves(f32[N])", "--sizes", "N=3,4,x"), "XP425"),
    ],
)
def test_what_has_no_module_for_any_size_is_refused_with_a_code(arguments, code, kernels, xla2py):
    exit_code, out, err = xla2py("emit", *arguments)
    assert exit_code and not out and code in err


def test_print_after_shows_the_program_at_the_first_sizes(kernels, xla2py):
    _, out, err = xla2py("emit", "any_size_kernels:halves(f32[N])", "--print-after", "to_array")
    assert "SIZES = " in out and err.count("// after to_array\n") == 1 and "f32[13]" in err


def test_one_parity_is_enough_where_the_user_says_so(kernels, xla2py):
    _, out, _ = xla2py("emit", "any_size_kernels:median(f32[N,3])", "--sizes", "N=12,18,26")
    assert "np.median(x, axis=0)" in out and 'SIZES = {"N": range(' in out and ", 2**63, 2)}" in out


def test_the_command_in_the_head_makes_the_module_again(kernels, xla2py):
    program = "any_size_kernels:running(f32[T,B,8], f32[B,8], f32[8,8])"
    given = [program, "--sizes", "T=13,18,23", "--sizes", "B=14,25,19", "-t", "numpy", "--constants", "inline"]
    _, out, _ = xla2py("emit", *given)
    line = next(line for line in out.splitlines() if line.startswith("# regenerate: "))
    assert shlex.split(line.removeprefix("# regenerate: xla2py emit ")) == given
    assert xla2py("emit", *shlex.split(line)[4:])[1] == out


def test_names_in_shapes_are_sizes():
    assert free_sizes("kernels:f(f32[B,4], s32[T,B])") == ("B", "T")
    assert free_sizes("model.hlo") == free_sizes("kernels:f(f32[3,4])") == ()
    assert parse_sizes(["B=3,5,7"]) == {"B": (3, 5, 7)}
    assert isinstance(xla2py.from_jax(jnp.sin, xla2py.array("N")), Witnesses)
