"""Calls of functions, and what applies them to blocks of arrays: where a size is handed on as one argument more."""

from __future__ import annotations

import tokenize
from collections.abc import Sequence

from .places import closing_bracket

Insertion = tuple[tuple[int, int], str]  # line and column, and what is put there

_BY_ROWS, _IN_TURN = "Tiled", "Summed"


def handed(tokens: Sequence[tokenize.TokenInfo], at: int, names: Sequence[str]) -> list[Insertion] | None:
    """Return what hands sizes to the function whose name is the token ``at``, where it is defined, called or applied to
    blocks of arrays; None where it is used in another way.

    dask's ``blockwise`` takes what is no array beside None, and ``Tiled`` says of each argument whether it is cut into
    rows; ``loop_in_chunks`` gives a function what it needs whole last.
    """
    if tokens[at + 1].string == "(":
        return [_at_end(tokens, at + 1, names)]
    words = [token.string for token in tokens[max(at - 4, 0) : at]]
    if words[-2:] == ["blockwise", "("]:
        return [_beside_arrays(tokens, at - 1, names)]
    if words[-1:] == ["("] and words[-4:-2] == ["blockwise", "("] and words[-2] in (_BY_ROWS, _IN_TURN):
        own = [_at_end(tokens, at + 2, ["None"] * len(names))] if words[-2] == _BY_ROWS else []
        return [*own, _beside_arrays(tokens, at - 3, names)]
    if words[-2:] == ["loop_in_chunks", "("]:
        whole = _keywords(tokens, at - 1).get("whole")
        if whole is not None:
            return [_at_end(tokens, whole + 2, names)]
        return [_at_end(tokens, at - 1, [f"whole=({', '.join(names)},)"])]
    return None


def _beside_arrays(tokens: Sequence[tokenize.TokenInfo], opening: int, names: Sequence[str]) -> Insertion:
    """The insertion of numbers behind the arrays of a call, before its keywords."""
    closing, first = closing_bracket(tokens, opening), min(_keywords(tokens, opening).values())
    is_starred = any(token.string == "*" for token in tokens[opening:closing])
    pairs = (f"*({name}, None), " if is_starred else f"{name}, None, " for name in names)
    return tokens[first].start, "".join(pairs)


def _keywords(tokens: Sequence[tokenize.TokenInfo], opening: int) -> dict[str, int]:
    """The keywords of a call, and the numbers of their tokens."""
    depth, found = 0, {}
    for at in range(opening, closing_bracket(tokens, opening)):
        depth += (tokens[at].string in ("(", "[", "{")) - (tokens[at].string in (")", "]", "}"))
        if depth == 1 and tokens[at].type == tokenize.NAME and tokens[at + 1].string == "=":
            found[tokens[at].string] = at
    return found


def _at_end(tokens: Sequence[tokenize.TokenInfo], opening: int, texts: Sequence[str]) -> Insertion:
    """The insertion of more parts before the closing bracket of some."""
    closing = closing_bracket(tokens, opening)
    before = tokens[closing - 1].string
    comma = "" if before == "(" else " " if before == "," else ", "
    return tokens[closing].start, comma + ", ".join(texts)
