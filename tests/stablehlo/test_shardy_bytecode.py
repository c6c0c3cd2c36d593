"""Shardy's attributes mean the same in portable artefacts as in texts."""

import pytest

from xla2py.transpile.stablehlo.portable import read_artifact
from xla2py.transpile.stablehlo.program import Unread, walk
from xla2py.transpile.stablehlo.shardings import meshes_of

TEXT = """
sdy.mesh @mesh = <["a"=2, "b"=4, "c"=2]>
sdy.mesh @turned = <["a"=2], device_ids=[1, 0]>
func.func @main(
  %x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}, {"c", ?}]>}
) -> tensor<8x16xf32> {
  %0 = sdy.sharding_constraint %x <@mesh, [{"b":(1)2, ?}p1, {}], replicated={"a"}> : tensor<8x16xf32>
  %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, [{"a"}, {}]>]
      manual_axes={"a"} (%y: tensor<4x16xf32>) {
    %2 = stablehlo.negate %y : tensor<4x16xf32>
    %3 = stablehlo.custom_call @sums(%2) {
        sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk])->([i]) {i=4, j=2, k=8} reduction={j, k}, custom>
    } : (tensor<4x16xf32>) -> tensor<4xf32>
    sdy.return %2 : tensor<4x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
"""


@pytest.fixture(scope="module")
def artefact() -> bytes:
    ir = pytest.importorskip("jaxlib.mlir.ir")
    from jaxlib.mlir.dialects import stablehlo

    from xla2py.tests.stablehlo.jaxlib_reader import mlir_context

    with mlir_context():
        parsed = ir.Module.parse(TEXT)
        return stablehlo.serialize_portable_artifact(parsed, stablehlo.get_current_version(), True)


def test_shardings_are_those_of_the_text(artefact):
    program = read_artifact(artefact, "<artefact>")
    assert meshes_of(program) == {
        "mesh": '#sdy.mesh<["a"=2, "b"=4, "c"=2]>',
        "turned": '#sdy.mesh<["a"=2], device_ids=[1, 0]>',
    }
    found = {
        f"{operation.name} {key}": value.text
        for operation in walk(program.operations)
        for key, value in operation.attributes.items()
        if isinstance(value, Unread) and key != "mesh"
    }
    assert found == {
        "sdy.sharding_constraint sharding": '<@mesh, [{"b":(1)2, ?}p1, {}], replicated={"a"}>',
        "sdy.manual_computation in_shardings": '[<@mesh, [{"a"}, {}]>]',
        "sdy.manual_computation out_shardings": '[<@mesh, [{"a"}, {}]>]',
        "sdy.manual_computation manual_axes": '{"a"}',
        "stablehlo.custom_call sdy.sharding_rule": (
            "#sdy.op_sharding_rule<([i, jk])->([i]) {i=4, j=2, k=8} reduction={j, k}, custom>"
        ),
    }
    (main,) = [each for each in program.operations if each.name == "func.func"]
    marks = main.regions[0].arguments[0].attributes
    assert marks["sdy.sharding"].text == '#sdy.sharding<@mesh, [{"a", "b"}, {"c", ?}]>'
