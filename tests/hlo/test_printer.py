"""Printed modules read back equal, XLA reads them too, and the text depends on the module alone."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.tests.recording.xla_texts import STYLES, is_same, optimised, read
from xla2py.transpile.hlo.attributes import PaddingDimension, WindowDimension
from xla2py.transpile.hlo.equality import structurally_equal
from xla2py.transpile.hlo.ir import Computation, HloModule, Instruction, OpMetadata
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.printer import print_module

GRAMMAR = {path.stem: path.read_text() for path in sorted((Path(__file__).parent / "grammar").glob("*.hlo"))}
NEWER_THAN_XLA = {"newer"}  # attributes that the installed jaxlib does not know yet
OTHER_VERSIONS = {"newer", "older"}  # forms that it does not read yet, or no longer


def jax_programs():
    table = np.arange(300, dtype=np.float32).reshape(3, 100) / 7

    def layers(x, w):
        def layer(carry, _):
            carry = jnp.tanh(carry @ w) + table[0, :4]
            return carry, carry.sum()

        carry, sums = jax.lax.scan(layer, x, None, length=3)
        return {"carry": jax.nn.softmax(carry), "sorted": jnp.sort(sums)}

    def convolve(x, k):
        y = jax.lax.conv_general_dilated(x, k, (1, 2), [(1, 1), (0, -1)], (1, 2), (2, 1))
        return jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 1, 2), "SAME")

    def pick(x, i):
        y = x.at[i].add(2.0).at[0].multiply(np.nan)
        return y[i], jnp.take(table, i, axis=1), jax.lax.cond(i[0] > 0, jnp.sin, jnp.cos, x), jnp.pad(x, ((1, 2),))

    def numbers(key):
        normal = jax.random.normal(jax.random.wrap_key_data(key), (4,), jnp.bfloat16)
        return normal, jnp.fft.rfft(table), jnp.linalg.cholesky(jnp.eye(3)), jnp.complex64(1 - 2j) * normal

    f32 = np.float32
    yield layers, (np.ones((2, 4), f32), np.ones((4, 4), f32))
    yield convolve, (np.ones((2, 3, 8, 9), f32), np.ones((4, 3, 3, 3), f32))
    yield pick, (np.ones(5, f32), np.array([1, 2]))
    yield numbers, (np.zeros(2, np.uint32),)
    yield jax.grad(lambda x: layers(x, x)["carry"].sum()), (np.ones((4, 4), f32),)


def dumps():
    """JAX programs as text: lowered, and optimised by XLA in several print styles."""
    for function, arguments in jax_programs():
        lowered = jax.jit(function).lower(*arguments)
        yield from (lowered.as_text("hlo", debug_info=True), lowered.as_text("hlo"))
        yield from (optimised(lowered, style) for style in STYLES)


def test_programs_of_jax_read_back_equal_and_xla_reads_them():
    """XLA reads the same from both."""
    texts = list(dumps())
    assert len(texts) == 25
    for text in texts:
        module = parse_module(text)
        printed = print_module(module)
        again = parse_module(printed)
        assert structurally_equal(module, again)
        assert print_module(again) == printed
        assert is_same(text, printed)


@pytest.mark.parametrize("name", GRAMMAR)
def test_the_whole_grammar_reads_back_equal(name):
    module = parse_module(GRAMMAR[name])
    printed = print_module(module)
    assert structurally_equal(module, parse_module(printed))
    assert print_module(parse_module(printed)) == printed


@pytest.mark.parametrize("name", sorted(GRAMMAR.keys() - NEWER_THAN_XLA))
def test_xla_reads_the_whole_grammar(name):
    read(print_module(parse_module(GRAMMAR[name])))
    if name not in OTHER_VERSIONS:
        read(GRAMMAR[name])


def test_the_form_of_the_text():
    text = """HloModule m, replica_count=2

FileNames
1 "a.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=1 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y)
}, execution_thread="worker"

ENTRY main {
  a = f32[4,2]{1,0} parameter(0), sharding={replicated}
  zero = f32[] constant(0)
  b = f32[4]{0} reduce(a, zero), dimensions={1}, to_apply=sum, metadata={op_name="f/sum" stack_frame_id=1}
  c = f32[4]{0} pad(b, zero), padding=1_-1_2, control-predecessors={a, b}
  ROOT d = f32[2]{0} slice(c), slice={[0:4:2]}, metadata={op_name="say \\"x\\"" source_file="b.py" source_line=7}
}
"""
    assert print_module(parse_module(text)) == text


def test_only_unusual_window_fields_are_written():
    window = (WindowDimension(3, padding_low=1, padding_high=-1), WindowDimension(2, window_reversal=True))
    assert "window={size=3x2 pad=1_-1x0_0 rhs_reversal=0x1}" in print_module(
        with_attributes("reduce-window", window=window)
    )
    assert "padding=1_2x0_-1_3" in print_module(
        with_attributes("pad", padding=(PaddingDimension(1, 2), PaddingDimension(0, -1, 3)))
    )


def leaf(name="p", opcode="parameter", operands=(), **attributes):
    shape = parse_module("ENTRY e { a = f32[2] parameter(0) }").entry.root.shape
    return Instruction(name, opcode, shape, operands, attributes)


def with_attributes(opcode, **attributes):
    parameter = leaf(parameter_number=0)
    root = leaf("r", opcode, (parameter, parameter), **attributes)
    computation = Computation("main", (parameter, root), root)
    return HloModule("m", (computation,), computation)


def named_like(*names):
    """A module whose instructions and computation have names that nobody checked."""
    first = leaf(names[0], parameter_number=0)
    chain = [first]
    for name in names[1:]:
        chain.append(leaf(name, "negate", (chain[-1],)))
    computation = Computation(names[-1], tuple(chain), chain[-1])
    return HloModule(names[0], (computation,), computation)


def test_names_that_hlo_does_not_allow():
    module = named_like("ok", "a b", "a_b", "ok", "s32", "1st", "true", "", "');drop", "é", "ROOT")
    again = parse_module(print_module(module))
    assert [i.name for i in again.entry.instructions] == [
        *("ok", "a_b.1", "a_b", "ok.1", "s32_", "_1st", "true", "_", "___drop", "_.1", "ROOT"),
    ]
    assert structurally_equal(module, again, labels=False)


@pytest.mark.parametrize(
    ("written", "name"), [("-calls", "_-calls"), ("3d", "_3d"), ("%.x", "_.x"), ("jit_f", "jit_f")]
)
def test_names_of_modules_are_legal(written, name):
    module = parse_module(f"HloModule {written}\n\nENTRY main {{\n  ROOT x = f32[] parameter(0)\n}}\n")
    assert module.name == name
    assert structurally_equal(module, parse_module(print_module(module)))


def test_xla_reads_whatever_the_names_were():
    words = (
        "true false inf nan ROOT ENTRY HloModule maximal replicated manual unknown token opaque tuple f32 s4 unreduced"
    )
    for word in [*words.split(), "shard_as", "shard_like", "last_tile_dim_replicate", "to_apply", "", "%x", "a.b-c"]:
        read(print_module(named_like("x", word)))


def test_strings_cannot_end_early():
    nasty = '"}, metadata={op_name="x\\'
    module = parse_module("ENTRY e { a = f32[2] parameter(0) }")
    metadata = OpMetadata(op_name=nasty, source_file="a\nb\x01")
    root = replace(module.entry.root, metadata=metadata)
    computation = Computation("e", (root,), root, execution_thread=nasty)
    again = parse_module(print_module(replace(module, computations=(computation,), entry=computation)))
    assert again.entry.root.metadata == metadata
    assert again.entry.execution_thread == nasty


def test_callees_come_first_whatever_the_order_of_the_module():
    module = parse_module(GRAMMAR["calls"])
    again = parse_module(print_module(replace(module, computations=tuple(reversed(module.computations)))))
    assert {c.name for c in again.computations} == {c.name for c in module.computations}
    only_entry = replace(module, computations=(module.entry,))
    assert "body {" in print_module(only_entry)


# -- equality

BASE = """HloModule m
f { x = f32[] parameter(0)  ROOT y = f32[] negate(x) }
g { x = f32[] parameter(0)  ROOT y = f32[] abs(x) }
ENTRY main {
  a = f32[] parameter(0)
  b = f32[] constant(1), metadata={op_name="b"}
  c = f32[] subtract(a, b)
  d = f32[] call(c), to_apply=f
  ROOT e = (f32[], f32[]) tuple(d, c)
}"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("subtract(a, b)", "subtract(b, a)"),
        ("subtract", "add"),
        ("to_apply=f", "to_apply=g"),
        ("constant(1)", "constant(2)"),
        ("constant(1)", "constant(-0.0)"),
        ("HloModule m", "HloModule m, replica_count=2"),
        ("ROOT e", "e"),
        ("d = f32[] call(c)", "d = f32[]{:T(128)} call(c)"),
        ("negate(x) }", 'negate(x) }, execution_thread="t"'),
        ("to_apply=f", "to_apply=f, sharding={manual}"),
        ("ROOT y = f32[] abs(x)", "z = f32[] abs(x) ROOT y = f32[] abs(x)"),
    ],
)
def test_what_makes_modules_different(old, new):
    assert old in BASE
    changed = BASE.replace(old, new, 1)
    same = old == "ROOT e"  # the last instruction is the root anyway
    for labels in (True, False):
        assert structurally_equal(parse_module(BASE), parse_module(changed), labels=labels) is same


@pytest.mark.parametrize(("old", "new"), [("HloModule m", "HloModule n"), ('"b"', '"c"'), ("x", "xx"), ("main", "g.1")])
def test_what_differs_in_labels_only(old, new):
    changed = BASE.replace(old, new)
    assert not structurally_equal(parse_module(BASE), parse_module(changed))
    assert structurally_equal(parse_module(BASE), parse_module(changed), labels=False)


def test_modules_that_share_instructions_are_compared_by_place():
    module = parse_module(BASE)
    main = module.entry
    a, b, *rest = main.instructions
    swapped = Computation("main", (b, a, *rest), main.root)
    other = replace(module, computations=(*module.computations[:2], swapped), entry=swapped)
    assert structurally_equal(module, module)
    assert not structurally_equal(module, other)
