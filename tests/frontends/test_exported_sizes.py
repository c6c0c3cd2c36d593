"""Exports of JAX whose sizes are symbols have modules for any size."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax import export, lax  # noqa: E402

import xla2py  # noqa: E402
from xla2py.tests.whole import much  # noqa: E402
from xla2py.transpile.errors import OpenSizes, UsageError  # noqa: E402


def exported(function, sizes, *shapes):
    symbols = dict(zip(sizes.split(", "), export.symbolic_shape(sizes), strict=True))
    arguments = [jax.ShapeDtypeStruct([symbols.get(n, n) for n in shape], "float32") for shape in shapes]
    return export.export(jax.jit(function))(*arguments)


def test_symbols_are_the_names_of_sizes():
    def attended(q, k):
        return jax.nn.softmax(q @ k.mT / k.shape[1], -1) @ k

    program = exported(attended, "B, T, S", ("B", "T", 8), ("B", "S", 8))
    module = xla2py.emit(xla2py.from_jax(program))
    assert module.sizes == {"B": range(1, 2**63), "T": range(1, 2**63), "S": range(2, 2**63)}
    assert "softmax(" in module.source and '"float32[B, S, 8]"' in module.source
    q, k = (np.random.default_rng(n).standard_normal((3, n, 8), np.float32) for n in (5, 7))
    np.testing.assert_allclose(module.load().main(q, k), attended(q, k), rtol=1e-4, atol=1e-6)


def test_a_size_of_several_symbols_needs_a_name():
    (n,) = export.symbolic_shape("N")
    program = export.export(jax.jit(jnp.sin))(jax.ShapeDtypeStruct((2 * n,), "float32"))
    with pytest.raises(UsageError, match=r"XP425: an argument has an axis of size 2\*N(.|\n)*axes of 2 and n"):
        xla2py.from_jax(program)


def numbers(shape):
    return np.random.default_rng(0).standard_normal(shape, np.float32)


PROGRAMS = {  # a function, its sizes, the shapes of arguments
    "sizes of a quotient": (lambda x: x[x.shape[0] // 2 :], "N", ("N", 3)),
    "a cumulative sum": (lambda x: jnp.cumsum(jnp.concatenate([x, x[1:]]), 0)[::2], "N", ("N", 4)),
    "loops": (
        lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c + x[i], lax.scan(lambda c, a: (c + a, a), x[0], x)[0]),
        "N",
        ("N", 4),
    ),
    "a branch": (lambda x: lax.cond(x.sum() > 0, lambda a: a * 2, jnp.tanh, x), "N", ("N", 3)),
    "random numbers": (lambda x: x + jax.random.uniform(jax.random.key(0), x.shape), "N", ("N", 4)),
    "a convolution": (lambda x: lax.conv(x, jnp.ones((5, 3, 3, 3)), (2, 2), "SAME"), "N, H", ("N", 3, "H", "H")),
    "windows": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3), (1, 2), "SAME"), "N, H", ("N", "H")),
    "the largest": (lambda x: lax.top_k(x, 2)[0] + jnp.sort(x, 0)[:, :2], "N", ("N", 3)),
    "moved": (lambda x: jnp.roll(x, 1, 0) + jnp.pad(x, ((1, 0), (0, 0)))[:-1], "N", ("N", 3)),
    "a custom call": (lambda x: jnp.linalg.cholesky(x @ x.mT + jnp.eye(3)), "N", ("N", 3, 3)),
    "a size of all elements": (lambda x: x.reshape(-1) + jnp.arange(x.size, dtype=x.dtype), "N, H", ("N", "H")),
    "tokens": (lambda x, w: (x.reshape(-1, 4) @ w).reshape(*x.shape[:2], 3), "N, H", ("N", "H", 4), (4, 3)),
    "updates": (lambda x: x.at[0].set(1).at[:, 1].add(2) * jnp.arange(x.shape[0])[:, None], "N", ("N", 3)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_text_and_the_bytes_of_an_export_are_read_at_any_size(name):
    function, sizes, *shapes = PROGRAMS[name]
    program = exported(function, sizes, *shapes)
    chosen = dict(zip(sizes.split(", "), (6, 9), strict=False))
    arguments = [numbers([chosen.get(size, size) for size in shape]) for shape in shapes]
    expected = program.call(*arguments)
    both = (program.mlir_module(), program)
    for source in both if name in ("loops", "tokens") else much(both[1:], both):
        module = xla2py.emit(source)
        assert list(module.sizes) == list(chosen)
        np.testing.assert_allclose(module.load().main(*arguments), expected, rtol=1e-4, atol=1e-5)


MESSAGE = "Half of {0}. Using the following: 'N' = {0} from specification 'N' for dimension args[0].shape[0] (= {0}), ."
TEXT = f"""
module @m {{
  func.func public @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {{
    %c = stablehlo.constant dense<2> : tensor<i32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
    %1 = stablehlo.remainder %0, %c : tensor<i32>
    %2 = stablehlo.compare EQ, %1, %z, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%2, %0) {{error_message = "{MESSAGE}"}} : (tensor<i1>, tensor<i32>) -> ()
    OPERATION
    return %3 : tensor<?x4xf32>
  }}
}}
"""
SINE = "%3 = stablehlo.sine %x : tensor<?x4xf32>"


def test_a_text_is_read_at_sizes_that_its_assertions_allow():
    text = TEXT.replace("OPERATION", SINE)
    with pytest.raises(OpenSizes, match=r"<string>:3:\d+: XP425: the sizes of arguments are left open: argument 1"):
        xla2py.load(text)
    assert xla2py.load(text, sizes={"N": 6}).entry.root.shape.dimensions == (6, 4)
    with pytest.raises(UsageError, match=r"<string>:9:\d+: XP425: Half of 5\."):
        xla2py.load(text, sizes={"N": 5})
    assert xla2py.emit(text).sizes["N"].step == 2


def test_inspect_and_run_take_a_number_of_each_size(xla2py, tmp_path):
    path = tmp_path / "sine.mlir"
    path.write_text(TEXT.replace("OPERATION", SINE), encoding="utf-8")
    for command, shown in (("inspect", "f32[6,4]"), ("run", "float32[6, 4]")):
        code, out, _ = xla2py(command, str(path), "--sizes", "N=6")
        assert code == 0 and shown in out
        for words, told in (
            ((), "--sizes NAME=N"),
            (("--sizes", "N=5"), "Half of 5."),
            (("--sizes", "M=6"), "sizes are given for M, and the free ones are N"),
            (("--sizes", "N=6,8,10"), "each size has one number here"),
        ):
            code, _, err = xla2py(command, str(path), *words)
            assert code == 2 and "error[XP425]" in err and told in err


@pytest.mark.parametrize(
    ("name", "first", "second", "number"),
    [
        ("multiply", 46340, 46340, 2147395600),
        ("multiply", 66000, 66000, None),  # 61032704 in 32 bits
        ("add", 2**31 - 2, 1, 2**31 - 1),
        ("add", 2**31 - 1, 1, None),
        ("subtract", -2, 2**31 - 1, None),
    ],
)
def test_a_number_that_its_type_cannot_hold_is_no_size(name, first, second, number):
    operations = f"""%a = stablehlo.constant dense<{first}> : tensor<i32>
    %b = stablehlo.constant dense<{second}> : tensor<i32>
    %c0 = stablehlo.{name} %a, %b : tensor<i32>
    %c1 = stablehlo.reshape %c0 : (tensor<i32>) -> tensor<1xi32>
    %d = stablehlo.dynamic_iota %c1, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
    %e = stablehlo.reduce(%d init: %f) applies stablehlo.add across dimensions = [0] : (tensor<?xf32>, tensor<f32>)
      -> tensor<f32>
    %g = stablehlo.broadcast_in_dim %e, dims = [] : (tensor<f32>) -> tensor<6x4xf32>
    {SINE}"""
    text = TEXT.replace("OPERATION", f"%f = stablehlo.constant dense<0.0> : tensor<f32>\n    {operations}")
    text = text.replace("return %3", "return %3, %g").replace(
        "-> tensor<?x4xf32> {", "-> (tensor<?x4xf32>, tensor<6x4xf32>) {"
    )
    if number is None:
        with pytest.raises(UsageError, match=r"XP425: the sizes that `stablehlo.dynamic_iota` gives do not follow"):
            xla2py.load(text, sizes={"N": 6})
    else:
        module = xla2py.load(text, sizes={"N": 6})
        assert [each.array_shape.size for each in module.instructions() if each.opcode == "iota"] == [number]


REFUSED = {
    "nobody names the axis": (TEXT.replace("specification 'N'", "nothing"), "3:.* argument 1 is"),
    "a size of several": (TEXT.replace("specification 'N'", "specification '2*N'"), "3:.* an axis of size 2\\*N"),
    "a size that does not follow": (
        TEXT.replace("OPERATION", "%3 = stablehlo.custom_call @unknown(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>"),
        "10:.* `stablehlo.custom_call` gives do not follow",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_at_the_users_own_line(name):
    text, message = REFUSED[name]
    with pytest.raises(UsageError, match=f"<string>:{message}"):
        xla2py.load(text.replace("OPERATION", SINE), sizes={"N": 6})


def test_a_constant_of_one_number_takes_no_memory():
    """The size of a tebibyte; random numbers at an open size have such constants."""
    text = """
module @m {
  func.func public @main(%x: tensor<1099511627776xi32>) -> tensor<1099511627776xi32> {
    %c = stablehlo.constant dense<0> : tensor<1099511627776xi32>
    %0 = stablehlo.or %x, %c : tensor<1099511627776xi32>
    return %0 : tensor<1099511627776xi32>
  }
}
"""
    assert xla2py.load(text).entry.root.opcode == "parameter"
