"""Modules of Dask for any size: planned for some sizes, and right at others, in chunks that do not divide them."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

da = pytest.importorskip("dask.array", reason="Dask is not installed")

import xla2py  # noqa: E402
from xla2py.targets.dask.planning.plan import arrange  # noqa: E402
from xla2py.tests.recording.lazy_jax import jax, jnp  # noqa: E402
from xla2py.transpile.equivalence.inputs.generate import make_inputs, nest  # noqa: E402
from xla2py.transpile.equivalence.verdicts.comparison import compare  # noqa: E402
from xla2py.transpile.equivalence.verdicts.tolerances import budgets_for  # noqa: E402
from xla2py.transpile.errors import UnsupportedError, UsageError  # noqa: E402
from xla2py.transpile.target import load_target  # noqa: E402

MANY = 10_000_000


def gram(x, y):
    centred = x - x.mean(0)
    return centred.T @ centred / (len(x) - 1), x.T @ y


def layer_norm(x, scale):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5) * scale


def attention(q, k, v):
    scores = q @ k.T / jnp.sqrt(q.shape[-1])
    causal = jnp.tril(jnp.ones(scores.shape, bool))
    return jax.nn.softmax(jnp.where(causal, scores, -jnp.inf), -1) @ v


def median(x):
    return jnp.median(x, 0)


def numbered(x):
    return jnp.arange(len(x))[:, None] * x, x.argmax(0), x.argmax(1)


def moved(x, y):
    return jnp.cumsum(jnp.roll(jnp.concatenate([x, y]), 1, 0), 0)


def heads(x, w):
    b, t, d = x.shape
    q = jnp.moveaxis((x @ w).reshape(b, t, 4, d // 4), 2, 1)
    return jax.nn.softmax(q @ q.mT, -1) @ q


def recurrent(x, w):
    def step(h, row):
        h = jnp.tanh(row + h @ w / (len(x) + len(w)))
        return h, h * len(x)

    return jax.lax.scan(step, jnp.zeros(x.shape[1]), x)


def stencil(x):
    inner = (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) * 0.25
    return x.at[1:-1, 1:-1].set(inner)


def descent(x, y, w):
    return jax.lax.scan(lambda w, _: (w - 0.1 * x.T @ (x @ w - y) / len(x), None), w, None, length=3)[0]


PROGRAMS = {
    gram: (("N, D", "N, K"), {"N": MANY, "D": 64, "K": 8}),
    layer_norm: (("N, D", "D"), {"N": MANY, "D": 64}),
    attention: (("N, D", "M, D", "M, D"), {"N": 100_000, "D": 64, "M": 120_000}),
    median: (("N, D",), {"N": MANY, "D": 64}),
    numbered: (("N, D",), {"N": MANY, "D": 64}),
    moved: (("N, D", "M, D"), {"N": MANY, "D": 64, "M": 3_000_000}),
    heads: (("B, T, 16", "16, 16"), {"B": 1_000_000, "T": 20}),
    recurrent: (("T, D", "D, D"), {"T": MANY, "D": 64}),
    stencil: (("H, W",), {"H": 51_200, "W": 64_000}),
    descent: (("N, D", "N", "D"), {"N": MANY, "D": 64}),
}


def witnesses(function):
    return xla2py.from_jax(function, *map(xla2py.array, PROGRAMS[function][0]))


def planned(function):
    return witnesses(function).planned_for(**PROGRAMS[function][1])


@pytest.mark.filterwarnings("ignore:Increasing number of chunks")
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_values_are_those_of_xla_at_other_sizes_and_in_other_chunks(function):
    programs = planned(function)
    emitted = xla2py.emit(programs, "dask")
    main = emitted.load().main
    for seed, more in enumerate((0, 3, 17)):
        sizes = {name: own[more + 2 * k * seed] for k, (name, own) in enumerate(emitted.sizes.items())}
        module = programs.at(sizes)
        arguments = nest([parameter.shape for parameter in module.entry.parameters], make_inputs(module, seed))
        expected = [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(jax.jit(function)(*arguments))]
        for chunks in (None, 2, 7):
            results = main(*arguments, chunks=chunks)
            results = results if isinstance(results, tuple) else (results,)
            found = [np.asarray(result.compute(scheduler="sync")) for result in results]
            wrong = [leaf for leaf in compare(expected, found, budgets_for(module)) if not leaf.status.is_good]
            assert not wrong, f"at {sizes} in chunks of {chunks}: {wrong[0]}"


@pytest.mark.parametrize("function", [gram, attention, recurrent, stencil])
def test_chunks_are_those_of_the_module_for_the_sizes_that_are_planned_for(function):
    programs = planned(function)
    own = xla2py.emit(programs.at(programs.planned), "dask", format=False, nested=False).load()
    assert own.CHUNKS and xla2py.emit(programs, "dask", format=False).load().CHUNKS == own.CHUNKS
    limits = {"memory": "400MiB"}
    smaller = xla2py.emit(programs, "dask", format=False, **limits).load().CHUNKS
    assert smaller == xla2py.emit(programs.at(programs.planned), "dask", nested=False, **limits).load().CHUNKS


def test_no_number_of_main_is_one_of_the_sizes_that_are_planned_for():
    source = xla2py.emit(planned(attention), "dask").source
    text = source[: source.index("\ndef check_sizes")].replace("CHUNKS = ", "#")
    numbers = set(map(int, re.findall(r"(?<![\w.])\d+(?!\w)", re.sub("#.*", "", text))))
    assert not numbers & {100_000, 120_000, 64}


def test_block_functions_are_handed_the_sizes_that_their_blocks_do_not_have():
    source = xla2py.emit(planned(gram), "dask").source
    assert 'ratio_block, "ij", dot, "ij", n, None, meta' in source
    assert re.search(r"def ratio_block\(dot: Block, n: int\) -> Block:\n.*\n        return dot / \(n - 1\)\n", source)
    source = xla2py.emit(planned(recurrent), "dask").source
    assert "whole=(w, t)" in source and re.search(r"def \w+\(h: Block, x: Block, w: Block, t: int\)", source)
    source = xla2py.emit(witnesses(median).planned_for(N=10 * MANY, D=64), "dask").source
    assert '= da.blockwise(main_block, "", n, None, meta' in source and "def main_block(n: int) -> " in source


def test_kernels_are_handed_the_sizes_that_their_blocks_do_not_have():
    def scaled(x):
        return jnp.tanh(x * x.shape[0]) - x.shape[1], x + len(x)

    programs = xla2py.from_jax(scaled, xla2py.array("N, D"))
    for style in ("fast", "fused"):
        main = xla2py.emit(programs, "dask", chunks="5", style=style).load().main
        x = np.linspace(-0.1, 0.1, 13 * 7, dtype=np.float32).reshape(13, 7)
        for found, expected in zip(main(x), scaled(x), strict=True):
            np.testing.assert_allclose(found.compute(scheduler="sync"), expected, rtol=1e-5)


def test_functions_of_rows_are_handed_sizes_whole():
    def scaled(x, w):
        return jnp.tanh(x @ w + len(x)) / len(x)

    programs = xla2py.from_jax(scaled, xla2py.array("N, D"), xla2py.array("D, D"))
    source = xla2py.emit(programs.planned_for(N=MANY, D=64), "dask").source
    assert re.search(r"Tiled\(\w+, \(0, None, None\), 0\)", source) and "*(n, None)," in source


def test_sizes_to_plan_for_must_be_said():
    with pytest.raises(UsageError, match="XP425"):
        xla2py.emit(witnesses(median), "dask")
    for wrong in ({"N": MANY}, {"N": MANY, "D": 64, "K": 3}, {"N": MANY, "D": 0}):
        with pytest.raises(UsageError, match="XP425"):
            witnesses(median).planned_for(**wrong)


def test_chunks_of_so_many_elements_need_no_sizes():
    assert xla2py.emit(witnesses(gram), "dask", chunks="6").load().CHUNKS == {"x": (6, 6), "y": (6, 6)}


def test_an_array_of_unknown_size_is_told_as_other_wrong_arguments_are():
    centred = xla2py.from_jax(lambda x: x - x.mean(), xla2py.array("N"))
    x = da.from_array(np.arange(8, dtype=np.float32), chunks=4)
    with pytest.raises(TypeError, match=re.escape("; call its compute_chunk_sizes()")):
        xla2py.emit(centred, "dask", chunks="4").load().main(x[x > 2])


def test_the_rest_of_one_axis_is_not_another_by_chance():
    def shifted(x, y):
        return x[1:].sum() + y * 2, jnp.where(jnp.arange(len(y)) < len(x), y, 0)

    assert xla2py.emit(xla2py.from_jax(shifted, xla2py.array("N"), xla2py.array("M")), "dask", chunks="5").sizes


def test_tall_matrices_with_so_many_columns_are_factored_in_chunks():
    programs = xla2py.from_jax(jnp.linalg.qr, xla2py.array("N, 3"))
    main = xla2py.emit(programs, "dask", chunks="5").load().main
    x = np.random.default_rng(0).normal(size=(23, 3)).astype(np.float32)
    q, r = (each.compute(scheduler="sync") for each in main(x))
    np.testing.assert_allclose(q @ r, x, atol=1e-5)
    np.testing.assert_allclose(np.abs(r), np.abs(np.asarray(jnp.linalg.qr(x)[1])), atol=1e-5)


def test_equal_sizes_may_be_planned_for():
    programs = xla2py.from_jax(lambda x, y: x @ y, xla2py.array("N, D"), xla2py.array("D, M"))
    emitted = xla2py.emit(programs.planned_for(N=50_000, D=50_000, M=50_000), "dask").load()
    x, y = np.ones((3, 4), np.float32), np.ones((4, 2), np.float32)
    np.testing.assert_array_equal(emitted.main(x, y, chunks=3).compute(scheduler="sync"), x @ y)


def test_what_is_done_in_another_way_at_other_sizes_is_refused_by_name():
    programs = xla2py.from_jax(jnp.linalg.qr, xla2py.array("N, D")).planned_for(N=MANY, D=64)
    with pytest.raises(UnsupportedError, match="XP424: qr is done as chunked_call at the sizes that are planned for"):
        xla2py.emit(programs, "dask")


def test_a_layout_is_not_taken_for_another_program():
    layouts = []

    def recorded(program, limits, layout=None, compiler_bytes=0):
        made, plan = arrange(program, limits, layouts[0] if layouts else None)
        layouts.append(plan.layout)
        return made, plan

    target = replace(load_target("dask"), arrange=recorded)
    xla2py.emit(witnesses(median).at({"N": 50, "D": 6}), target, chunks="5")
    with pytest.raises(UnsupportedError, match="XP424: the program does not compute the same"):
        xla2py.emit(witnesses(numbered).at({"N": 50, "D": 6}), target, chunks="5")


def test_the_command_line_says_what_is_planned_for(xla2py):
    Path("rows.py").write_text("def scaled(x):\n    return x / x.max(0)\n")
    reference = "rows:scaled(f32[N,D])"
    sizes = ("--sizes", "N=10000000", "--sizes", "D=64")
    code, out, err = xla2py("emit", reference, "-t", "dask", *sizes)
    assert code == 0, err
    assert f"emit '{reference}' --sizes N=10000000 --sizes D=64 -t dask\n" in out and "(122880, -1)" in out
    code, _, err = xla2py("emit", reference, "-t", "dask")
    assert code == 2 and "XP425" in err and "--sizes N=" in err
    code, _, err = xla2py("emit", reference, "-t", "dask", *sizes[:2])
    assert code == 2 and "XP425" in err
    code, out, err = xla2py("check", reference, "-t", "dask", "--chunks", "5")
    assert code == 0 and "at N = 521" in out, err


def test_dumps_are_planned_for_the_largest(xla2py):
    for number in (13, 29, 18):
        shape = jax.ShapeDtypeStruct((number, 3), np.float32)
        Path(f"at{number}.hlo").write_text(jax.jit(median).lower(shape).as_text("hlo"))
    files = ("at13.hlo", "at29.hlo", "at18.hlo")
    code, out, err = xla2py("emit", *files, "--sizes", "N=13,29,18", "-t", "dask", "--chunks", "20")
    assert code == 0, err
    assert 'CHUNKS = {"Arg_0": (20, -1)}' in out or re.search(r'CHUNKS = {"\w+": \(20, -1\)}', out)


def test_random_programs_agree_in_chunks(xla2py):
    code, out, _ = xla2py("fuzz", "--any-size", "-t", "dask", "--first-seed", "40", "--seeds", "3")
    assert code == 0 and out.splitlines()[0] == "3 programs, 3 agree at every size, 0 do not"
