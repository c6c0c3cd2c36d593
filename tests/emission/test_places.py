"""Where emitted lines stand in the formatted text, and which instructions they come from."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import xla2py
from xla2py.transpile.array.program import Scope
from xla2py.transpile.emission.places import bodies, statements

EXAMPLES = Path(__file__).parents[2] / "examples" / "hlo"
NAMES = ("transformer_block.before", "conjugate_gradient.after", "lstm.before", "adaptive_ode.before", "viterbi.after")


def _head(statement: ast.stmt) -> str:
    """A statement without the statements inside it."""
    for body in bodies(statement):
        body[:] = [ast.Pass()]
    if isinstance(statement, ast.If):
        statement.orelse = []
    return ast.dump(statement)


@pytest.mark.parametrize("name", NAMES)
def test_every_line_is_the_statement_that_it_became(name: str) -> None:
    emitted = xla2py.emit(EXAMPLES / f"{name}.hlo")
    found = [pair for function in emitted.functions for pair in statements(ast.parse(emitted.source), function)]
    assert len(found) >= 3
    for line, statement in found:
        text = line.text.removeprefix("el")
        text += " pass" if text.endswith(":") else ""
        if text not in ("break",):
            (expected,) = ast.parse(text).body if text != "return" else [statement]
            assert _head(expected) == _head(statement)


def _instructions(scope: Scope) -> int:
    return len(scope.values) + sum(_instructions(inner) for inner in scope.called.values())


@pytest.mark.parametrize("name", NAMES)
def test_every_instruction_of_the_entry_has_its_value(name: str) -> None:
    module = xla2py.load(EXAMPLES / f"{name}.hlo")
    emitted = xla2py.emit(module, disable_passes=("outlining", "scopes_through_calls"))  # which make another module
    scope = emitted.functions[0].function.scope
    assert scope is not None
    assert list(scope.values) == list(module.entry.instructions)
    assert _instructions(scope) > len(module.entry.instructions)
