"""Random numbers that are cut: each block has its own counts, and the bits are those of one block."""

import numpy as np
import pytest

import xla2py
from xla2py.targets.dask.planning.estimates import PROCESS_BYTES
from xla2py.tests.targets.chunked import peak_of_a_run, plan_of
from xla2py.tests.whole import crossed
from xla2py.transpile.equivalence.checking import Checker, Plan

dask = pytest.importorskip("dask", reason="Dask is not installed")
KEY = np.array([7, 4294967290], np.uint32)


def generator(kind, shape, algorithm="rng_default", words=3):
    return f"""ENTRY main {{
  state = u64[{words}] parameter(0)
  both = (u64[{words}], {kind}[{shape}]) rng-bit-generator(state), algorithm={algorithm}
  next = u64[{words}] get-tuple-element(both), index=0
  bits = {kind}[{shape}] get-tuple-element(both), index=1
  ROOT r = (u64[{words}], {kind}[{shape}]) tuple(next, bits)
}}"""


def state(words):
    return np.array([5, 2**64 - 3, 9][:words], np.uint64)  # the counter carries into its second word


@pytest.mark.parametrize(
    ("bits", "words", "chunks"),
    crossed([("u32", "7,5"), ("u64", "13,3"), ("u8", "3,4,11"), ("s16", "61")], [2, 3], ["8B", "40B"]),
)
def test_bits_of_philox_do_not_depend_on_chunks(bits, words, chunks):
    kind, shape = bits
    text = generator(kind, shape, words=words)
    generated = xla2py.emit(text, "dask", chunks=chunks)
    assert "philox_bits_at(" in generated.source
    lazy = generated.load().main(state(words))
    assert lazy[1].npartitions > 1
    wanted = xla2py.emit(text).load().main(state(words))
    for one, same in zip(dask.compute(*lazy, scheduler="sync"), wanted, strict=True):
        assert (one.dtype, one.shape) == (same.dtype, same.shape)
        np.testing.assert_array_equal(one, same)


def test_what_is_whole_keeps_its_one_call():
    source = xla2py.emit(generator("u32", "7,5"), "dask").source
    assert "philox_bits(state, (7, 5), np.uint32)" in source and "philox_bits_at" not in source


def test_threefry_of_hlo_stays_whole():
    source = xla2py.emit(generator("u32", "7,5", "rng_three_fry", 2), "dask", chunks="8B").source
    assert "threefry_bits(state, (7, 5), np.uint32)" in source and "_at(" not in source


def of_jax(draw):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    given = jax.ShapeDtypeStruct((2,), np.uint32)
    return jax, xla2py.from_jax(lambda words: draw(jax.random, jax.random.wrap_key_data(words)), given)


OF_JAX = {
    "bits": (lambda random, key: random.bits(key, (31, 7)), "random_bits_at(words, "),
    "uniform": (lambda random, key: random.uniform(key, (3, 31, 7)), "uniform_of(random_bits_at(words, "),
    "between": (lambda random, key: random.uniform(key, (97,), minval=-2, maxval=3), ", -2, 3)"),
    "normal": (lambda random, key: random.normal(key, (31, 7)), "random_bits_at("),
    "bernoulli": (lambda random, key: random.bernoulli(key, 0.3, (31, 7)), " < 0.3"),
}


@pytest.mark.parametrize(("name", "chunks"), crossed(OF_JAX, ["8B", "200B"]))
def test_numbers_of_jax_do_not_depend_on_chunks(name, chunks):
    draw, written = OF_JAX[name]
    jax, module = of_jax(draw)
    generated = xla2py.emit(module, "dask", chunks=chunks)
    assert written in generated.source
    lazy = generated.load().main(KEY)
    assert lazy.npartitions > 1
    found = lazy.compute(scheduler="sync")
    np.testing.assert_array_equal(found, xla2py.emit(module).load().main(KEY))
    wanted = np.asarray(draw(jax.random, jax.random.wrap_key_data(KEY)))
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=2e-6)


def test_a_task_draws_a_few_rows_at_a_time():
    _, module = of_jax(lambda random, key: random.normal(key, (4096, 2048)))
    plan = plan_of(module, chunks="4MiB")
    generated = xla2py.emit(module, "dask", chunks="4MiB")
    assert ", rows=" in generated.source
    planned = plan.peak_bytes - PROCESS_BYTES
    most, least = planned + (4 << 20), planned / 10  # threads seldom all hold the most at once
    assert least <= peak_of_a_run(module, [KEY], most, least, chunks="4MiB") <= most


DRAWS = {
    "randint": lambda random, key: random.randint(key, (9,), 0, 10),
    "gamma": lambda random, key: random.gamma(key, np.float32([0.3, 4.5, 1])),
}
OPTIONS = {"numpy": {"style": "fused"}, "dask": {"chunks": "8B"}, "cupy": {}}


@pytest.mark.parametrize(("target", "name"), crossed(OPTIONS, ["randint", "gamma"]))
def test_draws_that_go_into_the_cipher(target, name):
    if target != "dask":
        pytest.importorskip({"numpy": "numba", "cupy": "cupy"}[target])
    _, module = of_jax(DRAWS[name])
    with Checker(Plan((target,), options=OPTIONS[target])) as checker:
        checker.check(module)
        report = checker.report()
    assert report.is_good, str(report)
