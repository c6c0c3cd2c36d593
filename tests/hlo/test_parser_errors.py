"""What the parser refuses: the code, and the place, which ``»`` marks in each text."""

import re
import time
import tracemalloc
from pathlib import Path

import pytest

from xla2py.transpile.errors import HloSyntaxError, HloVerificationError, XlaToPythonError
from xla2py.transpile.hlo import parser
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.source import SourceText

SUM = "sum { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] add(x, y) }\n"
A = "ENTRY main {\n  a = f32[4] parameter(0)\n  "


def diagnostic_of(text):
    with pytest.raises(XlaToPythonError) as caught:
        parse_module(SourceText(text, "m.hlo"))
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


ERRORS = [
    # the text as a whole
    ("XP100", "»", "empty"),
    ("XP100", "»\n // nothing but a comment\n", "empty"),
    ("XP101", "HloModule m\n»\0", "binary"),
    ("XP102", "»<html>", "expected a computation"),
    ("XP102", "__import__(»'os').system('x')", "expected a parameter name"),
    ("XP102", "ENTRY __import__(»'os') { a = f32[] parameter(0) }", "expected a parameter name"),
    ("XP119", "HloModule »{}", "no instructions"),
    ("XP103", "HloModule m»", "ends before the first computation"),
    ("XP103", "ENTRY main {»", "the text ends"),
    ("XP103", A + "ROOT b = f32[4] add(a, »", "ends where an operand should follow"),
    ("XP103", A + "ROOT b =»", "the text ends"),
    ("XP103", A + "b = f32[4] negate(a), sharding=»{devices={", "never closed"),
    ("XP104", A + "»/* never closed }", "comment"),
    ("XP104", A + 'b = f32[4] custom-call(a), custom_call_target=»"x }', "string"),
    # names
    ("XP102", A + "»'b' = f32[4] negate(a) }", "expected the name of an instruction"),
    ("XP102", A + '»"b" = f32[4] negate(a) }', "expected the name of an instruction"),
    ("XP102", A + "»s1 = f32[4] negate(a) }", "`s1` is a type"),
    ("XP102", A + "»b=f32[4] negate(a) }", "`b=` is not a name"),
    ("XP112", A + "b = f32[4] add(a, »c) }", "there is no `c` in computation `main`"),
    ("XP112", A + "b = f32[4] negate(a), control-predecessors={»c} }", "there is no `c`"),
    ("XP112", SUM + A + "b = f32[4] negate(»x) }", "there is no `x` in computation `main`"),
    ("XP113", A + "b = f32[4] negate(»c)\n  c = f32[4] negate(a) }", "used before it is defined"),
    ("XP113", A + "b = f32[4] negate(»b) }", "used before it is defined"),
    ("XP113", A + "b = f32[4] add(a, »c)\n  c = f32[4] negate(b) }", "used before it is defined"),
    ("XP114", A + "»a = f32[4] negate(a) }", "`a` is defined twice"),
    ("XP114", A + "%b = f32[4] negate(a)\n  »%b = f32[4] negate(a) }", "`b` is defined twice"),
    # parameters and roots
    ("XP115", A + "b = f32[4] parameter(»0) }", "two parameters 0"),
    ("XP115", A + "»b = f32[4] parameter(2) }", "no parameter 1"),
    ("XP115", A + "b = f32[4] parameter(»-1) }", "negative"),
    ("XP102", A + "b = f32[4] parameter(»x) }", "expected a parameter number"),
    ("XP119", A + "ROOT b = f32[4] negate(a)\n  ROOT »c = f32[4] negate(a) }", "two roots"),
    ("XP119", "ENTRY main »{ }", "no instructions"),
    ("XP119", "ENTRY f { a = f32[] parameter(0) }\n»ENTRY g { a = f32[] parameter(0) }", "one ENTRY"),
    # computations
    ("XP116", A + "b = f32[4] call(a), to_apply=»g }", "there is no computation `g`"),
    ("XP117", SUM + "»sum { x = f32[] parameter(0) }", "two computations `sum`"),
    ("XP118", "ENTRY f { a = f32[] parameter(0)\n b = f32[] call(a), to_apply=»f }", "calls itself"),
    (
        "XP118",
        "ENTRY f { a = f32[] parameter(0)\n b = f32[] call(a), to_apply=»g }\ng { a = f32[] parameter(0) }",
        "before",
    ),
    ("XP102", "ENTRY f { a = f32[] parameter(0) }, »thread=1", "execution_thread"),
    # opcodes and operands
    ("XP110", A + "b = f32[4] »ad(a, a) }", "unknown opcode `ad`"),
    ("XP110", A + "b = f32[4] »foo-start(a) }", "unknown opcode `foo-start`"),
    ("XP102", A + "b = f32[4] »Add(a, a) }", "expected an opcode"),
    ("XP111", A + "»b = f32[4] add(a) }", "add takes 2 operands, not 1"),
    ("XP111", A + "»b = f32[4] negate(a, a) }", "negate takes 1 operand, not 2"),
    ("XP111", A + "»b = f32[4] concatenate(), dimensions={0} }", "at least 1"),
    ("XP111", A + "»b = f32[4] negate-done(a) }", "needs the negate-start"),
    ("XP102", A + "b = f32[4] add(a »a) }", "expected `,` between operands"),
    ("XP102", A + "b = f32[4] add(a, », a) }", "expected an operand"),
    ("XP141", A + "b = f32[4] negate(»f32[5] a) }", "`a` has shape f32[4], not f32[5]"),
    ("XP141", A + "b = f32[4] negate(»a#0) }", "has no element 0"),
    ("XP141", "ENTRY f () -> »f32[5] {\n a = f32[4] parameter(0) }", "declares f32[5]"),
    ("XP141", A + "»b = f32[4] negate-start(a) }", "gives a tuple"),
    # shapes
    ("XP106", A + "b = »float[4] negate(a) }", "unknown element type `float`"),
    ("XP106", A + "b = f32[4]»{0,1} negate(a) }", "the layout orders"),
    ("XP106", A + "b = f32[4]{0:T(2)»T(2)} negate(a) }", "twice"),
    ("XP106", A + "b = f32[»-4] negate(a) }", "negative"),
    ("XP106", A + "b = »f32[9999999999,9999999999] negate(a) }", "address"),
    ("XP106", A + "b = »b(token[]) negate(a) }", "buffer"),
    ("XP106", A + "b = f32[4]»{0:padded_dimensions(1,2)} negate(a) }", "padded_dimensions"),
    ("XP102", A + "b = f32[»99999999999999999999] negate(a) }", "64 bits"),
    ("XP102", A + "b = f32[4,»] negate(a) }", "a dimension size"),
    ("XP102", A + "b = f32[]»{} negate(a) }", "expected an opcode"),
    ("XP140", A + "»b = parameter(1) }", "needs its shape"),
    ("XP140", A + "b = constant(»1) }", "needs its shape"),
    ("XP140", A + "»b = convert(a) }", "needs its shape"),
    ("XP140", A + "»b = negate-start(a) }", "needs its shape"),
    # attributes
    ("XP120", A + "b = f32[4] negate(a), »dimension={0} }", "negate has no attribute `dimension`"),
    ("XP120", A + "b = f32[4] parameter(1), »parameter_number=1 }", "no attribute"),
    ("XP120", "HloModule m, »is_schedule=true", "no attribute `is_schedule`"),
    ("XP121", A + "b = pred[4] compare(a, a), direction=LT, »direction=LT }", "twice"),
    ("XP121", A + 'b = f32[4] negate(a), metadata={}, »metadata={op_name="x"} }', "twice"),
    ("XP121", "HloModule m, is_scheduled=true, »is_scheduled=true", "twice"),
    ("XP122", A + "»b = pred[4] compare(a, a) }", "compare needs `direction`"),
    ("XP123", A + "b = pred[4] compare(a, a), direction=»LESS }", "`direction` cannot be `LESS`"),
    ("XP123", A + "b = f32[4] reverse(a), dimensions=»{0;1} }", "should look like `{0,1}`"),
    ("XP123", A + "b = f32[4] reverse(a), dimensions=»0 }", "should look like `{0,1}`"),
    ("XP123", A + "b = f32[4] reverse(a), dimensions=»{99999999999999999999} }", "64 bits"),
    ("XP123", A + "b = f32[4] sort(a), is_stable=»yes }", "`true` or `false`"),
    ("XP123", A + "b = f32[2] slice(a), slice=»{[0-2]} }", "should look like"),
    ("XP123", A + "b = f32[4] pad(a, a), padding=»1x }", "should look like"),
    ("XP123", A + "b = f32[4] reduce-window(a, a), window=»{size=1x2 stride=1} }", "different rank"),
    ("XP123", A + "b = f32[4] reduce-window(a, a), window=»{stride=1} }", "needs `size`"),
    ("XP123", A + "b = f32[4] reduce-window(a, a), window=»{size=1 sise=1} }", "no field `sise`"),
    ("XP123", A + "b = f32[4] reduce-window(a, a), window=»{size=1 stride=0} }", "at least 1"),
    ("XP123", A + "b = f32[4] convolution(a, a), dim_labels=»b0f_0io->b1f }", "once each"),
    ("XP123", A + "b = f32[4] convolution(a, a), dim_labels=»b01f_0io->b0f }", "different spatial"),
    ("XP123", A + "b = f32[4] dot(a, a), operand_precision=»{hi} }", "precisions are"),
    ("XP123", A + "b = f32[4] negate(a), metadata=»{op_name} }", "should look like"),
    ("XP123", A + 'b = f32[4] negate(a), metadata=»{op_name="a" op_name="b"} }', "twice"),
    ("XP123", "HloModule m, replica_count=»many", "`replica_count` should look like"),
    ("XP123", A + "b = f32[4] all-gather(a), dimensions={0}, replica_groups=»{{0,1},{1}} }", "two replica groups"),
    ("XP123", A + "b = f32[4] all-gather(a), dimensions={0}, replica_groups=»[2,2]<=[3] }", "cannot hold 3 devices"),
    ("XP123", A + "b = f32[4] all-gather(a), dimensions={0}, replica_groups=»[1,4]<=[2,2]T(0,0) }", "not an order"),
    ("XP123", A + "b = f32[4] all-gather(a), dimensions={0}, replica_groups=»[9999999,1]<=[9999999] }", "more than"),
    ("XP123", A + "b = f32[4] all-gather(a), dimensions={0}, replica_groups=mesh['x'=2] {»'y'} }", "no axis `y`"),
    ("XP123", A + "b = f32[4] all-gather(a), dimensions={0}, replica_groups=»mesh['x'=2] {'x','x'} }", "twice"),
    ("XP123", A + "b = f32[4] all-gather(a), dimensions={0}, replica_groups=mesh['x'=4] {»'x':(1)3} }", "divide"),
    (
        "XP123",
        A + "b = f32[4] all-gather(a), dimensions={0}, replica_groups=»mesh['x'=2], device_ids=(0,0) {'x'} }",
        "once",
    ),
    ("XP123", A + "b = f32[4] all-gather(a), dimensions={0}, replica_groups=mesh[»'x'=0,'y'=2] {'y'} }", "empty"),
    ("XP123", A + "b = f32[4] all-gather(a), dimensions={0}, replica_groups=»{{9999999999999999999}} }", "digits"),
    ("XP102", A + "b = f32[4] all-gather(a), dimensions={0}, replica_groups=»0 }", "replica groups"),
    ("XP102", A + "b = f32[4] negate(a), »} }", "expected an attribute"),
    ("XP102", A + "b = f32[4] negate(a), sharding=»} }", "expected the value of `sharding`"),
    # stack tables
    ("XP124", "HloModule m\n»StackFrames\n2 {file_location_id=1 parent_frame_id=1}\nENTRY f { }", "numbered"),
    ("XP124", "HloModule m\n»StackFrames\n1 {parent_frame_id=2}\nENTRY f { }", "its own caller"),
    ("XP124", "HloModule m\n»StackFrames\n1 {parent_frame_id=9}\nENTRY f { }", "no stack frame 8"),
    ("XP124", "HloModule m\nStackFrames\n1 {»line=9}\nENTRY f { }", "has the fields"),
    # literals (more in test_literals.py)
    ("XP130", A + "b = f32[400] constant(»{...}) }", "left out"),
    ("XP131", A + "b = f32[2] constant({1, 2, »3}) }", "dimension 0 of f32[2] has 2 elements"),
    ("XP132", A + "b = s8[2] constant({1, »200}) }", "out of range for s8"),
    ("XP133", A + "b = s8[2] constant({1, »2.5}) }", "not a value of type s8"),
    ("XP102", A + "b = f32[] constant(nan»(7)) }", "expected `)`"),
]


@pytest.mark.parametrize(("code", "marked", "message"), ERRORS)
def test_code_place_and_message(code, marked, message):
    diagnostic = diagnostic_of(marked.replace("»", ""))
    before = marked[: marked.index("»")]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    assert (diagnostic.code, diagnostic.location) == (code, f"m.hlo:{line}:{column}")
    assert message in diagnostic.message


def test_every_code_of_the_parser_has_an_error_here():
    package = Path(parser.__file__).parent
    written = {code for path in package.glob("*.py") for code in re.findall(r'"(XP1\d\d)"', path.read_text())}
    assert written - {"XP105"} == {code for code, _, _ in ERRORS}


def test_a_shape_that_cannot_be_inferred_names_the_rule_and_the_place():
    with pytest.raises(HloVerificationError) as caught:
        parse_module(A + "b = f32[5] parameter(1)\n  c = add(a, b) }")
    assert caught.value.diagnostics[0].location == "<string>:4:3"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (A + "b = f32[4] addd(a, a) }", "did you mean `add`"),
        (A + "b = f32[4] reverse(a), dimension={0} }", "did you mean `dimensions`"),
        (A + "b = f32[4] reverse(a), dimension={0} }", "allowed: dimensions, sharding"),
        (A + "b = f32[4] sort(a), foo=1 }", "is_stable"),
        (A + "sum = f32[4] negate(a)\n  b = f32[4] negate(summ) }", "did you mean `sum`"),
        (SUM + A + "b = f32[4] call(a), to_apply=summ }", "did you mean `sum`"),
        (A + "b=f32[4] negate(a) }", "space before `=`"),
        (A + "b = f33[4] negate(a) }", "f8e4m3b11fnuz"),
        (A + "b = pred[4] compare(a, a), direction=LESS }", "EQ, NE, GE, GT, LE, LT"),
        (A + "b = f32[9] constant({...}) }", 'as_text("hlo", debug_info=True)'),
        (A + "b = f32[9] constant({...}) }", "print_large_constants"),
        ("HloModule m, is_schedule=true", "did you mean `is_scheduled`"),
        ("c = f32[4] convert(x)", "f32[4] x"),
    ],
)
def test_hints(text, hint):
    assert hint in diagnostic_of(text).hint


# -- limits: depth, size, time, memory

DEEP = 10_000
LONG = 200_000
HOSTILE = {
    "tuple shapes": ("XP105", "ENTRY e { a = " + "(" * DEEP + "f32[]" + ")" * DEEP + " parameter(0) }"),
    "buffers": ("XP105", "ENTRY e { a = " + "b(" * DEEP),
    "physical shapes": ("XP105", "ENTRY e { a = " + "f32[1]{0:P(" * DEEP),
    "bodies": ("XP105", "ENTRY e { " + "a = f32[] call(), to_apply={ " * DEEP),
    "operands": ("XP105", "ENTRY e { a = f32[] " + "negate(" * DEEP),
    "open braces": ("XP103", "ENTRY e { a = f32[] parameter(0), sharding=" + "{" * LONG),
    "literal": ("XP102", "ENTRY e { a = f32[2] constant(" + "{" * LONG),
    "quotes": ("XP102", '"' * LONG),
    "backslashes": ("XP104", 'ENTRY e { a = f32[] custom-call(), custom_call_target="' + "\\" * LONG),
    "comments": ("XP103", "ENTRY e { a = f32[] add(" + "/**/" * LONG),
    "commas": ("XP102", "ENTRY e { a = f32[] add(" + "," * LONG),
    "suffixes": ("XP110", "ENTRY e { a = f32[] negate" + "-start" * DEEP + "() }"),
    "digits": ("XP102", "ENTRY e { a = f32[] parameter(" + "9" * LONG + ") }"),
    "digits of a float": ("XP132", "ENTRY e { a = f32[] constant(1e" + "9" * LONG + ") }"),
    "metadata": ("XP103", "ENTRY e { a = f32[] parameter(0), metadata={" + 'op_name="' * LONG),
    "elements": ("XP141", "ENTRY e { p = (f32[]) parameter(0) a = f32[] negate(p" + "#0" * LONG + ") }"),
    "device axes": (
        "XP123",
        A + "b = f32[4] all-gather(a), dimensions={0}, replica_groups=[1,1]<=[" + "1," * LONG + "1] }",
    ),
    "rows with gaps": ("XP102", "HloModule m\nStackFrames\n1 {" + "line=1   " * LONG + "!"),
    "groups with gaps": (
        "XP102",
        A + "b = f32[4] all-gather(a), dimensions={0}, replica_groups={" + "{0}   " * LONG + "x",
    ),
    "slices with gaps": ("XP123", A + "b = f32[4] slice(a), slice={" + "[0:1]   " * LONG + "x} }"),
    "comments in a literal": ("XP104", "ENTRY e { a = f32[32] constant({" + "/* " * LONG + "}) }"),
    "comments in an attribute": ("XP104", A + "b = f32[4] reverse(a), dimensions={" + "/* " * LONG + "} }"),
    "leading zeros": ("XP102", "ENTRY e { a = u64[1] constant({" + "0" * LONG + "} }"),
    "lone operands": ("XP122", "a = f32[] add(" + "f32[] call(), " * LONG),
    "names": (
        "XP112",
        "ENTRY e {" + "".join(f"a{i} = f32[] constant({i % 9})\n" for i in range(DEEP)) + "b = f32[] negate(c) }",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_texts_are_refused_at_once(kind):
    code, text = HOSTILE[kind]
    start = time.process_time()
    assert diagnostic_of(text).code == code
    assert time.process_time() - start < 2


def test_raw_text_may_nest_without_limit():
    text = "{" * DEEP + "}" * DEEP
    module = parse_module(f"ENTRY e {{ a = f32[] parameter(0), sharding={text} }}")
    assert module.entry.root["sharding"].text == text


def test_deep_but_reasonable_nesting_is_fine():
    depth = 60
    shape = "(" * depth + "f32[]" + ")" * depth
    root = parse_module(f"ENTRY e {{ a = {shape} constant({'(' * depth}1{')' * depth}) }}").entry.root
    assert str(root.shape) == shape


def test_an_error_shows_no_python_recursion_even_from_a_deep_stack():
    def deeper(levels):
        return deeper(levels - 1) if levels else diagnostic_of(HOSTILE["bodies"][1]).code

    assert deeper(200) == "XP105"


def many_instructions(count):
    lines = ["ENTRY main {", "  p0 = f32[128,256]{1,0} parameter(0)", "  p1 = f32[128,256]{1,0} parameter(1)"]
    for i in range(2, count):
        metadata = f'metadata={{op_name="jit(step)/layer_{i // 7}/add" source_file="model.py" source_line={i}}}'
        lines.append(f"  p{i} = f32[128,256]{{1,0}} add(p{i - 1}, p{i - 2}), {metadata}")
    return "\n".join([*lines, "}"])


def test_memory_stays_below_ten_times_the_text_and_time_is_short():
    text = many_instructions(4_000)
    parse_module(text[: text.index("\n", 1000)] + "}")  # caches that stay
    tracemalloc.start()
    try:
        module = parse_module(text)
        assert tracemalloc.get_traced_memory()[1] < 10 * len(text)
    finally:
        tracemalloc.stop()
    assert len(module.entry.instructions) == 4_000
    start = time.process_time()
    parse_module(text)
    assert time.process_time() - start < 1  # a tenth of a second where nothing else runs


@pytest.mark.parametrize("cut", range(0, 400, 7))
def test_truncated_text_is_refused_where_it_ends(cut):
    text = SUM + A + 'b = f32[4]{0} add(a, a), metadata={op_name="x" source_line=3}\n  c = f32[2] constant({1, 2})\n}\n'
    cut %= len(text) - 2
    try:
        parse_module(text[:cut])
    except HloSyntaxError as error:
        assert error.diagnostics[0].span.end <= len(text)
    else:
        assert text[:cut].rstrip().endswith("}")
