"""The grammar, form by form. The files in ``grammar/`` hold whole modules that XLA's own parser reads."""

import numpy as np
import pytest

from xla2py.tests.hlo.parsing import GRAMMAR, SUM, entry, named
from xla2py.transpile.errors import HloSyntaxError
from xla2py.transpile.hlo.attributes import Raw, SliceDimension, WindowDimension
from xla2py.transpile.hlo.ir import OpMetadata, StackFrame
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.shapes import ArrayShape, BufferShape, Layout, OpaqueShape, TokenShape, TupleShape


def test_every_grammar_file_is_there():
    assert len(list(GRAMMAR.glob("*.hlo"))) >= 7


# -- the header and where things come from


def test_header(grammar):
    module = grammar["header"]
    assert module.name == "demo"
    assert (module.replica_count, module.num_partitions) == (2, 4)
    header = module.header
    assert str(header["entry_computation_layout"]) == "{(f32[4]{0}, f32[4]{0})->f32[4]{0}}"
    assert header["entry_computation_layout"].parameters == (module.entry.parameters[0].shape,) * 2
    assert header["input_output_alias"] == Raw("{ {}: (0, {}, may-alias) }")
    assert header["allow_spmd_sharding_propagation_to_parameters"] == (False, True)
    assert header["is_scheduled"] is True
    assert header["frontend_attributes"] == Raw('{tag="v1"}')


def test_stack_frames_name_their_callers_by_number(grammar):
    assert grammar["header"].stack_frames == (
        StackFrame("model.py", "step", 30, 31, 0, 9, parent=0),
        StackFrame("model.py", "layer", 7, 7, 4, 19, parent=1),
    )


def test_metadata_takes_its_place_from_the_stack_frame(grammar):
    assert named(grammar["header"], "c").metadata == OpMetadata(
        "add", "jit(step)/add", "model.py", 7, 7, 4, 19, stack_frame_id=2
    )


def test_metadata_with_its_own_place_and_fields_of_later_versions(grammar):
    assert named(grammar["header"], "d").metadata == OpMetadata(
        *("neg", "jit(f)/neg", "model.py", 7, 8, 2, 11),
        extra=(("deduplicated_name", '"n"'), ("scheduling_name", '"s0"'), ("profile_type", "{1}")),
    )
    assert named(grammar["header"], "f").metadata is None


def test_raw_attributes_are_kept_word_for_word(grammar):
    module = grammar["header"]
    assert named(module, "a")["origin"] == Raw('{{"x"}}')
    assert named(module, "f")["result_accuracy"] == Raw("{tolerance={atol=0.0, rtol=1e-6, ulps=4}}")
    assert named(module, "g")["backend_config"] == Raw('"opaque text"')
    assert named(module, "i")["backend_config"].text.endswith('"text":"a}b"}')
    assert named(module, "i")["custom_call_target"] == 'say "hi"'


def test_control_predecessors_are_instructions(grammar):
    module = grammar["header"]
    assert named(module, "g")["control-predecessors"] == (named(module, "c"), named(module, "d"))


def test_origins_and_tables_of_newer_dumps(grammar):
    module = grammar["newer"]
    assert module.header["origin_recovery_table"].text.startswith("{\n")
    assert named(module, "pair")["origin"] == Raw('{({"a"}, {"b" {1}})}')


# -- shapes and layouts


def test_layouts(grammar):
    layouts = {i.name: i.shape.layout for i in grammar["values"].entry.instructions if isinstance(i.shape, ArrayShape)}
    assert layouts["a"] == Layout((1, 0), tiles=((8, 128),))
    assert layouts["b"] == Layout((1, 0), tiles=((8, 128), (2, 1)))
    assert layouts["c"] == Layout((0,), element_size_in_bits=4)
    assert layouts["d"] == Layout((0,), memory_space=5)
    assert layouts["e"] == Layout((1, 0), dim_level_types=("D", "C"))
    assert layouts["f"] == Layout(
        (1, 0), ((8, 8),), tail_padding_alignment_in_elements=16, element_size_in_bits=32, memory_space=1
    )
    assert layouts["g"] == Layout((1, 0), index_primitive_type="u32", pointer_primitive_type="u32")
    assert layouts["h"] == Layout((1, 0), split_configs=((0, (4,)),))
    assert layouts["i"] == Layout((1, 0), dynamic_shape_metadata_prefix_bytes=8)
    assert layouts["j"] is None


def test_shapes(grammar):
    module = grammar["values"]
    assert (named(module, "j").shape.dimensions, named(module, "j").shape.dynamic) == ((8, 4), (True, False))
    assert named(module, "k").shape.dimensions == (-1, 4)
    assert isinstance(named(module, "l").shape, TokenShape)
    assert isinstance(named(module, "m").shape, OpaqueShape)
    assert isinstance(named(module, "n").shape, BufferShape)
    assert len(named(module, "o").shape.elements) == 6


@pytest.mark.parametrize(
    "text",
    [
        "f32[]{:T(128)}",
        "f32[4,2]{1,0}",
        "f32[4,2]{0,1:T(2,*)}",
        "f32[2,2]{1,0:D(S,C+~)P(f32[4]{0})}",
        "f32[2,3]{0,1:padded_dimensions(3,5)padding_value(ZERO_PAD)}",
        "f32[8,8]{1,0:SC(0:4)(1:2,3)M(8)}",
        "(f32[<=4], (), (token[], (s32[])))",
        "b(f32[8]{0})",
        "f4e2m1fn[0,1]",
    ],
)
def test_shapes_print_as_they_are_read(text):
    assert str(entry(f"p = {text} parameter(0)").root.shape) == text


def test_white_space_and_comments_inside_a_shape():
    shape = entry("p = f32 [ 4 , /* rows first */ 2 ] { 1, 0 : T(2) } parameter(0)").root.shape
    assert str(shape) == "f32[4,2]{1,0:T(2)}"


# -- operands, calls and bodies


def test_operand_forms(grammar):
    module = grammar["calls"]
    assert named(module, "add.2").operands == (named(module, "a.1"),) * 2
    nested = named(module, "nest").operands[1]
    assert (nested.opcode, nested.operands[0].opcode) == ("negate", "parameter")
    assert nested in module.entry.instructions
    assert named(module, "x-y.3").shape == ArrayShape(named(module, "a.1").shape.element_type, (4,))


def test_called_computations_by_name_and_in_place(grammar):
    module = grammar["calls"]
    loop = named(module, "w")
    assert (loop["condition"].name, loop["body"].name) == ("cond", "body")
    pick, inline = named(module, "c2")["branch_computations"]
    assert pick.name == "pick"
    assert [i.name for i in inline.instructions] == ["z"]
    names = [c.name for c in module.computations]
    assert names.index(inline.name) < names.index("main")
    assert named(module, "f")["calls"].root.opcode == "negate"
    assert next(c for c in module.computations if c.name == "inner").execution_thread == "worker"


def test_attributes_of_custom_calls(grammar):
    call = grammar["calls"].entry.root
    assert call["window"] == (WindowDimension(3, padding_low=1, padding_high=1),)
    assert call["dim_labels"].input_spatial == (2,)
    assert call["dim_labels"].text == "?b0f_0io?->b0?f"
    assert call["called_computations"][0].name == "pick"
    assert str(call["operand_layout_constraints"][0]) == "f32[4]{0}"
    np.testing.assert_array_equal(call["literal"], np.array([1, 2], np.int32))
    assert call["schedule"] == "SCHEDULE_LATEST"


def test_short_asynchronous_forms_become_the_long_ones(grammar):
    module = grammar["calls"]
    start, update, done = (named(module, name) for name in ("t1", "t2", "t3"))
    assert (start.opcode, update.opcode, done.opcode) == ("async-start", "async-update", "async-done")
    called = start["calls"]
    assert called.root.opcode == "negate"
    assert called.root.shape == done.shape
    assert [p.shape for p in called.parameters] == [start.operands[0].shape]
    assert called in module.computations


def test_the_attributes_of_a_short_asynchronous_form_go_where_they_mean_something():
    module = parse_module("""
    f { x = f32[4] parameter(0)  ROOT y = f32[2] slice(x), slice={[0:2]} }
    ENTRY main {
      a = f32[4] parameter(0)
      s = ((f32[4]), f32[2], u32[]) slice-start(a), slice={[0:2]}, async_execution_thread="copies", sharding={manual}
      u = ((f32[4]), f32[2], u32[]) slice-update(s), slice={[0:2]}
      d = f32[2] slice-done(u)
      fused = ((f32[4]), f32[2], u32[]) fusion-start(a), kind=kLoop, calls=f
      ROOT d2 = fusion-done(fused)
    }""")
    start = named(module, "s")
    assert start["calls"].root["slice"] == (SliceDimension(0, 2),)
    assert start["calls"].execution_thread == start["async_execution_thread"] == "copies"
    assert start["sharding"] == Raw("{manual}")
    assert "slice" not in start.attributes
    assert "slice" not in named(module, "u").attributes
    assert named(module, "fused")["calls"].root["calls"].name == "f"
    assert named(module, "d2").shape == named(module, "d").shape


def test_short_asynchronous_forms_as_operands():
    root = entry("""a = f32[] parameter(0)
      ROOT d = f32[] add(a, f32[] negate-done(((f32[]), f32[]) negate-start(a)))""").root
    assert [o.opcode for o in root.operands] == ["parameter", "async-done"]
    assert root.operands[1].operands[0]["calls"].root.opcode == "negate"


def test_opcodes_that_end_like_a_short_form_stay_themselves(grammar):
    module = grammar["collectives"]
    assert named(module, "g1").opcode == "all-gather-start"
    assert named(module, "k1").opcode == "copy-start"


def test_elements_of_tuples_as_operands():
    root = entry("""p = (f32[4], (s32[], f32[2])) parameter(0)
      a = f32[2] negate(f32[2] %p#1#1)
      ROOT b = f32[4] negate(p#0)""")
    first, second = (i.operands[0] for i in root.instructions if i.opcode == "negate")
    assert (first.opcode, first["index"], first.operands[0]["index"]) == ("get-tuple-element", 1, 1)
    assert (second["index"], second.operands[0].name) == (0, "p")


def test_missing_result_shapes_are_inferred():
    main = entry("""a = f32[4,2] parameter(0)
      b = f32[2,8] parameter(1)
      c = dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      t = tuple(a, c)
      g = get-tuple-element(t), index=1
      ROOT s = compare(g, c), direction=LT""")
    assert [str(i.shape) for i in main.instructions[2:]] == [
        "f32[4,8]",
        "(f32[4,2], f32[4,8])",
        "f32[4,8]",
        "pred[4,8]",
    ]


# -- attributes


def test_attribute_order_and_comments_do_not_matter():
    root = entry(
        """a = f32[4] parameter(0)
        z = f32[] constant(0)
        ROOT r = f32[3] reduce-window(a, z), window={size=2 /* two */ stride=1} // end of the line
          , to_apply=sum""",
        SUM,
    ).root
    assert root["window"] == (WindowDimension(2),)
    assert list(root.attributes) == ["window", "to_apply"]


def test_defaults_come_from_the_opcode_table():
    root = entry(
        "a = f32[4] parameter(0)\nROOT s = f32[4] sort(a), to_apply=lt",
        "lt { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = pred[] compare(x, y), direction=LT }",
    ).root
    assert root["is_stable"] is False
    with pytest.raises(KeyError):
        root["no_such_attribute"]


# -- modules and computations


def test_a_module_without_header_or_names():
    module = parse_module("ENTRY { a = f32[] parameter(0) }")
    assert module.name == module.entry.name == module.computations[0].name
    assert module.entry.root.name == "a"


def test_the_last_computation_and_instruction_are_entry_and_root_unless_marked():
    module = parse_module(
        "f { a = f32[] parameter(0)  b = f32[] negate(a) } g { ROOT a = f32[] parameter(0) b = f32[] negate(a) }"
    )
    assert module.entry.name == "g"
    assert module.entry.root.name == "a"
    assert module.computations[0].root.name == "b"
    assert parse_module("ENTRY f { a = f32[] parameter(0) } g { a = f32[] parameter(0) }").entry.name == "f"


def test_nameless_computations_of_the_fingerprint_style():
    module = parse_module(
        "HloModule , is_scheduled=true\n\n{\n a = f32[] parameter(0)\n}\n\nENTRY {\n b = f32[] parameter(0)\n}"
    )
    assert len({c.name for c in module.computations}) == 2
    assert module.entry.root.name == "b"
    assert module.name == module.entry.name


def test_signatures_with_and_without_percent_signs():
    module = parse_module("""
    ENTRY %main (%a: f32[4]{0}, b: (f32[], /*index=1*/s32[])) -> f32[4] {
      %a = f32[4] parameter(0)
      b = (f32[], s32[]) parameter(1)
      ROOT c = f32[4] negate(a)
    }""")
    assert [p.name for p in module.entry.parameters] == ["a", "b"]


def test_names_that_look_like_something_else():
    main = entry("""add = f32[] parameter(0)
      %true = f32[] negate(add)
      tuple = f32[] negate(%true)
      parameter_ = f32[] add(add, tuple)""")
    assert [i.name for i in main.instructions] == ["add", "true", "tuple", "parameter_"]


def test_names_are_local_to_a_computation():
    module = parse_module("f { a = f32[] parameter(0) } ENTRY g { a = s32[] parameter(0) }")
    assert [str(c.root.shape) for c in module.computations] == ["f32[]", "s32[]"]


def test_generated_names_avoid_the_names_of_the_text():
    main = entry("a = f32[] parameter(0)\nnegate.unnamed1 = f32[] negate(f32[] negate(a))")
    assert len({i.name for i in main.instructions}) == 3


def test_spans_cover_name_to_operands():
    text = "ENTRY main {\n  ROOT  %a = f32[4]{0} parameter( 0 ), sharding={replicated}\n}"
    module = parse_module(text)
    span = module.entry.root.span
    assert text[span.start : span.end] == "%a = f32[4]{0} parameter( 0 )"
    assert module.source.position(span.start) == (2, 9)
    assert text[slice(*module.entry.span)] == text


def test_constants_of_older_dumps_repeat_their_shape():
    root = entry("ROOT c = f32[2] constant(f32[2]{0} {1, 2})").root
    assert root["literal"].tolist() == [1, 2]


def test_a_legacy_dynamic_slice_takes_its_indices_as_one_vector():
    root = entry("""p = f32[4,4] parameter(0)
      s = s32[2] parameter(1)
      ROOT d = f32[1,2] dynamic-slice(p, s32[2] s), dynamic_slice_sizes={1,2}""").root
    assert [o.name for o in root.operands] == ["p", "s"]


# -- instructions alone


def test_a_lone_instruction_of_documentation():
    module = parse_module(
        "add.936 = bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)}\n          add(exponential.183, broadcast.3115)"
    )
    assert module.name == "add.936"
    assert module.entry.root.opcode == "add"
    assert [(p.name, p.shape == module.entry.root.shape) for p in module.entry.parameters] == [
        ("exponential.183", True),
        ("broadcast.3115", True),
    ]


def test_a_lone_instruction_that_calls_an_unknown_computation():
    module = parse_module(
        "%fusion.3 = bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}\n"
        "  fusion(bf16[32,32,8192]{2,1,0:T(8,128)(2,1)S(1)} %fusion.32), kind=kCustom, calls=%all-reduce-scatter.3"
    )
    called = module.entry.root["calls"]
    assert called.name == "all-reduce-scatter.3"
    assert called.root.opcode == "custom-call"
    assert called.root["custom_call_target"] == "all-reduce-scatter.3"
    assert called.parameters[0].shape == module.entry.parameters[0].shape


def test_a_lone_instruction_with_nested_operands():
    module = parse_module("ROOT r = s32[] add(s32[] x, s32[] negate(s32[] y))")
    assert [p.name for p in module.entry.parameters] == ["x", "y"]
    assert module.entry.root.operands[1].opcode == "negate"


def test_a_lone_instruction_needs_the_shapes_that_do_not_follow():
    with pytest.raises(HloSyntaxError) as caught:
        parse_module("c = f32[4] convert(x)")
    assert caught.value.diagnostics[0].code == "XP140"


# -- results


def test_tuple_shapes_are_shared_between_instructions():
    first, second = entry("a = (f32[], s32[]) parameter(0)\nb = (f32[], s32[]) parameter(1)").instructions
    assert isinstance(first.shape, TupleShape)
    assert first.shape is second.shape
