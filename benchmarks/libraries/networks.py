"""Networks and training steps written with libraries of layers and optimisers."""

import jax
import jax.numpy as jnp

KEY = jax.random.key(0)


def flax_attention():
    """Attention with several heads, and its gradient."""
    from flax import linen as nn

    model = nn.MultiHeadDotProductAttention(num_heads=4)
    x = jnp.ones((2, 8, 16))
    variables = model.init(KEY, x)

    def attend(variables, x):
        return model.apply(variables, x)

    return attend, (variables, x)


def flax_transformer_step():
    """A training step of a transformer with flax.linen and optax.adamw."""
    import optax
    from flax import linen as nn

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
            y = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(num_heads=2)(y)
            hidden = nn.gelu(nn.Dense(32)(nn.LayerNorm()(x)))
            return x + nn.Dense(16)(hidden)

    class Transformer(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            x = nn.Embed(50, 16)(tokens)
            for _ in range(3):
                x = Block()(x)
            return nn.Dense(50)(nn.LayerNorm()(x))

    model, optimizer = Transformer(), optax.adamw(1e-3)
    tokens = jnp.arange(24).reshape(2, 12)
    params = model.init(KEY, tokens)
    opt_state = optimizer.init(params)

    def train_step(params, opt_state, tokens, targets):
        def loss_fn(params):
            logits = model.apply(params, tokens)
            return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
        return params, opt_state, loss

    return train_step, (params, opt_state, tokens, tokens)


def flax_cnn():
    """A convolutional network with batch norm in flax.linen."""
    from flax import linen as nn

    class CNN(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.relu(nn.BatchNorm(use_running_average=True)(nn.Conv(8, (3, 3))(x)))
            x = nn.avg_pool(x, window_shape=(2, 2), strides=(2, 2))
            x = nn.relu(nn.Conv(16, (3, 3))(x))
            x = x.reshape((x.shape[0], -1))
            return nn.log_softmax(nn.Dense(10)(x))

    model = CNN()
    images = jnp.ones((2, 8, 8, 3))
    return model.apply, (model.init(KEY, images), images)


def nnx_mlp():
    """A network of flax.nnx."""
    from flax import nnx

    class MLP(nnx.Module):
        def __init__(self, rngs):
            self.first = nnx.Linear(8, 32, rngs=rngs)
            self.norm = nnx.LayerNorm(32, rngs=rngs)
            self.second = nnx.Linear(32, 4, rngs=rngs)

        def __call__(self, x):
            return self.second(nnx.silu(self.norm(self.first(x))))

    graph, state = nnx.split(MLP(nnx.Rngs(0)))

    def predict(state, x):
        return nnx.merge(graph, state)(x)

    return predict, (state, jnp.ones((5, 8)))


def haiku_lstm():
    """An LSTM of haiku unrolled over a sequence."""
    import haiku as hk

    def network(sequence):
        core = hk.LSTM(16)
        outputs, _ = hk.dynamic_unroll(core, sequence, core.initial_state(sequence.shape[1]))
        return hk.Linear(4)(outputs)

    model = hk.without_apply_rng(hk.transform(network))
    sequence = jnp.ones((10, 3, 8))
    return model.apply, (model.init(KEY, sequence), sequence)


def haiku_mlp_step():
    """A training step of a haiku MLP with optax.sgd and momentum."""
    import haiku as hk
    import optax

    model = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([32, 32, 10])(x)))
    x, labels = jnp.ones((6, 12)), jnp.arange(6)
    params = model.init(KEY, x)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1, momentum=0.9))

    def update(params, opt_state, x, labels):
        def loss_fn(params):
            log_probs = jax.nn.log_softmax(model.apply(params, x))
            return -jnp.mean(jnp.sum(jax.nn.one_hot(labels, 10) * log_probs, axis=-1))

        grads = jax.grad(loss_fn)(params)
        updates, new_state = optimizer.update(grads, opt_state)
        return optax.apply_updates(params, updates), new_state

    return update, (params, optimizer.init(params), x, labels)


def equinox_mlp_step():
    """A training step of an equinox MLP with optax.adam."""
    import equinox as eqx
    import optax

    model = eqx.nn.MLP(4, 2, 16, 2, key=KEY)
    params, static = eqx.partition(model, eqx.is_array)
    optimizer = optax.adam(3e-4)

    def make_step(params, opt_state, x, y):
        def loss_fn(params):
            pred_y = jax.vmap(eqx.combine(params, static))(x)
            return jnp.mean((y - pred_y) ** 2)

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, opt_state = optimizer.update(grads, opt_state)
        return optax.apply_updates(params, updates), opt_state, loss

    return make_step, (params, optimizer.init(params), jnp.ones((8, 4)), jnp.ones((8, 2)))


def equinox_gru():
    """A GRU cell of equinox over a sequence."""
    import equinox as eqx

    cell = eqx.nn.GRUCell(4, 8, key=KEY)
    params, static = eqx.partition(cell, eqx.is_array)

    def rnn(params, xs):
        cell = eqx.combine(params, static)

        def step(hidden, x):
            hidden = cell(x, hidden)
            return hidden, hidden

        return jax.lax.scan(step, jnp.zeros(8), xs)

    return rnn, (params, jnp.ones((12, 4)))


def equinox_attention_block():
    """A pre-norm attention block of equinox."""
    import equinox as eqx

    key1, key2, key3 = jax.random.split(KEY, 3)
    attention = eqx.nn.MultiheadAttention(2, 16, key=key1)
    norm, mlp = eqx.nn.LayerNorm(16), eqx.nn.MLP(16, 16, 32, 1, key=key2)
    params, static = eqx.partition((attention, norm, mlp), eqx.is_array)

    def block(params, x):
        attention, norm, mlp = eqx.combine(params, static)
        y = jax.vmap(norm)(x)
        x = x + attention(y, y, y)
        return x + jax.vmap(mlp)(jax.vmap(norm)(x))

    return block, (params, jax.random.normal(key3, (6, 16)))


def jraph_message_passing():
    """A graph network layer of jraph."""
    import jraph

    graph = jraph.GraphsTuple(
        nodes=jnp.ones((5, 3)),
        edges=jnp.ones((7, 2)),
        senders=jnp.array([0, 1, 2, 3, 4, 0, 1]),
        receivers=jnp.array([1, 2, 3, 4, 0, 2, 3]),
        n_node=jnp.array([5]),
        n_edge=jnp.array([7]),
        globals=jnp.ones((1, 2)),
    )

    def update_edge(edges, senders, receivers, globals_):
        return jnp.concatenate([edges, senders + receivers], axis=-1)

    def update_node(nodes, sent, received, globals_):
        return jax.nn.relu(nodes + received[:, :3])

    def layer(graph):
        return jraph.GraphNetwork(update_edge_fn=update_edge, update_node_fn=update_node)(graph)

    return layer, (graph,)


def optax_lamb_step():
    """A step of optax.lamb with a schedule on a least-squares fit."""
    import optax

    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 10, 100)
    optimizer = optax.lamb(schedule)
    params = {"w": jnp.ones((4, 3)), "b": jnp.zeros(3)}

    def step(params, opt_state, X, y):
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((X @ p["w"] + p["b"] - y) ** 2))(params)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    return step, (params, optimizer.init(params), jnp.ones((8, 4)), jnp.ones((8, 3)))


PROGRAMS = (
    flax_attention,
    flax_transformer_step,
    flax_cnn,
    nnx_mlp,
    haiku_lstm,
    haiku_mlp_step,
    equinox_mlp_step,
    equinox_gru,
    equinox_attention_block,
    jraph_message_passing,
    optax_lamb_step,
)
