"""Results that only differ in the number of items of a list are said once."""

import pytest

from xla2py.transpile.emission.functions.tree_writer import with_runs
from xla2py.transpile.emission.trees.result_groups import display

COUNT = 5
BIASES, WEIGHTS = [0.5, 1.5, 2.5, 3.5, 4.5], [10, 20, 30, 40, 50]
GIVEN = {"bs": BIASES, "ws": WEIGHTS, "m": [*range(9)], "p": {f"layer_{k}": k / 8 for k in range(12)} | {"a:1": 7}}


def said(tree):
    return display(with_runs(tree, {"bs": COUNT, "ws": COUNT}))


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        ([f"bs[{k}]" for k in range(COUNT)], "bs"),
        ([f"bs[{k}]" for k in reversed(range(COUNT))], "bs[::-1]"),
        ([{"b": f"bs[{k}]", "w": f"ws[{k}]"} for k in range(COUNT)], '[{"b": bs[i], "w": ws[i]} for i in range(5)]'),
        (tuple([f"bs[{k}]", f"m[{k + 2}]"] for k in range(COUNT)), "(*([bs[i], m[i + 2]] for i in range(5)),)"),
        ([f"{k + 1} * bs[{k}] / 4" for k in range(COUNT)], "[(i + 1) * bs[i] / 4 for i in range(5)]"),
        (
            [f'bs[{k}] - p["layer_{2 * k + 1}"] * 0.1' for k in range(COUNT)],
            '[bs[i] - p[f"layer_{2 * i + 1}"] * 0.1 for i in range(5)]',
        ),
        (
            {f"n{k}": f"bs[{k - 1}] + 1" if k else "m" for k in range(COUNT + 1)},
            '{"n0": m, **{f"n{i + 1}": bs[i] + 1 for i in range(5)}}',
        ),
    ],
)
def test_what_counts_is_a_comprehension(tree, text):
    assert said(tree) == text
    assert eval(text, dict(GIVEN)) == eval(display(tree), dict(GIVEN))


@pytest.mark.parametrize(
    "tree",
    [
        [f"bs[{k}]" for k in range(3)],  # few
        [f"m[{k}] + bs[0]" for k in range(COUNT)],  # items of no list
        [f"bs[{k}] * 1e-{k + 1}" for k in range(COUNT)],  # a float is one
        [f"bs[{k}] * {k}.5" for k in range(COUNT)],
        [f"i * bs[{k}]" for k in range(COUNT)],  # the name of the number is taken
        [f'bs[{k}] + p["a:{k}"]' for k in range(COUNT)],  # a key that is no word with a number
        [f"bs[{k}] - m[{4 - k}]" for k in range(COUNT)],
    ],
)
def test_what_does_not_count_stays(tree):
    assert said(tree) == display(tree)
