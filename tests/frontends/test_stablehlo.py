"""StableHLO as other front ends write it, and where errors in it are."""

import subprocess

import pytest

import xla2py
from xla2py.transpile.errors import HloSyntaxError, UsageError, XlaToPythonError
from xla2py.transpile.hlo.source import SourceText
from xla2py.transpile.stablehlo.reading import read_text

PLAIN = """module {
  func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"""
REACTANT = """module @reactant_forward attributes {enzymexla.of = #enzymexla.a<B>, mhlo.num_partitions = 1 : i64} {
  func.func private @act(%arg0: tensor<2x4xf32>) -> tensor<2x4xf32>
      attributes {enzymexla.memory_effects = [#enzymexla.memory_effects<read>]} {
    %0 = stablehlo.tanh %arg0 {enzymexla.symmetric = {why = #enzymexla.guaranteed<NO>}} : tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  }
  func.func @entry_2(
      %arg0: tensor<2x3xf32> {enzymexla.effects = ["read"], tf.aliasing_output = 0 : i32} loc("x (path=(:args, 1))"),
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
TWO = PLAIN.replace("@main", "@one").replace(
    "module {", "module { func.func @two(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> }\n"
)


def test_one_public_function_of_any_name_and_attributes_that_nobody_knows():
    module = xla2py.load(REACTANT, name="entry.mlir")
    assert [each.message.partition("'")[2] for each in module.notes] == [
        "enzymexla.memory_effects'",
        "enzymexla.of'",
        "enzymexla.symmetric'",
        "enzymexla.x'",
    ]
    source = xla2py.emit(module, checks=False, annotate="none").source
    assert "def main(x: Array, q_proj_weight: Array) -> Array:\n" in source
    assert "return np.tanh(x @ q_proj_weight)" in source
    assert source.startswith('"""Reactant forward.')


def test_a_module_without_a_name_is_called_after_its_function():
    assert xla2py.load(PLAIN.replace("@main", "@forward")).name == "forward"
    assert not xla2py.load(PLAIN).notes


def test_what_begins_a_module_must_be_known():
    with pytest.raises(HloSyntaxError, match=r"this has 2: two, one(.|\n)*--function NAME"):
        xla2py.load(TWO)
    with pytest.raises(HloSyntaxError, match="this has none"):
        xla2py.load(PLAIN.replace("@main", "private @one"))
    assert xla2py.load(TWO, function="one").entry.root.opcode == "tanh"
    assert xla2py.load(TWO, function="two").entry.root.opcode == "parameter"
    with pytest.raises(HloSyntaxError, match=r"no function `onee`(.|\n)*did you mean `one`"):
        xla2py.load(TWO, function="onee")


def test_lines_that_differ_in_types_are_read_after_the_first():
    """A line is the template of others, but for constants, whose values have their types."""
    text = """func.func @main(%a: tensor<2xf32>, %b: tensor<3xf64>) -> (tensor<2xf32>, tensor<3xf64>) {
      %0 = stablehlo.constant dense<0.1> : tensor<2xf32>
      %1 = stablehlo.constant dense<0.1> : tensor<3xf64>
      %2 = stablehlo.add %a, %0 : tensor<2xf32>
      %3 = stablehlo.add %b, %1 : tensor<3xf64>
      %4 = "stablehlo.multiply"(%2#0, %2) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %5 = "stablehlo.multiply"(%3#0, %3) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
      return %4, %5 : tensor<2xf32>, tensor<3xf64>
    }"""
    instructions = read_text(SourceText(text)).entry.instructions
    assert [str(i.shape) for i in instructions if i.opcode in ("add", "multiply")] == 2 * ["f32[2]{0}"] + 2 * [
        "f64[3]{0}"
    ]
    constants = [i.attributes["literal"] for i in instructions if i.opcode == "constant"]
    assert [(each.dtype.name, float(each)) for each in constants] == [
        ("float32", 0.10000000149011612),
        ("float64", 0.1),
    ]
    for line, code, message in (
        ("%2 = stablehlo.add %a, %a : tensor<2xf32>", "XP114", "two values `%2`"),
        ("%6 = stablehlo.add %a, %6 : tensor<2xf32>", "XP112", "no value `%6`"),
        ("%6 = stablehlo.add %a, %a : tensor<2xf33>", "XP106", "no element type `f33`"),
    ):
        with pytest.raises(HloSyntaxError, match=message) as raised:
            read_text(SourceText(text.replace("      return", f"      {line}\n      return")))
        assert raised.value.diagnostics[0].code == code
        assert raised.value.diagnostics[0].place[1].start >= text.index("%5") + 80


def test_calls_that_are_alike_call_functions_of_their_own():
    text = """module {
      func.func public @main(%a: tensor<f32>) -> tensor<f32> {
        %0 = call @"s.in"(%a) : (tensor<f32>) -> tensor<f32>
        %1 = call @co.s(%0) : (tensor<f32>) -> tensor<f32>
        %2 = func.call @tan(%1) : (tensor<f32>) -> tensor<f32>
        %3 = call @"s.in"(%2) : (tensor<f32>) -> tensor<f32>
        call @nothing() : () -> ()
        call @other() : () -> ()
        call @"nothing"() {told = "a call @other"} : () -> ()
        call @"nothing"() {told = "a call @other"} : () -> ()
        return %3 : tensor<f32>
      }
      func.func private @"s.in"(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }
      func.func private @co.s(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }
      func.func private @tan(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }
      func.func private @nothing() { return }
      func.func private @other() { return }
    }"""
    calls = [i for i in read_text(SourceText(text)).entry.instructions if i.opcode == "call"]
    assert [call.called[0].name.rpartition(".")[0] for call in calls] == [
        "s.in",
        "co.s",
        "tan",
        "s.in",
        "nothing",
        "other",
        "nothing",
        "nothing",
    ]
    with pytest.raises(HloSyntaxError, match=r"func\.call names no function"):
        read_text(SourceText(text.replace("call @tan", "call %tan").replace("%0", "%tan")))
    with pytest.raises(HloSyntaxError, match="no function `others`"):
        read_text(SourceText(text.replace("call @other()", "call @others()")))


def test_the_platform_is_an_argument_only_where_nobody_knows_it():
    source = xla2py.emit(xla2py.load(PLATFORMS), checks=False).source
    assert "def main(platform_index: Any, x: Array)" in source
    for platform, name in enumerate(("sine", "cosine")):
        source = xla2py.emit(read_text(SourceText(PLATFORMS), platform=platform), checks=False).source
        assert "def main(x: Array)" in source
        assert f"return np.{name[:3]}(x)" in source


def test_sizes_that_are_left_open():
    text = PLAIN.replace("4xf32", "?x4xf32")
    with pytest.raises(UsageError, match=r"argument 1 is f32\[\?,4\](.|\n)*from_jax\(exported\)") as caught:
        xla2py.load(text, name="open.mlir")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.location) == ("XP425", "open.mlir:2:19")
    bounded = xla2py.load(PLAIN.replace("4xf32", "?xf32, #stablehlo.bounds<4>"))
    assert str(bounded.entry.parameters[0].shape) == "f32[<=4]{0}"


@pytest.mark.parametrize(
    "old, new, place, message",
    [
        ("%arg0 :", "%arg1 :", "3:25", "XP112: there is no value `%arg1` here\nhelp: did you mean `%arg0`?"),
        ("stablehlo.tanh %arg0", "torch.aten.tanh %arg0", "3:10", "XP110: there is no operation `torch.aten.tanh`"),
        (
            "stablehlo.tanh %arg0 : tensor<4xf32>",
            '"torch.tanh"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>',
            "3:10",
            "XP110: there is no operation `torch.tanh` here",
        ),
        ("stablehlo.tanh", "stablehlo.tahn", "3:10", "or `stablehlo.tanh`"),
        ("tensor<4xf32>\n    return", "tensor<4xq32>\n    return", "3:33", "XP106: there is no element type `q32`"),
        (
            "tensor<4xf32>\n    return",
            "tensor<4x!quant.uniform<i8:f32, 0.1>>\n    return",
            "3:33",
            "XP106: the quantized type `tensor<4x!quant.uniform<i8:f32, 0.1>>` is not read",
        ),
        ("return %0", "return %1", "4:12", "there is no value `%1`"),
        ("    %0 =", "    %arg0 =", "3:5", "XP114: there are two values `%arg0`"),
        ("tanh %arg0 : ", "constant dense<[1.0, 2.0]> : ", "3:35", "XP131: 2 numbers"),
        ("\n    return %0 : tensor<4xf32>", "", "2:58", "ends without a return"),
    ],
)
def test_what_is_wrong_has_its_place_in_the_text(old, new, place, message):
    with pytest.raises(HloSyntaxError) as caught:
        xla2py.load(PLAIN.replace(old, new, 1), name="wrong.mlir")
    assert message in str(caught.value)
    assert caught.value.diagnostics[0].location == f"wrong.mlir:{place}"


def test_a_shape_that_does_not_follow_has_its_place():
    from xla2py.transpile.hlo.verifier import verify

    text = PLAIN.replace("tensor<4xf32>\n    return", "tensor<5xf32>\n    return")
    with pytest.raises(XlaToPythonError) as caught:
        verify(xla2py.load(text, name="wrong.mlir"))
    assert caught.value.diagnostics[0].location == "wrong.mlir:3:10"


def test_what_cannot_be_emitted_has_its_place_in_the_text():
    text = PLAIN.replace("tanh %arg0 : tensor<4xf32>", "custom_call @odd(%arg0) : (tensor<4xf32>) -> tensor<4xf32>")
    elsewhere = text.replace("-> tensor<4xf32>\n", '-> tensor<4xf32> loc("model.py":7:1)\n')
    for each in (text, elsewhere):
        module = xla2py.load(each, name="folder/odd.mlir")
        with pytest.raises(XlaToPythonError) as caught:
            xla2py.emit(module)
        assert caught.value.diagnostics[0].location == "folder/odd.mlir:3:10"


def test_both_forms_of_a_lowered_function():
    jax = pytest.importorskip("jax")
    lowered = jax.jit(lambda params, x: x @ params["w"]).lower({"w": jax.numpy.ones((3, 4))}, jax.numpy.ones((2, 3)))
    for dialect in ("stablehlo", "hlo"):
        source = xla2py.emit(lowered.compiler_ir(dialect), checks=False).source
        assert "def main(params_w: Array, x: Array) -> Array:\n    return x @ params_w" in source


def test_a_misspelt_operation_is_told_without_jaxlib(monkeypatch):
    def run(*arguments, **more):
        raise AssertionError("jaxlib was asked")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(HloSyntaxError) as error:
        xla2py.load(PLAIN.replace("tanh", "tahn"))
    (found,) = error.value.diagnostics
    assert (found.code, found.hint) == (
        "XP110",
        "did you mean `stablehlo.tan` or `stablehlo.tanh` or `stablehlo.atan2`?",
    )


@pytest.mark.live_xla
def test_bytecode_of_one_version_of_mlir_says_so(live_xla):
    from io import BytesIO

    import jax

    written = BytesIO()
    jax.jit(lambda x: x + 1).lower(1.0).compiler_ir("stablehlo").operation.write_bytecode(written)
    with pytest.raises(UsageError, match=r"XP431: this is bytecode for one version of MLIR \(MLIR"):
        xla2py.load(written.getvalue())


def test_arrays_without_elements_are_read_as_they_are():
    text = """func.func @main(%a: tensor<2x0xf32>, %b: tensor<2x0xf32>) -> tensor<2xf32> {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1]
    : (tensor<2x0xf32>, tensor<2x0xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"""
    source = xla2py.emit(text).source
    assert 'return np.einsum("ab,ab->a", a, b)' in source, source
