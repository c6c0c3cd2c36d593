"""Forms that older and newer versions of XLA write, and those that few people know: XLA's parser reads them, too."""

import numpy as np
import pytest

from xla2py import emit
from xla2py.tests.hlo.mutations import ASYNCHRONOUS_LOOP
from xla2py.tests.recording import xla_texts
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child
from xla2py.transpile.errors import HloSyntaxError, HloVerificationError
from xla2py.transpile.frontends import load
from xla2py.transpile.hlo.equality import structurally_equal
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.printer import print_module
from xla2py.transpile.hlo.verifier import verify

X = np.arange(6, dtype=np.float32).reshape(2, 3)
ADD = "add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] add(x, y) }\n"
PAIR = """add { x = f32[] parameter(0)  y = f32[] parameter(1)  z = f32[] add(x, y)  ROOT t = (f32[]) tuple(z) }
odd { x = f32[] parameter(0)  y = f32[] parameter(1)  z = f32[] add(x, y)  w = f32[] multiply(x, y)
  v = f32[] add(z, w)  ROOT t = (f32[]) tuple(v) }
"""
E = "ENTRY e { p = f32[2,3] parameter(0)  "

# A text, its arguments, and what to look for in the printed module.
READ_AND_RUN = [
    ("ENTRY e { %p = f32[2,3] parameter(0) ROOT %t= f32[3,2] transpose(%p), dimensions={1,0} }", "ROOT t ="),
    ("ENTRY e { %p=f32[2,3] parameter(0) ROOT %t=f32[2,3] negate(%p) }", "ROOT t ="),
    ("ENTRY e { p: = f32[2,3] parameter(0) ROOT t = f32[2,3] negate(p:) }", "ROOT t ="),
    ("HloModule axpy_module:\n" + E + "ROOT t = f32[2,3] negate(p) }", "HloModule axpy_module\n"),
    ("HloModule axpy:, is_scheduled=true\n" + E + "ROOT t = f32[2,3] negate(p) }", "HloModule axpy, is_scheduled=true"),
    ("ENTRY %e (p f32[2,3]) -> f32[2,3] { p = f32[2,3] parameter(0)  ROOT t = f32[2,3] negate(p) }", "ENTRY e {"),
    ("ENTRY e: { ROOT p = f32[2,3] parameter(0) }", "ENTRY e {"),
    (E + "ROOT t = f32[2,3] negate(p, ) }", "negate(p)"),
    (
        E + "ROOT d = f32[2,2] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
        "operand_precision={HIGH,Highest} }",
        "operand_precision={high,highest}",
    ),
    (
        "ENTRY e { p = f32[2,3] parameter(0)  x = f32[1,2,3,1] reshape(p)  k = f32[1,2,1,1] constant({{{{1}},{{2}}}})  "
        "ROOT c = f32[1,2,2,1] convolution(x, k), window={size=1x2}, dim_labels=b01f_01io->b01f, "
        "convolution_kind=fprop }",
        "convolution_kind=fprop",
    ),
    (
        "HloModule m, allow_spmd_sharding_propagation_to_parameters=true\n" + E + "ROOT t = f32[2,3] negate(p) }",
        "allow_spmd_sharding_propagation_to_parameters={true}",
    ),
    ("f32[2,3] negate(f32[2,3] %p)", "ROOT negate = f32[2,3] negate(p)"),
    ("// a comment\n(f32[2,3], f32[2,3]) tuple(f32[2,3] p, f32[2,3] p)", "ROOT tuple ="),
    ("f32[2,3]{1,0} add(f32[2,3]{1,0} p, f32[2,3]{1,0} p), metadata={op_name=\"x\"}", "add(p, p)"),
    (E + "ROOT t = u64[2] constant({-1, -9223372036854775808}) }", "{18446744073709551615, 9223372036854775808}"),
    (E + "ROOT t = s64[] constant(18446744073709551615) }", "constant(-1)"),
    (PAIR + E + "z = f32[] constant(0)  ROOT t = (f32[2]) reduce(p, z), dimensions={1}, to_apply=add }", "(f32[2])"),
    (PAIR + E + "z = f32[] constant(2)  ROOT t = f32[3] reduce(p, z), dimensions={0}, to_apply=odd }", "reduce(p, z)"),
    (PAIR + E + "z = f32[] constant(2)  ROOT t = (f32[3]) reduce(p, z), dimensions={0}, to_apply=odd }", "(f32[3])"),
    (
        PAIR + E + "z = f32[] constant(0)  "
        "ROOT t = (f32[2,2]) reduce-window(p, z), window={size=1x2}, to_apply=add }",
        "(f32[2,2])",
    ),
]  # fmt: skip


def ids(rows):
    return [row[0][-60:] for row in rows]


@pytest.mark.parametrize(("text", "printed"), READ_AND_RUN, ids=ids(READ_AND_RUN))
def test_read_printed_and_run_as_xla_does(text, printed):
    module = load(text)
    verify(module)
    assert printed in print_module(module)
    assert structurally_equal(module, parse_module(print_module(module)))
    expected = run_hlo_in_child(text, *[X] * len(module.entry.parameters))
    for target in ("numpy", "dask"):
        namespace = {}
        exec(compile(emit(text, target).source, "emitted", "exec"), namespace)
        result = namespace["main"](*[X] * len(module.entry.parameters))
        results = result if isinstance(result, tuple) else (result,)
        for own, theirs in zip(results, expected, strict=True):
            assert np.asarray(own).dtype == theirs.dtype
            np.testing.assert_allclose(np.asarray(own), theirs, rtol=1e-6)
    assert emit(text, "cupy").source


@pytest.mark.parametrize(
    ("defined", "written", "agrees"),
    [
        ("f32[<=4]", "f32[4]", True),
        ("f32[4]", "f32[<=4]", True),
        ("f32[4]", "f32[?]", True),
        ("f32[4]", "f32[5]", False),
        ("f32[4]", "f64[4]", False),
    ],
)
def test_an_operand_may_differ_in_what_is_dynamic(defined, written, agrees):
    text = f"ENTRY e {{ p = {defined} parameter(0)  ROOT r = {defined} negate({written} p) }}"
    readers = (parse_module, xla_texts.read)
    for read, refusal in zip(readers, (HloSyntaxError, xla_texts.RefusedError), strict=True):
        if agrees:
            read(text)
        else:
            with pytest.raises(refusal):
                read(text)


# -- what no dump of the installed XLA shows


def run(text, *arguments, target="numpy"):
    namespace = {}
    exec(compile(emit(text, target).source, "emitted", "exec"), namespace)
    return namespace["main"](*arguments)


@pytest.mark.parametrize("target", ["numpy", "dask"])
def test_bits_of_truth_are_bytes(target):
    flags = np.array([[True, False, False, True], [False, True, True, False]])
    as_words = np.array([0x01000001, 0x00010100], np.uint32)
    there = "ENTRY e { p = pred[2,4] parameter(0)  ROOT b = u32[2] bitcast-convert(p) }"
    np.testing.assert_array_equal(run(there, flags, target=target), as_words)
    back = "ENTRY e { p = u32[2] parameter(0)  ROOT b = pred[2,4] bitcast-convert(p) }"
    np.testing.assert_array_equal(run(back, as_words, target=target), flags)
    alike = "ENTRY e { p = pred[2,4] parameter(0)  ROOT b = s8[2,4] bitcast-convert(p) }"
    np.testing.assert_array_equal(run(alike, flags, target=target), flags.astype(np.int8))
    assert emit(there, "cupy").source and emit(back, "cupy", style="fast").source


@pytest.mark.parametrize(
    ("element", "order", "printed"),
    [
        ("f32", "TOTAL", "direction=LT, type=TOTALORDER"),
        ("f32", "PARTIAL", "direction=LT"),
        ("s32", "TOTAL", "direction=LT"),
        ("s32", "PARTIAL", "direction=LT"),
    ],
)
def test_the_order_of_a_compare_in_newer_words(element, order, printed):
    """jaxlib 0.11 writes ``order=TOTAL`` for ``type=TOTALORDER``."""
    a, b = (f"{name} = {element}[2] parameter({k})  " for k, name in enumerate("ab"))
    text = f"ENTRY e {{ {a}{b}ROOT c = pred[2] compare(a, b), direction=LT, "
    module = parse_module(f"{text}order={order} }}")
    verify(module)
    assert f"compare(a, b), {printed}\n" in print_module(module)
    with pytest.raises(HloSyntaxError, match="not both"):
        parse_module(f"{text}type=TOTALORDER, order={order} }}")


def test_a_token_may_wait_for_arrays():
    text = ADD + E + "%add = f32[2,3] add(p, p)  t = token[] after-all(f32[2,3] %add)  "
    text += "ROOT r = f32[2,3] add-dependency(p, t) }"
    verify(parse_module(text))
    np.testing.assert_array_equal(run(text, X), X)


GE = "ge { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = pred[] compare(x, y), direction=GE }\n"


@pytest.mark.parametrize("target", ["numpy", "dask"])
def test_windows_without_dimensions(target):
    text = ADD + "ENTRY e { p = f32[] parameter(0)  z = f32[] constant(3)  "
    text += "ROOT r = f32[] reduce-window(p, z), to_apply=add }"
    assert np.asarray(run(text, np.float32(2), target=target)) == 5
    text = GE + ADD + "ENTRY e { p = f32[] parameter(0)  s = f32[] parameter(1)  z = f32[] constant(3)  "
    text += "ROOT r = f32[] select-and-scatter(p, s, z), select=ge, scatter=add }"
    assert np.asarray(run(text, np.float32(2), np.float32(5), target=target)) == 8


def test_windows_are_written_where_there_are_dimensions():
    with pytest.raises(HloVerificationError, match="XP216"):
        verify(parse_module(ADD + E + "z = f32[] constant(0)  ROOT r = f32[2,3] reduce-window(p, z), to_apply=add }"))


@pytest.mark.parametrize("target", ["numpy", "dask"])
def test_a_loop_may_carry_an_asynchronous_operation(target):
    module = parse_module(ASYNCHRONOUS_LOOP)
    verify(module)
    assert structurally_equal(module, parse_module(print_module(module)))
    np.testing.assert_array_equal(run(ASYNCHRONOUS_LOOP, np.float32([1, 2, 3, 4]), target=target), [-1, -2, -3, -4])


def test_the_short_form_of_what_a_loop_carries():
    text = ASYNCHRONOUS_LOOP.replace("async-update(state), calls=work", "negate-update(state)")
    text = text.replace("d = f32[4] async-done(last), calls=work", "d = negate-done(last)")
    assert text.count("negate-") == 2
    verify(parse_module(text))
    np.testing.assert_array_equal(run(text, np.float32([1, 2, 3, 4])), [-1, -2, -3, -4])


def test_an_update_of_what_was_not_started_is_refused():
    text = ASYNCHRONOUS_LOOP.replace("a = ((f32[4]), f32[4], s32[]) async-start(p), calls=work", "n = f32[4] negate(p)")
    text = text.replace("zero = s32", "q = (f32[4]) tuple(n)  z = s32[] constant(0)  "
                        "a = ((f32[4]), f32[4], s32[]) tuple(q, n, z)  zero = s32")  # fmt: skip
    with pytest.raises(HloVerificationError, match="has to follow async-start or async-update, not tuple"):
        verify(parse_module(text))


def test_literals_of_custom_calls():
    call = 'ENTRY e { p = f32[] parameter(0)  ROOT c = f32[] custom-call(p), custom_call_target="k", literal='
    literals = ["s32[2]{0} {1, 2}", "(s32[2]{0} {1, 2}, (f32[] -0.5, pred[] true))", "f32[] nan(0x7)"]
    for literal in literals:
        module = parse_module(f"{call}{literal} }}")
        assert f"literal={literal}" in print_module(module)
        xla_texts.read(print_module(module))


# -- attributes that nobody knows


@pytest.mark.parametrize(
    ("attribute", "line"),
    [
        ("new_hint=fast", "negate(p), new_hint=fast"),
        ("new_hint", 'copy(p), new_hint="a, b", metadata={op_name="x"}'),
        ("new_hint", 'negate(p), new_hint={a={1,2} b="}"}, sharding={replicated}'),
    ],
)
def test_an_attribute_that_cannot_change_the_value_is_noted_and_left_out(attribute, line):
    module = parse_module(E + f"ROOT r = f32[2,3] {line} }}")
    (note,) = module.notes
    assert note.code == "XP120" and "new_hint" in note.message and note.span is not None
    assert "new_hint" not in print_module(module)


def test_an_unknown_attribute_of_the_module_is_noted_and_left_out():
    module = parse_module("HloModule m, new_table={ 1 {2} }, replica_count=2\n" + E + "ROOT r = f32[2,3] negate(p) }")
    assert module.replica_count == 2
    assert "`new_table`" in module.notes[0].message


@pytest.mark.parametrize(
    "line",
    [
        "f32[3,2] transpose(p), dimensions={1,0}, new_order={0,1}",  # its attributes say what it computes
        "f32[2,3] negate(p), dimensions={0}",  # it belongs to other operations
        "f32[2,3] negate(p), shardin={replicated}",  # nearly one that is known
    ],
)
def test_an_attribute_that_may_change_the_value_is_refused(line):
    with pytest.raises(HloSyntaxError, match="XP120"):
        parse_module(E + f"ROOT r = {line} }}")
