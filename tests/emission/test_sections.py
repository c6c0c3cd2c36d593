"""Headings of named scopes: in long functions, where they tell something, and harmless."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import entry
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.transpile.emission.module.sections import scope_of, shown


def block(x, w):
    with jax.named_scope("attention"):
        x = x + jnp.tanh(x @ w) @ jnp.cos(x @ w).T @ jnp.sin(x)
    with jax.named_scope("mlp"):
        hidden = jnp.exp(-jnp.square(x @ w.T))
        return hidden / hidden.sum(-1, keepdims=True) - hidden.max()


def model(x, w):
    for k in range(4):
        with jax.named_scope(f"layer_{k}"):
            x = block(x, w[k])
    return x


def deep(x, w):
    for layer in range(2):
        for part in ("attention", "mlp"):
            for k in range(4):
                with jax.named_scope(f"layer_{layer}"), jax.named_scope(part):
                    x = x + jnp.tanh(x @ w[k])
    return x


GIVEN = (np.ones((4, 4), np.float32), np.ones((4, 4, 4), np.float32))


def headings(function, **options):
    text = jax.jit(function).lower(*GIVEN).as_text("hlo", debug_info=True)
    source = xla2py.emit(text, checks=False, disable_passes=["layers", "outlining"], **options).source
    lines = source[source.index("def main") :].splitlines()
    return [line.strip()[2:] for line in lines if line.strip().startswith("# ")]


def test_scopes_head_the_statements_of_long_functions():
    assert headings(deep) == [f"layer_{k} / {part}" for k in range(2) for part in ("attention", "mlp")]


def test_gradients_say_so():
    found = headings(jax.grad(lambda x, w: model(x, w).sum(), argnums=1))
    assert "layer_0 / attention" in found[:2] and "gradient of layer_3 / mlp" in found
    assert not [text for text in found if "jvp" in text or "transpose" in text]


def test_short_functions_and_one_scope_alone_have_none():
    assert not headings(lambda x, w: block(x, w[0]))
    assert not headings(
        lambda x, w: jax.named_scope("all")(lambda: sum(jnp.tanh(x @ w[k % 4]) * k for k in range(20)))()
    )


def test_comments_can_be_left_out():
    assert not headings(deep, annotate="none")


def test_scopes_that_change_too_often_are_cut_to_their_outer_parts():
    assert headings(model) == [f"layer_{k}" for k in range(4)]


@pytest.mark.parametrize(
    ("op_name", "expected"),
    [
        ("jit(f)/jit(main)/add", ()),
        ("jit(f)/encoder/layer_0/dot_general", ("encoder", "layer_0")),
        ("jit(f)/jvp(encoder)/layer_0/mul", ("encoder", "layer_0")),
        ("jit(f)/transpose(jvp(encoder))/layer_0/mul", ("gradient of encoder", "layer_0")),
        ("jit(f)/vmap(jit(norm))/while/body/closed_call/MLP/Dense_0/add", ("MLP", "Dense_0")),
        ("jit(f)/cond/branch_1_fun/head/add", ("head",)),
        ("jit(f)/transpose(jvp(eval_jaxpr))/while/body/eval_jaxpr/head/add", ("gradient of head",)),
        ("jit(f)/program_order/while/body_pred/add", ()),
        ("jit(f)/scan_1/eval_jaxprs/add", ("scan_1", "eval_jaxprs")),
        ("jit(f)/bad\nimport os/" + "x" * 99 + "/'''/add", ()),
        ("", ()),
    ],
)
def test_scopes_of_paths(op_name, expected):
    assert scope_of(op_name) == expected


def test_long_headings_are_cut():
    long = ("a" * 40, "b" * 9, "c" * 40)
    assert shown(long) == long[:2] and shown(long[:2]) == long[:2] and shown(("a" * 61, "b")) == ("a" * 61,)


def test_scopes_that_look_alike_have_one_heading():
    """Scopes whose headings are cut to the same text share one heading."""

    def program(x, w):
        for layer in ("Encoder", "Decoder"):
            with jax.named_scope(f"MultiHeadDotProductAttention{layer}"):
                for k in range(4):
                    with jax.named_scope("query_key_and_value_projections"), jax.named_scope(f"part_{k}"):
                        x = jnp.sin(jnp.tanh(x @ w[k])) + jnp.cos(x @ w[k]) @ x
        return x

    found = headings(program)
    assert [text.split(" / ")[0][-7:] for text in found] == ["Encoder", "Decoder"] and not any("." in t for t in found)


def test_nothing_of_a_path_becomes_code():
    lines = [
        f'v{k} = f32[4] tanh(v{k - 1}), metadata={{op_name="s{k % 2}\\nimport os/tanh"}}'
        if k
        else "v0 = f32[4] parameter(0)"
        for k in range(30)
    ]
    assert "import os" not in xla2py.emit(entry(*lines)).source
