"""Every operation of StableHLO and CHLO has a form here or is refused by its name."""

import pytest

import xla2py
from xla2py.tests.stablehlo.test_against_jaxlib import translated
from xla2py.transpile.errors import HloSyntaxError
from xla2py.transpile.hlo.equality import structurally_equal
from xla2py.transpile.hlo.printer import print_module
from xla2py.transpile.hlo.source import SourceText
from xla2py.transpile.hlo.verifier import verify
from xla2py.transpile.stablehlo.broadcasts import BROADCASTS
from xla2py.transpile.stablehlo.forms import FORMS, NOT_IN_HLO, NOT_READ
from xla2py.transpile.stablehlo.reading import read_text

pytest.importorskip("jaxlib.mlir.ir")
pytestmark = pytest.mark.usefixtures("forms_of_jaxlib")
ANOTHER_LAYOUT = {  # than jaxlib's, or a word for gradients less, or a sum that nothing needs more
    "stablehlo.einsum",
    "stablehlo.real_dynamic_slice of a computed beginning",
    "stablehlo.torch_index_select",
}
F, N, P, C = "tensor<2x3xf32>", "tensor<2x3xi32>", "tensor<2x3xi1>", "tensor<2x3xcomplex<f32>>"
UNARY = (
    "abs cbrt ceil cosine exponential exponential_minus_one floor log log_plus_one logistic negate rsqrt sign sine "
    "sqrt tan tanh round_nearest_afz round_nearest_even"
).split()
BINARY = "add atan2 divide maximum minimum multiply power remainder subtract".split()
OF_INTEGERS = "and or xor shift_left shift_right_arithmetic shift_right_logical".split()
SIZES = "%s = stablehlo.constant dense<[2, 3]> : tensor<2xi32>\n"


def function(arguments, result, line):
    """A program of one line; ``arguments`` are types, named ``%a``, ``%b``, .."""
    given = ", ".join(f"%{name}: {type_}" for name, type_ in zip("abcd", arguments, strict=False))
    return f"func.func @main({given}) -> {result} {{\n{line} loc(unknown)\nreturn %0 : {result}\n}}\n"


def plain(name, arguments, result, more=""):
    """An operation in its generic form."""
    names = ", ".join(f"%{letter}" for letter in "abcd"[: len(arguments)])
    return function(arguments, result, f'%0 = "{name}"({names}) {more} : ({", ".join(arguments)}) -> {result}')


def sized(name, given, result, more):
    """An operation whose last operand, a constant, says the sizes of the result."""
    names, types = ("%a, %s", f"{given}, tensor<2xi32>") if given else ("%s", "tensor<2xi32>")
    return function((given,) if given else (), result, f'{SIZES}%0 = "{name}"({names}) {more} : ({types}) -> {result}')


ONE, TOKEN = "tensor<1xi32>", "!stablehlo.token"
EINSUM = '<{einsum_config = "bij,bkj->ikb"}>'
NUMBERS = "".join(f"%n{k} = stablehlo.constant dense<{k}> : {ONE}\n" for k in (0, 1, 2, 5))
TEXTS = {
    **{f"stablehlo.{name}": plain(f"stablehlo.{name}", (F,), F) for name in UNARY},
    **{f"stablehlo.{name}": plain(f"stablehlo.{name}", (F, F), F) for name in BINARY},
    **{f"stablehlo.{name}": plain(f"stablehlo.{name}", (N, N), N) for name in OF_INTEGERS},
    **{f"stablehlo.{name}": plain(f"stablehlo.{name}", (N,), N) for name in ("not", "popcnt", "count_leading_zeros")},
    **{f"stablehlo.{name}": plain(f"stablehlo.{name}", (C,), F) for name in ("real", "imag")},
    "stablehlo.complex": plain("stablehlo.complex", (F, F), C),
    "stablehlo.is_finite": plain("stablehlo.is_finite", (F,), P),
    "stablehlo.bitcast_convert": plain("stablehlo.bitcast_convert", (F,), N),
    **{
        f"chlo.broadcast_{name}": plain(f"chlo.broadcast_{name}", (F, "tensor<3xf32>"), F)
        for name in (*BINARY, "next_after", "polygamma", "zeta")
    },
    **{f"chlo.broadcast_{name}": plain(f"chlo.broadcast_{name}", (N, "tensor<1x3xi32>"), N) for name in OF_INTEGERS},
    "chlo.broadcast_complex": plain("chlo.broadcast_complex", ("tensor<f32>", F), C),
    "chlo.broadcast_select": plain("chlo.broadcast_select", ("tensor<3xi1>", F, "tensor<f32>"), F),
    "chlo.broadcast_compare": plain(
        "chlo.broadcast_compare", (F, "tensor<f32>"), P, "{comparison_direction = #chlo<comparison_direction LT>}"
    ),
    "chlo.constant_like": plain("chlo.constant_like", (F,), F, "<{value = 3.5 : f32}>"),
    "stablehlo.broadcast": plain("stablehlo.broadcast", ("tensor<3xf32>",), F, "<{broadcast_sizes = array<i64: 2>}>"),
    "stablehlo.dot": plain("stablehlo.dot", (F, "tensor<3x4xf32>"), "tensor<2x4xf32>"),
    "stablehlo.dynamic_broadcast_in_dim": sized(
        "stablehlo.dynamic_broadcast_in_dim", "tensor<3xf32>", F, "<{broadcast_dimensions = array<i64: 1>}>"
    ),
    "stablehlo.dynamic_reshape": sized("stablehlo.dynamic_reshape", "tensor<6xf32>", F, ""),
    "stablehlo.dynamic_iota": sized("stablehlo.dynamic_iota", "", F, "<{iota_dimension = 1 : i64}>"),
    "stablehlo.dynamic_pad": function(
        ("tensor<3xf32>", "tensor<f32>"),
        "tensor<6xf32>",
        f"{NUMBERS}%0 = stablehlo.dynamic_pad %a, %b, %n1, %n2, %n0 "
        f": (tensor<3xf32>, tensor<f32>, {ONE}, {ONE}, {ONE}) -> tensor<6xf32>",
    ),
    "stablehlo.real_dynamic_slice": function(
        ("tensor<6xf32>",),
        "tensor<2xf32>",
        f"{NUMBERS}%0 = stablehlo.real_dynamic_slice %a, %n1, %n5, %n2 "
        f": (tensor<6xf32>, {ONE}, {ONE}, {ONE}) -> tensor<2xf32>",
    ),
    "stablehlo.dynamic_gather": function(
        ("tensor<5x3xf32>", "tensor<2x1xi32>"),
        F,
        '%s = stablehlo.constant dense<[1, 3]> : tensor<2xi32>\n%0 = "stablehlo.dynamic_gather"(%a, %b, %s) '
        "<{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], "
        "start_index_map = [0], index_vector_dim = 1>}> : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2xi32>) -> " + F,
    ),
    "stablehlo.all_to_all": plain(
        "stablehlo.all_to_all",
        ("tensor<4x6xf32>",),
        "tensor<4x6xf32>",
        "<{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, "
        "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, "
        "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}>",
    ),
    "stablehlo.einsum": plain(
        "stablehlo.einsum", ("tensor<5x2x3xf32>", "tensor<5x4x3xf32>"), "tensor<2x4x5xf32>", EINSUM
    ),
    "stablehlo.real_dynamic_slice of a computed beginning": function(
        ("tensor<6xf32>", ONE),
        "tensor<2xf32>",
        f"{NUMBERS}%l = stablehlo.add %b, %n2 : {ONE}\n%0 = stablehlo.real_dynamic_slice %a, %b, %l, %n1 "
        f": (tensor<6xf32>, {ONE}, {ONE}, {ONE}) -> tensor<2xf32>",
    ),
    "stablehlo.torch_index_select": plain(
        "stablehlo.torch_index_select",
        ("tensor<8x5x3xf32>", "tensor<8x2xi32>"),
        "tensor<8x2x3xf32>",
        "<{dim = 1 : i64, batch_dims = 1 : i64}>",
    ),
    "stablehlo.torch_index_select of columns": plain(
        "stablehlo.torch_index_select",
        ("tensor<5x3xf32>", "tensor<2xi32>"),
        "tensor<5x2xf32>",
        "<{dim = 1 : i64, batch_dims = 0 : i64}>",
    ),
    "stablehlo.cross-replica-sum": plain(
        "stablehlo.cross-replica-sum", (F,), F, "<{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}>"
    ),
    "stablehlo.infeed": function(
        (TOKEN,),
        F,
        f'%0, %t = "stablehlo.infeed"(%a) <{{infeed_config = "q", layout = [[1, 0]]}}> : ({TOKEN}) -> ({F}, {TOKEN})',
    ),
    "stablehlo.outfeed": plain("stablehlo.outfeed", (F, TOKEN), TOKEN, '<{outfeed_config = "q"}>'),
    "chlo.scan": function(
        (F, "tensor<2xf32>"),
        F,
        "%0:2 = chlo.scan(%a) inits (%b) dimension=1 attributes {is_associative = true, is_reverse = true} {\n"
        "^bb0(%p: tensor<2xf32>, %q: tensor<2xf32>):\n%s = stablehlo.add %p, %q : tensor<2xf32>\n"
        f"stablehlo.return %s, %s : tensor<2xf32>, tensor<2xf32>\n}} : ({F}, tensor<2xf32>) -> ({F}, tensor<2xf32>)",
    ),
    "chlo.scan of two": function(
        (F, N, "tensor<3xf32>"),
        F,
        '%0:2 = "chlo.scan"(%a, %b, %c) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 2, 1>, '
        "resultSegmentSizes = array<i32: 1, 1>}> ({\n^bb0(%p: tensor<3xf32>, %n: tensor<3xi32>, %q: tensor<3xf32>):\n"
        "%m = stablehlo.convert %n : (tensor<3xi32>) -> tensor<3xf32>\n%s = stablehlo.multiply %p, %q : tensor<3xf32>\n"
        "%t = stablehlo.add %m, %s : tensor<3xf32>\nstablehlo.return %s, %t : tensor<3xf32>, tensor<3xf32>\n"
        f"}}) : ({F}, {N}, tensor<3xf32>) -> ({F}, tensor<3xf32>)",
    ),
    "chlo.ragged_dot": plain(
        "chlo.ragged_dot",
        ("tensor<11x5xf32>", "tensor<3x5x7xf32>", "tensor<3xi64>"),
        "tensor<11x7xf32>",
        "<{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], "
        "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], "
        "rhs_group_dimensions = [0]>, precision_config = []}>",
    ),
}
CONVOLUTION = function(
    ("tensor<1x1x6xf32>", "tensor<1x1x3xf32>"),
    "tensor<1x1x6xf32>",
    '%s = stablehlo.constant dense<1> : tensor<1x2xi32>\n%0 = "stablehlo.dynamic_conv"(%a, %b, %s) '
    "<{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, batch_group_count = 1 : i64, "
    "feature_group_count = 1 : i64}> : (tensor<1x1x6xf32>, tensor<1x1x3xf32>, tensor<1x2xi32>) -> tensor<1x1x6xf32>",
)


def operations():
    from jaxlib.mlir.dialects import _chlo_ops_gen, _stablehlo_ops_gen

    classes = [each for module in (_stablehlo_ops_gen, _chlo_ops_gen) for each in vars(module).values()]
    return {each.OPERATION_NAME for each in classes if hasattr(each, "OPERATION_NAME")}


def test_every_operation_has_a_form_or_is_refused():
    assert operations() - set(FORMS) - NOT_READ - NOT_IN_HLO == set()
    assert set(BROADCASTS) <= set(TEXTS)
    assert not (NOT_READ | NOT_IN_HLO) & set(FORMS)


@pytest.mark.parametrize("name", sorted(ANOTHER_LAYOUT))
def test_as_jaxlib_but_for_layouts(name):
    ours, theirs = read_text(SourceText(TEXTS[name])), translated(TEXTS[name].encode())
    verify(ours)
    of_ours, of_theirs = (
        {(each.opcode, each.array_shape.dimensions) for each in module.entry.instructions} for module in (ours, theirs)
    )
    assert of_theirs <= of_ours
    assert ours.entry.root.opcode == theirs.entry.root.opcode


@pytest.mark.parametrize("name", sorted(set(TEXTS) - ANOTHER_LAYOUT))
def test_as_jaxlib(name):
    module = read_text(SourceText(TEXTS[name]))
    verify(module)
    assert structurally_equal(module, translated(TEXTS[name].encode()), labels=False), print_module(module)


def test_collective_reduce():
    """It is of newer versions than that of the tests."""
    text = function(
        (F,),
        F,
        '%0 = "stablehlo.collective_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> '
        "({\n^bb0(%p: tensor<f32>, %q: tensor<f32>):\n%s = stablehlo.add %p, %q : tensor<f32>\n"
        f"stablehlo.return %s : tensor<f32>\n}}) : ({F}) -> {F}",
    )
    (made,) = [i for i in read_text(SourceText(text)).instructions() if i.opcode == "collective-reduce"]
    assert made["to_apply"].root.opcode == "add" and not made["has_dynamic_root"]


def test_parts_that_are_joined_along_another_dimension():
    """jaxlib's module has an array that nothing needs besides."""
    text = TEXTS["stablehlo.all_to_all"].replace("concat_dimension = 0", "concat_dimension = 1")
    text = text.replace("-> tensor<4x6xf32>", "-> tensor<2x12xf32>").replace("0 : tensor<4x6", "0 : tensor<2x12")
    assert steps(read_text(SourceText(text))) == steps(translated(text.encode()))


COMPOSITES = f"""func.func @main(%a: {F}) -> ({F}, tensor<2x1xf32>, tensor<2x1xi32>) {{
  %0 = stablehlo.composite "chlo.erf" %a {{decomposition = @erf, version = 1 : i32}} : ({F}) -> {F}
  %1:2 = stablehlo.composite "chlo.top_k" %a {{composite_attributes = {{k = 1 : i64}}, decomposition = @top_k,
    version = 1 : i32}} : ({F}) -> (tensor<2x1xf32>, tensor<2x1xi32>)
  %2 = stablehlo.composite "chlo.cosh" %0 {{decomposition = @erf, version = 1 : i32}} : ({F}) -> {F}
  return %2, %1#0, %1#1 : {F}, tensor<2x1xf32>, tensor<2x1xi32>
}}
func.func private @erf(%a: {F}) -> {F} {{
  %0 = stablehlo.tanh %a : {F}
  return %0 : {F}
}}
func.func private @top_k(%a: {F}) -> (tensor<2x1xf32>, tensor<2x1xi32>) {{
  %0 = stablehlo.slice %a [0:2, 0:1] : ({F}) -> tensor<2x1xf32>
  %1 = stablehlo.constant dense<0> : tensor<2x1xi32>
  return %0, %1 : tensor<2x1xf32>, tensor<2x1xi32>
}}
"""


def test_what_was_exported_with_a_decomposition_is_one_operation_again():
    module = read_text(SourceText(COMPOSITES))
    assert {"erf", "topk", "exponential"} < {each.opcode for each in module.entry.instructions}
    assert structurally_equal(module, translated(COMPOSITES.encode()), labels=False), print_module(module)
    later = read_text(SourceText(COMPOSITES.replace("@erf, version = 1", "@erf, version = 2")))
    assert "erf" not in {each.opcode for each in later.entry.instructions}


def test_a_composite_may_have_a_region():
    """Exports of cumulative sums for CUDA have such composites."""
    body = "^bb0(%p: tensor<2xf32>, %q: tensor<2xf32>):\nstablehlo.return %p, %q : tensor<2xf32>, tensor<2xf32>\n})"
    text = (
        f"func.func @main(%a: {F}, %b: tensor<2xf32>) -> {F} {{\n%0:2 = stablehlo.composite "
        f'"chlo.scan" %a, %b ({{{body}'
        " {composite_attributes = {dimension = 1 : i64, is_associative = false, is_reverse = true, operandSegmentSizes "
        "= array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}, decomposition = @scan, version = 1 : i32} : "
        f"({F}, tensor<2xf32>) -> ({F}, tensor<2xf32>)\nreturn %0#0 : {F}\n}}\nfunc.func private @scan(%a: {F}, %b: "
        f"tensor<2xf32>) -> ({F}, tensor<2xf32>) {{\nreturn %a, %b : {F}, tensor<2xf32>\n}}"
    )
    opcodes = [
        [each.opcode for each in read_text(SourceText(t)).entry.instructions]
        for t in (text, text.replace("chlo", "my"))
    ]
    assert "scan" in opcodes[0] and "call" in opcodes[1]


PAIR = """func.func @main(%a: tensor<4x6xf32>, %b: tensor<2x4xf32>) -> (tensor<2x12xf32>, tensor<1x8xf32>) {
  %0:2 = "stablehlo.all_to_all"(%a, %b) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64,
    replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}>
    : (tensor<4x6xf32>, tensor<2x4xf32>) -> (tensor<2x12xf32>, tensor<1x8xf32>)
  return %0#0, %0#1 : tensor<2x12xf32>, tensor<1x8xf32>
}
"""


def test_each_of_several_operands_is_exchanged_by_itself():
    """As the specification says; jaxlib's module exchanges the operands with each other, and has other shapes."""
    module = read_text(SourceText(PAIR))
    verify(module)
    exchanged = [*["parameter", "all-to-all", "reshape", "transpose", "reshape"] * 2, "tuple"]
    assert [opcode for opcode, *_ in steps(module)] == exchanged
    assert [str(each.shape.without_layout()) for each in module.entry.root.operands] == ["f32[2,12]", "f32[1,8]"]
    one = PAIR.replace("(%a, %b)", "(%a)").replace(": (tensor<4x6xf32>, tensor<2x4xf32>)", ": (tensor<4x6xf32>)")
    with pytest.raises(HloSyntaxError, match="as many results as operands"):
        read_text(SourceText(one))


def steps(module):
    """What the entry does, but for its constants."""
    made = [each for each in module.entry.instructions if each.opcode != "constant"]
    return [(each.opcode, each.shape, each.attributes.get("dimensions")) for each in made]


def test_a_convolution_whose_padding_is_a_constant():
    """jaxlib has no translation of it."""
    module = read_text(SourceText(CONVOLUTION))
    verify(module)
    assert [(each.padding_low, each.padding_high) for each in module.entry.root["window"]] == [(1, 1)]


@pytest.mark.parametrize("name", sorted(NOT_READ | NOT_IN_HLO | {"shape.cstr_broadcastable"}))
def test_a_refusal_has_a_name_and_a_place(name):
    with pytest.raises(HloSyntaxError, match=f"2:6: XP110: .*`{name}`"):
        read_text(SourceText(plain(name, (F,), F)))


def test_what_jaxlib_does_not_read_either_is_refused_in_our_words():
    with pytest.raises(HloSyntaxError, match=r"XP110: HLO has no operation for `stablehlo\.unary_einsum`"):
        xla2py.load(plain("stablehlo.unary_einsum", (F,), "tensor<3x2xf32>", '<{einsum_config = "ij->ji"}>'))


@pytest.mark.parametrize(
    ("name", "old", "new", "code"),
    [
        ("chlo.broadcast_add", "tensor<3xf32>", "tensor<4xf32>", "XP123"),
        ("stablehlo.all_to_all", "split_count = 2", "split_count = 3", "XP123"),
        ("stablehlo.dynamic_pad", "%b, %n1, %n2, %n0", "%b, %n1, %n2", "XP111"),
    ],
)
def test_what_does_not_fit(name, old, new, code):
    with pytest.raises(HloSyntaxError, match=code):
        read_text(SourceText(TEXTS[name].replace(old, new)))
