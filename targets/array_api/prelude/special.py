"""Special functions, as newer versions of JAX compute them."""

from typing import Any

from array_api_compat import array_namespace

# Lanczos's approximation of the gamma function, with g = 7: the numerators over z + 1,
# z + 2, ..
LANCZOS = (
    676.5203681218851,
    -1259.1392167224028,
    771.3234287776531,
    -176.6150291621406,
    12.507343278686905,
    -0.13857109526572012,
    9.984369578019572e-6,
    1.5056327351493116e-7,
)


def lgamma(x: Any) -> Any:
    """Return the logarithm of the magnitude of the gamma function: infinite at 0, -1,
    -2, ..

    Source: Lanczos, A precision approximation of the gamma function, 1964, and for x <
    1/2 Euler's reflection formula.
    """
    xp = array_namespace(x)
    size, reflected = xp.abs(x), x < 0.5
    z = xp.where(reflected, -x, x - 1)
    series = LANCZOS[0] / (z + 1) + 0.9999999999998099
    for n, factor in enumerate(LANCZOS[1:], 2):
        series = series + factor / (z + n)
    log_t = xp.log1p(z / 7.5) + 2.0149030205422647  # log(z + 7.5)
    excess = z + 0.5 - (z + 7.5) / log_t
    log_gamma = excess * log_t + 0.9189385332046727 + xp.log(series)
    rest = size - xp.floor(size)  # sin(pi x) is sin(pi rest), up to the sign
    sine = xp.log(xp.sin(xp.where(rest > 0.5, 1 - rest, rest) * 3.141592653589793))
    distance = 1.1447298858494002 - sine - log_gamma
    mirrored = xp.where(xp.isfinite(sine), distance, -sine)
    return xp.where(xp.isinf(x), float("inf"), xp.where(reflected, mirrored, log_gamma))


def gaussian(x: Any) -> Any:
    """Return ``exp(-x * x)``, as that of a shortened x times a correction."""
    xp = array_namespace(x)
    size = xp.abs(x)
    wide = xp.astype(xp.where(size > 28, 28.0, size), xp.float64)  # beyond, it is 0
    short = xp.astype(xp.astype(wide, xp.float32), xp.float64)
    rest = xp.exp((short - wide) * (short + wide))
    return xp.astype(xp.exp(-short * short) * rest, x.dtype)


def ndtr_slope(x: Any, g: Any) -> Any:
    """Return the density of the standard normal distribution, times g."""
    return gaussian(x * 0.7071067811865476) * 0.3989422804014327 * g
