"""Docstrings of copied functions: the first paragraph, without sentences about parameters that were dropped."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache

from ....options import LINE_LENGTH
from ....python.modules import statement_of

_INDENT = "    "
_SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z`])")
_QUOTES = '"' * 3
_SAYS_MORE = re.compile(r"\n *\n")


@cache
def with_short_docstrings(source: str) -> str:
    """Return the source of a function or class with only the first paragraph of each docstring."""
    if _SAYS_MORE.search(source) is None:
        return source
    lines = source.split("\n")
    for text in sorted(_docstrings(statement_of(source)), key=lambda text: -text.lineno):
        begin, end = text.lineno - 1, text.end_lineno or text.lineno
        paragraph = "\n".join(lines[begin:end]).partition(_QUOTES)[2].rpartition(_QUOTES)[0]
        first, *rest = _SAYS_MORE.split(paragraph.rstrip())
        if rest:
            indent = " " * text.col_offset
            lines[begin:end] = _written(first, indent).split("\n")
    return "\n".join(lines)


def _written(paragraph: str, indent: str) -> str:
    line = f"{indent}{_QUOTES}{paragraph}{_QUOTES}"
    is_one = "\n" not in line and len(line) <= LINE_LENGTH
    return line if is_one else f"{indent}{_QUOTES}{paragraph}\n{indent}{_QUOTES}"


def _docstrings(tree: ast.AST) -> Iterator[ast.Expr]:
    """Yield the docstrings of functions and classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            text = node.body[0]
            assert isinstance(text, ast.Expr)
            yield text


def _with_values(sentence: str, texts: Mapping[str, str]) -> str:
    for name, text in texts.items():
        sentence = sentence.replace(f"``{name}``", f"``{text}``")
    return sentence


def docstring(function: ast.FunctionDef, lost: frozenset[str], dropped: Mapping[str, str]) -> list[str]:
    """Return the lines of the docstring without sentences about ``lost`` parameters.

    In the first sentence, ``dropped`` parameters are replaced by their texts.
    """
    text = ast.get_docstring(function)
    if text is None:
        return []
    paragraphs: list[str] = []
    for paragraph in text.split("\n\n"):
        sentences = _SENTENCE.split(" ".join(paragraph.split()))
        first = [] if paragraphs else [_with_values(sentences[0], dropped)]
        others = sentences[len(first) :]
        kept = [one for one in others if not any(f"``{name}``" in one for name in lost)]
        if first or kept:
            paragraphs.append(" ".join([*first, *kept]))
    one_line = f'{_INDENT}"""{paragraphs[0]}"""' if len(paragraphs) == 1 else ""
    if one_line and len(one_line) <= LINE_LENGTH:
        return [one_line]
    lines = []
    for k, paragraph in enumerate(paragraphs):
        lines += [
            "",
            *textwrap.wrap(
                paragraph,
                LINE_LENGTH - len(_INDENT) - (3 if k == 0 else 0),
                break_long_words=False,
                break_on_hyphens=False,
            ),
        ]
    lines[1] = '"""' + lines[1]
    return [_INDENT + line if line else "" for line in [*lines[1:], '"""']]
