"""The largest errors of the elementary functions of the fast style (templates/numpy/prelude,
mathematics_f32.py and mathematics_f64.py):

    python benchmarks/mathematics.py [exp tanh ..] [--step 1]

All float32 are measured, a step of 1000 takes every thousandth; angles, powers and float64 are samples, of as many
numbers as a step of 1000 has. The exact values are those of the next wider type. Printed are units in the last place
of float32 or float64, where the largest was found, and nanoseconds an element of a loop over 16384 numbers.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.special
from numba import njit

from xla2py.templates.numpy.prelude import mathematics_f32, mathematics_f64

FUNCTIONS: dict[str, Callable[..., Any]] = {**vars(mathematics_f64), **vars(mathematics_f32)}
BLOCK = 1 << 22  # numbers measured at a time
SAMPLE_STEP = 1000


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + e ** -x), exact for small numbers as well."""
    e = np.exp(-abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


def erf_inv(x: np.ndarray) -> np.ndarray:
    """The inverse error function, with the sign of zero, which SciPy's loses."""
    return np.copysign(scipy.special.erfinv(x), x)


EXACT: dict[str, Callable[..., Any]] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "sigmoid": sigmoid,
    "tanh": np.tanh,
    "log": np.log,
    "log1p": np.log1p,
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "erf_inv": erf_inv,
    "normal_cdf": scipy.special.ndtr,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "cbrt": np.cbrt,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "pow": np.power,
}
TWO_ARGUMENTS = ("atan2_f32", "pow_f32")


def names() -> list[str]:
    """Return the names of what is measured: ``exp_f32``, ``exp_f64``, .."""
    every = (f"{name}_{kind}" for name in EXACT for kind in ("f32", "f64"))
    return [name for name in every if name in FUNCTIONS and name != "erf_inv_f64"]  # SciPy's has no wider type


def loop(name: str) -> Callable[..., None]:
    """A compiled loop that writes the function of each element of the arguments to the last one."""
    function = FUNCTIONS[name]
    if name in TWO_ARGUMENTS:

        @njit(fastmath={"contract", "reassoc"}, error_model="numpy")
        def run(x: Any, y: Any, out: Any) -> None:
            for i in range(len(out)):
                out[i] = function(x[i], y[i])
    else:

        @njit(fastmath={"contract", "reassoc"}, error_model="numpy")
        def run(x: Any, out: Any) -> None:
            for i in range(len(out)):
                out[i] = function(x[i])

    return run


def every_float32(step: int) -> Iterator[np.ndarray]:
    """Every ``step``-th float32 in the order of their bits, in blocks."""
    for start in range(0, 1 << 32, step * BLOCK):
        bits = np.arange(start, min(start + step * BLOCK, 1 << 32), step, dtype=np.int64)
        yield bits.astype(np.uint32).view(np.float32)


def sample(dtype: Any, step: int) -> np.ndarray:
    """Numbers of all sizes, and as many near those where functions bend."""
    rng = np.random.default_rng(0)
    count = (1 << 32) // (max(step, SAMPLE_STEP) * 8) * 4
    bits = rng.integers(0, 256, (count, np.dtype(dtype).itemsize), dtype=np.uint8)
    scales = rng.choice([1e-5, 0.1, 0.5, 1, 2, 10, 30, 300], count)
    near = np.where(rng.random(count) < 0.2, 1 + rng.normal(size=count) * 1e-3, rng.normal(size=count) * scales)
    return rng.permutation(np.concatenate([bits.view(dtype)[:, 0], near.astype(dtype)]))


def arguments(name: str, step: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Return the arguments that a function is measured with."""
    if name in TWO_ARGUMENTS:
        x = sample(np.float32, step)
        yield x, x[::-1].copy()
        yield abs(x), np.linspace(-9, 9, len(x), dtype=np.float32)
    elif name.endswith("f32"):
        yield from ((x,) for x in every_float32(step))
    else:
        yield (sample(np.float64, step),)


def errors(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Distances in units in the last place; infinite where NaN, infinities or the sign of zero are others."""
    facts = np.finfo(got.dtype)
    size = np.maximum(binade(exact), exact.dtype.type(facts.smallest_normal))
    distance = abs(got - exact) / size * 2.0**facts.nmant
    is_special = ~(abs(exact) < float(facts.max)) | (got == 0) | ~np.isfinite(got)
    some, rounded = got[is_special], exact[is_special].astype(got.dtype)
    is_same = (some == rounded) & (np.signbit(some) == np.signbit(rounded)) | np.isnan(some) & np.isnan(rounded)
    # What rounds to the largest float or to 0 may have become infinite or the smallest one.
    is_near = np.isfinite(exact[is_special]) & (some != rounded) & (np.nextafter(some, rounded) == rounded)
    distance[is_special] = np.where(is_same, 0, np.where(is_near, 1, np.inf))
    return distance


def binade(x: np.ndarray) -> np.ndarray:
    """The largest power of two that is not above the size of each number."""
    if x.dtype != np.float64:
        return np.ldexp(x.dtype.type(1), np.frexp(x)[1] - 1)
    return (x.view(np.int64) & 0x7FF0_0000_0000_0000).view(np.float64)


def largest_error(name: str, step: int) -> tuple[float, tuple[Any, ...]]:
    """The largest error of a function, and for which arguments."""
    run, exact = loop(name), EXACT[name[:-4]]
    worst: tuple[float, tuple[Any, ...]] = (0.0, ())
    for numbers in arguments(name, step):
        got = np.empty_like(numbers[0])
        run(*numbers, got)
        wide = np.float64 if name.endswith("f32") else np.longdouble
        with np.errstate(all="ignore"):
            distances = errors(got, exact(*(x.astype(wide) for x in numbers)))
        place = int(distances.argmax())
        worst = max(worst, (float(distances[place]), tuple(x[place] for x in numbers)), key=lambda found: found[0])
    return worst


def nanoseconds(name: str) -> float:
    """The least time an element of 200 calls on 16384 numbers."""
    run = loop(name)
    x = np.random.default_rng(0).random(1 << 14).astype(np.float32 if name.endswith("f32") else np.float64)
    numbers = [x] * (2 if name in TWO_ARGUMENTS else 1)
    out, times = np.empty_like(x), []
    for _ in range(200):
        start = time.perf_counter()
        run(*numbers, out)
        times.append(time.perf_counter() - start)
    return min(times) / len(x) * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("functions", nargs="*", help="without their types; all where none is named")
    parser.add_argument("--step", type=int, default=1, help="measure each of so many float32")
    options = parser.parse_args()
    for name in names():
        if not options.functions or name[:-4] in options.functions:
            error, where = largest_error(name, options.step)
            at = ", ".join(map(str, where))
            print(f"{name:12} {error:6.3f} ulp at {at:24} {nanoseconds(name):6.2f} ns", flush=True)


if __name__ == "__main__":
    main()
