"""The Cholesky section of the operation-semantics seed."""

from __future__ import annotations

import numpy as np

from xla2py.tests.builder.worked import check, random


def _positive_definite() -> np.ndarray:
    x = random(2, 3, 3)
    return x @ x.mT + 3 * np.eye(3, dtype=np.float32)


def test_cholesky_of_a_batch() -> None:
    a = _positive_definite()
    lower = np.linalg.cholesky(a)
    check(lambda b, p: b.cholesky(p, lower=True), a, expected=lower)
    check(lambda b, p: b.cholesky(p, lower=False), a, expected=lower.mT)
