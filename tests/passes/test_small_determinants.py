"""Determinants of two and three rows in texts of JAX 0.12: a call, exact where pivots are 0 or not finite."""

from pathlib import Path

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import hlo, main
from xla2py.tests.recording.lazy_jax import jnp
from xla2py.tests.targets.running import on_device
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child

TEXTS = {path.stem: path.read_text("utf-8") for path in sorted((Path(__file__).parent / "determinants").glob("*.hlo"))}
SHAPES = {"det2": (2, 2), "det3": (3, 3), "det3_batch": (5, 3, 3), "det3_c": (3, 3)}
EDGES = np.array([0, -0.0, 1, 1, -1, np.inf, -np.inf, np.nan])
NEARLY = [
    ("det2", "direction=GT", "direction=GE"),
    ("det2", "constant(-1)", "constant(-2)"),
    ("det2", "slice={[1:2], [0:1]}", "slice={[1:2], [1:2]}"),
    ("det3", "slice={[2:3]}", "slice={[0:1]}"),
    ("det3_batch", "slice={[0:5], [2:3], [0:3]}", "slice={[0:5], [1:2], [0:3]}"),
]


def matrices(name, count):
    """Random matrices, where every other one has some numbers that are not ordinary."""
    rng = np.random.default_rng(7)
    for k in range(count):
        a = rng.standard_normal(SHAPES[name])
        if k % 2:
            strange = rng.random(a.shape) < 0.4
            a[strange] = rng.choice(EDGES, np.count_nonzero(strange))
        yield a.astype(np.complex64 if name == "det3_c" else np.float32)


@pytest.mark.parametrize("name", ["det2", "det3", "det3_batch"])
def test_a_call_gives_what_is_written_out(name):
    assert main(TEXTS[name]) == "return small_det(a)"
    call = xla2py.emit(TEXTS[name]).load().main
    written_out = xla2py.emit(TEXTS[name], disable_passes=["determinants"]).load().main
    for a in matrices(name, 200):
        with np.errstate(all="ignore"):
            expected = written_out(a)
        np.testing.assert_array_equal(call(a), expected)


@pytest.mark.parametrize("name", TEXTS)
def test_as_xla(name):
    for a in matrices(name, 6):
        found, expected = xla2py.emit(TEXTS[name]).load().main(a), run_hlo_in_child(TEXTS[name], a)[0]
        if np.isfinite(a).all():
            np.testing.assert_allclose(found, expected, rtol=1e-5)
            np.testing.assert_allclose(on_device(TEXTS[name], [a])[0], expected, rtol=1e-5)


def test_on_other_targets():
    text = TEXTS["det3_batch"]
    (a,) = matrices("det3_batch", 1)
    np.testing.assert_allclose(xla2py.emit(text, edge_cases="library").load().main(a), np.linalg.det(a), rtol=1e-5)
    assert "xp.where(" in xla2py.emit(text, "array-api").source  # it keeps the long form
    chunked = xla2py.emit(text, "dask", chunks="2").load()
    np.testing.assert_allclose(np.asarray(chunked.main(a)), np.linalg.det(a), rtol=1e-5)


@pytest.mark.parametrize(("name", "old", "new"), NEARLY)
def test_near_misses_stay(name, old, new):
    assert old in TEXTS[name]
    assert "small_det" not in main(TEXTS[name].replace(old, new, 1))


@pytest.mark.texts_of("0.10")
def test_sums_of_products():
    for shape in ((3, 3), (5, 3, 3)):
        text = hlo(jnp.linalg.det, np.ones(shape, np.float32))
        assert main(text) == "return det_3x3(a)"
        for a in list(matrices("det3" if len(shape) == 2 else "det3_batch", 12)):
            expected = run_hlo_in_child(text, a)[0]
            for found in (xla2py.emit(text).load().main(a), on_device(text, [a])[0]):
                np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        assert "det_3x3" not in main(text.replace("subtract(", "add("))
    assert "det_3x3" not in main(hlo(jnp.linalg.det, np.ones((2, 2), np.float32)))
