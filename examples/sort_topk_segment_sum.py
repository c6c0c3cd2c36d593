"""Sales figures: rank the shops, find the best days, sum by region, look prices up in a sorted list."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def report(sales, region, price_steps, prices):
    """sales: [shops, days]; region: int32[shops]; price_steps: sorted; prices: to be classified."""
    totals = sales.sum(axis=1)
    ranking = jnp.argsort(-totals)
    best_sales, best_days = lax.top_k(sales, 3)
    by_region = jax.ops.segment_sum(totals, region, num_segments=5)
    median = jnp.median(sales, axis=0)
    price_class = jnp.searchsorted(price_steps, prices)
    growth = jnp.cumsum(jnp.diff(sales, axis=1), axis=1)
    return ranking, jnp.sort(totals), best_sales, best_days, by_region, median, price_class, growth


def program():
    rng = np.random.default_rng(0)
    sales = rng.gamma(3, 20, size=(40, 30)).astype(np.float32)
    region = rng.integers(0, 5, size=40).astype(np.int32)
    price_steps = np.sort(rng.uniform(1, 50, size=12)).astype(np.float32)
    prices = rng.uniform(0, 60, size=25).astype(np.float32)
    return report, (sales, region, price_steps, prices)
