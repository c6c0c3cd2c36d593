"""Whatever the text or the bytes, the readers answer with a module or an error that has a code and a place."""

import random
import time
from pathlib import Path

import pytest

from xla2py.tests.stablehlo.texts import TEXTS
from xla2py.tests.whole import much
from xla2py.transpile.errors import XlaToPythonError
from xla2py.transpile.frontends.exported_file import read_exported
from xla2py.transpile.hlo.source import SourceText
from xla2py.transpile.hlo.verifier import verify
from xla2py.transpile.stablehlo.reading import read_bytecode, read_text

# Numbers of mutants that between them go wherever the first hundred of each text and two thousand of bytes do.
FARTHEST = {
    "products": "3 19 20 99",
    "simplified": "11 35 66 96",
    "bytes": "1 8 21 24 30 36 42 52 66 70 92 93 99 105 108 113 130 133 141 150 151 154 156 183 186 200 217 258 264 "
    "298 332 338 355 363 369 397 424 440 502 508 596 657 724 777 799 822 940 1061 1064 1092 1161 1170 "
    "1175 1282 1405 1514 1741 1814 1845",
    "constants": "2 4 8 9 13 17 19 30",
    "layouts": "0 1 7 9 22 32 35",
    "written_out": "5 7 74 79",
    "indices": "0 3 4 5 40 41 49 54 81 87 90 100",
    "reductions": "0 4 6 18 20 29 33 39 42 73 91",
    "folded": "0 6 27 40 41 51 52 57 80",
    "shapes": "0 14 18",
    "words": "2 7 18 39",
    "control": "5 7 10 22 23 31 32 40 56 95",
    "elementwise": "86",
    "calls": "4 94",
    "approximate_top_k": "10 11 33",
    "folded_as_xla_does": "10 31",
}
PIECES = [
    *"{}()[]<>=,:%#@!^\"'/*-+.?x_ \n0123456789",
    *(
        "tensor<4x3xf32>",
        "tensor<?xf32>",
        "tensor<*xf32>",
        "loc(",
        "dense<",
        ">",
        "#loc",
        "stablehlo.add ",
        "-> ",
        "::",
    ),
    *("99999999999999999999", "\\", "é", "\x1b", "true", "dims = [9]", "^bb0", "cond {", "do {", "%0", "%0#7", '"x"'),
    *("!quant.uniform<i8:f32, 0.1>", "array<i64: 1>", "i1", "0x7FC00000", "{-#", "module {", "return"),
]


def mutant(text, chance):
    """A text with one to four changes: a piece more, a part less, a part twice, two parts exchanged."""
    for _ in range(chance.randint(1, 4)):
        a = chance.randrange(len(text) + 1)
        b = min(len(text), a + int(chance.expovariate(0.2)))
        kind = chance.randrange(5)
        if kind == 0:
            text = text[:a] + chance.choice(PIECES) + text[b:]
        elif kind == 1:
            text = text[:a] + text[b:]
        elif kind == 2:
            text = text[:b] + text[a:]
        elif kind == 3:
            words = text.split(" ")
            k, m = chance.randrange(len(words)), chance.randrange(len(words))
            words[k], words[m] = words[m], words[k]
            text = " ".join(words)
        else:
            lines = text.split("\n")
            del lines[chance.randrange(len(lines))]
            text = "\n".join(lines)
    return text


def numbers(name):
    return [*map(int, FARTHEST[name].split())]


@pytest.mark.parametrize("name", TEXTS)
def test_changed_texts(name):
    for number in much(numbers(name), range(20_000 // len(TEXTS))):
        text = mutant(TEXTS[name], random.Random(f"{name} {number}"))
        start = time.process_time()
        try:
            module = read_text(SourceText(text))
            verify(module, module.source)
        except XlaToPythonError as error:
            for each in error.diagnostics:
                assert each.code.startswith("XP"), text
                assert each.span is None or 0 <= each.span.start <= each.span.end <= len(text), text
        assert time.process_time() - start < 2, text


def test_changed_bytes():
    folder = Path(__file__).parents[1] / "frontends" / "exported"
    programs = [bytes(read_exported(path.read_bytes()).program) for path in sorted(folder.glob("*.bin"))]
    for number in much(numbers("bytes"), range(20_000)):
        chance = random.Random(number)
        content = bytearray(chance.choice(programs))
        for _ in range(chance.randint(1, 3)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        try:
            module = read_bytecode(bytes(content[: chance.choice((None, chance.randrange(len(content))))]), "changed")
            verify(module, module.source)
        except XlaToPythonError as error:
            assert error.diagnostics[0].code.startswith("XP")


def test_a_region_does_not_see_the_results_of_its_operation():
    """In this artefact the number of a branch's result is changed to that of the operation which holds it."""
    path = Path(__file__).parents[1] / "frontends" / "exported" / "jax_0_12.bin"
    content = bytearray(read_exported(path.read_bytes()).program)
    content[606] = 21
    with pytest.raises(XlaToPythonError, match=r"XP431: .*there is no value 10 before it is used"):
        read_bytecode(bytes(content), "changed")


def test_a_stray_sign_is_no_value():
    text = "func.func @main(%a: tensor<f32>) -> tensor<f32> {\n%0 = stablehlo.add %a, %a : tensor<f32>\n"
    with pytest.raises(XlaToPythonError, match="XP10"):
        read_text(SourceText(text + "%1 = stablehlo.add %, %a : tensor<f32>\nreturn %1 : tensor<f32>\n}"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("-> tensor<f32>\n    %2 = stablehlo.pad", "-> tensoror<f32>\n    %2 = stablehlo.pad"),
        ("dense<0> : tensor<1xi32>", "dense<0> : dense"),
        ("%3 [1:4]", "%3 [9:12]"),
        ("dense<0> : tensor<1xi32>", "dense<0> : tensor<1x!quant.uniform<i8:f32, 0.1>>"),
    ],
)
def test_what_no_rule_can_use(old, new):
    assert old in TEXTS["simplified"]
    with pytest.raises(XlaToPythonError, match=r"XP106|XP218"):
        module = read_text(SourceText(TEXTS["simplified"].replace(old, new)))
        verify(module, module.source)


def test_a_function_without_a_name():
    text = '"func.func"() <{function_type = () -> ()}> ({\n"func.return"() : () -> ()\n}) : () -> ()'
    with pytest.raises(XlaToPythonError, match="XP111: a function has no name"):
        read_text(SourceText(text))


def test_aliases_on_one_line():
    text = (
        "#a = loc(unknown)#b = loc(unknown) !c = tensor<f32> #d = 1\nfunc.func @main(%a: tensor<f32>) -> tensor<f32> {"
    )
    module = read_text(SourceText(f"{text}\nreturn %a : tensor<f32>\n}} #e = loc(#a)#f = loc(unknown)"))
    assert len(module.entry.instructions) == 1


@pytest.mark.parametrize("between", [", ", ",\n"])
def test_long_lists_of_operands_take_little_time(between):
    count = 20_000
    operands, types = between.join(["%a"] * count), ", ".join(["tensor<f32>"] * count)
    text = f"%0 = stablehlo.tuple {operands} : tuple<{types}>\nreturn %0 : tuple<{types}>\n}}"
    start = time.process_time()
    module = read_text(SourceText(f"func.func @main(%a: tensor<f32>) -> tuple<{types}> {{\n{text}"))
    assert len(module.entry.root.operands) == count
    assert time.process_time() - start < 2


def test_what_many_aliases_of_aliases_stand_for_takes_little_time():
    aliases = "".join(f"#a{k} = [#a{k + 1}, #a{k + 1}, {{own = #a{k + 1}}}]\n" for k in range(16))
    text = f"{aliases}#a16 = 1\nfunc.func @main(%a: tensor<f32>) -> tensor<f32> {{\n"
    start = time.process_time()
    module = read_text(
        SourceText(f"{text}%0 = stablehlo.sine %a {{mine.note = #a0}} : tensor<f32>\nreturn %0 : tensor<f32>\n}}")
    )
    assert module.notes == ()
    assert time.process_time() - start < 2


def test_deep_nesting_is_an_error():
    for opening in ("module {", '"a.b"() ({', "a.b [", "a.b {x = "):
        with pytest.raises(XlaToPythonError, match=r"XP10[235]"):
            read_text(SourceText(opening * 10000))


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        ("stablehlo.and %x, %c : tensor<4xf32>", "XP211"),
        ("stablehlo.custom_call @f(%x) {operand_layouts = true} : (tensor<4xf32>) -> tensor<4xf32>", ""),
        ("stablehlo.custom_call @f(%x) {result_layouts = 1} : (tensor<4xf32>) -> tensor<4xf32>", ""),
    ],
)
def test_types_and_attributes_of_other_operations_are_refused_or_left_out(operation, code):
    lines = ["%c = stablehlo.constant dense<1.0> : tensor<4xf32>", f"%r = {operation}", "return %r : tensor<4xf32>"]
    text = "\n".join(["func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {", *lines, "}"])
    found = ""
    try:
        module = read_text(SourceText(text))
        verify(module, module.source)
    except XlaToPythonError as error:
        found = error.diagnostics[0].code
    assert found == code
