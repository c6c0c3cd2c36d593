"""What makes a function, and the lines of programs that move with it; functions of JAX by their names."""

import textwrap
from functools import cache, partial

import numpy as np
import pytest

from xla2py.tests.recording import trees
from xla2py.tests.recording.functions import Fingerprint, Place
from xla2py.tests.recording.lazy_jax import jax, jnp, lax
from xla2py.tests.recording.lines import placed, replaced
from xla2py.tests.recording.questions import Question
from xla2py.tests.recording.values import NoAnswerError

SCALE = 2.0


def scaled(x):
    return SCALE * jnp.sin(x)


def twice(x):
    return scaled(scaled(x))


def around(number):
    return lambda x: x + number


def key(value):
    return Question("", (Fingerprint().of(value),)).key


def test_a_function_is_its_text_and_what_it_reads(monkeypatch):
    before = key(twice)
    assert before == key(twice)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert key(twice) != before  # by a function that it calls


def test_functions_of_one_text_read_other_values():
    assert key(around(1)) == key(around(1))
    assert len({key(around(number)) for number in (1, 2, 1.0, np.float32([1]), np.float32([2]))}) == 5


def test_lambdas_of_one_line_are_told_apart():
    one, other, same = (lambda x: x + 1), (lambda x: x + 2), (lambda x: x + 1)
    assert key(one) == key(same) != key(other)
    assert key(lambda x: lambda y: y)[:4] != key((lambda x: lambda y: y)(0))[:4]


def test_partials_transformations_and_names_of_jax():
    made = [
        partial(jnp.sum, axis=0),
        partial(jnp.sum, axis=1),
        jnp.sin,
        lax.sin,
        jax.grad(scaled),
        jax.grad(scaled, 1),
        jax.vmap(scaled),
        jax.jit(scaled),
        jax.jit(scaled, static_argnums=0),
        cache(scaled),
    ]
    assert len({key(each) for each in made}) == len(made)
    assert key(jax.grad(scaled)) == key(jax.grad(scaled))


def test_a_function_that_calls_itself():
    def recursive(x, count=3):
        return recursive(x + 1, count - 1) if count else x

    assert key(recursive) == key(recursive)


def test_functions_without_a_file_are_what_they_do():
    def executed(text, **names):
        exec(compile(text, "nowhere.py", "exec"), names)
        return names["f"]

    text = "def f(x): return [k + x for k in range(SIZE)]"
    same, others = executed(text, SIZE=3), [(text, 4), (text.replace("+", "-"), 3), (text.replace("f(x)", "f(x=1)"), 3)]
    assert key(same) == key(executed(text, SIZE=3))
    assert key(same) not in {key(executed(each, SIZE=size)) for each, size in others}


def test_functions_of_libraries_are_their_names():
    assert [Fingerprint().of(each)[0] for each in (textwrap.dedent, pytest.importorskip)] == ["name"] * 2


def test_what_is_not_known_is_asked():
    with pytest.raises(NoAnswerError):
        Fingerprint().of(lambda x, it=(k for k in range(3)): x)


TEXT = """HloModule m

FileNames
1 "{root}/tests/a.py"
2 "/else/b.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=12 end_line=13 column=4 end_column=5}
2 {file_name_id=1 function_name_id=1 line=30 end_line=30 column=4 end_column=5}
3 {file_name_id=2 function_name_id=1 line=12 end_line=12 column=4 end_column=5}

ENTRY e {
  ROOT p = f32[] parameter(0), metadata={op_name="p" source_file="{root}/tests/a.py" source_line=11}
}
"""


def test_lines_move_with_their_functions():
    from xla2py.tests.recording.lines import ROOT

    text = TEXT.replace("{root}", ROOT)
    outer, inner = Place(f"{ROOT}/tests/a.py", 10, 20), Place(f"{ROOT}/tests/a.py", 12, 13)
    kept = placed(text, [outer, inner])
    assert ROOT not in kept and "line=f1+0 end_line=f1+1" in kept and "source_line=f0+1" in kept
    assert replaced(kept, [outer, inner]) == text
    moved = replaced(kept, [Place(outer.file, 110, 120), Place(inner.file, 112, 113)])
    assert moved == text.replace("=12 end_line=13", "=112 end_line=113").replace("source_line=11", "source_line=111")


GENERATOR = np.random.default_rng(3)
DRAWN = GENERATOR.random(3)


@pytest.mark.parametrize("count", [1, 2])
def test_numbers_are_those_of_the_test_alone(count):
    numbers = [GENERATOR.random(3).tolist() for _ in range(count)]
    assert numbers[0] == np.random.default_rng(np.random.SeedSequence(3, spawn_key=(1,))).random(3).tolist()
    assert DRAWN.tolist() not in numbers


def test_trees_of_arrays():
    tree = {"b": [1, (2, None)], "a": 3}
    assert trees.leaves(tree) == [3, 1, 2]
    assert trees.map(lambda x, y: x + y, tree, tree) == {"b": [2, (4, None)], "a": 6}
    assert trees.unflatten(trees.structure(tree), [6, 7, 8]) == {"a": 6, "b": [7, (8, None)]}
    assert trees.structure(tree) == trees.structure(trees.map(lambda x: 2 * x, tree)) != trees.structure([1])
    assert trees.flatten([1, 2])[0] == [1, 2]
