"""Operations inside of a call get the call's scope before their names."""

from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.passes.calls.scopes_through_calls import scopes_through_calls

TEXT = """
inner { x = f32[3] parameter(0)  ROOT y = f32[3] sine(x), metadata={op_name="sin"} }
once {
  x = f32[3] parameter(0), metadata={op_name="x"}
  y = f32[3] exponential(x), metadata={op_name="exp"}
  z = f32[3] negate(y), metadata={op_name="jit(step)/neg"}
  ROOT w = f32[3] call(z), to_apply=inner, metadata={op_name="jit(g)"}
}
twice { x = f32[3] parameter(0)  ROOT y = f32[3] cosine(x), metadata={op_name="cos"} }
ENTRY main {
  x = f32[3] parameter(0), metadata={op_name="x"}
  a = f32[3] call(x), to_apply=once, metadata={op_name="jit(step)/transpose(jvp(jit(f)))"}
  b = f32[3] call(a), to_apply=twice, metadata={op_name="jit(step)/jit(h)"}
  ROOT c = f32[3] call(b), to_apply=twice, metadata={op_name="jit(step)/jit(h)"}
}
"""


def test_scopes_through_calls():
    module = parse_module(TEXT)
    made, originals = scopes_through_calls(module)
    names = {each.opcode: each.metadata.op_name for each in made.instructions() if each.metadata is not None}
    scope = "jit(step)/transpose(jvp(jit(f)))"
    assert names["exponential"] == f"{scope}/exp"
    assert names["sine"] == f"{scope}/jit(g)/sin"
    assert names["negate"] == "jit(step)/neg", "a full name stays"
    assert names["cosine"] == "cos", "what two calls share stays"
    assert names["parameter"] == "x"
    given = set(module.instructions())
    assert {each for stood in originals.values() for each in stood} <= given
    assert all(each in given or each in originals for each in made.instructions())


def test_a_module_without_calls_stays():
    module = parse_module("ENTRY main { x = f32[2] parameter(0)  ROOT y = f32[2] negate(x) }")
    assert scopes_through_calls(module) == (module, {})


def test_deep_calls_have_names_of_bounded_length():
    call = 'f%d { x = f32[3] parameter(0) ROOT y = f32[3] call(x), to_apply=f%d, metadata={op_name="%s%d/a"} }'
    calls = [call % (k, k - 1, 200 * "a", k) for k in range(1, 60)]
    first = 'f0 { x = f32[3] parameter(0) ROOT y = f32[3] negate(x), metadata={op_name="neg"} }'
    module = parse_module("\n".join([first, *calls, "ENTRY main" + calls[-1].removeprefix("f59")]))
    made, _ = scopes_through_calls(module)
    assert max(len(each.metadata.op_name) for each in made.instructions() if each.metadata is not None) < 1500
