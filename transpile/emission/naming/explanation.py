"""The reasons for names: ``xla2py emit --explain-names``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..functions.context import Writing

EXPLAINED = "names"  # the key of the explanation for observers of an emission


def explained_names(writers: Iterable[Writing]) -> str:
    """Return, for each function and each name that its lines bind, the hint that won, and the others."""
    return "\n".join(line for writer in writers for line in _lines(writer))


def _lines(writer: Writing) -> Iterator[str]:
    yield f"{writer.renderer.function_names[writer.function]}:"
    named = {
        node: str(writer.texts[node])
        for node, hints in writer.wanted.all_hints.items()
        if hints and node in writer.plan.named and writer.texts.get(node, "").isidentifier()
    }
    width = max(map(len, named.values()), default=0)
    for node, name in named.items():
        (source, word), *others = writer.wanted.all_hints[node]
        beaten = dict.fromkeys(f"{other} ({why})" for why, other in others if other != word)
        wanted = "" if name == word else f" wants {word}"
        yield f"  {name:{width}}  {source}{wanted}{'; not ' if beaten else ''}{', '.join(beaten)}"
