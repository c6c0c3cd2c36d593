"""Ten models as their libraries' users write them, with weights that they close over, or arguments where named."""

from __future__ import annotations

from inspect import signature
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def drawn(seed: int, *shape: int, scale: float = 1.0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(0, scale, shape).astype(np.float32)


def cnn() -> Any:
    """flax: convolutions with batch statistics."""
    from flax import linen as nn

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            for features in (16, 32, 64):
                x = nn.Conv(features, (3, 3), use_bias=False)(x)
                x = nn.BatchNorm(use_running_average=True)(x)
                x = nn.max_pool(nn.relu(x), (2, 2), (2, 2))
            return nn.Dense(10)(x.mean(axis=(1, 2)))

    x = drawn(0, 8, 32, 32, 3)
    network = Network()
    variables = network.init(jax.random.key(0), x)
    variables = jax.tree.map(lambda x: x + 0.1 * jnp.abs(jnp.sin(jnp.arange(x.size))).reshape(x.shape), variables)

    def classify(images: Any) -> Any:
        """Logits of ten classes for RGB images."""
        return network.apply(variables, images)

    return classify, (x,)


def decoder(width: int = 128, heads: int = 4, layers: int = 4, words: int = 1000, length: int = 64) -> Any:
    """equinox: a transformer's step with rotary embedding and a cache."""
    import equinox as eqx

    size = width // heads

    class Layer(eqx.Module):
        norm: eqx.nn.RMSNorm
        qkv: eqx.nn.Linear
        out: eqx.nn.Linear
        norm_2: eqx.nn.RMSNorm
        up: eqx.nn.Linear
        down: eqx.nn.Linear

        def __init__(self, key: Any) -> None:
            a, b, c, d = jax.random.split(key, 4)
            self.norm, self.norm_2 = eqx.nn.RMSNorm(width), eqx.nn.RMSNorm(width)
            self.qkv = eqx.nn.Linear(width, 3 * width, use_bias=False, key=a)
            self.out = eqx.nn.Linear(width, width, use_bias=False, key=b)
            self.up = eqx.nn.Linear(width, 4 * width, key=c)
            self.down = eqx.nn.Linear(4 * width, width, key=d)

        def __call__(self, x: Any, keys: Any, values: Any, position: Any) -> Any:
            q, k, v = self.qkv(self.norm(x)).reshape(3, heads, size)
            angle = position / 10000 ** (jnp.arange(0, size, 2) / size)
            cos, sin = jnp.cos(angle), jnp.sin(angle)

            def turned(x: Any) -> Any:
                a, b = x[:, ::2], x[:, 1::2]
                return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)

            keys = jax.lax.dynamic_update_slice(keys, turned(k)[None], (position, 0, 0))
            values = jax.lax.dynamic_update_slice(values, v[None], (position, 0, 0))
            scores = jnp.einsum("hd,thd->ht", turned(q), keys) / jnp.sqrt(size)
            weights = jax.nn.softmax(jnp.where(jnp.arange(length) <= position, scores, -jnp.inf))
            x = x + self.out(jnp.einsum("ht,thd->hd", weights, values).reshape(width))
            return x + self.down(jax.nn.gelu(self.up(self.norm_2(x)))), keys, values

    keys = jax.random.split(jax.random.key(0), layers + 1)
    blocks = [Layer(key) for key in keys[:-1]]
    embedding = eqx.nn.Embedding(words, width, key=keys[-1])

    def step(cache: Any, token: Any) -> Any:
        """Logits of the next word; the cache has keys and values of each layer, and the position."""
        x, new = embedding(token), []
        for block, (k, v) in zip(blocks, cache["layers"], strict=True):
            x, k, v = block(x, k, v, cache["position"])
            new.append((k, v))
        return {"layers": new, "position": cache["position"] + 1}, embedding.weight @ x

    empty = np.zeros((length, heads, size), np.float32)
    return step, ({"layers": [(empty, empty)] * layers, "position": np.int32(0)}, np.int32(3))


def graph_network() -> Any:
    """jraph and haiku: three rounds of messages on a graph."""
    import haiku as hk
    import jraph

    senders, receivers = np.random.default_rng(0).integers(0, 100, (2, 400)).astype(np.int32)

    def network(nodes: Any, edges: Any) -> Any:
        mlp = lambda: hk.nets.MLP([64, 64])  # noqa: E731
        graph = jraph.GraphsTuple(
            nodes, edges, senders, receivers, jnp.zeros((1, 8)), jnp.array([100]), jnp.array([400])
        )
        for _ in range(3):
            node, edge, whole = mlp(), mlp(), mlp()
            graph = jraph.GraphNetwork(
                jraph.concatenated_args(lambda x, edge=edge: edge(x)),
                jraph.concatenated_args(lambda x, node=node: node(x)),
                jraph.concatenated_args(lambda x, whole=whole: whole(x)),
            )(graph)
        return graph.nodes, hk.Linear(1)(graph.globals)

    made = hk.without_apply_rng(hk.transform(network))
    x = drawn(0, 100, 16), drawn(1, 400, 8)
    params = made.init(jax.random.key(0), *x)

    def predict(nodes: Any, edges: Any) -> Any:
        """Features of nodes, and an energy of the graph."""
        return made.apply(params, nodes, edges)

    return predict, x


def flow() -> Any:
    """distrax and haiku: the density of a normalizing flow with masked couplings."""
    import distrax
    import haiku as hk

    def density(x: Any) -> Any:
        def bijector(params: Any) -> Any:
            return distrax.ScalarAffine(shift=params[..., 0], log_scale=jnp.tanh(params[..., 1]))

        layers = []
        mask = jnp.arange(8) % 2 == 0
        for _ in range(6):
            mlp = hk.nets.MLP([64, 64, 16], w_init=hk.initializers.VarianceScaling(0.3))
            conditioner = hk.Sequential([mlp, hk.Reshape((8, 2))])
            layers.append(distrax.MaskedCoupling(mask=mask, bijector=bijector, conditioner=conditioner))
            mask = ~mask
        base = distrax.Independent(distrax.Normal(jnp.zeros(8), jnp.ones(8)), 1)
        return distrax.Transformed(base, distrax.Inverse(distrax.Chain(layers))).log_prob(x)

    made = hk.without_apply_rng(hk.transform(density))
    x = drawn(0, 256, 8)
    params = made.init(jax.random.key(0), x)

    def log_prob(x: Any) -> Any:
        """Log densities of a batch of points."""
        return made.apply(params, x)

    return log_prob, (x,)


def gaussian_process() -> Any:
    """gpjax: mean and deviation of a posterior."""
    import gpjax as gpx

    x = np.sort(np.random.default_rng(0).uniform(-3, 3, (100, 1)))
    data = gpx.Dataset(X=jnp.asarray(x), y=jnp.sin(4 * x) + jnp.cos(2 * x))
    prior = gpx.gps.Prior(mean_function=gpx.mean_functions.Zero(), kernel=gpx.kernels.RBF())
    takes = signature(gpx.likelihoods.Gaussian.__init__).parameters
    of_data = {"num_datapoints": len(x)} if "num_datapoints" in takes else {}  # before gpjax 1.0
    posterior = prior * gpx.likelihoods.Gaussian(**of_data, obs_stddev=jnp.array(0.1))

    def predict(points: Any) -> Any:
        """Mean and standard deviation of the function at points."""
        found = posterior.predict(points, train_data=data)
        return found.mean, jnp.sqrt(jnp.diagonal(found.covariance()))

    return predict, (np.linspace(-3, 3, 50)[:, None],)


def neural_ode() -> Any:
    """diffrax and equinox: a neural differential equation with adaptive steps."""
    import diffrax
    import equinox as eqx

    mlp = eqx.nn.MLP(2, 2, 32, 2, activation=jax.nn.softplus, key=jax.random.key(0))
    term = diffrax.ODETerm(lambda t, y, args: jnp.tanh(mlp(y)))
    times = np.linspace(0, 2, 20, dtype=np.float32)

    def trajectory(y: Any) -> Any:
        """Twenty states between times 0 and 2."""
        return diffrax.diffeqsolve(
            term,
            diffrax.Tsit5(),
            0,
            2,
            0.1,
            y,
            saveat=diffrax.SaveAt(ts=times),
            stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-5),
            max_steps=256,
            throw=False,
        ).ys

    return trajectory, (drawn(0, 2),)


def kalman_filter() -> Any:
    """dynamax: the log likelihood and the filtered means of a linear Gaussian model."""
    from dynamax.linear_gaussian_ssm import LinearGaussianSSM

    model = LinearGaussianSSM(4, 2)
    params, _ = model.initialize(jax.random.key(0))

    def filtered(emissions: Any) -> Any:
        """The log likelihood of emissions, and the means of the states."""
        found = model.filter(params, emissions)
        return found.marginal_loglik, found.filtered_means

    return filtered, (drawn(0, 200, 2),)


def policy() -> Any:
    """flax.nnx and distrax: an actor with squashed Gaussian actions, and its critic."""
    import distrax
    from flax import nnx

    class Actor(nnx.Module):
        def __init__(self, rngs: Any) -> None:
            self.hidden = nnx.List([nnx.Linear(17, 256, rngs=rngs), nnx.Linear(256, 256, rngs=rngs)])
            self.mean, self.value = nnx.Linear(256, 6, rngs=rngs), nnx.Linear(256, 1, rngs=rngs)
            self.log_std = nnx.Param(jnp.zeros(6))

        def __call__(self, x: Any) -> Any:
            for layer in self.hidden:
                x = nnx.tanh(layer(x))
            return distrax.MultivariateNormalDiag(self.mean(x), jnp.exp(self.log_std[...])), self.value(x)

    actor = Actor(nnx.Rngs(0))

    def act(observation: Any) -> Any:
        """The action for an observation, its log density and the value."""
        actions, value = actor(observation)
        action = actions.mode()
        return jnp.tanh(action), actions.log_prob(action), value[..., 0]

    return act, (drawn(0, 17),)


def recurrent() -> Any:
    """haiku: two recurrent layers, step by step."""
    import haiku as hk

    def network(state: Any, x: Any) -> Any:
        core = hk.DeepRNN([hk.LSTM(128), jax.nn.relu, hk.LSTM(128), hk.Linear(32)])
        y, state = core(x, state)
        return state, y

    made = hk.without_apply_rng(hk.transform(network))
    state = tuple(hk.LSTMState(np.zeros((1, 128), np.float32), np.zeros((1, 128), np.float32)) for _ in range(2))
    x = drawn(0, 1, 32)
    params = made.init(jax.random.key(0), state, x)

    def step(state: Any, x: Any) -> Any:
        """The next state, and what the network says."""
        return made.apply(params, state, x)

    return step, (state, x)


def large() -> Any:
    """flax: a transformer with 100 million parameters."""
    from flax import linen as nn

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            y = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(12)(y, y, mask=nn.make_causal_mask(jnp.ones(x.shape[:-1])))
            y = nn.gelu(nn.Dense(3072)(nn.LayerNorm()(x)))
            return x + nn.Dense(768)(y)

    class Network(nn.Module):
        @nn.compact
        def __call__(self, tokens: Any) -> Any:
            embed = nn.Embed(20000, 768)
            x = embed(tokens)
            for _ in range(12):
                x = Block()(x)
            return embed.attend(nn.LayerNorm()(x[:, -1]))

    tokens = np.random.default_rng(0).integers(0, 20000, (1, 64)).astype(np.int32)
    network = Network()
    variables = jax.jit(network.init)(jax.random.key(0), tokens)

    def next_word(tokens: Any) -> Any:
        """Logits of the word that comes next."""
        return network.apply(variables, tokens)

    return next_word, (tokens,)


MODELS = (cnn, decoder, graph_network, flow, gaussian_process, neural_ode, kalman_filter, policy, recurrent, large)
WIDE = (gaussian_process,)  # in float64
