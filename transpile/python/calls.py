"""The calls in a text: uses of functions by call or by name, and removal of arguments."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate

from .names import words
from .templates import Expression, Rendered, Template, hole, template, template_of

Lost = Mapping[str, Mapping[str, int]]  # by function: the removed parameters and their positions


def uses_of(text: str, names: Collection[str]) -> Counter[tuple[str, bool]]:
    """Return the number of uses of these names in an expression or a statement, by name and whether it is called."""
    if not isinstance(text, Rendered) or not text.operands:
        own = _own_uses(template_of(text)) if not words(text).isdisjoint(names) else {}
        return Counter({(name, is_called): count for (name, is_called), count in own.items() if name in names})
    found = Counter[tuple[str, bool]]()
    for (name, is_called), count in _own_uses(template_of(text)).items():
        operand = next((each for k, each in enumerate(text.operands) if hole(text.depth, k) == name), None)
        if operand is None or operand.isidentifier():
            found[operand or name, is_called] += count
            continue
        for use, times in uses_of(operand, names).items():
            found[use] += count * times
    return Counter({use: count for use, count in found.items() if use[0] in names})


@lru_cache(maxsize=1 << 10)
def _own_uses(made: Template) -> Counter[tuple[str, bool]]:
    """Return the uses of the names of a template, including holes."""
    called = {id(node.func) for node in ast.walk(made.tree) if isinstance(node, ast.Call)}
    return Counter((node.id, id(node) in called) for node in made.names)


def without_arguments(text: str, lost: Lost) -> str:
    """Return the expression or statement without the arguments for parameters in ``lost``."""
    if words(text).isdisjoint(lost):
        return text
    other = template(_shortened(template_of(text), lost))
    if not isinstance(text, Rendered):
        return other.text
    operands = [each for operand in text.operands if isinstance(each := without_arguments(operand, lost), Expression)]
    if not isinstance(text, Expression):
        return other.statement(text.depth, operands)
    return other.expression(text.depth, operands) if operands else Expression(other.text, text.level)


def _shortened(made: Template, lost: Lost) -> str:
    """Return the text of a template without these arguments."""
    text = made.text.encode()
    starts = list(accumulate((len(row) + 1 for row in text.split(b"\n")), initial=0))
    is_gone = bytearray(len(text))
    for node in ast.walk(made.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in lost:
            parts: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
            extents = [(_at(part.lineno, part.col_offset, made, starts), _end(part, made, starts)) for part in parts]
            for begin, end in gone(extents, [_is_lost(k, part, lost[node.func.id]) for k, part in enumerate(parts)]):
                is_gone[begin:end] = b"\1" * (end - begin)
    return bytes(byte for byte, gone in zip(text, is_gone, strict=True) if not gone).decode()


def _is_lost(place: int, part: ast.expr | ast.keyword, lost: Mapping[str, int]) -> bool:
    return part.arg in lost if isinstance(part, ast.keyword) else place in lost.values()


def gone(extents: Sequence[tuple[int, int]], are_lost: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Yield the spans to delete for removed arguments: with the comma before, or with the comma after if no kept
    argument precedes.
    """
    is_first = True
    for k, is_lost in enumerate(are_lost):
        if is_lost and not is_first:
            yield extents[k - 1][1], extents[k][1]
        elif is_lost:
            yield extents[k][0], extents[k + 1][0] if k + 1 < len(extents) else extents[k][1]
        is_first &= is_lost


def _at(line: int, column: int, made: Template, starts: Sequence[int]) -> int:
    return starts[line - made.row_of_tree] + column


def _end(node: ast.expr | ast.keyword, made: Template, starts: Sequence[int]) -> int:
    return _at(node.end_lineno or 0, node.end_col_offset or 0, made, starts)
