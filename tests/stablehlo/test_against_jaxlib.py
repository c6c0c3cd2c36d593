"""Both readers of StableHLO, ours and jaxlib's, make the same module of a program."""

from dataclasses import replace
from pathlib import Path

import pytest

from xla2py.tests.stablehlo.texts import TEXTS
from xla2py.transpile.errors import HloSyntaxError, UsageError
from xla2py.transpile.frontends.exported_file import read_exported
from xla2py.transpile.hlo.equality import structurally_equal
from xla2py.transpile.hlo.ir import callees_first
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.printer import print_module
from xla2py.transpile.hlo.source import SourceText
from xla2py.transpile.hlo.verifier import verify
from xla2py.transpile.stablehlo.reading import read_bytecode, read_text

jaxlib = pytest.importorskip("jaxlib")
pytest.importorskip("jaxlib.mlir.ir")
EXPORTED = sorted((Path(__file__).parents[1] / "frontends" / "exported").glob("*.bin"))
pytestmark = pytest.mark.usefixtures("forms_of_jaxlib")


def translated(content):
    """The module that jaxlib makes. Newer ones say that the sorts of the largest elements are stable, as ours are."""
    from xla2py.tests.stablehlo.jaxlib_reader import converted_stablehlo
    from xla2py.transpile.frontends.hlo_proto import read_literal

    found = converted_stablehlo(content)
    literals = {name: read_literal(literal) for name, literal in found.literals.items()}
    text = found.text.replace("largest=true, is_stable=true", "largest=true")
    if b"@ApproxTopK" in content:
        text = text.replace(", is_stable=true, to_apply", ", to_apply")
    module = parse_module(text, literals)
    used = set(callees_first(module.entry))  # a composite's decomposition is there twice
    return replace(module, computations=tuple(each for each in module.computations if each in used))


@pytest.mark.parametrize("name", TEXTS)
def test_a_text(name):
    module = read_text(SourceText(TEXTS[name]))
    verify(module)
    assert structurally_equal(module, translated(TEXTS[name].encode()), labels=False), print_module(module)


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_in_generic_form_and_as_an_artefact(name):
    """The other forms say what the pretty text does."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    from xla2py.tests.stablehlo.jaxlib_reader import mlir_context

    expected = read_text(SourceText(TEXTS[name]))
    with mlir_context():
        parsed = ir.Module.parse(TEXTS[name])
        generic = parsed.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)
        assert structurally_equal(read_text(SourceText(generic)), expected, labels=False)
        if "chlo." not in TEXTS[name]:
            oldest = [] if name in ("calls", "words") else [stablehlo.get_minimum_version()]
            for version in (*oldest, stablehlo.get_current_version()):
                artefact = stablehlo.serialize_portable_artifact(parsed, version)
                assert structurally_equal(read_bytecode(artefact, version), expected, labels=False)


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_of_mhlo(name):
    text = TEXTS[name].replace("stablehlo.", "mhlo.")
    assert structurally_equal(read_text(SourceText(text)), read_text(SourceText(TEXTS[name])), labels=False)


@pytest.mark.parametrize(
    ("operation", "left", "right"),
    [
        ("divide", "0.0", "0.0"),
        ("divide", "0xFFC00000", "1.0"),
        ("add", "0x7F800000", "0xFF800000"),
        ("multiply", "0x7F800000", "0.0"),
        ("subtract", "1.0", "0x7FC00001"),
    ],
)
def test_how_nan_is_written(operation, left, right):
    """A NaN that folding produces has no sign on any processor; a NaN operand keeps its bits."""
    text = f"""func.func @main() -> tensor<f32> {{
      %0 = stablehlo.constant dense<{left}> : tensor<f32>
      %1 = stablehlo.constant dense<{right}> : tensor<f32>
      %2 = stablehlo.{operation} %0, %1 : tensor<f32>
      return %2 : tensor<f32>
    }}"""
    assert structurally_equal(read_text(SourceText(text)), translated(text.encode()), labels=False)


@pytest.mark.parametrize("path", EXPORTED, ids=lambda path: path.stem)
def test_what_jax_exported(path):
    content = bytes(read_exported(path.read_bytes()).program)
    module = read_bytecode(content, path.name)
    verify(module)
    assert structurally_equal(module, translated(content), labels=False)


def test_a_resource_is_a_constant():
    text = """module { func.func @main() -> tensor<2xf32> {
  %0 = stablehlo.constant dense_resource<table> : tensor<2xf32>
  return %0 : tensor<2xf32>
} }
{-# dialect_resources: { builtin: { table: "0x040000000000803F00000040" } } #-}
"""
    assert read_text(SourceText(text)).entry.root["literal"].tolist() == [1, 2]
    with pytest.raises(HloSyntaxError, match="XP130"):
        read_text(SourceText(text.replace("table: ", "other: ")))


def test_an_operation_of_a_later_version_is_refused():
    """Its properties have no names: they could be others."""
    content = bytes(read_exported(EXPORTED[0].read_bytes()).program)
    with pytest.raises(UsageError, match=r"XP431: .*vhlo.dot_general_v9 has a later version"):
        read_bytecode(content.replace(b"dot_general_v2", b"dot_general_v9"), "later")


def test_names_and_lines_of_the_source():
    jax = pytest.importorskip("jax")

    def softmax(x):
        shifted = x - x.max(axis=-1, keepdims=True)
        return jax.nn.silu(shifted)

    text = jax.jit(softmax).lower(jax.numpy.ones((2, 3))).as_text(debug_info=True)
    ours, theirs = read_text(SourceText(text)), translated(text.encode())
    names = [{i.metadata.op_name for i in module.instructions() if i.metadata} for module in (ours, theirs)]
    assert names[0] == names[1]
    assert set(ours.stack_frames) and {frame.line for frame in ours.stack_frames} == {
        frame.line for frame in theirs.stack_frames
    }


@pytest.mark.parametrize(
    ("others", "returned"),
    [("", "%0 : tensor<4x4xf32>"), (", tensor<4x4xf32>", "%0, %a : tensor<4x4xf32>, tensor<4x4xf32>")],
)
def test_how_results_are_sharded(others, returned):
    text = f"""module {{
      sdy.mesh @mesh = <["x"=2, "y"=2]>
      func.func @main(%a: tensor<4x4xf32>)
          -> (tensor<4x4xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"y"}}, {{"x"}}]>}}{others}) {{
        %0 = stablehlo.tanh %a : tensor<4x4xf32>
        return {returned}
      }}
    }}"""
    assert structurally_equal(read_text(SourceText(text)), translated(text.encode()), labels=False)
