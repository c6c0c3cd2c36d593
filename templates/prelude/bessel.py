"""Modified Bessel functions, as XLA computes them: by Chebyshev's polynomials.

Source: Cephes, i0.c and i1.c.
"""

from collections.abc import Sequence

import numpy as np


def chebyshev(x: np.ndarray, coefficients: Sequence[float]) -> np.ndarray:
    """Return the sum of the Chebyshev polynomials of ``x / 2``, the highest first, with
    half of the last coefficient; by Clenshaw's recurrence.
    """
    now = before = last = np.zeros_like(x)
    for coefficient in coefficients:
        now, before, last = x * now - before + coefficient, now, before
    series: np.ndarray = (now - last) * 0.5
    return series


I0_NEAR = (  # of x / 2 - 2, up to 8
    -1.300025e-8,
    6.046995e-8,
    -2.6707937e-7,
    1.1173876e-6,
    -4.416738e-6,
    1.6448448e-5,
    -5.754195e-5,
    0.00018850289,
    -0.0005763756,
    0.0016394756,
    -0.00432431,
    0.010546461,
    -0.023737416,
    0.049305283,
    -0.0949011,
    0.1716209,
    -0.30468267,
    0.6767953,
)
I0_FAR = (  # of 32 / x - 2, from 8 on
    3.396232e-9,
    2.266669e-8,
    2.0489186e-7,
    2.8913705e-6,
    6.8897585e-5,
    0.0033691165,
    0.8044904,
)


def i0e(x: np.ndarray) -> np.ndarray:
    """Return ``exp(-abs(x)) * i0(x)`` of float32: the Bessel function of order 0,
    scaled.
    """
    size = np.abs(x)
    with np.errstate(all="ignore"):
        near = chebyshev(size * 0.5 - 2, I0_NEAR)
        far = chebyshev(32 / size - 2, I0_FAR)
        return np.where(size <= 8, near, far / np.sqrt(size))


I0_NEAR64 = (  # the same of float64
    -4.4153416464793395e-18,
    3.3307945188222384e-17,
    -2.431279846547955e-16,
    1.715391285555133e-15,
    -1.1685332877993451e-14,
    7.676185498604936e-14,
    -4.856446783111929e-13,
    2.95505266312964e-12,
    -1.726826291441556e-11,
    9.675809035373237e-11,
    -5.189795601635263e-10,
    2.6598237246823866e-9,
    -1.300025009986248e-8,
    6.046995022541919e-8,
    -2.670793853940612e-7,
    1.1173875391201037e-6,
    -4.4167383584587505e-6,
    1.6448448070728896e-5,
    -5.754195010082104e-5,
    0.00018850288509584165,
    -0.0005763755745385824,
    0.0016394756169413357,
    -0.004324309995050576,
    0.010546460394594998,
    -0.02373741480589947,
    0.04930528423967071,
    -0.09490109704804764,
    0.17162090152220877,
    -0.3046826723431984,
    0.6767952744094761,
)
I0_FAR64 = (  # the same of float64
    -7.233180487874754e-18,
    -4.830504485944182e-18,
    4.46562142029676e-17,
    3.461222867697461e-17,
    -2.8276239805165836e-16,
    -3.425485619677219e-16,
    1.7725601330565263e-15,
    3.8116806693526224e-15,
    -9.554846698828307e-15,
    -4.150569347287222e-14,
    1.54008621752141e-14,
    3.8527783827421426e-13,
    7.180124451383666e-13,
    -1.7941785315068062e-12,
    -1.3215811840447713e-11,
    -3.1499165279632416e-11,
    1.1889147107846439e-11,
    4.94060238822497e-10,
    3.3962320257083865e-9,
    2.266668990498178e-8,
    2.0489185894690638e-7,
    2.8913705208347567e-6,
    6.889758346916825e-5,
    0.0033691164782556943,
    0.8044904110141088,
)


def i0e_float64(x: np.ndarray) -> np.ndarray:
    """Return ``exp(-abs(x)) * i0(x)`` of float64: the Bessel function of order 0,
    scaled.
    """
    size = np.abs(x)
    with np.errstate(all="ignore"):
        near = chebyshev(size * 0.5 - 2, I0_NEAR64)
        far = chebyshev(32 / size - 2, I0_FAR64)
        return np.where(size <= 8, near, far / np.sqrt(size))


I1_NEAR = (  # of x / 2 - 2, up to 8
    9.381537e-9,
    -4.445059e-8,
    2.0032948e-7,
    -8.56872e-7,
    3.4702514e-6,
    -1.3273164e-5,
    4.781565e-5,
    -0.00016176082,
    0.000512286,
    -0.0015135724,
    0.004156423,
    -0.010564085,
    0.024726449,
    -0.052945983,
    0.10264366,
    -0.17641652,
    0.2525872,
)
I1_FAR = (  # of 32 / x - 2, from 8 on
    -3.8353805e-9,
    -2.6314689e-8,
    -2.512236e-7,
    -3.8825647e-6,
    -0.00011058894,
    -0.009761098,
    0.77857625,
)


def i1e(x: np.ndarray) -> np.ndarray:
    """Return ``exp(-abs(x)) * i1(x)`` of float32: the Bessel function of order 1,
    scaled.
    """
    size = np.abs(x)
    with np.errstate(all="ignore"):
        near = chebyshev(size * 0.5 - 2, I1_NEAR)
        far = chebyshev(32 / size - 2, I1_FAR)
        bessel = np.where(size <= 8, size * near, far / np.sqrt(size))
    signed: np.ndarray = np.copysign(bessel, x)
    return signed


I1_NEAR64 = (  # the same of float64
    2.7779141127610464e-18,
    -2.111421214358166e-17,
    1.5536319577362005e-16,
    -1.1055969477353862e-15,
    7.600684294735408e-15,
    -5.042185504727912e-14,
    3.223793365945575e-13,
    -1.9839743977649436e-12,
    1.1736186298890901e-11,
    -6.663489723502027e-11,
    3.625590281552117e-10,
    -1.8872497517228294e-9,
    9.381537386495773e-9,
    -4.445059128796328e-8,
    2.0032947535521353e-7,
    -8.568720264695455e-7,
    3.4702513081376785e-6,
    -1.3273163656039436e-5,
    4.781565107550054e-5,
    -0.00016176081582589674,
    0.0005122859561685758,
    -0.0015135724506312532,
    0.004156422944312888,
    -0.010564084894626197,
    0.024726449030626516,
    -0.05294598120809499,
    0.1026436586898471,
    -0.17641651835783406,
    0.25258718644363365,
)
I1_FAR64 = (  # the same of float64
    7.517296310842105e-18,
    4.414348323071708e-18,
    -4.6503053684893586e-17,
    -3.209525921993424e-17,
    2.96262899764595e-16,
    3.3082023109209285e-16,
    -1.8803547755107825e-15,
    -3.8144030724370075e-15,
    1.0420276984128802e-14,
    4.272440016711951e-14,
    -2.1015418427726643e-14,
    -4.0835511110921974e-13,
    -7.198551776245908e-13,
    2.0356285441470896e-12,
    1.4125807436613782e-11,
    3.2526035830154884e-11,
    -1.8974958123505413e-11,
    -5.589743462196584e-10,
    -3.835380385964237e-9,
    -2.6314688468895196e-8,
    -2.512236237870209e-7,
    -3.882564808877691e-6,
    -0.00011058893876262371,
    -0.009761097491361469,
    0.7785762350182801,
)


def i1e_float64(x: np.ndarray) -> np.ndarray:
    """Return ``exp(-abs(x)) * i1(x)`` of float64: the Bessel function of order 1,
    scaled.
    """
    size = np.abs(x)
    with np.errstate(all="ignore"):
        near = chebyshev(size * 0.5 - 2, I1_NEAR64)
        far = chebyshev(32 / size - 2, I1_FAR64)
        bessel = np.where(size <= 8, size * near, far / np.sqrt(size))
    signed: np.ndarray = np.copysign(bessel, x)
    return signed
