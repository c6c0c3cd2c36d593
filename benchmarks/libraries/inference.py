"""Distributions, Monte Carlo and evolution."""

import jax
import jax.numpy as jnp

KEY = jax.random.key(0)


def numpyro_log_density():
    """The log density of a hierarchical model of numpyro, and its gradient."""
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer.util import log_density

    def eight_schools(y, sigma):
        mu = numpyro.sample("mu", dist.Normal(0, 5))
        tau = numpyro.sample("tau", dist.HalfCauchy(5))
        with numpyro.plate("schools", 8):
            theta = numpyro.sample("theta", dist.Normal(mu, tau))
            numpyro.sample("obs", dist.Normal(theta, sigma), obs=y)

    def potential(params, y, sigma):
        return -log_density(eight_schools, (y, sigma), {}, params)[0]

    params = {"mu": jnp.float32(1.0), "tau": jnp.float32(2.0), "theta": jnp.arange(8.0)}
    return jax.value_and_grad(potential), (params, jnp.arange(8.0), jnp.ones(8) * 2)


def blackjax_hmc_step():
    """A step of Hamiltonian Monte Carlo with blackjax."""
    import blackjax

    def logdensity(x):
        return -0.5 * jnp.sum((x - jnp.array([1.0, 2.0, 3.0])) ** 2)

    hmc = blackjax.hmc(logdensity, step_size=0.1, inverse_mass_matrix=jnp.ones(3), num_integration_steps=5)
    key = jax.random.PRNGKey(1)

    def one_step(key, state):
        state, info = hmc.step(key, state)
        return state, info.acceptance_rate

    return one_step, (key, hmc.init(jnp.zeros(3)))


def blackjax_mala_chain():
    """A chain of the Metropolis-adjusted Langevin algorithm with blackjax."""
    import blackjax

    mala = blackjax.mala(lambda x: -jnp.sum(x**4 - x**2), 0.05)

    def chain(key, state):
        def one_step(state, key):
            state, _ = mala.step(key, state)
            return state, state.position

        return jax.lax.scan(one_step, state, jax.random.split(key, 4))

    return chain, (jax.random.PRNGKey(1), mala.init(jnp.ones(3)))


def distrax_mixture():
    """The log probability of a mixture of normals with distrax."""
    import distrax

    def log_prob(logits, loc, log_scale, x):
        components = distrax.Normal(loc, jnp.exp(log_scale))
        mixture = distrax.MixtureSameFamily(distrax.Categorical(logits=logits), components)
        return mixture.log_prob(x).sum()

    return log_prob, (jnp.zeros(3), jnp.arange(3.0), jnp.zeros(3), jnp.linspace(-1, 3, 10))


def tinygp_log_probability():
    """The log probability of a Gaussian process with tinygp."""
    from tinygp import GaussianProcess, kernels

    def loss(params, X, y):
        kernel = jnp.exp(params["log_amp"]) * kernels.ExpSquared(jnp.exp(params["log_scale"]))
        gp = GaussianProcess(kernel, X, diag=jnp.exp(params["log_diag"]))
        return -gp.log_probability(y)

    params = {"log_amp": jnp.float32(0.1), "log_scale": jnp.float32(0.2), "log_diag": jnp.float32(-1.0)}
    return jax.value_and_grad(loss), (params, jnp.linspace(0, 5, 12), jnp.sin(jnp.linspace(0, 5, 12)))


def evosax_cma_es():
    """A generation of CMA-ES with evosax."""
    from evosax.algorithms import CMA_ES

    strategy = CMA_ES(population_size=8, solution=jnp.zeros(4))
    params = strategy.default_params
    state = strategy.init(KEY, jnp.zeros(4), params)

    def generation(key, state, params):
        population, state = strategy.ask(key, state, params)
        fitness = jnp.sum(population**2, axis=-1)
        state, metrics = strategy.tell(key, population, fitness, state, params)
        return state.mean, state.std, metrics["best_fitness"]

    return generation, (KEY, state, params)


def evosax_open_es():
    """A generation of an evolution strategy with evosax."""
    from evosax.algorithms import Open_ES as OpenES

    strategy = OpenES(population_size=8, solution=jnp.zeros(4))
    params = strategy.default_params
    state = strategy.init(KEY, jnp.zeros(4), params)

    def generation(key, state, params):
        population, state = strategy.ask(key, state, params)
        fitness = jnp.sum(population**2, axis=-1)
        state, _ = strategy.tell(key, population, fitness, state, params)
        return state.mean

    return generation, (KEY, state, params)


def ott_sinkhorn():
    """Entropic optimal transport between two point clouds with ott."""
    from ott.geometry import pointcloud
    from ott.problems.linear import linear_problem
    from ott.solvers.linear import sinkhorn

    def transport(x, y):
        geom = pointcloud.PointCloud(x, y, epsilon=0.1)
        out = sinkhorn.Sinkhorn(min_iterations=10, max_iterations=10)(linear_problem.LinearProblem(geom))
        return out.f, out.g, out.reg_ot_cost

    x = jnp.linspace(0, 1, 12).reshape(6, 2)
    return transport, (x, x[:5] + 0.3)


PROGRAMS = (
    numpyro_log_density,
    blackjax_hmc_step,
    blackjax_mala_chain,
    distrax_mixture,
    tinygp_log_probability,
    evosax_cma_es,
    evosax_open_es,
    ott_sinkhorn,
)
