"""JAX's special functions by the names that emitted code has for them, and arguments to try them with."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from xla2py.tests.recording.lazy_jax import jax, jnp, lax

FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {  # with the number of their arguments
    "betainc": (jax.scipy.special.betainc, 3),
    "betaln": (jax.scipy.special.betaln, 2),
    "digamma": (lax.digamma, 1),
    "entr": (jax.scipy.special.entr, 1),
    "erfcx": (jax.scipy.special.erfcx, 1),
    "expi": (jax.scipy.special.expi, 1),
    "expn": (jax.scipy.special.expn, 2),
    "gammainc": (lax.igamma, 2),
    "gammaincc": (lax.igammac, 2),
    "i0e": (lax.bessel_i0e, 1),
    "i1e": (lax.bessel_i1e, 1),
    "igamma_grad_a": (lax.igamma_grad_a, 2),
    "lgamma": (lax.lgamma, 1),
    "log_ndtr": (jax.scipy.special.log_ndtr, 1),
    "ndtri": (jax.scipy.special.ndtri, 1),
    "np.nextafter": (jnp.nextafter, 2),
    "polygamma": (lax.polygamma, 2),
    "random_gamma_grad": (lax.random_gamma_grad, 2),
    "trigamma": (lambda x: lax.polygamma(lax.full_like(x, 1), x), 1),  # the derivative of digamma
    "xlogy": (jax.scipy.special.xlogy, 2),
    "xlog1py": (jax.scipy.special.xlog1py, 2),
    "zeta": (lax.zeta, 2),
}


def _gaussian(x: Any) -> Any:
    """``exp(-x * x)`` in the gradients of ``erf`` and its kin; JAX has no public name for it."""
    from jax._src.lax.erf import exp_neg_sq

    return exp_neg_sq(x)


def _log_ratio(p: Any, q: Any) -> Any:
    """The logarithm in the gradients of relative entropies."""
    from jax._src.scipy.special import _log_p_over_q

    return _log_p_over_q(p, q)[0]


NEWER: dict[str, tuple[Callable[..., Any], int]] = {  # that JAX writes in a form of their own since 0.12
    "complex_sinc": (jnp.sinc, 1),
    "gaussian": (_gaussian, 1),
    "kl_div": (jax.scipy.special.kl_div, 2),
    "log_ratio": (_log_ratio, 2),
    "ndtr_slope": (lambda x, g: jax.vjp(jax.scipy.special.ndtr, x)[1](g)[0], 2),
    "np.hypot": (jnp.hypot, 2),
    "rel_entr": (jax.scipy.special.rel_entr, 2),
    "sinc": (jnp.sinc, 1),
    "sinc_curvature": (lambda x, g, h: jax.vjp(lambda x: jax.vjp(jnp.sinc, x)[1](g)[0], x)[1](h)[0], 3),
    "sinc_slope": (lambda x, g: jax.vjp(jnp.sinc, x)[1](g)[0], 2),
}
COMPLEX: dict[str, Callable[..., Any]] = {  # by the function, or by the opcode of HLO
    "complex_arccos": lax.acos,
    "complex_arccosh": lax.acosh,
    "complex_arcsin": lax.asin,
    "complex_arcsinh": lax.asinh,
    "np.arctan": lax.atan,
    "np.arctanh": lax.atanh,
    "complex_cos": lax.cos,
    "complex_sin": lax.sin,
    "complex_sqrt": lax.sqrt,
    "complex_square": lax.square,
    "log": lax.log,
    "log-plus-one": lax.log1p,
}
_EDGES = (0.0, -0.0, 0.25, 0.5, 0.999, 1.0, 1.5, 2.0, 8.0, 8.5, 30.25, np.inf, np.nan)
_BELOW = (-0.5, -1.0, -2.0, -np.inf, 1e-30, 3.0, 100.0)


def samples(name: str, dtype: Any, count: int = 300) -> np.ndarray:
    """Arguments of a function: all combinations of edges, and random positive numbers."""
    rng = np.random.default_rng(3)
    arguments = (FUNCTIONS | NEWER)[name][1]
    edges = np.array(list(itertools.product(_EDGES if arguments > 2 else _EDGES + _BELOW, repeat=arguments))).T
    if name in ("expi", "expn"):  # as JAX 0.10 writes them, they hardly end for infinity, tiny numbers, broken orders
        edges = edges[:, (np.isfinite(edges) & (np.abs(edges) != 1e-30)).all(axis=0)]
        edges = edges[:, (edges[0] == np.floor(edges[0])) | (arguments == 1)]
    drawn = np.abs(rng.standard_normal((arguments, count)) * np.exp(rng.standard_normal((arguments, count))))
    if name == "betainc":
        drawn[2] = rng.random(count)
    if name in ("expn", "polygamma"):
        drawn[0] = rng.integers(0, 12, count)
    return np.concatenate([edges, drawn], 1).astype(dtype)
