"""StableHLO as other front ends write it, and where errors in it are."""

import pytest

import xla2py
from xla2py.transpile.errors import UsageError, XlaToPythonError
from xla2py.transpile.frontends.stablehlo import FreeSizesError, RefusedError, prepared

pytest.importorskip("jaxlib.mlir.ir")

PLAIN = """module {
  func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"""
REACTANT = """module @reactant_forward attributes {mhlo.num_partitions = 1 : i64} {
  func.func private @act(%arg0: tensor<2x4xf32>) -> tensor<2x4xf32>
      attributes {enzymexla.memory_effects = [#enzymexla.memory_effects<read>]} {
    %0 = stablehlo.tanh %arg0 {enzymexla.symmetric = {why = #enzymexla.guaranteed<NO>}} : tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  }
  func.func @entry_2(
      %arg0: tensor<2x3xf32> {enzymexla.effects = ["read"], tf.aliasing_output = 0 : i32} loc("arg1 (path=(:args, 1))"),
      %arg1: tensor<3x4xf32> {enzymexla.x = #enzymexla.a<B>} loc("arg3.q_proj.weight (path=(:args, 3, 1, 1))"))
      -> tensor<2x4xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
      : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %1 = func.call @act(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return %1 : tensor<2x4xf32>
  }
}
"""
PLATFORMS = """module @jit_f {
  func.func public @main(%arg0: tensor<i32> {jax.global_constant = "_platform_index"}, %arg1: tensor<4xf32> loc("x"))
      -> tensor<4xf32> {
    %0 = "stablehlo.case"(%arg0) ({
      %1 = stablehlo.sine %arg1 : tensor<4xf32>
      stablehlo.return %1 : tensor<4xf32>
    }, {
      %1 = stablehlo.cosine %arg1 : tensor<4xf32>
      stablehlo.return %1 : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"""


def test_one_public_function_of_any_name_and_attributes_that_jaxlib_does_not_know():
    module = xla2py.load(REACTANT, name="entry.mlir")
    assert [each.message.partition("'")[2] for each in module.notes] == [
        "enzymexla.memory_effects'",
        "enzymexla.symmetric'",
        "enzymexla.x'",
    ]
    source = xla2py.emit(module, checks=False, annotate="none").source
    assert "def main(arg1: Array, q_proj_weight: Array) -> Array:\n" in source
    assert "return np.tanh(arg1 @ q_proj_weight)" in source
    assert source.startswith('"""Reactant forward.')


def test_a_module_without_a_name_is_called_after_its_function():
    text = PLAIN.replace("@main", "@forward")
    content, left_out = prepared(text.encode(), None)
    assert b"forward" in content and b"main" in content and not left_out
    assert prepared(PLAIN.encode(), None) == (PLAIN.encode(), [])  # nothing to prepare


def test_what_begins_a_module_must_be_known():
    two = PLAIN.replace("@main", "@one").replace("module {", "module { func.func @two() { return }")
    with pytest.raises(RefusedError, match="this has 2: two, one"):
        prepared(two.encode(), None)
    with pytest.raises(RefusedError, match="this has none"):
        prepared(PLAIN.replace("@main", "private @one").encode(), None)


def test_the_platform_is_an_argument_only_where_nobody_knows_it():
    source = xla2py.emit(xla2py.load(PLATFORMS), checks=False).source
    assert "def main(platform_index: Any, x: Array)" in source
    for platform, name in enumerate(("sine", "cosine")):
        content, _ = prepared(PLATFORMS.encode(), platform)
        module = xla2py.load(content)
        source = xla2py.emit(module, checks=False).source
        assert "def main(x: Array)" in source
        assert f"return np.{name[:3]}(x)" in source


def test_sizes_that_are_left_open():
    text = PLAIN.replace("4xf32", "?x4xf32")
    with pytest.raises(FreeSizesError, match=r"argument 1 is tensor<\?x4xf32>"):
        prepared(text.encode(), None)
    with pytest.raises(UsageError, match=r"XP425: the sizes of arguments are left open(.|\n)*from_jax\(exported\)"):
        xla2py.load(text, name="open.mlir")
    bounded = PLAIN.replace("4xf32", "?xf32, #stablehlo.bounds<4>")
    assert prepared(bounded.encode(), None) == (bounded.encode(), [])


@pytest.mark.parametrize(
    "old, new, place, message",
    [
        ("%arg0 :", "%arg1 :", "3:25", "use of undeclared SSA value name"),
        ("stablehlo.tanh %arg0", "torch.aten.tanh %arg0", "3:10", "Dialect `torch' not found"),
        (
            "stablehlo.tanh %arg0 : tensor<4xf32>",
            '"torch.tanh"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>',
            "3:10",
            "no dialect of jaxlib has the operation 'torch.tanh'",
        ),
    ],
)
def test_what_jaxlib_refuses_has_its_place_in_the_text(old, new, place, message):
    with pytest.raises(UsageError) as caught:
        xla2py.load(PLAIN.replace(old, new), name="wrong.mlir")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "XP431" and message in diagnostic.message
    assert diagnostic.location == f"wrong.mlir:{place}"


def test_what_cannot_be_emitted_has_its_place_in_the_text_or_in_the_translation():
    text = PLAIN.replace("tanh %arg0 : tensor<4xf32>", "custom_call @odd(%arg0) : (tensor<4xf32>) -> tensor<4xf32>")
    module = xla2py.load(text, name="folder/odd.mlir")
    assert locations(module) == ["folder/odd.mlir:3:10"]
    # Locations of another file say nothing about this one.
    elsewhere = text.replace("-> tensor<4xf32>\n", '-> tensor<4xf32> loc("model.py":7:1)\n')
    module = xla2py.load(elsewhere, name="folder/odd.mlir")
    assert [place.partition(":")[0] for place in locations(module)] == ["folder/odd.mlir (as HLO text)"]


def locations(module):
    with pytest.raises(XlaToPythonError) as caught:
        xla2py.emit(module)
    place = caught.value.diagnostics[0]
    return [type(place)(place.code, place.message, place.span, place.source or module.source).location]


def test_both_forms_of_a_lowered_function():
    jax = pytest.importorskip("jax")
    lowered = jax.jit(lambda params, x: x @ params["w"]).lower({"w": jax.numpy.ones((3, 4))}, jax.numpy.ones((2, 3)))
    for dialect in ("stablehlo", "hlo"):
        source = xla2py.emit(lowered.compiler_ir(dialect), checks=False).source
        assert "def main(params_w: Array, x: Array) -> Array:\n    return x @ params_w" in source
