"""Numbers that are negative in some texts and not in others: their signs are theirs."""

from __future__ import annotations

import tokenize
from collections.abc import Sequence

_PLUS, _MINUS = "+", "-"


def join_signs(tokens: Sequence[list[tokenize.TokenInfo]], at: int) -> tokenize.TokenInfo | None:
    """Make each minus and its number one token, where other texts have a number without at this place, or a plus.

    The numbers are added then. Return the minus of the first text that becomes a plus, None where there is none.
    """
    row = [own[at] for own in tokens if at + 1 < len(own)]
    if len(row) < len(tokens):
        return None
    if len({token.type for token in row}) > 1 and all(map(_begins_number, row)):
        for own in tokens:
            if own[at].string == _MINUS and own[at + 1].type == tokenize.NUMBER:
                own[at : at + 2] = [_negative(own[at + 1])._replace(start=own[at].start)]
    elif {token.string for token in row} == {_PLUS, _MINUS} and _precede_numbers(tokens, at):
        for own in tokens:
            if own[at].string == _MINUS:
                own[at : at + 2] = own[at]._replace(string=_PLUS), _negative(own[at + 1])
        return row[0] if row[0].string == _MINUS else None
    return None


def _precede_numbers(tokens: Sequence[list[tokenize.TokenInfo]], at: int) -> bool:
    return all(own[at + 1].type == tokenize.NUMBER for own in tokens)


def _begins_number(token: tokenize.TokenInfo) -> bool:
    return token.type == tokenize.NUMBER or token.string == _MINUS


def _negative(number: tokenize.TokenInfo) -> tokenize.TokenInfo:
    return number._replace(string=_MINUS + number.string)
