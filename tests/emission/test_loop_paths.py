"""Names of what loops carry, after the paths that it has in the traced step."""

import re
from dataclasses import replace
from typing import NamedTuple

import xla2py
from xla2py.tests.emission.as_xla import emitted
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.transpile.frontends.tree_files import trees_as_json, with_trees_beside
from xla2py.transpile.hlo.parser import parse_module


class Chain(NamedTuple):
    position: dict
    energy: float
    force: dict


def _energy(position):
    return 0.5 * position["angle"] ** 2 + position["shift"] ** 4


def sample(position, kicks):
    """A chain whose state is a tree of five leaves, of which the step unpacks none."""

    def move(chain, kick):
        place = jax.tree.map(lambda x, f: x - 0.1 * f + kick, chain.position, chain.force)
        new = Chain(place, _energy(place), jax.grad(_energy)(place))
        accepted = new.energy < chain.energy + 1
        return jax.tree.map(lambda a, b: jnp.where(accepted, a, b), new, chain), (new.position, accepted)

    first = Chain(position, _energy(position), jax.grad(_energy)(position))
    last, (places, accepted) = jax.lax.scan(move, first, kicks)
    return last.energy, places, accepted.mean()


POSITION = {"angle": jnp.float32(1), "shift": jnp.float32(0.5)}


def test_leaves_of_a_carried_tree_have_the_names_of_its_fields():
    source = emitted(sample, POSITION, jnp.arange(4.0)).source
    for name in ("energy", "force_angle", "force_shift", "position_angle", "position_shift"):
        assert re.search(rf"^        {name} = ", source, re.MULTILINE), name
    assert "places_shift[i] = " in source and "accepted[i] = " in source
    assert "chain_2" not in source and "first_2" not in source


def count(limit):
    def step(state):
        (steps, total), inner = state
        return (steps + 1, total + inner["rate"] * steps), {"rate": inner["rate"] * 0.5}

    (_, total), rest = jax.lax.while_loop(lambda s: s[0][1] < limit, step, ((1, 0.0), {"rate": 1.0}))
    return total, rest


def test_numbers_in_paths_are_the_names_that_the_step_unpacks_them_into():
    source = emitted(count, jnp.float32(3)).source
    assert all(name in source for name in ("steps = steps + 1", "rate = rate * 0.5", "while total < limit"))


def test_an_output_that_is_not_read_shifts_no_name():
    def filtered(values):
        def step(mean, value):
            mean = 0.9 * mean + 0.1 * value
            gap = value - mean
            return mean, (mean, gap, gap * gap)

        _, (means, _, squares) = jax.lax.scan(step, jnp.float32(0), values)
        return means, squares

    source = emitted(filtered, jnp.arange(5.0)).source
    assert "means[i] = mean" in source and "squares[i] = " in source and "gaps" not in source


LOOP = """
HloModule run
body { t = (s32[], f32[3]) parameter(0)
  n = s32[] get-tuple-element(t), index=0
  x = f32[3] get-tuple-element(t), index=1
  one = s32[] constant(1)
  m = s32[] add(n, one)
  y = f32[3] sine(x)
  ROOT r = (s32[], f32[3]) tuple(m, y) }
condition { t = (s32[], f32[3]) parameter(0)
  n = s32[] get-tuple-element(t), index=0
  x = f32[3] get-tuple-element(t), index=1
  first = f32[1] slice(x), slice={[0:1]}
  value = f32[] reshape(first)
  few = s32[] convert(value)
  ROOT r = pred[] compare(n, few), direction=LT }
ENTRY main { zero = s32[] constant(0)
  x = f32[3] parameter(0)
  t = (s32[], f32[3]) tuple(zero, x)
  ROOT loop = (s32[], f32[3]) while(t), condition=condition, body=body }
"""


def test_paths_are_kept_beside_a_text(tmp_path):
    module = replace(parse_module(LOOP), loop_paths={"loop": ("state.tick", "state['phase']")})
    source = xla2py.emit(module).source
    assert "phase = np.sin(phase)" in source and "tick = tick + 1" in source
    assert "phase" not in xla2py.emit(LOOP).source
    (tmp_path / "run.trees.json").write_text(trees_as_json(module), encoding="utf-8")
    read = with_trees_beside(parse_module(LOOP), tmp_path / "run.hlo")
    assert read.loop_paths == module.loop_paths


def test_a_leaf_that_a_loop_begins_with_keeps_its_name():
    text = LOOP.replace("  x = f32[3] parameter(0)", "  x = f32[3] parameter(0), metadata={op_name=\"cache['phase']\"}")
    paths = {"loop": ("state['tick']", "state['cache']['phase']")}
    assert "cache_phase = np.sin(cache_phase)" in xla2py.emit(replace(parse_module(text), loop_paths=paths)).source


def test_a_field_whose_name_others_have_is_told_apart_by_its_root():
    def fall(state, times):
        def step(state, dt):
            height = state["height"] - dt * state["speed"]
            return {"height": jnp.where(height < 0, state["height"], height), "speed": state["speed"] + dt}, height

        return jax.lax.scan(step, state, times)

    source = emitted(fall, {"height": jnp.float32(3), "speed": jnp.float32(0)}, jnp.arange(4.0)).source
    assert "height = state_height - " in source and "height_2" not in source


def test_a_path_is_never_code():
    paths = ("import os; os.abort()", "x['class']", "a.b" * 200)
    source = xla2py.emit(replace(parse_module(LOOP), loop_paths={"loop": paths})).source
    compile(source, "run", "exec")
    assert "os.abort" not in source


def test_parameters_without_a_telling_name_keep_the_name_that_they_had():
    module = replace(parse_module(LOOP), loop_paths={"loop": ("_", "val")})
    assert xla2py.emit(module).source == xla2py.emit(LOOP).source


class Probe(NamedTuple):
    place: object
    speed: object


def test_what_branches_give_has_the_names_of_its_fields():
    def probe(place, speed, dt):
        def falls(state, dt):
            return Probe(state.place + dt * state.speed, state.speed - dt), {"is_down": state.place < dt}

        def rests(state, dt):
            return Probe(state.place, state.speed * 0), {"is_down": state.place > dt}

        state, info = jax.lax.cond(dt > 0, falls, rests, Probe(place, speed), dt)
        return jnp.sin(state.place), state.speed * 2, info["is_down"]

    source = emitted(probe, jnp.arange(3.0), jnp.ones(3), jnp.float32(0.1)).source
    assert "state_place = place + dt * speed" in source and "state_speed = speed - dt" in source
    assert "info_is_down = place < dt" in source


def test_the_names_of_other_results_of_branches_are_kept():
    module = replace(parse_module(CHOICE), loop_paths={"chosen": ("result[0]['phase']", "result[1]")})
    source = xla2py.emit(module).source
    assert "phase, value = np.sin(x), np.exp(x)" in source and "phase" not in xla2py.emit(CHOICE).source
    unknown = replace(module, loop_paths={"chosen": ("result", "result")})
    assert xla2py.emit(unknown).source == xla2py.emit(CHOICE).source


CHOICE = """HloModule choice
high {
  x = f32[3] parameter(0)
  s = f32[3] sine(x)
  e = f32[3] exponential(x)
  ROOT r = (f32[3], f32[3]) tuple(s, e)
}
low {
  x = f32[3] parameter(0)
  c = f32[3] cosine(x)
  ROOT r = (f32[3], f32[3]) tuple(c, x)
}
ENTRY main {
  p = pred[] parameter(0)
  x = f32[3] parameter(1)
  chosen = (f32[3], f32[3]) conditional(p, x, x), true_computation=high, false_computation=low
  a = f32[3] get-tuple-element(chosen), index=0
  b = f32[3] get-tuple-element(chosen), index=1
  d = f32[3] multiply(a, b)
  m = f32[3] add(a, d)
  ROOT r = (f32[3], f32[3]) tuple(d, m)
}
"""
