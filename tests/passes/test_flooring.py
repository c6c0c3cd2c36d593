"""``//`` and ``%`` by a positive number, and operations on constants: worked out while a program is lowered."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import EXACT, assert_agrees, entry, hlo, main, optimised

jnp = pytest.importorskip("jax.numpy")
jax = pytest.importorskip("jax")
ENDS = [np.iinfo(np.int32).min, np.iinfo(np.int32).max]
X = np.array([*range(-9, 10), *ENDS], np.int32)
BYTES = np.arange(-128, 128, dtype=np.int8)


def assert_exact(text, *inputs):
    """The lowering has no switch of its own: with and without one of another kind."""
    assert_agrees(text, *inputs, without="axis_maps", budget=EXACT)


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (lambda x: x // 2, X, "return x // 2"),
        (lambda x: x // 7, BYTES, "return x // 7"),
        (lambda x: x // 1, X, "return x"),
        (lambda x: x % 7, BYTES, "return np.remainder(x, 7)"),
        (lambda x: jnp.divmod(x, 5), X, "return x // 5, np.remainder(x, 5)"),
        (lambda x: x + jnp.arange(21) // 2, X, "return x + np.arange(21, dtype=np.int32) // 2"),
        (lambda x: x[:0] // 3, X, "return np.zeros(0, dtype=np.int32)"),
        (lambda x: x * (x // 3)[:, None], X, "return x * (x // 3)[:, None]"),
        (lambda x: jax.lax.rem(x, 1), X, "return np.zeros(21, dtype=np.int32)"),
        (lambda x: jax.lax.rem(x, -1), X, "return np.zeros(21, dtype=np.int32)"),
        (lambda x: x + jnp.int32(-7) // jnp.int32(2), X, "return x - 4"),
        (lambda x: x + jnp.int32(-7) % jnp.int32(4), X, "return x + 1"),
        (lambda x: x + jnp.sign(jnp.int32(-3)), X, "return x - 1"),
        (lambda x: x + jnp.where(jnp.int32(3) > 2, jnp.maximum(jnp.int32(5), 4), 0), X, "return x + 5"),
    ],
)
def test_integers(function, x, expected):
    text = hlo(function, x)
    assert main(text) == expected
    assert_exact(text, x)


@pytest.mark.parametrize("divisor", [3, 7])
def test_after_optimisation(divisor):
    text = optimised(lambda x: x // divisor, X)
    assert main(text) == f"return x // {divisor}"
    assert_exact(text, X)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x // -2,
        lambda x: x // x[::-1],
        lambda x: jax.lax.div(x, 2),
        lambda x: jnp.where((jnp.sign(x) != 1) & (jax.lax.rem(x, 3) != 0), jax.lax.div(x, 2) - 1, jax.lax.div(x, 2)),
        lambda x: jnp.where((jnp.sign(x) != 1) & (jax.lax.rem(x, 2) != 1), jax.lax.div(x, 2) - 1, jax.lax.div(x, 2)),
        lambda x: jnp.where((jnp.sign(x) != 1) & (jax.lax.rem(x, 2) != 0), jax.lax.div(x, 2) - 2, jax.lax.div(x, 2)),
        lambda x: jnp.where((jnp.sign(x) != -1) & (jax.lax.rem(x, 2) != 0), jax.lax.div(x, 2) - 1, jax.lax.div(x, 2)),
    ],
)
def test_other_quotients_are_cut(function):
    text = hlo(function, X)
    assert "int_divide" in main(text) and "//" not in main(text)
    assert_exact(text, X)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, y: (x % 3) * y + x, "cp.remainder(x, 3)"),
        (lambda x, y: (x // 3) * y + x, "x // 3"),
        (lambda x, y: (x + y) * (jnp.arange(21) % 4), "% 4"),
    ],
)
def test_kernels_in_cpp_would_cut(function, expected):
    source = xla2py.emit(hlo(function, X, X), "cupy", style="fast").source
    is_in_kernel = expected not in source[source.index("def main") :]
    assert expected in source and is_in_kernel == expected.startswith("%")


@pytest.mark.parametrize(
    ("element_type", "operation", "expected"),
    [
        ("s32", "remainder(-7, 3)", "-1"),
        ("s32", "remainder(7, -3)", "1"),
        ("s32", "remainder(-2147483648, -1)", "0"),
        ("s32", "remainder(7, 0)", None),
        ("s32", "divide(-7, 2)", "-3"),
        ("s32", "divide(7, 0)", None),
        ("s32", "divide(-2147483648, -1)", None),
        ("u32", "divide(4294967295, 2)", "2147483647"),
        ("s32", "sign(-5)", "-1"),
        ("f32", "sign(-0)", "-0.0"),
        ("f32", "sign(nan)", "np.nan"),
        ("f32", "sign(-inf)", "-1"),
        ("f32", "remainder(-7, 2)", "-1"),
        ("f32", "remainder(7, 0)", "np.nan"),
        ("f32", "round-nearest-even(2.5)", "2"),
        ("f32", "round-nearest-even(-0.25)", "-0.0"),
    ],
)
def test_constants(element_type, operation, expected):
    name, _, operands = operation.rstrip(")").partition("(")
    numbers = [f"n{k} = {element_type}[] constant({value})" for k, value in enumerate(operands.split(", "))]
    text = entry(*numbers, f"r = {element_type}[] {name}({', '.join(f'n{k}' for k in range(len(numbers)))})")
    if expected is None:  # XLA's own compiler divides by 0 here, and dies
        assert "divide" in main(text) or "remainder" in main(text)
    else:
        dtype = {"s32": "int32", "u32": "uint32", "f32": "float32"}[element_type]
        assert_exact(text)
        assert main(text) == f"return np.{dtype}({expected})"
