"""Modules for any size: what the texts of a program at several sizes have in common.

Each text is what the program is at its sizes. Where they are the same but for numbers, the numbers are expressions of
the sizes. So the emission decides everything at known sizes, and what it decides differently at another is seen.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import Diagnostic, UnsupportedError, XlaToPythonError
from ...frontends.witnesses import MOST, Assignment, Witnesses
from ..entry_point import NO_CHECKS, SIZES
from ..expression import Renderer
from ..formatting import formatted
from ..generated import GeneratedModule
from ..header import with_new_body_hash
from .texts import Shapes, in_common

_EQUAL = [(number,) * MOST for number in (1, 2, 3, 4, 6)]
# What is tried below the smallest witnesses. Programs at equal sizes often share what others compute twice.
_LEAST = (*_EQUAL[:3], (2, 3, 4, 5, 6, 7), *_EQUAL[3:], (5, 7, 6, 8, 4, 9))
_ENDLESS = 2**63
_COMMAND = re.compile(r"^(# regenerate: .*)( -t \S+)(.*)$", re.MULTILINE)
_SIGNATURE = re.compile(r"^SIGNATURE\b.*$", re.MULTILINE)
_UNFORMATTED = " --no-format"
_SHA = re.compile(r"^# source sha256: ([0-9a-f]{64})$", re.MULTILINE)


def emit_any_size(
    witnesses: Witnesses, emit: Callable[..., GeneratedModule], options: Mapping[str, Any]
) -> GeneratedModule:
    """Emit a module that takes arguments of any sizes, from a program at several.

    ``emit`` emits the program at some sizes and takes ``options``, among them the ``target``. Raises
    ``UnsupportedError``: XP424 where the texts differ in more than numbers that the sizes give, XP426 on targets and
    for programs whose form hangs on sizes.
    """
    _require_support(witnesses, options)
    checks = NO_CHECKS if options["checks"] == NO_CHECKS else SIZES
    writer = _Writer(witnesses, emit, {**options, "checks": checks, "format": False, "observe": None})
    return writer.module(options["format"], options["observe"])


def _require_support(witnesses: Witnesses, options: Mapping[str, Any]) -> None:
    target, module = options["target"], witnesses.modules[0]
    devices = module.replica_count * module.num_partitions
    problems = {
        f"{target.title}, whose plans hang on sizes, has no modules for any size": target.arrange is not None,
        "the fast style has no modules for any size": options["style"] != "readable",
        "modules for any size take no trees: leave --nested out": options["nested"],
        "modules for any size have no replay: leave --graph out": options["graph"],
        "modules for any size cast nothing: leave --checks cast out": options["checks"] == "cast",
        "programs of several devices have no modules for any size": devices > 1,
    }
    found = [message for message, is_so in problems.items() if is_so]
    if found:
        raise UnsupportedError(*(Diagnostic("XP426", message) for message in found))


@dataclass
class _Writer:
    """Writes one module for any size."""

    witnesses: Witnesses
    emit: Callable[..., GeneratedModule]
    options: Mapping[str, Any]

    @cached_property
    def renderer(self) -> Renderer:
        target = self.options["target"]
        return Renderer(target.macros, target.namespace, target.scalars)

    def module(self, is_formatted: bool, observe: Callable[[str, str], None] | None) -> GeneratedModule:
        """The module; ``observe`` is told the passes of the program at the first sizes."""
        first, *others = self.witnesses.modules
        emitted = [self.emit(first, **{**self.options, "observe": observe})]
        emitted += [self.emit(module, **self.options) for module in others]
        _require_equal_constants(emitted)
        sizes = self.witnesses.sizes
        labels = [self.witnesses.label(number) for number in range(len(emitted))]
        text = in_common(_texts(emitted), sizes, _shapes(emitted), labels, self.renderer)
        ranges = self._ranges(emitted, text)
        line = self.renderer.statement("sizes", ranges)
        text = _SIGNATURE.sub(lambda match: f"{match[0]}\n{line}", text, count=1)
        text = _SHA.sub(f"# source sha256: {_digest(emitted)}", text, count=1)

        def command(match: re.Match[str]) -> str:
            others = match[3].replace(_UNFORMATTED, "") if is_formatted else match[3]
            return match[1] + self.witnesses.command + match[2] + others

        text, own = _COMMAND.sub(command, text, count=1), emitted[0]
        if is_formatted:
            text = formatted(text, own.source)
        return GeneratedModule(with_new_body_hash(text), own.name, own.target, own.constants, sizes=ranges)

    def _ranges(self, emitted: list[GeneratedModule], text: str) -> dict[str, range]:
        """Return what each size may be: from the least on at which the text is this one, multiples of what divides all
        witnesses.
        """
        steps = self.witnesses.steps
        smallest = {name: min(values) for name, values in self.witnesses.sizes.items()}
        for numbers in _LEAST:
            rows = zip(steps.items(), numbers, strict=False)
            least = {name: min(-(-number // step) * step, smallest[name]) for (name, step), number in rows}
            if self._has_text(least, emitted, text):
                break
        else:
            least = smallest
        return {name: range(least[name], _ENDLESS, step) for name, step in steps.items()}

    def _has_text(self, tried: Assignment, emitted: list[GeneratedModule], text: str) -> bool:
        """Tell whether the program has the text at other sizes, too."""
        if self.witnesses.at is None:
            return False
        try:
            more = [*emitted, self.emit(self.witnesses.at(tried), **self.options)]
            sizes = {name: (*values, tried[name]) for name, values in self.witnesses.sizes.items()}
            return in_common(_texts(more), sizes, _shapes(more), [""] * len(more), self.renderer) == text
        except XlaToPythonError:
            return False


def _require_equal_constants(emitted: list[GeneratedModule]) -> None:
    for each in emitted[1:]:
        same = each.constants.keys() == emitted[0].constants.keys() and all(
            np.array_equal(array, emitted[0].constants[name]) for name, array in each.constants.items()
        )
        if not same:
            raise UnsupportedError(Diagnostic("XP424", "constants are not the same at all sizes"))


def _texts(emitted: list[GeneratedModule]) -> list[str]:
    """The texts, whose hashes of sources are no difference."""
    return [_SHA.sub("# source sha256: " + "0" * 64, each.source) for each in emitted]


def _shapes(emitted: list[GeneratedModule]) -> dict[str, Shapes]:
    """The shapes of the arguments of each function, in each text."""
    found: dict[str, dict[str, list[tuple[int, ...]]]] = {}
    for each in emitted:
        for function in each.functions:
            arguments = found.setdefault(function.name, {})
            for node, name in function.parameters.items():
                if node.element_type is not None and name.isidentifier():
                    arguments.setdefault(name, []).append(node.shape)
    return {
        name: {argument: rows for argument, rows in arguments.items() if len(rows) == len(emitted)}
        for name, arguments in found.items()
    }


def _digest(emitted: list[GeneratedModule]) -> str:
    hashes = [match[1] for each in emitted if (match := _SHA.search(each.source))]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()
