"""The largest errors of the complex functions of the fast style (templates/numpy/prelude/mathematics_of_complex.py):

    python benchmarks/complex_mathematics.py [log sqrt ..] [--count 1000000]

They are distances in the plane, in units in the last place of the size of the exact value: of samples of all sizes
from 1e-8 to 300, of which many are next to 1, to the axes, and to where real or imaginary parts vanish. Powers have
logarithms up to 3, exponents to 20. Exact values are those of numbers with a longer mantissa than float64 has.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from xla2py.templates.numpy.prelude import mathematics_of_complex

Numbers = np.ndarray


def log1p(z: Numbers) -> Numbers:
    """log(1 + z), exact for small numbers as well."""
    near = np.log1p(z.real * (2 + z.real) + z.imag * z.imag) / 2
    size = np.where(abs(z) < 0.5, near, np.log(1 + z).real)
    return joined(size, np.arctan2(z.imag, 1 + z.real))


def expm1(z: Numbers) -> Numbers:
    """e ** z - 1, exact for small numbers as well."""
    real = np.expm1(z.real) * np.cos(z.imag) - 2 * np.sin(z.imag / 2) ** 2
    return joined(real, np.exp(z.real) * np.sin(z.imag))


def joined(real: Numbers, imaginary: Numbers) -> Numbers:
    """Numbers with these parts."""
    made = real.astype(np.clongdouble)
    made.imag = imaginary
    return made


EXACT: dict[str, Callable[..., Numbers]] = {
    "log": np.log,
    "log1p": log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda z: 1 / np.sqrt(z),
    "expm1": expm1,
    "logistic": lambda z: 1 / (1 + np.exp(-z)),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "sign": lambda z: z / abs(z),
    "pow": lambda a, b: np.exp(b * np.log(a)),
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(mathematics_of_complex, f"complex_{name}_c128") for name in EXACT
}


def parts(rng: np.random.Generator, count: int) -> Numbers:
    """Parts of numbers, of several sizes and near where functions bend."""
    x = rng.normal(size=count) * rng.choice([1e-8, 1e-3, 0.1, 1, 3, 30, 300], count)
    bends = rng.choice([0, 1, -1, np.pi / 2, np.pi], count) + rng.normal(size=count) * 1e-4
    return np.where(rng.random(count) < 0.2, bends, x)


def arguments(name: str, count: int) -> tuple[Numbers, ...]:
    """Return the arguments that a function is measured with."""
    rng = np.random.default_rng(0)
    z = parts(rng, count) + 1j * parts(rng, count)
    if name == "logistic":  # next to its poles 1 + exp(-z) has few digits left, as in HLO
        return (z[abs(1 + np.exp(-np.maximum(z.real, -700) - 1j * z.imag)) > 0.25],)
    if name != "pow":
        return (z,)
    a = np.exp(rng.uniform(-3, 3, count) + 1j * rng.uniform(-np.pi, np.pi, count))
    b = rng.normal(size=count) + 1j * rng.normal(size=count)
    return a, np.where(rng.random(count) < 0.3, np.rint(5 * b.real), b)


def largest_error(name: str, count: int) -> tuple[float, tuple[Any, ...]]:
    """The largest error of a function, and for which arguments."""
    function, numbers = FUNCTIONS[name], arguments(name, count)

    if len(numbers) > 1:

        @njit(error_model="numpy", fastmath={"contract"})
        def run(numbers: Any, out: Any) -> None:
            for i in range(len(out)):
                out[i] = function(numbers[0][i], numbers[1][i])
    else:

        @njit(error_model="numpy", fastmath={"contract"})
        def run(numbers: Any, out: Any) -> None:
            for i in range(len(out)):
                out[i] = function(numbers[0][i])

    got = np.empty_like(numbers[0])
    run(numbers, got)
    with np.errstate(all="ignore"):
        exact = EXACT[name](*(x.astype(np.clongdouble) for x in numbers))
        size = abs(exact)
        distances = abs(got - exact) / np.spacing(size.astype(np.float64))
    is_normal = (size > 1e-290) & (size < 1e290)
    distances = np.where(is_normal, distances, 0)
    place = int(distances.argmax())
    return float(distances[place]), tuple(x[place] for x in numbers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("functions", nargs="*", help="all where none is named")
    parser.add_argument("--count", type=int, default=10**6, help="numbers of a sample")
    options = parser.parse_args()
    for name in options.functions or EXACT:
        error, where = largest_error(name, options.count)
        print(f"{name:8} {error:7.3f} ulp at {', '.join(map(str, where))}", flush=True)


if __name__ == "__main__":
    main()
