"""The text of whole functions: decorators, signature and lines."""

from __future__ import annotations

from collections.abc import Sequence

from ...array.program import Function, Program
from ..replicas.collectives import GROUP, callback_names, host_functions
from ..trees.types import GROUP as GROUP_TYPE
from ..trees.types import in_blocks, result_type
from .function_writer import FunctionWriter


def in_written_order(program: Program) -> list[Function]:
    """Return the functions, callers first; block functions, which call no others, in the order of use in ``main``."""
    others = program.functions[:-1]
    blocks = [function for function in others if function.block_of]
    return [program.entry, *blocks, *(function for function in reversed(others) if not function.block_of)]


def function_text(writer: FunctionWriter, has_group: bool, is_of_blocks: bool, decorators: Sequence[str] = ()) -> str:
    """Return the definition of a written function.

    If it ``has_group``, its first parameter is the group of replicas; if it ``is_of_blocks``, its arrays are blocks.
    """
    renderer, function, typed = writer.renderer, writer.function, writer.arguments.heads
    result = renderer.named_results.get(function) or result_type(writer.results)
    if is_of_blocks:
        typed, result = [(name, in_blocks(kind)) for name, kind in typed], in_blocks(result)
    group = [(GROUP, GROUP_TYPE)] if has_group else []
    define = renderer.statement(
        "define",
        renderer.function_names[function],
        [*group, *typed],
        host_functions(writer.plan.nodes),
        callback_names(writer.plan.nodes),
        result,
        function.chunks,
    )
    template = renderer.environment.get_template("function.py.j2")
    return template.render(note=function.note, decorators=decorators, signature=define, lines=writer.lines).rstrip()
