"""Reading a program leaves nothing for the collector of reference cycles, which does not run for it."""

import gc
from pathlib import Path

import pytest

from xla2py.tests.stablehlo.texts import TEXTS
from xla2py.transpile.errors import XlaToPythonError
from xla2py.transpile.frontends.exported_file import read_exported
from xla2py.transpile.hlo.source import SourceText
from xla2py.transpile.stablehlo.reading import read_bytecode, read_text

EXPORTED = sorted((Path(__file__).parents[1] / "frontends" / "exported").glob("*.bin"))
ALIASES = """#one = dense_resource<table> : tensor<2xf32>
!pair = tensor<2xf32>
func.func @main(%a: !pair) -> !pair {
  %0 = stablehlo.constant {mine.note = #one} dense_resource<table> : !pair
  %1 = stablehlo.add %a, ADDED : !pair
  return %1 : !pair
}
{-# dialect_resources: { builtin: { table: "0x040000000000803F00000040" } } #-}
"""


@pytest.fixture(autouse=True, scope="module")
def old_objects():
    """Keep the collector from looking through older objects at each of these tests, and readers from counting them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "get_freeze_count", lambda: 1)
        gc.freeze()
        yield
        gc.unfreeze()


def cycles_of(read):
    """How many objects in cycles a call leaves, at least: at the first call those of what is kept are made, and other
    threads of the test's process may make some at any time.
    """

    def left():
        gc.collect()
        gc.freeze()
        read()
        return gc.collect()

    read()
    found = left()
    return found and min(found, *(left() for _ in range(4)))


@pytest.mark.parametrize("text", [*TEXTS.values(), ALIASES.replace("ADDED", "%0")], ids=[*TEXTS, "aliases"])
def test_a_text_leaves_no_cycles(text):
    assert cycles_of(lambda: read_text(SourceText(text))) == 0


def test_an_error_leaves_no_cycles():
    def read():
        with pytest.raises(XlaToPythonError, match="XP112"):
            read_text(SourceText(ALIASES.replace("ADDED", "%unknown")))

    assert cycles_of(read) == 0


@pytest.mark.parametrize("path", EXPORTED, ids=[each.stem for each in EXPORTED])
def test_bytecode_leaves_no_cycles(path):
    content = bytes(read_exported(path.read_bytes()).program)
    assert cycles_of(lambda: read_bytecode(content, "program")) == 0


def test_the_collector_does_not_run_for_a_program(monkeypatch):
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 0)
    seen = []
    text = "".join(f"  %{k} = stablehlo.add %{k - 1}, %{k - 1} : tensor<f32>\n" for k in range(1, 1000))
    source = SourceText(f"func.func @main(%0: tensor<f32>) -> tensor<f32> {{\n{text}  return %999 : tensor<f32>\n}}")
    record = lambda phase, info: seen.append(phase)  # noqa: E731
    gc.collect(0)
    gc.callbacks.append(record)
    gc.enable()
    try:
        module = read_text(source)
    finally:
        gc.disable()
        gc.callbacks.remove(record)
    assert (len(module.entry.instructions), seen) == (1000, [])
