"""Black-Scholes prices of European calls, with delta and vega by automatic differentiation."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm


def call_price(spot, volatility, strike, rate, maturity):
    total_volatility = volatility * jnp.sqrt(maturity)
    d1 = (jnp.log(spot / strike) + (rate + volatility**2 / 2) * maturity) / total_volatility
    d2 = d1 - total_volatility
    return spot * norm.cdf(d1) - strike * jnp.exp(-rate * maturity) * norm.cdf(d2)


def prices_and_greeks(spot, volatility, strike, rate, maturity):
    """All arguments are vectors over options, but for the common rate. Returns price, delta, vega."""
    price = call_price(spot, volatility, strike, rate, maturity)
    gradient = jax.grad(call_price, argnums=(0, 1))
    delta, vega = jax.vmap(gradient, in_axes=(0, 0, 0, None, 0))(spot, volatility, strike, rate, maturity)
    return price, delta, vega


def program():
    rng = np.random.default_rng(0)
    options = 1000
    spot = rng.uniform(50, 150, options).astype(np.float32)
    volatility = rng.uniform(0.1, 0.6, options).astype(np.float32)
    strike = rng.uniform(60, 140, options).astype(np.float32)
    maturity = rng.uniform(0.1, 2, options).astype(np.float32)
    return prices_and_greeks, (spot, volatility, strike, np.float32(0.03), maturity)
