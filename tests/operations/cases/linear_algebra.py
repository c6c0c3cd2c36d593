"""fft, cholesky, triangular-solve."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from xla2py.tests.operations.case import Case, case, shape_text
from xla2py.tests.operations.values import Array, dtype, numbers
from xla2py.transpile.equivalence.verdicts.comparison import Budget

TYPES = ("f32", "f64", "c64", "c128")
COMPLEX_OF = {"f32": "c64", "f64": "c128"}


def transforms() -> Iterator[Case]:
    for real, complex_ in COMPLEX_OF.items():
        for sizes, lengths in [
            ((8,), (8,)),
            ((7,), (7,)),
            ((3, 6), (6,)),
            ((2, 3, 4), (3, 4)),
            ((2, 3, 4), (2, 3, 4)),
            ((1,), (1,)),
            ((2, 1), (1,)),
            ((3, 1), (3, 1)),
            ((2, 0), (0,)),
            ((0, 4), (0, 4)),
        ]:
            text = "{" + ",".join(map(str, lengths)) + "}"
            x = numbers(complex_, *sizes)
            for kind in ("FFT", "IFFT"):
                body = f"r = {shape_text(x)} fft(p0), fft_type={kind}, fft_length={text}"
                yield case("fft", body, x, budget=Budget(terms=x.size))
            half = (*sizes[:-1], sizes[-1] // 2 + bool(sizes[-1]))
            body = f"r = {shape_text(np.empty(half, x.dtype))} fft(p0), fft_type=RFFT, fft_length={text}"
            yield case("fft", body, numbers(real, *sizes), budget=Budget(terms=x.size))
            body = f"r = {shape_text(np.empty(sizes, dtype(real)))} fft(p0), fft_type=IRFFT, fft_length={text}"
            yield case("fft", body, numbers(complex_, *half), budget=Budget(terms=x.size))
    yield case("fft", "r = c64[0,4] fft(p0), fft_type=FFT, fft_length={4}", numbers("c64", 0, 4))


def positive(name: str, *sizes: int) -> Array:
    a = numbers(name, *sizes, seed=7)
    with np.errstate(all="ignore"):
        product = a @ np.conj(np.swapaxes(a, -1, -2)) + 9 * np.eye(sizes[-1])
    return product.astype(dtype(name))


def decompositions() -> Iterator[Case]:
    for name in TYPES:
        for sizes in [(4, 4), (2, 3, 3), (2, 1, 3, 3), (1, 1), (0, 3, 3)]:
            a = positive(name, *sizes)
            for lower in (True, False):
                body = f"r = {shape_text(a)} cholesky(p0), lower={str(lower).lower()}"
                yield case("cholesky", body, a, budget=Budget(terms=sizes[-1] * 4))
        one_triangle = np.tril(positive(name, 4, 4)) + np.triu(np.full((4, 4), np.nan), 1)
        a = one_triangle.astype(dtype(name))
        yield case("cholesky", f"r = {shape_text(a)} cholesky(p0), lower=true", a, budget=Budget(terms=16))
    indefinite = np.stack([np.float32([[1, 2], [2, 1]]), np.float32([[4, 2], [2, 3]])])
    yield case("cholesky", "r = f32[2,2,2] cholesky(p0), lower=true", indefinite, oracle=_failed_first)


def _failed_first(a: Array) -> Array:
    """NaN where the factor of a matrix that is not positive definite would be; XLA fills the other triangle, too."""
    return np.stack([np.tril(np.full_like(a[0], np.nan)), np.linalg.cholesky(a[1])])


def solutions() -> Iterator[Case]:
    for name in TYPES:
        a = (numbers(name, 2, 3, 3) + 6 * np.eye(3)).astype(dtype(name))
        for left in (True, False):
            b = numbers(name, 2, *((3, 2) if left else (2, 3)), seed=1)
            for lower in (True, False):
                for unit in (True, False):
                    for transpose in ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"):
                        attributes = f"left_side={left}, lower={lower}, unit_diagonal={unit}".lower()
                        body = f"r = {shape_text(b)} triangular-solve(p0, p1), {attributes}, transpose_a={transpose}"
                        yield case("triangular-solve", body, a, b, budget=Budget(terms=40))
    a = numbers("f32", 3, 3) + np.float32(6) * np.eye(3, dtype=np.float32)
    half_nan = (np.tril(a) + np.triu(np.full((3, 3), np.nan), 1)).astype(np.float32)
    attributes = "left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE"
    body = f"r = f32[3,2] triangular-solve(p0, p1), {attributes}"
    yield case("triangular-solve", body, half_nan, numbers("f32", 3, 2), budget=Budget(terms=16))
    for sizes, shape in [((0, 3, 3), (0, 3, 2)), ((3, 3), (3, 0)), ((1, 1), (1, 1))]:
        a, b = numbers("f32", *sizes) + np.float32(6) * np.eye(sizes[-1], dtype=np.float32), numbers("f32", *shape)
        body = f"r = {shape_text(b)} triangular-solve(p0, p1), {attributes}"
        yield case("triangular-solve", body, a, b)


def cases() -> Iterator[Case]:
    yield from transforms()
    yield from decompositions()
    yield from solutions()
