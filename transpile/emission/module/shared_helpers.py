"""Helpers that the modules of a folder share: files of whole prelude functions, which modules import from.

A module has its own helpers, or imports them: by a relative import, or by the plain name of the file if the folder is
not a package. Each target has a file; what it has in common with another target may be in the file of that one, from
which its own file imports, too. Functions that find files by the module's own name stay in the module, and so do texts
of kernels. A module with kernels or a graph imports only the functions that read tensors, so such modules can share a
file of tensors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any

from ...frontends.witnesses import Witnesses
from ...hlo.device_groups import device_count
from ...hlo.ir import HloModule
from ...options import AUTO, LINE_LENGTH, READABLE, Options
from ...python.black import defines
from ...python.modules import mentioned
from ...target import Target, load_target
from ...version import VERSION
from ..expression import Renderer
from ..formatting import formatted
from ..layout import Layout
from ..prelude.library import DEVICE, NAME_BY_TEXT, ON_HOST, Definition, prelude
from .header import imports, with_body_hash

SHARED = "shared"
_TENSORS = "tensors"  # the module of the prelude that reads arrays from the file beside it
_STAYS = ON_HOST - {_TENSORS} | {DEVICE}
_NAME = re.compile(r"^(?:def|class) (\w+)|^(\w+)(?:: [^=\n]+)? = ", re.MULTILINE)


def stem(target: str) -> str:
    """Return the name of the file: modules for different libraries share none."""
    return "_xla2py" if target == "numpy" else f"_xla2py_{target.replace('-', '_')}"


def helpers_in_files(options: Mapping[str, Any], program: HloModule | Witnesses) -> str:
    """Return the option ``helpers`` for a module that is written to a file, with ``auto`` resolved."""
    helpers: str = options.get("helpers", AUTO)
    is_plain = options.get("style", READABLE) == READABLE and not options.get("graph")
    several = device_count(program.modules[0] if isinstance(program, Witnesses) else program) > 1
    return SHARED if helpers == AUTO and several and is_plain else helpers


def shares_functions(options: Options) -> bool:
    """Return whether a module imports all its helpers, not only those that read tensors."""
    return options.helpers == SHARED and options.style == READABLE and not options.graph


def divided(
    definitions: Sequence[Definition], names: Iterable[str], options: Options
) -> tuple[list[Definition], list[Definition]]:
    """Return the definitions that stay in a module that uses ``names``, and the definitions that it shares."""
    if options.helpers != SHARED:
        return list(definitions), []
    if not shares_functions(options):
        tensors = [each for each in definitions if each.module == _TENSORS]
        return [each for each in definitions if each not in tensors], tensors
    named, stays = set(names), [definition for definition in definitions if definition.module in _STAYS]
    for definition in reversed(stays):  # definitions come before their users
        named |= set(definition.uses) if definition.name in named else set()
    own = [definition for definition in stays if definition.name in named]
    return own, [definition for definition in definitions if definition not in own]


def owners(target: Target) -> list[str]:
    """Return the targets in whose files helpers of a target's modules are: last itself, whose file may import from the
    others.
    """
    return [*sorted(set(target.helpers_of.values())), target.name]


def import_lines(target: Target, definitions: Iterable[Definition]) -> list[str]:
    """Return the statements that import these helpers."""
    names: dict[str, list[str]] = {owner: [] for owner in owners(target)}
    for definition in definitions:
        names[target.helpers_of.get(definition.module, target.name)].append(definition.name)
    return [f"from .{stem(owner)} import {', '.join(sorted(own))}" for owner, own in names.items() if own]


def helper_names(text: str, target: str) -> tuple[str, ...]:
    """Return the names that a module imports from the file of helpers."""
    found = re.search(rf"^from \.?{stem(target)} import (\([^)]*\)|.*)$", text, re.MULTILINE)
    return tuple(sorted(re.findall(r"\w+", found[1]))) if found else ()


def defined_names(text: str) -> set[str]:
    """Return the names that a file defines at its top level."""
    return {found[1] or found[2] for found in _NAME.finditer(text)}


def helper_files(text: str, target: str, line_length: int = LINE_LENGTH) -> dict[str, str]:
    """Return, by target, the texts of the files that a module for ``target`` imports from; those come first from which
    others import.
    """
    files: dict[str, str] = {}
    for owner in reversed(owners(load_target(target))):
        if names := names_from([text, *files.values()], owner):
            files[owner] = helpers_file(names, owner, line_length)
    return dict(reversed(files.items()))


def names_from(texts: Iterable[str], target: str) -> set[str]:
    """Return the names that modules import from the file of a target."""
    return {name for text in texts for name in helper_names(text, target)}


def helpers_file(names: Iterable[str], target: str, line_length: int = LINE_LENGTH) -> str:
    """Return the text of the file with these helpers and everything that they use, each whole.

    It imports what is in the file of another target, also for modules that were written when it was here.
    """
    layout = Layout(line_length)
    chosen = load_target(target)
    library = prelude(chosen)
    wanted = sorted(set(names) & set(library.definitions))
    found = library.closure(wanted)
    definitions = [each for each in found if each.module not in chosen.helpers_of]
    used = {*wanted, *(name for definition in definitions for name in definition.uses)}
    imported = [each for each in found if each.name in used and each not in definitions]
    sources = [definition.source for definition in definitions]
    renderer = Renderer(chosen.macros, chosen.namespace, chosen.scalars)
    top = renderer.environment.get_template("helpers.py.j2").render(
        version=VERSION,
        sha256=sha256(" ".join([target, *wanted]).encode()).hexdigest(),
        imports=imports(
            chosen, library.imports_of(definitions), mentioned("\n".join(sources)), import_lines(chosen, imported)
        ),
    )
    is_named = any(definition.name == NAME_BY_TEXT for definition in definitions)
    last = [renderer.statement(NAME_BY_TEXT)] if is_named else []
    return with_body_hash(joined([formatted(piece.strip(), layout) for piece in (top, *sources, *last)]))


def joined(pieces: Sequence[str]) -> str:
    """Return a module's text from its pieces, with two empty lines around functions and classes, none between
    constants of one line, else one.
    """
    pieces = [piece.strip() for piece in pieces]
    gaps = [
        "\n\n\n" if defines(before) or defines(after) else "\n\n" if "\n" in before + after else "\n"
        for before, after in pairwise(pieces)
    ]
    return "".join(part for pair in zip(["", *gaps], pieces, strict=True) for part in pair) + "\n"
