"""Activations, and special functions of float32 by the polynomials that XLA computes
them with.
"""

import numpy as np

from .floats import erf


def sigmoid(x: np.ndarray) -> np.ndarray:
    """``1 / (1 + exp(-x))``."""
    with np.errstate(over="ignore"):  # exp(-x) is inf where the result is 0
        gate: np.ndarray = 1 / (1 + np.exp(-x))
    return gate


def gelu(x: np.ndarray) -> np.ndarray:
    """The Gaussian error linear unit, by its approximation with ``tanh``."""
    activated: np.ndarray = np.tanh((x + x * x * x * 0.044715) * 0.7978845608028654) + 1
    activated *= x * 0.5
    return activated


ERFC_MIDDLE = np.array(  # of x**2, below 1
    [
        7.853861e-05,
        -0.0008010194,
        0.005188328,
        -0.026853813,
        0.112835854,
        -0.37612626,
        1.1283791,
    ],
    np.float32,
)
ERFC_NEAR = np.array(  # of 1 / x**2, between 1 and 2
    [
        0.0232682,
        -0.13870394,
        0.36874247,
        -0.5824733,
        0.6210005,
        -0.49445152,
        0.340488,
        -0.2741127,
        0.56382596,
    ],
    np.float32,
)
ERFC_FAR = np.array(  # of 1 / x**2, from 2 on
    [
        -10.477664,
        12.9772,
        -7.4955187,
        2.921019,
        -1.0152652,
        0.42184633,
        -0.28207675,
        0.5641895,
    ],
    np.float32,
)


def erfc(x: np.ndarray) -> np.ndarray:
    """The complementary error function of float32.

    Source: Cephes, ndtrf.c.
    """
    size, square = np.abs(x), x * x
    middle = 1 - x * np.polyval(ERFC_MIDDLE, square)
    with np.errstate(all="ignore"):
        inverse = 1 / square
        near, far = np.polyval(ERFC_NEAR, inverse), np.polyval(ERFC_FAR, inverse)
        tail = np.where(size < 2, near, far)
        tail = np.exp(-square) / size * tail
    # Zero where exp would be subnormal.
    tail = np.where(-square < np.float32(-88.72284), 0, tail)
    return np.where(size < 1, middle, np.where(x < 0, 2 - tail, tail)).astype(x.dtype)


def exact_gelu(x: np.ndarray) -> np.ndarray:
    """The Gaussian error linear unit of float32: ``x`` times the probability of a
    normal number below it.
    """
    activated: np.ndarray = x * 0.5 * erfc(x * -0.7071067811865476)
    return activated


ERF_INV_MIDDLE = (  # of w - 2.5, w = -log(1 - x**2) below 5
    2.8102264e-08,
    3.4327394e-07,
    -3.5233877e-06,
    -4.3915065e-06,
    0.00021858087,
    -0.001253725,
    -0.0041776816,
    0.24664073,
    1.5014094,
)
ERF_INV_TAIL = (  # of sqrt(w) - 3, from 5 on
    -0.00020021426,
    0.00010095056,
    0.0013493432,
    -0.0036734284,
    0.0057395077,
    -0.0076224613,
    0.0094388705,
    1.001674,
    2.8329768,
)


def erf_inv(x: np.ndarray) -> np.ndarray:
    """The inverse error function of float32: infinite at -1 and 1, NaN beyond.

    Source: Giles, Approximating the erfinv function, 2011.
    """
    with np.errstate(all="ignore"):
        w = -np.log1p(-x * x)
        near = w < 5
        w = np.where(near, w - np.float32(2.5), np.sqrt(w) - np.float32(3))
        series = np.zeros_like(x)
        for middle, tail in zip(ERF_INV_MIDDLE, ERF_INV_TAIL, strict=True):
            series = np.where(near, np.float32(middle), np.float32(tail)) + series * w
        return np.where(np.abs(x) == 1, x * np.float32(np.inf), series * x)


def normal_cdf(x: np.ndarray) -> np.ndarray:
    """How probable a standard normal number below a float32 is."""
    w = x * np.float32(0.70710677)
    tail = erfc(np.abs(w))
    tails = np.where(w > 0, 2 - tail, tail)
    total = np.where(np.abs(w) < np.float32(0.70710677), 1 + erf(w), tails)
    return total * np.float32(0.5)
