"""What is read from XLA's messages without jaxlib: literals and snapshots."""

import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.xla_texts import proto
from xla2py.transpile.errors import UsageError
from xla2py.transpile.frontends import hlo_proto
from xla2py.transpile.frontends.hlo_proto import read_literal, snapshot_arguments, without_large_literals
from xla2py.transpile.frontends.jax import lower
from xla2py.transpile.frontends.protobuf import encode, fields, messages, packed_varints
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES
from xla2py.transpile.hlo.parser import parse_module

NOT_IN_TEXT = {"s1", "f8e8m0fnu"}  # XLA's parser has no values for these


def literal_of(module: bytes) -> memoryview:
    """The LiteralProto of the one instruction of a module."""
    (computation,) = messages(memoryview(module), hlo_proto.COMPUTATIONS)
    (instruction,) = messages(computation, 2)
    return next(messages(instruction, 8))


def values(element_type) -> str:
    if element_type.name == "pred":
        return "{{true, false, true}, {false, true, true}}"
    if element_type.is_complex:
        return "{{(1, 0), (0, -2), (1, 1)}, {(0, 0), (1, 1), (3, 1)}}"
    low = -1 if element_type.name.startswith(("s", "f", "bf")) else 1
    return f"{{{{1, 0, {low}}}, {{0, {low}, 1}}}}"


@pytest.mark.parametrize("layout", ["{1,0}", "{0,1}"])
@pytest.mark.parametrize("name", sorted(set(ELEMENT_TYPES) - NOT_IN_TEXT))
def test_literals_of_every_element_type(name, layout):
    constant = f"ROOT c = {name}[2,3]{layout} constant({values(ELEMENT_TYPES[name])})"
    text = f"HloModule m\nENTRY e {{ {constant} }}"
    expected = parse_module(text).entry.root["literal"]
    array = read_literal(literal_of(proto(text)))
    assert (array.dtype, array.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(array, expected)


def test_wide_integers_tuples_and_empty_arrays():
    for text, expected in [
        ("s64[3] constant({-9223372036854775808, -1, 9223372036854775807})", [-(2**63), -1, 2**63 - 1]),
        ("u64[2] constant({18446744073709551615, 300})", [2**64 - 1, 300]),
        ("s32[0] constant({})", []),
        ("f32[] constant(2.5)", 2.5),
    ]:
        array = read_literal(literal_of(proto(f"HloModule m\nENTRY e {{ ROOT c = {text} }}")))
        assert array.tolist() == expected
    text = "(f32[2], (s32[])) constant(({1, 2}, (3)))"
    first, (second,) = read_literal(literal_of(proto(f"HloModule m\nENTRY e {{ ROOT c = {text} }}")))
    assert (first.tolist(), second.tolist()) == ([1, 2], 3)


def module_with_table(count: int) -> str:
    numbers = ", ".join(map(str, range(count)))
    return (
        f"HloModule m\nENTRY e {{ x = f32[{count}] parameter(0)\n t = f32[{count}] constant({{{numbers}}})\n"
        f'ROOT s = f32[{count}] add(x, t), metadata={{op_name="f/add"}} }}'
    )


def test_large_constants_do_not_go_through_text():
    text = module_with_table(5000)
    content = proto(text)
    small, literals = without_large_literals(memoryview(content))
    assert list(literals) == ["t"] and len(small) < len(content) - 20_000
    module = xla2py.load(content)
    assert "{...}" in module.source.text
    table = module.entry.root.operands[1]["literal"]
    np.testing.assert_array_equal(table, np.arange(5000, dtype=np.float32))
    assert not table.flags.owndata and not table.flags.writeable
    one, two = (xla2py.emit(m, name="m").source.partition(", body sha256")[2] for m in (module, text))
    assert one == two


def test_a_module_with_a_large_constant_is_not_held_twice(tmp_path):
    """160 MB of weights: reading the file holds them once, emitting and saving hold no more."""
    count = 40_000_000
    source = proto(module_with_table(5000))
    table = np.resize(np.random.default_rng(0).random(1009, np.float32), count)
    table[-1] = 7
    path = tmp_path / "big.pb"
    path.write_bytes(with_table(source, table))
    del table
    tracemalloc.start()
    try:
        generated = xla2py.emit(xla2py.load(path), checks=False)
        generated.save(tmp_path / "big.py")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.2 * 4 * count
    (stored,) = (tmp_path / "big.constants").iterdir()
    assert np.load(stored, mmap_mode="r")[-1] == 7


def with_table(module: bytes, table: np.ndarray) -> bytes:
    """The module of ``module_with_table(5000)`` with a longer table, as its proto would be."""

    def varint(number):
        octets = bytearray()
        while number >= 0x80:
            octets.append(number & 0x7F | 0x80)
            number >>= 7
        return bytes([*octets, number])

    small, _ = without_large_literals(memoryview(module))

    def resized(message: memoryview, path: tuple[int, ...]) -> bytes:
        """The message with the dimensions of every shape, which lie along a path of fields, replaced."""
        parts = []
        for field in fields(message):
            if isinstance(field.value, memoryview) and field.number == 3 and path == ("shape",):
                parts.append(encode(3, varint(table.size)))
            elif isinstance(field.value, memoryview) and (inner := SHAPES.get((path, field.number))) is not None:
                parts.append(encode(field.number, resized(field.value, inner)))
            else:
                parts.append(bytes(field.raw))
        if path == ("instruction",) and bytes(next(messages(message, 1))) == b"t":
            shape = next(messages(memoryview(b"".join(parts)), 3))
            parts.append(encode(8, encode(1, bytes(shape)) + encode(8, table.tobytes())))
        return b"".join(parts)

    return resized(memoryview(small), ("module",))


# which fields of a message lead to shapes: (message, field) -> message
SHAPES = {
    (("module",), 3): ("computation",),
    (("module",), 4): ("program",),
    (("computation",), 2): ("instruction",),
    (("computation",), 4): ("program",),
    (("instruction",), 3): ("shape",),
    (("program",), 1): ("shape",),
    (("program",), 2): ("shape",),
}


def test_large_constants_of_stablehlo_and_of_live_functions():
    jax = pytest.importorskip("jax")
    table = np.arange(5000, dtype=np.float32)
    exported = jax.export.export(jax.jit(lambda x: x + table))(np.ones(5000, np.float32))
    for module in (
        xla2py.load(exported.mlir_module_serialized),
        xla2py.load(exported.mlir_module()),
        lower(lambda x: x + table, np.ones(5000, np.float32)),
    ):
        (constant,) = [i for i in module.instructions() if i.opcode == "constant"]
        np.testing.assert_array_equal(constant["literal"], table)


def test_a_snapshot_brings_its_arguments(tmp_path):
    text = "HloModule m\nENTRY e { x = f32[2] parameter(0)\n y = s32[] parameter(1)\n ROOT r = f32[2] negate(x) }"
    arguments = [
        literal_of(proto(f"HloModule m\nENTRY e {{ ROOT c = {constant} }}"))
        for constant in ("f32[2] constant({1, 2})", "s32[] constant(7)")
    ]
    snapshot = encode(1, encode(1, proto(text))) + b"".join(encode(2, bytes(a)) for a in arguments)
    module = xla2py.load(snapshot)
    x, y = module.arguments
    assert (x.tolist(), y.tolist()) == ([1, 2], 7)
    assert [a.tolist() for a in snapshot_arguments(memoryview(snapshot))] == [[1, 2], 7]


def test_a_snapshot_that_xla_wrote_runs_with_its_arguments(tmp_path):
    program = (
        "import jax, jax.numpy as jnp, numpy as np\n"
        "jax.jit(lambda q, n: jnp.tanh(q) * n)(np.full((2, 3), 0.5, np.float32), np.int32(4))\n"
    )
    dump = tmp_path / "dump"
    flags = f"--xla_dump_to={dump} --xla_dump_hlo_snapshots --xla_dump_hlo_as_proto --xla_dump_hlo_as_text"
    environment = {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "PATH": ""}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True)
    (snapshot,) = dump.glob("*lambda*.snapshot.*.pb")
    module = xla2py.load(snapshot)
    result = xla2py.emit(module).load().main(*module.arguments)
    np.testing.assert_allclose(result, np.tanh(np.full((2, 3), 0.5, np.float32)) * 4, rtol=1e-6)
    from xla2py.transpile.frontends.sniffing import programs_in

    assert any(path.name.endswith("lambda.before_optimizations.hlo.pb") for path in programs_in(dump))
    assert all("before_optimizations.hlo.pb" in path.name for path in programs_in(dump))


@pytest.mark.parametrize(
    "content", [b"\x0a\xff\xff\xff\xff\x0f", b"\x0b", b"\xff" * 11, b"\x00\x00", b"\x0d\x01", b"\x0a\x05ab"]
)
def test_bytes_that_are_no_message(content):
    with pytest.raises(UsageError) as caught:
        list(fields(memoryview(content)))
    assert caught.value.diagnostics[0].code == "XP720"


@pytest.mark.parametrize("content", [b"\x80", b"\x01\xff", b"\x80" * 11 + b"\x01"])
def test_packed_numbers_without_an_end(content):
    with pytest.raises(UsageError):
        packed_varints(memoryview(content))


@pytest.mark.parametrize("cut", [3, 20, 100, 4000, 15_000, 20_100])
def test_a_file_cut_short_is_refused_with_a_code(cut):
    content = proto(module_with_table(5000))
    assert cut < len(content)
    snapshot = encode(1, encode(1, content))
    for part in (content[:cut], snapshot[:cut]):
        with pytest.raises(xla2py.errors.XlaToPythonError):
            xla2py.load(part)


def test_a_literal_of_the_wrong_size_is_refused():
    literal = bytes(literal_of(proto("HloModule m\nENTRY e { ROOT c = f32[2,3] constant({{1,2,3},{4,5,6}}) }")))
    values_field = literal.index(np.float32(1).tobytes()) - 2
    with pytest.raises(UsageError, match="values for an array"):
        read_literal(memoryview(literal[:values_field] + encode(8, b"\0" * 8)))


def test_programs_of_a_folder(tmp_path):
    for name in ("b.hlo", "a.mlir", "notes.md"):
        (tmp_path / name).write_text("x")
    from xla2py.transpile.frontends.sniffing import programs_in

    assert [path.name for path in programs_in(tmp_path)] == ["a.mlir", "b.hlo"]
    for name in (
        "module_0001.jit_f.before_optimizations.txt",
        "module_0001.jit_f.cpu_after_optimizations.txt",
        "module_0001.jit_f.before_optimizations.hlo.pb",
        "module_0002.jit_g.before_optimizations.txt",
        "module_0002.jit_g.cpu_after_optimizations-buffer-assignment.txt",
    ):
        (tmp_path / name).write_text("x")
    assert [path.name for path in programs_in(tmp_path)] == [
        "module_0001.jit_f.before_optimizations.hlo.pb",
        "module_0002.jit_g.before_optimizations.txt",
    ]
    empty = Path(tmp_path, "empty")
    empty.mkdir()
    with pytest.raises(UsageError) as caught:
        programs_in(empty)
    assert caught.value.diagnostics[0].code == "XP723"
