"""Singular values and eigenvalues by NumPy's names, NaN where LAPACK fails."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import assert_agrees, before, cases, hlo, lacks, main, optimised
from xla2py.tests.recording.lazy_jax import jnp
from xla2py.transpile.equivalence.verdicts.comparison import Budget

LOOSE = Budget(relative=1e-3, absolute=1e-4)
rng = np.random.default_rng(7)
TALL = rng.normal(size=(6, 3)).astype(np.float32)
SQUARE = TALL[:3] + TALL[:3].T
BATCH = np.stack([SQUARE, 2 * SQUARE])

test_singular_values = cases(
    "decompositions",
    TALL,
    inputs=[(TALL,), (np.full((6, 3), np.nan, np.float32),)],
    claims=[lacks("gesdd"), before("gesdd")],
    budget=LOOSE,
    forms=(hlo, optimised),
)(
    (lambda a: abs(jnp.linalg.svd(a, full_matrices=False)[2]), "svd(a, full_matrices=False)"),
    (lambda a: abs(jnp.linalg.svd(a)[0][:, :3]), "svd(a, full_matrices=False)"),
    (lambda a: abs(jnp.linalg.svd(a)[0][:, 1:4]), "svd(a)"),
    (lambda a: jnp.linalg.svd(a, compute_uv=False), "return svdvals(a)"),
    (lambda a: jnp.linalg.norm(a, 2), "return svdvals(a).max()"),
    (lambda a: jnp.linalg.pinv(a), "svd(a, full_matrices=False)"),
)


@pytest.mark.parametrize("form", [hlo, optimised])
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (
            lambda a: (lambda values, vectors: (values, abs(vectors)))(*jnp.linalg.eigh(a)),
            "eigenvalues, eigenvectors = eigh(",
        ),
        (lambda a: jnp.linalg.eigvalsh(a), "return eigvalsh("),
        (lambda a: jnp.linalg.eigh(a, UPLO="U", symmetrize_input=False)[0], "lower=False)"),
    ],
)
def test_eigenvalues(function, expected, form):
    for matrix in (SQUARE, BATCH, np.full((3, 3), np.inf, np.float32)):
        text = form(function, matrix)
        assert expected in main(text) and "syevd" not in main(text)
        assert_agrees(text, matrix, without="decompositions", budget=LOOSE)


def test_where_info_is_asked_for():
    config = "backend_config={mode = 78 : ui8}, api_version=API_VERSION_TYPED_FFI"
    text = f"""HloModule m
    ENTRY main {{
      a = f32[3,3] parameter(0)
      c = (f32[3,3], f32[3], f32[3,3], f32[3,3], s32[]) custom-call(a), custom_call_target="lapack_sgesdd_ffi", {config}
      s = f32[3] get-tuple-element(c), index=1
      i = s32[] get-tuple-element(c), index=4
      ROOT r = (f32[3], s32[]) tuple(s, i)
    }}"""
    assert "gesdd" in main(text)


def test_cupy_silences_its_solvers():
    text = hlo(lambda a: jnp.linalg.eigh(a)[0] + jnp.linalg.svd(a, compute_uv=False), SQUARE)
    assert xla2py.emit(text, "cupy").source.count('with cupyx.errstate(linalg="ignore"):') == 2
