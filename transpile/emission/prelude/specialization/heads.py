"""The head and the docstring of a function that has lost parameters."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Mapping

from ....options import LINE_LENGTH

_INDENT = "    "
_SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z`])")


def head(function: ast.FunctionDef, lost: frozenset[str], required: frozenset[str] = frozenset()) -> str:
    """``def`` and the parameters that are left, in one line; ``required`` ones are always given, and never None."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    kept = [(part, default) for part, default in zip(positional, defaults, strict=True) if part.arg not in lost]
    words = [
        (part, default)
        for part, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if part.arg not in lost
    ]
    for k, (part, default) in enumerate(kept):
        if part.arg in required and all(default is None for _, default in kept[:k]):
            kept[k] = (_never_none(part), None)
        elif part.arg in required:
            kept[k] = (_never_none(part), default)
    words = [(_never_none(part), None) if part.arg in required else (part, default) for part, default in words]
    texts = [_declared(part, default) for part, default in kept]
    if arguments.vararg is not None:
        texts.append(f"*{_declared(arguments.vararg, None)}")
    elif words:
        texts.append("*")
    texts += [_declared(part, default) for part, default in words]
    if arguments.kwarg is not None:
        texts.append(f"**{_declared(arguments.kwarg, None)}")
    result = f" -> {_unparsed(function.returns)}" if function.returns is not None else ""
    return f"def {function.name}({', '.join(texts)}){result}:"


def _declared(part: ast.arg, default: ast.expr | None) -> str:
    """A parameter with its type and its default."""
    kind = f": {_unparsed(part.annotation)}" if part.annotation is not None else ""
    between = " = " if kind else "="
    return part.arg + kind + (f"{between}{_unparsed(default)}" if default is not None else "")


def _unparsed(node: ast.expr) -> str:
    """The text of an expression, strings in the quotes that black writes."""
    return ast.unparse(node).replace("'", '"')


def _never_none(part: ast.arg) -> ast.arg:
    """A parameter without ``| None`` in its annotation."""
    kind = part.annotation
    is_optional = isinstance(kind, ast.BinOp) and isinstance(kind.op, ast.BitOr) and ast.unparse(kind.right) == "None"
    return ast.arg(part.arg, kind.left if is_optional else kind)  # type: ignore[union-attr]


def _with_values(sentence: str, texts: Mapping[str, str]) -> str:
    for name, text in texts.items():
        sentence = sentence.replace(f"``{name}``", f"``{text}``")
    return sentence


def docstring(function: ast.FunctionDef, lost: frozenset[str], dropped: Mapping[str, str]) -> list[str]:
    """Return the lines of the docstring without sentences about ``lost`` parameters.

    In the first sentence stand the texts of ``dropped`` ones in their place.
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
