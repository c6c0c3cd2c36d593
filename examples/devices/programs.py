"""Programs for several devices as people write them with JAX: ``python examples/devices/programs.py FOLDER [COUNT]``.

For each of them the folder gets the text that ``lowered.as_text("hlo")`` gives, that of ``lowered.compile()``, and what
each of 2, 4 or 8 devices (8 unless told) is given and computes, and the whole arrays (``NAME.STAGE.npz``).
"""

import os
import sys
from functools import partial
from pathlib import Path

os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={sys.argv[2] if len(sys.argv) > 2 else 8}"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

P = PartitionSpec
DEVICES = np.array(jax.devices())
LINE = Mesh(DEVICES, ("data",))
COUNT = len(DEVICES)
MODEL = min(4, max(2, COUNT // 2))  # devices along that axis
GRID = Mesh(DEVICES.reshape(-1, MODEL), ("data", "model"))
SLICES = Mesh(DEVICES.reshape(2, -1, 2 if COUNT > 2 else 1), ("slice", "data", "model"))
RING = [(k, (k + 1) % COUNT) for k in range(COUNT)]


def on(mesh, given, results):
    """The function of one device as one of whole arrays."""
    return partial(jax.shard_map, mesh=mesh, in_specs=given, out_specs=results)


@on(LINE, (P(), P("data"), P("data")), P())
def data_parallel(w, x, y):
    gradient = jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
    return w - 0.1 * lax.pmean(gradient, "data")


@on(LINE, (P("data"), P("data")), P("data"))
def fully_sharded(w, x):
    def loss(w):
        return jnp.sum(jnp.tanh(x @ lax.all_gather(w, "data", tiled=True)))

    return w - 0.1 * jax.grad(loss)(w)


@on(LINE, (P("data"), P("data"), P("data")), (P("data"), P("data")))
def zero(w, momentum, x):
    whole = lax.all_gather(w, "data", tiled=True)
    gradient = jax.grad(lambda w: jnp.sum((x @ w) ** 2))(whole)
    momentum = 0.9 * momentum + lax.psum_scatter(gradient, "data", tiled=True)
    return w - 0.01 * momentum, momentum


@on(GRID, (P("data"), P(None, "model"), P("model")), P("data"))
def tensor_parallel(x, up, down):
    return lax.psum(jax.nn.gelu(x @ up) @ down, "model")


@on(LINE, (P("data"), P("data")), (P("data"), P("data")))
def pipeline(w, x):
    def step(carried, _):
        carried = lax.ppermute(jnp.tanh(carried @ w[0]), "data", RING)
        return carried, carried.sum()

    carried, sums = lax.scan(step, x[0], None, length=COUNT)
    return carried[None], sums[None]


@on(LINE, (P("data"), P("data"), P("data")), P("data"))
def ring_attention(q, k, v):
    def step(carried, _):
        k, v, largest, total, out = carried
        scores = q @ k.T
        larger = jnp.maximum(largest, scores.max(-1))
        weights, rescaled = jnp.exp(scores - larger[:, None]), jnp.exp(largest - larger)
        out = out * rescaled[:, None] + weights @ v
        total = total * rescaled + weights.sum(-1)
        return (lax.ppermute(k, "data", RING), lax.ppermute(v, "data", RING), larger, total, out), None

    nothing = jnp.zeros_like(q)
    begin = (k, v, nothing[:, 0] - jnp.inf, nothing[:, 0], nothing)
    (_, _, _, total, out), _ = lax.scan(step, begin, None, length=COUNT)
    return out / total[:, None]


@on(LINE, (P("data"), P("data")), P("data"))
def expert_parallel(x, w):
    sent = lax.all_to_all(x, "data", 0, 0, tiled=True)
    return lax.all_to_all(jax.nn.relu(sent @ w[0]), "data", 0, 0, tiled=True)


@on(GRID, (P(("data", "model")), P(), P("model"), P("model")), (P(("data", "model")), P()))
def mixture_of_experts(tokens, router, up, down):
    """Each expert takes ten tokens of a device, the best two experts a token; the experts are the axis ``model``."""
    weights = jax.nn.softmax(tokens @ router)
    gates, chosen = lax.top_k(weights, 2)
    mask = jax.nn.one_hot(chosen, MODEL)
    place = jnp.cumsum(mask.reshape(-1, MODEL), 0).reshape(mask.shape) - 1
    place = jnp.where((place < 10) & (mask > 0), place, -1).astype(jnp.int32)
    slots = jax.nn.one_hot(place, 10) * mask[..., None]
    sent = jnp.einsum("tkec,td->ecd", slots, tokens)
    given = lax.all_to_all(sent, "model", split_axis=0, concat_axis=1, tiled=True)
    made = jax.nn.gelu(given[0] @ up[0]) @ down[0]
    taken = lax.all_to_all(made[None], "model", split_axis=1, concat_axis=0, tiled=True)
    shares, loads = (lax.pmean(x.mean(0), ("data", "model")) for x in (weights, mask[:, 0]))
    scale = gates / gates.sum(-1, keepdims=True)
    return jnp.einsum("tkec,tk,ecd->td", slots, scale, taken), MODEL * jnp.sum(shares * loads)


@on(GRID, (P("data", "model"), P("model")), P("data", "model"))
def two_axes(a, b):
    return lax.psum_scatter(a @ b, "model", scatter_dimension=1, tiled=True)


@on(LINE, (P("data"),), P("data"))
def halo(x):
    def step(_, x):
        above = lax.ppermute(x[-1:], "data", RING[:-1])
        below = lax.ppermute(x[:1], "data", [(k + 1, k) for k in range(COUNT - 1)])
        padded = jnp.concatenate([above, x, below])
        return x + 0.1 * (padded[2:] + padded[:-2] - 2 * x)

    return lax.fori_loop(0, 3, step, x)


@on(SLICES, (P(("slice", "data"), "model"), P("model")), P(("slice", "data")))
def several_slices(x, w):
    y = lax.psum(x @ w, "model")
    return y - lax.pmean(lax.pmean(y.sum(), "data"), "slice")


@on(GRID, (P("model"), P("model"), P(None, "data")), P(None, "data"))
def in_stages(w, b, batches):
    """Batches go through stages, a stage a step."""
    stage, last, count = lax.axis_index("model"), lax.axis_size("model") - 1, batches.shape[0]

    def tick(carried, step):
        state, out = carried
        state = jnp.where(stage == 0, batches[jnp.minimum(step, count - 1)], state)
        state = jnp.tanh(state @ w[0] + b[0])
        done = step - last
        is_made = (stage == last) & (done >= 0)
        out = lax.cond(is_made, lambda out: out.at[jnp.maximum(done, 0)].set(state), lambda out: out, out)
        return (lax.ppermute(state, "model", [(k, (k + 1) % MODEL) for k in range(MODEL)]), out), None

    begin = lax.pcast((batches[0] * 0, batches * 0), "model", to="varying")
    (_, out), _ = lax.scan(tick, begin, jnp.arange(count + last))
    return lax.psum(jnp.where(stage == last, out, 0), "model")


def stages_fitted(w, b, batches, wanted):
    return jax.value_and_grad(lambda w, b: jnp.mean((in_stages(w, b, batches) - wanted) ** 2), (0, 1))(w, b)


def one_in_the_other(x, w):
    """Along one axis by hand, in it along the other."""

    def columns(x, w):
        return lax.psum(x @ w, "model")

    def rows(x, w):
        given = (P(None, "model"), P("model"))
        y = jax.shard_map(columns, in_specs=given, out_specs=P(), axis_names={"model"})(x, w)
        return y - lax.pmean(y.mean(0), "data")

    return jax.shard_map(rows, mesh=GRID, in_specs=(P("data"), P()), out_specs=P("data"), axis_names={"data"})(x, w)


def mapped(w, x):
    return w - lax.pmean(x.T @ (x @ w), "devices")


def around(x, w):
    """Whole arrays before and after what devices compute."""
    shares = on(GRID, (P("model", "data"),), P("model", "data"))(lambda x: x / lax.psum(x.sum(), "model"))
    return (shares(x * 2) @ w).sum(0), shares(shares(x))


def uneven(x):
    return lax.with_sharding_constraint(x * 2, NamedSharding(LINE, P("data"))).sum(0)


ROWS, WHOLE = P("data"), P()
# The function, its mesh, the shapes of its arguments, and how these and the results are divided before XLA's
# partitioner has seen them.
PROGRAMS = {
    "data_parallel": (data_parallel, LINE, [(16, 4), (32, 16), (32, 4)], [WHOLE, ROWS, ROWS], [WHOLE]),
    "fully_sharded": (fully_sharded, LINE, [(16, 8), (32, 16)], [ROWS, ROWS], [ROWS]),
    "zero": (zero, LINE, [(16, 4), (16, 4), (32, 16)], [ROWS, ROWS, ROWS], [ROWS, ROWS]),
    "tensor_parallel": (
        *(tensor_parallel, GRID, [(16, 32), (32, 64), (64, 32)]),
        *([ROWS, P(None, "model"), P("model")], [ROWS]),
    ),
    "pipeline": (pipeline, LINE, [(COUNT, 6, 6), (COUNT, 4, 6)], [ROWS, ROWS], [ROWS, ROWS]),
    "ring_attention": (ring_attention, LINE, [(32, 8)] * 3, [ROWS] * 3, [ROWS]),
    "expert_parallel": (expert_parallel, LINE, [(128, 8), (COUNT, 8, 8)], [ROWS, ROWS], [ROWS]),
    "two_axes": (two_axes, GRID, [(8, 16), (16, 32)], [P("data", "model"), P("model")], [P("data", "model")]),
    "halo": (halo, LINE, [(32, 5)], [ROWS], [ROWS]),
    "several_slices": (
        *(several_slices, SLICES, [(16, 8), (8, 6)]),
        *([P(("slice", "data"), "model"), P("model")], [P(("slice", "data"))]),
    ),
    "mixture_of_experts": (
        *(mixture_of_experts, GRID, [(128, 8), (8, MODEL), (MODEL, 8, 16), (MODEL, 16, 8)]),
        *([P(("data", "model")), WHOLE, P("model"), P("model")], [P(("data", "model")), WHOLE]),
    ),
    "stages_fitted": (
        *(stages_fitted, GRID, [(MODEL, 6, 6), (MODEL, 6), (5, 8, 6), (5, 8, 6)]),
        *([P("model"), P("model"), P(None, "data"), WHOLE], [WHOLE, P("model"), P("model")]),
    ),
    "one_in_the_other": (one_in_the_other, GRID, [(8, 8), (8, 6)], [ROWS, WHOLE], [ROWS]),
    "mapped": (jax.pmap(mapped, axis_name="devices"), LINE, [(COUNT, 4), (COUNT, 6, 4)], [ROWS, ROWS], [ROWS]),
    "around": (around, GRID, [(8, 6), (6, 3)], [WHOLE, WHOLE], [WHOLE, P("model", "data")]),
    "uneven": (uneven, LINE, [(13, 8)], [WHOLE], [WHOLE]),
}


def parts(array, sharding):
    """Return what each device has of an array, by the numbers of the devices."""
    indices = sharding.devices_indices_map(array.shape)
    return [np.asarray(array)[indices[device]] for device in DEVICES]


def write(name, folder):
    function, mesh, shapes, given, made = PROGRAMS[name]
    chance = np.random.default_rng(0)
    arrays = [chance.normal(size=shape).astype(np.float32) for shape in shapes]
    lowered = (function if hasattr(function, "lower") else jax.jit(function)).lower(*arrays)
    compiled = lowered.compile()
    results = jax.tree.leaves(compiled(*arrays))
    layouts = {
        "lowered": [[NamedSharding(mesh, spec) for spec in specs] for specs in (given, made)],
        "compiled": [jax.tree.leaves(compiled.input_shardings[0]), jax.tree.leaves(compiled.output_shardings)],
    }
    texts = {"lowered": lowered.as_text("hlo"), "compiled": compiled.as_text()}
    for stage, text in texts.items():
        (folder / f"{name}.{stage}.hlo").write_text(text)
        stored = {f"whole.{k}": array for k, array in enumerate(arrays)}
        stored |= {f"result.{k}": np.asarray(array) for k, array in enumerate(results)}
        for side, values, shardings in zip(("given", "made"), (arrays, results), layouts[stage], strict=True):
            for k, (value, sharding) in enumerate(zip(values, shardings, strict=True)):
                stored |= {f"{side}.{k}.{device}": part for device, part in enumerate(parts(value, sharding))}
        np.savez(folder / f"{name}.{stage}.npz", **stored)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        write(name, folder)
