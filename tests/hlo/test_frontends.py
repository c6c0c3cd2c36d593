"""Loading by content: text, bytes, files, protos, StableHLO, live functions; and what cannot be loaded."""

import subprocess
import sys

import numpy as np
import pytest

from xla2py import emit
from xla2py.tests.recording.xla_texts import proto
from xla2py.transpile.errors import HloSyntaxError, UsageError, XlaToPythonError
from xla2py.transpile.frontends import from_jax, jaxlib_conversion, load
from xla2py.transpile.frontends.sniffing import Kind, sniff
from xla2py.transpile.hlo.equality import structurally_equal
from xla2py.transpile.hlo.parser import parse_module

TEXT = """HloModule small

ENTRY main {
  a = f32[3] parameter(0)
  ROOT b = f32[3] add(a, a), metadata={op_name="f/add"}
}
"""
STABLEHLO = """module @small {
  func.func public @main(%a: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.add %a, %a : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}
"""


@pytest.fixture(scope="module")
def module_proto():
    return proto(TEXT)


def length_delimited(field, payload):
    """A protobuf field with a message or string in it."""
    size, length = len(payload), b""
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([field << 3 | 2]) + length + bytes([size]) + payload


def code_of(source, **options):
    with pytest.raises(XlaToPythonError) as caught:
        load(source, **options)
    return caught.value.diagnostics[0].code


# -- text and files


def test_text_bytes_path_and_module_give_the_same(tmp_path):
    path = tmp_path / "small.hlo"
    path.write_text(TEXT)
    expected = parse_module(TEXT)
    for source in (TEXT, TEXT.encode(), path, str(path), expected, "\ufeff" + TEXT, TEXT.replace("\n", "\r\n")):
        assert structurally_equal(load(source), expected)
    assert load(expected) is expected


@pytest.mark.parametrize(
    "text",
    [
        "ENTRY main { a = f32[] parameter(0) }",
        "  HloModule m ENTRY main { a = f32[] parameter(0) }",
        "add.1 = f32[] add(f32[] a, f32[] b)",
        "f {\n a = f32[] parameter(0) }",
    ],
)
def test_a_string_that_begins_like_hlo_or_has_lines_is_text(text):
    assert load(text).source.text == text


def test_errors_call_the_source_by_its_name(tmp_path):
    path = tmp_path / "bad.hlo"
    path.write_text("ENTRY {")
    for source, options, name in [
        (path, {}, str(path)),
        (str(path), {}, str(path)),
        ("ENTRY {", {}, "<string>"),
        (b"ENTRY {", {}, "<bytes>"),
        (b"ENTRY {", {"name": "<stdin>"}, "<stdin>"),
    ]:
        with pytest.raises(HloSyntaxError) as caught:
            load(source, **options)
        assert caught.value.diagnostics[0].location == f"{name}:1:8"


def test_files_that_cannot_be_read(tmp_path):
    assert code_of(tmp_path / "missing.hlo") == "XP401"
    assert code_of("missing.hlo") == "XP401"
    assert code_of(tmp_path) == "XP401"
    assert code_of("a\0b") == "XP401"
    assert code_of("x" * 10_000) == "XP401"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "XP100"),
        ("", "XP100"),
        ("  ", "XP100"),
        (b"\x89PNG\r\n\x1a\n\0\0", "XP101"),
        (b"HloModule m\n\0", "XP101"),
        (b"HloModule \xff\n", "XP101"),
        ("HloModule \ud800\n", "XP101"),
        (b"<html>", "XP102"),
    ],
)
def test_what_is_no_program(content, code):
    assert code_of(content) == code


# -- protos and StableHLO


def test_sniffing(module_proto):
    assert sniff(TEXT.encode()) is Kind.HLO_TEXT
    assert sniff(b"module {\n a = f32[] parameter(0)\n}") is Kind.HLO_TEXT  # a computation called module
    assert sniff(b"") is Kind.HLO_TEXT
    assert sniff(module_proto) is Kind.HLO_MODULE_PROTO
    assert sniff(length_delimited(1, module_proto)) is Kind.HLO_PROTO
    assert sniff(STABLEHLO.encode()) is Kind.STABLEHLO_TEXT
    assert sniff(b"#loc = loc(unknown)\nmodule {}") is Kind.STABLEHLO_TEXT
    assert sniff(b"// a comment\nmodule attributes {x = 1} {\n}") is Kind.STABLEHLO_TEXT
    assert sniff(b"func.func @main() { return }") is Kind.STABLEHLO_TEXT
    assert sniff(b"ML\xefR\x06") is Kind.STABLEHLO_BYTECODE
    assert sniff(module_proto[: len(module_proto) // 2]) is Kind.HLO_TEXT


def test_serialized_modules(module_proto, tmp_path):
    path = tmp_path / "named.txt"
    path.write_bytes(module_proto)
    for source in (module_proto, length_delimited(1, module_proto), path):
        module = load(source)
        assert [i.opcode for i in module.entry.instructions] == ["parameter", "add"]
        assert module.entry.root.metadata.op_name == "f/add"


def test_stablehlo_text_and_bytecode(tmp_path):
    jax = pytest.importorskip("jax")
    import jax.numpy as jnp

    path = tmp_path / "small.mlir"
    path.write_text(STABLEHLO)
    module = load(path)
    assert module.entry.root.opcode == "add"
    assert module.entry.root.metadata.source_file == "small.mlir"
    assert module.entry.root.metadata.source_line == 3
    exported = jax.export.export(jax.jit(lambda x: jnp.tanh(x) @ x))(jnp.ones((2, 2)))
    for source in (exported.mlir_module_serialized, exported.mlir_module()):
        assert {i.opcode for i in load(source).entry.instructions} == {"parameter", "tanh", "dot"}


def test_what_cannot_be_read_is_named():
    pytest.importorskip("jaxlib")
    assert code_of(b"ML\xefRnonsense") == "XP431"
    with pytest.raises(HloSyntaxError) as caught:
        load("module @m {\n  func.func nonsense\n}", name="bad.mlir")
    assert caught.value.diagnostics[0].location == "bad.mlir:2:13"
    assert code_of(b"\n\x03abc\x1a\x02\x08\x01") == "XP431"


def child(status, stderr=b""):
    return lambda *command, **options: subprocess.CompletedProcess(command, status, b"", stderr)


def test_without_jaxlib_the_error_names_what_to_install(monkeypatch, module_proto):
    code = "import sys; sys.modules['jaxlib'] = None; import runpy; "
    code += "runpy.run_module('xla2py.transpile.frontends.jaxlib_conversion', run_name='__main__')"
    answer = subprocess.run([sys.executable, "-c", code], input=module_proto, capture_output=True, check=False)
    monkeypatch.setattr(subprocess, "run", child(answer.returncode))
    with pytest.raises(UsageError) as caught:
        load(module_proto)
    assert caught.value.diagnostics[0].code == "XP430"
    assert "xla2py[xla]" in caught.value.diagnostics[0].hint


def test_a_crash_of_jaxlib_is_an_error(monkeypatch, module_proto):
    monkeypatch.setattr(subprocess, "run", child(-6, b"F0000 check failed"))
    with pytest.raises(UsageError) as caught:
        load(module_proto)
    assert caught.value.diagnostics[0].code == "XP431"
    assert "crashed" in caught.value.diagnostics[0].message


def test_an_endless_conversion_is_an_error(monkeypatch, module_proto):
    def run(command, *, timeout, **options):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", run)
    assert code_of(module_proto) == "XP431"


def test_the_installed_jaxlib_has_the_names_that_are_used():
    pytest.importorskip("jaxlib")
    assert jaxlib_conversion.missing_names() == []


# -- JAX


def test_a_jax_function_comes_with_its_sources():
    jax = pytest.importorskip("jax")
    import jax.numpy as jnp

    def scale(x, factor):
        shifted = x - 1.0
        return shifted * factor

    module = from_jax(scale, jnp.ones((2, 3)), jax.ShapeDtypeStruct((3,), jnp.float32))
    assert [str(p.array_shape.without_layout()) for p in module.entry.parameters] == ["f32[2,3]", "f32[3]"]
    assert list(module.sources) == [__file__]
    root = module.entry.root
    line = module.sources[__file__].splitlines()[root.metadata.source_line - 1]
    assert line.strip() == "return shifted * factor"
    assert module.stack_frames[root.metadata.stack_frame_id - 1].function_name.endswith("scale")


def test_jitted_functions_and_keywords():
    jax = pytest.importorskip("jax")
    import jax.numpy as jnp

    jitted = jax.jit(lambda x, *, n: x**n, static_argnames="n")
    module = from_jax(jitted, jnp.ones(2), n=3)
    assert len(module.entry.parameters) == 1


def test_large_constants_are_there_in_full():
    pytest.importorskip("jax")
    import jax.numpy as jnp
    import numpy as np

    table = np.arange(5000, dtype=np.float32) / 3
    module = from_jax(lambda x: x + table, jnp.ones(5000))
    literals = [i["literal"] for i in module.instructions() if i.opcode == "constant"]
    assert any(np.array_equal(literal, table) for literal in literals)


def test_a_compiled_function_has_its_large_constants():
    """Its text leaves them out since JAX 0.12."""
    jax = pytest.importorskip("jax")
    table = np.arange(200, dtype=np.float32) / 3
    compiled = jax.jit(lambda x: x + table).lower(np.ones(200, np.float32)).compile()
    np.testing.assert_array_equal(emit(compiled).load().main(np.ones(200, np.float32)), 1 + table)


def test_without_jax_the_error_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(UsageError) as caught:
        from_jax(lambda x: x, 1.0)
    assert caught.value.diagnostics[0].code == "XP430"
    assert "xla2py[jax]" in caught.value.diagnostics[0].hint


def test_loading_text_imports_no_jax():
    code = f"import sys; from xla2py.transpile.frontends import load; load({TEXT!r}); sys.exit('jaxlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_text_in_other_encodings_is_read(encoding):
    text = "HloModule m\n\nENTRY e {\n  ROOT x = f32[2] parameter(0)\n}\n"
    assert load(text.encode(encoding)).entry.root.name == "x"


@pytest.mark.parametrize("colour", ["", "\x1b[34m\x1b[1m"])
@pytest.mark.parametrize("first", ["", "let lambda = ", "let _where = "])  # one that is called comes first
def test_a_jaxpr_is_named(first, colour):
    text = f"{first}{{ {colour}lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }}\n"
    with pytest.raises(HloSyntaxError, match="XP142: this is a jaxpr"):
        load(text)
