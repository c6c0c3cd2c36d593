"""Random numbers of JAX, exact to the bit: keys, bits and distributions by name, and loops that only look like it."""

import re

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import (
    EXACT,
    assert_agrees,
    called,
    cases,
    cuda,
    hlo,
    lacks,
    main,
    no_prelude,
    optimised,
    times,
)
from xla2py.tests.recording.lazy_jax import jax
from xla2py.tests.whole import much
from xla2py.transpile.equivalence.verdicts.comparison import Budget

random = pytest.importorskip("jax.random")
KEY = np.array([0xDEADBEEF, 42], np.uint32)
KEYS = np.random.default_rng(0).integers(0, 2**32, (5, 2), dtype=np.uint32)
ULP = Budget(relative=1e-6, absolute=1e-6)


def draw(function):
    """The function of a typed key as a function of its two words."""
    return lambda words: function(random.wrap_key_data(words))


test_draws_of_jax = cases("threefry", KEY, claims=[lacks("for ")], budget=EXACT, forms=(hlo, cuda), also=[optimised])(
    (draw(lambda key: random.key_data(random.split(key, 5))), "return split_key(words, 5)"),
    (draw(lambda key: random.key_data(random.fold_in(key, 123))), "return fold_in(words, 123)"),
    (draw(lambda key: random.bits(key, (3, 4))), "return random_bits(words, (3, 4))"),
    (draw(lambda key: random.bits(key)), "return random_bits(words, ())"),
    (draw(lambda key: random.bits(key, (6, 1, 2))), "return random_bits(words, (6, 1, 2))"),
    (draw(lambda key: random.uniform(key, (7,))), "return random_uniform(words, (7,))"),
    (draw(lambda key: random.uniform(key, (7,), minval=2, maxval=5)), "return random_uniform(words, (7,), 2, 5)"),
    (draw(lambda key: random.bernoulli(key, 0.3, (9,))), "return random_uniform(words, (9,)) < 0.3"),
)

test_draws_that_are_rounded = cases(
    "threefry", KEY, claims=[lacks("for ")], budget=ULP, forms=(hlo, cuda), also=[optimised]
)(
    (draw(lambda key: random.uniform(key, (7,), minval=-0.5, maxval=0.1)), "random_uniform(words, (7,), -0.5, 0.1)"),
    (
        draw(lambda key: random.uniform(key, (7,), minval=-0.5, maxval=random.key_data(key)[0].astype("float32"))),
        "-0.5, random_uniform(words, (7,)) * (words[0].astype(np.float32) + 0.5) - 0.5",
    ),
    (draw(lambda key: random.normal(key, (50, 3))), "return random_normal(words, (50, 3))"),
    (draw(lambda key: random.normal(random.split(key)[1], (5,))), "random_normal(split_key(words, 2)[1], (5,))"),
    (
        draw(lambda key: random.gumbel(key, (5,))),
        "-np.log(-np.log(random_uniform(words, (5,), 1.1754944e-38)))",
    ),
)


@pytest.mark.parametrize("form", [hlo, cuda])
def test_draws_of_one_shape_have_a_cipher_that_jax_calls(form):
    """Keys, bits and numbers of like shapes: the cipher is one function, which all of them call."""

    def draws(key):
        keys = random.split(key, 3)
        drawn = random.uniform(keys[0], (3,)), random.normal(keys[1], (3,)), random.bits(keys[2], (3,))
        return *drawn, random.key_data(keys[2])

    text = form(draw(draws), KEY)
    assert "split_key(words, 3)" in main(text)
    assert [
        name for name in ("random_uniform", "random_normal", "random_bits") if f"{name}(keys[" not in main(text)
    ] == []
    assert "threefry_2x32" not in main(text)
    assert_agrees(text, KEY, without="threefry", budget=ULP)


@pytest.mark.parametrize("form", [hlo, cuda])
def test_numbers_drawn_one_by_one_have_a_cipher_that_jax_calls(form):
    """The counts of a single number are 0 in all calls, so the function of the cipher is only given the key."""

    def draws(key):
        keys = random.split(key, 2)
        return random.uniform(keys[0]) + random.uniform(keys[1], minval=1, maxval=3), random.normal(keys[1])

    text = form(draw(draws), KEY)
    assert "threefry_2x32" not in main(text)
    assert [name for name in ("random_uniform(", "random_normal(", "(), 1, 3") if name not in main(text)] == []
    assert_agrees(text, KEY, without="threefry", budget=ULP)


@pytest.mark.parametrize("form", [hlo, cuda])
def test_numbers_of_a_run_are_folded_into_keys(form):
    """The upper word of a number of 32 bits is 0, whatever the number."""

    def fold(words, number):
        return random.key_data(random.fold_in(random.wrap_key_data(words), number))

    for number in (np.int32(-5), np.uint32(7)):
        text = form(fold, KEY, number)
        assert "fold_in(words, number" in main(text)
        assert ">>" not in main(text)
        assert_agrees(text, KEY, number, without="threefry", budget=EXACT)


test_other_draws_compute_the_same = cases("threefry", KEY, budget=ULP, forms=(hlo, cuda))(
    (draw(lambda key: random.randint(key, (9,), 0, 10)), times(2, "random_bits(keys["), lacks("for ")),
    draw(lambda key: random.permutation(key, 6)),
    draw(lambda key: random.exponential(key, (6,))),
    draw(lambda key: random.truncated_normal(key, -1, 1, (6,))),
    (
        lambda a, b: draw(lambda key: random.bits(key, (4,)))(jax.numpy.stack([a[0], b[1]])),
        (KEY, KEY),
        "random_bits(np.array([a[0], b[1]]), (4,))",
    ),
    (
        lambda seed: random.normal(random.fold_in(random.key(seed), 3), (4, 3)),
        (np.int32(-7),),
        "fold_in(np.array([0, seed.astype(np.uint32)], dtype=np.uint32)",
        lacks("for "),
    ),
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("constant({13, 15, 26, 6})", "constant({13, 15, 26, 7})"),
        ("constant(466688986)", "constant(466688987)"),
        ("constant(1065353216)", "constant(1065353217)"),
        ("constant(5)", "constant(4)"),
        ("constant(9)", "constant(8)"),
    ],
)
def test_near_misses(old, new):
    text = hlo(draw(lambda key: random.uniform(key, (7,))), KEY)
    assert old in text
    text = text.replace(old, new)
    assert "random_uniform" not in main(text)
    assert_agrees(text, KEY, without="threefry", budget=EXACT)


NEAR_MISSES = {"shift": (13, 14), "parity": (466688986, 466688987), "group": (4, 3), "opposite": (19, 18)}


@pytest.mark.parametrize(("old", "new"), NEAR_MISSES.values(), ids=NEAR_MISSES)
def test_near_misses_in_line(old, new):
    text = cuda(draw(lambda key: random.bits(key, (7,))), KEY)
    assert f"constant({old})" in text
    text = text.replace(f"constant({old})", f"constant({new})")
    assert "random_bits" not in main(text) and "threefry_2x32" not in main(text)
    assert_agrees(text, KEY, without="threefry", budget=EXACT)


@pytest.mark.parametrize("place", much([1, 2, 7, 13, 18], range(20)))
def test_every_sum_of_the_rounds_counts(place):
    """A cipher in which one round, or one word of the key, goes into a difference is another."""
    text = cuda(draw(lambda key: random.bits(key, (7,))), KEY)
    sums = list(re.finditer(r" add\(", text))
    at = sums[place * len(sums) // 20].start()
    text = f"{text[:at]} subtract({text[at + 5 :]}"
    assert "threefry_2x32" not in main(text) and "random_bits(" not in main(text)
    assert_agrees(text, KEY, without="threefry", budget=EXACT)


def test_sums_in_another_order_are_the_cipher():
    text = cuda(draw(lambda key: random.bits(key, (7,))), KEY)
    text = re.sub(r" (add|xor|or)\(([^,]*), ([^)]*)\)", r" \1(\3, \2)", text)
    assert "return random_bits(words, (7,))" in main(text)


@pytest.mark.parametrize(
    ("seed", "words", "shape"),
    [
        *((0, "np.zeros(2", shape) for shape in ((7,), (90,))),
        *((42, "np.array([0, 42]", shape) for shape in ((), (1,), (5, 4))),
        *((-5, "np.array([0, 4294967291]", shape) for shape in ((7,), (5, 4))),
    ],
)
@pytest.mark.parametrize("form", [hlo, cuda])
def test_keys_that_a_program_makes(seed, words, shape, form):
    text = form(lambda: random.uniform(random.PRNGKey(seed), shape))
    is_number = form is cuda and shape in ((), (1,))  # which is known in line
    assert (f"random_uniform({words}" in main(text)) is not is_number
    assert "for " not in main(text)
    assert_agrees(text, without="threefry", budget=EXACT)


MANY = [
    (lambda key: random.uniform(key, (5,)), "return uniform_of(first ^ second)", EXACT),
    (lambda key: random.uniform(key, (3, 2), minval=-1, maxval=2), "return uniform_of(first ^ second, -1, 2)", EXACT),
    (lambda key: random.normal(key, (5,)), "return normal_of(first ^ second)", ULP),
    (lambda key: random.normal(random.split(key)[1], (5,)), "return normal_of(first ^ second)", ULP),
]


@pytest.mark.parametrize(("function", "expected", "budget"), MANY, ids=[f"{k} {row[1]}" for k, row in enumerate(MANY)])
@pytest.mark.parametrize("form", [hlo, cuda])
def test_draws_of_several_keys(function, expected, budget, form):
    keys = np.stack([KEY, KEY + 1, KEY // 3])
    text = form(jax.vmap(draw(function)), keys)
    assert expected in main(text) and "np.zeros((1, " not in main(text) and "[None][0]" not in main(text)
    assert_agrees(text, keys, without="threefry", budget=budget)


def test_counts_that_are_no_pattern_go_into_the_cipher():
    text = hlo(draw(lambda key: random.bits(key, (9,))), KEY)
    text = text.replace("u64[] constant(32)", "u64[] constant(1)")
    assert "threefry_2x32(" in main(text) and "for " not in main(text)
    assert_agrees(text, KEY, without="threefry", budget=EXACT)


test_several_keys_go_into_the_cipher_together = cases(
    "threefry", KEYS, claims=["threefry_2x32(", lacks("for ")], budget=EXACT, forms=(hlo, cuda)
)(
    draw(lambda keys: jax.vmap(lambda key: random.uniform(key, (3,)))(keys)),
    draw(lambda keys: jax.vmap(random.bits)(keys)),
    draw(lambda keys: random.key_data(jax.vmap(lambda key: random.split(key, 5))(keys))),
    draw(lambda keys: jax.vmap(jax.vmap(random.bits))(keys[:, None])),
    draw(lambda keys: jax.vmap(lambda key: random.bits(key, (5, 5)))(keys)),
    draw(lambda keys: random.key_data(jax.vmap(random.fold_in)(keys, jax.numpy.arange(5)))),
)


def test_a_first_word_that_is_not_the_keys_is_no_count():
    """A cipher that starts from the counts alone, as if the key had been taken away from them."""
    text = hlo(draw(lambda key: random.bits(key, (4,))), KEY)
    before, cipher = text.split("\nthreefry2x32", 1)
    second = re.findall(r"add\((\S+), \S+\)", cipher)[1]
    text = f"{before}\nthreefry2x32{re.sub(rf'add.{second}, [^)]*.', f'copy({second})', cipher, count=1)}"
    assert_agrees(text, KEY, without="threefry", budget=EXACT)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_loops_that_draw_until_numbers_are_good(dtype):
    """Their conditions are long lines, and one stands in the other."""
    with jax.enable_x64(True):
        alpha = np.array([5.1, 0.3, 1.0, 0.02], dtype)
        text = hlo(lambda a: random.gamma(random.key(3), a, dtype=dtype), alpha)
        budget = Budget(relative=1e-5 if dtype == "float32" else 1e-12, absolute=0)
        assert_agrees(text, alpha, without="threefry", budget=budget)


def test_a_target_without_the_prelude_gets_the_loop():
    text = hlo(draw(lambda key: random.bits(key, (4,))), KEY)
    assert "random_bits" in called(text) and "random_bits" not in called(text, no_prelude)


def of_one_key(draw_one):
    """What is drawn of each key of a batch that holds one key only, as JAX does in its loops for gamma and beta."""

    def drawn(words):
        keys = jax.vmap(lambda key: random.fold_in(key, 0))(random.wrap_key_data(words).reshape(1))
        return jax.vmap(draw_one)(keys)

    return drawn


BATCHES = {
    "keys": lambda key: random.key_data(random.split(key)[0]),
    "three keys": lambda key: random.key_data(random.split(key, 3)),
    "numbers": lambda key: random.uniform(key, (5,)),
    "one number": lambda key: random.uniform(random.fold_in(key, 7)),
}


@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_of_one_key_has_its_axis(name):
    text = hlo(of_one_key(BATCHES[name]), KEY)
    assert "fold_in(words, " in main(text) and "concatenate" not in main(text)
    assert_agrees(text, KEY, without="threefry", budget=EXACT)
    for target in ("cupy", "dask"):
        xla2py.emit(text, target, style="fast", debug=True)


def test_a_number_that_is_drawn_by_rejection():
    """JAX draws it in a batch of one key, and so those of beta, t and chisquare."""
    text = hlo(draw(lambda key: random.gamma(key, 2.0)), KEY)
    assert_agrees(text, KEY, without="threefry", budget=ULP)
    xla2py.emit(text, style="fast", debug=True)
