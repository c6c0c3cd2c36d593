"""What tests of raising passes are made of: the text of ``main``, and values raised, unraised and on XLA."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jax
from xla2py.tests.whole import much
from xla2py.transpile.array.node import Node
from xla2py.transpile.array.program import roots
from xla2py.transpile.array.traversal import topological
from xla2py.transpile.compilation import compile
from xla2py.transpile.emission import GeneratedModule
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child
from xla2py.transpile.equivalence.verdicts.comparison import Budget, compare
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.target import load_target

ROUNDED = Budget(relative=1e-5, absolute=1e-6)
EXACT = Budget(relative=0, absolute=0)
_EMITTED: dict[tuple[str, str], GeneratedModule] = {}
_MOST = 32  # modules: a test looks at one again soon


def hlo(function: Callable[..., Any], *arguments: Any) -> str:
    """What JAX lowers a function to, before XLA optimises it."""
    return str(jax.jit(function, keep_unused=True).lower(*arguments).compiler_ir(dialect="hlo").as_hlo_text())


def cuda(function: Callable[..., Any], *arguments: Any) -> str:
    """What JAX lowers a function to for GPUs by NVIDIA, which needs none."""
    traced = jax.jit(function, keep_unused=True).trace(*arguments)
    return str(traced.lower(lowering_platforms=("cuda",)).as_text("hlo"))


def optimised(function: Callable[..., Any], *arguments: Any) -> str:
    """What XLA makes of it."""
    return str(jax.jit(function, keep_unused=True).lower(*arguments).compile().as_text())


def entry(*lines: str, functions: str = "") -> str:
    """A module of one computation; the last line is its root."""
    *before, root = lines
    return "\n".join(["HloModule m", functions, "ENTRY main {", *before, f"ROOT {root}", "}"])


def called(text: str, refuses: Callable[[Node], str | None] = lambda node: None) -> set[str]:
    """The prelude functions that a program calls after the passes, for a target that refuses some nodes."""
    program = compile(parse_module(text), replace(load_target("numpy"), refuses=refuses)).lowered
    assert program is not None
    nodes = (node for function in program.functions for node in topological(roots(function)))
    return {node.parameters["function"] for node in nodes if node.opcode == "prelude"}


def no_prelude(node: Node) -> str | None:
    """What a target says that has none of the prelude's functions."""
    return "not here" if node.opcode == "prelude" else None


def emitted(text: str, **options: Any) -> GeneratedModule:
    """The module without checks, comments and copies of results; it is emitted once, for ``main`` and for values."""
    given = {"results": "may-alias", **{name: value for name, value in options.items() if value != []}}
    return _once(text, repr(sorted(given.items())), lambda: xla2py.emit(text, checks=False, annotate="none", **given))


def _once(text: str, options: str, emit: Callable[[], GeneratedModule]) -> GeneratedModule:
    if (text, options) not in _EMITTED:
        if len(_EMITTED) == _MOST:
            del _EMITTED[next(iter(_EMITTED))]
        _EMITTED[text, options] = emit()
    return _EMITTED[text, options]


def main(text: str, **options: Any) -> str:
    """The body of the emitted ``main``, without copies of results."""
    source = emitted(text, **options).source
    function = next(node for node in ast.parse(source).body if getattr(node, "name", "") == "main")
    lines = source.splitlines()[function.body[0].lineno - 1 : function.end_lineno]
    return "\n".join(line.removeprefix("    ") for line in lines)


def assert_same(text: str, *inputs: Any) -> None:
    """The module computes exactly what XLA does."""
    results = compare(run_hlo_in_child(text, *inputs), emitted(text).load().main(*inputs), EXACT)
    assert results and all(result.status.is_good for result in results), "\n".join(map(str, results))


def assert_agrees(text: str, *inputs: Any, without: str, budget: Budget = ROUNDED) -> None:
    """The module computes what XLA does, with the pass (or all: and without it), and leaves its arguments alone."""
    arrays = [np.asarray(array) for array in inputs]
    expected = run_hlo_in_child(text, *arrays)
    for disabled in much([[]], [[], [without]]):
        given = [array.copy() for array in arrays]
        actual = emitted(text, disable_passes=disabled).load().main(*given)
        results = compare(expected, actual, budget)
        assert results and all(result.status.is_good for result in results), "\n".join(map(str, results))
        for before, after in zip(arrays, given, strict=True):
            np.testing.assert_array_equal(before, after, "an argument was modified")


@dataclass(frozen=True)
class Claim:
    """A claim about the body of ``main``: ``holds`` takes the body with a pass, and makes the one without by a call."""

    text: str
    holds: Callable[[str, Callable[[], str]], bool]


STAYS = Claim("the pass changes nothing", lambda body, plain: body == plain())
CHANGES = Claim("the pass changes something", lambda body, plain: body != plain())


def lacks(*parts: str) -> Claim:
    """None of the parts is in the body."""
    return Claim(f"without {parts}", lambda body, plain: not any(part in body for part in parts))


def before(part: str) -> Claim:
    """The body without the pass has the part."""
    return Claim(f"{part!r} without the pass", lambda body, plain: part in plain())


def times(count: int, part: str) -> Claim:
    """The body has the part so often."""
    return Claim(f"{count} times {part!r}", lambda body, plain: body.count(part) == count)


def has(part: str) -> Claim:
    """The part is in the body; one that begins with ``return`` is all of it."""
    whole = part.startswith("return ")
    return Claim(repr(part), lambda body, plain: body == part if whole else part in body)


def cases(
    without: str,
    *given: Any,
    claims: Sequence[Any] = (),
    says: Callable[[Any], Claim] = has,
    inputs: Sequence[tuple[Any, ...]] = (),
    budget: Budget | None = ROUNDED,
    forms: Sequence[Callable[..., str]] = (hlo,),
    also: Sequence[Callable[..., str]] = (),
) -> Callable[..., Any]:
    """Make a test of a pass, which is then given a row for each case.

    A row is a function or HLO; then its arguments, if not ``given``, in a tuple unless they are one array; then claims
    of its text, or what ``says`` makes claims of; ``claims`` are those of all rows. Values are compared for arguments,
    or for other ``inputs``, if there is a ``budget``. Forms in ``also`` need not have what a row claims.
    """

    def of(*rows: Any) -> Any:
        @pytest.mark.parametrize("form", [*forms, *also], ids=lambda form: str(form.__name__))
        @pytest.mark.parametrize("row", [row if isinstance(row, tuple) else (row,) for row in rows])
        def test(row: tuple[Any, ...], form: Callable[..., str]) -> None:
            function, *own = row
            own_arguments = own.pop(0) if own and isinstance(own[0], tuple | np.ndarray) else given
            arguments = own_arguments if isinstance(own_arguments, tuple) else (own_arguments,)
            text = function if isinstance(function, str) else form(function, *arguments)
            body, plain = main(text), lambda: main(text, disable_passes=[without])
            said = [claim if isinstance(claim, Claim) else says(claim) for claim in own if form in forms]
            said += [claim if isinstance(claim, Claim) else has(claim) for claim in claims]
            assert [claim.text for claim in said if not claim.holds(body, plain)] == [], f"{body}\nbefore:\n{plain()}"
            for values in (inputs or [arguments]) if budget is not None else ():
                assert_agrees(text, *values, without=without, budget=budget)

        return test

    return of
