"""Leaves without plain names: keys of several words or numbers, attributes of classes registered without keys."""

import ast

import numpy as np
import pytest

import xla2py
from xla2py.transpile.emission.trees.argument_trees import leaf_paths

jax = pytest.importorskip("jax")

X = np.arange(3, dtype=np.float32)


def is_equal(function, *arguments):
    """The text of a function; main gives on the same arguments what XLA does."""
    emitted = xla2py.emit(xla2py.from_jax(function, *arguments))
    found, wanted = emitted.load().main(*arguments), jax.jit(function)(*arguments)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(one, other)
    return emitted.source


def test_keys_may_be_of_several_words():
    text = is_equal(lambda state: state["mass", "of all"] + state["one",], {("mass", "of all"): X, ("one",): X + 1})
    assert 'state[("mass", "of all")] + state[("one",)]' in text


KEYS = ["größe", "日本", "it's", 'a "b"', 'it\'s "q"', "a\nb", "b\\", "", "\u202eb", "a" * 90, "{0}", "b.c", "]["]


@pytest.mark.parametrize("keys", [*([key, "w"] for key in KEYS), [-1, 5]])
@pytest.mark.parametrize("read", [lambda lowered: lowered, lambda lowered: lowered.as_text("hlo", debug_info=True)])
def test_keys_may_be_any_text_or_number(keys, read):
    given = dict.fromkeys(keys, X)
    lowered = jax.jit(lambda state: {key: part + 1 for key, part in state.items()}).lower(given)
    module = xla2py.emit(read(lowered), nested=True)
    assert ast.literal_eval(module.source.partition("SIGNATURE = ")[2].partition("\n\n")[0])["state"].keys() == {*keys}
    found = module.load().main(given)
    assert isinstance(found, tuple) or found.keys() == {*keys}


@pytest.mark.parametrize("keys", [[("a", 1), ("b", 0)], [True, False], [(1, 2), (-3,)]])
def test_keys_may_be_truth_values_and_tuples(keys):
    given = {key: X + k for k, key in enumerate(keys)}
    main = xla2py.emit(xla2py.from_jax(lambda state: {key: part * 2 for key, part in state.items()}, given)).load().main
    found = main(given)
    assert found.keys() == given.keys() and all((found[key] == given[key] * 2).all() for key in keys)


@pytest.mark.parametrize("key", [0.5, b"w", (".w", 1), None])
def test_results_with_other_keys_stay_a_tuple(key):
    main = xla2py.emit(xla2py.from_jax(lambda x: {key: x + 1}, X)).load().main
    assert (main(X) == X + 1).all()


def test_letters_of_keys_stay_and_what_may_mislead_is_escaped():
    text = is_equal(lambda state: state["größe"] + state["\u202eb"], {"größe": X, "\u202eb": X})
    assert 'state["größe"] + state["\\u202eb"]' in text


def test_keys_that_begin_with_a_dot_are_no_attributes():
    module = xla2py.from_jax(lambda state: {".x": state[".x"] + 1}, {".x": X})
    assert leaf_paths(module) == [None]
    assert (xla2py.emit(module).load().main(X) == X + 1).all()


class Packed:
    def __init__(self, packed, rest):
        self.packed, self.rest = packed, rest


jax.tree_util.register_pytree_node(Packed, lambda p: ((p.packed,), p.rest), lambda rest, parts: Packed(*parts, rest))


def test_parts_may_be_attributes_of_classes_without_keys():
    text = is_equal(lambda state, x: state["s"].packed[0] * x + state["s"].packed[1], {"s": Packed((X, X + 1), 3)}, X)
    assert 'state["s"].packed[0] * x + state["s"].packed[1]' in text


class Computed:
    """Keeps another form of what it gives as its parts."""

    def __init__(self, values):
        self.values = dict(values)


jax.tree_util.register_pytree_node(
    Computed,
    lambda c: (tuple(c.values.values()), tuple(c.values)),
    lambda keys, parts: Computed(zip(keys, parts, strict=True)),
)


def test_parts_that_are_no_attributes_stay_arguments_of_their_own():
    module = xla2py.from_jax(lambda c: c.values["a"] + c.values["b"], Computed({"a": X, "b": X}))
    assert leaf_paths(module) == [None, None]
    assert (xla2py.emit(module).load().main(X, X) == X + X).all()


@pytest.mark.parametrize(
    "words", ["('a', b)", "('a' 'b')", "('a',, 'b')", "()", "('a', ('b',))", "('a', 01)", "('a\\\"', 'b')"]
)
def test_what_is_no_key_of_words_is_no_path(words):
    text = f"""HloModule m

ENTRY main {{
  p = f32[3] parameter(0), metadata={{op_name="state[{words}]"}}
  q = f32[3] parameter(1), metadata={{op_name="state['q']"}}
  ROOT r = f32[3] add(p, q)
}}
"""
    assert leaf_paths(xla2py.load(text))[0] is None
