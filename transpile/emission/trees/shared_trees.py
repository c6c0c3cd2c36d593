"""Common subtrees of a signature, and results that have the form of an argument.

An optimizer's state has the form of the weights twice, and every layer has that of the first. Such a part of a
signature becomes a constant, ``LAYER = {..}``, and a result is described as ``like params``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...array.result_trees import parts_of, with_parts
from ...hlo.ir import Built
from ..texts import quoted_key
from .argument_trees import Key, Path, Tree

_LEAST_CHARACTERS = 40  # in a part that is worth a name
_LEAST_ROW = 3  # equal parts of a list that are written as ``dict.fromkeys``
_LEAST_LEAVES = 3  # in a result that is compared with an argument

Branch = tuple[tuple[Any, Any], ...]  # a hashable tree: pairs of keys and forms
Form = Branch | str


def signature_constants(
    tree: Tree, name: Callable[[str], str], leaf: Callable[[str], str], *, are_shared: bool
) -> list[tuple[str, str]]:
    """Return (name, text) of the signature, after those of its common subtrees if they ``are_shared``.

    ``name`` returns an unused name for a word, ``leaf`` the text of an array's type.
    """
    form = _form(tree)
    texts: dict[Branch, str] = {}
    constants: list[tuple[str, str]] = []
    counts = _uses(form)
    for part, word in _parts(form, ""):  # inner parts come first
        text = _text(part, texts, leaf)
        if are_shared and part != form and counts[part] > 1 and len(text) >= _LEAST_CHARACTERS:
            texts[part] = name(word.upper())
            constants.append((texts[part], text))
        else:
            texts[part] = text
    return [*constants, ("SIGNATURE", texts[form])]


def _form(tree: Tree) -> Branch:
    return tuple((key, part if isinstance(part, str) else _form(part)) for key, part in tree.items())


def _uses(form: Branch) -> dict[Branch, int]:
    """Return how often each part is written if equal parts are written once."""
    counts = {form: 1}
    waiting = [form]
    while waiting:
        for _, part in waiting.pop():
            if not isinstance(part, str):
                if part not in counts:
                    waiting.append(part)
                counts[part] = counts.get(part, 0) + 1
    return counts


def _parts(form: Branch, word: str) -> Iterator[tuple[Branch, str]]:
    """Yield the parts that are trees, each once and the inner ones first, with their words."""
    seen: set[Branch] = set()
    stack = [(form, word, False)]
    while stack:
        part, own, is_done = stack.pop()
        if is_done:
            yield part, own
        elif part not in seen:
            seen.add(part)
            stack.append((part, own, True))
            stack += [(each, _word(key, own), False) for key, each in reversed(part) if not isinstance(each, str)]


def _word(key: Key, around: str) -> str:
    """Return ``params`` for its own key, ``layer`` for a number in ``layers`` and for ``layer_3``."""
    if not isinstance(key, str):
        return around.removesuffix("s") or "part"
    word = key.removeprefix(".").rstrip("0123456789").rstrip("_")
    return word or around or "part"


def _text(form: Branch, texts: dict[Branch, str], leaf: Callable[[str], str]) -> str:
    parts = [leaf(part) if isinstance(part, str) else texts[part] for _, part in form]
    is_row = [key for key, _ in form] == list(range(len(form))) and len(form) >= _LEAST_ROW
    if is_row and len(set(parts)) == 1:
        return f"dict.fromkeys(range({len(parts)}), {parts[0]})"
    return f"{{{', '.join(f'{quoted_key(key)}: {part}' for (key, _), part in zip(form, parts, strict=True))}}}"


def like_arguments(results: Any, arguments: Tree) -> Any:
    """Return a tree of texts with ``like params`` for parts that have the form of an argument or of its part."""
    known: dict[Form, str] = {}
    waiting: list[tuple[str, tuple[Key, ...], Any]] = [(str(name), (), tree) for name, tree in arguments.items()]
    while waiting:
        name, keys, tree = waiting.pop(0)
        if not isinstance(tree, str):
            known.setdefault(_sorted_form(tree), Path(name, keys).text(name))
            waiting += [(name, (*keys, key), part) for key, part in tree.items()]
    return _like(results, known)


def _like(results: Any, known: dict[Form, str]) -> Any:
    form = _result_form(results)
    if form is not None and form in known and _leaves(form) >= _LEAST_LEAVES:
        return f"like {known[form]}"
    return with_parts(results, (_like(part, known) for _, part in parts_of(results)))


def _sorted_form(tree: Any) -> Form:
    if isinstance(tree, str):
        return tree
    return tuple(sorted(((key, _sorted_form(part)) for key, part in tree.items()), key=repr))


def _result_form(results: Any) -> Form | None:
    """Return the form of a part of the results as that of an argument; None if it is empty or has no field names."""
    if isinstance(results, str) or results is None:
        return results
    if isinstance(results, Built):
        if not results.fields:
            return None
        pairs: Iterable[tuple[Key, Any]] = (
            (f".{field}", part) for field, part in zip(results.fields, results.parts, strict=True)
        )
    else:
        pairs = results.items() if isinstance(results, dict) else enumerate(results)
    forms = [(key, _result_form(part)) for key, part in pairs]
    return tuple(sorted(((key, form) for key, form in forms if form is not None), key=repr)) or None


def _leaves(form: Form) -> int:
    return 1 if isinstance(form, str) else sum(_leaves(part) for _, part in form)
