"""Large programs to emit: what JAX hands to XLA before it optimises, and a chain of any length."""

import random
from functools import partial

import jax
import jax.numpy as jnp

BINARY = ("add", "multiply", "subtract", "maximum")
UNARY = ("tanh", "negate")
WIDTH, HEADS, TOKENS, BATCH = 64, 4, 16, 2


def chain(count: int) -> str:
    """A module of ``count`` instructions that read recent ones, with metadata as JAX writes it."""
    draw = random.Random(0)
    names = ["p0", "p1"]
    lines = [f"  p{k} = f32[64,64]{{1,0}} parameter({k})" for k in range(2)]
    for k in range(count):
        opcode = draw.choice((*BINARY, *UNARY, "dot"))
        left, right = draw.choice(names[-20:]), draw.choice(names[-20:])
        operands = left if opcode in UNARY else f"{left}, {right}"
        dims = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}" if opcode == "dot" else ""
        place = f'metadata={{op_name="jit(f)/{opcode}" source_file="model.py" source_line={k // 3 + 1}}}'
        root = "ROOT " if k == count - 1 else ""
        lines.append(f"  {root}v{k} = f32[64,64]{{1,0}} {opcode}({operands}){dims}, {place}")
        names.append(f"v{k}")
    return "HloModule generated\n\nENTRY main {\n" + "\n".join(lines) + "\n}\n"


def _layer_parameters():
    square, wide = jnp.zeros((WIDTH, WIDTH)), jnp.zeros((WIDTH, 4 * WIDTH))
    row, long_row = jnp.zeros(WIDTH), jnp.zeros(4 * WIDTH)
    attention = {"query": square, "key": square, "value": square, "out": square}
    dense = {"up": wide, "up_bias": long_row, "down": wide.T, "down_bias": row}
    norm = {"scale": row, "shift": row}
    return {"norm_1": norm, "attention": attention, "norm_2": norm, "dense": dense}


def _normalised(x, norm):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = jnp.square(centred).mean(axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + 1e-5) * norm["scale"] + norm["shift"]


def _attended(x, weights):
    def heads(name):
        return (x @ weights[name]).reshape(BATCH, TOKENS, HEADS, -1).swapaxes(1, 2)

    scores = heads("query") @ heads("key").swapaxes(2, 3) / jnp.sqrt(WIDTH // HEADS)
    seen = jnp.tril(jnp.ones((TOKENS, TOKENS), bool))
    mixed = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf)) @ heads("value")
    return mixed.swapaxes(1, 2).reshape(x.shape) @ weights["out"]


def _loss(layers, x, wanted):
    for layer in layers:
        x += _attended(_normalised(x, layer["norm_1"]), layer["attention"])
        dense = layer["dense"]
        hidden = jax.nn.gelu(_normalised(x, layer["norm_2"]) @ dense["up"] + dense["up_bias"])
        x += hidden @ dense["down"] + dense["down_bias"]
    return jnp.square(x - wanted).mean()


def training_step(layers: int):
    """A step of Adam on a transformer whose layers are written out, as a jitted function with its arguments."""

    def step(parameters, means, squares, count, x, wanted):
        loss, gradients = jax.value_and_grad(_loss)(parameters, x, wanted)
        count += 1
        means = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, means, gradients)
        squares = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, squares, gradients)

        def moved(p, m, s):
            return p - 1e-3 * m / (1 - 0.9**count) / (jnp.sqrt(s / (1 - 0.999**count)) + 1e-8)

        return jax.tree.map(moved, parameters, means, squares), means, squares, count, loss

    model = [_layer_parameters() for _ in range(layers)]
    images = jnp.zeros((BATCH, TOKENS, WIDTH))
    return jax.jit(step), (model, model, model, jnp.float32(0), images, images)


def simulation_step(rounds: int):
    """Rounds of a mechanical model with small arrays, written out, as a jitted function with its arguments."""

    def step(place, speed, force):
        for k in range(rounds):
            joint = k % 7
            push = force * jnp.cos(place[::-1]) * jnp.where(speed > 0, speed, -speed)
            pull = -jnp.sin(place) * (1 + 0.1 * joint) + push
            pull = pull.at[joint].add(0.01 * jnp.dot(place, speed))
            length = jnp.linalg.norm(place) + 1e-6
            frame = jnp.stack([jnp.cos(pull[:3]), jnp.sin(pull[:3]), jnp.ones(3) * length])
            pull += jnp.concatenate([frame @ place[:3], place[3:] * 0.1])
            speed += 0.01 * pull
            place = jnp.clip(place + 0.01 * speed / length, -3, 3)
        return place, speed

    return jax.jit(step), (jnp.ones(8), jnp.ones(8), jnp.float32(1))


def hlo_of(make) -> str:
    """The text of a jitted function before any optimisation, with the places in its source."""
    function, arguments = make()
    return function.lower(*arguments).as_text("hlo", debug_info=True)


PROGRAMS = {
    "training step, 32 layers": partial(training_step, 32),
    "simulation step": partial(simulation_step, 115),
}
CHAINS = (20_000, 40_000, 100_000)
